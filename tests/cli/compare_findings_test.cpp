// Findings of `chatty compare`: intervals of medians, regret, and what is clear.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "chatty/cli/compare/data.h"
#include "chatty/cli/json.h"
#include "compare_made_up.h"

namespace chatty::cli {
namespace {

TEST(CompareData, StatisticsComeBackFromTheirRecord) {
  RunStatistics s;
  s.execution = "bsp";
  s.transport = "p2p-direct";
  std::uint32_t next = 3;
  for (std::uint32_t* const count :
       {&s.rounds, &s.phases, &s.push_rounds, &s.pull_rounds, &s.gauss_seidel_rounds, &s.fused_steps, &s.wide_rounds}) {
    *count = next++;
  }
  s.edges_touched = 1000;
  s.vertices_updated = 100;
  s.items = 120;
  s.ended = Ended::kMaxRounds;
  s.devices.push_back({"cuda:0", 10, 3, 1, 0.5});
  s.pairs.push_back({0, 1, 500, 100, 4000});
  EXPECT_EQ(ToJson(StatisticsFrom(ToJson(s))), ToJson(s));
  EXPECT_EQ(ToJson(s).at("wide_rounds"), 9);
  EXPECT_EQ(ToJson(s).at("items"), 120);
}

TEST(CompareFindings, RegretIsAgainstTheBestRightFixedPath) {
  Comparison comparison;
  comparison.measurements = {
      Made("bfs", 1, "", {8, 9, 10}),         Made("bfs", 2, "auto", {6, 5.9, 6.1}),  // median 6
      Made("bfs", 2, "host", {5, 5, 5.1}),                                            // median 5: regret 0.2
      Made("bfs", 2, "staged", {12, 12, 12}),                                         //
      Made("bfs", 2, "wrong", {1}, false),                                            // fast and wrong
      Made("bfs", 4, "auto", {2, 2, 2}),                                              // faster than any
      Made("bfs", 4, "host", {4, 4, 4}),                                              //
      Made("sssp", 2, "auto", {3}),                                                   // nothing beside it
      Made("cc", 2, "auto", {3, 3, 3}),                                               //
      Made("cc", 2, "staged", {2.9, 3, 3.1}),                                         // the same
  };
  Measurement unchecked = Made("cc", 2, "host", {1});
  unchecked.verdict.reset();
  comparison.measurements.push_back(unchecked);
  const std::vector<Regret> regrets = Regrets(comparison);
  ASSERT_EQ(regrets.size(), 3u);
  EXPECT_EQ(regrets[0].best, "host");
  EXPECT_EQ(regrets[0].standing, Standing::kSlower);
  EXPECT_NEAR(regrets[0].regret, 0.2, 1e-12);
  EXPECT_EQ(regrets[1].standing, Standing::kFaster);
  EXPECT_EQ(regrets[1].regret, 0);
  EXPECT_EQ(regrets[2].best, "staged");
  EXPECT_EQ(regrets[2].standing, Standing::kSame);
  EXPECT_EQ(regrets[2].regret, 0);
  const RegretSummary summary = Summarise(regrets);
  EXPECT_EQ(summary.median, 0);
  EXPECT_NEAR(summary.worst, 0.2, 1e-12);
  EXPECT_EQ(summary.clear(), 3u);
  EXPECT_EQ(Summarise({}).worst, 0);

  const std::vector<AgainstFixed> against = AutoAgainstFixed(comparison);
  ASSERT_EQ(against.size(), 2u);
  EXPECT_EQ(against[0].comm, "host");
  EXPECT_NEAR(against[0].ratio, std::sqrt(5.0 / 6 * 4 / 2), 1e-12);
  EXPECT_EQ(against[0].cases, 2u);
  EXPECT_EQ(against[1].comm, "staged");
  EXPECT_NEAR(against[1].ratio, std::sqrt(12.0 / 6 * 3 / 3), 1e-12);
  EXPECT_EQ(BestSingleMs(comparison, "g", "bfs"), 9.0);
  EXPECT_FALSE(BestSingleMs(comparison, "g", "cc"));
}

TEST(CompareFindings, RegretOfEnginesIsAgainstTheBestRightFixedOne) {
  const auto made = [](const std::string& program, std::uint32_t devices, const std::string& execution,
                       std::vector<double> trials, bool passed = true) {
    Measurement m = Made(program, devices, "auto", std::move(trials), passed);
    m.combination.execution = execution;
    m.profiled = true;
    m.statistics.execution = execution == "auto" ? "bsp" : execution;
    return m;
  };
  Comparison comparison;
  comparison.measurements = {
      made("bfs", 2, "auto", {6, 6, 6}),
      made("bfs", 2, "bsp", {6, 6, 6.1}),             //
      made("bfs", 2, "async", {5, 5, 5.1}),           // regret 0.2
      made("bfs", 2, "async:delta=off", {1}, false),  // fast and wrong
      made("sssp", 1, "auto", {3, 3, 3}),
      made("sssp", 1, "bsp", {4, 4, 4}),          // faster, on one device
      made("sssp", 2, "bsp", {4, 4, 4}),          // no auto
      made("label_propagation", 2, "auto", {4}),  // nothing beside it
  };
  EXPECT_TRUE(Regrets(comparison).empty()) << "one path only";
  const std::vector<Regret> regrets = EngineRegrets(comparison);
  ASSERT_EQ(regrets.size(), 2u);
  EXPECT_EQ(regrets[0].chosen.program, "bfs");
  EXPECT_EQ(regrets[0].engine, "bsp");
  EXPECT_EQ(regrets[0].best, "async");
  EXPECT_NEAR(regrets[0].regret, 0.2, 1e-12);
  EXPECT_EQ(regrets[1].standing, Standing::kFaster);
  const Json json = ToJson(comparison).at("engine_regret");
  EXPECT_NEAR(json.at("worst").get<double>(), 0.2, 1e-9);
  EXPECT_EQ(json.at("cases").size(), 2);
  EXPECT_EQ(json.at("cases")[0].at("took"), "bsp");
  EXPECT_EQ(json.at("cases")[0].at("best"), "async");
  EXPECT_EQ(json.at("cases")[0].at("comm"), "auto");
  EXPECT_FALSE(json.at("cases")[0].contains("execution"));
  EXPECT_TRUE(ToJson(Comparison{}).at("engine_regret").at("cases").empty());
}

// Coverages from exact binomial sums; those of 6, 9, 16 and 100 are in tables of order statistics.
TEST(CompareFindings, AMedianLiesBetweenOrderStatistics) {
  struct Known {
    std::size_t count, low, high;
    double coverage;
  };
  for (const Known& known :
       {Known{1, 1, 1, 0}, Known{2, 1, 2, 0.5}, Known{3, 1, 3, 0.75}, Known{4, 1, 4, 0.875}, Known{5, 1, 5, 0.9375},
        Known{6, 1, 6, 0.96875}, Known{7, 1, 7, 0.984375}, Known{8, 1, 8, 0.9921875}, Known{9, 2, 8, 0.9609375},
        Known{10, 2, 9, 0.978515625}, Known{16, 4, 13, 0.978729248046875}, Known{25, 8, 18, 0.9567147493362427},
        Known{100, 40, 61, 0.9647997997822951}, Known{1000, 469, 532, 0.9537088026395019},
        Known{1000000, 499020, 500981, 0.9501210307958124}}) {
    const MedianRanks ranks = RanksOfMedian(known.count);
    EXPECT_EQ(ranks.low, known.low) << known.count;
    EXPECT_EQ(ranks.high, known.high) << known.count;
    EXPECT_NEAR(ranks.coverage, known.coverage, 1e-9) << known.count;
  }
  EXPECT_EQ(RanksOfMedian(0).high, 0u);

  const auto ends = [](const Interval& interval) { return std::pair(interval.low, interval.high); };
  EXPECT_EQ(ends(MedianInterval({9, 1, 8, 2, 7, 3, 6, 4, 5})), (std::pair<double, double>{2, 8}));
  EXPECT_EQ(ends(MedianInterval({3, 1, 2})), (std::pair<double, double>{1, 3}));
  EXPECT_EQ(ends(MedianInterval({})), (std::pair<double, double>{0, 0}));
  EXPECT_EQ(ends(SpreadOf({9, 1, 8, 2, 7, 3, 6, 4, 5}).interval), (std::pair<double, double>{2, 8}));
}

TEST(CompareFindings, TimesAreToldApartByTheIntervalsOfTheirMedians) {
  const auto standing = [](const std::vector<double>& first, const std::vector<double>& second) {
    const Standing one = StandingOf(SpreadOf(first), SpreadOf(second));
    const Standing other = StandingOf(SpreadOf(second), SpreadOf(first));
    const bool mirrored = one == Standing::kFaster   ? other == Standing::kSlower
                          : one == Standing::kSlower ? other == Standing::kFaster
                                                     : other == one;
    EXPECT_TRUE(mirrored) << StandingName(one) << " and " << StandingName(other);
    return StandingName(one);
  };
  // The ends of nine trials are no part of the interval.
  EXPECT_EQ(standing({1, 10, 10, 10, 10, 10, 10, 10, 90}, {1, 11, 11, 11, 11, 11, 11, 11, 90}), "faster");
  EXPECT_EQ(standing({12, 12.5, 13}, {10, 10.5, 11}), "slower");
  EXPECT_EQ(standing({10, 10.1, 10.2}, {10.3, 10.35, 10.4}), "same") << "disjoint, but less than 3 % apart";
  EXPECT_EQ(standing({100, 100, 100}, {103, 103, 103}), "same") << "exactly 3 %";
  EXPECT_EQ(standing({100, 100, 100}, {103.01, 103.01, 103.01}), "faster");
  EXPECT_EQ(standing({19, 20, 21}, {19.5, 20, 21.5}), "same") << "half-widths of exactly 5 %";
  EXPECT_EQ(standing({19, 20, 21}, {19.5, 20, 21.75}), "unclear") << "one half-width is a little more";
  EXPECT_EQ(standing({1, 5, 90}, {1, 2, 80}), "unclear");
  EXPECT_EQ(standing({9, 10, 11}, {11, 12, 13}), "unclear") << "they touch";
  EXPECT_EQ(standing({5, 10, 15}, {9.99, 10, 10.01}), "unclear") << "one is known well, the other is not";
  EXPECT_EQ(standing({10, 10}, {20, 20, 20}), "unclear") << "two trials";
  EXPECT_EQ(standing({10}, {10}), "unclear") << "one trial";
}

TEST(CompareFindings, MoreTrialsNarrowAnInterval) {
  const auto trials = [](std::vector<double> times) {
    const std::size_t count = times.size();
    return TrialsToKnowWell(SpreadOf(std::move(times)), count);
  };
  EXPECT_EQ(trials({10, 10, 10.5}), 3u) << "known well";
  EXPECT_EQ(trials({9.3, 10, 10.7}), 6u) << "7 % instead of 5, but an interval takes six";
  EXPECT_EQ(trials({8, 10, 10, 10, 10, 10, 10, 12}), 128u) << "20 % are four times 5 %: sixteen times eight";
}

TEST(CompareFindings, OnlyWhatIsClearCounts) {
  Comparison comparison = EachStanding();
  const std::vector<Regret> regrets = Regrets(comparison);
  ASSERT_EQ(regrets.size(), 5u);
  RegretSummary summary = Summarise(regrets);
  EXPECT_EQ(summary.same, 1u);
  EXPECT_EQ(summary.faster, 1u);
  EXPECT_EQ(summary.slower, 2u);
  EXPECT_EQ(summary.unclear, 1u);
  EXPECT_NEAR(summary.median, 0.05, 1e-12) << "of 0, 0, 0.1 and 0.25";
  EXPECT_NEAR(summary.worst, 0.25, 1e-12) << "not the half of the case that is unclear";
  EXPECT_EQ(DescribeRegret(summary), "5.0 % in the median of 4, 25.0 % at worst, 1 unclear");
  for (const Regret& regret : regrets) {
    EXPECT_EQ(regret.more_trials > 0, regret.standing == Standing::kUnclear) << regret.chosen.devices;
  }

  summary = {};
  summary.same = 18, summary.unclear = 3;
  EXPECT_EQ(DescribeRegret(summary), "none in 18 cases, 3 unclear");
  summary.unclear = 0;
  EXPECT_EQ(DescribeRegret(summary), "none in 18 cases");
  summary = {};
  summary.unclear = 1;
  EXPECT_EQ(DescribeRegret(summary), "unclear in 1 case");
  summary = {};
  summary.same = 19, summary.slower = 1, summary.worst = 0.096;
  EXPECT_EQ(DescribeRegret(summary), "none in the median of 20, 9.6 % at worst");

  const Json json = ToJson(comparison).at("regret");
  EXPECT_EQ(json.at("same"), 1);
  EXPECT_EQ(json.at("faster"), 1);
  EXPECT_EQ(json.at("slower"), 2);
  EXPECT_EQ(json.at("unclear"), 1);
  EXPECT_EQ(json.at("worst"), 0.25);
  std::map<std::pair<std::string, int>, Json> cases;
  for (const Json& one : json.at("cases")) cases[{one.at("program"), one.at("devices")}] = one;
  ASSERT_EQ(cases.size(), 5u);
  EXPECT_EQ((cases[{"bfs", 2}].at("verdict")), "same");
  EXPECT_EQ((cases[{"bfs", 4}].at("verdict")), "faster");
  EXPECT_EQ((cases[{"bfs", 4}].at("regret")), 0);
  EXPECT_EQ((cases[{"sssp", 2}].at("verdict")), "slower");
  EXPECT_EQ((cases[{"sssp", 2}].at("regret")), 0.25);
  EXPECT_EQ((cases[{"sssp", 2}].at("auto_interval_ms")), Json::array({12.5, 13.0}));
  EXPECT_EQ((cases[{"sssp", 2}].at("best_interval_ms")), Json::array({10.0, 10.0}));
  EXPECT_FALSE((cases[{"sssp", 2}].contains("more_trials")));
  EXPECT_EQ((cases[{"bfs", 16}].at("verdict")), "unclear");
  EXPECT_EQ((cases[{"bfs", 16}].at("regret")), 0);
  EXPECT_GT((cases[{"bfs", 16}].at("more_trials")), 3);
  EXPECT_EQ(ToJson(comparison).at("measurements").at(0).at("time").at("interval_ms"), Json::array({10.0, 10.2}));
}

TEST(CompareFindings, BuffersAreSummed) {
  std::vector<BufferRecord> buffers(3);
  buffers[0] = {0, 0, 1, false, "host", "bitmap", 5, 100, 100, 2, 3};        // 64 to 128 bytes; not judged
  buffers[1] = {1, 0, 1, false, "host", "bitmap", 5, 1 << 20, 1, 75, 100};   // just within
  buffers[2] = {1, 1, 0, false, "staged", "pairs", 5, 1 << 20, 1, 70, 100};  // not
  buffers.push_back({2, 1, 0, false, "host", "bitmap", 0, 0, 0, 1, -1});     // time not known
  const BufferSummary summary = SummariseBuffers(buffers, 2);
  ASSERT_EQ(summary.paths.size(), 2u);
  EXPECT_EQ(summary.paths[0].buffers, 3u);
  EXPECT_EQ(summary.paths[0].bytes, 100u + (1u << 20));
  EXPECT_EQ(summary.paths[0].histogram.at(6), 1u);
  EXPECT_EQ(summary.paths[0].histogram.at(20), 1u);
  EXPECT_EQ(summary.paths[0].histogram.at(0), 1u);
  EXPECT_EQ(summary.judged, 2u);
  EXPECT_EQ(summary.within, 1u);
  EXPECT_EQ(summary.samples.size(), 2u);
  const BufferSummary back = BuffersFrom(ToJson(summary));
  EXPECT_EQ(ToJson(back), ToJson(summary));
}

}  // namespace
}  // namespace chatty::cli
