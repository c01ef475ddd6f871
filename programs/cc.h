/// \file
/// Weakly connected components: Afforest over a union-find forest.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "chatty/core/bitmap.h"
#include "chatty/framework/operators/operator_program.h"
#include "chatty/framework/statistics.h"
#include "chatty/programs/cc/first_links.h"
#include "chatty/programs/cc/forest.h"
#include "chatty/programs/cc/largest_component.h"
#include "chatty/programs/cc/merging.h"
#include "chatty/programs/cc/tiles.h"
#include "chatty/programs/verify.h"

namespace chatty {

/// Components labelled by their least id: Afforest (Sutton, Ben-Nun and Barak, IPDPS'18) over a union-find forest of all
/// vertices, which each device holds. On a symmetric graph:
/// 1. Link. Each device links the first neighbours of its vertices.
/// 2. Sample. The roots of kSamples vertices show the largest component.
/// 3. Finish. Each device links the other edges of vertices outside of that component; rows of vertices in it are skipped.
/// 4. Merge. Each device sends its forest to the device 1, 2, 4... places after it. After log2(devices) exchanges each
///    forest has all edges.
///
/// Devices may skip rows of their own largest component before anything is merged, once they know a vertex that is in all of
/// these components: the pivot. An edge that the owners of both ends skip joins two vertices, each of which is in one tree
/// with the pivot on some device. Merging puts both in one component. Without a pivot devices merge first.
///
/// Where parts are ranges, devices first link the vertices that they own, without communication, and exchange one bit per
/// vertex: whether the vertex is in its owner's largest component. Once edges are found that join these components, only
/// edges with an end outside of all of them need linking. Edges with both ends outside are few: their roots are broadcast in
/// place of forests (MergeBoundaryPairs).
struct ConnectedComponents {
  /// @{
  /// Members that OperatorProgram and the command line use.
  using Output = VertexId;
  static constexpr Info kInfo{
      .summary = "weakly connected components by hooking (Afforest), labelled by least id",
      .output_name = "component",
      .output_is_vertex = true,
  };
  /// @}
  /// Devices first link the vertices that they own.
  static constexpr bool kOwnBegins = true;
  /// Neighbours of each vertex that are linked first.
  static constexpr EdgeIndex kNeighbourRounds = 2;
  /// Maximum number of first neighbours to link while devices have no common largest component; also at most one per device.
  /// More are needed on several devices, because each links the edges of its own vertices alone.
  static constexpr EdgeIndex kMaxNeighbourRounds = 8;
  /// Vertices in the sample that shows the largest component.
  static constexpr std::size_t kSamples = 1024;
  /// Candidates for the pivot.
  static constexpr std::size_t kPivots = 3;
  /// Minimum mean degree at which some second neighbours are expected to show the largest component. Those are then linked
  /// first, and more follow while the edges of vertices outside of that component are more than twice as many.
  static constexpr EdgeIndex kManyEdges = 8;

  /// Whether consecutive vertices are first linked among themselves, in tiles (union_find::LinkTile). Empty: on devices with
  /// many threads, where otherwise many threads walk up the same tree.
  std::optional<bool> tiled;

  /// The forest, the sample, the tiles' counts and the compressed forest.
  static std::uint64_t WorkBytes(const PartShape& part) {
    const bool samples = part.symmetric && part.vertices > 0;
    return (part.vertices + (samples ? 3 * kSamples : 0) + CompressedIds(part.vertices, part.parts)) * sizeof(VertexId) +
           (samples ? union_find::Tiles::Count(part.vertices) * sizeof(union_find::Tiles::Counts) : 0);
  }
  /// A forest, or a compressed forest, to each device that MergeForests sends it to; boundary pairs to every device.
  static std::size_t ExchangeBytes(const PartShape& part, PartId from, PartId to) {
    const PartId step = (to + part.parts - from) % part.parts;
    if (step == 0) return 0;
    const bool sends_forest = (step & (step - 1)) == 0;
    const std::size_t pairs = part.symmetric ? union_find::BoundaryPairs::MaxPairs(part.vertices) : 0;
    const std::size_t boundary = pairs > 0 ? std::max(union_find::CompressedForest::BitIds(part.vertices), 2 * pairs) : 0;
    return sizeof(VertexId) *
           (sends_forest ? std::max<std::size_t>(part.vertices, union_find::CompressedForest::Size(part.vertices, 0))
                         : boundary);
  }

