#include "chatty/comm/cost_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "chatty/core/error.h"
#include "machines.h"

namespace chatty {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// As a calibration measures: each size as a block of memory and as entries of eight bytes.
std::vector<CostSample> Samples(const CostFit& truth, double noise = 0) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> around(1 - noise, 1 + noise);
  std::vector<CostSample> samples;
  for (double bytes = 8; bytes <= 256 << 20; bytes *= 8) {
    for (const double messages : {0.0, bytes / 8}) {
      samples.push_back({bytes, messages, truth.Us(bytes, messages) * around(random)});
    }
  }
  return samples;
}

CostFit OneLine(double alpha, double beta, double gamma) {
  CostFit fit;
  fit.small = fit.large = {alpha, beta, gamma};
  return fit;
}

void ExpectCost(const Cost& fitted, const Cost& truth, double tolerance) {
  EXPECT_NEAR(fitted.alpha_us, truth.alpha_us, tolerance * truth.alpha_us);
  EXPECT_NEAR(fitted.beta_us_per_byte, truth.beta_us_per_byte, tolerance * truth.beta_us_per_byte);
  EXPECT_NEAR(fitted.gamma_us_per_message, truth.gamma_us_per_message, tolerance * truth.gamma_us_per_message);
}

TEST(FitCost, FindsTheLineThatMadeTheSamples) {
  for (const CostFit& truth : {OneLine(12, 2.7e-6, 9e-5), OneLine(0.4, 1e-4, 0), OneLine(300, 0, 1e-3), OneLine(5, 0, 0)}) {
    const CostFit fit = FitCost(Samples(truth));
    ExpectCost(fit.small, truth.small, 1e-6);
    EXPECT_EQ(fit.small, fit.large) << "one line is enough";
    EXPECT_EQ(fit.split, kInfinite);
    EXPECT_LT(fit.worst_error, 1e-6);
    EXPECT_EQ(fit.samples, Samples(truth).size());
    EXPECT_FALSE(fit.Extrapolates(Samples(truth).back().bytes));
    EXPECT_TRUE(fit.Extrapolates(2 * fit.largest));
    EXPECT_FALSE(truth.Extrapolates(1e12)) << "what was not measured goes on for ever";
  }
}

TEST(FitCost, SmallMessagesCountAsLargeOnesDo) {
  // Squares of absolute errors would put a millisecond's noise at 256 MB into the latency of 10 us.
  const CostFit truth = OneLine(10, 3e-5, 1e-4);
  const CostFit fit = FitCost(Samples(truth, 0.05));
  EXPECT_NEAR(fit.small.alpha_us, 10, 0.6);
  EXPECT_NEAR(fit.small.beta_us_per_byte, 3e-5, 2e-6);
  EXPECT_LT(fit.worst_error, 0.15);
  EXPECT_GT(fit.worst_error, 0.005);
  EXPECT_LE(fit.median_error, fit.worst_error);
  EXPECT_LE(fit.worst_large_error, fit.worst_error);
}

TEST(FitCost, TwoLinesWhereOneIsTooWrong) {
  CostFit truth;
  truth.small = {10, 1e-4, 0};  // the protocol for small messages is slow
  truth.large = {60, 3e-6, 2e-5};
  truth.split = 100e3;
  const CostFit fit = FitCost(Samples(truth));
  EXPECT_GT(fit.split, 32e3);
  EXPECT_LE(fit.split, 262144);
  EXPECT_LT(fit.worst_error, 1e-6);
  ExpectCost(fit.large, truth.large, 1e-6);
  EXPECT_NEAR(fit.Us(64, 0), truth.Us(64, 0), 1e-3);
  EXPECT_NEAR(fit.Us(1 << 24, 1000), truth.Us(1 << 24, 1000), 1e-3);
}

