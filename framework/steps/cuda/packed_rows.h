/// \file
/// Rows prepared for pulls in which every source sends, on a GPU. Making them costs as much time as a few rounds.
///
/// - What a pull gathers is one array, ordered by how often each value is read. The hubs' share of it fits an SM's shared
///   memory, and the rest the L2.
/// - Rows too long for a warp are cut into pieces.
/// - Where rows are a few edges, as in streets and meshes, 16 bits an edge say how far the source is from the target.
///
/// Hubs in fast memory and vertices in the order of their degree: Zhang et al., "Making caches work for graph analytics",
/// 2017; Balaji and Lucia, IISWC'18. Cut rows, and partial sums that a second kernel adds in a fixed order: segmented sums
/// as in Merrill and Garland's merge-based SpMV, SC'16. Distances instead of ids: Boldi and Vigna, WWW'04.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "chatty/core/bitmap.h"
#include "chatty/core/device.h"
#include "chatty/core/graph_ref.h"
#include "chatty/framework/device_graph.h"
#include "chatty/framework/options.h"
#include "chatty/framework/program.h"
#include "chatty/framework/state.h"
#include "chatty/partition/part_shape.h"

namespace chatty::steps::cuda {

/// The order of sources, by how many sampled edges they are the source of: hubs, then other sources of sampled edges, then
/// the rest.
struct SourceOrder {
  /// Counts from kCounts - 1 on are one.
  static constexpr std::uint32_t kCounts = 8192;
  std::uint32_t hub = kCounts;  ///< the least count of a hub; kCounts: there are none
  std::uint64_t hubs = 0;       ///< vertices that are hubs,
  std::uint64_t counted = 0;    ///< and others that have been counted

  static CHATTY_FN std::uint32_t Capped(std::uint32_t count) { return count < kCounts ? count : kCounts - 1; }
  CHATTY_FN bool IsHub(std::uint32_t count) const { return Capped(count) >= hub; }

  /// The order of `with[c]` vertices that have been counted c times, c being capped. At most `fit` vertices are hubs; those
  /// of one count all are, or none is. A hub has been counted at least twice.
  static SourceOrder Of(std::span<const std::uint32_t, kCounts> with, std::uint64_t fit) {
    SourceOrder order;
    while (order.hub > 2 && order.hubs + with[order.hub - 1] <= fit) order.hubs += with[--order.hub];
    for (std::uint32_t c = 1; c < order.hub; ++c) order.counted += with[c];
    return order;
  }
};

/// A row that several warps walk.
struct LongRow {
  LocalId vertex;
  std::uint32_t first, pieces;  ///< its pieces, of all
};

/// What a pull takes of PackedRows.
struct PackedRef {
  /// Local entries: a vertex's position in the order. Null: its local id.
  const LocalId* positions = nullptr;
  /// Local entries: the vertex at a position. Null likewise.
  const LocalId* ids = nullptr;
  /// Reverse edges: the positions of their sources; the graph's own neighbours where positions are ids.
  const LocalId* sources = nullptr;
  LocalId hubs = 0;  ///< positions below it are read from shared memory
  /// Reverse edges: how far their sources' ids are from their targets'. Null: rows are not short, or not to be prepared.
  const std::int16_t* near = nullptr;
  const std::uint32_t* far = nullptr;  ///< a bit for 32 vertices of whose rows `near` cannot say it
  const LongRow* long_rows = nullptr;
  const std::uint32_t* long_row_of = nullptr;  ///< a piece's row, an index into `long_rows`
  std::uint32_t long_row_count = 0, pieces = 0;
  std::uint32_t* claimed = nullptr;  ///< work that blocks have taken, pieces first; zero between rounds
  EdgeIndex edges = 0;               ///< in all rows

  CHATTY_FN LocalId Position(LocalId v) const { return positions == nullptr ? v : positions[v]; }
  CHATTY_FN LocalId Id(LocalId position) const { return ids == nullptr ? position : ids[position]; }
};

/// Owner of what a device's reverse rows need besides themselves.
class PackedRows {
 public:
  /// Rows with at least so many edges are cut into pieces of so many, a warp each.
  static constexpr EdgeIndex kLongRow = 2048;

  /// Nothing.
  PackedRows() = default;
  /// Of `graph`'s reverse rows, whose sources share `shared_bytes` each. Waits for the device. Throws OutOfMemoryError.
  PackedRows(const DeviceGraph& graph, Tiling tiling, std::size_t shared_bytes);

