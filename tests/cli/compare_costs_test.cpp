// Transfers without a graph, and curves of the cost model.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "chatty/cli/compare/costs.h"
#include "chatty/cli/compare/plan.h"
#include "chatty/cli/compare/transfers.h"
#include "compare_fixture.h"

namespace chatty::cli {
namespace {

TEST(CompareTransfers, SchedulesMoveEveryByteOnce) {
  const Schedule ring = RingSchedule(4, 10, 3);
  std::vector<std::size_t> came(4, 0);
  std::vector<std::vector<bool>> has(4, std::vector<bool>(10, false));
  has[0].assign(10, true);
  for (const auto& moves : ring) {
    auto after = has;
    for (const Move& move : moves) {
      came[move.to] += move.bytes;
      for (std::size_t i = move.offset; i < move.offset + move.bytes; ++i) {
        EXPECT_TRUE(has[move.from][i]) << "sent before it came";
        after[move.to][i] = true;
      }
    }
    has = after;
  }
  EXPECT_EQ(came, (std::vector<std::size_t>{0, 10, 10, 10}));
  EXPECT_EQ(PeerSchedule(0, 1, 10, 4).size(), 3u);
  EXPECT_EQ(PeerSchedule(0, 1, 10, 4).back().front().bytes, 2u);
}

TEST(CompareTransfers, AreStoppedAfterAnEpoch) {
  const auto devices = OpenDevices(ParseDevices("host:2"), 1);
  const std::vector<Device*> pointers{devices[0].get(), devices[1].get()};
  TransferOptions options;
  options.repetitions = 1;
  EXPECT_GT(TransferMs(pointers, "host", PeerSchedule(0, 1, 1000, 100), options), 0);
  std::stop_source stop;
  stop.request_stop();
  options.stop = stop.get_token();
  EXPECT_THROW(TransferMs(pointers, "host", PeerSchedule(0, 1, 1000, 100), options), AbortedError);
  options.one_thread = true;
  EXPECT_THROW(TransferMs(pointers, "host", PeerSchedule(0, 1, 1000, 100), options), AbortedError);
}

TEST(CompareCosts, CurvesCrossWhereLinesMeet) {
  CostModel model({"fast-start", "middle", "wide", "never", "absent"}, 2);
  const Cost costs[] = {{1, 1e-2}, {11, 1e-3}, {101, 1e-4}, {102, 1e-2}};
  for (std::size_t path = 0; path < std::size(costs); ++path) {
    model.set_cost(path, 0, 1, MeasuredLoad::kAlone, costs[path]);
  }
  const CostCurves curves = CurvesOf(model, "a to b", 0, 1);
  ASSERT_EQ(curves.lines.size(), 4u);
  EXPECT_EQ(curves.lines[1].path, "middle");
  EXPECT_NEAR(curves.lines[0].Us(kMinCurve), 1.04, 1e-9);
  EXPECT_EQ(DescribeCrossovers(curves), "fast-start, from 1.08 KiB middle, from 97.7 KiB wide");
  EXPECT_EQ(curves.first, "fast-start");
  ASSERT_EQ(curves.crossings.size(), 2u);
  EXPECT_NEAR(curves.crossings[0].bytes, 10 / 9e-3, 1e-6);
  EXPECT_NEAR(curves.crossings[1].bytes, 90 / 9e-4, 1e-6);
  EXPECT_EQ(curves.crossings[1].after, "wide");
  for (const CostCurves::Crossing& crossing : curves.crossings) {
    const auto best = [&](double bytes) {
      return model.paths()[model.Best(0, 1, {.bytes = static_cast<std::size_t>(bytes)}).path];
    };
    EXPECT_EQ(best(crossing.bytes - 1), crossing.before);
    EXPECT_EQ(best(crossing.bytes + 2), crossing.after);
  }
  EXPECT_TRUE(CurvesOf(model, "b to a", 1, 0).crossings.empty()) << "no path";
  // Beyond the largest size, and below the least, there is no crossing.
  model.set_cost(2, 0, 1, MeasuredLoad::kAlone, {11 + 1e-3 * 2 * kMaxCurve, 0});
  EXPECT_EQ(CurvesOf(model, "a to b", 0, 1).crossings.size(), 1u);
  model.set_cost(1, 0, 1, MeasuredLoad::kAlone, {1.01, 1e-3});
  EXPECT_EQ(CurvesOf(model, "a to b", 0, 1).first, "middle");
}

TEST(CompareCosts, CurvesOfEntriesCrossByTheirEntries) {
  CostModel model({"a", "b"}, 2);
  model.set_cost(0, 0, 1, MeasuredLoad::kAlone, {1, 1e-3, 1e-1});  // dear for each entry
  model.set_cost(1, 0, 1, MeasuredLoad::kAlone, {20, 1e-3, 0});
  EXPECT_TRUE(CurvesOf(model, "", 0, 1).crossings.empty()) << "blocks: the first is always cheaper";
  const CostCurves curves = CurvesOf(model, "", 0, 1, Encoding::kSparse);
  ASSERT_EQ(curves.crossings.size(), 1u);
  EXPECT_NEAR(curves.crossings[0].bytes, 19 * 80, 1e-6) << "1 + 0.1 * bytes / 8 = 20";
  EXPECT_EQ(curves.crossings[0].after, "b");
}

TEST(CompareCosts, CurvesAreOfPathsThatJoin) {
  ASSERT_EQ(setenv("CHATTY_CACHE_DIR", "/nowhere", 1), 0);
  const std::optional<CostCurves> curves = KnownCurves(ParseDevices("host:2"), "all", 2);
  unsetenv("CHATTY_CACHE_DIR");
  ASSERT_TRUE(curves);
  EXPECT_FALSE(curves->lines.empty());
  const auto joins = [](const std::string& path) { return CanJoin(CommSpec{.data = path}, ParseDevices("host:2")); };
  for (const CostLine& line : curves->lines) EXPECT_TRUE(joins(line.path)) << line.path;
  for (const auto& crossing : curves->crossings) EXPECT_TRUE(joins(crossing.before) && joins(crossing.after));
}

}  // namespace
}  // namespace chatty::cli