TEST(FitCost, LargerMessagesAreNotFaster) {
  std::mt19937 random(3);
  std::lognormal_distribution<double> noise(0, 0.8);  // as on a machine that others use
  for (int attempt = 0; attempt < 200; ++attempt) {
    std::vector<CostSample> samples;
    for (double bytes : {4.0, 4096.0, 65536.0, 524288.0, 4194304.0}) {
      samples.push_back({bytes, 0, (10 + bytes * 1e-4) * noise(random)});
      samples.push_back({std::max(bytes, 8.0), std::max(bytes / 8, 1.0), (10 + bytes * 1e-3) * noise(random)});
    }
    const CostFit fit = FitCost(samples);
    double before = 0;
    for (double bytes = 1; bytes < 1e8; bytes *= 1.5) {
      EXPECT_GE(fit.Us(bytes, 0), 0.89 * before) << bytes << ", split " << fit.split;
      before = fit.Us(bytes, 0);
    }
    EXPECT_GT(fit.split, 8) << "an entry is as large as a word, and no other size";
  }
}

/// What is off most of a fit, as a factor.
double Off(const CostFit& fit, const std::vector<CostSample>& truth) {
  double most = 1;
  for (const CostSample& sample : truth) {
    const double ratio = fit.Us(sample.bytes, sample.messages) / sample.us;
    most = std::max({most, ratio, 1 / ratio});
  }
  return most;
}

/// Blocks and entries of sizes as far apart as a quick calibration's.
std::vector<CostSample> QuickSamples(const Cost& truth) {
  std::vector<CostSample> samples;
  for (const double bytes : {4.0, 4096.0, 65536.0, 524288.0, 4194304.0, 16777216.0}) {
    samples.push_back({bytes, 0, truth.Us(bytes, 0)});
    const double entries = std::max(bytes, 8.0);
    samples.push_back({entries, entries / 8, truth.Us(entries, entries / 8)});
  }
  return samples;
}

TEST(FitCost, OneFastSampleDoesNotTakeTheLineAlong) {
  std::vector<CostSample> alike;
  for (int i = 0; i < 22; ++i) alike.push_back({std::pow(2.0, i), 0, i == 9 ? 0.2 : 17});
  const CostFit constant = FitCost(alike);
  EXPECT_NEAR(constant.Us(4, 0), 17, 1);
  EXPECT_NEAR(constant.Us(1 << 21, 0), 17, 1);
  EXPECT_GT(constant.worst_error, 50) << "what the sample is off is told";
  for (const Cost& truth : {Cost{17, 0, 0}, Cost{17, 1e-4, 1e-3}}) {
    const std::vector<CostSample> samples = QuickSamples(truth);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      std::vector<CostSample> spoilt = samples;
      spoilt[i].us /= 80;
      EXPECT_LT(Off(FitCost(spoilt), samples), 1.25) << "sample " << i << ", " << truth.beta_us_per_byte;
    }
  }
}

TEST(FitCost, OneSlowSampleDoesNeither) {
  for (const Cost& truth : {Cost{17, 0, 0}, Cost{17, 1e-4, 1e-3}}) {
    const std::vector<CostSample> samples = QuickSamples(truth);
    for (std::size_t i = 0; i + 2 < samples.size(); ++i) {  // of the largest nothing beyond tells that it is wrong
      std::vector<CostSample> spoilt = samples;
      spoilt[i].us *= 60;
      EXPECT_LT(Off(FitCost(spoilt), samples), 1.25) << "sample " << i << ", " << truth.beta_us_per_byte;
    }
  }
}

TEST(FitCost, TooFastCountsAsTooSlow) {
  // The logarithm is what is fitted: times turned upside down give the line turned upside down.
  const std::vector<CostSample> samples{{64, 0, 2}, {64, 0, 10}, {64, 0, 50}};
  EXPECT_NEAR(FitCost(samples).Us(64, 0), 10, 0.01);
  EXPECT_NEAR(FitCost(std::vector<CostSample>{{64, 0, 8}, {64, 0, 12.5}}).Us(64, 0), 10, 0.01);
}

