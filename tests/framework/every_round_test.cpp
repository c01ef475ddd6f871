#include <algorithm>
#include <array>
#include <vector>

#include "chatty/framework/steps/cuda/packed_rows.h"
#include "every_round_test_body.h"

namespace chatty::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Host, EveryRound, testing::Values("host:1", "host:2", "host:3", "host:8"));

// Places are numbered kind by kind, so the numbers of each kind must be those that vertices are sorted into, also where not
// even the most frequent fit, or nothing does.
TEST(SourceOrder, KindsAreAsManyAsVerticesSortedIntoThem) {
  using steps::cuda::SourceOrder;
  constexpr std::uint32_t kMax = SourceOrder::kCounts;
  for (const std::vector<std::uint32_t>& counts : {std::vector<std::uint32_t>{0, 1, 2, 3, 3, 9, kMax - 2, kMax - 1},
                                                   {5, kMax - 1, kMax, kMax + 1, ~0u, 0},
                                                   {kMax, 0},
                                                   {0, 0},
                                                   {1, 1, 2}}) {
    std::array<std::uint32_t, kMax> with{};
    for (const std::uint32_t count : counts) with[SourceOrder::Capped(count)] += 1;
    for (const std::uint64_t fit : {0, 1, 2, 3, 4, 100}) {
      const SourceOrder order = SourceOrder::Of(with, fit);
      const auto is_hub = [&](std::uint32_t count) { return order.IsHub(count); };
      const auto hubs = static_cast<std::uint64_t>(std::count_if(counts.begin(), counts.end(), is_hub));
      const auto none = static_cast<std::uint64_t>(std::count(counts.begin(), counts.end(), 0u));
      EXPECT_EQ(order.hubs, hubs) << fit;
      EXPECT_EQ(order.counted, counts.size() - hubs - none) << fit;
      EXPECT_LE(order.hubs, fit);
    }
  }
}

}  // namespace
}  // namespace chatty::test