  /// Runs the program on one of its devices.
  template <class Operators>
  void Run(Operators& ops, Output* out) const {
    const VertexId n = ops.graph().vertices;
    Buffer<VertexId> forest = ops.template Allocate<VertexId>(n);
    Buffer<VertexId> compressed = ops.template Allocate<VertexId>(CompressedIds(n, ops.devices()));
    Buffer<VertexId> samples = ops.template Allocate<VertexId>(ops.symmetric() && n > 0 ? 3 * kSamples : 0);
    Buffer<union_find::Tiles::Counts> counts = ops.template Allocate<union_find::Tiles::Counts>(
        samples.empty() ? 0 : union_find::Tiles::Count(n));  // sized for all vertices
    VertexId* const parent = forest.data();
    if (ops.devices() > 1 || samples.empty())
      ops.For(n, union_find::Reset{parent});  // LinkFirst initialises all of a single device's vertices
    union_find::Tiles tiles{.owned = ops.graph().owned};
    const union_find::BoundaryPairs boundary{{compressed.data(), n}};
    EdgeIndex linked = 0;
    VertexId largest = kNoVertex;  // the root of this device's largest component
    bool exchanged = false;        // whether devices have exchanged the vertices of their largest components
    if (!samples.empty()) {
      // The output array serves as memory for the tiles' places until labels are written.
      static_assert(sizeof(Output) >= 2 * sizeof(std::uint16_t));
      tiles.places = reinterpret_cast<std::uint16_t*>(out);
      tiles.counts = counts.data();
      tiles.there =
          tiled.value_or(Operators::kMassivelyParallel) && ops.max_shared_bytes() >= union_find::LinkTile::kScratch;
      std::optional<Sampled> sampled;
      union_find::FirstLinks links{ops.graph(), OwnFirst(ops)};
      linked = LinkFirstNeighbours(ops, links, parent, tiles, samples.data(), &sampled);
      if (links.own) {
        LinkUpTo(ops, links, parent, &linked, kNeighbourRounds, &sampled);
        if (!sampled) sampled = SampleOwned(ops, parent, samples.data());
        largest = sampled->root;
        exchanged = ExchangeLargest(ops, parent, boundary, largest);
        links = {ops.graph(), false};
        linked = 0;
      }
      const EdgeIndex most = std::clamp<EdgeIndex>(ops.devices(), kNeighbourRounds, kMaxNeighbourRounds);
      bool common = exchanged;
      for (EdgeIndex rounds = kNeighbourRounds; !common; rounds = most) {
        LinkUpTo(ops, links, parent, &linked, rounds, &sampled);
        CompressOwned(ops, parent);
        if (!sampled) sampled = SampleOwned(ops, parent, samples.data());
        largest = sampled->root;
        common = HaveCommonLargest(ops, parent, *sampled, samples.data());
        if (linked >= most) break;
      }
      if (!common) {
        MergeForests(ops, parent, compressed.data(), n, largest);
        largest = BroadcastFirst(
            ops, largest);  // after this merge the forests have equal roots, so one device's root is valid on all
        if (largest != kNoVertex) largest = RootOf(ops, parent, largest, samples.data());
        CompressOwned(ops, parent);
      }
    }
    if (!ops.StopRequested()) {     // the trees linked so far are parts of components
      if (tiles.there) linked = 0;  // tiles did not link the greater neighbours
      const union_find::SkipSettled skip{ops.graph(), parent, largest, linked};
      if (exchanged) {
        ops.ForEachEdge(skip, union_find::LinkEdgeOrLargest{ops.graph(), parent, boundary, largest});
      } else {
        LinkRest(ops, skip, union_find::LinkEdge{ops.graph(), parent}, out, samples.data());
      }
    }
    if (!exchanged || !MergeBoundaryPairs(ops, parent, boundary)) MergeForests(ops, parent, compressed.data(), n, largest);
    ops.ForEachVertex(union_find::Label{ops.graph(), parent, out});
  }

  /// Checks every edge, and the number of components: VerifyComponents.
  Verdict Verify(const Graph& graph, std::span<const VertexId> labels, const RunStatistics&) const {
    return VerifyComponents(graph, labels);
  }

 private:
  /// The result of a sample of owned vertices.
  struct Sampled {
    VertexId root = kNoVertex;               ///< the most frequent
    std::array<VertexId, kSamples> below{};  ///< the first neighbours of the sampled vertices in this component
    std::size_t count = 0;                   ///< number of entries in `below`
    /// Mean number of edges of the other sampled vertices, counting for each the edges visited before it joins the largest
    /// component, if it does.
    double unjoined = 0;
  };

