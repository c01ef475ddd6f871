/// \file
/// The memory of resident rounds on a GPU, besides the program's state.
#pragma once

#include <cstdint>

#include "chatty/framework/frontier_policy.h"
#include "chatty/framework/fused/relaxes.h"
#include "chatty/framework/options.h"
#include "chatty/partition/part_shape.h"

namespace chatty::fused::cuda {

/// Whether P's rounds may run in one kernel: pushed, with messages that are combined, and without anything that the host
/// computes after each. Programs that relax edges in any order have a faster engine.
template <class P>
inline constexpr bool kRunsRounds = [] {
  using T = Traits<P>;
  return !kRelaxes<P> && T::kCanPush && !T::kCounts && !T::kEveryRound && !T::kOrders && !T::kMeasuresChange &&
         (!T::kHasMeasure || T::kMeasureWhenQuiet) && (!T::kHasEndRound || T::kContinuesWhileActive);
}();

/// Edges of a round with which rounds of many launches do better, and of a row.
inline constexpr std::uint32_t kRoundEdges = kRoundsPolicy.wide, kRoundRow = 1u << 11;
/// An active vertex and its row.
struct alignas(16) ActiveVertex {
  LocalId vertex;
  std::uint32_t degree;
  EdgeIndex begin;
};

/// Bytes on a part of a GPU; none for programs without such rounds, and on parts of several.
template <class P>
std::uint64_t RoundsBytes(const PartShape& part) {
  if (!kRunsRounds<P> || part.parts > 1 || !part.forward.built) return 0;
  return kRoundEdges * (2 * sizeof(ActiveVertex) + sizeof(LocalId)) + 512;
}

}  // namespace chatty::fused::cuda
