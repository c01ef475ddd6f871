/// \file
/// The words of barriers of a grid's blocks (grid_barrier.cuh), each on a cache line of its own.
#pragma once

namespace chatty::fused::cuda {

/// The words of a GridBarrier, in a GPU's memory: zero at first.
struct GridBarrierWords {
  struct alignas(128) Word {
    unsigned long long sums = 0;
  };
  Word words[3];
};

/// The words of a PlainGridBarrier, in a GPU's memory: zero at first. They only grow.
struct PlainBarrierWords {
  static constexpr unsigned kWords = 16;
  struct alignas(128) Word {
    unsigned long long arrived = 0;
  };
  Word words[kWords];
};

}  // namespace chatty::fused::cuda