  static std::size_t CompressedIds(std::uint64_t vertices, PartId parts) {
    return parts > 1 ? union_find::CompressedForest::Size(vertices, union_find::CompressedForest::MaxPairs(vertices)) : 0;
  }

  /// Links owned vertices with their first neighbours, and in tiles also with the second ones: all of them, or as many as
  /// necessary to show a largest component, which then is in `sampled`. Returns the number of neighbours linked.
  template <class Operators>
  static EdgeIndex LinkFirstNeighbours(Operators& ops, const union_find::FirstLinks& links, VertexId* parent,
                                       const union_find::Tiles& tiles, VertexId* samples, std::optional<Sampled>* sampled) {
    if (!tiles.there) {
      ops.ForEachVertex(union_find::LinkFirst{links, parent});
      CompressOwned(ops, parent);  // every tree then has few levels
      return 1;
    }
    const std::size_t count = union_find::Tiles::Count(tiles.owned);
    ops.ForEachGroup(count, ops.groups(), union_find::LinkTile::kScratch, union_find::LinkTile{links, parent, tiles});
    union_find::LinkTileRest link{parent, links, tiles};
    if (ops.subgraph_edges() / kManyEdges < tiles.owned) {
      ops.ForEachGroup(count, ops.groups(), union_find::CompressTile{parent, ops.graph(), tiles});
      ops.ForEachGroup(count * link.kPieces, ops.groups(), link);
      return union_find::Tiles::kLooked;
    }
    constexpr std::array<std::uint32_t, 4> kStages = {1, 2, 4, union_find::LinkTileRest::kEighths};
    for (std::size_t stage = 0; stage < kStages.size(); ++stage) {
      link.to = kStages[stage];
      ops.ForEachGroup(count * link.kPieces, ops.groups(), link);
      if (link.to == link.kEighths) break;
      *sampled = SampleOwned(ops, parent, samples);
      const double next = static_cast<double>(kStages[stage + 1] - link.to) / link.kEighths;  // for each owned vertex
      if ((*sampled)->unjoined <= 2 * next) break;
      sampled->reset();
      link.from = link.to;
    }
    return union_find::Tiles::kLooked;
  }

  /// Links further neighbours, up to `rounds` for each vertex; this invalidates an earlier sample.
  template <class Operators>
  static void LinkUpTo(Operators& ops, const union_find::FirstLinks& links, VertexId* parent, EdgeIndex* linked,
                       EdgeIndex rounds, std::optional<Sampled>* sampled) {
    for (; *linked < rounds; ++*linked) {
      ops.ForEachVertex(union_find::LinkNth{links, parent, *linked});
      sampled->reset();
    }
  }

  /// Whether devices first link the vertices that they own: all do, or none.
  template <class Operators>
  static bool OwnFirst(Operators& ops) {
    if (ops.devices() == 1 || union_find::BoundaryPairs::MaxPairs(ops.graph().vertices) == 0) return false;
    return ops.AllReduceSum(ops.graph().owned > 0 && !ops.graph().own_begins.there() ? 1 : 0) == 0;
  }

  /// Compresses trees, and exchanges which vertices are in their owner's largest component. Returns whether all these
  /// components are one. If so, links them here and starts the list of vertices for other devices.
  template <class Operators>
  static bool ExchangeLargest(Operators& ops, VertexId* parent, const union_find::BoundaryPairs& boundary,
                              VertexId largest) {
    struct Part {
      VertexId largest, first;
      LocalId owned;
    };
    const GraphRef& graph = ops.graph();
    const std::array<Part, kMaxDevices> parts = ops.AllGather(Part{largest, graph.first_id, graph.owned});
    ops.For(1, union_find::StartBoundaryPairs{boundary, kNoVertex});
    const union_find::LargestStretch stretch{graph, parent, boundary, largest};
    std::span<const std::uint32_t> own;
    if (graph.owned > 0) {
      ops.ForEachGroup(stretch.Count(), ops.groups(), stretch);
      own = {boundary.words() + stretch.Begin(), stretch.End() - stretch.Begin()};
    }
    union_find::JoinWords join{boundary};
    join.Add(stretch.Begin(), own);
    ops.template AllToAllv<std::uint32_t>(
        [&](PartId) { return own; },
        [&](PartId p, std::span<const std::uint32_t> words) { join.Add(parts[p].first / 32, words); });
    ops.For(bits::Words(graph.vertices), join);
    union_find::LinkLargest link{parent, boundary, largest};
    PartId first = kNoPart;
    for (PartId p = 0; p < ops.devices(); ++p) {
      if (parts[p].owned == 0) continue;
      if (first == kNoPart) first = p;
      link.largest_components[link.count++] = parts[p].largest;
    }
    VertexId found = 1;
    if (graph.owned > 0 && ops.rank() != first) {
      union_find::FindJoiningEdge find{graph, boundary, boundary.size(0), union_find::FindJoiningEdge::kFewPieces,
                                       std::min(graph.owned, union_find::FindJoiningEdge::kFew)};
      ops.ForEachGroup(find.pieces, ops.groups(), find);
      find.pieces = find.kPieces;
      find.end = graph.owned;
      ops.ForEachGroup(find.pieces, ops.groups(), find);
      ops.CopyOut(&found, boundary.size(0), 1);
    }
    if (ops.AllReduceSum(found == 0 ? 1 : 0) > 0) return false;
    ops.For(1, link);
    return true;
  }

