#include "chatty/comm/rings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <tuple>

#include "chatty/comm/cost_model.h"
#include "chatty/core/device.h"
#include "chatty/core/error.h"
#include "machines.h"

namespace chatty {
namespace {

using Order = std::vector<std::size_t>;

void ExpectPermutation(const Ring& ring, std::size_t devices) {
  ASSERT_EQ(ring.order.size(), devices);
  EXPECT_EQ(ring.order.front(), 0u);
  Order sorted = ring.order;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < devices; ++i) EXPECT_EQ(sorted[i], i);
}

/// As wide as it is taken to be.
std::int64_t WidthOf(const Link& link) { return std::llround(link.bandwidth > 0 ? link.bandwidth : kAssumedBandwidth); }

/// What a ring is judged by, larger is better; whole numbers, so that sums do not depend on their order.
std::tuple<std::int64_t, std::int64_t, int> Judge(const Topology& topology, const Order& order) {
  std::int64_t narrowest = std::llround(kMaxLinkBandwidth), total = 0;
  int direct = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Link& hop = topology.link(order[i], order[(i + 1) % order.size()]);
    narrowest = std::min(narrowest, WidthOf(hop));
    total += WidthOf(hop);
    direct += hop.peer_access ? 1 : 0;
  }
  return {narrowest, total, direct};
}

Order BruteForce(const Topology& topology) {
  Order order(topology.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  Order best = order;
  while (std::next_permutation(order.begin() + 1, order.end())) {  // in lexicographic order: the first of equals stays
    if (Judge(topology, order) > Judge(topology, best)) best = order;
  }
  return best;
}

/// Random links with few different widths, so that there are many ties; each direction its own, and some not known.
Topology Random(std::size_t devices, int widths, std::mt19937& random) {
  Topology topology("random", machines::Gpus(devices, "GPU", 1, 1, 3));
  for (std::size_t from = 0; from < devices; ++from) {
    for (std::size_t to = 0; to < devices; ++to) {
      if (from == to) continue;
      topology.link(from, to).type = LinkType::kHostBridge;
      topology.link(from, to).bandwidth = static_cast<double>(random() % static_cast<unsigned>(widths)) * 1e9;
      topology.link(from, to).peer_access = random() % 2 == 0;
    }
  }
  return topology;
}

TEST(Rings, AreTheBestThatThereAre) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 300; ++trial) {
    const std::size_t devices = 1 + random() % 7;
    const Topology topology = Random(devices, 2 + static_cast<int>(random() % 6), random);
    const Rings rings = FindRings(topology);
    ExpectPermutation(rings.best, devices);
    EXPECT_TRUE(rings.exact);
    ASSERT_EQ(rings.best.order, BruteForce(topology)) << "trial " << trial << ", " << devices << " devices";
    EXPECT_EQ(rings, FindRings(topology));
  }
}

TEST(Rings, SayWhatTheyCarry) {
  const Topology topology = machines::UnequalRing();
  const Ring ring = FindRings(topology).best;
  EXPECT_EQ(ring.order, (Order{0, 1, 2, 3}));
  EXPECT_EQ(ring.bandwidth, 25e9) << "one NVLink from 1 to 2";
  EXPECT_EQ(ring.total, (4 + 1 + 3 + 2) * 25e9);
  EXPECT_EQ(ring.narrowest, 1u);
  EXPECT_EQ(ring.Next(ring.narrowest), 2u);
  EXPECT_EQ(ring.Next(3), 0u);
}

TEST(Rings, GoTheWiderWayRound) {
  Topology topology("one way", machines::Gpus(3, "GPU", 1, 1, 3));
  for (std::size_t i = 0; i < 3; ++i) {
    topology.link(i, (i + 1) % 3).bandwidth = 1e9;
    topology.link((i + 1) % 3, i).bandwidth = 2e9;
  }
  EXPECT_EQ(FindRings(topology).best.order, (Order{0, 2, 1}));
}

