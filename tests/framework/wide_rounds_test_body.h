// Rounds of any width in resident kernels, on one GPU or on several, where there are edges to push along; host devices have
// none. A search must find what a serial one finds, in the rounds that the host would have driven, each in the same
// direction.
// Includers instantiate WideRoundsTest over devices.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "../prebuilt_programs.h"
#include "chatty/core/trace.h"
#include "chatty/framework/run.h"
#include "chatty/framework/state.h"
#include "chatty/io/generators.h"
#include "chatty/programs/reference.h"
#include "test_inputs.h"

namespace chatty::test {

/// A device's name without what names of tests may not have.
inline std::string WideName(const testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

/// Every vertex with an in-edge is active in every round, and none ever ends it. A value tells all rounds of the vertex.
struct Endless {
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = Reduction::kMax;
  static constexpr auto kSafety = Safety::kSynchronous;
  static constexpr Hints kHints{.any_message_suffices = true};

  CHATTY_FN Value InitVertex(Vertex) const { return 1; }
  CHATTY_FN Message RoundMessage(const Round<>& round) const { return round.index * 5 + 1; }
  CHATTY_FN Message ComputeScatter(const Value&, Edge<>, const Round<>& round) const { return RoundMessage(round); }
  CHATTY_FN bool UpdateStatus(Value& value, Message m, Vertex, const Round<>& round) const {
    value = value * 31 + m + static_cast<std::uint32_t>(round.active);
    return true;
  }
};

class WideRoundsTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const std::string why = WhyNot(GetParam()); !why.empty()) GTEST_SKIP() << why;
  }

  static bool HasKernel() { return std::string(GetParam()).starts_with("cuda"); }
  static Graph Made(const char* family, std::uint64_t size) {
    GeneratorSpec spec;
    spec.family = family;
    spec.scale = static_cast<int>(size);
    spec.count = spec.width = spec.height = size;
    return Generate(spec);
  }
  static Session Open(const Graph& graph) { return {graph, OpenDevices(ParseDevices(GetParam()), 2)}; }
  static RunOptions Rounds(Direction direction = Direction::kAuto, std::uint32_t max_rounds = 0) {
    RunOptions options;
    options.execution = Execution::kBsp;
    options.direction = direction;
    options.max_rounds = max_rounds;
    return options;
  }
  static Bfs From(VertexId source) {
    Bfs bfs;
    bfs.source = source;
    return bfs;
  }
  static ProgramPlan PlanOf(Session& session, const RunOptions& options) {
    return PlanRun(session, std::make_shared<TypedProgram<Bfs>>(Bfs{}), options).programs[0];
  }

  /// Levels of more than `rounds` are not reached.
  static std::vector<std::uint32_t> Levels(const Graph& graph, VertexId source, std::uint32_t rounds) {
    std::vector<std::uint32_t> levels = ToVector(SerialBfs(graph, source));
    for (std::uint32_t& level : levels) {
      if (rounds != 0 && level > rounds) level = kInfinity<std::uint32_t>;
    }
    return levels;
  }

  /// Searches in every direction, in rounds that the kernel makes and in those that the host drives.
  static void Check(const Graph& graph, VertexId source, std::uint32_t max_rounds = 0) {
    Session session = Open(graph);
    const std::vector<std::uint32_t> expected = Levels(graph, source, max_rounds);
    for (const Direction direction : {Direction::kAuto, Direction::kPush, Direction::kPull}) {
      SCOPED_TRACE(static_cast<int>(direction));
      RunOptions driven = Rounds(direction, max_rounds);
      driven.rounds_together = false;
      const Result<Bfs> kernel = chatty::Run(session, From(source), Rounds(direction, max_rounds));
      const Result<Bfs> host = chatty::Run(session, From(source), driven);
      EXPECT_EQ(ToVector(kernel.values), expected);
      EXPECT_EQ(ToVector(host.values), expected);
      EXPECT_EQ(kernel.statistics.ended, host.statistics.ended);
      EXPECT_EQ(kernel.statistics.rounds, host.statistics.rounds);
      EXPECT_EQ(kernel.statistics.vertices_updated, host.statistics.vertices_updated);
      EXPECT_EQ(kernel.statistics.push_rounds + kernel.statistics.pull_rounds, kernel.statistics.rounds);
      EXPECT_EQ(host.statistics.wide_rounds, 0u);
      const bool makes = HasKernel() && direction != Direction::kPull && kernel.statistics.rounds > 0;
      EXPECT_EQ(kernel.statistics.wide_rounds > 0, makes);
      for (const PairStatistics& pair : kernel.statistics.pairs) {
        EXPECT_LE(pair.messages, pair.messages_before);
        EXPECT_EQ(pair.messages == 0, pair.bytes == 0);
      }
      // Other kernels push narrow rounds, whatever the host would have done. And a pull of a hub's row ends where the first
      // of several blocks finds a source.
      if (kernel.statistics.fused_steps > 0 || graph.out().degree(graph.max_degree_vertex()) >= kHubDegree) continue;
      EXPECT_EQ(kernel.statistics.push_rounds, host.statistics.push_rounds);
      EXPECT_EQ(kernel.statistics.pull_rounds, host.statistics.pull_rounds);
      EXPECT_EQ(kernel.statistics.edges_touched, host.statistics.edges_touched);
    }
    RunOptions any;
    any.max_rounds = max_rounds;
    EXPECT_EQ(ToVector(chatty::Run(session, From(source), any).values), expected);
  }
};

