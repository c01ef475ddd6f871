/// \file
/// Weakly connected components by hooking trees.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "chatty/core/atomics.h"
#include "chatty/framework/operators/operator_program.h"
#include "chatty/framework/statistics.h"
#include "chatty/programs/verify.h"

namespace chatty {

namespace hooking {

/// Joins the trees of a and b, the larger root below the smaller (Shiloach and Vishkin's hooking, as in ECL-CC and GAP): the
/// root of a finished component is its least vertex. Any number of threads at once.
CHATTY_FN void Link(VertexId* parent, VertexId a, VertexId b) {
  VertexId p = atomics::Load(parent + a), q = atomics::Load(parent + b);
  while (p != q) {
    const VertexId high = p > q ? p : q, low = p > q ? q : p;
    const VertexId above = atomics::Load(parent + high);
    if (above == low) return;
    if (above == high && atomics::CompareSwap(parent + high, high, low) == high) return;
    p = atomics::Load(parent + atomics::Load(parent + high));
    q = atomics::Load(parent + low);
  }
}

struct Reset {
  VertexId* parent;
  CHATTY_FN void operator()(std::size_t v) const { parent[v] = static_cast<VertexId>(v); }
};
/// Points v at its root, and on the way there ever higher: whoever walks through v meanwhile has a shorter way.
struct Compress {
  VertexId* parent;
  CHATTY_FN void operator()(std::size_t v) const {
    VertexId p = atomics::Load(parent + v), above;
    while (p != (above = atomics::Load(parent + p))) {
      atomics::Store(parent + v, above);
      p = above;
    }
  }
};
/// Links v with its nth neighbour.
struct LinkNth {
  GraphRef graph;
  VertexId* parent;
  EdgeIndex nth;
  CHATTY_FN void operator()(LocalId v) const {
    if (graph.forward.degree(v) <= nth) return;
    const LocalId u = graph.forward.neighbours[graph.forward.offsets[v] + nth];
    Link(parent, graph.Global(v), graph.Global(u));
  }
};
struct LinkEdge {
  GraphRef graph;
  VertexId* parent;
  CHATTY_FN void operator()(LocalId v, LocalId u, EdgeIndex) const { Link(parent, graph.Global(v), graph.Global(u)); }
};
/// Rows of vertices already in the giant component are skipped, and of others what has been linked.
struct SkipSettled {
  GraphRef graph;
  const VertexId* parent;
  VertexId giant;  ///< kNoVertex: skip only what has been linked
  EdgeIndex linked;
  CHATTY_FN EdgeIndex operator()(LocalId v) const {
    if (giant != kNoVertex && atomics::Load(parent + graph.Global(v)) == giant) return graph.forward.degree(v);
    return linked;
  }
};
/// Joins in what another device found.
struct LinkTrees {
  VertexId* parent;
  const VertexId* theirs;
  CHATTY_FN void operator()(std::size_t v) const {
    if (theirs[v] != v) Link(parent, static_cast<VertexId>(v), theirs[v]);
  }
};
struct Copy {
  const VertexId* from;
  VertexId* to;
  CHATTY_FN void operator()(std::size_t v) const { to[v] = from[v]; }
};
struct Sample {
  const VertexId* parent;
  VertexId* out;
  VertexId vertices;
  CHATTY_FN void operator()(std::size_t i) const {
    std::uint64_t x = (i + 1) * 0x9e3779b97f4a7c15ull;  // splitmix64
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    out[i] = parent[(x ^ (x >> 31)) % vertices];
  }
};
struct Label {
  GraphRef graph;
  const VertexId* parent;
  VertexId* out;
  CHATTY_FN void operator()(LocalId v) const { out[v] = parent[graph.Global(v)]; }
};

}  // namespace hooking

/// Components labelled by their least id: Afforest (Sutton, Ben-Nun and Barak, IPDPS'18). Two neighbours of every vertex are
/// linked first; on a symmetric graph the giant component that this shows is then skipped. Each device links its own edges
/// in a forest over all vertices, and the forests are merged in pairs: log2(devices) exchanges of one id a vertex.
struct ConnectedComponents {
  /// @{
  /// What OperatorProgram and the command line ask for.
  using Output = VertexId;
  static constexpr bool kOutputIsVertex = true;
  static constexpr const char* kSummary = "weakly connected components by hooking (Afforest), labelled by least id";
  static constexpr const char* kOutputName = "component";
  /// @}
  /// Neighbours of each vertex that are linked first.
  static constexpr EdgeIndex kNeighbourRounds = 2;
  /// Vertices looked at to find the giant component.
  static constexpr std::size_t kSamples = 1024;