  /// Links the edges that `skip` does not exclude. With many threads, first lists the remaining rows in `list`, which has
  /// room for all owned vertices; a CPU tests each row when it reaches it. `count` has room for an id.
  template <class Operators>
  static void LinkRest(Operators& ops, const union_find::SkipSettled& skip, const union_find::LinkEdge& link, VertexId* list,
                       VertexId* count) {
    if constexpr (Operators::kMassivelyParallel) {
      using List = union_find::ListUnsettled;
      if (skip.largest != kNoVertex && ops.graph().owned > 0 && ops.max_shared_bytes() >= List::kScratch) {
        static_assert(sizeof(LocalId) <= sizeof(VertexId));
        const std::size_t stretch = std::clamp<std::size_t>(ops.graph().owned / ops.groups(), List::kMin, List::kMax);
        const List unsettled{skip, reinterpret_cast<LocalId*>(list), reinterpret_cast<LocalId*>(count),
                             static_cast<std::uint32_t>(stretch)};
        ops.For(1, union_find::ClearCount{unsettled.size});
        ops.ForEachGroup(unsettled.Count(), ops.groups(), List::kScratch, unsettled);
        ops.ForEachEdgeOf(unsettled.list, unsettled.size, skip, link);
        return;
      }
    }
    ops.ForEachEdge(skip, link);
  }

  /// Joins all devices' trees by lists of vertices and roots. Each device broadcasts its list. It then broadcasts a second
  /// list, with the roots that the vertices in others' lists have at their owner. So all devices know every tree that is
  /// connected to another one. Returns whether the lists had room for all; if not, trees may remain separate.
  template <class Operators>
  static bool MergeBoundaryPairs(Operators& ops, VertexId* parent, const union_find::BoundaryPairs& boundary) {
    const std::size_t room = union_find::BoundaryPairs::MaxPairs(ops.graph().vertices);
    for (const int list : {0, 1}) {
      VertexId size = 0;
      ops.CopyOut(&size, boundary.size(list), 1);
      if (ops.AllReduceSum(size > room ? 1 : 0) > 0) return false;
      if (list == 0) ops.For(size, union_find::SetRoots{boundary, parent});
      const std::span<const VertexId> mine(boundary.pairs(list), 2 * std::size_t{size});
      union_find::PairLists theirs;
      ops.template AllToAllv<VertexId>([&](PartId) { return mine; },
                                       [&](PartId, std::span<const VertexId> pairs) { theirs.Add(pairs); });
      // Before anything is linked: a tree that is joined by a received pair is known to its sender.
      if (list == 0) ops.For(theirs.size(), union_find::AddOwnedRoots{ops.graph(), parent, boundary, theirs});
      ops.For(theirs.size(), union_find::LinkPairs{parent, theirs});
    }
    return true;
  }

  template <class Operators>
  static void CompressOwned(Operators& ops, VertexId* parent) {
    if constexpr (Operators::kMassivelyParallel) {
      const LocalId calls = union_find::CompressSome::Calls(ops.graph());
      ops.For(calls, union_find::CompressSome{ops.graph(), parent, calls});
    } else if (ops.devices() == 1) {
      ops.For(ops.graph().vertices, union_find::Compress{parent});
    } else {
      ops.ForEachVertex(union_find::CompressOwned{ops.graph(), parent});
    }
  }

