/// \file
/// How a step's threads share work, in the machine's own layers: grid, cluster or block; then warp; then lane.
#pragma once

#include <cooperative_groups.h>

#include <cstddef>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <type_traits>

#include "chatty/framework/steps/vertex_ops.h"

namespace chatty::steps::cuda {

namespace cg = cooperative_groups;

/// Threads a block, for every step. Steps may be called from any kernel that launches blocks of this shape.
inline constexpr unsigned kBlock = 256;
inline constexpr unsigned kWarps = kBlock / 32;
inline constexpr unsigned kFull = 0xffffffffu;

/// Rows with at least so many edges are walked by a whole warp, and by a whole block.
inline constexpr EdgeIndex kWarpDegree = 32;
inline constexpr EdgeIndex kBlockDegree = 1024;

/// The groups that steps take: all blocks of a cooperative launch, or one block. Their own types rather than
/// cooperative_groups', so that a resident loop finds the steps by its argument.
struct Grid {
  __device__ void sync() const { cg::this_grid().sync(); }
};
struct Cluster {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  __device__ void sync() const { cg::this_cluster().sync(); }
#endif
};
struct Block {
  __device__ void sync() const { __syncthreads(); }
};

/// Which of a group's blocks this one is: a step strides over the blocks of its group.
__device__ inline unsigned BlockRank(const Grid&) { return blockIdx.x; }
__device__ inline unsigned BlockCount(const Grid&) { return gridDim.x; }
__device__ inline unsigned BlockRank(const Block&) { return 0; }
__device__ inline unsigned BlockCount(const Block&) { return 1; }
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
__device__ inline unsigned BlockRank(const Cluster&) { return cg::this_cluster().block_rank(); }
__device__ inline unsigned BlockCount(const Cluster&) { return cg::this_cluster().num_blocks(); }
#endif
template <class Group>
__device__ bool IsFirst(const Group& group) {
  return BlockRank(group) == 0 && threadIdx.x == 0;
}

/// Whether this block is the last of the grid that comes here: then all that the others' threads have written is there for
/// its own. All threads call it, and get the same.
template <class Group>
__device__ bool IsLastBlock(const Group& group, BlockTickets* tickets) {
  __shared__ bool last;
  __syncthreads();
  if (threadIdx.x == 0) {
    constexpr unsigned kGroups = BlockTickets::kGroups;
    const unsigned blocks = BlockCount(group), mine = BlockRank(group) % kGroups;
    const auto take = [](std::uint32_t* count, unsigned of) {
      if (of == 1) return true;
      __threadfence();
      if (atomicAdd(count, 1u) + 1 < of) return false;
      *count = 0;
      __threadfence();
      return true;
    };
    last = take(&tickets->blocks[mine], blocks / kGroups + (mine < blocks % kGroups)) &&
           take(&tickets->groups, blocks < kGroups ? blocks : kGroups);
  }
  __syncthreads();
  return last;
}

__device__ inline unsigned Lane() { return threadIdx.x % 32; }
__device__ inline unsigned Warp() { return threadIdx.x / 32; }

/// Uninitialised shared memory for N objects of a type that may have constructors.
template <class T, unsigned N>
struct SharedArray {
  alignas(alignof(T) > 16 ? alignof(T) : 16) unsigned char bytes[sizeof(T) * N];
  __device__ T& operator[](unsigned i) { return reinterpret_cast<T*>(bytes)[i]; }
};

/// Words that hold a T, where it has a word's size and stands in an array of its like.
template <class T>
using WordsOf = std::conditional_t<
    sizeof(T) == 4, unsigned,
    std::conditional_t<sizeof(T) == 8, unsigned long long, std::conditional_t<sizeof(T) == 16, uint4, void>>>;
template <class T>
__device__ T FromWords(const WordsOf<T>& words) {
  T value;
  memcpy(&value, &words, sizeof(T));
  return value;
}
/// Entry i of an array, without the L1: that keeps the L1 for entries that are read again.
template <class T>
__device__ T LoadPastL1(const T* array, std::size_t i) {
  if constexpr (std::is_void_v<WordsOf<T>>) {
    return array[i];
  } else {
    return FromWords<T>(__ldcg(reinterpret_cast<const WordsOf<T>*>(array) + i));
  }
}
/// Entry i of an array that is read once a round: the first to leave the caches.
template <class T>
__device__ T LoadOnce(const T* array, std::size_t i) {
  if constexpr (std::is_void_v<WordsOf<T>>) {
    return array[i];
  } else {
    return FromWords<T>(__ldcs(reinterpret_cast<const WordsOf<T>*>(array) + i));
  }
}
/// Writes it likewise.
template <class T>
__device__ void StoreOnce(T* array, std::size_t i, const T& value) {
  if constexpr (std::is_void_v<WordsOf<T>>) {
    array[i] = value;
  } else {
    WordsOf<T> words;
    memcpy(&words, &value, sizeof(T));
    __stcs(reinterpret_cast<WordsOf<T>*>(array) + i, words);
  }
}

/// Moves a value between lanes. All lanes of `mask` call it.
template <class T>
__device__ T Shuffle(const T& value, unsigned lane, unsigned mask = kFull) {
  constexpr int kWords = (sizeof(T) + 3) / 4;
  unsigned words[kWords] = {};
  memcpy(words, &value, sizeof(T));
  for (int w = 0; w < kWords; ++w) words[w] = __shfl_sync(mask, words[w], lane);
  T result;
  memcpy(&result, words, sizeof(T));
  return result;
}
template <class T>
__device__ T ShuffleUp(const T& value, unsigned distance) {
  constexpr int kWords = (sizeof(T) + 3) / 4;
  unsigned words[kWords] = {};
  memcpy(words, &value, sizeof(T));
  for (int w = 0; w < kWords; ++w) words[w] = __shfl_up_sync(kFull, words[w], distance);
  T result;
  memcpy(&result, words, sizeof(T));
  return result;
}

/// Adds every thread's `value` into *total: one atomic a block. All threads of the block call it.
template <class T>
__device__ void AddFromBlock(T* total, T value) {
  using BlockReduce = cub::BlockReduce<T, kBlock, cub::BLOCK_REDUCE_WARP_REDUCTIONS>;
  __shared__ typename BlockReduce::TempStorage storage;
  __syncthreads();
  const T sum = BlockReduce(storage).Sum(value);
  if (threadIdx.x == 0 && sum != T{}) atomics::Add<true>(total, sum);
}

/// Raises *most to the largest `value` of the warp's: one atomic a warp, where it changes anything. All lanes call it.
__device__ inline void MaxFromWarp(std::uint64_t* most, std::uint64_t value) {
  for (unsigned d = 16; d > 0; d /= 2) {
    const std::uint64_t other = __shfl_xor_sync(kFull, static_cast<unsigned long long>(value), d);
    if (other > value) value = other;
  }
  if (Lane() == 0 && value != 0) atomics::Max<true>(most, value);
}

/// Appends `item` of every lane with `keep` to a queue: one atomic a warp. All lanes of the
/// warp call it.
template <class T>
__device__ void Append(T* queue, std::uint32_t* count, const T& item, bool keep) {
  const unsigned mask = __ballot_sync(kFull, keep);
  if (mask == 0) return;
  unsigned base = 0;
  const unsigned leader = __ffs(mask) - 1;
  if (Lane() == leader) base = atomics::Add<true>(count, static_cast<unsigned>(__popc(mask)));
  base = __shfl_sync(kFull, base, leader);
  if (keep) queue[base + __popc(mask & ((1u << Lane()) - 1))] = item;
}

/// Hands a hub's row to the slice queue. Called by the thread that met the hub.
__device__ inline void CutIntoSlices(Slice* slices, std::uint32_t* count, LocalId v, EdgeIndex degree) {
  const auto pieces = static_cast<std::uint32_t>((degree + kSliceEdges - 1) / kSliceEdges);
  const std::uint32_t at = atomicAdd(count, pieces);
  for (std::uint32_t i = 0; i < pieces; ++i) slices[at + i] = {v, i};
}

/// What the lanes up to this one have together. All lanes of a warp call it.
__device__ inline unsigned InclusiveSumOfWarp(unsigned count) {
  for (unsigned d = 1; d < 32; d *= 2) {
    const unsigned below = __shfl_up_sync(kFull, count, d);
    if (Lane() >= d) count += below;
  }
  return count;
}

/// The lanes' short rows of a warp laid end to end, so that 32 lanes work on 32 consecutive edges whatever the degrees
/// (ChattyGraph's and WS-VR's warp segmentation). Built from every lane's count; all lanes call everything.
class WarpRows {
 public:
  /// No rows: for warps that have none, without a shuffle.
  __device__ WarpRows() : inclusive_(0), exclusive_(0), total_(0) {}
  __device__ explicit WarpRows(unsigned count) : inclusive_(InclusiveSumOfWarp(count)) {
    exclusive_ = inclusive_ - count;
    total_ = __shfl_sync(kFull, inclusive_, 31);
  }
  __device__ unsigned total() const { return total_; }
  /// The lane whose row holds position k, and the position of k in that row. For k at or past total(), some valid lane.
  __device__ unsigned Owner(unsigned k, unsigned* position) const {
    unsigned owner = 0;
    for (unsigned step = 16; step > 0; step /= 2) {
      const unsigned end = __shfl_sync(kFull, inclusive_, owner + step - 1);
      if (end <= k) owner += step;
    }
    *position = k - __shfl_sync(kFull, exclusive_, owner);
    return owner;
  }