TEST(Rings, OfOneAndOfTwo) {
  Topology one("one", machines::Gpus(1, "GPU", 1, 1, 3));
  EXPECT_EQ(FindRings(one).best.order, Order{0});
  EXPECT_EQ(FindRings(one).best.bandwidth, 0);
  Topology two("two", machines::Gpus(2, "GPU", 1, 1, 3));
  machines::JoinByNvlinks(two, 0, 1, 4, 3);
  const Rings rings = FindRings(two);
  EXPECT_EQ(rings.best.order, (Order{0, 1}));
  EXPECT_EQ(rings.best.bandwidth, 100e9);
  EXPECT_TRUE(rings.disjoint.empty()) << "the one ring has all links of the pair";
}

TEST(Rings, OfTheDgx1AreNvlinksAlone) {
  const Topology topology = machines::Dgx1();
  const Rings rings = FindRings(topology);
  for (std::size_t hop = 0; hop < 8; ++hop) {
    const Link& link = topology.link(rings.best.order[hop], rings.best.Next(hop));
    EXPECT_EQ(link.type, LinkType::kNvlink);
    EXPECT_EQ(link.nvlinks, 2) << "the double links join all eight";
  }
  EXPECT_EQ(rings.best.order, (Order{0, 3, 2, 1, 5, 6, 7, 4})) << "NCCL's";
  EXPECT_EQ(rings.best.bandwidth, 50e9);
}

/// Takes each ring's links from a copy of the machine's; expects that they suffice.
void ExpectDisjoint(const Topology& topology, const std::vector<Ring>& rings) {
  std::map<std::pair<std::size_t, std::size_t>, int> used;
  for (const Ring& ring : rings) {
    ExpectPermutation(ring, topology.size());
    for (std::size_t hop = 0; hop < ring.order.size(); ++hop) {
      const std::pair<std::size_t, std::size_t> pair = std::minmax(ring.order[hop], ring.Next(hop));
      EXPECT_LE(++used[pair], topology.link(pair.first, pair.second).nvlinks) << pair.first << " and " << pair.second;
    }
  }
}

TEST(Rings, OfTheDgx1LeaveNoLinkIdle) {
  const Topology topology = machines::Dgx1();
  const Rings rings = FindRings(topology);
  EXPECT_EQ(rings.disjoint.size(), 3u) << "six links a GPU, two for each ring";
  EXPECT_TRUE(rings.disjoint_exact);
  ExpectDisjoint(topology, rings.disjoint);
  for (const Ring& ring : rings.disjoint) EXPECT_EQ(ring.bandwidth, 25e9) << "one link a hop";
}

/// The most rings that share no link, by trying all sets.
std::size_t MostDisjoint(std::vector<std::vector<int>>& left) {
  Order order(left.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::size_t most = 0;
  do {
    if (order[1] > order.back()) continue;
    const auto take = [&](int count) {
      bool enough = true;
      for (std::size_t i = 0; i < order.size(); ++i) {
        const std::size_t a = order[i], b = order[(i + 1) % order.size()];
        left[a][b] -= count;
        left[b][a] -= count;
        enough &= left[a][b] >= 0;
      }
      return enough;
    };
    if (take(1)) most = std::max(most, 1 + MostDisjoint(left));
    take(-1);
  } while (std::next_permutation(order.begin() + 1, order.end()));
  return most;
}

TEST(Rings, DisjointOnesAreAsManyAsThereAre) {
  std::mt19937 random(2);
  std::size_t found = 0;
  for (int trial = 0; trial < 100; ++trial) {
    const std::size_t devices = 3 + random() % 3;
    Topology topology("random", machines::Gpus(devices, "GPU", 1, 1, 3));
    std::vector<std::vector<int>> left(devices, std::vector<int>(devices, 0));
    for (std::size_t a = 0; a < devices; ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        const int count = static_cast<int>(random() % 4);
        left[a][b] = left[b][a] = count;
        if (count > 0) machines::JoinByNvlinks(topology, a, b, count, 2);
      }
    }
    const Rings rings = FindRings(topology);
    ExpectDisjoint(topology, rings.disjoint);
    EXPECT_TRUE(rings.disjoint_exact);
    ASSERT_EQ(rings.disjoint.size(), MostDisjoint(left)) << "trial " << trial;
    found += rings.disjoint.size();
  }
  EXPECT_GT(found, 30u);
}