  /// Whether sources are to be ordered in such a part: where there are hubs, and enough edges to pay for it.
  static bool Orders(const PartShape& part, Tiling tiling) {
    if (tiling != Tiling::kAuto) return tiling == Tiling::kAlways;
    constexpr EdgeIndex kEnough = EdgeIndex{1} << 20, kHub = 1024;
    return part.reverse.edges >= kEnough && part.reverse.edges / 4 >= part.owned && part.reverse.max_degree >= kHub;
  }
  /// The longest rows of a warp's vertices together of which `near` says anything.
  static constexpr EdgeIndex kNearEdges = 128;
  /// Whether rows are so short throughout that it pays to have their sources' ids in half the bytes.
  static bool AreShort(const PartShape& part, Tiling tiling) {
    constexpr EdgeIndex kMax = kNearEdges / 32, kNarrow = EdgeIndex{1} << 32;
    return tiling != Tiling::kNever && !Orders(part, tiling) && part.reverse.edges <= part.owned * kMax &&
           part.reverse.edges < kNarrow;
  }
  /// Bytes of hubs that a block's shared memory is to hold, so that enough is left to the L1. Throws DeviceError.
  static std::size_t HubBytes(const Device& device);
  /// Bytes that they take at most, while they are made, too, and those of one message a piece included.
  static std::uint64_t Bytes(const PartShape& part, Tiling tiling, std::size_t message_bytes) {
    std::uint64_t bytes = sizeof(std::uint32_t);
    if (Orders(part, tiling)) {
      const std::uint64_t making = part.local * (sizeof(std::uint32_t) + sizeof(std::uint64_t)) + (1u << 17);
      bytes += 2 * part.local * sizeof(LocalId) + std::max<std::uint64_t>(part.reverse.edges * sizeof(LocalId), making);
    }
    if (AreShort(part, tiling)) bytes += NearUnits(part.reverse.edges) * 4 + FarWords(part.owned) * 4;
    if (part.reverse.max_degree >= kLongRow) {
      const std::uint64_t rows = std::min<std::uint64_t>(part.owned, part.reverse.edges / kLongRow);
      const std::uint64_t pieces = rows + part.reverse.edges / kLongRow;
      bytes += rows * sizeof(LongRow) + pieces * (sizeof(std::uint32_t) + message_bytes);
    }
    return bytes;
  }

  const PackedRef& ref() const { return ref_; }

 private:
  void Order(const DeviceGraph& graph, std::size_t shared_bytes);
  void CutLongRows(const DeviceGraph& graph);
  void MakeNear(const DeviceGraph& graph);
  /// Pairs of `near` entries, one more than there are edges for, and words of `far`.
  static std::uint64_t NearUnits(std::uint64_t edges) { return edges / 2 + 1; }
  static std::uint64_t FarWords(std::uint64_t owned) { return bits::Words(bits::Words(owned)); }

  PackedRef ref_;
  Buffer<LocalId> positions_, ids_, sources_;
  Buffer<std::uint32_t> near_, far_;
  Buffer<LongRow> long_rows_;
  Buffer<std::uint32_t> long_row_of_, claimed_;
};

/// Whether P's rounds can go by pull_all.cuh: pulls look at all edges, and what a vertex shares can be computed again.
template <class P>
inline constexpr bool kPullsAll = Traits<P>::kEveryRound && !Traits<P>::kCounts && !Traits<P>::kHasConsume &&
                                  !Traits<P>::kAnyMessageSuffices && !Traits<P>::kHasFilter && !Traits<P>::kHasFilterMessage;

/// Words of the active bitmap that a warp takes at once: several in large graphs, so that warps seldom claim work.
constexpr std::uint64_t ChunkWords(std::uint64_t owned) {
  return std::clamp<std::uint64_t>(bits::Words(owned) / (1u << 16), 1, 64);
}
/// How many times that is.
constexpr std::uint64_t Chunks(std::uint64_t owned) {
  return (bits::Words(owned) + ChunkWords(owned) - 1) / ChunkWords(owned);
}
/// Blocks that end a round, at most.
inline constexpr unsigned kFinishBlocks = 256;

/// Bytes that such rounds need on a part besides its state; none for programs whose rounds do not go so.
template <class P>
std::uint64_t PullAllBytes(const PartShape& part, Tiling tiling) {
  if (!kPullsAll<P> || !part.reverse.built) return 0;
  const std::uint64_t measures =
      Traits<P>::kHasMeasure ? (Chunks(part.owned) + kFinishBlocks) * sizeof(GlobalOf<P>) + sizeof(BlockTickets) : 0;
  return PackedRows::Bytes(part, tiling, sizeof(MessageOf<P>)) + 2 * part.local * sizeof(SharedOf<P>) + measures;
}

/// Whether P's pulls look at candidates, in bitmaps: see StateRef.
template <class P>
inline constexpr bool kHasCandidates = !Traits<P>::kCounts && !kPullsAll<P>;

/// Bytes of these bitmaps.
template <class P>
std::uint64_t CandidateBytes(const PartShape& part) {
  if (!kHasCandidates<P>) return 0;
  return (Traits<P>::kHasFilter ? 2 : 1) * bits::Words(part.owned) * sizeof(std::uint32_t);
}

}  // namespace chatty::steps::cuda