TEST_P(WideRoundsTest, SearchesOfFewLevels) {
  const Graph kron = Made("kron", 12);
  Check(kron, kron.max_degree_vertex());
  Check(kron, 0);
  const Graph uniform = Made("uniform", 12);
  Check(uniform, 17);
  Check(Made("star", 9000), 4321);  // pushes and pulls of a row that is cut into slices
  Check(HubGraph(41, 5000, WeightKind::kNone, false), 3);
  Check(Made("binary-tree", 5000), 4999);
}

TEST_P(WideRoundsTest, SmallAndOddGraphs) {
  for (const NamedGraph& input : MixedGraphs(WeightKind::kNone)) {
    SCOPED_TRACE(input.name);
    if (input.graph.vertices() > 0) Check(input.graph, input.graph.vertices() / 2);
    if (HasFailure()) return;
  }
  Check(MakeGraph(3000, {}, WeightKind::kNone), 2999);
}

TEST_P(WideRoundsTest, RoundsAreLimitedExactly) {
  const Graph graph = Made("kron", 10), grid = Made("grid", 30);
  for (const std::uint32_t rounds : {1u, 2u, 3u, 4u, 9u}) {
    Check(graph, graph.max_degree_vertex(), rounds);
    Check(grid, 17, rounds);
    if (HasFailure()) return;
  }
}

// The kernel leaves narrow rounds to other engines, and gets the run back when it is wide: in a queue or as a bitmap, and
// with candidates of a pull that those engines do not keep.
TEST_P(WideRoundsTest, AWideRegionBehindALongWay) {
  const Graph region = Made("kron", 14);
  std::vector<TestEdge> edges;
  for (VertexId v = 0; v < region.vertices(); ++v) {
    for (EdgeIndex e = region.out().offsets[v]; e < region.out().offsets[v + 1]; ++e) {
      if (const VertexId w = region.out().neighbours[e]; v < w) edges.push_back({v, w, 1.0});
    }
  }
  VertexId last = region.max_degree_vertex(), next = region.vertices();
  for (int step = 0; step < 60; ++step) {
    edges.push_back({last, next, 1.0});
    last = next++;
  }
  Check(MakeSymmetric(next, edges, WeightKind::kNone), last);
}

// One job, again and again: counters, words and the frontier are left as the next run needs them.
TEST_P(WideRoundsTest, HundredsOfRuns) {
  const Graph graph = Made("kron", 13);
  Session session = Open(graph);
  const std::vector<std::uint32_t> expected = ToVector(SerialBfs(graph, 1));
  const auto job = session.Prepare(std::make_shared<TypedProgram<Bfs>>(From(1)), Rounds());
  std::vector<std::uint32_t> values(graph.vertices());
  const int runs = HasKernel() ? 400 : 5;
  for (int run = 0; run < runs; ++run) {
    job->SetLimits(run % 3 == 2 ? 2 : 0, {});  // every third ends early
    job->Execute();
    if (run % 3 == 2) continue;
    job->CopyOutput(reinterpret_cast<std::byte*>(values.data()));
    ASSERT_EQ(values, expected) << "run " << run;
  }
}

