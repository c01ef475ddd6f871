/// \file
/// Numbers that look random and are the same on every device.
#pragma once

#include <cstdint>

#include "chatty/core/macros.h"

namespace chatty {

/// A pseudo-random number for `x`, say a vertex id: number x of the sequence that splitmix64 (Steele, Lea and Flood,
/// OOPSLA'14) makes from seed 0. A bijection: different x have different numbers.
CHATTY_FN constexpr std::uint64_t Hash(std::uint64_t x) {
  std::uint64_t h = (x + 1) * 0x9e3779b97f4a7c15ull;
  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ull;
  h = (h ^ (h >> 27)) * 0x94d049bb133111ebull;
  return h ^ (h >> 31);
}

/// Another such number for each seed, and for each seed again a bijection.
CHATTY_FN constexpr std::uint64_t Hash(std::uint64_t x, std::uint64_t seed) { return Hash(x + Hash(seed)); }

}  // namespace chatty
