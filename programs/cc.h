/// \file
/// Weakly connected components by hooking trees.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "chatty/core/atomics.h"
#include "chatty/core/bitmap.h"
#include "chatty/core/prefetch.h"
#include "chatty/framework/operators/operator_program.h"
#include "chatty/framework/statistics.h"
#include "chatty/programs/verify.h"

namespace chatty {

namespace hooking {

/// Joins the trees of a and b, the larger root below the smaller (Shiloach and Vishkin's hooking, as in ECL-CC and GAP): the
/// root of a finished component is its least vertex. Any number of threads at once.
CHATTY_FN void Link(VertexId* parent, VertexId a, VertexId b) {
  VertexId p = atomics::LoadOld(parent + a), q = atomics::LoadOld(parent + b);  // who has been above them still is
  while (p != q) {
    const VertexId high = p > q ? p : q, low = p > q ? q : p;
    VertexId above = atomics::LoadOld(parent + high);
    if (above == high) above = atomics::Load(parent + high);
    if (above == high) {
      above = atomics::CompareSwap(parent + high, high, low);
      if (above == high) return;
    }
    const VertexId next = atomics::LoadOld(parent + above);
    if (next != above) atomics::Store(parent + high, next);  // halved, the path of whoever comes next is shorter
    p = next;                                                // less than high
    q = low;
  }
}

struct Reset {
  VertexId* parent;
  CHATTY_FN void operator()(std::size_t v) const { parent[v] = static_cast<VertexId>(v); }
};
/// Halves v's path, as all others' are halved at once: a long one takes as many rounds as its length has bits.
struct Jump {
  VertexId* parent;
  CHATTY_FN void operator()(std::size_t v) const {
    const VertexId p = atomics::LoadOld(parent + v), above = atomics::LoadOld(parent + p);
    if (above != p) atomics::Store(parent + v, above);
  }
};
/// Points v at its root, and on the way there ever higher: whoever walks through v meanwhile has a shorter way. Nobody may
/// link meanwhile, so that a root that was one still is.
struct Compress {
  VertexId* parent;
  CHATTY_FN void operator()(std::size_t v) const {
    VertexId p = atomics::LoadOld(parent + v), above;
    while (p != (above = atomics::LoadOld(parent + p))) {
      atomics::Store(parent + v, above);
      p = above;
    }
  }
};
/// Hangs v below its first neighbour, the least, if that is less than v, and makes it a root otherwise: without atomics, for
/// only v's own entry is written (ECL-CC's initialisation, Jaiganesh and Burtscher, HPDC'18).
struct HookFirst {
  GraphRef graph;
  VertexId* parent;
  CHATTY_FN void operator()(LocalId v) const {
    if (graph.forward.degree(v) == 0) {
      parent[graph.Global(v)] = graph.Global(v);
      return;
    }
    const VertexId first = graph.Global(graph.forward.neighbours[graph.forward.offsets[v]]), own = graph.Global(v);
    parent[own] = first < own ? first : own;  // no branch that nobody can predict
  }
};
/// Links v with its nth neighbour, the second with the first as well, if HookFirst has not.
struct LinkNth {
  GraphRef graph;
  VertexId* parent;
  EdgeIndex nth;
  CHATTY_FN void operator()(LocalId v) const {
    // Vertices are visited in order by a CPU, which a link's atomics would let wait for each row and each tree in turn.
    constexpr LocalId kRows = 32, kTrees = 16;
    if (v + kRows < graph.owned) Prefetch(Row(v + kRows) + nth);
    if (v + kTrees < graph.owned && graph.forward.degree(v + kTrees) > nth) {
      Prefetch(parent + graph.Global(Row(v + kTrees)[nth]));
    }
    const EdgeIndex degree = graph.forward.degree(v);
    const LocalId* const row = Row(v);
    const VertexId own = graph.Global(v);
    if (nth == 1 && degree > 0 && graph.Global(row[0]) > own) Link(parent, own, graph.Global(row[0]));
    if (degree > nth) Link(parent, own, graph.Global(row[nth]));
  }
  /// Where v's row begins.
  CHATTY_FN const LocalId* Row(LocalId v) const { return graph.forward.neighbours + graph.forward.offsets[v]; }
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

/// A flat forest in few words: most vertices are below the giant's root, or roots themselves. In this order: the number of
/// pairs; the giant's root; a bit a vertex, set below that root; a pair, the vertex and its root, for any other that is no
/// root.
struct Digest {
  VertexId* ids;
  VertexId vertices;

