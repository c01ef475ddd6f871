/// \file
/// A union-find forest over all vertices: parent[v] is v's parent, and v itself for a root. Link joins two trees: the
/// smaller root becomes the parent of the larger one (hooking: Shiloach and Vishkin, J. Algorithms 1982; as in ECL-CC and
/// GAP). So the root of a finished component is its least vertex. Any number of threads may link concurrently. Paths are
/// compressed while no thread links.
///
/// Links halve the paths that they walk, which shortens later walks. Several vertices are compressed together, because a
/// GPU's thread waits as long for one load as for four.
#pragma once

#include <cstddef>
#include <type_traits>

#include "chatty/core/atomics.h"
#include "chatty/core/graph_ref.h"
#include "chatty/core/types.h"

namespace chatty::union_find {

/// How Link accesses entries in memory that all threads share. Old values are valid: an ancestor of a vertex remains its
/// ancestor.
struct RelaxedAccess {
  template <class Id>
  CHATTY_FN static Id Read(const Id* entry) {
    return atomics::LoadOld(entry);
  }
  template <class Id>
  CHATTY_FN static void Write(Id* entry, Id id) {
    atomics::Store(entry, id);
  }
};
/// The same in a group's scratch memory, with atomics throughout. Plain loads are a tenth faster, but race detectors report
/// them.
struct SharedMemoryAccess {
  template <class Id>
  CHATTY_FN static Id Read(Id* entry) {
    return atomics::Or<true>(entry, Id{0});
  }
  template <class Id>
  CHATTY_FN static void Write(Id* entry, Id id) {
    atomics::Exchange(entry, id);
  }
};

/// Joins the trees of a and b: the smaller root becomes the parent of the larger one. Any number of threads may call it
/// concurrently.
template <class Access = RelaxedAccess, class Id>
CHATTY_FN void Link(Id* parent, Id a, Id b) {
  Id p = Access::Read(parent + a), q = Access::Read(parent + b);
  while (p != q) {
    const Id high = p > q ? p : q, low = p > q ? q : p;
    Id ancestor = Access::Read(parent + high);
    if (std::is_same_v<Access, RelaxedAccess> && ancestor == high) ancestor = atomics::Load(parent + high);
    if (ancestor == high) {
      ancestor = atomics::CompareSwap(parent + high, high, low);
      if (ancestor == high) return;
    }
    const Id next = Access::Read(parent + ancestor);
    if (next != ancestor) Access::Write(parent + high, next);  // path halving: later walks are shorter
    p = next;                                                  // less than high
    q = low;
  }
}

/// Makes v a root.
struct Reset {
  VertexId* parent;
  CHATTY_FN void operator()(std::size_t v) const { parent[v] = static_cast<VertexId>(v); }
};
/// Path compression: sets parent[v] to each ancestor in turn, ending at the root. Must not run concurrently with Link.
struct Compress {
  VertexId* parent;
  CHATTY_FN void operator()(std::size_t v) const {
    VertexId p = atomics::LoadOld(parent + v), ancestor;
    while (p != (ancestor = atomics::LoadOld(parent + p))) {
      atomics::Store(parent + v, ancestor);
      p = ancestor;
    }
  }
};
/// Path compression of an owned vertex.
struct CompressOwned {
  GraphRef graph;
  VertexId* parent;
  CHATTY_FN void operator()(LocalId v) const { Compress{parent}(graph.Global(v)); }
};
/// Path compression of several vertices together: a GPU's thread waits as long for one load as for all of these. Writes the
/// roots to `root`.
template <unsigned kCount>
CHATTY_FN void CompressTogether(VertexId* parent, const VertexId (&own)[kCount], VertexId (&root)[kCount]) {
  VertexId ancestor[kCount];
  for (unsigned k = 0; k < kCount; ++k) root[k] = atomics::LoadOld(parent + own[k]);
  for (bool more = true; more;) {
    more = false;
    for (unsigned k = 0; k < kCount; ++k) ancestor[k] = atomics::LoadOld(parent + root[k]);
    for (unsigned k = 0; k < kCount; ++k) {
      if (ancestor[k] == root[k]) continue;
      atomics::Store(parent + own[k], ancestor[k]);
      root[k] = ancestor[k];
      more = true;
    }
  }
}
/// Path compression of kAtOnce owned vertices, whose distance is `apart`.
struct CompressSome {
  static constexpr unsigned kAtOnce = 4;
  GraphRef graph;
  VertexId* parent;
  LocalId apart;
  /// Number of calls, with i from 0 on, that compress all owned vertices.
  CHATTY_FN static LocalId Calls(const GraphRef& graph) { return graph.owned / kAtOnce + (graph.owned % kAtOnce != 0); }
  CHATTY_FN void operator()(std::size_t i) const {
    VertexId own[kAtOnce], root[kAtOnce];
    for (unsigned k = 0; k < kAtOnce; ++k) {
      const std::size_t v = i + std::size_t{k} * apart;
      own[k] = graph.Global(static_cast<LocalId>(v < graph.owned ? v : i));
    }
    CompressTogether(parent, own, root);
  }
};
/// The root of v. Nothing may write to `parent` concurrently.
CHATTY_FN VertexId Root(const VertexId* parent, VertexId v) {
  VertexId root = v;
  for (VertexId ancestor; (ancestor = parent[root]) != root;) root = ancestor;
  return root;
}
/// Writes the root of `v`.
struct FindRoot {
  const VertexId* parent;
  VertexId v;
  VertexId* root;
  CHATTY_FN void operator()(std::size_t) const { *root = Root(parent, v); }
};

/// Writes the root of each owned vertex.
struct Label {
  GraphRef graph;
  const VertexId* parent;
  VertexId* out;
  CHATTY_FN void operator()(LocalId v) const { out[v] = Root(parent, graph.Global(v)); }
};
}  // namespace chatty::union_find