TEST(FitCost, HandOversOfTwoKindsLeaveTheBandwidth) {
  // A thread that is awake continues in 1 us, a sleeping one in 20 us, at random.
  std::mt19937 random(11);
  for (int attempt = 0; attempt < 200; ++attempt) {
    std::vector<CostSample> samples = QuickSamples({0, 1e-4, 3e-4});
    for (CostSample& sample : samples) sample.us += random() % 2 == 0 ? 1 : 20;
    const CostFit fit = FitCost(samples);
    EXPECT_GT(fit.Us(4, 0), 0.9) << attempt;
    EXPECT_LT(fit.Us(4, 0), 25) << attempt;
    EXPECT_NEAR(fit.Us(1 << 28, 0), 1e-4 * (1 << 28), 0.3 * 1e-4 * (1 << 28)) << attempt;
  }
}

TEST(FitCost, LargeMessagesAreNotFree) {
  std::mt19937 random(5);
  std::lognormal_distribution<double> noise(0, 0.6);
  int clear = 0;
  for (int attempt = 0; attempt < 1000; ++attempt) {
    std::vector<CostSample> samples = QuickSamples({0, 1e-4, 3e-4});
    if (attempt % 2 == 0) samples.resize(6);  // as where the buffers leave no room for larger ones
    for (CostSample& sample : samples) sample.us = (sample.us + (random() % 2 == 0 ? 1 : 20)) * noise(random);
    const std::size_t last = samples.size() - 1;
    if (std::min(samples[last - 1].us, samples[last].us) <= 2 * std::max(samples[0].us, samples[1].us)) continue;
    ++clear;
    EXPECT_GT(FitCost(samples).large.beta_us_per_byte, 0) << attempt;
  }
  EXPECT_GT(clear, 500);
}

TEST(FitCost, NoiseThatHidesWhatBytesCostDoesNotMakeThemFree) {
  const std::vector<CostSample> samples{{4, 0, 32},       {8, 1, 30},     {4096, 0, 60},
                                        {4096, 512, 100}, {65536, 0, 28}, {65536, 8192, 850}};
  const CostFit fit = FitCost(samples);
  EXPECT_LT(fit.Us(65536, 0), 60);
  EXPECT_GT(fit.Us(1 << 28, 0), 1000) << "as fast as 270 GB/s";
  const std::vector<CostSample> quiet{{4, 0, 30},      {8, 1, 30},     {4096, 0, 31},
                                      {4096, 512, 81}, {65536, 0, 30}, {65536, 8192, 850}};
  EXPECT_EQ(FitCost(quiet).large.beta_us_per_byte, 0) << "what is measured well counts";
}

TEST(FitCost, CoefficientsAreNotNegative) {
  // Steeper and steeper: the best line would begin below zero.
  std::vector<CostSample> samples;
  for (double bytes = 1e3; bytes <= 1e8; bytes *= 10) samples.push_back({bytes, 0, 1e-6 * std::pow(bytes, 1.3)});
  const CostFit fit = FitCost(samples);
  for (const Cost& cost : {fit.small, fit.large}) {
    EXPECT_GE(cost.alpha_us, 0);
    EXPECT_GE(cost.beta_us_per_byte, 0);
    EXPECT_GE(cost.gamma_us_per_message, 0);
  }
}

TEST(FitCost, OneSizeGivesAConstant) {
  const CostFit fit = FitCost(std::vector<CostSample>{{64, 0, 9}, {64, 0, 11}});
  EXPECT_EQ(fit.small.beta_us_per_byte, 0);
  EXPECT_EQ(fit.small.gamma_us_per_message, 0);
  EXPECT_NEAR(fit.small.alpha_us, 10, 0.2);
}

TEST(FitCost, RefusesWhatIsNoSample) {
  EXPECT_THROW(FitCost({}), UsageError);
  for (const CostSample& wrong : {CostSample{8, 0, 0}, CostSample{8, 0, -1}, CostSample{-8, 0, 1}, CostSample{8, -1, 1},
                                  CostSample{8, 0, kInfinite}, CostSample{std::nan(""), 0, 1}}) {
    EXPECT_THROW(FitCost(std::vector<CostSample>{wrong}), UsageError);
  }
}

