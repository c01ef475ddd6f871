/// \file
/// Which programs have rounds of any width in a resident kernel, and its memory besides the program's state.
#pragma once

#include <cstddef>
#include <cstdint>

#include "chatty/framework/fused/cuda/barrier_words.h"
#include "chatty/framework/fused/cuda/rounds_memory.h"
#include "chatty/framework/fused/wide_team.h"
#include "chatty/framework/options.h"
#include "chatty/framework/state.h"
#include "chatty/partition/part_shape.h"

namespace chatty::fused::cuda {

/// Whether P's rounds may run in a resident kernel whatever their width. For this the host must compute nothing after a
/// round, and static shared memory must have room for the shared values of all steps together. Only programs whose messages
/// are a bit have the kernel: their rounds are so short that launches count, and it takes nvcc some 10 s a program.
template <class P>
inline constexpr bool kRunsWideRounds = kRunsRoundsTogether<P>&& Traits<P>::kHasRoundMessage && !Traits<P>::kHasMeasure &&
                                        !Traits<P>::kHasEndRound && sizeof(SharedOf<P>) <= 16;

/// Counters of a round, on the GPU.
struct WideControl {
  Control control;
  std::uint32_t stop = 0;  ///< the host has asked for a stop
  std::uint32_t padding = 0;
};
/// Two take turns, and one is of conversions.
inline constexpr std::size_t kWideControls = 3;

/// What a GPU has of barriers over several, in its own memory: zero at first.
struct WideTeamWords {
  alignas(128) unsigned long long released = 0;  ///< twice the last barrier that all GPUs have reached, plus 1 if failed
  alignas(128) WideSums sums;                    ///< of all GPUs, at the last barrier that had them
  TeamTraffic traffic[kMaxDevices];              ///< of the kernel
};

/// Whether P's parts have them. Several GPUs that make them make narrow rounds together, too, and share that memory.
template <class P>
constexpr bool TakesWideRounds(std::size_t parts, RowOptions rows) {
  return kRunsWideRounds<P> && rows.wide_rounds && (parts == 1 || rows.rounds_together);
}
/// Bytes on a part of a GPU, words of barriers and bits on the way included.
template <class P>
std::uint64_t WideRoundsBytes(const PartShape& part, RowOptions rows) {
  if (!TakesWideRounds<P>(part.parts, rows)) return 0;
  const std::uint64_t counters = kWideControls * sizeof(WideControl) + sizeof(PlainBarrierWords);
  if (part.parts == 1) return counters;
  return counters + sizeof(WideTeamWords) + WideTeam::Bytes(part.parts, part.owned, part.halo(), part.border);
}

}  // namespace chatty::fused::cuda
