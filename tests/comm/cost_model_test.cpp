#include "chatty/comm/cost_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "machines.h"

namespace chatty {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr Encoding kDense = Encoding::kDense, kSparse = Encoding::kSparse, kBitmap = Encoding::kBitmap;
constexpr MeasuredLoad kAlone = MeasuredLoad::kAlone, kAllToAll = MeasuredLoad::kAllToAll;

double Us(const CostModel& model, std::size_t path, std::size_t from, std::size_t to, Encoding encoding, std::size_t bytes,
          std::size_t entries, Load load = {}) {
  return model.Predict(path, from, to, {encoding, bytes, entries}, load).us;
}

/// The fastest path of a block of memory; kNoPath where none joins the pair.
std::size_t BestPath(const CostModel& model, std::size_t from, std::size_t to, std::size_t bytes) {
  const PathChoice best = model.Best(from, to, {.bytes = bytes});
  return best.us < kInfinite ? best.path : CostModel::kNoPath;
}

/// What buffers take by a cost, as a calibration measures them.
CostSamples SamplesOf(const Cost& truth) {
  const auto sample = [&](Encoding encoding, double bytes, double entries) {
    return CostSample{bytes, entries, truth.Us(encoding, bytes, entries)};
  };
  return {sample(kDense, 0, 0),      sample(kDense, 1 << 20, 0),       sample(kDense, 1 << 24, 0),
          sample(kSparse, 8e6, 1e6), sample(kBitmap, 0.25 * 4e6, 4e6), sample(kBitmap, 2.125 * 1e6, 1e6)};
}

TEST(FitCost, FindsTheCostThatMadeTheSamples) {
  for (const Cost& truth : {Cost{12, 2.7e-6, 9e-5, 3e-5}, Cost{0.4, 1e-4}, Cost{15, 4e-5, 9e-5, 3e-5, 1.5}}) {
    const Cost cost = FitCost(SamplesOf(truth));
    EXPECT_NEAR(cost.alpha_us, truth.alpha_us, 1e-9);
    EXPECT_NEAR(cost.beta_us_per_byte, truth.beta_us_per_byte, 1e-12);
    EXPECT_NEAR(cost.entry_us, truth.entry_us, 1e-9);
    EXPECT_NEAR(cost.place_us, truth.place_us + 0.25 * truth.beta_us_per_byte * (truth.bitmap_factor - 1), 1e-9)
        << "of an almost empty bitmap, bytes count as places";
    EXPECT_NEAR(cost.bitmap_factor, truth.bitmap_factor, 0.06);
    EXPECT_LT(cost.error, 1e-9);
    EXPECT_EQ(cost.largest, 1 << 24);
    EXPECT_FALSE(cost.Extrapolates(1 << 24));
    EXPECT_TRUE(cost.Extrapolates(1 << 25));
    EXPECT_FALSE(truth.Extrapolates(1e12)) << "what was not measured goes on for ever";
  }
}

TEST(FitCost, TheErrorIsThatOfTheMiddleBlock) {
  CostSamples samples = SamplesOf({12, 6e-6});
  samples.middle.us *= 2;
  EXPECT_NEAR(FitCost(samples).error, 0.5, 1e-9) << "half of what was measured; the line meets the other two blocks";
  samples.middle.us /= 8;
  EXPECT_NEAR(FitCost(samples).error, 3, 1e-9) << "four times what was measured";
}

TEST(FitCost, NothingIsFreeOrLessThanFree) {
  // On a busy machine a short block may take as long as a long one, or longer, and blocks longer than entries.
  for (const double shortest : {30.0, 90.0}) {
    const Cost cost = FitCost(
        {{16, 0, shortest}, {1 << 12, 0, 31}, {1 << 16, 0, 28}, {1 << 16, 8192, 20}, {4096, 16384, 1}, {4096, 1928, 1}});
    EXPECT_GT(cost.Us(kDense, 1 << 28, 0), 1000) << "as fast as 270 GB/s";
    EXPECT_DOUBLE_EQ(cost.alpha_us, 28);
    EXPECT_EQ(cost.entry_us, 0);
    EXPECT_EQ(cost.place_us, 0);
    EXPECT_EQ(cost.bitmap_factor, 1);
  }
}

TEST(CostModel, PathsThatDoNotJoinAPairTakeForEver) {
  CostModel model({"a", "b"}, 3);
  EXPECT_EQ(model.Find("b"), 1u);
  EXPECT_EQ(model.Find("c"), CostModel::kNoPath);
  EXPECT_EQ(Us(model, 0, 0, 1, kDense, 8, 0), kInfinite);
  EXPECT_EQ(Us(model, 0, 0, 0, kDense, 8, 0), kInfinite);
  EXPECT_EQ(Us(model, 0, 0, 1, kSparse, 8, 0, {2, 3}), kInfinite);
  EXPECT_EQ(BestPath(model, 0, 1, 8), CostModel::kNoPath);
  model.set_cost(1, 0, 1, kAlone, {4, 1e-3, 0.5});
  EXPECT_TRUE(model.Joins(1, 0, 1));
  EXPECT_FALSE(model.Joins(1, 1, 0));
  EXPECT_EQ(BestPath(model, 0, 1, 8), 1u);
  EXPECT_DOUBLE_EQ(Us(model, 1, 0, 1, kSparse, 1000, 2), 4 + 1 + 1);
}

TEST(CostModel, OfSomePathsItKeepsTheCosts) {
  CostModel model({"a", "b", "c"}, 3);
  model.SetMachine(machines::NvSwitch(3));
  model.set_measured(true);
  model.set_cost(1, 0, 1, kAlone, {4, 1e-3});
  model.set_cost(1, 0, 1, kAllToAll, {9, 1e-3});
  model.set_cost(2, 2, 2, kAlone, {7, 1e-3});
  constexpr std::string_view kSome[] = {"c", "d", "b"};
  const CostModel some = model.Of(kSome);
  EXPECT_EQ(some.paths(), (std::vector<std::string>{"c", "d", "b"}));
  EXPECT_EQ(some.engine_us(), model.engine_us());
  EXPECT_TRUE(some.measured() && some.links_apart());
  std::size_t costs = 0;
  some.ForEachCost([&](std::size_t path, std::size_t from, std::size_t to, MeasuredLoad load, const Cost& cost) {
    EXPECT_EQ(cost, model.cost(model.Find(some.paths()[path]), from, to, load));
    ++costs;
  });
  EXPECT_EQ(costs, 3u);
  EXPECT_EQ(some.Best(0, 1, {.bytes = 1000, .payload = true}).path, 2);
  EXPECT_EQ(CostModel().Of(kSome).Best(0, 1, {}).us, kInfinite) << "of a model of no devices";
  EXPECT_FALSE(CostModel().Joins(CostModel::kNoPath, 0, 1));
}

TEST(CostModel, LoadsLieBetweenAloneAndAllToAll) {
  CostModel model({"a"}, 4);
  const auto at = [&](PartId to, std::uint32_t buffers, std::uint32_t senders) {
    return Us(model, 0, 0, to, kDense, 0, 0, {buffers, senders});
  };
  model.set_cost(0, 0, 1, kAlone, {10});
  model.set_cost(0, 0, 1, kAllToAll, {65});
  EXPECT_DOUBLE_EQ(at(1, 1, 1), 10);
  EXPECT_DOUBLE_EQ(at(1, 0, 0), 10);
  EXPECT_DOUBLE_EQ(at(1, 3, 1), 20) << "3 of 12 buffers";
  EXPECT_DOUBLE_EQ(at(1, 1, 4), 25);
  EXPECT_DOUBLE_EQ(at(1, 3, 4), 65);
  EXPECT_DOUBLE_EQ(at(1, 99, 99), 65) << "more than there are counts as all";
  model.set_cost(0, 0, 0, kAlone, {8});
  model.set_cost(0, 0, 0, kAllToAll, {20});
  EXPECT_DOUBLE_EQ(at(0, 1, 4), 20) << "all broadcast";
  EXPECT_DOUBLE_EQ(at(0, 1, 2), 12);
  CostModel two({"a"}, 2);
  two.set_cost(0, 0, 1, kAlone, {10});
  two.set_cost(0, 0, 1, kAllToAll, {16});
  EXPECT_DOUBLE_EQ(Us(two, 0, 0, 1, kDense, 0, 0, {1, 2}), 16);
  EXPECT_DOUBLE_EQ(Us(two, 0, 0, 1, kDense, 0, 0, {5, 1}), 10) << "one buffer at most";
}

TEST(CostModel, EncodingsDifferInGammaAndInBytesOfBitmaps) {
  CostModel model({"a"}, 2);
  model.set_cost(0, 0, 1, kAlone, {10, 1, 0.25, 0.125, 1.5});
  model.set_cost(0, 0, 1, kAllToAll, {20, 1, 0.25, 0.125, 1.5});
  EXPECT_DOUBLE_EQ(Us(model, 0, 0, 1, kDense, 8, 0), 18);
  EXPECT_DOUBLE_EQ(Us(model, 0, 0, 1, kSparse, 8, 64), 10 + 8 + 16);
  EXPECT_DOUBLE_EQ(Us(model, 0, 0, 1, kBitmap, 8, 64), 10 + 12 + 8);
  EXPECT_DOUBLE_EQ(Us(model, 0, 0, 1, kBitmap, 8, 64, {1, 2}), 20 + 12 + 8);
  EXPECT_EQ(Us(model, 0, 1, 0, kSparse, 8, 64), kInfinite);
}

/// The names of paths from the fastest to the slowest for a block of memory.
std::vector<std::string> FastestFirst(const CostModel& model, std::size_t from, std::size_t to, std::size_t bytes) {
  std::vector<std::pair<double, std::string>> times;
  for (std::size_t path = 0; path < model.paths().size(); ++path) {
    if (model.Joins(path, from, to)) times.emplace_back(Us(model, path, from, to, kDense, bytes, 0), model.paths()[path]);
  }
  std::stable_sort(times.begin(), times.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> names;
  for (const auto& [time, name] : times) names.push_back(name);
  const std::size_t best = BestPath(model, from, to, bytes);
  EXPECT_EQ(best == CostModel::kNoPath ? std::vector<std::string>() : std::vector{model.paths()[best]},
            std::vector(names.begin(), names.begin() + (names.empty() ? 0 : 1)));
  return names;
}
constexpr std::string_view kFive[] = {"uva", "staged", "nccl", "p2p-copy", "p2p-direct"};

TEST(NominalCosts, OverNvlinkPeersComeFirst) {
  for (const Topology& topology : {machines::NvSwitch(4), machines::NvSwitch(8), machines::Dgx1()}) {
    const CostModel model = CostModel::Nominal(topology).Of(kFive);
    EXPECT_FALSE(model.measured());
    for (const std::size_t bytes : {std::size_t{4}, std::size_t{4096}, std::size_t{1} << 20, std::size_t{256} << 20}) {
      const std::vector<std::string> order = FastestFirst(model, 0, 3, bytes);
      ASSERT_EQ(order.size(), 5u);
      EXPECT_EQ(std::vector(order.begin(), order.begin() + 3), (std::vector<std::string>{"p2p-direct", "p2p-copy", "nccl"}))
          << topology.name() << ", " << bytes;
    }
  }
}

TEST(NominalCosts, EachPairHasTheFastestPathThatItsLinkAllows) {
  const auto masked = [](const Topology& topology, const char* mask) {
    return Masked(topology, LinkMask::Parse(mask, topology.size()));
  };
  struct Case {
    const char* why;
    Topology topology;
    std::size_t to;
    std::size_t bytes;
    std::string_view best;
  };
  const Topology switched = machines::NvSwitch(4), shared = machines::OneGpu(3);
  for (const Case& one : {
           Case{"no peers", machines::NoPeers(), 1, 4, "uva"},
           {"no peers", machines::NoPeers(), 1, 4096, "uva"},
           {"no peers", machines::NoPeers(), 1, 64 << 20, "staged"},
           {"of a board", machines::TwoQuads(), 1, 1 << 20, "p2p-direct"},
           {"across sockets", machines::TwoQuads(), 4, 1 << 24, "staged"},
           {"across sockets", machines::TwoQuads(), 4, 64, "uva"},
           {"two NVLinks", machines::Dgx1(), 3, 1 << 24, "p2p-direct"},
           {"within a mask", masked(switched, "pairs {0,1}{2,3}"), 1, 1 << 20, "p2p-direct"},
           {"all masked", masked(switched, "none"), 1, 64 << 20, "staged"},
           {"all masked", masked(switched, "none"), 1, 64, "uva"},
           {"one GPU", shared, 1, 1 << 24, "p2p-direct"},
           {"one GPU, masked", masked(shared, "none"), 1, 1 << 24, "staged"},
       }) {
    EXPECT_EQ(FastestFirst(CostModel::Nominal(one.topology).Of(kFive), 0, one.to, one.bytes).at(0), one.best)
        << one.why << ", " << one.bytes;
  }
  EXPECT_NE(FastestFirst(CostModel::Nominal(machines::Dgx1()).Of(kFive), 0, 5, 1 << 24).at(0), "p2p-direct") << "no NVLink";
  EXPECT_NE(FastestFirst(CostModel::Nominal(masked(switched, "pairs {0,1}{2,3}")).Of(kFive), 0, 2, 1 << 20).at(0),
            "p2p-direct");
  const CostModel dgx = CostModel::Nominal(machines::Dgx1()).Of(kFive);
  const std::size_t direct = dgx.Find("p2p-direct");
  EXPECT_GT(Us(dgx, direct, 0, 1, kDense, 1 << 24, 0), 1.5 * Us(dgx, direct, 0, 3, kDense, 1 << 24, 0))
      << "one link, or two";
}

TEST(NominalCosts, PathsJoinWhatTheyCan) {
  const Topology shared = machines::OneGpu(3);
  for (const Topology& topology : {shared, Masked(shared, LinkMask::Parse("none", 3))}) {
    const CostModel model = CostModel::Nominal(topology).Of(kFive);
    const std::size_t nccl = model.Find("nccl");
    EXPECT_FALSE(model.Joins(nccl, 0, 1)) << topology.link(0, 1).bandwidth;
    EXPECT_EQ(Us(model, nccl, 0, 0, kDense, 4, 0), kInfinite);
  }
  const CostModel model = CostModel::Nominal(machines::NoPeers()).Of(kFive);
  EXPECT_FALSE(model.Joins(model.Find("p2p-direct"), 0, 1));
  EXPECT_FALSE(model.Joins(model.Find("p2p-copy"), 0, 1));
  EXPECT_EQ(Us(model, model.Find("p2p-copy"), 0, 0, kDense, 4, 0), kInfinite);
}

TEST(NominalCosts, LoadsAreNoFasterAlone) {
  const CostModel model = CostModel::Nominal(machines::NvSwitch(4));
  for (std::size_t path = 0; path < model.paths().size(); ++path) {
    if (!model.Joins(path, 0, 1)) continue;
    for (const std::size_t bytes : {std::size_t{64}, std::size_t{1} << 24}) {
      const double alone = Us(model, path, 0, 1, kDense, bytes, bytes / 8),
                   all = Us(model, path, 0, 1, kDense, bytes, bytes / 8, {3, 4});
      EXPECT_GT(all, alone) << model.paths()[path];
      EXPECT_LT(all, kInfinite);
      EXPECT_GE(Us(model, path, 0, 0, kDense, bytes, 0, {1, 4}), Us(model, path, 0, 0, kDense, bytes, 0))
          << model.paths()[path];
      EXPECT_LT(Us(model, path, 0, 0, kDense, bytes, 0, {1, 4}), kInfinite);
    }
  }
  // One to three others: copies are quicker to begin, NCCL's ring tells each byte once.
  const std::size_t copies = model.Find("p2p-copy"), nccl = model.Find("nccl");
  EXPECT_LT(Us(model, copies, 0, 0, kDense, 1 << 16, 0), Us(model, nccl, 0, 0, kDense, 1 << 16, 0));
  EXPECT_GT(Us(model, copies, 0, 0, kDense, 128 << 20, 0), Us(model, nccl, 0, 0, kDense, 128 << 20, 0));
}

TEST(NominalCosts, AccessOneWayIsNone) {
  Topology topology = machines::NvSwitch(2);
  topology.link(1, 0).peer_access = topology.link(1, 0).native_atomics = false;
  const CostModel model = CostModel::Nominal(topology);
  for (const auto& [from, to] : {std::pair(0, 1), std::pair(1, 0)}) {
    EXPECT_FALSE(model.Joins(model.Find("p2p-direct"), from, to)) << from;
    EXPECT_FALSE(model.Joins(model.Find("p2p-copy"), from, to)) << from;
    EXPECT_EQ(FastestFirst(model, from, to, 64).at(0), "uva");
    EXPECT_EQ(FastestFirst(model, from, to, 64 << 20).at(0), "staged");
  }
  const CostModel none = CostModel::Nominal(Masked(machines::NvSwitch(2), LinkMask::Parse("none", 2)));
  for (std::size_t path = 0; path < none.paths().size(); ++path) {
    if (none.paths()[path] == "nccl") continue;  // the type of the link says what buffers share
    EXPECT_EQ(Us(model, path, 0, 1, kDense, 1 << 20, 0), Us(none, path, 0, 1, kDense, 1 << 20, 0)) << none.paths()[path];
  }
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
    EXPECT_EQ(BestPath(model, 0, 1, bytes), host);
    EXPECT_EQ(Us(model, host, 0, 1, kDense, bytes, 0), Us(model, direct, 0, 1, kDense, bytes, 0));
    EXPECT_LT(Us(model, direct, 0, 1, kDense, bytes, 0), Us(model, staged, 0, 1, kDense, bytes, 0));
  }
  EXPECT_FALSE(model.Joins(model.Find("nccl"), 0, 1));
}

TEST(NominalCosts, EveryDescribedMachineHasAPathForEachPair) {
  for (const auto& [file, topology] : machines::All()) {
    const CostModel model = CostModel::Nominal(topology);
    for (std::size_t from = 0; from < topology.size(); ++from) {
      EXPECT_NE(BestPath(model, from, from, 1 << 20), CostModel::kNoPath) << file;
      for (std::size_t to = 0; to < topology.size(); ++to) {
        if (from == to) continue;
        EXPECT_NE(BestPath(model, from, to, 1 << 20), CostModel::kNoPath) << file;
      }
    }
  }
  EXPECT_NO_THROW(CostModel::Nominal(Topology("alone", machines::Gpus(1, "GPU", 1, 1, 4))));
}

}  // namespace
}  // namespace chatty
