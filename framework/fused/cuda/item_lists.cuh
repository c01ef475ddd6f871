/// \file
/// Lists of items in a GPU's memory, as warps of a resident kernel read and write them. Accesses go past the L1, because one
/// multiprocessor writes an item and another one reads it while the kernel runs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "chatty/framework/steps/cuda/block.cuh"

namespace chatty::fused::cuda {

/// One block of so many threads an SM: a step's chain of accesses counts, not their number.
inline constexpr unsigned kThreads = 256, kWarps = kThreads / 32;
/// Fewest items of a warp's slice: fewer warps with more items each would wait for each other's chains.
inline constexpr unsigned kSlice = 4;

namespace detail {

/// The word of a copy of a T that no word holds: as wide as T's size allows in an array.
template <class T>
using CopyWord = std::conditional_t<sizeof(T) % 8 == 0, unsigned long long,
                                    std::conditional_t<sizeof(T) % 4 == 0, unsigned, unsigned char>>;

template <class T>
__device__ T LoadItem(const T* at) {
  using W = steps::cuda::WordsOf<T>;
  if constexpr (std::is_void_v<W>) {
    using C = CopyWord<T>;
    T item;
#pragma unroll
    for (unsigned i = 0; i < sizeof(T) / sizeof(C); ++i) {
      const C word = __ldcg(reinterpret_cast<const C*>(at) + i);
      memcpy(reinterpret_cast<char*>(&item) + sizeof(C) * i, &word, sizeof(C));
    }
    return item;
  } else {
    return steps::cuda::FromWords<T>(__ldcg(reinterpret_cast<const W*>(at)));
  }
}
template <class T>
__device__ void StoreItem(T* at, const T& item) {
  using W = steps::cuda::WordsOf<T>;
  if constexpr (std::is_void_v<W>) {
    using C = CopyWord<T>;
#pragma unroll
    for (unsigned i = 0; i < sizeof(T) / sizeof(C); ++i) {
      C word;
      memcpy(&word, reinterpret_cast<const char*>(&item) + sizeof(C) * i, sizeof(C));
      __stcg(reinterpret_cast<C*>(at) + i, word);
    }
  } else {
    W words;
    memcpy(&words, &item, sizeof(T));
    __stcg(reinterpret_cast<W*>(at), words);
  }
}

/// Items of a list that are one warp's.
template <class Entry>
struct ItemSlice {
  const Entry* items = nullptr;
  unsigned count = 0;
};

}  // namespace detail

/// A warp's part of a list of `count` items.
template <class Entry>
__device__ detail::ItemSlice<Entry> SliceOf(const Entry* list, unsigned count, unsigned warp, unsigned warps) {
  const unsigned share = max((count + warps - 1) / warps, kSlice);
  const auto begin = static_cast<unsigned>(min(std::uint64_t{warp} * share, std::uint64_t{count}));
  return {list + begin, min(share, count - begin)};
}

}  // namespace chatty::fused::cuda
