/// \file
/// A union-find forest of vertices, as one array: the vertex above each one, or itself. Hooking (Shiloach and Vishkin, J.
/// Algorithms 1982; as in ECL-CC and GAP): an edge joins two trees, the larger root below the smaller. Then the root of a
/// finished component is its least vertex. Any number of threads link at once; paths are compressed while nobody links.
///
/// Links halve the paths that they walk up, which shortens all later walks. Several vertices are compressed together,
/// because a GPU's thread waits as long for one load as for four.
#pragma once

#include <cstddef>
#include <type_traits>

#include "chatty/core/atomics.h"
#include "chatty/core/graph_ref.h"
#include "chatty/core/types.h"

namespace chatty::union_find {

/// How Link reads an entry. In memory that all threads share: who has been above a vertex still is, so that one that is read
/// once may be old.
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
/// In a group's scratch, by atomics throughout: plain loads are a tenth faster, and races to whoever looks for them.
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

/// Joins the trees of a and b, the larger root below the smaller (Shiloach and Vishkin's hooking, as in ECL-CC and GAP): the
/// root of a finished component is its least vertex. Any number of threads at once.
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
    if (next != ancestor) Access::Write(parent + high, next);  // halved, the path of whoever comes next is shorter
    p = next;                                                  // less than high
    q = low;
  }
}

struct Reset {
  VertexId* parent;
  CHATTY_FN void operator()(std::size_t v) const { parent[v] = static_cast<VertexId>(v); }
};
/// Points v at its root, and on the way there ever higher: whoever walks through v meanwhile has a shorter way. Nobody may
/// link meanwhile, so that a root that was one still is.
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
/// The same of an owned vertex.
struct CompressOwned {
  GraphRef graph;
  VertexId* parent;
  CHATTY_FN void operator()(LocalId v) const { Compress{parent}(graph.Global(v)); }
};
/// The same of several, which ask together for who is above them: a GPU's thread waits as long for one as for all. Leaves
/// their roots in `root`.
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
/// The same of owned vertices, `apart` from each other.
struct CompressSome {
  static constexpr unsigned kAtOnce = 4;
  GraphRef graph;
  VertexId* parent;
  LocalId apart;
  /// So many calls, from 0 on, compress all.
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
/// The root above v. What is above it meanwhile stays.
CHATTY_FN VertexId Root(const VertexId* parent, VertexId v) {
  VertexId root = v;
  for (VertexId ancestor; (ancestor = parent[root]) != root;) root = ancestor;
  return root;
}
/// Of one vertex.
struct FindRoot {
  const VertexId* parent;
  VertexId v;
  VertexId* root;
  CHATTY_FN void operator()(std::size_t) const { *root = Root(parent, v); }
};

/// The root of each owned vertex.
struct Label {
  GraphRef graph;
  const VertexId* parent;
  VertexId* out;
  CHATTY_FN void operator()(LocalId v) const { out[v] = Root(parent, graph.Global(v)); }
};
}  // namespace chatty::union_find