TEST(Rings, DisjointOnesNeedNvlinksOfTheirOwn) {
  EXPECT_TRUE(FindRings(machines::NvSwitch(8)).disjoint.empty()) << "one ring can have all links to the switch";
  EXPECT_TRUE(FindRings(machines::TwoQuads()).disjoint.empty());
  EXPECT_TRUE(FindRings(machines::NoPeers()).disjoint.empty());
  EXPECT_EQ(FindRings(machines::UnequalRing()).disjoint.size(), 1u);
  EXPECT_TRUE(FindRings(Masked(machines::UnequalRing(), LinkMask::Parse("pairs {0,1,2}", 4))).disjoint.empty());
}

TEST(Rings, DisjointOnesAreThereBesideASwitch) {
  Topology mixed("", machines::Gpus(5, "GPU", 1, 1, 3));
  for (std::size_t i = 0; i < 5; ++i) machines::JoinByNvlinks(mixed, i, (i + 1) % 5, 2, 2);
  const std::size_t without = FindRings(mixed).disjoint.size();
  EXPECT_EQ(without, 2u);
  machines::JoinByNvlinks(mixed, 0, 2, 2, 2);
  mixed.link(0, 2).switched = mixed.link(2, 0).switched = true;
  const Rings rings = FindRings(mixed);
  EXPECT_EQ(rings.disjoint.size(), without) << "one pair behind a switch takes no link from the others";
  for (const Ring& ring : rings.disjoint) {
    for (std::size_t hop = 0; hop < 5; ++hop) EXPECT_FALSE(mixed.link(ring.order[hop], ring.Next(hop)).switched);
  }
}

TEST(Rings, WhatIsNotKnownCountsAsCostsTakeItAndIsTold) {
  Topology topology("", machines::Gpus(4, "GPU", 1, 1, 1));  // through the host 4 GB/s
  EXPECT_TRUE(FindRings(topology).known);
  for (const auto& [a, b] : {std::pair(0, 2), std::pair(2, 1), std::pair(1, 3), std::pair(3, 0)}) {
    machines::JoinByNvlinks(topology, a, b, 2, 2);
    topology.link(a, b).bandwidth = topology.link(b, a).bandwidth = 0;
  }
  Rings rings = FindRings(topology);
  EXPECT_EQ(rings.best.order, (Order{0, 2, 1, 3})) << "it was taken for no way at all";
  EXPECT_EQ(rings.best.bandwidth, 0);
  EXPECT_FALSE(rings.known);
  const CostModel model = CostModel::Nominal(topology);
  Topology assumed = topology;
  for (const auto& [a, b] : {std::pair(0, 2), std::pair(2, 1), std::pair(1, 3), std::pair(3, 0)}) {
    assumed.link(a, b).bandwidth = assumed.link(b, a).bandwidth = kAssumedBandwidth;
  }
  EXPECT_EQ(model, CostModel::Nominal(assumed)) << "rings and costs take the same for granted";
  EXPECT_TRUE(FindRings(assumed).known);
  EXPECT_TRUE(FindRings(Topology("", machines::Gpus(2, "GPU", 1, 1, 0))).known) << "of two there is one";
  EXPECT_TRUE(FindRings(DiscoverTopology(ParseDevices("host:4"))).known) << "between hosts nothing is taken for granted";
}

