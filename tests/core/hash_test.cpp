#include "chatty/core/hash.h"

#include <gtest/gtest.h>

#include <set>

namespace chatty {
namespace {

TEST(Hash, IsSplitmix64) {  // the first numbers of Vigna's reference implementation from seed 0
  static_assert(Hash(0) == 0xe220a8397b1dcdafull);
  EXPECT_EQ(Hash(1), 0x6e789e6aa1b965f4ull);
  EXPECT_EQ(Hash(2), 0x06c45d188009454full);
}

TEST(Hash, SeedsGiveOtherNumbersAndNoneTwice) {
  std::set<std::uint64_t> numbers;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    for (std::uint64_t x = 0; x < 1000; ++x) numbers.insert(Hash(x, seed));
  }
  EXPECT_EQ(numbers.size(), 10000u);
}

}  // namespace
}  // namespace chatty
