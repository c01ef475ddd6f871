/// \file
/// Programs that are active every round: what UpdateStatus returns does not matter, nor in which order what sources share
/// stands, nor how rows are cut.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "../prebuilt_programs.h"
#include "chatty/core/device.h"
#include "chatty/core/hash.h"
#include "chatty/framework/run.h"
#include "chatty/io/generators.h"
#include "test_inputs.h"

namespace chatty::test {

/// Each round a vertex takes the sum of its neighbours' values, modulo a prime, and claims never to have changed.
template <bool kReturned>
struct NeighbourSum {
  using Value = std::uint32_t;
  using Message = std::uint64_t;
  static constexpr auto kReduction = Reduction::kSum;
  static constexpr auto kSafety = Safety::kSynchronous;
  static constexpr auto kActivity = Activity::kEveryRound;
  std::uint32_t rounds = 5;

  CHATTY_FN Value InitVertex(Vertex v) const { return static_cast<Value>(v.id + 1); }
  CHATTY_FN Message ComputeScatter(const Value& value, Edge<>, const Round<>&) const { return value; }
  CHATTY_FN bool UpdateStatus(Value& value, Message m, Vertex, const Round<>&) const {
    value = static_cast<Value>(m % 1000003);
    return kReturned;
  }
  Next EndRound(Round<>& round) const { return round.index >= rounds ? Next::kStop : Next::kContinue; }
};

inline Array<std::uint32_t> Serial(const Graph& graph, std::uint32_t rounds) {
  Array<std::uint32_t> values(graph.vertices());
  for (VertexId v = 0; v < graph.vertices(); ++v) values[v] = static_cast<std::uint32_t>(v + 1);
  for (std::uint32_t r = 0; r < rounds; ++r) {
    Array<std::uint32_t> next(graph.vertices());
    for (VertexId v = 0; v < graph.vertices(); ++v) {
      std::uint64_t sum = 0;
      for (const VertexId u : graph.in()[v]) sum += values[u];
      next[v] = static_cast<std::uint32_t>(sum % 1000003);
    }
    values = std::move(next);
  }
  return values;
}

/// Of each edge its weight and its source's id go into the message, besides what the source shares, which is not its value.
struct WeightedNeighbours {
  using Value = std::uint64_t;
  using Shared = std::uint32_t;
  using Message = std::uint64_t;
  using Weight = std::int32_t;
  using Global = std::uint64_t;
  static constexpr auto kReduction = Reduction::kSum;
  static constexpr auto kSafety = Safety::kSynchronous;
  static constexpr auto kActivity = Activity::kEveryRound;

  CHATTY_FN Value InitVertex(Vertex v) const { return v.id + 1; }
  CHATTY_FN Shared Share(const Value& value, Vertex v) const {
    return static_cast<Shared>((value + 3 * v.out_degree + 5 * v.in_degree) % 1000003);
  }
  CHATTY_FN Message ComputeScatter(const Shared& shared, Edge<Weight> edge, const Round<Global>& round) const {
    return shared + static_cast<std::uint64_t>(edge.weight) * (edge.source % 101) + edge.target % 7 + round.global % 11;
  }
  CHATTY_FN bool UpdateStatus(Value& value, Message m, Vertex v, const Round<Global>&) const {
    value = (m + 7 * v.in_degree) % 1000003;
    return true;
  }
  CHATTY_FN Global Measure(const Value& value, Vertex v) const { return value * (1 + v.out_degree); }
  Next EndRound(Round<Global>& round) const { return round.index >= 4 ? Next::kStop : Next::kContinue; }
};

inline std::vector<std::uint64_t> SerialWeighted(const Graph& graph) {
  const VertexId n = graph.vertices();
  std::vector<std::uint64_t> values(n), shared(n), next(n);
  for (VertexId v = 0; v < n; ++v) values[v] = v + 1;
  const auto weights = std::get<Array<std::int32_t>>(graph.in().weights).span();
  for (int r = 0; r < 4; ++r) {
    std::uint64_t global = 0;
    for (VertexId v = 0; v < n; ++v) {
      shared[v] = (values[v] + 3 * graph.out_degree(v) + 5 * graph.in_degree(v)) % 1000003;
      global += values[v] * (1 + graph.out_degree(v));
    }
    for (VertexId v = 0; v < n; ++v) {
      std::uint64_t sum = 0;
      for (EdgeIndex e = graph.in().offsets[v]; e < graph.in().offsets[v + 1]; ++e) {
        const VertexId u = graph.in().neighbours[e];
        sum += shared[u] + static_cast<std::uint64_t>(weights[e]) * (u % 101) + v % 7 + global % 11;
      }
      next[v] = (sum + 7 * graph.in_degree(v)) % 1000003;
    }
    values.swap(next);
  }
  return values;
}

/// Two rounds a phase, of which each has a say in messages, updates and what is measured; EndRound changes the sum that the
/// next round sees. What is shared is no word's size.
struct Phased {
  struct Shared {
    std::uint32_t value, out, in;
  };
  using Value = std::uint64_t;
  using Message = std::uint64_t;
  using Global = std::uint64_t;
  static constexpr auto kReduction = Reduction::kSum;
  static constexpr auto kSafety = Safety::kSynchronous;
  static constexpr auto kActivity = Activity::kEveryRound;
  static constexpr std::uint32_t kPhases = 3;

