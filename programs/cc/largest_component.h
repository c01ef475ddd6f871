/// \file
/// Steps 2 and 3 of `cc` (Afforest): a sample of vertices shows the largest component, and the rows of its vertices are then
/// skipped. In most graphs this leaves few edges. Only symmetric graphs are sampled, so the rows of the other vertices have
/// every edge that matters.
#pragma once

#include <cstddef>
#include <cstdint>

#include "chatty/core/atomics.h"
#include "chatty/core/graph_ref.h"
#include "chatty/core/types.h"
#include "chatty/programs/cc/forest.h"

namespace chatty::union_find {

/// Samples owned vertices by a hash: writes their roots, their first neighbours (kNoVertex if there is none) and their
/// degrees.
struct Sample {
  GraphRef graph;
  const VertexId* parent;
  VertexId* roots;
  VertexId* neighbours;
  VertexId* degrees;
  CHATTY_FN void operator()(std::size_t i) const {
    std::uint64_t x = (i + 1) * 0x9e3779b97f4a7c15ull;  // splitmix64
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    const auto v = static_cast<LocalId>((x ^ (x >> 31)) % graph.owned);
    const VertexId own = graph.Global(v);
    roots[i] = Root(parent, own);
    const EdgeIndex degree = graph.forward.degree(v);
    neighbours[i] = degree == 0 ? kNoVertex : graph.Global(graph.forward.neighbours[graph.forward.offsets[v]]);
    degrees[i] = degree < kNoVertex ? static_cast<VertexId>(degree) : kNoVertex;
  }
};

struct LinkEdge {
  GraphRef graph;
  VertexId* parent;
  CHATTY_FN void operator()(LocalId v, LocalId u, EdgeIndex) const { Link(parent, graph.Global(v), graph.Global(u)); }
};
/// Skips edges that need no link: the rows of vertices in the largest component, and the first `linked` edges of other rows.
/// The rest of a row is skipped, too, once its first kCheckAfter edges have joined the vertex to the largest component. An
/// edge to a neighbour outside of that component is also in the neighbour's row, because sampled graphs are symmetric.
struct SkipSettled {
  static constexpr EdgeIndex kCheckAfter = 4;
  GraphRef graph;
  const VertexId* parent;
  VertexId largest;  ///< kNoVertex: skip only what has been linked
  EdgeIndex linked;
  CHATTY_FN EdgeIndex operator()(LocalId v) const {
    if (largest == kNoVertex) return linked;
    const VertexId own = graph.Global(v), ancestor = atomics::Load(parent + own);
    if (ancestor == largest) return graph.forward.degree(v);
#if CHATTY_DEVICE_CODE
    // If one vertex of a small tree has joined, all have. On a CPU this check costs more than their few edges.
    if (IsLinked(own, ancestor)) return graph.forward.degree(v);
#endif
    return linked;
  }
  /// The second check of a row. A GPU makes it before it cuts the row of a hub into slices.
  CHATTY_FN bool Settled(LocalId v) const {
    if (largest == kNoVertex) return false;
    const VertexId own = graph.Global(v), ancestor = atomics::Load(parent + own);
    return ancestor == largest || IsLinked(own, ancestor);
  }

 private:
  /// Whether a link has joined the vertex to the largest component. Then its parent is the component's root; or the parent
  /// of that root, after a link with another device's largest component; or the root of a small tree that has such a parent.
  CHATTY_FN bool IsLinked(VertexId own, VertexId ancestor) const {
    const VertexId top = atomics::LoadOld(parent + largest);
    if (ancestor == top) return true;
    const VertexId next = ancestor == own ? own : atomics::Load(parent + ancestor);
    return next == largest || next == top;
  }
};
/// Lists the owned vertices whose rows SkipSettled does not skip, so that consecutive threads process these. A group reads a
/// stretch of vertices, several per thread at a time, and needs scratch memory.
struct ListUnsettled {
  static constexpr std::uint32_t kMax = 1u << 14, kMin = 1u << 10;  ///< vertices of a stretch
  static constexpr std::size_t kScratch = 2 * sizeof(LocalId) + kMax * sizeof(std::uint16_t);
  static constexpr unsigned kAtOnce = 4;
  SkipSettled skip;       ///< with a largest component
  LocalId* list;          ///< room for all owned vertices
  LocalId* size;          ///< of the list; 0 at first
  std::uint32_t stretch;  ///< vertices per call

  CHATTY_FN std::size_t Count() const { return (std::size_t{skip.graph.owned} + stretch - 1) / stretch; }
  template <class ThreadGroup>
  CHATTY_FN void operator()(std::size_t index, const ThreadGroup& group) const {
    const GraphRef& graph = skip.graph;
    auto* const count = group.template Scratch<LocalId>();  // of the group's vertices, then their begin in the list
    auto* const places = reinterpret_cast<std::uint16_t*>(count + 2);  // in the stretch
    const std::size_t first = index * stretch;
    const auto vertices = static_cast<std::uint32_t>(graph.owned - first < stretch ? graph.owned - first : stretch);
    if (group.thread() == 0) *count = 0;
    group.Sync();
    const VertexId largest = skip.largest, top = atomics::LoadOld(skip.parent + largest);
    for (std::uint32_t base = 0; base < vertices; base += kAtOnce * group.threads()) {
      VertexId own[kAtOnce], ancestor[kAtOnce], next[kAtOnce];
      EdgeIndex degree[kAtOnce];
      bool left[kAtOnce];
      for (unsigned k = 0; k < kAtOnce; ++k) {
        const std::uint32_t i = base + k * group.threads() + group.thread();
        left[k] = i < vertices;
        own[k] = graph.Global(static_cast<LocalId>(first + (left[k] ? i : 0)));
        ancestor[k] = atomics::LoadOld(skip.parent + own[k]);
      }
      for (unsigned k = 0; k < kAtOnce; ++k) {
        left[k] = left[k] && ancestor[k] != largest && ancestor[k] != top;
        degree[k] =
            left[k] ? graph.forward.degree(static_cast<LocalId>(first + base + k * group.threads() + group.thread())) : 0;
        next[k] = left[k] && ancestor[k] != own[k] ? atomics::LoadOld(skip.parent + ancestor[k]) : ancestor[k];
      }
      for (unsigned k = 0; k < kAtOnce; ++k) {
        left[k] = left[k] && degree[k] > skip.linked && next[k] != largest && next[k] != top;
        const std::uint32_t place = group.AppendIndex(left[k], count);
        if (left[k]) places[place] = static_cast<std::uint16_t>(base + k * group.threads() + group.thread());
      }
    }
    group.Sync();
    if (group.thread() == 0 && count[0] != 0) count[1] = atomics::Add<true>(size, count[0]);
    group.Sync();
    for (LocalId i = group.thread(); i < count[0]; i += group.threads()) {
      list[count[1] + i] = static_cast<LocalId>(first + places[i]);
    }
  }
};
struct ClearCount {
  LocalId* count;
  CHATTY_FN void operator()(std::size_t) const { *count = 0; }
};
}  // namespace chatty::union_find