  CHATTY_FN static constexpr std::size_t BitIds(std::uint64_t vertices) {
    return (bits::Words(vertices) * sizeof(std::uint32_t) + sizeof(VertexId) - 1) / sizeof(VertexId);
  }
  /// Pairs that fit where a digest with any takes at most half the room of the forest.
  CHATTY_FN static constexpr std::size_t Room(std::uint64_t vertices) {
    const std::size_t fixed = 2 + BitIds(vertices), most = vertices / 2;
    return fixed < most ? (most - fixed) / 2 : 0;
  }
  /// Ids in a digest with so many pairs.
  CHATTY_FN static constexpr std::size_t Size(std::uint64_t vertices, std::size_t pairs) {
    return 2 + BitIds(vertices) + 2 * pairs;
  }
  CHATTY_FN std::uint32_t* words() const { return reinterpret_cast<std::uint32_t*>(ids + 2); }
  CHATTY_FN bool below(std::size_t v) const { return (words()[v / 32] >> (v % 32) & 1) != 0; }
  CHATTY_FN VertexId* pairs() const { return ids + 2 + BitIds(vertices); }
};
struct ClearDigest {
  Digest digest;
  const VertexId* parent;
  VertexId giant;  ///< once its root; kNoVertex: there is none
  CHATTY_FN void operator()(std::size_t) const {
    digest.ids[0] = 0;
    digest.ids[1] = giant == kNoVertex ? kNoVertex : parent[giant];
  }
};
/// Digests the vertices of one word; counts pairs that do not fit, too.
struct DigestWord {
  Digest digest;
  const VertexId* parent;
  CHATTY_FN void operator()(std::size_t w) const {
    const VertexId giant = digest.ids[1], first = static_cast<VertexId>(w * 32);
    const unsigned count = digest.vertices - first < 32 ? static_cast<unsigned>(digest.vertices - first) : 32;
    std::uint32_t below = 0, others = 0;
    for (unsigned b = 0; b < count; ++b) {
      const VertexId root = parent[first + b];
      if (root == first + b) continue;
      (root == giant ? below : others) |= 1u << b;
    }
    digest.words()[w] = below;
    if (others == 0) return;
    VertexId place = atomics::Add<true>(digest.ids, static_cast<VertexId>(bits::Count(others)));
    for (unsigned b = 0; b < count && place < Digest::Room(digest.vertices); ++b) {
      if (!(others >> b & 1u)) continue;
      digest.pairs()[2 * place] = first + b;
      digest.pairs()[2 * place + 1] = parent[first + b];
      ++place;
    }
  }
};
/// Joins in a vertex of another device's giant, and a pair.
struct LinkBit {
  VertexId* parent;
  Digest theirs;
  CHATTY_FN void operator()(std::size_t v) const {
    if (theirs.below(v)) Link(parent, static_cast<VertexId>(v), theirs.ids[1]);
  }
};
struct LinkPair {
  VertexId* parent;
  const VertexId* pairs;
  CHATTY_FN void operator()(std::size_t i) const { Link(parent, pairs[2 * i], pairs[2 * i + 1]); }
};
/// Makes a forest of a digest.
struct RestoreBit {
  VertexId* parent;
  Digest theirs;
  CHATTY_FN void operator()(std::size_t v) const { parent[v] = theirs.below(v) ? theirs.ids[1] : static_cast<VertexId>(v); }
};
struct RestorePair {
  VertexId* parent;
  const VertexId* pairs;
  CHATTY_FN void operator()(std::size_t i) const { parent[pairs[2 * i]] = pairs[2 * i + 1]; }
};

/// Of owned vertices picked by a hash, the roots and the first neighbours.
struct Sample {
  GraphRef graph;
  const VertexId* parent;
  VertexId* roots;
  VertexId* neighbours;
  CHATTY_FN void operator()(std::size_t i) const {
    std::uint64_t x = (i + 1) * 0x9e3779b97f4a7c15ull;  // splitmix64
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    const auto v = static_cast<LocalId>((x ^ (x >> 31)) % graph.owned);
    const VertexId own = graph.Global(v);
    roots[i] = parent[own];
    neighbours[i] = graph.forward.degree(v) == 0 ? own : graph.Global(graph.forward.neighbours[graph.forward.offsets[v]]);
  }
};
struct Label {
  GraphRef graph;
  const VertexId* parent;
  VertexId* out;
  CHATTY_FN void operator()(LocalId v) const { out[v] = parent[graph.Global(v)]; }
};

}  // namespace hooking

/// Components labelled by their least id: Afforest (Sutton, Ben-Nun and Barak, IPDPS'18). On a symmetric graph some
/// neighbours of every vertex are linked first; the rows of the giant component that this shows are then skipped. Each
/// device links its own edges in a forest over all vertices, and the forests are merged in pairs: log2(devices) exchanges up
/// a tree of devices and as many down. Devices skip their own giants without having merged anything, once they know of a
/// vertex, the pivot, that is in all of them. An edge that both ends' owners skip joins two vertices that are each in one
/// tree with the pivot, on one device or the other, and so in one component when the forests are merged. Where there is no
/// pivot the forests are merged first, too.
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
  /// Up to so many, and no more than there are devices, if those show no giant: a device links only its own vertices' edges,
  /// which have to show it among all of them.
  static constexpr EdgeIndex kMostNeighbourRounds = 8;
  /// How often paths are halved before the first Compress, where that walks them from very many places at once: what
  /// HookFirst makes of a grid are columns, as long as the grid is high.
  static constexpr int kJumps = 3;
  /// Vertices looked at to find the giant component.
  static constexpr std::size_t kSamples = 1024;
  /// Vertices tried that each device may have in it.
  static constexpr std::size_t kPivots = 3;

