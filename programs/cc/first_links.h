/// \file
/// Step 1 of `cc`: Afforest's neighbour rounds (Sutton, Ben-Nun and Barak, IPDPS'18). Each vertex is linked with its first
/// neighbours, which shows the largest component of most graphs. The first round needs no atomics, because a thread writes
/// the entry of its own vertex alone.
#pragma once

#include "chatty/core/graph_ref.h"
#include "chatty/core/prefetch.h"
#include "chatty/core/types.h"
#include "chatty/programs/cc/forest.h"

namespace chatty::union_find {

/// The neighbours that are linked first: the first entries of a row, or its first owned entries. Owned entries are
/// consecutive where parts are ranges and rows ascend. Links of owned vertices alone join these on their device. Otherwise
/// the first entries, which have the least ids, may all be other devices' vertices.
struct FirstLinks {
  GraphRef graph;
  bool own;           ///< owned entries alone
  OffsetsRef begins;  ///< where rows begin, or their owned entries

  /// `own_alone` requires GraphRef::own_begins, or a part that owns no vertex.
  FirstLinks(const GraphRef& of, bool own_alone)
      : graph(of), own(own_alone), begins(own_alone ? of.own_begins : of.forward.offsets) {}

  /// Where they begin in v's row. There may be no owned ones: then a greater vertex's entry is there, or the row ends.
  CHATTY_FN EdgeIndex Begin(LocalId v) const { return begins[v]; }
  /// Whether an entry is one of them.
  CHATTY_FN bool Has(LocalId u) const { return !own || u < graph.owned; }
};
/// Makes v's first neighbour, which is its least, v's parent if it is less than v; otherwise makes v a root. Needs no
/// atomics, because only v's own entry is written (ECL-CC's initialisation, Jaiganesh and Burtscher, HPDC'18).
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
    parent[own] = first < own ? first : own;  // without a branch, which would be unpredictable
  }
};

/// Links v with the neighbour of index `nth` in its row; for index 1 also with that of index 0, if LinkFirst has not.
struct LinkNth {
  FirstLinks links;
  VertexId* parent;
  EdgeIndex nth;
  CHATTY_FN void operator()(LocalId v) const {
    const GraphRef& graph = links.graph;
    // A CPU visits vertices in order. The atomics of a link keep it from loading the next rows and trees meanwhile.
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
