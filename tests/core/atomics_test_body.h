// Tests of core/atomics.h and core/bitmap.h, the same on host threads and on a GPU. Whoever includes this has defined, in
// chatty::test,
//   template <class T> Memory                          // Memory<T>(n): n objects that the test and the threads both see
//   struct Backend {
//     static constexpr unsigned kThreads;
//     template <class F> static void Run(unsigned threads, F f);  // f(i) on every thread i, all at once; waits for them
//   };
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "chatty/core/atomics.h"
#include "chatty/core/bitmap.h"

namespace chatty::test {

CHATTY_FN std::uint64_t Hash(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;  // splitmix64
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

/// The i-th of many distinct values of T, in no order: both signs, many magnitudes.
template <class T>
CHATTY_FN T ValueAt(std::uint64_t i, bool positive) {
  if constexpr (std::is_floating_point_v<T>) {
    // Distinct integers, scaled by a power of two of either sign: exact in float.
    const double scale = i % 3 == 0 ? 1.0 : i % 3 == 1 ? 1.0 / 1048576 : 1048576.0;
    const auto value = static_cast<T>((static_cast<double>(i) + 1) * scale);
    return positive || (Hash(i) & 1) ? value : -value;
  } else {
    const auto value = static_cast<T>(i + 1);
    if constexpr (std::is_signed_v<T>) {
      return positive || (Hash(i) & 1) ? value : static_cast<T>(-value);
    } else {
      // The upper half counts too: a signed comparison would get it wrong.
      return positive || (Hash(i) & 1) ? value : static_cast<T>(std::numeric_limits<T>::max() - value);
    }
  }
}

inline constexpr unsigned kValuesPerThread = 64;

template <class T, bool kMin>
struct OfferAll {
  T* extreme;
  unsigned threads;
  bool positive;
  unsigned char* changed;
  CHATTY_FN void operator()(unsigned thread) const {
    for (unsigned k = 0; k < kValuesPerThread; ++k) {
      const unsigned i = k * threads + thread;
      const T value = ValueAt<T>(i, positive);
      changed[i] = kMin ? atomics::Min<true>(extreme, value) : atomics::Max<true>(extreme, value);
    }
  }
};

template <class T>
struct AddOnes {
  T* sum;
  T* before;
  CHATTY_FN void operator()(unsigned thread) const {
    for (unsigned k = 0; k < kValuesPerThread; ++k) before[thread * kValuesPerThread + k] = atomics::Add<true>(sum, T{1});
  }
};
template <class T>
struct AddValues {
  T* sum;
  CHATTY_FN void operator()(unsigned thread) const {
    for (unsigned k = 0; k < kValuesPerThread; ++k) {
      // Small integers of both signs: exact in any order, in any type that has signs.
      const auto value = static_cast<T>(static_cast<int>((thread * kValuesPerThread + k) % 9) - 4);
      atomics::Add<true>(sum, value);
    }
  }
};

template <class T>
struct SetBits {
  T* word;
  unsigned* firsts;  ///< by bit: how many threads found it clear
  CHATTY_FN void operator()(unsigned thread) const {
    for (unsigned k = 0; k < 8 * sizeof(T); ++k) {
      const unsigned b = (k + thread) % static_cast<unsigned>(8 * sizeof(T));
      const auto bit = static_cast<T>(T{1} << b);
      if ((atomics::Or<true>(word, bit) & bit) == 0) atomics::Add<true>(firsts + b, 1u);
    }
  }
};
template <class T>
struct ClearBits {
  T* word;
  unsigned* firsts;
  CHATTY_FN void operator()(unsigned thread) const {
    for (unsigned k = 0; k < 8 * sizeof(T); ++k) {
      const unsigned b = (k + thread) % static_cast<unsigned>(8 * sizeof(T));
      const auto bit = static_cast<T>(T{1} << b);
      if ((atomics::And<true>(word, static_cast<T>(~bit)) & bit) != 0) atomics::Add<true>(firsts + b, 1u);
    }
  }
};

template <class T>
struct CountBySwap {
  T* count;
  CHATTY_FN void operator()(unsigned) const {
    for (unsigned k = 0; k < 8; ++k) {
      T old = atomics::Load(count);
      while (true) {
        const T found = atomics::CompareSwap(count, old, static_cast<T>(old + 1));
        if (found == old) break;
        old = found;
      }
    }
  }
};

/// Eight bytes that are no number, as a program's message may be.
struct Pair {
  std::uint32_t least;
  float most;
};
struct Widen {
  CHATTY_FN Pair operator()(const Pair& a, const Pair& b) const {
    return {b.least < a.least ? b.least : a.least, a.most < b.most ? b.most : a.most};
  }
};
struct UpdatePairs {
  Pair* pair;
  unsigned* changes;
  CHATTY_FN void operator()(unsigned thread) const {
    for (unsigned k = 0; k < kValuesPerThread; ++k) {
      const std::uint64_t h = Hash(thread * kValuesPerThread + k);
      const Pair mine{static_cast<std::uint32_t>(h % 100000), static_cast<float>(h >> 40) - 1000.0f};
      if (atomics::Update<true>(pair, mine, Widen{})) atomics::Add<true>(changes, 1u);
    }
  }
};

/// A byte in a word of its own, and five bytes in eight: what is neither must not decide whether a swap stuck.
struct alignas(4) PaddedByte {
  signed char value;
};
struct Padded {
  std::int32_t value;
  signed char more;
};
template <class T>
struct Larger {
  CHATTY_FN T operator()(const T& a, const T& b) const {
    T larger{};
    larger.value = a.value < b.value ? b.value : a.value;
    return larger;
  }
};
template <class T>
struct UpdatePadded {
  T* slots;
  unsigned count;
  CHATTY_FN void operator()(unsigned thread) const {
    for (unsigned k = 0; k < kValuesPerThread * 8; ++k) {
      const std::uint64_t h = Hash(thread * 4096 + k);
      T mine{};
      mine.value = static_cast<signed char>(static_cast<int>(h % 200) - 100);
      atomics::Update<true>(slots + (h >> 32) % count, mine, Larger<T>{});
    }
  }
};

struct MarkBits {
  std::uint32_t* words;
  unsigned bits;
  unsigned* firsts;
  CHATTY_FN void operator()(unsigned thread) const {
    for (unsigned k = 0; k < bits; ++k) {
      const unsigned b = static_cast<unsigned>(Hash(thread * 1000003ull + k) % bits);
      if (bits::Set<true>(words, b)) atomics::Add<true>(firsts + b, 1u);
    }
  }
};

/// Clears every third bit of those.
struct ClearThirds {
  std::uint32_t* words;  ///< the bitmap
  unsigned bits;         ///< of it
  CHATTY_FN void operator()(unsigned thread) const {
    for (unsigned k = 0; k < bits; ++k) {
      const auto b = static_cast<unsigned>(Hash(thread * 1000003ull + k) % bits);
      if (b % 3 == 0) bits::Clear<true>(words, b);
    }
  }
};

template <class T>
class AtomicsTest : public testing::Test {
 protected:
  template <bool kMin>
  void ExtremeOfAll(T start, bool positive) {
    constexpr unsigned kAll = Backend::kThreads * kValuesPerThread;
    Memory<T> extreme(1);
    Memory<unsigned char> changed(kAll);
    extreme[0] = start;
    Backend::Run(Backend::kThreads, OfferAll<T, kMin>{extreme.data(), Backend::kThreads, positive, changed.data()});
    T expected = start;
    unsigned winner = kAll;
    for (unsigned i = 0; i < kAll; ++i) {
      const T value = ValueAt<T>(i, positive);
      if (kMin ? value < expected : expected < value) {
        expected = value;
        winner = i;
      }
    }
    EXPECT_EQ(extreme[0], expected);
    ASSERT_LT(winner, kAll);
    EXPECT_TRUE(changed[winner]) << "the extreme value is told that it changed something";
    // Replay: a value that a thread's own earlier value beats cannot have changed anything.
    for (unsigned thread = 0; thread < Backend::kThreads; ++thread) {
      T best = start;
      for (unsigned k = 0; k < kValuesPerThread; ++k) {
        const unsigned i = k * Backend::kThreads + thread;
        const T value = ValueAt<T>(i, positive);
        const bool better = kMin ? value < best : best < value;
        if (better) {
          best = value;
        } else {
          ASSERT_FALSE(changed[i]) << "value " << i;
        }
      }
    }
  }
};

using AtomicTypes =
    testing::Types<std::int32_t, std::uint32_t, std::int64_t, std::uint64_t, long long, unsigned long long, float, double>;
TYPED_TEST_SUITE(AtomicsTest, AtomicTypes);

TYPED_TEST(AtomicsTest, MinUnderContention) {
  using Limits = std::numeric_limits<TypeParam>;
  this->template ExtremeOfAll<true>(Limits::max(), false);
  this->template ExtremeOfAll<true>(Limits::max(), true);
  if constexpr (Limits::has_infinity) {
    this->template ExtremeOfAll<true>(Limits::infinity(), false);
    this->template ExtremeOfAll<true>(-Limits::min(), false);  // from below zero
  }
}

TYPED_TEST(AtomicsTest, MaxUnderContention) {
  using Limits = std::numeric_limits<TypeParam>;
  this->template ExtremeOfAll<false>(Limits::lowest(), false);
  if constexpr (!std::is_signed_v<TypeParam>) {
    this->template ExtremeOfAll<false>(Limits::lowest(), true);
  } else {
    this->template ExtremeOfAll<false>(TypeParam{-5}, false);
  }
  if constexpr (Limits::has_infinity) {
    this->template ExtremeOfAll<false>(-Limits::infinity(), false);
    this->template ExtremeOfAll<false>(-Limits::max(), true);  // across zero
  }
}

TYPED_TEST(AtomicsTest, AddGivesEveryThreadADifferentTurn) {
  constexpr unsigned kAll = Backend::kThreads * kValuesPerThread;
  Memory<TypeParam> sum(1), before(kAll);
  sum[0] = TypeParam{};
  Backend::Run(Backend::kThreads, AddOnes<TypeParam>{sum.data(), before.data()});
  EXPECT_EQ(sum[0], static_cast<TypeParam>(kAll));
  std::vector<TypeParam> turns(before.data(), before.data() + kAll);
  std::sort(turns.begin(), turns.end());
  for (unsigned i = 0; i < kAll; ++i) ASSERT_EQ(turns[i], static_cast<TypeParam>(i));
}

TYPED_TEST(AtomicsTest, AddOfBothSigns) {
  Memory<TypeParam> sum(1);
  sum[0] = TypeParam{100};
  Backend::Run(Backend::kThreads, AddValues<TypeParam>{sum.data()});
  auto expected = TypeParam{100};
  for (unsigned i = 0; i < Backend::kThreads * kValuesPerThread; ++i) {
    expected = static_cast<TypeParam>(expected + static_cast<TypeParam>(static_cast<int>(i % 9) - 4));
  }
  EXPECT_EQ(sum[0], expected);
}

TYPED_TEST(AtomicsTest, EachBitIsSetAndClearedOnce) {
  if constexpr (std::is_integral_v<TypeParam>) {
    constexpr unsigned kBits = 8 * sizeof(TypeParam);
    Memory<TypeParam> word(1);
    Memory<unsigned> firsts(kBits);
    word[0] = TypeParam{};
    for (unsigned b = 0; b < kBits; ++b) firsts[b] = 0;
    Backend::Run(Backend::kThreads, SetBits<TypeParam>{word.data(), firsts.data()});
    EXPECT_EQ(word[0], static_cast<TypeParam>(~TypeParam{}));
    for (unsigned b = 0; b < kBits; ++b) EXPECT_EQ(firsts[b], 1u) << "bit " << b;
    Backend::Run(Backend::kThreads, ClearBits<TypeParam>{word.data(), firsts.data()});
    EXPECT_EQ(word[0], TypeParam{});
    for (unsigned b = 0; b < kBits; ++b) EXPECT_EQ(firsts[b], 2u) << "bit " << b;
  }
}

TYPED_TEST(AtomicsTest, CompareSwapCountsRight) {
  Memory<TypeParam> count(1);
  count[0] = TypeParam{};
  const unsigned threads = std::min(Backend::kThreads, 512u);  // a failed swap costs every thread time
  Backend::Run(threads, CountBySwap<TypeParam>{count.data()});
  EXPECT_EQ(count[0], static_cast<TypeParam>(8 * threads));
}

TYPED_TEST(AtomicsTest, AloneMeansTheSame) {
  using T = TypeParam;
  T x = 5;
  EXPECT_FALSE((atomics::Min<false>(&x, T{5})));
  EXPECT_TRUE((atomics::Min<false>(&x, T{4})));
  EXPECT_EQ(x, T{4});
  EXPECT_FALSE((atomics::Max<false>(&x, T{4})));
  EXPECT_TRUE((atomics::Max<false>(&x, T{9})));
  EXPECT_EQ(x, T{9});
  EXPECT_EQ((atomics::Add<false>(&x, T{3})), T{9});
  EXPECT_EQ(x, T{12});
  if constexpr (std::is_integral_v<T>) {
    EXPECT_EQ((atomics::Or<false>(&x, T{3})), T{12});
    EXPECT_EQ((atomics::And<false>(&x, T{6})), T{15});
    EXPECT_EQ(x, T{6});
  }
  atomics::Store(&x, T{2});
  EXPECT_EQ(atomics::Load(&x), T{2});
  EXPECT_EQ(atomics::CompareSwap(&x, T{3}, T{7}), T{2}) << "not what was expected: nothing happens";
  EXPECT_EQ(atomics::CompareSwap(&x, T{2}, T{7}), T{2});
  EXPECT_EQ(x, T{7});
}

TEST(Atomics, UpdateOfAStruct) {
  Memory<Pair> pair(1);
  Memory<unsigned> changes(1);
  pair[0] = {~0u, -2000.0f};
  changes[0] = 0;
  Backend::Run(Backend::kThreads, UpdatePairs{pair.data(), changes.data()});
  Pair expected{~0u, -2000.0f};
  for (unsigned i = 0; i < Backend::kThreads * kValuesPerThread; ++i) {
    const std::uint64_t h = Hash(i);
    expected = Widen{}(expected, {static_cast<std::uint32_t>(h % 100000), static_cast<float>(h >> 40) - 1000.0f});
  }
  EXPECT_EQ(pair[0].least, expected.least);
  EXPECT_EQ(pair[0].most, expected.most);
  EXPECT_GE(changes[0], 1u);
  EXPECT_LE(changes[0], Backend::kThreads * kValuesPerThread);
  Pair alone{10, 1.0f};
  EXPECT_FALSE((atomics::Update<false>(&alone, Pair{10, 0.5f}, Widen{})));
  EXPECT_TRUE((atomics::Update<false>(&alone, Pair{11, 2.0f}, Widen{})));
  EXPECT_EQ(alone.most, 2.0f);
}

template <class T>
void PaddingIsIgnored() {
  constexpr unsigned kSlots = 16;
  Memory<T> slots(kSlots);
  for (unsigned i = 0; i < kSlots; ++i) {
    std::memset(static_cast<void*>(&slots[i]), 0x5a + static_cast<int>(i), sizeof(T));  // as indeterminate as memory gets
    slots[i].value = -128;
  }
  Backend::Run(Backend::kThreads, UpdatePadded<T>{slots.data(), kSlots});
  std::vector<int> expected(kSlots, -128);
  for (unsigned thread = 0; thread < Backend::kThreads; ++thread) {
    for (unsigned k = 0; k < kValuesPerThread * 8; ++k) {
      const std::uint64_t h = Hash(thread * 4096 + k);
      int& slot = expected[(h >> 32) % kSlots];
      slot = std::max(slot, static_cast<int>(h % 200) - 100);
    }
  }
  for (unsigned i = 0; i < kSlots; ++i) EXPECT_EQ(slots[i].value, expected[i]) << "slot " << i;
}
TEST(Atomics, UpdateIgnoresPadding) {
  PaddingIsIgnored<PaddedByte>();
  PaddingIsIgnored<Padded>();
}

TEST(Bitmap, EachBitIsFirstSetByOneThread) {
  constexpr unsigned kBits = 1000;
  Memory<std::uint32_t> words(bits::Words(kBits));
  Memory<unsigned> firsts(kBits);
  for (std::size_t w = 0; w < bits::Words(kBits); ++w) words[w] = 0;
  for (unsigned b = 0; b < kBits; ++b) firsts[b] = 0;
  Backend::Run(Backend::kThreads, MarkBits{words.data(), kBits, firsts.data()});
  std::vector<unsigned> expected(kBits, 0);
  for (unsigned thread = 0; thread < Backend::kThreads; ++thread) {
    for (unsigned k = 0; k < kBits; ++k) expected[Hash(thread * 1000003ull + k) % kBits] = 1;
  }
  for (unsigned b = 0; b < kBits; ++b) {
    ASSERT_EQ(firsts[b], expected[b]) << "bit " << b;
    ASSERT_EQ(bits::Test(words.data(), b), expected[b] == 1);
  }
  Backend::Run(Backend::kThreads, ClearThirds{words.data(), kBits});
  for (unsigned b = 0; b < kBits; ++b) ASSERT_EQ(bits::Test(words.data(), b), expected[b] == 1 && b % 3 != 0) << b;
  bits::Clear<false>(words.data(), 1);
  bits::Clear<false>(words.data(), 1);
  EXPECT_FALSE(bits::Test(words.data(), 1));
}

TEST(Bitmap, WordsAndMasks) {
  EXPECT_EQ(bits::Words(0), 0u);
  EXPECT_EQ(bits::Words(1), 1u);
  EXPECT_EQ(bits::Words(32), 1u);
  EXPECT_EQ(bits::Words(33), 2u);
  for (std::size_t count = 0; count <= 100; ++count) {
    for (std::size_t w = 0; w < 4; ++w) {
      for (unsigned b = 0; b < 32; ++b) EXPECT_EQ((bits::Mask(w, count) >> b) & 1u, w * 32 + b < count ? 1u : 0u);
    }
  }
}

}  // namespace chatty::test