// The kernel reads the word in each round, and what it has left is a whole round's.
TEST_P(WideRoundsTest, AStopEndsARound) {
  const Graph graph = Made("kron", 10);
  Session session = Open(graph);
  std::stop_source stop;
  RunOptions options = Rounds();
  options.stop = stop.get_token();
  const auto job = session.Prepare(std::make_shared<TypedProgram<Endless>>(Endless{}), options);
  std::thread stops([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    stop.request_stop();
  });
  const RunStatistics stopped = job->Execute();
  stops.join();
  EXPECT_EQ(stopped.ended, Ended::kStopped);
  EXPECT_EQ(stopped.wide_rounds, HasKernel() ? stopped.rounds : 0);
  // Values after as many rounds, by a run with that limit, whatever has made these; and the job is whole.
  std::vector<std::uint32_t> values(graph.vertices()), expected(graph.vertices());
  job->CopyOutput(reinterpret_cast<std::byte*>(values.data()));
  for (const std::uint32_t rounds : {std::max(stopped.rounds, 1u), 1u, 7u}) {
    RunOptions limited = Rounds(Direction::kAuto, rounds);
    limited.rounds_together = false;
    const Result<Endless> host = chatty::Run(session, Endless{}, limited);
    if (rounds == stopped.rounds) {
      EXPECT_EQ(ToVector(host.values), values);
    }
    job->SetLimits(rounds, {});
    EXPECT_EQ(job->Execute().rounds, rounds);
    job->CopyOutput(reinterpret_cast<std::byte*>(expected.data()));
    EXPECT_EQ(expected, ToVector(host.values));
  }
}

TEST_P(WideRoundsTest, AStopThatIsThereEndsBeforeTheFirstRound) {
  const Graph graph = Made("kron", 10);
  Session session = Open(graph);
  std::stop_source stop;
  stop.request_stop();
  RunOptions options = Rounds();
  options.stop = stop.get_token();
  const Result<Bfs> result = chatty::Run(session, From(graph.max_degree_vertex()), options);
  EXPECT_EQ(result.statistics.ended, Ended::kStopped);
  EXPECT_EQ(result.statistics.rounds, 0u);
}

// Whoever is to see each round gets rounds that the host drives.
TEST_P(WideRoundsTest, ThePlanSaysWhoMakesRounds) {
  const Graph graph = Made("kron", 8);
  Session session = Open(graph);
  EXPECT_EQ(PlanOf(session, RunOptions{}).rows.wide_rounds, HasKernel());
  EXPECT_EQ(PlanOf(session, Rounds()).rows.wide_rounds, HasKernel());
  const std::string text = Describe(PlanRun(session, std::make_shared<TypedProgram<Bfs>>(Bfs{}), RunOptions{}));
  EXPECT_EQ(text.find("of any width in a resident kernel") != std::string::npos, HasKernel());
  const auto components = std::make_shared<TypedProgram<LabelPropagation>>(LabelPropagation{});
  EXPECT_FALSE(PlanRun(session, components, RunOptions{}).programs[0].rows.wide_rounds) << "messages have values";
  RunOptions async, traced, explained, reported, driven;
  Trace trace;
  async.execution = Execution::kAsync;
  traced.trace = &trace;
  explained.explain = true;
  reported.on_round = [](const RoundProgress&) {};
  driven.rounds_together = false;
  for (const RunOptions* options : {&async, &traced, &explained, &reported, &driven}) {
    EXPECT_FALSE(PlanOf(session, *options).rows.wide_rounds);
  }
  reported.reports_each_round = false;  // as `chatty run` on a terminal
  EXPECT_EQ(PlanOf(session, reported), PlanOf(session, RunOptions{}));
}

// Reports that need not be of each round leave rounds to the kernel, which makes none.
TEST_P(WideRoundsTest, ReportsOfSomeRoundsLeaveTheKernel) {
  const Graph graph = Made("kron", 8);
  Session session = Open(graph);
  RunOptions watched;
  std::vector<std::uint32_t> reports;
  watched.on_round = [&](const RoundProgress& progress) { reports.push_back(progress.rounds); };
  watched.reports_each_round = false;
  const Result<Bfs> result = chatty::Run(session, From(graph.max_degree_vertex()), watched);
  EXPECT_EQ(result.statistics.wide_rounds > 0, HasKernel());
  EXPECT_TRUE(std::is_sorted(reports.begin(), reports.end())) << "rounds so far";
  EXPECT_LE(reports.size() + result.statistics.wide_rounds, result.statistics.rounds);
}

}  // namespace chatty::test