  /// The forest and the sample.
  static std::uint64_t WorkBytes(const PartShape& part) {
    return (part.vertices + (part.symmetric && part.vertices > 0 ? kSamples : 0)) * sizeof(VertexId);
  }
  /// A forest, between the pairs that MergeForests walks: both ways, up and down the tree.
  static std::size_t ExchangeBytes(const PartShape& part, PartId from, PartId to) {
    const PartId low = std::min(from, to), step = std::max(from, to) - low;
    const bool meet = (step & (step - 1)) == 0 && low % (2 * step) == 0;
    return meet ? part.vertices * sizeof(VertexId) : 0;
  }

  /// The program, on one device of those that run it together.
  template <class Operators>
  void Run(Operators& ops, Output* out) const {
    const VertexId n = ops.graph().vertices;
    Buffer<VertexId> forest = ops.template Allocate<VertexId>(n);
    VertexId* const parent = forest.data();
    ops.For(n, hooking::Reset{parent});
    EdgeIndex linked = 0;
    VertexId giant = kNoVertex;
    if (ops.symmetric() && n > 0) {
      for (; linked < kNeighbourRounds; ++linked) ops.ForEachVertex(hooking::LinkNth{ops.graph(), parent, linked});
      MergeForests(ops, parent, n);
      giant = MostFrequent(ops, parent, n);
    }
    if (!ops.StopRequested()) {  // the trees linked so far are parts of components
      ops.ForEachEdge(hooking::SkipSettled{ops.graph(), parent, giant, linked}, hooking::LinkEdge{ops.graph(), parent});
      MergeForests(ops, parent, n);
    }
    ops.ForEachVertex(hooking::Label{ops.graph(), parent, out});
  }

  /// Of every edge, and by the count of components: VerifyComponents.
  Verdict Verify(const Graph& graph, std::span<const VertexId> labels, const RunStatistics&) const {
    return VerifyComponents(graph, labels);
  }

 private:
  /// Flattens the forest; afterwards all devices hold the union of all forests.
  template <class Operators>
  static void MergeForests(Operators& ops, VertexId* parent, VertexId n) {
    ops.For(n, hooking::Compress{parent});
    const PartId rank = ops.rank(), devices = ops.devices();
    PartId step = 1;
    for (; step < devices; step *= 2) {  // up the tree: to the first device
      const bool sends = rank % (2 * step) == step;
      const bool receives = rank % (2 * step) == 0 && rank + step < devices;
      const VertexId* theirs = ops.Exchange(sends ? rank - step : kNoPart, parent, n, receives ? rank + step : kNoPart);
      if (!receives) continue;
      ops.For(n, hooking::LinkTrees{parent, theirs});
      ops.For(n, hooking::Compress{parent});
    }
    for (step /= 2; step > 0; step /= 2) {  // and down again
      const bool sends = rank % (2 * step) == 0 && rank + step < devices;
      const bool receives = rank % (2 * step) == step;
      const VertexId* theirs = ops.Exchange(sends ? rank + step : kNoPart, parent, n, receives ? rank - step : kNoPart);
      if (receives) ops.For(n, hooking::Copy{theirs, parent});
    }
  }

  /// The most frequent root among a sample, the same on all devices.
  template <class Operators>
  static VertexId MostFrequent(Operators& ops, const VertexId* parent, VertexId n) {
    std::array<VertexId, kSamples> roots{};
    Buffer<VertexId> sampled = ops.template Allocate<VertexId>(kSamples);
    ops.For(kSamples, hooking::Sample{parent, sampled.data(), n});
    ops.CopyOut(roots.data(), sampled.data(), kSamples);
    std::sort(roots.begin(), roots.end());
    VertexId best = roots[0];
    std::size_t best_count = 0;
    for (std::size_t i = 0, j = 0; i < kSamples; i = j) {
      while (j < kSamples && roots[j] == roots[i]) ++j;
      if (j - i > best_count) {
        best = roots[i];
        best_count = j - i;
      }
    }
    return best;  // the merged forests are equal, so all devices sample the same
  }
};

}  // namespace chatty