TEST(CostModel, PathsThatDoNotJoinAPairTakeForEver) {
  CostModel model({"a", "b"}, 3);
  EXPECT_EQ(model.Find("b"), 1u);
  EXPECT_EQ(model.Find("c"), CostModel::kNoPath);
  EXPECT_EQ(model.PredictUs(0, 0, 1, 8, 0), kInfinite);
  EXPECT_EQ(model.PredictBroadcastUs(0, 0, 8, 0), kInfinite);
  EXPECT_EQ(model.PredictUs(0, 0, 1, 8, 0, {2, 3}), kInfinite);
  EXPECT_EQ(model.Best(0, 1, 8, 0), CostModel::kNoPath);
  EXPECT_EQ(model.BestBroadcast(0, 8, 0), CostModel::kNoPath);
  model.set_fit(1, 0, 1, LoadCorner::kAlone, OneLine(4, 1e-3, 0.5));
  EXPECT_TRUE(model.Joins(1, 0, 1));
  EXPECT_FALSE(model.Joins(1, 1, 0));
  EXPECT_EQ(model.Best(0, 1, 8, 0), 1u);
  EXPECT_DOUBLE_EQ(model.PredictUs(1, 0, 1, 1000, 2), 4 + 1 + 1);
}

TEST(CostModel, LoadsLieBetweenTheirCorners) {
  CostModel model({"a"}, 4);
  model.set_fit(0, 0, 1, LoadCorner::kAlone, OneLine(10, 0, 0));
  EXPECT_DOUBLE_EQ(model.PredictUs(0, 0, 1, 0, 0, {3, 4}), 10) << "what was not measured is as what was";
  model.set_fit(0, 0, 1, LoadCorner::kFanOut, OneLine(30, 0, 0));
  model.set_fit(0, 0, 1, LoadCorner::kRing, OneLine(16, 0, 0));
  EXPECT_DOUBLE_EQ(model.PredictUs(0, 0, 1, 0, 0, {3, 4}), 30) << "all at once is no less than either";
  model.set_fit(0, 0, 1, LoadCorner::kAllToAll, OneLine(70, 0, 0));
  const auto at = [&](std::uint32_t buffers, std::uint32_t senders) {
    return model.PredictUs(0, 0, 1, 0, 0, {buffers, senders});
  };
  EXPECT_DOUBLE_EQ(at(1, 1), 10);
  EXPECT_DOUBLE_EQ(at(0, 0), 10);
  EXPECT_DOUBLE_EQ(at(3, 1), 30);
  EXPECT_DOUBLE_EQ(at(2, 1), 20);
  EXPECT_DOUBLE_EQ(at(1, 4), 16);
  EXPECT_DOUBLE_EQ(at(1, 2), 12);
  EXPECT_DOUBLE_EQ(at(3, 4), 70);
  EXPECT_DOUBLE_EQ(at(99, 99), 70) << "more than there are counts as all";
  for (std::size_t corner = 0; corner < kLoadCorners; ++corner) {
    const auto load = static_cast<LoadCorner>(corner);
    EXPECT_DOUBLE_EQ(model.PredictUs(0, 0, 1, 0, 0, CostModel::LoadOf(load, 4)), model.fit(0, 0, 1, load).Us(0, 0));
  }
  model.set_broadcast_fit(0, 0, false, OneLine(8, 0, 0));
  EXPECT_DOUBLE_EQ(model.PredictBroadcastUs(0, 0, 0, 0, 4), 8);
  model.set_broadcast_fit(0, 0, true, OneLine(20, 0, 0));
  EXPECT_DOUBLE_EQ(model.PredictBroadcastUs(0, 0, 0, 0, 4), 20);
  EXPECT_DOUBLE_EQ(model.PredictBroadcastUs(0, 0, 0, 0, 2), 12);
}

