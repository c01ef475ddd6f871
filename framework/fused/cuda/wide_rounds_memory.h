/// \file
/// Which programs have rounds of any width in a resident kernel, and its memory besides the program's state.
#pragma once

#include <cstddef>
#include <cstdint>

#include "chatty/framework/fused/cuda/barrier_words.h"
#include "chatty/framework/fused/cuda/rounds_memory.h"
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

/// Whether a part has them.
template <class P>
constexpr bool TakesWideRounds(std::size_t parts, RowOptions rows) {
  return kRunsWideRounds<P> && parts == 1 && rows.wide_rounds;
}
/// Bytes on a part of a GPU, the barrier's words included.
template <class P>
std::uint64_t WideRoundsBytes(const PartShape& part, RowOptions rows) {
  return TakesWideRounds<P>(part.parts, rows) ? kWideControls * sizeof(WideControl) + sizeof(PlainBarrierWords) : 0;
}

}  // namespace chatty::fused::cuda
