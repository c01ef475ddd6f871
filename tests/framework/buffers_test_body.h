// Message buffers in every encoding, packed and unpacked by the steps' own functions: the unpacked contents equal the packed
// ones, for any range of entries. Instantiated for host teams and for GPUs, which provide Pack and Unpack.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "chatty/framework/state.h"

namespace chatty {
namespace {

struct Nothing {};
struct Wide {
  std::uint64_t a;
  std::uint32_t b, c;
};

template <class T>
Slot<T> PayloadOf(std::size_t i) {
  Slot<T> slot{};
  const std::uint64_t key = i * 0x9e3779b97f4a7c15ull + 1;
  if constexpr (!std::is_empty_v<T>) std::memcpy(&slot.message, &key, std::min(sizeof(T), sizeof(key)));
  return slot;
}

/// Whether entry i is in the buffer: none, all, a third, or long runs.
bool IsIn(int pattern, std::size_t i) {
  switch (pattern) {
    case 0:
      return false;
    case 1:
      return true;
    case 2:
      return (i * 2654435761u >> 7) % 3 == 0;
    default:
      return (i / 300) % 2 == 1;
  }
}

template <class T>
class BufferTest : public testing::Test {};
using Payloads = testing::Types<Nothing, std::uint32_t, float, std::uint64_t, Wide>;
TYPED_TEST_SUITE(BufferTest, Payloads);

TYPED_TEST(BufferTest, WhatGoesInComesOut) {
  if (!Backend::Available()) GTEST_SKIP() << "no GPU on this machine";
  constexpr std::size_t kPayload = kWireBytes<Slot<TypeParam>>;
  for (const std::size_t size : {1, 31, 32, 33, 255, 256, 257, 511, 1000, 4096, 10000, 70001}) {
    for (int pattern = 0; pattern < 4; ++pattern) {
      std::vector<std::uint32_t> bits(bits::Words(size) + 1, 0);
      std::size_t count = 0;
      for (std::size_t i = 0; i < size; ++i) {
        if (!IsIn(pattern, i)) continue;
        bits[i / 32] |= 1u << (i & 31);
        ++count;
      }
      for (const auto& [encoding, way] : Backend::kWays) {
        if (encoding == Encoding::kDense && (count < size || kPayload == 0)) continue;
        SCOPED_TRACE(testing::Message() << size << " entries, pattern " << pattern << ", " << EncodingName(encoding)
                                        << ", way " << static_cast<int>(way));
        const std::size_t bytes = BufferBytes(encoding, size, count, kPayload);
        ASSERT_LE(bytes, BufferCapacity(size, kPayload));
        // Bytes behind the buffer are not touched.
        const auto [packed, buffer] =
            Backend::Pack<TypeParam>(encoding, way, size, bits, BufferCapacity(size, kPayload) + 64);
        ASSERT_EQ(packed, count);
        for (std::size_t i = bytes; i < buffer.size(); ++i) ASSERT_EQ(buffer[i], std::byte{0xa5}) << "byte " << i - bytes;
        const std::size_t third = size / 3;
        for (const auto& [first, last] :
             {std::pair{std::size_t{0}, size}, {third, size - third}, {size - third, size}, {third, third}}) {
          InboxRef inbox;
          inbox.encoding = encoding;
          inbox.count = static_cast<std::uint32_t>(count);
          inbox.size = static_cast<std::uint32_t>(size);
          inbox.first = static_cast<std::uint32_t>(first);
          inbox.last = static_cast<std::uint32_t>(last);
          const auto [seen, values] = Backend::Unpack<TypeParam>(inbox, buffer);
          for (std::size_t i = first; i < last; ++i) {
            ASSERT_EQ(seen[i - first], IsIn(pattern, i) ? 1u : 0u) << "times that entry " << i << " was seen";
            const Slot<TypeParam> expected = PayloadOf<TypeParam>(i);
            if (IsIn(pattern, i)) {
              ASSERT_EQ(std::memcmp(&values[i - first], &expected, kPayload), 0) << "entry " << i;
            }
          }
          for (std::size_t i = last - first; i < seen.size(); ++i) ASSERT_EQ(seen[i], 0u) << "beyond the stretch";
        }
      }
    }
  }
}

TEST(Encodings, TheShortestIsChosen) {
  for (const std::size_t payload : {0, 4, 8, 16}) {
    for (const std::size_t size : {1, 100, 10000}) {
      for (const std::size_t count : {std::size_t{0}, std::size_t{1}, size / 100, size / 3, size - 1, size}) {
        const std::size_t chosen = BufferBytes(ShortestEncoding(size, count, payload), size, count, payload);
        EXPECT_LE(chosen, SparseBytes(count, payload));
        EXPECT_LE(chosen, BitmapBytes(size, count, payload));
        if (count == size && payload > 0) {
          EXPECT_LE(chosen, DenseBytes(size, payload));
        }
        EXPECT_LE(chosen, BufferCapacity(size, payload));
      }
    }
  }
  EXPECT_EQ(ShortestEncoding(1000, 1000, 4), Encoding::kDense);
  EXPECT_EQ(ShortestEncoding(1000, 999, 4), Encoding::kBitmap);
  EXPECT_EQ(ShortestEncoding(1000, 3, 4), Encoding::kSparse);
  EXPECT_EQ(BufferBytes(ShortestEncoding(32000, 20000, 0), 32000, 20000, 0), 4000u) << "one bit a place, nothing else";
}

}  // namespace
}  // namespace chatty
