// Which path a message takes, and whether it is one for all, by costs that are set here.
#include "chatty/comm/selector.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<Device*> pointers_;
};

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
      << "between two it is the same box";
}

TEST_F(SelectorTest, AtomicsPayForFewMessages) {
  const CostModel model = Alike({{"p2p-direct", Line(1, 0.001)}, {"staged", Line(2, 0.001)}}, 1);
  const Selector selector = Between({"p2p-direct", "staged"}, model);
  EXPECT_TRUE(selector.AtomicsPay(0));
  EXPECT_TRUE(selector.AtomicsPay(100));
  EXPECT_FALSE(selector.AtomicsPay(10'000'000));
  for (const std::size_t messages : {1, 1000, 4000, 6000, 100000}) {  // what is chosen is what is predicted to be faster
    const BoxShape pairs{messages * 8, messages, 0};
    const bool faster = selector.PredictAtomicsUs(0, 0, 1, pairs, {}) < selector.PredictUs(0, 0, 1, pairs, {});
    EXPECT_EQ(faster, selector.AtomicsPay(messages)) << messages;
  }
  for (PartId from = 0; from < kDevices; ++from) {
    for (PartId to = 0; to < kDevices; ++to) {
      EXPECT_EQ(selector[0].Reaches(from, to), from != to) << from << " to " << to;
      EXPECT_FALSE(selector[1].Reaches(from, to)) << from << " to " << to;
    }
  }
}

TEST_F(SelectorTest, MasksKeepAtomicsFromTheLinksTheyClose) {
  TransportOptions options;
  options.links = LinkMask::Parse("pairs {0,1}{2,3}", kDevices);
  const std::unique_ptr<Transport> path = MakeTransport("p2p-direct", pointers_, Square(64), options);
  EXPECT_TRUE(path->Reaches(0, 1));
  EXPECT_TRUE(path->Reaches(3, 2));
  EXPECT_FALSE(path->Reaches(0, 2));
  EXPECT_FALSE(path->Reaches(3, 1));
}

}  // namespace
}  // namespace chatty
