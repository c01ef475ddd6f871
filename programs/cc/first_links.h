/// \file
/// Step 1 of `cc`: each vertex is linked with its first neighbours (Afforest: Sutton, Ben-Nun and Barak, IPDPS'18), which
/// shows the largest component of most graphs. The very first link needs no atomics, because a thread writes its own vertex
/// alone.
#pragma once

#include "chatty/core/graph_ref.h"
#include "chatty/core/prefetch.h"
#include "chatty/core/types.h"
#include "chatty/programs/cc/forest.h"

namespace chatty::union_find {

/// The entries of rows that are linked first: the first of a row, or of those that are owned, which follow each other where
/// parts are ranges and rows ascend. A device that links its own vertices alone makes a forest of all they join, while of
/// those that are not the least ids, which the rows begin with, may all be others'.
struct FirstLinks {
  GraphRef graph;
  bool own;           ///< of owned vertices alone
  OffsetsRef begins;  ///< of rows, or where they have come to owned neighbours

  /// `own`: where GraphRef::own_begins are there, or no vertex is owned.
  FirstLinks(const GraphRef& of, bool own_alone)
      : graph(of), own(own_alone), begins(own_alone ? of.own_begins : of.forward.offsets) {}

  /// Where they begin in v's row. Of owned ones there may be none: then a greater one's entry is there, or the row ends.
  CHATTY_FN EdgeIndex Begin(LocalId v) const { return begins[v]; }
  /// Whether an entry is one of them.
  CHATTY_FN bool Has(LocalId u) const { return !own || u < graph.owned; }
};
/// Hangs v below its first neighbour, the least, if that is less than v, and makes it a root otherwise: without atomics, for
/// only v's own entry is written (ECL-CC's initialisation, Jaiganesh and Burtscher, HPDC'18).
struct LinkFirst {
  FirstLinks links;
  VertexId* parent;
  CHATTY_FN void operator()(LocalId v) const {
    const GraphRef& graph = links.graph;
    const EdgeIndex begin = links.Begin(v);
    const VertexId own = graph.Global(v);
    if (begin == graph.forward.offsets[v + 1] || !links.Has(graph.forward.neighbours[begin])) {
      parent[own] = own;
      return;
    }
    const VertexId first = graph.Global(graph.forward.neighbours[begin]);
    parent[own] = first < own ? first : own;  // no branch that nobody can predict
  }
};

/// Links v with its nth neighbour, the second with the first as well, if LinkFirst has not.
struct LinkNth {
  FirstLinks links;
  VertexId* parent;
  EdgeIndex nth;
  CHATTY_FN void operator()(LocalId v) const {
    const GraphRef& graph = links.graph;
    // Vertices are visited in order by a CPU, which a link's atomics would let wait for each row and each tree in turn.
    constexpr LocalId kRows = 32, kTrees = 16;
    if (v + kRows < graph.owned) Prefetch(graph.forward.neighbours + links.Begin(v + kRows) + nth);
    if (v + kTrees < graph.owned) {
      const EdgeIndex at = links.Begin(v + kTrees) + nth;
      if (at < graph.forward.offsets[v + kTrees + 1]) Prefetch(parent + graph.Global(graph.forward.neighbours[at]));
    }
    const EdgeIndex begin = links.Begin(v), degree = graph.forward.offsets[v + 1] - begin;
    const LocalId* const row = graph.forward.neighbours + begin;
    const VertexId own = graph.Global(v);
    if (nth == 1 && degree > 0 && links.Has(row[0]) && graph.Global(row[0]) > own) Link(parent, own, graph.Global(row[0]));
    if (degree > nth && links.Has(row[nth])) Link(parent, own, graph.Global(row[nth]));
  }
};
}  // namespace chatty::union_find
