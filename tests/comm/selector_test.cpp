// Which path a message takes, and whether it is one for all, by costs that are set here.
#include "chatty/comm/selector.h"

#include <gtest/gtest.h>

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

CostFit Line(double alpha_us, double beta_us_per_byte) {
  CostFit fit;
  fit.small = fit.large = {alpha_us, beta_us_per_byte, 0};
  return fit;
}

/// Every pair alike on each path, whatever else is under way; what is told to all costs `dearer` times as much.
CostModel Alike(const std::vector<std::pair<std::string, CostFit>>& paths, double dearer) {
  std::vector<std::string> names;
  for (const auto& [name, fit] : paths) names.push_back(name);
  CostModel model(names, kDevices);
  for (std::size_t p = 0; p < paths.size(); ++p) {
    const CostFit& fit = paths[p].second;
    for (PartId from = 0; from < kDevices; ++from) {
      for (PartId to = 0; to < kDevices; ++to) {
        for (std::size_t corner = 0; from != to && corner < kLoadCorners; ++corner) {
          model.set_fit(p, from, to, static_cast<LoadCorner>(corner), fit);
        }
      }
      const CostFit to_all = Line(dearer * fit.small.alpha_us, dearer * fit.small.beta_us_per_byte);
      model.set_broadcast_fit(p, from, false, to_all);
      model.set_broadcast_fit(p, from, true, to_all);
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
  Selector Between(const std::vector<std::string_view>& names, const CostModel& model) const {
    std::vector<std::unique_ptr<Transport>> paths;
    for (const std::string_view name : names) paths.push_back(Make(name));
    return {std::move(paths), DeviceKind::kHost, Broadcasts::kChosen, /*meets=*/true, model};
  }
  /// What ChooseAll says of one buffer to each, while all devices send.
  using Paths = std::vector<std::pair<std::string_view, double>>;
  static Paths PathsOf(const Selector& selector, PartId from, const std::vector<PartId>& to, const BufferShape& buffer) {
    std::vector<Selector::Choice> choices(to.size());
    selector.ChooseAll(from, to, std::vector<BufferShape>(to.size(), buffer), kDevices, choices);
    Paths paths;
    for (const Selector::Choice& choice : choices) paths.emplace_back(selector.path_name(choice.path), choice.us);
    return paths;
  }
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<Device*> pointers_;
};

TEST(AutoMayTake, IsWhatSelectPathsGoesBy) {
  for (const TransportInfo& info : Transports()) {
    if (!info.host) continue;  // the fastest by far, beside one that always serves
    const CostModel model = Alike({{"staged", Line(1e3, 1)}, {std::string(info.name), Line(1, 1e-3)}}, 1);
    const std::vector<std::string_view> taken = SelectPaths({}, DeviceKind::kHost, model, Square(1 << 16), /*meets=*/true);
    const bool takes = std::find(taken.begin(), taken.end(), info.name) != taken.end();
    EXPECT_EQ(AutoMayTake(info.name, DeviceKind::kHost), takes) << info.name;
  }
  EXPECT_FALSE(AutoMayTake("ring", DeviceKind::kCuda));
  EXPECT_FALSE(AutoMayTake("uva-hub", DeviceKind::kHost));
  EXPECT_FALSE(AutoMayTake("host", DeviceKind::kCuda));
  EXPECT_TRUE(AutoMayTake("p2p-copy", DeviceKind::kCuda)) << "also in a build without CUDA";
  EXPECT_FALSE(AutoMayTake("auto", DeviceKind::kHost));
}

TEST_F(SelectorTest, TakesThePathOfLeastTime) {
  // The one starts sooner, the other carries more: they meet at 4 us / (0.002 us a byte) = 2000 bytes.
  const CostModel model = Alike({{"staged", Line(1, 0.003)}, {"uva-hub", Line(5, 0.001)}}, 1);
  const Selector selector = Between({"staged", "uva-hub"}, model);
  EXPECT_EQ(selector.name(), "staged+uva-hub");
  EXPECT_EQ(selector.path_name(selector.Choose(0, 1, {1900, 0, 0}, {}).path), "staged");
  EXPECT_EQ(selector.path_name(selector.Choose(0, 1, {2100, 0, 0}, {}).path), "uva-hub");
  EXPECT_DOUBLE_EQ(selector.Choose(0, 1, {1000, 0, 0}, {}).us, 4);
  EXPECT_EQ(selector.path_name(selector.ChooseBroadcast(2, {1900, 0, 0}, 1).path), "staged");
  EXPECT_EQ(selector.path_name(selector.ChooseBroadcast(2, {2100, 0, 0}, kDevices).path), "uva-hub");
}

TEST_F(SelectorTest, BuffersThatGoAnotherWayAreNoLoad) {
  // A link joins 0 and 1 alone. Through host memory copies are faster than kernels' loads for two buffers at once, not for
  // three.
  CostModel model({"p2p-direct", "staged", "uva"}, kDevices);
  model.set_links_apart(true);
  for (PartId from = 0; from < kDevices; ++from) {
    for (PartId to = 0; to < kDevices; ++to) {
      for (const LoadCorner corner : {LoadCorner::kAlone, LoadCorner::kRing, LoadCorner::kFanOut, LoadCorner::kAllToAll}) {
        const bool linked = from + to == 1, many = corner == LoadCorner::kFanOut || corner == LoadCorner::kAllToAll;
        if (linked) model.set_fit(0, from, to, corner, Line(many ? 7 : 3, 0));
        if (from != to) model.set_fit(1, from, to, corner, Line(many ? 90 : 10, 0));
        if (from != to) model.set_fit(2, from, to, corner, Line(60, 0));
      }
    }
  }
  const Selector selector = Between({"p2p-direct", "staged", "uva"}, model);
  const BufferShape buffer{1000, 0, 0};
  const auto paths = [&](PartId from, const std::vector<PartId>& to) { return PathsOf(selector, from, to, buffer); };
  EXPECT_EQ(selector.path_name(selector.Choose(0, 2, buffer, {3, kDevices}).path), "uva") << "beside two more";
  EXPECT_EQ(paths(0, {1, 2, 3}), (Paths{{"p2p-direct", 3}, {"staged", 50}, {"staged", 50}}));
  EXPECT_EQ(paths(2, {0, 1, 3}), (Paths{{"uva", 60}, {"uva", 60}, {"uva", 60}})) << "nobody is linked with 2";
  EXPECT_EQ(paths(1, {0}), (Paths{{"p2p-direct", 3}}));
  EXPECT_EQ(paths(1, {}), Paths());
  EXPECT_EQ(selector.BuffersBeside(1, std::vector<std::uint8_t>{0, 1, 2, 1}), 3u);
  EXPECT_EQ(selector.BuffersBeside(0, std::vector<std::uint8_t>{0, 1, 2, 1}), 1u);

  model.set_links_apart(false);  // as over PCIe, which leads to host memory, too
  const Selector one_way = Between({"p2p-direct", "staged", "uva"}, model);
  EXPECT_EQ(PathsOf(one_way, 0, {1, 2, 3}, buffer), (Paths{{"p2p-direct", 7}, {"uva", 60}, {"uva", 60}}));
  EXPECT_EQ(one_way.BuffersBeside(0, std::vector<std::uint8_t>{0, 1, 2, 1}), 4u);
}

TEST_F(SelectorTest, WhatMovesTogetherDoesNotEndUpSlower) {
  // One buffer over links is fast, three are slow: each of two that leave host memory would be right if the other stayed.
  CostModel model({"p2p-direct", "staged"}, kDevices);
  model.set_links_apart(true);
  for (PartId to = 1; to < kDevices; ++to) {
    for (const LoadCorner corner : {LoadCorner::kAlone, LoadCorner::kRing, LoadCorner::kFanOut, LoadCorner::kAllToAll}) {
      const bool many = corner == LoadCorner::kFanOut || corner == LoadCorner::kAllToAll;
      model.set_fit(0, 0, to, corner, Line(many ? 90 : 3, 0));
      model.set_fit(1, 0, to, corner, Line(to == 1 ? 100 : 60, 0));
    }
  }
  const Selector selector = Between({"p2p-direct", "staged"}, model);
  EXPECT_EQ(PathsOf(selector, 0, {1, 2, 3}, {1000, 0, 0}), (Paths{{"p2p-direct", 3}, {"staged", 60}, {"staged", 60}}));
}

/// A transport of a name, which carries nothing.
class Named final : public Transport {
 public:
  explicit Named(std::string_view name) : name_(name) {}
  std::string_view name() const override { return name_; }
  std::byte* Outbox(PartId, PartId, std::uint64_t) override { return nullptr; }
  void Post(PartId, PartId, std::size_t, std::uint64_t) override {}
  const std::byte* Receive(PartId, PartId, std::size_t, std::uint64_t) override { return nullptr; }
  std::byte* BroadcastOutbox(PartId, std::uint64_t) override { return nullptr; }
  void Broadcast(PartId, std::size_t, std::uint64_t) override {}
  const std::byte* ReceiveBroadcast(PartId, PartId, std::size_t, std::uint64_t) override { return nullptr; }

 private:
  std::string_view name_;
};

TEST(Selector, NcclGoesThroughHostMemoryWhereSomePairHasNoLink) {
  const auto beside_staged = [](const Topology& topology) {
    std::vector<std::unique_ptr<Transport>> paths;
    for (const std::string_view name : {"nccl", "staged", "p2p-copy"}) paths.push_back(std::make_unique<Named>(name));
    const Selector selector(std::move(paths), DeviceKind::kCuda, Broadcasts::kNever, /*meets=*/true,
                            CostModel::Nominal(topology));
    EXPECT_EQ(selector.BuffersBeside(2, std::vector<std::uint8_t>{2, 1}), 1u) << "links are apart";
    return selector.BuffersBeside(0, std::vector<std::uint8_t>{0, 1}) == 2;
  };
  EXPECT_FALSE(beside_staged(machines::NvSwitch(4)));
  EXPECT_TRUE(beside_staged(Masked(machines::NvSwitch(4), LinkMask::Parse("pairs {0,1}{2,3}", 4))));
  EXPECT_TRUE(beside_staged(Masked(machines::NvSwitch(4), LinkMask::Parse("none", 4))));
  EXPECT_TRUE(beside_staged(machines::NoPeers()));
}

TEST(SelectPaths, WhatAModelNamesNeedNotBeInTheBuild) {
  const CostModel model = Alike({{"nccl", Line(1, 1e-6)}, {"telepathy", Line(1, 1e-6)}, {"staged", Line(20, 1e-3)}}, 1);
  for (const bool meets : {true, false}) {
    const auto paths = SelectPaths(CommChoice::Parse("auto"), DeviceKind::kCuda, model, Square(1 << 20), meets);
    for (const std::string_view path : paths) EXPECT_NE(FindTransport(path), nullptr) << path;
  }
}

#if CHATTY_WITH_NCCL
TEST(SelectPaths, WhereNobodyMeetsCollectivePathsAreTakenByNameAlone) {
  const CostModel model = Alike({{"nccl", Line(1, 1e-6)}, {"staged", Line(20, 1e-3)}}, 1);
  const auto paths = [&](std::string_view comm, bool meets) {
    return SelectPaths(CommChoice::Parse(comm), DeviceKind::kCuda, model, Square(1 << 20), meets);
  };
  EXPECT_EQ(paths("auto", true), (std::vector<std::string_view>{"nccl"}));
  EXPECT_EQ(paths("auto", false), (std::vector<std::string_view>{"staged"}));
  EXPECT_EQ(paths("nccl", false), (std::vector<std::string_view>{"nccl"}));
}
#endif

TEST(CheckComm, SaysWhatThereIs) {
  const auto told = [](std::string_view comm) {
    try {
      CheckComm(comm, DeviceKind::kHost, 2);
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
    return BroadcastsMayPay(paths, DeviceKind::kHost, Alike({{"host", Line(1, 0.01)}}, dearer), pairs, broadcast);
  };
  EXPECT_TRUE(may(0.5, same));
  EXPECT_FALSE(may(1, same)) << "as long as what it replaces";
  EXPECT_FALSE(may(0.5, {3000, 3000, 3000, 3000})) << "what all need together is too much longer";
  EXPECT_TRUE(may(0.5, {3000, 3000, 1000, 3000})) << "one that gains is enough";
  EXPECT_FALSE(may(0.5, none)) << "nobody has anything to tell";
  EXPECT_FALSE(BroadcastsMayPay(paths, DeviceKind::kHost, CostModel(), pairs, same)) << "nothing is known";
  const PairBytesTable two{{0, 1000}, {1000, 0}};
  EXPECT_FALSE(BroadcastsMayPay(paths, DeviceKind::kHost, Alike({{"host", Line(1, 0.01)}}, 0.1), two, {same.data(), 2}))
      << "between two it is the same buffer";
}

TEST_F(SelectorTest, PredictionsAreOfWhatBuffersHold) {
  CostFit entries = Line(10, 0.001);
  entries.small.gamma_us_per_message = entries.large.gamma_us_per_message = 0.1;
  CostModel model = Alike({{"p2p-direct", entries}}, 2);
  model.set_fit(0, 0, 1, LoadCorner::kAlone, Line(20, 0.001), BufferContent::kMarks);
  model.set_fit(0, 0, 1, LoadCorner::kAlone, Line(30, 0.001), BufferContent::kPayload);
  model.set_fit(0, 0, 1, LoadCorner::kAlone, Line(40, 0.001), BufferContent::kBits);
  for (const bool measured : {false, true}) {
    for (const DeviceKind kind : {DeviceKind::kHost, DeviceKind::kCuda}) {
      SCOPED_TRACE(testing::Message() << measured << ", " << (kind == DeviceKind::kHost ? "hosts" : "GPUs"));
      model.set_measured(measured);
      std::vector<std::unique_ptr<Transport>> paths;
      paths.push_back(Make("p2p-direct"));
      const Selector selector(std::move(paths), kind, Broadcasts::kNever, /*meets=*/true, model);
      const auto predict = [&](PartId to, std::size_t entries, std::size_t places, BufferContent content) {
        return selector.PredictUs(0, 0, to, {1000, entries, places, content}, {});
      };
      // Engines' buffers take longer than a calibration's; what operators hand over is the same.
      const double list = predict(1, 10, 0, BufferContent::kList), more = list - 12;
      EXPECT_EQ(more > 0, measured && kind == DeviceKind::kCuda);
      EXPECT_DOUBLE_EQ(predict(1, 10, 0, BufferContent::kMarks), 21 + more);
      EXPECT_DOUBLE_EQ(predict(1, 10, 8000, BufferContent::kBits), 41 + more);
      EXPECT_DOUBLE_EQ(predict(1, 0, 0, BufferContent::kPayload), 31);
      EXPECT_DOUBLE_EQ(predict(2, 10, 0, BufferContent::kMarks), list) << "as a list where marks were not measured";
      EXPECT_DOUBLE_EQ(predict(2, 10, 8000, BufferContent::kBits), kind == DeviceKind::kCuda ? 11 + more : list)
          << "and words of bits as a block, between GPUs";
      EXPECT_DOUBLE_EQ(predict(2, 0, 0, BufferContent::kPayload), 11);
    }
  }
}

}  // namespace
}  // namespace chatty