  /// The forest, the sample and the digest.
  static std::uint64_t WorkBytes(const PartShape& part) {
    return (part.vertices + (part.symmetric && part.vertices > 0 ? 2 * kSamples : 0) +
            DigestIds(part.vertices, part.parts)) *
           sizeof(VertexId);
  }
  /// A forest, or a digest, between the pairs that MergeForests walks: both ways, up and down the tree.
  static std::size_t ExchangeBytes(const PartShape& part, PartId from, PartId to) {
    const PartId low = std::min(from, to), step = std::max(from, to) - low;
    const bool meet = (step & (step - 1)) == 0 && low % (2 * step) == 0;
    return meet ? std::max<std::size_t>(part.vertices, hooking::Digest::Size(part.vertices, 0)) * sizeof(VertexId) : 0;
  }

  /// The program, on one device of those that run it together.
  template <class Operators>
  void Run(Operators& ops, Output* out) const {
    const VertexId n = ops.graph().vertices;
    Buffer<VertexId> forest = ops.template Allocate<VertexId>(n);
    Buffer<VertexId> digest = ops.template Allocate<VertexId>(DigestIds(n, ops.devices()));
    Buffer<VertexId> samples = ops.template Allocate<VertexId>(ops.symmetric() && n > 0 ? 2 * kSamples : 0);
    VertexId* const parent = forest.data();
    if (ops.devices() > 1 || samples.empty()) ops.For(n, hooking::Reset{parent});  // HookFirst makes all of its own
    EdgeIndex linked = 0;
    VertexId giant = kNoVertex;  // the root of this device's
    bool common = false;
    if (!samples.empty()) {
      ops.ForEachVertex(hooking::HookFirst{ops.graph(), parent});
      linked = 1;
      const EdgeIndex most = std::clamp<EdgeIndex>(ops.devices(), kNeighbourRounds, kMostNeighbourRounds);
      for (EdgeIndex rounds = kNeighbourRounds; linked < rounds; rounds = common ? linked : most) {
        if constexpr (Operators::kManyAtOnce) {
          for (int i = 0; i < kJumps && linked == 1; ++i) ops.For(n, hooking::Jump{parent});
        }
        ops.For(n, hooking::Compress{parent});
        for (; linked < rounds; ++linked) ops.ForEachVertex(hooking::LinkNth{ops.graph(), parent, linked});
        ops.For(n, hooking::Compress{parent});
        common = FindGiant(ops, parent, samples.data(), &giant);
      }
      if (!common) {
        MergeForests(ops, parent, digest.data(), n, giant);
        giant = FirstOfAll(ops, giant);  // once a root: the forests are the same now, and so is what is above it
        if (giant != kNoVertex) ops.CopyOut(&giant, parent + giant, 1);
      }
    }
    if (!ops.StopRequested()) {  // the trees linked so far are parts of components
      ops.ForEachEdge(hooking::SkipSettled{ops.graph(), parent, giant, linked}, hooking::LinkEdge{ops.graph(), parent});
      ops.For(n, hooking::Compress{parent});
    }
    MergeForests(ops, parent, digest.data(), n, giant);
    ops.ForEachVertex(hooking::Label{ops.graph(), parent, out});
  }