TEST(Rings, OfTwoQuadsCrossTheSocketsTwice) {
  std::mt19937 random(3);
  std::vector<std::size_t> order(8);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (int trial = 0; trial < 50; ++trial) {
    const Topology topology = machines::Reordered(machines::TwoQuads(), order);
    const Ring ring = FindRings(topology).best;
    int crossings = 0;
    for (std::size_t hop = 0; hop < 8; ++hop) {
      const Link& link = topology.link(ring.order[hop], ring.Next(hop));
      crossings += link.type == LinkType::kSockets ? 1 : 0;
      EXPECT_EQ(link.peer_access, link.type != LinkType::kSockets);
    }
    EXPECT_EQ(crossings, 2) << "trial " << trial;
    std::shuffle(order.begin(), order.end(), random);
  }
}

TEST(Rings, WithoutPeersGoThroughTheHost) {
  const Topology topology = machines::NoPeers();
  const Ring ring = FindRings(topology).best;
  ExpectPermutation(ring, 4);
  for (std::size_t hop = 0; hop < 4; ++hop) {
    EXPECT_EQ(topology.link(ring.order[hop], ring.Next(hop)).type, LinkType::kHostMemory);
  }
  EXPECT_EQ(ring.bandwidth, PcieBandwidth(4, 16));
}

TEST(Rings, OfASwitchAreAsGoodAsAny) {
  const Rings rings = FindRings(machines::NvSwitch(8));
  EXPECT_EQ(rings.best.order, (Order{0, 1, 2, 3, 4, 5, 6, 7})) << "the least of equals";
  EXPECT_EQ(rings.best.bandwidth, 450e9);
}

TEST(Rings, OfManyDevicesFollowTheWideLinks) {
  std::mt19937 random(4);
  for (const std::size_t devices : {13u, 24u, 64u}) {
    // A ring of wide links in random order; of the others some are as wide as leads astray.
    Order planted(devices);
    std::iota(planted.begin(), planted.end(), std::size_t{0});
    std::shuffle(planted.begin() + 1, planted.end(), random);
    Topology topology("planted", machines::Gpus(devices, "GPU", 1, 1, 3));
    for (std::size_t i = 0; i < devices; ++i)
      machines::JoinByNvlinks(topology, planted[i], planted[(i + 1) % devices], 2, 2);
    const Rings rings = FindRings(topology);
    ExpectPermutation(rings.best, devices);
    EXPECT_FALSE(rings.exact);
    EXPECT_EQ(rings.best.bandwidth, 50e9) << devices << " devices";
    EXPECT_EQ(rings, FindRings(topology));
  }
}

TEST(Rings, OfManyDevicesKeepIslandsTogether) {
  // Eight islands of eight; between them all is narrow, so no ring is wider, but one that hops at random has a lesser sum.
  Topology topology("islands", machines::Gpus(64, "GPU", 1, 1, 3));
  for (std::size_t a = 0; a < 64; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      if (a % 8 == b % 8) machines::JoinByNvlinks(topology, a, b, 6, 3);
    }
  }
  const Ring ring = FindRings(topology).best;
  ExpectPermutation(ring, 64);
  int outside = 0;
  for (std::size_t hop = 0; hop < 64; ++hop) outside += ring.order[hop] % 8 != ring.Next(hop) % 8 ? 1 : 0;
  EXPECT_EQ(outside, 8) << "each island is left once";
}

TEST(Rings, OfManyDevicesAreBetterThanChance) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 10; ++trial) {
    const Topology topology = Random(13 + random() % 8, 8, random);
    const Ring ring = FindRings(topology).best;
    ExpectPermutation(ring, topology.size());
    Order order = ring.order;
    for (int i = 0; i < 20000; ++i) {
      std::shuffle(order.begin() + 1, order.end(), random);
      ASSERT_GE(Judge(topology, ring.order), Judge(topology, order)) << "trial " << trial;
    }
  }
}

TEST(Rings, RefuseWhatIsNoTopology) {
  EXPECT_THROW(FindRings(Topology()), UsageError);
  Topology broken = machines::Dgx1();
  broken.link(0, 1).bandwidth = std::nan("");
  EXPECT_THROW(FindRings(broken), UsageError);
}

}  // namespace
}  // namespace chatty
