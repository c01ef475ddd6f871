/// \file
/// Bitmaps as arrays of 32-bit words. A GPU warp's ballot fills one word.
#pragma once

#include <bit>
#include <cstdint>

#include "chatty/core/atomics.h"
#include "chatty/core/types.h"

namespace chatty::bits {

/// Number of words for `bits` bits.
CHATTY_FN constexpr std::size_t Words(std::size_t bits) { return (bits + 31) / 32; }

/// Number of set bits in a word.
CHATTY_FN unsigned Count(std::uint32_t word) {
#if CHATTY_DEVICE_CODE
  return static_cast<unsigned>(__popc(word));
#else
  return static_cast<unsigned>(std::popcount(word));
#endif
}

/// Whether bit i is set. A plain load: only for words without concurrent writes.
CHATTY_FN bool Test(const std::uint32_t* words, LocalId i) { return (words[i >> 5] >> (i & 31)) & 1u; }

/// Sets bit i; returns whether it was clear. A load comes first, so that a set bit costs no atomic.
template <bool kConcurrent, atomics::Scope kScope = atomics::Scope::kDevice>
CHATTY_FN bool Set(std::uint32_t* words, LocalId i) {
  const std::uint32_t bit = 1u << (i & 31);
  if constexpr (kConcurrent) {
    if (atomics::Load(words + (i >> 5)) & bit) return false;
  }
  return (atomics::Or<kConcurrent, kScope>(words + (i >> 5), bit) & bit) == 0;
}

/// Clears bit i. A load comes first, so that a clear bit costs no atomic.
template <bool kConcurrent, atomics::Scope kScope = atomics::Scope::kDevice>
CHATTY_FN void Clear(std::uint32_t* words, LocalId i) {
  const std::uint32_t bit = 1u << (i & 31);
  if constexpr (kConcurrent) {
    if ((atomics::Load(words + (i >> 5)) & bit) == 0) return;
  }
  atomics::And<kConcurrent, kScope>(words + (i >> 5), ~bit);
}

/// Mask of the bits of word w whose index in the bitmap is below `count`.
CHATTY_FN constexpr std::uint32_t Mask(std::size_t w, std::size_t count) {
  const std::size_t begin = w * 32;
  if (count >= begin + 32) return ~0u;
  return count <= begin ? 0u : (1u << (count - begin)) - 1u;
}

}  // namespace chatty::bits