  CHATTY_FN Value InitVertex(Vertex v) const { return v.id + 1; }
  CHATTY_FN bool IsActive(const Value&, const Round<Global>&) const { return true; }
  CHATTY_FN Shared Share(const Value& value, Vertex v) const {
    return {static_cast<std::uint32_t>(value % 1000003), static_cast<std::uint32_t>(v.out_degree),
            static_cast<std::uint32_t>(v.in_degree)};
  }
  CHATTY_FN Message ComputeScatter(const Shared& shared, Edge<>, const Round<Global>& round) const {
    return shared.value + 3 * shared.out + 5 * shared.in * round.phase + round.global % 13 + round.index;
  }
  CHATTY_FN bool UpdateStatus(Value& value, Message m, Vertex v, const Round<Global>& round) const {
    value = (m + v.id * round.phase + round.index) % 1000003;
    return true;
  }
  CHATTY_FN Global Measure(const Value& value, Vertex v, const Round<Global>& round) const {
    return value * (1 + v.in_degree) + round.phase * 1000 + round.index * 100 + round.global % 7;
  }
  Next EndRound(Round<Global>& round) const {
    round.global += 11;
    if (round.index % 2 != 0) return Next::kContinue;
    return round.phase + 1 < kPhases ? Next::kNextPhase : Next::kStop;
  }
};

inline std::vector<std::uint64_t> SerialPhased(const Graph& graph) {
  const Phased program;
  const VertexId n = graph.vertices();
  const auto vertex = [&](VertexId v) { return Vertex{v, graph.out_degree(v), graph.in_degree(v)}; };
  std::vector<std::uint64_t> values(n), next(n);
  Round<std::uint64_t> round;
  const auto measure = [&] {
    std::uint64_t sum = 0;
    for (VertexId v = 0; v < n; ++v) sum += program.Measure(values[v], vertex(v), round);
    round.global = sum;
  };
  for (VertexId v = 0; v < n; ++v) values[v] = program.InitVertex(vertex(v));
  measure();
  while (true) {
    for (VertexId v = 0; v < n; ++v) {
      std::uint64_t sum = 0;
      for (const VertexId u : graph.in()[v]) sum += program.ComputeScatter(program.Share(values[u], vertex(u)), {}, round);
      next[v] = values[v];
      program.UpdateStatus(next[v], sum, vertex(v), round);
    }
    values.swap(next);
    measure();
    round.index += 1;
    const Next decision = program.EndRound(round);
    if (decision == Next::kStop) return values;
    if (decision == Next::kContinue) continue;
    round.phase += 1;
    measure();
  }
}

/// NeighbourSum of what is shared apart, and of what sources have become in the round itself where a device can.
struct GaussSeidelSum {
  using Value = std::uint32_t;
  using Shared = std::uint32_t;
  using Message = std::uint64_t;
  static constexpr auto kReduction = Reduction::kSum;
  static constexpr auto kSafety = Safety::kSynchronous;
  static constexpr auto kActivity = Activity::kEveryRound;
  bool fresh = true;

