#include "chatty/core/array.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "chatty/core/error.h"

namespace chatty {
namespace {

TEST(Array, DefaultIsEmpty) {
  const Array<int> array;
  EXPECT_TRUE(array.empty());
  EXPECT_EQ(array.size(), 0u);
  EXPECT_EQ(array.bytes(), 0u);
  EXPECT_EQ(array.begin(), array.end());
  EXPECT_TRUE(Array<int>(0).empty());
}

TEST(Array, IsAlignedForVectorLoads) {
  for (const std::size_t size : {1, 3, 17, 100, 4097}) {
    const Array<std::uint8_t> array(size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(array.data()) % 64, 0u) << size;
  }
  struct alignas(256) Wide {
    int value;
  };
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(Array<Wide>(3).data()) % 256, 0u);
}

TEST(Array, HoldsWhatItWasMadeOf) {
  const Array<int> filled(5, 7);
  EXPECT_EQ(std::vector<int>(filled.begin(), filled.end()), std::vector<int>(5, 7));
  const Array<int> listed{3, 1, 2};
  EXPECT_EQ(std::vector<int>(listed.begin(), listed.end()), (std::vector<int>{3, 1, 2}));
  EXPECT_EQ(listed.back(), 2);
  EXPECT_EQ(listed.bytes(), 3 * sizeof(int));
  const std::vector<int> source{9, 8};
  const Array<int> copied{std::span<const int>(source)};
  EXPECT_EQ(std::vector<int>(copied.begin(), copied.end()), source);
}

TEST(Array, MovingLeavesTheSourceEmpty) {
  Array<int> first{1, 2, 3};
  const int* const data = first.data();
  Array<int> second = std::move(first);
  EXPECT_EQ(second.data(), data);
  EXPECT_EQ(second.size(), 3u);
  EXPECT_TRUE(first.empty());
  EXPECT_EQ(first.data(), nullptr);
  Array<int> third{4};
  third = std::move(second);
  EXPECT_EQ(third.data(), data);
  EXPECT_EQ(third.size(), 3u);
  EXPECT_TRUE(second.empty());
}

TEST(Array, CloneIsIndependent) {
  Array<int> original{1, 2, 3};
  Array<int> clone = original.Clone();
  clone[0] = 10;
  EXPECT_EQ(original[0], 1);
  EXPECT_EQ(clone[0], 10);
  EXPECT_EQ(clone[2], 3);
  EXPECT_TRUE(Array<int>().Clone().empty());
}

TEST(Array, TruncateForgetsTheRest) {
  Array<int> array{1, 2, 3};
  array.Truncate(2);
  EXPECT_EQ(array.size(), 2u);
  EXPECT_EQ(array.span().size(), 2u);
  EXPECT_EQ(array.back(), 2);
}

TEST(Array, AViewSharesWhatItsOwnerKeeps) {
  auto owner = std::make_shared<std::vector<int>>(std::vector{1, 2, 3});
  const std::weak_ptr<std::vector<int>> kept = owner;
  Array<int> view = Array<int>::View(owner->data(), owner->size(), owner);
  EXPECT_EQ(view.data(), owner->data());
  view[0] = 7;
  EXPECT_EQ(owner->front(), 7);
  owner.reset();
  Array<int> moved = std::move(view);
  ASSERT_FALSE(kept.expired());
  EXPECT_EQ(moved.back(), 3);
  moved = Array<int>{4};  // the view goes, and its owner with it; what comes is freed as ever
  EXPECT_TRUE(kept.expired());
  EXPECT_EQ(moved[0], 4);

  int mine[2] = {5, 6};
  {
    const Array<int> of_nobody = Array<int>::View(mine, 2);
    EXPECT_EQ(of_nobody.span().back(), 6);
  }
  EXPECT_EQ(mine[1], 6);
}

TEST(Array, InHugePagesIsAnArrayLikeAnyOther) {
  for (const std::size_t size : {0u, 1u, 3u << 20}) {
    Array<std::uint32_t> array = Array<std::uint32_t>::InHugePages(size);
    ASSERT_EQ(array.size(), size);
    std::fill(array.begin(), array.end(), 9u);
    EXPECT_EQ(std::count(array.begin(), array.end(), 9u), static_cast<std::ptrdiff_t>(size));
  }
}

TEST(Array, ImpossibleSizesAreReportedNotWrapped) {
  // 2^61 + 1 elements of 8 bytes are 8 bytes in 64-bit arithmetic that wraps.
  EXPECT_THROW(Array<std::uint64_t>((std::size_t{1} << 61) + 1), OutOfMemoryError);
  EXPECT_THROW(Array<std::uint64_t>(static_cast<std::size_t>(-1)), OutOfMemoryError);
  EXPECT_THROW(Array<std::uint64_t>::InHugePages((std::size_t{1} << 61) + 1), OutOfMemoryError);
}

}  // namespace
}  // namespace chatty
