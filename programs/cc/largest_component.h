/// \file
/// Steps 2 and 3 of `cc`: a sample of vertices shows the largest component, and the rows of its vertices are skipped
/// afterwards (Afforest). In most graphs this leaves few edges. Only symmetric graphs are sampled, so the rows of the other
/// vertices have every edge that matters.
#pragma once

#include <cstddef>
#include <cstdint>

#include "chatty/core/atomics.h"
#include "chatty/core/graph_ref.h"
#include "chatty/core/types.h"
#include "chatty/programs/cc/forest.h"

namespace chatty::union_find {

/// Of owned vertices picked by a hash, the roots, the first neighbours, kNoVertex where there are none, and the degrees.
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
/// Rows of vertices already in the largest component are skipped, and of others what has been linked. The rest of a row,
/// too, once some of its edges have joined the vertex to the largest component: to a neighbour that is not in it the
/// neighbour's own row leads as well, for graphs that have a largest component are symmetric.
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
    // A tree's other vertices have joined with its first. A CPU pays more for the look than for their few edges.
    if (IsLinked(own, ancestor)) return graph.forward.degree(v);
#endif
    return linked;
  }
  /// Of hubs this is asked before they are cut into slices.
  CHATTY_FN bool Settled(LocalId v) const {
    if (largest == kNoVertex) return false;
    const VertexId own = graph.Global(v), ancestor = atomics::Load(parent + own);
    return ancestor == largest || IsLinked(own, ancestor);
  }

 private:
  /// What an edge has joined links below the largest component's root; or below what another device's largest component has
  /// put above that; or below the root of a small tree that does.
  CHATTY_FN bool IsLinked(VertexId own, VertexId ancestor) const {
    const VertexId top = atomics::LoadOld(parent + largest);
    if (ancestor == top) return true;
    const VertexId next = ancestor == own ? own : atomics::Load(parent + ancestor);
    return next == largest || next == top;
  }
};
/// Lists owned vertices whose rows SkipSettled does not leave out, so that those have threads side by side: a stretch of
/// vertices, several for each thread at a time, of a group with scratch.
struct ListUnsettled {
  static constexpr std::uint32_t kMax = 1u << 14, kMin = 1u << 10;  ///< vertices of a stretch
  static constexpr std::size_t kScratch = 2 * sizeof(LocalId) + kMax * sizeof(std::uint16_t);
  static constexpr unsigned kAtOnce = 4;
  SkipSettled skip;       ///< of a largest component
  LocalId* list;          ///< has room for all that are owned
  LocalId* size;          ///< of it; 0 at first
  std::uint32_t stretch;  ///< vertices of one

  CHATTY_FN std::size_t Count() const { return (std::size_t{skip.graph.owned} + stretch - 1) / stretch; }
  template <class ThreadGroup>
  CHATTY_FN void operator()(std::size_t index, const ThreadGroup& group) const {
    const GraphRef& graph = skip.graph;
    auto* const count = group.template Scratch<LocalId>();             // and where the group's begin in the list
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
