/// \file
/// A barrier of a grid's blocks whose word carries sums. The sums of all blocks come with the last arrival, so no counter is
/// read or cleared separately. The barrier has two halves, Arrive and Await, between which a block loads what it needs next.
/// The barrier of cooperative groups has halves, too, but carries nothing.
///
/// Memory order: a block's threads meet (`bar.sync`), and one thread adds to the word, `red.release.gpu`. In each block one
/// thread polls the word, `ld.acquire.gpu`, and the threads meet again. So what any thread did before Arrive is seen by all
/// threads behind Await.
///
/// Three words take turns. Behind barrier n, the first block clears the word of barrier n - 1, which all blocks have left.
/// Barrier n + 2 uses that word next. A block that arrives there has passed barrier n + 1, where the first block has
/// arrived.
///
/// PlainGridBarrier is for grids of many blocks, and carries nothing. Its memory order is the same.
#pragma once

#include <cstdint>

#include "chatty/framework/fused/cuda/barrier_words.h"

namespace chatty::fused::cuda {

namespace detail {

/// @{
/// On a word in a GPU's memory. atomic_ref does not know that it is there, and so waits for an addition's answer.
__device__ inline void AddRelease(unsigned long long* word, unsigned long long value) {
  asm volatile("red.release.gpu.global.add.u64 [%0], %1;" ::"l"(__cvta_generic_to_global(word)), "l"(value) : "memory");
}
__device__ inline unsigned long long LoadAcquire(const unsigned long long* word) {
  unsigned long long value;
  asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(__cvta_generic_to_global(word)) : "memory");
  return value;
}
__device__ inline void StoreRelease(unsigned long long* word, unsigned long long value) {
  asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(__cvta_generic_to_global(word)), "l"(value) : "memory");
}
/// @}

}  // namespace detail

/// A block's view of the barriers, for blocks of kThreads threads. All threads have one and call its functions together.
template <unsigned kThreads>
class GridBarrier {
 public:
  /// What a block shares.
  struct Shared {
    unsigned long long word;
    std::uint32_t spilled;
  };
  /// The warp whose first lane arrives and polls: the one that has work last.
  static constexpr unsigned kWarp = kThreads / 32 - 1;

  __device__ GridBarrier(GridBarrierWords* words, Shared* shared) : words_(words), shared_(shared) {}

  /// The block arrives. mine() is what it adds: called by one thread, when all threads have come.
  template <class Mine>
  __device__ __forceinline__ void Arrive(Mine&& mine) {
    __syncthreads();
    if (threadIdx.x == kWarp * 32) detail::AddRelease(Word(number_), mine().Pack());
  }
  /// Waits for all blocks; returns their sums. `spilled`: the length of the list of all, which is read if a block spills,
  /// into *count; it may have changed already if none does.
  __device__ __forceinline__ BlockSums Await(const std::uint32_t* spilled, std::uint32_t* count) {
    if (threadIdx.x == kWarp * 32) {
      unsigned long long word;
      do {
        word = detail::LoadAcquire(Word(number_));
      } while (BlockSums::Arrived(word) != gridDim.x);
      if (blockIdx.x == 0) *static_cast<volatile unsigned long long*>(Word(number_ + 2)) = 0;
      shared_->spilled = BlockSums::Of(word).spills ? *static_cast<const volatile std::uint32_t*>(spilled) : 0;
      shared_->word = word;
    }
    __syncthreads();
    ++number_;
    *count = shared_->spilled;
    return BlockSums::Of(shared_->word);
  }

 private:
  __device__ unsigned long long* Word(unsigned number) const { return &words_->words[number % 3].sums; }

  GridBarrierWords* const words_;
  Shared* const shared_;
  unsigned number_ = 0;
};

/// A block's view of the barriers of a grid with several blocks a multiprocessor. Additions to one word are serial, some 12
/// ns each, so blocks share a few words; one warp of each block polls these, a lane each. All threads have one and call
/// Sync, or Arrive, together.
class PlainGridBarrier {
 public:
  /// `barriers`: at how many the blocks have met since the words were zero.
  __device__ PlainGridBarrier(PlainBarrierWords* words, std::uint64_t barriers) : words_(words), barriers_(barriers) {}

  /// Waits for all blocks.
  __device__ void Sync() {
    Arrive();
    AwaitArrivals();
    __syncthreads();
  }
  /// The block arrives.
  __device__ void Arrive() {
    ++barriers_;
    __syncthreads();
    if (threadIdx.x == 0) detail::AddRelease(&words_->words[blockIdx.x % kWords].arrived, 1);
  }
  /// Waits for all blocks in some of the block's first warp, which synchronises afterwards. That warp calls it, or all.
  __device__ void AwaitArrivals() const {
    if (threadIdx.x < kWords) {
      const unsigned blocks = gridDim.x / kWords + (threadIdx.x < gridDim.x % kWords ? 1 : 0);
      while (detail::LoadAcquire(&words_->words[threadIdx.x].arrived) < barriers_ * blocks) {
      }
    }
  }
  __device__ std::uint64_t barriers() const { return barriers_; }

 private:
  static constexpr unsigned kWords = PlainBarrierWords::kWords;

  PlainBarrierWords* const words_;
  std::uint64_t barriers_;
};

}  // namespace chatty::fused::cuda