  CHATTY_FN Value InitVertex(Vertex v) const { return static_cast<Value>(v.id + 1); }
  CHATTY_FN Shared Share(const Value& value, Vertex) const { return value + 7; }
  CHATTY_FN Message ComputeScatter(const Shared& shared, Edge<>, const Round<>&) const { return shared; }
  CHATTY_FN bool UpdateStatus(Value& value, Message m, Vertex, const Round<>& round) const {
    value = static_cast<Value>((m + static_cast<std::uint64_t>(round.kept[0])) % 1000003);
    return true;
  }
  CHATTY_FN bool AllowsGaussSeidel() const { return fresh; }
  Next EndRound(Round<>& round) const {
    round.kept[0] += round.index;  // which the next round sees
    return round.index >= 5 ? Next::kStop : Next::kContinue;
  }
};

/// Serially: vertices of a stripe see what those of stripes have become that lie `lag` below, at least; 0: of none.
inline std::vector<std::uint32_t> SerialGaussSeidel(const Graph& graph, std::uint64_t lag) {
  constexpr std::uint64_t kStripe = 1u << 15;
  const VertexId n = graph.vertices();
  std::vector<std::uint32_t> values(n), old(n);
  for (VertexId v = 0; v < n; ++v) values[v] = v + 1;
  std::uint64_t kept = 0;
  for (std::uint32_t round = 1; round <= 5; ++round) {
    old = values;
    for (VertexId v = 0; v < n; ++v) {
      const std::uint64_t stripe = v / kStripe;
      const std::uint64_t fresh = lag == 0 || stripe < lag ? 0 : (stripe - lag + 1) * kStripe;
      std::uint64_t sum = 0;
      for (const VertexId u : graph.in()[v]) sum += (u < fresh ? values[u] : old[u]) + 7;
      values[v] = static_cast<std::uint32_t>((sum + kept) % 1000003);
    }
    kept += round;
  }
  return values;
}

inline constexpr Tiling kTilings[] = {Tiling::kNever, Tiling::kAuto, Tiling::kAlways};

/// Rows of a few edges, nearly all to vertices close by: some far away, by just more or just less than 16 bits say, some
/// rows too long for a lane, one for a warp, and 32 vertices in a row with as many edges together as are near, and one more.
inline Graph FewEdgesARow() {
  constexpr std::uint64_t kVertices = 150007;
  std::vector<TestEdge> edges;
  const auto add = [&](std::uint64_t u, std::uint64_t v) {
    if (u < kVertices && v < kVertices) edges.push_back({u, v, static_cast<double>(Hash(u * 31 + v) % 31)});
  };
  for (std::uint64_t v = 0; v < kVertices; ++v) {
    if (v / 1024 % 5 == 4) continue;  // whole words without any
    if (Hash(v) % 8 != 0) add(v, v + 1);
    if (Hash(v) % 3 != 0) add(v + 300, v);
    if (v % 10007 == 0) add(v, Hash(v) % kVertices);
  }
  for (const std::uint64_t v : {2048u, 40000u, 90000u}) {
    for (const std::int64_t distance : {32767, 32768, 32769, -32767, -32768, -32769})
      add(v + static_cast<std::uint64_t>(distance), v);
  }
  for (std::uint64_t k = 0; k < 9; ++k) add(5000 + 7 * k, 5555);
  for (std::uint64_t k = 0; k < 70; ++k) add(6000 + 3 * k, 6111);
  for (std::uint64_t k = 0; k < 5000; ++k) add(20000 + 11 * k, 33333);
  for (std::uint64_t k = 0; k < 4 * 32; ++k) add(4096 + 2 * k, 4608 + k / 4);  // in the gap of the rows above
  for (std::uint64_t k = 0; k < 4 * 32 + 1; ++k) add(4096 + 2 * k, 4640 + k / 5);
  return MakeGraph(kVertices, edges, WeightKind::kInt32);
}

class EveryRound : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const std::string reason = WhyNotShared(GetParam()); !reason.empty()) GTEST_SKIP() << reason;
  }
};

