/// \file
/// The frontier in its two forms, a queue and a bitmap: from one to the other, and cleared.
#pragma once

#include "chatty/framework/steps/cuda/block.cuh"

namespace chatty::steps::cuda {

/// A frontier in one form becomes the other. The bitmap is complete: bits of vertices not in the queue are cleared by
/// ClearActive, which must run before, a barrier between.
template <class P, class Group>
__device__ void QueueToBitmap(const Group& group, const StateRef<P>& s, std::size_t count) {
  const unsigned stride = BlockCount(group) * kBlock;
  for (std::size_t i = std::size_t{BlockRank(group)} * kBlock + threadIdx.x; i < count; i += stride) {
    bits::Set<true>(s.active, s.frontier[i]);
  }
}
template <class P, class Group>
__device__ void BitmapToQueue(const Group& group, const StateRef<P>& s) {
  using Scan = cub::BlockScan<unsigned, kBlock, cub::BLOCK_SCAN_WARP_SCANS>;
  __shared__ typename Scan::TempStorage storage;
  __shared__ unsigned begin;
  const std::size_t words = bits::Words(s.graph.owned);
  for (std::size_t base = std::size_t{BlockRank(group)} * kBlock; base < words;
       base += std::size_t{BlockCount(group)} * kBlock) {
    const std::size_t w = base + threadIdx.x;
    const std::uint32_t word = w < words ? s.active[w] & bits::Mask(w, s.graph.owned) : 0;
    unsigned position, all;
    Scan(storage).ExclusiveSum(static_cast<unsigned>(__popc(word)), position, all);
    if (threadIdx.x == 0 && all != 0) begin = atomics::Add<true>(&s.control->next_count, all);  // one addition a block
    __syncthreads();
    position += all != 0 ? begin : 0;
    for (std::uint32_t rest = word; rest != 0; rest &= rest - 1) {
      s.next[position++] = static_cast<LocalId>(w * 32 + __ffs(rest) - 1);
    }
    __syncthreads();  // before the next words' scan, and their begin
  }
}

/// Clears active bits: the owned ones, or only the halo's.
template <class P, class Group>
__device__ void ClearActive(const Group& group, const StateRef<P>& s, bool halo_only) {
  const LocalId begin = halo_only ? s.graph.owned : 0;
  const std::size_t words = bits::Words(s.graph.local);
  const unsigned stride = BlockCount(group) * kBlock;
  for (std::size_t w = begin / 32 + std::size_t{BlockRank(group)} * kBlock + threadIdx.x; w < words; w += stride) {
    if (w == begin / 32) {
      s.active[w] &= bits::Mask(w, begin);
    } else {
      s.active[w] = 0;
    }
  }
}
}  // namespace chatty::steps::cuda
