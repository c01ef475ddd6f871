/// \file
/// Pseudo-random numbers that are equal on every device.
#pragma once

#include <cstdint>

#include "chatty/core/macros.h"

namespace chatty {

/// A pseudo-random number for `x`, such as a vertex id: number x of the sequence that splitmix64 (Steele, Lea and Flood,
/// OOPSLA'14) produces from seed 0. The function is a bijection: different x have different numbers.
CHATTY_FN constexpr std::uint64_t Hash(std::uint64_t x) {
  std::uint64_t h = (x + 1) * 0x9e3779b97f4a7c15ull;
  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ull;
  h = (h ^ (h >> 27)) * 0x94d049bb133111ebull;
  return h ^ (h >> 31);
}

/// A different bijection for each seed.
CHATTY_FN constexpr std::uint64_t Hash(std::uint64_t x, std::uint64_t seed) { return Hash(x + Hash(seed)); }

}  // namespace chatty