  /// Merges forests, so that each device's forest joins all vertices that any device's does. Many vertices are in the tree
  /// of `largest` on this device.
  template <class Operators>
  static void MergeForests(Operators& ops, VertexId* parent, VertexId* ids, VertexId n, VertexId largest) {
    const PartId rank = ops.rank(), devices = ops.devices();
    const union_find::CompressedForest mine{ids, n};
    for (PartId step = 1; step < devices; step *= 2) {
      const PartId to = (rank + step) % devices, from = (rank + devices - step) % devices;
      VertexId pairs = 0;
      ops.For(1, union_find::ClearCompressedForest{mine, parent, largest});
      ops.ForEachGroup(union_find::CompressStretch::Count(n), ops.groups(), union_find::CompressStretch{mine, parent});
      ops.CopyOut(&pairs, mine.ids, 1);
      // Sends compressed forests if all of them are small, and otherwise whole forests.
      if (ops.AllReduceSum(pairs > union_find::CompressedForest::MaxPairs(n) ? 1 : 0) > 0) {
        const VertexId* const theirs = ops.Exchange(to, parent, n, from);
        ops.For(n, union_find::LinkTrees{parent, theirs});
        continue;
      }
      const VertexId* const received = ops.Exchange(to, mine.ids, union_find::CompressedForest::Size(n, pairs), from);
      ops.CopyOut(&pairs, received, 1);
      const union_find::CompressedForest theirs{const_cast<VertexId*>(received), n};
      ops.For(n, union_find::LinkBit{parent, theirs});
      ops.For(pairs, union_find::LinkPair{parent, theirs.pairs()});
    }
  }

  /// Whether a vertex is in the largest components of all devices, so that these are one component. Devices without vertices
  /// accept any. The candidates are the first neighbours of many samples of the first device.
  template <class Operators>
  static bool HaveCommonLargest(Operators& ops, const VertexId* parent, const Sampled& mine, VertexId* scratch) {
    if (ops.devices() == 1) return true;
    std::array<VertexId, kPivots> tried{};
    for (std::size_t i = 0; i < kPivots; ++i) {
      if (ops.rank() == 0) tried[i] = MostFrequent(std::span(mine.below).first(mine.count), std::span(tried).first(i));
      const VertexId pivot = BroadcastFirst(ops, tried[i]);
      if (pivot == kNoVertex) break;
      VertexId root = kNoVertex;
      if (ops.graph().owned > 0) root = RootOf(ops, parent, pivot, scratch);
      if (ops.AllReduceSum(root == mine.root ? 1 : 0) == ops.devices()) return true;
    }
    return false;
  }

  /// The root of v; `scratch` has room for an id.
  template <class Operators>
  static VertexId RootOf(Operators& ops, const VertexId* parent, VertexId v, VertexId* scratch) {
    ops.For(1, union_find::FindRoot{parent, v, scratch});
    ops.CopyOut(&v, scratch, 1);
    return v;
  }

  /// The first device's vertex, or kNoVertex.
  template <class Operators>
  static VertexId BroadcastFirst(Operators& ops, VertexId v) {
    const double first = ops.BroadcastFirst(v == kNoVertex ? -1 : static_cast<double>(v));
    return first < 0 ? kNoVertex : static_cast<VertexId>(first);
  }

  /// Returns an empty result on a device without vertices.
  template <class Operators>
  static Sampled SampleOwned(Operators& ops, const VertexId* parent, VertexId* samples) {
    Sampled result;
    if (ops.graph().owned == 0) return result;
    std::array<VertexId, 3 * kSamples> sampled{};
    ops.For(kSamples, union_find::Sample{ops.graph(), parent, samples, samples + kSamples, samples + 2 * kSamples});
    ops.CopyOut(sampled.data(), samples, 3 * kSamples);
    result.root = MostFrequent(std::span(sampled).template first<kSamples>(), {});
    for (std::size_t i = 0; i < kSamples; ++i) {
      if (sampled[i] != result.root) {
        const auto looked = std::min<VertexId>(sampled[2 * kSamples + i], union_find::SkipSettled::kCheckAfter);
        result.unjoined += static_cast<double>(looked) / kSamples;
      } else if (sampled[kSamples + i] != kNoVertex) {
        result.below[result.count++] = sampled[kSamples + i];
      }
    }
    return result;
  }

  /// The most frequent id that is not in `others`; on ties the least; kNoVertex if there is none.
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
