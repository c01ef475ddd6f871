/// \file
/// The sizes at which a frontier changes its form, its direction or its engine. One table for all engines; programs on
/// operators, such as bc, have their own in their headers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "chatty/core/device.h"
#include "chatty/core/macros.h"

namespace chatty {

/// Of rounds on one kind of device.
struct FrontierPolicy {
  /// A push reads its frontier from a queue if fewer than one vertex in so many is active. A GPU's warps idle over zero
  /// bits.
  std::size_t queue_share;
  /// A push writes its targets to a queue if its edges are fewer than one for so many vertices. A GPU's sweeps over a bitmap
  /// run at memory bandwidth.
  std::size_t target_share;
  /// Cost of a pushed edge against a pulled one (Beamer, Asanović and Patterson, SC'12).
  double push_cost;
  bool operator==(const FrontierPolicy&) const = default;  ///< all members
};
/// Of rounds on a host device. A pushed edge costs an atomic at a random address, a pulled edge a read.
inline constexpr FrontierPolicy kHostFrontier{.queue_share = 32, .target_share = 8, .push_cost = 2.0};
/// Of rounds on a GPU. A pushed edge costs an atomic at a random address, a pulled edge a read.
inline constexpr FrontierPolicy kGpuFrontier{.queue_share = 4, .target_share = 32, .push_cost = 2.0};
/// Of rounds on devices of this kind.
constexpr const FrontierPolicy& FrontierOf(DeviceKind kind) {
  return kind == DeviceKind::kCuda ? kGpuFrontier : kHostFrontier;
}
/// Whether a push of `active` of `owned` vertices reads them from a queue.
CHATTY_FN constexpr bool PushesQueue(const FrontierPolicy& policy, std::uint64_t active, std::size_t owned) {
  return active < owned / policy.queue_share;
}
/// Whether a push along `edges` writes its targets to a queue. A queue costs an append per target and random updates; a
/// bitmap, a sweep over all vertices.
CHATTY_FN constexpr bool QueuesTargets(const FrontierPolicy& policy, std::uint64_t edges, std::uint64_t vertices) {
  return edges < vertices / policy.target_share;
}
/// Of runs in place on a host: an edge pushed swaps a value in memory, where all pulls look at a bitmap in a cache.
inline constexpr FrontierPolicy kInPlaceFrontier{.queue_share = 32, .target_share = 8, .push_cost = 6.0};

/// When rounds hand over to a fused engine of another kind, and when it hands back.
struct ResidentPolicy {
  /// Rounds in a row with few edges: a search of a graph with hubs gets wide within a few.
  std::uint32_t narrow_rounds;
  std::uint64_t narrow_edges;  ///< fewer edges than this are few
  std::uint32_t wide;          ///< items a hop, or edges of a round, with which rounds of all vertices do better
  std::uint32_t wide_step;     ///< items of a step in the order of a Priority with which they do better
  double hops = 0;             ///< of the first step of label correcting without a Priority
  double max_hops = 0;         ///< and of the longest one
};
/// Of the kernel that relaxes edges in any order.
inline constexpr ResidentPolicy kRelaxPolicy{
    .narrow_rounds = 8, .narrow_edges = 1u << 15, .wide = 1u << 15, .wide_step = 1u << 21, .hops = 32, .max_hops = 512};
/// The same on a host, whose rounds are good with a few thousand items already. The first step has few hops because a
/// frontier may grow in it, and the longest many for chains of single items.
inline constexpr ResidentPolicy kHostRelaxPolicy{
    .narrow_rounds = 8, .narrow_edges = 1u << 15, .wide = 1u << 15, .wide_step = 1u << 17, .hops = 8, .max_hops = 4096};
/// Of the kernel that keeps exact rounds, which costs little to enter.
inline constexpr ResidentPolicy kRoundsPolicy{
    .narrow_rounds = 2, .narrow_edges = 1u << 14, .wide = 1u << 20, .wide_step = 1u << 16};

}  // namespace chatty