TEST(CostModel, ContentsHaveCostsOfTheirOwnWhereTheyWereMeasured) {
  CostModel model({"a"}, 2);
  model.set_fit(0, 0, 1, LoadCorner::kAlone, OneLine(10, 1, 1));
  for (const BufferContent content : {BufferContent::kMarks, BufferContent::kValues, BufferContent::kMessages,
                                      BufferContent::kBits, BufferContent::kPayload}) {
    SCOPED_TRACE(BufferContentName(content));
    const auto predict = [&](Load load = {}) { return model.PredictContentUs(content, 0, 0, 1, 8, 64, load); };
    EXPECT_TRUE(std::isnan(predict()));
    EXPECT_FALSE(model.fit(0, 0, 1, LoadCorner::kAlone, content).exists());
    const double alone = 5 + static_cast<double>(content);
    model.set_fit(0, 0, 1, LoadCorner::kAlone, OneLine(alone, 0.5, 0.25), content);
    EXPECT_DOUBLE_EQ(predict(), alone + 4 + 16);
    EXPECT_DOUBLE_EQ(predict({1, 2}), alone + 4 + 16) << "what was not measured is as what was";
    model.set_fit(0, 0, 1, LoadCorner::kRing, OneLine(15, 0.5, 0.25), content);
    EXPECT_DOUBLE_EQ(predict({1, 2}), 15 + 4 + 16);
    EXPECT_TRUE(std::isnan(model.PredictContentUs(content, 0, 1, 0, 8, 64)));
  }
  EXPECT_DOUBLE_EQ(model.PredictUs(0, 0, 1, 8, 64), 10 + 8 + 64) << "and of lists nothing is different";
  EXPECT_DOUBLE_EQ(model.PredictContentUs(BufferContent::kList, 0, 0, 1, 8, 64), 10 + 8 + 64);
}

TEST(CostModel, TwoDevicesHaveNoFanOut) {
  CostModel model({"a"}, 2);
  model.set_fit(0, 0, 1, LoadCorner::kAlone, OneLine(10, 0, 0));
  model.set_fit(0, 0, 1, LoadCorner::kRing, OneLine(16, 0, 0));
  model.set_fit(0, 0, 1, LoadCorner::kAllToAll, OneLine(16, 0, 0));
  EXPECT_DOUBLE_EQ(model.PredictUs(0, 0, 1, 0, 0, {1, 2}), 16);
  EXPECT_DOUBLE_EQ(model.PredictUs(0, 0, 1, 0, 0, {5, 1}), 10);
}

TEST(CostModel, CrossoversAreWhereLinesMeet) {
  CostModel model({"fast-start", "middle", "wide", "never"}, 2);
  model.set_fit(0, 0, 1, LoadCorner::kAlone, OneLine(1, 1e-2, 0));
  model.set_fit(1, 0, 1, LoadCorner::kAlone, OneLine(11, 1e-3, 0));
  model.set_fit(2, 0, 1, LoadCorner::kAlone, OneLine(101, 1e-4, 0));
  model.set_fit(3, 0, 1, LoadCorner::kAlone, OneLine(102, 1e-2, 0));
  const std::vector<Crossover> found = model.Crossovers(0, 1);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_NEAR(found[0].bytes, 10 / 9e-3, 1e-6);
  EXPECT_EQ(found[0].before, 0u);
  EXPECT_EQ(found[0].after, 1u);
  EXPECT_NEAR(found[1].bytes, 90 / 9e-4, 1e-6);
  EXPECT_EQ(found[1].after, 2u);
  for (const Crossover& crossover : found) {
    EXPECT_EQ(model.Best(0, 1, static_cast<std::size_t>(crossover.bytes) - 1, 0), crossover.before);
    EXPECT_EQ(model.Best(0, 1, static_cast<std::size_t>(crossover.bytes) + 2, 0), crossover.after);
  }
  EXPECT_EQ(model.Crossovers(0, 1, LoadCorner::kAlone, 0, 50e3).size(), 1u) << "beyond the most that was asked for";
  EXPECT_TRUE(model.Crossovers(1, 0).empty()) << "no path";
  EXPECT_THROW(model.Crossovers(0, 2), UsageError);
  EXPECT_THROW(model.Crossovers(0, 0), UsageError);
}