TEST_P(EveryRound, WhatUpdateStatusReturnsDoesNotMatter) {
  GeneratorSpec spec;
  spec.family = "kron";
  spec.scale = 9;
  spec.edge_factor = 6;
  const Graph graph = Generate(spec);
  const Array<std::uint32_t> expected = Serial(graph, 5);
  for (const Direction direction : {Direction::kAuto, Direction::kPush, Direction::kPull}) {
    RunOptions options;
    options.direction = direction;
    Session session(graph, SharedDevices(GetParam()));
    const auto silent = chatty::Run(session, NeighbourSum<false>{}, options);
    const auto loud = chatty::Run(session, NeighbourSum<true>{}, options);
    for (VertexId v = 0; v < graph.vertices(); ++v) {
      ASSERT_EQ(silent.values[v], expected[v]) << "vertex " << v;
      ASSERT_EQ(loud.values[v], expected[v]) << "vertex " << v;
    }
  }
}

inline void ExpectTheSameByTiles(const Graph& graph, const char* devices) {
  const Array<std::uint32_t> expected = Serial(graph, 5);
  for (const Tiling tiling : kTilings) {
    RunOptions options;
    options.tiling = tiling;
    Session session(graph, SharedDevices(devices));
    const auto run = chatty::Run(session, NeighbourSum<false>{}, options);
    EXPECT_EQ(run.statistics.edges_touched, 5 * graph.edges());
    for (VertexId v = 0; v < graph.vertices(); ++v) ASSERT_EQ(run.values[v], expected[v]) << "vertex " << v;
  }
}

TEST_P(EveryRound, TilesHoldEveryEdgeOnce) {
  GeneratorSpec spec;
  spec.family = "kron";
  spec.scale = 17;  // several tiles either way, and rows with runs in several
  spec.edge_factor = 4;
  ExpectTheSameByTiles(Generate(spec), GetParam());
}

TEST_P(EveryRound, GaussSeidelRoundsSeeWhatHasEndedAndRepeatThemselves) {
  const Graph graph = FewEdgesARow();
  const std::string devices = GetParam();
  for (const Tiling tiling : {Tiling::kNever, Tiling::kAlways}) {
    for (const bool wanted : {false, true}) {
      const bool fresh = wanted && tiling == Tiling::kAlways && devices == "host:1";
      for (const int threads : {1, 2, 3}) {
        SCOPED_TRACE(fmt::format("tiling {}, {}, {} threads", static_cast<int>(tiling), wanted, threads));
        const std::vector<std::uint32_t> expected = SerialGaussSeidel(graph, fresh ? std::max(2, threads) : 0);
        Session session(graph, SharedDevices(devices, threads));
        RunOptions options;
        options.tiling = tiling;
        const auto run = chatty::Run(session, GaussSeidelSum{wanted}, options);
        EXPECT_EQ(run.statistics.gauss_seidel_rounds, fresh ? 5u : 0u);
        for (VertexId v = 0; v < graph.vertices(); ++v) ASSERT_EQ(run.values[v], expected[v]) << "vertex " << v;
        const auto again = chatty::Run(session, GaussSeidelSum{wanted}, options);
        for (VertexId v = 0; v < graph.vertices(); ++v) ASSERT_EQ(again.values[v], expected[v]) << "vertex " << v;
      }
    }
  }
}

TEST_P(EveryRound, GaussSeidelRanksSettleEarlier) {
  GeneratorSpec spec;
  spec.family = "kron";
  spec.scale = 18;
  spec.edge_factor = 8;
  const Graph graph = Generate(spec);
  // Two threads: the more there are, the fewer ranks of a round are seen by others in it, and with eight nothing is gained
  // here.
  Session session(graph, SharedDevices(GetParam(), 2));
  for (const double tolerance : {1e-4, 1e-6}) {
    PageRank program;
    program.tolerance = tolerance;
    RunOptions options;
    options.tiling = Tiling::kNever;
    const auto rounds = chatty::Run(session, program, options);
    EXPECT_EQ(rounds.statistics.gauss_seidel_rounds, 0u);
    options.tiling = Tiling::kAlways;
    const auto fresh = chatty::Run(session, program, options);
    const Verdict verdict = program.Verify(graph, fresh.values.span(), fresh.statistics);
    EXPECT_TRUE(verdict.passed) << verdict.message;
    EXPECT_TRUE(fresh.statistics.converged);
    if (std::string(GetParam()) != "host:1") continue;
    EXPECT_EQ(fresh.statistics.gauss_seidel_rounds, fresh.statistics.rounds);
    EXPECT_LT(fresh.statistics.rounds, rounds.statistics.rounds + (tolerance < 1e-4));
    options.max_rounds = 3;  // not settled, and told so
    const auto some = chatty::Run(session, program, options);
    EXPECT_FALSE(some.statistics.converged);
    EXPECT_TRUE(program.Verify(graph, some.values.span(), some.statistics));
  }
}

