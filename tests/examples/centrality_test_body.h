/// \file
/// Betweenness centrality, by operators and as a sequence.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "../programs/test_graphs.h"
#include "chatty/core/hash.h"
#include "chatty/framework/registry.h"
#include "examples_fixture.h"

namespace chatty::test {
namespace {

TEST_P(Examples, BetweennessByHand) {
  // From 0, two paths to 3 by way of 1 and of 2, then on to 4.
  const Graph graph = MakeGraph(5, {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {3, 4}});
  Session session = Divided(graph);
  const Answer paths = RunIt({"betweenness", ""}, session, {}, OptionsFor("betweenness"));
  EXPECT_EQ(paths.As<double>(), (std::vector<double>{1, 1, 1, 2, 2}));
  const Answer answer = RunIt({"betweenness", "dependency"}, session, {}, OptionsFor("betweenness"));
  EXPECT_EQ(answer.As<double>(), (std::vector<double>{0, 1, 1, 1, 0}));
}

TEST_P(Examples, CentralityByHand) {
  // From 0, two paths to 3 by way of 1 and of 2, then on to 4; 5 and 6 are elsewhere.
  const Graph graph = MakeGraph(7, {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {3, 4}, {5, 6}});
  Session session = Divided(graph, "random");
  EXPECT_EQ(RunIt({"bc", ""}, session, {{"source", "0"}}).As<double>(), (std::vector<double>{0, 1, 1, 1, 0, 0, 0}));
  EXPECT_EQ(RunIt({"bc", ""}, session, {{"source", "4"}}).As<double>(), std::vector<double>(7, 0.0));
  EXPECT_EQ(RunIt({"bc", ""}, session, {{"sources", "0"}}).As<double>(), (std::vector<double>{0, 1, 1, 3, 0, 0, 0}));
}

TEST_P(Examples, CentralityFromEveryVertexIsBrandesOnOneThread) {
  for (const auto& [name, graph] : Graphs(false)) {
    if (graph.vertices() > 200) continue;
    SCOPED_TRACE(name);
    Session session = Divided(graph, "random");
    std::vector<VertexId> all(graph.vertices());
    std::iota(all.begin(), all.end(), VertexId{0});
    const Array<double> expected = SerialBetweenness(graph, all);
    const std::vector<double> answer = RunIt({"bc", ""}, session, {{"sources", "0"}}).As<double>();
    for (VertexId v = 0; v < graph.vertices(); ++v) ASSERT_NEAR(answer[v], expected[v], 1e-9 * (1 + expected[v])) << v;
  }
}

TEST_P(Examples, CentralityOfLevelsThatAreFoundEachWay) {
  // A hub whose neighbours have other neighbours: from a leaf, the first two levels are one vertex each, and the third is
  // most of the graph. All other vertices are behind the hub.
  constexpr std::uint64_t kSpokes = 6000, kOuter = 900;
  std::vector<TestEdge> edges;
  for (std::uint64_t v = 1; v <= kSpokes; ++v) edges.push_back({0, v});
  for (std::uint64_t v = 1; v <= kOuter; ++v) edges.push_back({v, kSpokes + v});
  const Graph graph = MakeSymmetric(1 + kSpokes + kOuter, edges);
  Session session = Divided(graph, "random");
  const std::vector<double> answer = RunIt({"bc", ""}, session, {{"source", std::to_string(kSpokes)}}).As<double>();
  EXPECT_EQ(answer[0], kSpokes - 1 + kOuter);
  for (std::uint64_t v = 1; v < answer.size(); ++v) ASSERT_EQ(answer[v], v <= kOuter ? 1 : 0) << v;
}

/// Runs bc from one source and from three, the first of which have to leave nothing behind.
inline void ExpectBetweenness(const Graph& graph, Session& session, VertexId source) {
  for (const char* const sources : {"1", "3"}) {
    const ParameterValues parameters{{"source", std::to_string(source)}, {"sources", sources}};
    const Answer answer = RunIt({"bc", ""}, session, parameters);
    const Verdict verdict = Program("bc").Verify(graph, parameters, answer.values, &answer.statistics);
    EXPECT_TRUE(verdict.passed) << sources << " from " << source << ": " << verdict.message;
  }
}

TEST_P(Examples, CentralityOfLevelsThatArePushedByMany) {
  // From a vertex some 30, then 1000 with 30,000 edges, too many for one thread and few against those of the rest.
  for (const bool symmetric : {true, false}) {
    SCOPED_TRACE(symmetric);
    const Graph graph = RandomGraph(401, 20000, symmetric ? 16.0 : 32.0, WeightKind::kNone, symmetric);
    Session session = Divided(graph);
    ExpectBetweenness(graph, session, 1);
    ExpectBetweenness(graph, session, 12345);
  }
}

TEST_P(Examples, CentralityOfALevelThatIsSmallAgainstTheGraph) {
  // 1000 vertices reach 15,000, by more edges than are one thread's and fewer than make a pass over all vertices worth it.
  if (std::get<1>(GetParam()) != Direction::kAuto) GTEST_SKIP() << "operators have no direction";
  constexpr std::uint64_t kFirst = 30, kSecond = 1000, kThird = 15000, kRest = 170000;
  const std::uint64_t second = 1 + kFirst, third = second + kSecond, rest = third + kThird;
  std::vector<TestEdge> edges;
  for (std::uint64_t i = 0; i < kFirst; ++i) edges.push_back({0, 1 + i});
  for (std::uint64_t i = 0; i < kSecond; ++i) edges.push_back({1 + i % kFirst, second + i});
  for (std::uint64_t i = 0; i < 20000; ++i) edges.push_back({second + Hash(i, 1) % kSecond, third + Hash(i, 2) % kThird});
  for (std::uint64_t i = 0; i < 600000; ++i) {
    edges.push_back({(i % 2 == 0 ? third : rest) + Hash(i, 3) % kThird, rest + Hash(i, 4) % kRest});
  }
  const Graph graph = MakeGraph(rest + kRest, edges);
  Session session = Divided(graph);
  ExpectBetweenness(graph, session, 0);
}

TEST_P(Examples, CentralityWhereFewPathsGoOn) {
  // A level of 60,000 edges among itself, from which 40 lead on to the last but one; one of these has very many others.
  constexpr std::uint64_t kWide = 3000, kBehind = 5, kEdges = 60000, kOn = 40;
  std::vector<TestEdge> edges;
  for (std::uint64_t v = 1; v <= kWide; ++v) edges.push_back({0, v});
  for (std::uint64_t i = 0; i < kEdges; ++i) edges.push_back({1 + Hash(i, 1) % kWide, 1 + Hash(i, 2) % kWide});
  for (std::uint64_t v = 1; v <= kWide; ++v) edges.push_back({5, v});
  for (std::uint64_t i = 0; i < kOn; ++i) {
    edges.push_back({i % 4 == 0 ? 5 : 1 + Hash(i, 3) % kWide, kWide + 1 + i % kBehind});
  }
  for (std::uint64_t i = 0; i < kBehind; ++i) edges.push_back({kWide + 1 + i, kWide + kBehind + 1 + i % 2});
  const std::uint64_t vertices = kWide + kBehind + 3;
  for (const bool symmetric : {true, false}) {
    SCOPED_TRACE(symmetric);
    const Graph graph = symmetric ? MakeSymmetric(vertices, edges) : MakeGraph(vertices, edges);
    Session session = Divided(graph, "random");
    ExpectBetweenness(graph, session, 0);
    ExpectBetweenness(graph, session, 7);
  }
}

TEST_P(Examples, CentralityWhereHubsReachMany) {
  // 100 hubs with a third of the edges, which reach the rest by more of them than there are vertices to look; one of the
  // rest has an edge from every other, and hubs at both ends of its row. Once behind 2^399 paths, so that
  // the level behind the hubs has a scale.
  constexpr std::uint64_t kHubs = 100, kRest = 8000, kFromHubs = 20000, kAmong = 45000;
  for (const std::uint64_t diamonds : {0u, 399u}) {
    if (diamonds > 0 && std::get<0>(GetParam()) > 2) continue;  // each level has meetings of all devices
    SCOPED_TRACE(diamonds);
    std::vector<TestEdge> edges;
    for (std::uint64_t i = 0; i < diamonds; ++i) {
      const std::uint64_t a = 3 * i;
      edges.insert(edges.end(), {{a, a + 1}, {a, a + 2}, {a + 1, a + 3}, {a + 2, a + 3}});
    }
    const std::uint64_t from = 3 * diamonds, rest = from + 1 + kHubs / 2, sink = rest + kRest + kHubs / 2;
    const auto hub = [&](std::uint64_t i) {
      return i % kHubs < kHubs / 2 ? from + 1 + i % kHubs : rest + kRest - kHubs / 2 + i % kHubs;
    };
    for (std::uint64_t h = 0; h < 4 * kHubs; ++h) edges.push_back({from, hub(h)});
    for (std::uint64_t i = 0; i < kFromHubs; ++i) edges.push_back({hub(Hash(i, 1)), rest + Hash(i, 2) % kRest});
    for (std::uint64_t i = 0; i < kAmong; ++i) edges.push_back({rest + Hash(i, 3) % kRest, rest + Hash(i, 4) % kRest});
    for (std::uint64_t v = rest; v < rest + kRest; ++v) edges.push_back({v, sink});
    for (std::uint64_t i = 0; i < 60; ++i) edges.push_back({hub(Hash(i, 5)), sink});
    const Graph graph = MakeGraph(sink + 2, edges);
    Session session = Divided(graph, "random");
    ExpectBetweenness(graph, session, 0);
  }
}

TEST_P(Examples, CentralityIsTheSameToTheBitAfterLevelsOfAScale) {
  // 3^k paths, which need a scale, and then layers so wide that many threads push.
  constexpr std::uint64_t kDeep = 254, kWide = 4000, kLayers = 25;
  std::vector<TestEdge> edges;
  for (std::uint64_t layer = 1; layer < kDeep; ++layer) {
    for (std::uint64_t i = 0; i < 9; ++i) edges.push_back({3 * (layer - 1) + i / 3, 3 * layer + i % 3});
  }
  std::uint64_t before = 3 * (kDeep - 1), width = 3, next = 3 * kDeep;
  for (std::uint64_t layer = 0; layer < kLayers; ++layer) {
    for (std::uint64_t i = 0; i < (layer == 0 ? kWide : 8 * kWide); ++i) {
      edges.push_back({before + Hash(layer * 100000 + i) % width, next + i % kWide});
    }
    before = next;
    width = kWide;
    next += kWide;
  }
  const Graph graph = MakeGraph(next, edges);
  Session session = Divided(graph);
  const std::vector<double> answer = RunIt({"bc", ""}, session, {{"source", "0"}}).As<double>();
  for (int again = 0; again < 4; ++again) {
    const std::vector<double> same = RunIt({"bc", ""}, session, {{"source", "0"}}).As<double>();
    for (VertexId v = 0; v < graph.vertices(); ++v) ASSERT_EQ(same[v], answer[v]) << v;
  }
}

TEST_P(Examples, CentralityWherePathsAreTooManyForADouble) {
  // From vertex 0 a chain of diamonds, each of which doubles the paths, and beside it a chain as long with one path: with
  // few diamonds levels need a scale, with many one scale does not do for both.
  if (std::get<1>(GetParam()) != Direction::kAuto) GTEST_SKIP() << "operators have no direction";
  struct Chains {
    std::uint64_t diamonds, tail;  ///< behind the last diamond
    int most_devices;              ///< each level has meetings of all devices
  };
  for (const auto& [diamonds, tail, most] :
       {Chains{1100, 0, 2}, Chains{1960, 9, 1}, Chains{2003, 200000, 1}, Chains{2018, 200000, 1}, Chains{2200, 0, 2}}) {
    if (std::get<0>(GetParam()) > most) continue;
    SCOPED_TRACE(diamonds);
    std::vector<TestEdge> edges;
    const std::uint64_t end = 3 * diamonds, chain = end + tail;
    for (std::uint64_t i = 0; i < diamonds; ++i) {
      const std::uint64_t a = 3 * i;
      edges.insert(edges.end(), {{a, a + 1}, {a, a + 2}, {a + 1, a + 3}, {a + 2, a + 3}});
    }
    for (std::uint64_t v = end; v < chain; ++v) edges.push_back({v, v + 1});
    for (std::uint64_t i = 0; i < 2 * diamonds; ++i) edges.push_back({i == 0 ? 0 : chain + i, chain + i + 1});
    const Graph graph = MakeGraph(1 + chain + 2 * diamonds, edges);
    Session session = Divided(graph);
    const std::vector<double> answer = RunIt({"bc", ""}, session, {{"source", "0"}}).As<double>();
    for (std::uint64_t v = 1; v <= end; ++v) {
      const std::uint64_t behind = 3 * (diamonds - v / 3) + tail;  // vertices behind the end of the diamond before v
      const double expected = v % 3 == 0 ? static_cast<double>(behind) : static_cast<double>(behind - 2) / 2;
      ASSERT_NEAR(answer[v], expected, 1e-9 * (1 + expected)) << v;
    }
    for (std::uint64_t v = end + 1; v <= chain; ++v) ASSERT_EQ(answer[v], static_cast<double>(chain - v)) << v;
    for (std::uint64_t i = 1; i <= 2 * diamonds; ++i) {
      ASSERT_EQ(answer[chain + i], static_cast<double>(2 * diamonds - i)) << i;
    }
  }
}

TEST_P(Examples, CentralityOfStrandsThatDieAndMeet) {
  // Strands of diamonds of which one has hardly a share where they meet, or dies: levels lose their ends, and scales move.
  if (std::get<1>(GetParam()) != Direction::kAuto || std::get<0>(GetParam()) > 2) GTEST_SKIP() << "seen by the others";
  for (const std::array<std::uint64_t, 3>& strands :
       {std::array<std::uint64_t, 3>{1500, 790, 0}, {1990, 500, 0}, {2100, 800, 0}, {700, 690, 5}}) {
    // Each is as long as the first; the first dies, the others meet.
    std::vector<TestEdge> edges;
    std::uint64_t next = 1;
    std::vector<std::uint64_t> ends;
    for (const std::uint64_t doublings : strands) {
      std::uint64_t at = 0;
      for (std::uint64_t i = 0; i < strands[0]; ++i) {
        const std::uint64_t side = next++, other = i < doublings ? next++ : side, meet = next++;
        edges.push_back({at, side});
        edges.push_back({side, meet});
        if (other != side) edges.insert(edges.end(), {{at, other}, {other, meet}});
        at = meet;
      }
      ends.push_back(at);
    }
    const std::uint64_t meeting = next++, last = next++;
    edges.insert(edges.end(), {{ends[1], meeting}, {ends[2], meeting}, {meeting, last}});
    const Graph graph = MakeGraph(next, edges);
    Session session = Divided(graph);
    const Answer answer = RunIt({"bc", ""}, session, {{"source", "0"}, {"sources", "2"}});
    const Verdict verdict =
        Program("bc").Verify(graph, {{"source", "0"}, {"sources", "2"}}, answer.values, &answer.statistics);
    EXPECT_TRUE(verdict.passed) << strands[0] << ": " << verdict.message;
  }
}

TEST_P(Examples, CentralityFromManySourcesCostsWhatTheyReach) {
  const std::uint64_t vertices = std::get<0>(GetParam()) == 1 ? 30000 : 300;
  const Graph graph = MakeGraph(vertices, {{0, 1}, {1, 2}, {vertices - 2, vertices - 1}});
  Session session = Divided(graph);
  const std::vector<double> answer = RunIt({"bc", ""}, session, {{"sources", "0"}}).As<double>();
  for (std::uint64_t v = 0; v < vertices; ++v) ASSERT_EQ(answer[v], v == 1 ? 1 : 0) << v;
}

}  // namespace
}  // namespace chatty::test
