// Which path a message takes, and whether it is one for all, by costs that are set here.
#include "chatty/comm/selector.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chatty/core/config.h"
#include "chatty/core/error.h"
#include "machines.h"

namespace chatty {
namespace {

constexpr std::size_t kDevices = 4;

/// Every pair alike on each path, whatever else is under way; a broadcast costs `dearer` times as much.
CostModel Alike(const std::vector<std::pair<std::string, Cost>>& paths, double dearer) {
  std::vector<std::string> names;
  for (const auto& [name, cost] : paths) names.push_back(name);
  CostModel model(names, kDevices);
  for (std::size_t p = 0; p < paths.size(); ++p) {
    const Cost& cost = paths[p].second;
    Cost broadcast = cost;
    broadcast.alpha_us *= dearer;
    broadcast.beta_us_per_byte *= dearer;
    for (PartId from = 0; from < kDevices; ++from) {
      for (PartId to = 0; to < kDevices; ++to) {
        for (const MeasuredLoad load : kAllLoads) model.set_cost(p, from, to, load, from == to ? broadcast : cost);
      }
    }
  }
  return model;
}

PairBytesTable Square(std::size_t bytes) {
  PairBytesTable table(kDevices, std::vector<std::size_t>(kDevices, bytes));
  for (std::size_t d = 0; d < kDevices; ++d) table[d][d] = 0;
  return table;
}

class SelectorTest : public testing::Test {
 protected:
  SelectorTest() {
    for (int d = 0; d < static_cast<int>(kDevices); ++d) {
      devices_.push_back(MakeHostDevice(d, 1));
      pointers_.push_back(devices_.back().get());
    }
  }
  std::unique_ptr<Transport> Make(std::string_view name) const {
    TransportOptions options;
    options.broadcast.assign(kDevices, 1 << 16);
    return MakeTransport(name, pointers_, Square(1 << 16), options);
  }
  TransportSelector Between(const std::vector<std::string_view>& names, const CostModel& model) const {
    std::vector<std::unique_ptr<Transport>> paths;
    for (const std::string_view name : names) paths.push_back(Make(name));
    return {std::move(paths), Broadcasts::kChosen, /*collectives=*/true, model};
  }
  /// What ChooseAll says of one buffer to each, while all devices send.
  using Paths = std::vector<std::pair<std::string_view, double>>;
  static Paths PathsOf(const TransportSelector& selector, PartId from, const std::vector<PartId>& to,
                       const BufferShape& buffer) {
    std::vector<TransportSelector::Choice> choices(to.size());
    selector.ChooseAll(from, to, std::vector<BufferShape>(to.size(), buffer), kDevices, choices);
    Paths paths;
    for (const TransportSelector::Choice& choice : choices) {
      paths.emplace_back(selector.path_name(choice.path), std::round(choice.us * 1000) / 1000);
    }
    return paths;
  }
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<Device*> pointers_;
};

TEST(AutoMayTake, IsWhatSelectPathsGoesBy) {
  for (const TransportInfo& info : Transports()) {
    if (!info.host) continue;  // the fastest by far, beside one that always serves
    const CostModel model = Alike({{"staged", Cost{1e3, 1}}, {std::string(info.name), Cost{1, 1e-3}}}, 1);
    const std::vector<std::string_view> taken =
        SelectPaths({}, DeviceKind::kHost, model, Square(1 << 16), /*collectives=*/true);
    const bool takes = std::find(taken.begin(), taken.end(), info.name) != taken.end();
    EXPECT_EQ(AutoMayTake(info.name, DeviceKind::kHost), takes) << info.name;
  }
  EXPECT_FALSE(AutoMayTake("ring", DeviceKind::kCuda));
  EXPECT_FALSE(AutoMayTake("uva-hub", DeviceKind::kHost));
  EXPECT_FALSE(AutoMayTake("host", DeviceKind::kCuda));
  EXPECT_TRUE(AutoMayTake("p2p-copy", DeviceKind::kCuda)) << "also in a build without CUDA";
  EXPECT_FALSE(AutoMayTake("auto", DeviceKind::kHost));
}

/// A block of memory.
BufferShape Block(std::size_t bytes) { return {.bytes = bytes}; }

TEST_F(SelectorTest, TakesThePathOfLeastTime) {
  // The one starts sooner, the other carries more: they meet at 4 us / (0.002 us a byte) = 2000 bytes.
  const CostModel model = Alike({{"staged", Cost{1, 0.003}}, {"uva-hub", Cost{5, 0.001}}}, 1);
  const TransportSelector selector = Between({"staged", "uva-hub"}, model);
  EXPECT_EQ(selector.name(), "staged+uva-hub");
  EXPECT_EQ(selector.path_name(selector.Choose(0, 1, Block(1900), {}).path), "staged");
  EXPECT_EQ(selector.path_name(selector.Choose(0, 1, Block(2100), {}).path), "uva-hub");
  EXPECT_DOUBLE_EQ(selector.Choose(0, 1, Block(1000), {}).us, 4);
  EXPECT_EQ(selector.path_name(selector.ChooseBroadcast(2, Block(1900), 1).path), "staged");
  EXPECT_EQ(selector.path_name(selector.ChooseBroadcast(2, Block(2100), kDevices).path), "uva-hub");
}

TEST_F(SelectorTest, TheZeroCopyPathStaysUnlessTheGainExceedsTheError) {
  const auto chosen = [&](double staged_us, double error) {
    CostModel model = Alike({{"p2p-direct", Cost{100, 0}}, {"uva", Cost{90, 0}}, {"staged", Cost{staged_us, 0}}}, 1);
    Cost cost{staged_us, 0};
    cost.error = error;
    model.set_cost(2, 0, 1, MeasuredLoad::kAlone, cost);
    const TransportSelector selector = Between({"p2p-direct", "uva", "staged"}, model);
    const TransportSelector::Choice choice = selector.Choose(0, 1, Block(1000), {});
    EXPECT_DOUBLE_EQ(choice.us, choice.path == 2 ? staged_us : 100) << "the prediction is of the path that is taken";
    return selector.path_name(choice.path);
  };
  EXPECT_EQ(chosen(101, 0), "p2p-direct") << "a tenth for uva is within the error of 15 % that is always there";
  EXPECT_EQ(chosen(86, 0), "p2p-direct");
  EXPECT_EQ(chosen(84, 0), "staged");
  EXPECT_EQ(chosen(84, 0.3), "p2p-direct") << "what was measured is known worse";
  EXPECT_EQ(chosen(69, 0.3), "staged");
  EXPECT_EQ(chosen(71, 3), "p2p-direct");
  EXPECT_EQ(chosen(69, 3), "staged") << "a line that misses its middle block by far still meets the long ones";
}

TEST_F(SelectorTest, TheErrorIsThatOfTheLoad) {
  CostModel model = Alike({{"p2p-direct", Cost{100, 0}}, {"staged", Cost{80, 0}}}, 1);
  Cost cost{80, 0};
  cost.error = 0.3;
  model.set_cost(1, 0, 1, MeasuredLoad::kAllToAll, cost);
  const TransportSelector selector = Between({"p2p-direct", "staged"}, model);
  EXPECT_EQ(selector.path_name(selector.Choose(0, 1, Block(1000), {}).path), "staged");
  EXPECT_EQ(selector.path_name(selector.Choose(0, 1, Block(1000), {3, kDevices}).path), "p2p-direct");
  EXPECT_DOUBLE_EQ(model.Predict(1, 0, 1, Block(1000), {3, 1}).error, 0.3 * 2 / 11) << "3 of 12 buffers";
  const TransportSelector::Choice broadcast{0, 80, 0.1}, unsure{0, 80, 0.3}, pairs{0, 100, 0.15};
  EXPECT_TRUE(TransportSelector::BroadcastPays(broadcast, pairs));
  EXPECT_FALSE(TransportSelector::BroadcastPays(unsure, pairs));
  EXPECT_FALSE(TransportSelector::BroadcastPays(broadcast, {0, 100, 0.25}));
}

TEST_F(SelectorTest, BuffersThatGoAnotherWayAreNoLoad) {
  // A link joins 0 and 1 alone. Through host memory copies are faster than kernels' loads for two buffers at once, not for
  // three.
  CostModel model({"p2p-direct", "staged", "uva"}, kDevices);
  for (PartId from = 0; from < kDevices; ++from) {
    for (PartId to = 0; to < kDevices; ++to) {
      for (const MeasuredLoad load : kAllLoads) {
        const bool linked = from + to == 1, many = load == MeasuredLoad::kAllToAll;
        if (linked) model.set_cost(0, from, to, load, Cost{many ? 11.25 : 3, 0});
        if (from != to) model.set_cost(1, from, to, load, Cost{many ? 120.0 : 10, 0});
        if (from != to) model.set_cost(2, from, to, load, Cost{100, 0});
      }
    }
  }
  // As over PCIe, which leads to host memory, too.
  const TransportSelector one_way = Between({"p2p-direct", "staged", "uva"}, model);
  EXPECT_EQ(PathsOf(one_way, 0, {1, 2, 3}, Block(1000)), (Paths{{"p2p-direct", 11.25}, {"uva", 100}, {"uva", 100}}));

  model.SetMachine(machines::NvSwitch(kDevices));  // links apart
  const TransportSelector selector = Between({"p2p-direct", "staged", "uva"}, model);
  const auto paths = [&](PartId from, const std::vector<PartId>& to) { return PathsOf(selector, from, to, Block(1000)); };
  EXPECT_EQ(selector.path_name(selector.Choose(0, 2, Block(1000), {3, kDevices}).path), "uva") << "beside two more";
  EXPECT_EQ(paths(0, {1, 2, 3}), (Paths{{"p2p-direct", 5.25}, {"staged", 80}, {"staged", 80}}));
  EXPECT_EQ(paths(2, {0, 1, 3}), (Paths{{"uva", 100}, {"uva", 100}, {"uva", 100}})) << "nobody is linked with 2";
  EXPECT_EQ(paths(1, {0}), (Paths{{"p2p-direct", 5.25}}));
  EXPECT_EQ(paths(1, {}), Paths());
}

TEST(SelectPaths, WhatAModelNamesNeedNotBeInTheBuild) {
  const CostModel model = Alike({{"nccl", Cost{1, 1e-6}}, {"telepathy", Cost{1, 1e-6}}, {"staged", Cost{20, 1e-3}}}, 1);
  for (const bool collectives : {true, false}) {
    const auto paths = SelectPaths(ParseCommSpec("auto"), DeviceKind::kCuda, model, Square(1 << 20), collectives);
    for (const std::string_view path : paths) EXPECT_NE(FindTransport(path), nullptr) << path;
  }
}

#if CHATTY_WITH_NCCL
TEST(SelectPaths, WhereNobodyMeetsCollectivePathsAreTakenByNameAlone) {
  const CostModel model = Alike({{"nccl", Cost{1, 1e-6}}, {"staged", Cost{20, 1e-3}}}, 1);
  const auto paths = [&](std::string_view comm, bool collectives) {
    return SelectPaths(ParseCommSpec(comm), DeviceKind::kCuda, model, Square(1 << 20), collectives);
  };
  EXPECT_EQ(paths("auto", true), (std::vector<std::string_view>{"nccl"}));
  EXPECT_EQ(paths("auto", false), (std::vector<std::string_view>{"staged"}));
  EXPECT_EQ(paths("nccl", false), (std::vector<std::string_view>{"nccl"}));
}
#endif

TEST(CheckComm, SaysWhatThereIs) {
  const auto told = [](std::string_view comm) {
    try {
      CheckComm(ParseCommSpec(comm), DeviceKind::kHost, 2);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(told("bogus").find("auto, chattygraph, host"), std::string::npos) << told("bogus");
  EXPECT_NE(told("data=bogus").find("no transport 'bogus'"), std::string::npos) << told("data=bogus");
  EXPECT_EQ(told("data=bogus").find("chattygraph"), std::string::npos) << told("data=bogus");
  EXPECT_NE(told("data=chattygraph").find("write --comm chattygraph"), std::string::npos) << told("data=chattygraph");
  EXPECT_EQ(told("chattygraph"), "");
}

TEST_F(SelectorTest, TellingAllPaysByTheModelAlone) {
  const std::vector<std::string_view> paths{"host"};
  const PairBytesTable pairs = Square(1000);
  const std::vector<std::size_t> same(kDevices, 1000), none(kDevices, 0);
  const auto may = [&](double dearer, const std::vector<std::size_t>& broadcast) {
    return BroadcastsMayPay(paths, Alike({{"host", Cost{1, 0.01}}}, dearer), pairs, broadcast);
  };
  EXPECT_TRUE(may(0.5, same));
  EXPECT_FALSE(may(1, same)) << "as long as what it replaces";
  EXPECT_FALSE(may(0.5, {3000, 3000, 3000, 3000})) << "what all need together is too much longer";
  EXPECT_TRUE(may(0.5, {3000, 3000, 1000, 3000})) << "one that gains is enough";
  EXPECT_FALSE(may(0.5, none)) << "nobody has anything to tell";
  EXPECT_FALSE(BroadcastsMayPay(paths, CostModel(), pairs, same)) << "nothing is known";
  const PairBytesTable two{{0, 1000}, {1000, 0}};
  EXPECT_FALSE(BroadcastsMayPay(paths, Alike({{"host", Cost{1, 0.01}}}, 0.1), two, {same.data(), 2}))
      << "between two it is the same buffer";
}

TEST_F(SelectorTest, EnginesTakeLongerThanACalibration) {
  CostModel model = Alike({{"p2p-direct", Cost{10, 0.001, 0.1}}}, 1);
  model.SetMachine(machines::NvSwitch(kDevices));
  for (const bool measured : {false, true}) {
    model.set_measured(measured);
    const TransportSelector selector = Between({"p2p-direct"}, model);
    const auto predict = [&](bool payload) {
      return selector.Predict(0, 0, 1, {Encoding::kSparse, 1000, 10, payload}, {}).us;
    };
    EXPECT_DOUBLE_EQ(predict(true), 12) << "operators hand over blocks as a calibration does";
    EXPECT_EQ(predict(false) > 12, measured);
  }
}

// Four H200s whose costs are those of docs/performance/exchange-and-paths.md: a copy carries 394 GB/s and a store 369, a
// launch takes 2.9 us, and a copy's length must be read. There `auto` once took copies for long buffers and host memory for
// short ones, and lost 8 to 15 % of BFS and CC to p2p-direct.
TEST_F(SelectorTest, WhereLinksAreWholeStoresIntoPeersMemoryAreTakenAlone) {
  const auto line = [](double alpha_us, double bytes_per_us, double error) {
    Cost cost{alpha_us, 1 / bytes_per_us, 6.5e-5, 6.5e-5};
    cost.error = error;
    return cost;
  };
  CostModel model = Alike({{"nccl", line(36, 324e3, 0.2)},
                           {"p2p-copy", line(24, 394e3, 0.04)},
                           {"p2p-direct", line(16, 369e3, 0.04)},
                           {"uva", line(15, 26e3, 0.06)},
                           {"staged", line(33, 48e3, 0.1)}},
                          1);
  model.SetMachine(machines::NvSwitch(kDevices));
  model.set_measured(true);
  if (AutoMayTake("p2p-direct", DeviceKind::kCuda)) {
    for (std::size_t bytes = 256; bytes <= std::size_t{1} << 30; bytes *= 4) {
      EXPECT_EQ(SelectPaths({}, DeviceKind::kCuda, model, Square(bytes), /*collectives=*/true),
                (std::vector<std::string_view>{"p2p-direct"}))
          << bytes;
    }
  }
  // What a pair sends there, as the records of Kronecker 26 and uniform 27 of 2026-11-27 have it, in proportion: 586 KB in
  // all rounds of bfs on Kronecker 24 and in the exchange of cc on uniform 24, 1.65 MB in bfs on uniform 24. And short
  // buffers.
  const CostModel nominal = CostModel::Nominal(machines::NvSwitch(kDevices));
  const TransportSelector selector = Between({"p2p-direct", "uva", "staged"}, model);
  for (const std::size_t bytes : {std::size_t{64}, std::size_t{4} << 10, std::size_t{586000}, std::size_t{1650000}}) {
    for (const Encoding encoding : kAllEncodings) {
      const BufferShape buffer{.encoding = encoding, .bytes = bytes, .entries = bytes / 8};
      const TransportSelector::Choice choice = selector.Choose(0, 1, buffer, {kDevices - 1, kDevices});
      EXPECT_EQ(selector.path_name(choice.path), "p2p-direct") << bytes << EncodingName(encoding);
      for (std::size_t path = 0; path < selector.size(); ++path) {
        EXPECT_LE(0.85 * choice.us, selector.Predict(path, 0, 1, buffer, {kDevices - 1, kDevices}).us) << bytes;
      }
    }
    const std::vector<std::string_view> taken = SelectPaths({}, DeviceKind::kCuda, nominal, Square(bytes), true);
    EXPECT_EQ(taken, (std::vector<std::string_view>{"p2p-direct"})) << bytes;
    EXPECT_FALSE(BroadcastsMayPay(taken, nominal, Square(bytes), std::vector<std::size_t>(kDevices, bytes)));
  }
  CostModel without({"uva", "staged"}, kDevices);  // no links: short buffers by host memory, long ones by copies
  for (PartId from = 0; from < kDevices; ++from) {
    for (PartId to = 0; to < kDevices; ++to) {
      if (from == to) continue;
      for (const MeasuredLoad load : kAllLoads) {
        without.set_cost(0, from, to, load, line(15, 26e3, 0.06));
        without.set_cost(1, from, to, load, line(33, 48e3, 0.1));
      }
    }
  }
  EXPECT_EQ(SelectPaths({}, DeviceKind::kCuda, without, Square(1 << 14), true), (std::vector<std::string_view>{"uva"}));
  EXPECT_EQ(SelectPaths({}, DeviceKind::kCuda, without, Square(1 << 26), true),
            (std::vector<std::string_view>{"uva", "staged"}));
}

}  // namespace
}  // namespace chatty