 private:
  unsigned inclusive_, exclusive_, total_;
};

/// How many words of a bitmap a warp looks at together, one a lane: fewer where there are warps for all.
template <class Group>
__device__ unsigned WordsOfWarp(const Group& group, std::size_t words) {
  unsigned count = 32;
  while (count > 1 && words <= std::size_t{BlockCount(group)} * kWarps * (count / 2)) count /= 2;
  return count;
}

/// The set bits of a warp's words laid end to end, so that 32 lanes work on 32 bits however few a word has. Built from every
/// lane's word; all lanes call everything.
class WarpBits {
 public:
  __device__ explicit WarpBits(std::uint32_t word) : word_(word), rows_(bits::Count(word)) {}
  __device__ unsigned total() const { return rows_.total(); }
  /// The lane whose word has the k-th bit, and which bit of the word it is. For k below total().
  __device__ unsigned Owner(unsigned k, unsigned* bit) const {
    unsigned rank;
    const unsigned owner = rows_.Owner(k, &rank);
    const std::uint32_t word = __shfl_sync(kFull, word_, owner);
    unsigned at = 0;
#pragma unroll
    for (unsigned width = 16; width > 0; width /= 2) {
      const unsigned below = bits::Count(word >> at & ((1u << width) - 1));
      if (below <= rank) {
        rank -= below;
        at += width;
      }
    }
    *bit = at & 31;
    return owner;
  }

 private:
  std::uint32_t word_;
  WarpRows rows_;
};

/// Sets bit `bit` of words[owner], in shared memory of this warp, for every lane with `set`. Owners ascend with the lanes,
/// as WarpBits has them. All lanes call it.
__device__ inline void SetBits(std::uint32_t* words, unsigned owner, unsigned bit, bool set) {
  const std::uint32_t mine = set ? 1u << bit : 0;
  const unsigned first = __shfl_sync(kFull, owner, 0), last = __shfl_sync(kFull, owner, 31);
  if (last - first < 4) {  // atomics of one word would take turns
    for (unsigned o = first; o <= last; ++o) {
      const std::uint32_t all = __reduce_or_sync(kFull, owner == o ? mine : 0);
      if (Lane() == 0) words[o] |= all;
    }
  } else if (set) {
    atomicOr(words + owner, mine);
  }
  __syncwarp();
}

}  // namespace chatty::steps::cuda