TEST(CostModel, CrossoversOfEntriesAndOfTwoLines) {
  CostModel model({"a", "b"}, 2);
  model.set_fit(0, 0, 1, LoadCorner::kAlone, OneLine(1, 1e-3, 1e-1));  // dear for each entry
  CostFit pieces;
  pieces.small = {20, 1e-3, 0};
  pieces.large = {500, 1e-3, 0};
  pieces.split = 10000;
  model.set_fit(1, 0, 1, LoadCorner::kAlone, pieces);
  EXPECT_TRUE(model.Crossovers(0, 1).empty()) << "blocks: the first is always cheaper";
  // 1 + 0.1 * bytes / 8 = 20, and back at the jump, and again where it is 500.
  const std::vector<Crossover> found = model.Crossovers(0, 1, LoadCorner::kAlone, 8);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_NEAR(found[0].bytes, 19 * 80, 1e-6);
  EXPECT_NEAR(found[1].bytes, 10000, 1e-6);
  EXPECT_NEAR(found[2].bytes, 499 * 80, 1e-6);
  EXPECT_EQ(found[2].after, 1u);
}

/// The names from the fastest to the slowest.
std::vector<std::string> CheapestFirst(const CostModel& model, std::size_t from, std::size_t to, std::size_t bytes) {
  std::vector<std::pair<double, std::string>> times;
  for (std::size_t path = 0; path < model.paths().size(); ++path) {
    if (model.Joins(path, from, to)) times.emplace_back(model.PredictUs(path, from, to, bytes, 0), model.paths()[path]);
  }
  std::stable_sort(times.begin(), times.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> names;
  for (const auto& [time, name] : times) names.push_back(name);
  return names;
}
std::string BestName(const CostModel& model, std::size_t from, std::size_t to, std::size_t bytes) {
  const std::size_t best = model.Best(from, to, bytes, 0);
  return best == CostModel::kNoPath ? "" : model.paths()[best];
}
constexpr std::string_view kFour[] = {"uva", "staged", "nccl", "p2p-copy", "p2p-direct"};

TEST(NominalCosts, OverNvlinkPeersComeFirst) {
  for (const Topology& topology : {machines::NvSwitch(4), machines::NvSwitch(8), machines::Dgx1()}) {
    const CostModel model = CostModel::Nominal(topology, kFour);
    EXPECT_FALSE(model.measured());
    for (const std::size_t bytes : {std::size_t{4}, std::size_t{4096}, std::size_t{1} << 20, std::size_t{256} << 20}) {
      const std::vector<std::string> order = CheapestFirst(model, 0, 3, bytes);
      ASSERT_EQ(order.size(), 5u);
      EXPECT_EQ(order[0], "p2p-direct") << topology.name() << ", " << bytes;
      EXPECT_EQ(order[1], "p2p-copy") << topology.name() << ", " << bytes;
      EXPECT_EQ(order[2], "nccl") << topology.name() << ", " << bytes;
    }
  }
}

TEST(NominalCosts, OnOneGpuNcclJoinsNobody) {
  const Topology shared = machines::OneGpu(3);
  for (const Topology& topology : {shared, Masked(shared, LinkMask::Parse("none", 3))}) {
    const CostModel model = CostModel::Nominal(topology, kFour);
    const std::size_t nccl = model.Find("nccl");
    EXPECT_FALSE(model.Joins(nccl, 0, 1)) << topology.link(0, 1).bandwidth;
    EXPECT_EQ(model.PredictBroadcastUs(nccl, 0, 4, 0), kInfinite);
  }
  EXPECT_EQ(BestName(CostModel::Nominal(shared, kFour), 0, 1, 1 << 24), "p2p-direct");
  EXPECT_EQ(BestName(CostModel::Nominal(Masked(shared, LinkMask::Parse("none", 3)), kFour), 0, 1, 1 << 24), "staged");
}

TEST(NominalCosts, WithoutPeersHostMemoryServes) {
  const CostModel model = CostModel::Nominal(machines::NoPeers(), kFour);
  EXPECT_EQ(BestName(model, 0, 1, 4), "uva");
  EXPECT_EQ(BestName(model, 0, 1, 4096), "uva");
  EXPECT_EQ(BestName(model, 0, 1, 64 << 20), "staged");
  EXPECT_FALSE(model.Joins(model.Find("p2p-direct"), 0, 1));
  EXPECT_FALSE(model.Joins(model.Find("p2p-copy"), 0, 1));
  EXPECT_EQ(model.PredictBroadcastUs(model.Find("p2p-copy"), 0, 4, 0), kInfinite);
  const std::vector<Crossover> crossovers = model.Crossovers(0, 1);
  ASSERT_EQ(crossovers.size(), 1u);
  EXPECT_EQ(model.paths()[crossovers[0].before], "uva");
  EXPECT_EQ(model.paths()[crossovers[0].after], "staged");
}

TEST(NominalCosts, QuadsAndTheDgx1DifferByPair) {
  const CostModel quads = CostModel::Nominal(machines::TwoQuads(), kFour);
  EXPECT_EQ(BestName(quads, 0, 1, 1 << 20), "p2p-direct") << "of a board";
  EXPECT_EQ(BestName(quads, 0, 4, 1 << 24), "staged") << "across sockets";
  EXPECT_EQ(BestName(quads, 0, 4, 64), "uva");
  const CostModel dgx = CostModel::Nominal(machines::Dgx1(), kFour);
  EXPECT_EQ(BestName(dgx, 0, 3, 1 << 24), "p2p-direct");
  EXPECT_NE(BestName(dgx, 0, 5, 1 << 24), "p2p-direct") << "no NVLink joins these";
  const std::size_t direct = dgx.Find("p2p-direct");
  EXPECT_GT(dgx.PredictUs(direct, 0, 1, 1 << 24, 0), 1.5 * dgx.PredictUs(direct, 0, 3, 1 << 24, 0)) << "one link, or two";
}

TEST(NominalCosts, EachMaskHasItsOwnChoice) {
  const Topology all = machines::NvSwitch(4);
  const CostModel masked = CostModel::Nominal(Masked(all, LinkMask::Parse("pairs {0,1}{2,3}", 4)), kFour);
  EXPECT_EQ(BestName(masked, 0, 1, 1 << 20), "p2p-direct");
  EXPECT_NE(BestName(masked, 0, 2, 1 << 20), "p2p-direct");
  const CostModel none = CostModel::Nominal(Masked(all, LinkMask::Parse("none", 4)), kFour);
  EXPECT_EQ(BestName(none, 0, 1, 64 << 20), "staged");
  EXPECT_EQ(BestName(none, 0, 1, 64), "uva");
}

TEST(NominalCosts, LoadsAreNoFasterAlone) {
  const CostModel model = CostModel::Nominal(machines::NvSwitch(4));
  for (std::size_t path = 0; path < model.paths().size(); ++path) {
    if (!model.Joins(path, 0, 1)) continue;
    for (const std::size_t bytes : {std::size_t{64}, std::size_t{1} << 24}) {
      const double alone = model.PredictUs(path, 0, 1, bytes, bytes / 8),
                   all = model.PredictUs(path, 0, 1, bytes, bytes / 8, {3, 4});
      EXPECT_GT(all, alone) << model.paths()[path];
      EXPECT_LT(all, kInfinite);
      EXPECT_GE(model.PredictBroadcastUs(path, 0, bytes, 0, 4), model.PredictBroadcastUs(path, 0, bytes, 0))
          << model.paths()[path];
      EXPECT_LT(model.PredictBroadcastUs(path, 0, bytes, 0, 4), kInfinite);
    }
  }
  // One to three others: copies are quicker to begin, NCCL's ring tells each byte once.
  const std::size_t copies = model.Find("p2p-copy"), nccl = model.Find("nccl");
  EXPECT_LT(model.PredictBroadcastUs(copies, 0, 1 << 16, 0), model.PredictBroadcastUs(nccl, 0, 1 << 16, 0));
  EXPECT_GT(model.PredictBroadcastUs(copies, 0, 128 << 20, 0), model.PredictBroadcastUs(nccl, 0, 128 << 20, 0));
}

TEST(NominalCosts, AccessOneWayIsNone) {
  Topology topology = machines::NvSwitch(2);
  topology.link(1, 0).peer_access = topology.link(1, 0).native_atomics = false;
  const CostModel model = CostModel::Nominal(topology);
  for (const auto& [from, to] : {std::pair(0, 1), std::pair(1, 0)}) {
    EXPECT_FALSE(model.Joins(model.Find("p2p-direct"), from, to)) << from;
    EXPECT_FALSE(model.Joins(model.Find("p2p-copy"), from, to)) << from;
    EXPECT_EQ(BestName(model, from, to, 64), "uva");
    EXPECT_EQ(BestName(model, from, to, 64 << 20), "staged");
  }
  const CostModel none = CostModel::Nominal(Masked(machines::NvSwitch(2), LinkMask::Parse("none", 2)));
  for (std::size_t path = 0; path < none.paths().size(); ++path) {
    if (none.paths()[path] == "nccl") continue;  // the type of the link says what buffers share
    EXPECT_EQ(model.PredictUs(path, 0, 1, 1 << 20, 0), none.PredictUs(path, 0, 1, 1 << 20, 0)) << none.paths()[path];
  }
  EXPECT_FALSE(model.all_reach());
  EXPECT_TRUE(CostModel::Nominal(machines::NvSwitch(2)).all_reach());
}

TEST(NominalCosts, HostDevicesShareMemory) {
  std::vector<TopologyDevice> devices(3);
  for (std::size_t i = 0; i < devices.size(); ++i) devices[i].label = fmt::format("host:{}", i);
  Topology topology("a laptop", devices);
  for (std::size_t from = 0; from < 3; ++from) {
    for (std::size_t to = 0; to < 3; ++to) topology.link(from, to).peer_access = from != to;
  }
  const CostModel model = CostModel::Nominal(topology);
  const std::size_t host = model.Find("host"), direct = model.Find("p2p-direct"), staged = model.Find("staged");
  for (const std::size_t bytes : {std::size_t{4}, std::size_t{1} << 20}) {
    EXPECT_EQ(model.Best(0, 1, bytes, 0), host);
    EXPECT_EQ(model.PredictUs(host, 0, 1, bytes, 0), model.PredictUs(direct, 0, 1, bytes, 0));
    EXPECT_LT(model.PredictUs(direct, 0, 1, bytes, 0), model.PredictUs(staged, 0, 1, bytes, 0));
  }
  EXPECT_FALSE(model.Joins(model.Find("nccl"), 0, 1));
}

TEST(NominalCosts, EveryDescribedMachineHasAPathForEachPair) {
  for (const auto& [file, topology] : machines::All()) {
    const CostModel model = CostModel::Nominal(topology);
    for (std::size_t from = 0; from < topology.size(); ++from) {
      EXPECT_NE(model.BestBroadcast(from, 1 << 20, 0), CostModel::kNoPath) << file;
      for (std::size_t to = 0; to < topology.size(); ++to) {
        if (from == to) continue;
        EXPECT_NE(model.Best(from, to, 1 << 20, 0), CostModel::kNoPath) << file;
      }
    }
  }
  EXPECT_NO_THROW(CostModel::Nominal(Topology("alone", machines::Gpus(1, "GPU", 1, 1, 4))));
}

}  // namespace
}  // namespace chatty