// Directed: the last `fed` vertices have in-edges, all others have out-edges alone; `earlier`: to any vertex before instead.
inline Graph FewFed(VertexId vertices, VertexId fed, EdgeIndex degree, bool earlier) {
  std::mt19937_64 random(vertices + fed);
  Adjacency rows;
  rows.offsets = Array<EdgeIndex>(std::size_t{vertices} + 1, 0);
  std::vector<VertexId> targets;
  for (VertexId v = 0; v < vertices; ++v) {
    const VertexId choice = earlier ? v : fed;
    for (EdgeIndex k = 0; k < degree && choice > 0 && (degree > 1 || v < vertices - fed); ++k) {
      const auto chosen = static_cast<VertexId>(random() % choice);
      targets.push_back(earlier ? chosen : vertices - fed + chosen);
    }
    std::sort(targets.begin() + static_cast<std::ptrdiff_t>(rows.offsets[v]), targets.end());
    rows.offsets[v + 1] = targets.size();
  }
  rows.neighbours = Array<VertexId>(std::span<const VertexId>(targets));
  return Graph(std::move(rows), /*symmetric=*/false);
}

TEST_P(EveryRound, GaussSeidelRanksSettleWhateverHandsOutAndSumToOneWheneverTheyEnd) {
  const std::pair<std::string, Graph> graphs[] = {{"an edge", FewFed(2, 1, 1, false)},
                                                  {"a star", FewFed(10, 1, 1, false)},
                                                  {"a large star", FewFed(1001, 1, 1, false)},
                                                  {"half sources", FewFed(140'000, 70'000, 4, false)},
                                                  {"sources in the main", FewFed(140'000, 14'000, 4, false)},
                                                  {"citations", FewFed(140'000, 0, 4, true)}};
  for (const auto& [name, graph] : graphs) {
    SCOPED_TRACE(name);
    Session session(graph, SharedDevices(GetParam()));
    RunOptions options;
    options.tiling = Tiling::kAlways;
    PageRank program;
    const auto settled = chatty::Run(session, program, options);
    EXPECT_TRUE(settled.statistics.converged);
    EXPECT_LE(settled.statistics.rounds, 32u);
    const Verdict verdict = program.Verify(graph, settled.values.span(), settled.statistics);
    EXPECT_TRUE(verdict.passed) << verdict.message;
    for (options.max_rounds = 1; options.max_rounds < 4; ++options.max_rounds) {
      const auto ended = chatty::Run(session, program, options);
      double sum = 0;
      for (const float rank : ended.values.span()) sum += rank;
      EXPECT_NEAR(sum, 1, 1e-5) << options.max_rounds;
    }
  }
}

TEST_P(EveryRound, RanksThatDoNotSumToOneAreNoFreshRanks) {
  const Graph graph = FewFed(1001, 1, 1, false);
  PageRank program;
  RunOptions options;
  options.tiling = Tiling::kAlways;
  options.max_rounds = 1;  // what so many rounds leave is a bound that nearly all ranks keep
  Session session(graph, SharedDevices(GetParam()));
  auto ended = chatty::Run(session, program, options);
  if (ended.statistics.gauss_seidel_rounds == 0) GTEST_SKIP() << "of Gauss-Seidel rounds";
  EXPECT_TRUE(program.Verify(graph, ended.values.span(), ended.statistics));
  for (float& rank : ended.values.span()) rank *= 1.001f;
  EXPECT_FALSE(program.Verify(graph, ended.values.span(), ended.statistics));
}

TEST_P(EveryRound, TilesOfADirectedGraphWithMoreParallelEdgesThanARunHolds) {
  // 0 -> 1 so often that its run is cut, 1 -> 2 as often as makes the shortest run, 2 -> 0 once less.
  const std::size_t times[] = {70000, 8, 7};
  Adjacency rows;
  rows.offsets = Array<EdgeIndex>(4, 0);
  std::vector<VertexId> targets;
  for (VertexId v = 0; v < 3; ++v) {
    targets.insert(targets.end(), times[v], (v + 1) % 3);
    rows.offsets[v + 1] = targets.size();
  }
  rows.neighbours = Array<VertexId>(std::span<const VertexId>(targets));
  ExpectTheSameByTiles(Graph(std::move(rows), /*symmetric=*/false), GetParam());
}

TEST_P(EveryRound, EdgesAreSeenWithTheirWeightsAndEnds) {
  // Sorry cases, rows that a lane, some lanes or a warp walks, and hubs whose rows are cut.
  std::vector<NamedGraph> graphs = MixedGraphs(WeightKind::kInt32);
  graphs.push_back({"hubs", HubGraph(7, 20000, WeightKind::kInt32, false)});
  graphs.push_back({"symmetric hubs", HubGraph(8, 20000, WeightKind::kInt32, true)});
  graphs.push_back({"few edges a row", FewEdgesARow()});
  for (const NamedGraph& input : graphs) {
    const std::vector<std::uint64_t> expected = SerialWeighted(input.graph);
    for (const Tiling tiling : kTilings) {
      for (const Direction direction : {Direction::kPull, Direction::kPush}) {
        SCOPED_TRACE(fmt::format("{}, {}, {}", input.name, static_cast<int>(tiling), direction == Direction::kPull));
        RunOptions options;
        options.tiling = tiling;
        options.direction = direction;
        Session session(input.graph, SharedDevices(GetParam()));
        const auto run = chatty::Run(session, WeightedNeighbours{}, options);
        for (VertexId v = 0; v < input.graph.vertices(); ++v) ASSERT_EQ(run.values[v], expected[v]) << "vertex " << v;
      }
    }
  }
}

TEST_P(EveryRound, PhasesAndRoundsSeeWhatIsTrueOfThem) {
  std::vector<NamedGraph> graphs = MixedGraphs(WeightKind::kNone);
  graphs.push_back({"hubs", HubGraph(9, 20000, WeightKind::kNone, false)});
  for (const NamedGraph& input : graphs) {
    const std::vector<std::uint64_t> expected = SerialPhased(input.graph);
    Session session(input.graph, SharedDevices(GetParam()));
    for (const Tiling tiling : kTilings) {
      for (const Direction direction : {Direction::kPull, Direction::kPush}) {
        SCOPED_TRACE(fmt::format("{}, {}, {}", input.name, static_cast<int>(tiling), direction == Direction::kPull));
        RunOptions options;
        options.tiling = tiling;
        options.direction = direction;
        const auto run = chatty::Run(session, Phased{}, options);
        EXPECT_EQ(run.statistics.phases, Phased::kPhases);
        for (VertexId v = 0; v < input.graph.vertices(); ++v) ASSERT_EQ(run.values[v], expected[v]) << "vertex " << v;
      }
    }
  }
}

inline void ExpectARunToRepeat(const Graph& graph, const char* devices) {
  for (const Tiling tiling : kTilings) {
    RunOptions options;
    options.tiling = tiling;
    Session session(graph, SharedDevices(devices));
    const auto first = chatty::Run(session, PageRank{}, options);
    EXPECT_TRUE(PageRank{}.Verify(graph, first.values.span(), first.statistics));
    for (int again = 0; again < 2; ++again) {
      const auto run = chatty::Run(session, PageRank{}, options);
      ASSERT_EQ(run.statistics.rounds, first.statistics.rounds);
      for (VertexId v = 0; v < graph.vertices(); ++v) {
        ASSERT_EQ(std::bit_cast<std::uint32_t>(run.values[v]), std::bit_cast<std::uint32_t>(first.values[v])) << v;
      }
    }
  }
}

TEST_P(EveryRound, ARunRepeatsItselfBitForBit) {
  GeneratorSpec spec;
  spec.family = "kron";
  spec.scale = 14;
  spec.edge_factor = 16;
  const Graph graph = Generate(spec);
  ExpectARunToRepeat(graph, GetParam());
  ExpectARunToRepeat(FewEdgesARow(), GetParam());
}

}  // namespace chatty::test
