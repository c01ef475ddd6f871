/// \file
/// The memory of resident rounds on a GPU, besides the program's state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "chatty/framework/frontier_policy.h"
#include "chatty/framework/fused/cuda/barrier_words.h"
#include "chatty/framework/fused/relaxes.h"
#include "chatty/framework/fused/rounds_team.h"
#include "chatty/framework/options.h"
#include "chatty/framework/state.h"
#include "chatty/partition/part_shape.h"

namespace chatty::fused::cuda {

/// Whether P's rounds may run in resident kernels of several GPUs: pushed, with messages that are combined, and without
/// anything that the host computes after each. A push reads no value of another device's vertex, and leaves none there to
/// refresh: the next pull sends the values of its own frontier.
template <class P>
inline constexpr bool kRunsRoundsTogether = [] {
  using T = Traits<P>;
  return T::kCanPush && !T::kCounts && !T::kEveryRound && !T::kOrders && !T::kMeasuresChange &&
         (!T::kHasMeasure || T::kMeasureWhenQuiet) && (!T::kHasEndRound || T::kContinuesWhileActive) &&
         std::is_trivially_copyable_v<MessageOf<P>>;
}();
/// Whether they may in one kernel, on a GPU that has the whole graph. There, programs that relax edges in any order have a
/// faster engine.
template <class P>
inline constexpr bool kRunsRounds = !kRelaxes<P> && kRunsRoundsTogether<P>;
/// Whether a part of so many has P's rounds in the kernel of several GPUs. A GPU that has the whole graph takes that kernel,
/// as a team of one, for rounds of programs that relax edges, where rounds are asked for.
template <class P>
constexpr bool TakesRoundsTogether(std::size_t parts, RowOptions rows) {
  return kRunsRoundsTogether<P> && rows.rounds_together && (parts > 1 || (kRelaxes<P> && !rows.fuses));
}

/// Edges of a round with which rounds of many launches do better, and of a row.
inline constexpr std::uint32_t kRoundEdges = kRoundsPolicy.wide, kRoundRow = 1u << 11;
/// Room of a GPU's lists of a round's vertices. Sums of units may hide some edges; rounds of many devices have fewer edges.
inline constexpr std::uint32_t kRoundItems = kRoundEdges + 8 * BlockSums::kUnitError;
static_assert(TeamListEntries(kMaxDevices) <= kRoundItems && TeamListEntries(8) <= kRoundItems &&
              TeamListEntries(9) <= kRoundItems);  // convex between
/// An active vertex and its row.
struct alignas(16) ActiveVertex {
  LocalId vertex;
  std::uint32_t degree;
  EdgeIndex begin;
};

/// Counters of a GPU in rounds of several.
struct TeamRoundCounters {
  alignas(128) unsigned long long passed = 0;  ///< arrivals at barriers of the GPU's own blocks: only grow
  alignas(128) std::uint32_t aborted = 0;      ///< the run has failed on a device, which a block has read in host memory
  alignas(128) std::uint32_t listed[kMaxDevices] = {};  ///< entries of this round's lists
  unsigned long long sent[kMaxDevices] = {};            ///< entries of all rounds
  unsigned long long crossed[kMaxDevices] = {};         ///< edges of all rounds
};

/// Bytes on a part of a GPU; none for programs without such rounds.
template <class P>
std::uint64_t RoundsBytes(const PartShape& part, RowOptions rows) {
  const bool together = TakesRoundsTogether<P>(part.parts, rows), alone = part.parts == 1 && kRunsRounds<P>;
  if (!(together || alone) || !part.forward.built) return 0;
  const std::uint64_t lists = kRoundItems * (sizeof(ActiveVertex) + sizeof(LocalId)) + 1024;
  if (!together) return lists;
  return lists + sizeof(TeamRoundCounters) + RoundsTeam::Bytes(part.parts);
}

}  // namespace chatty::fused::cuda
