/// \file
/// Weakly connected components by hooking trees.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "chatty/core/bitmap.h"
#include "chatty/framework/operators/operator_program.h"
#include "chatty/framework/statistics.h"
#include "chatty/programs/hooking.h"
#include "chatty/programs/verify.h"

namespace chatty {

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
  /// Vertices looked at to find the giant component.
  static constexpr std::size_t kSamples = 1024;
  /// Vertices tried that each device may have in it.
  static constexpr std::size_t kPivots = 3;

  /// Whether vertices that follow each other are joined among themselves first, in tiles (hooking::HookTile). Nothing: where
  /// there are so many threads that each walks up a tree while many others do.
  std::optional<bool> tiled;

  /// The forest, the sample, the tiles' counts and the digest.
  static std::uint64_t WorkBytes(const PartShape& part) {
    const bool samples = part.symmetric && part.vertices > 0;
    return (part.vertices + (samples ? 2 * kSamples : 0) + DigestIds(part.vertices, part.parts)) * sizeof(VertexId) +
           (samples ? hooking::Tiles::Count(part.vertices) * sizeof(hooking::Tiles::Counts) : 0);
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
    Buffer<hooking::Tiles::Counts> counts =
        ops.template Allocate<hooking::Tiles::Counts>(samples.empty() ? 0 : hooking::Tiles::Count(n));  // as if it owned all
    VertexId* const parent = forest.data();
    if (ops.devices() > 1 || samples.empty()) ops.For(n, hooking::Reset{parent});  // HookFirst makes all of its own
    hooking::Tiles tiles{.owned = ops.graph().owned};
    EdgeIndex linked = 0;
    VertexId giant = kNoVertex;  // the root of this device's
    bool common = false;
    if (!samples.empty()) {
      // Until labels are written there is room for what tiles note.
      static_assert(sizeof(Output) >= 2 * sizeof(std::uint16_t));
      tiles.noted = reinterpret_cast<std::uint16_t*>(out);
      tiles.counts = counts.data();
      tiles.there = tiled.value_or(Operators::kManyAtOnce) && ops.most_scratch() >= hooking::HookTile::kScratch;
      linked = HookFirst(ops, parent, tiles);
      const EdgeIndex most = std::clamp<EdgeIndex>(ops.devices(), kNeighbourRounds, kMostNeighbourRounds);
      for (EdgeIndex rounds = kNeighbourRounds;; rounds = most) {
        for (; linked < rounds; ++linked) ops.ForEachVertex(hooking::LinkNth{ops.graph(), parent, linked});
        ops.For(n, hooking::Compress{parent});
        common = FindGiant(ops, parent, samples.data(), &giant);
        if (common || linked >= most) break;
      }
      if (!common) {
        MergeForests(ops, parent, digest.data(), n, giant);
        giant = FirstOfAll(ops, giant);  // once a root: the forests are the same now, and so is what is above it
        if (giant != kNoVertex) ops.CopyOut(&giant, parent + giant, 1);
      }
    }
    if (!ops.StopRequested()) {     // the trees linked so far are parts of components
      if (tiles.there) linked = 0;  // not with the greater neighbours
      ops.ForEachEdge(hooking::SkipSettled{ops.graph(), parent, giant, linked}, hooking::LinkEdge{ops.graph(), parent});
      if (ops.devices() > 1) ops.For(n, hooking::Compress{parent});
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

  /// Joins owned vertices with their first neighbours, so that every tree is walked up in a few steps, and in tiles with the
  /// second ones, too. Returns with how many.
  template <class Operators>
  static EdgeIndex HookFirst(Operators& ops, VertexId* parent, const hooking::Tiles& tiles) {
    if (!tiles.there) {
      ops.ForEachVertex(hooking::HookFirst{ops.graph(), parent});
      ops.For(ops.graph().vertices, hooking::Compress{parent});
      return 1;
    }
    const std::size_t count = hooking::Tiles::Count(tiles.owned);
    ops.ForEachTogether(count, ops.gangs(), hooking::HookTile::kScratch, hooking::HookTile{ops.graph(), parent, tiles});
    ops.ForEachTogether(count, ops.gangs(), hooking::CompressTile{parent, ops.graph(), tiles});
    ops.ForEachTogether(count, ops.gangs(), hooking::LinkTile{parent, ops.graph(), tiles});
    return hooking::Tiles::kLooked;
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