  /// Of every edge, and by the count of components: VerifyComponents.
  Verdict Verify(const Graph& graph, std::span<const VertexId> labels, const RunStatistics&) const {
    return VerifyComponents(graph, labels);
  }

 private:
  static std::size_t DigestIds(std::uint64_t vertices, PartId parts) {
    return parts > 1 ? hooking::Digest::Size(vertices, hooking::Digest::Room(vertices)) : 0;
  }

  /// Of flat forests, one a device, that need not be the same; afterwards all devices hold the union of all, flat again.
  /// Many vertices are below what `giant` is below on this device.
  template <class Operators>
  static void MergeForests(Operators& ops, VertexId* parent, VertexId* ids, VertexId n, VertexId giant) {
    const PartId rank = ops.rank(), devices = ops.devices();
    const hooking::Digest digest{ids, n};
    PartId step = 1;
    for (; step < devices; step *= 2) {  // up the tree: to the first device
      const bool sends = rank % (2 * step) == step;
      const bool receives = rank % (2 * step) == 0 && rank + step < devices;
      Hand(
          ops, parent, digest, giant, sends ? rank - step : kNoPart, receives ? rank + step : kNoPart,
          [&](const VertexId* theirs) {
            ops.For(n, hooking::LinkTrees{parent, theirs});
          },
          [&](const hooking::Digest& theirs, std::size_t pairs) {
            ops.For(n, hooking::LinkBit{parent, theirs});
            ops.For(pairs, hooking::LinkPair{parent, theirs.pairs()});
          });
      if (receives) ops.For(n, hooking::Compress{parent});
    }
    for (step /= 2; step > 0; step /= 2) {  // and down again
      const bool sends = rank % (2 * step) == 0 && rank + step < devices;
      const bool receives = rank % (2 * step) == step;
      Hand(
          ops, parent, digest, giant, sends ? rank + step : kNoPart, receives ? rank - step : kNoPart,
          [&](const VertexId* theirs) {
            ops.For(n, hooking::Copy{theirs, parent});
          },
          [&](const hooking::Digest& theirs, std::size_t pairs) {
            ops.For(n, hooking::RestoreBit{parent, theirs});
            ops.For(pairs, hooking::RestorePair{parent, theirs.pairs()});
          });
    }
  }

  /// Hands a forest to `to` and takes one from `from`: digests if all that are handed on by any device now are small, and
  /// otherwise the forests as they are.
  template <class Operators, class TakeForest, class TakeDigest>
  static void Hand(Operators& ops, const VertexId* parent, const hooking::Digest& digest, VertexId giant, PartId to,
                   PartId from, TakeForest&& take_forest, TakeDigest&& take_digest) {
    const VertexId n = digest.vertices;
    VertexId pairs = 0;
    if (to != kNoPart) {
      ops.For(1, hooking::ClearDigest{digest, parent, giant});
      ops.For(bits::Words(n), hooking::DigestWord{digest, parent});
      ops.CopyOut(&pairs, digest.ids, 1);
    }
    if (ops.SumOfAll(pairs > hooking::Digest::Room(n) ? 1 : 0) > 0) {
      const VertexId* const theirs = ops.Exchange(to, parent, n, from);
      if (from != kNoPart) take_forest(theirs);
      return;
    }
    const VertexId* const theirs = ops.Exchange(to, digest.ids, hooking::Digest::Size(n, pairs), from);
    if (from == kNoPart) return;
    ops.CopyOut(&pairs, theirs, 1);
    take_digest(hooking::Digest{const_cast<VertexId*>(theirs), n}, pairs);
  }

  /// Finds each device's most frequent root, kNoVertex where it owns nothing. Whether there is a vertex below all of these,
  /// which then are of one component; devices that own nothing agree to any. What is tried is what many of the first
  /// device's samples have as their first neighbour.
  template <class Operators>
  static bool FindGiant(Operators& ops, const VertexId* parent, VertexId* samples, VertexId* giant) {
    const bool owns = ops.graph().owned > 0;
    Sampled mine;
    mine.pivots.fill(kNoVertex);
    if (owns) mine = SampleOwned(ops, parent, samples);
    *giant = mine.root;
    if (ops.devices() == 1) return true;
    for (const VertexId candidate : mine.pivots) {
      const VertexId pivot = FirstOfAll(ops, candidate);
      if (pivot == kNoVertex) break;
      VertexId above = kNoVertex;
      if (owns) ops.CopyOut(&above, parent + pivot, 1);
      if (ops.SumOfAll(above == mine.root ? 1 : 0) == ops.devices()) return true;
    }
    return false;
  }

  /// The first device's vertex, or kNoVertex.
  template <class Operators>
  static VertexId FirstOfAll(Operators& ops, VertexId v) {
    const double first = ops.FirstOfAll(v == kNoVertex ? -1 : static_cast<double>(v));
    return first < 0 ? kNoVertex : static_cast<VertexId>(first);
  }

  /// What a sample of owned vertices shows.
  struct Sampled {
    VertexId root = kNoVertex;               ///< the most frequent
    std::array<VertexId, kPivots> pivots{};  ///< the most frequent first neighbours of those below it; kNoVertex: no more
  };
  template <class Operators>
  static Sampled SampleOwned(Operators& ops, const VertexId* parent, VertexId* samples) {
    std::array<VertexId, 2 * kSamples> sampled{};
    ops.For(kSamples, hooking::Sample{ops.graph(), parent, samples, samples + kSamples});
    ops.CopyOut(sampled.data(), samples, 2 * kSamples);
    const std::span<const VertexId> all = sampled;
    Sampled result;
    result.root = MostFrequent(all.first(kSamples), {});
    if (ops.devices() == 1) return result;
    std::array<VertexId, kSamples> below{};
    std::size_t count = 0;
    for (std::size_t i = 0; i < kSamples; ++i) {
      if (sampled[i] == result.root) below[count++] = sampled[kSamples + i];
    }
    for (std::size_t i = 0; i < kPivots; ++i) {
      result.pivots[i] = MostFrequent(std::span(below).first(count), std::span(result.pivots).first(i));
    }
    return result;
  }

  /// The most frequent of some ids that is none of `others`; the least on ties; kNoVertex if there is none.
  static VertexId MostFrequent(std::span<const VertexId> ids, std::span<const VertexId> others) {
    std::array<VertexId, kSamples> sorted{};
    std::copy(ids.begin(), ids.end(), sorted.begin());
    std::sort(sorted.begin(), sorted.begin() + ids.size());
    VertexId best = kNoVertex;
    std::size_t best_count = 0;
    for (std::size_t i = 0, j = 0; i < ids.size(); i = j) {
      while (j < ids.size() && sorted[j] == sorted[i]) ++j;
      if (j - i > best_count && std::find(others.begin(), others.end(), sorted[i]) == others.end()) {
        best = sorted[i];
        best_count = j - i;
      }
    }
    return best;
  }
};

}  // namespace chatty
