// Fused runs and rounds: where rounds are exact, how phases and limits of rounds end a run, what a stop leaves, and what a
// trace shows. Includers instantiate FusedTest over devices.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chatty/core/trace.h"
#include "chatty/framework/run.h"
#include "chatty/framework/spans.h"
#include "chatty/io/generators.h"
#include "chatty/programs/reference.h"
#include "fused_fixture.h"
#include "test_inputs.h"

namespace chatty::test {

TEST_P(FusedTest, RoundsOfFewVerticesAreExact) {
  if (GetParam().together) GTEST_SKIP() << "several devices have rounds of their own engine";
  const bool on_gpu = std::string_view(GetParam().devices).starts_with("cuda");
  for (const Graph& graph : {Made("grid", 60), Made("chain", 3000), Made("kron", 10),
                             HubGraph(41, 5000, WeightKind::kInt32, false), Made("binary-tree", 5000)}) {
    PathsByRounds program;
    program.source = graph.vertices() - 1;
    Array<std::uint64_t> expected(graph.vertices());
    const Array<std::uint32_t> levels = SerialBfs(graph, program.source);
    std::vector<std::vector<VertexId>> by_level(1, {program.source});
    std::vector<std::uint32_t> paths(graph.vertices(), 0);
    paths[program.source] = 1;
    for (std::size_t level = 0; level < by_level.size(); ++level) {
      std::vector<VertexId> next;
      for (const VertexId v : by_level[level]) {
        for (const VertexId u : graph.out()[v]) {
          if (levels[u] != level + 1) continue;
          if (paths[u] == 0 && std::find(next.begin(), next.end(), u) == next.end()) next.push_back(u);
          paths[u] += paths[v];
        }
      }
      if (!next.empty()) by_level.push_back(std::move(next));
    }
    for (VertexId v = 0; v < graph.vertices(); ++v) expected[v] = std::uint64_t{levels[v]} << 32 | paths[v];
    const auto session = Open(graph);
    for (const Execution execution : {Execution::kAuto, Execution::kBsp}) {
      RunOptions options;
      options.execution = execution;
      const Result<PathsByRounds> result = chatty::Run(*session, program, options);
      ASSERT_EQ(ToVector(result.values), ToVector(expected)) << ExecutionName(execution);
      if (on_gpu && by_level.size() > 50) {
        EXPECT_GT(result.statistics.fused_steps, 0u);
      }
      for (const std::uint32_t rounds : {4u, 11u}) {
        if (rounds >= by_level.size()) continue;
        RunOptions limited = options;
        limited.max_rounds = rounds;
        const Result<PathsByRounds> part = chatty::Run(*session, program, limited);
        EXPECT_EQ(part.statistics.rounds, rounds);
        for (VertexId v = 0; v < graph.vertices(); ++v) {
          ASSERT_EQ(part.values[v] >> 32, levels[v] <= rounds ? levels[v] : kInfinity<std::uint32_t>) << v;
        }
      }
    }
  }
}

TEST_P(FusedTest, PhasesEndWhenNoVertexIsActive) {
  if (GetParam().together) GTEST_SKIP() << "several devices have rounds of their own engine";
  const bool on_gpu = std::string_view(GetParam().devices).starts_with("cuda");
  for (const Graph& graph : {Made("chain", 3000), Made("grid", 60), Made("kron", 10), Made("binary-tree", 5000)}) {
    const auto session = Open(graph);
    const Result<Peeling> result = chatty::Run(*session, Peeling{});
    EXPECT_EQ(ToVector(result.values), ToVector(SerialKCore(graph)));
    if (on_gpu && graph.vertices() == 3000) {
      EXPECT_GT(result.statistics.fused_steps, 1000u);
    }
  }
}

TEST_P(FusedTest, ATraceShowsSteps) {
  if (GetParam().together || !std::string_view(GetParam().devices).starts_with("cuda")) {
    GTEST_SKIP() << "hosts and several devices trace rounds";
  }
  const Graph graph = Made("grid", 60);
  const auto session = Open(graph);
  Trace trace;
  RunOptions options;
  options.execution = Execution::kAsync;
  options.trace = &trace;
  const Result<Bfs> result = chatty::Run(*session, Bfs{}, options);
  ASSERT_EQ(ToVector(result.values), ToVector(SerialBfs(graph, 0)));
  std::uint64_t steps = 0, items = 0;
  for (const auto& track : trace.tracks()) {
    for (const TraceEvent* event : track->Sorted()) {
      if (event->kind != &spans::kFusedStep) continue;
      EXPECT_EQ(event->arguments[0], steps);
      ++steps;
      items += event->arguments[1];
    }
  }
  EXPECT_EQ(steps, result.statistics.fused_steps);
  EXPECT_GE(items, graph.vertices());
}

TEST_P(FusedTest, RoundsAreLimitedExactly) {
  if (GetParam().together) GTEST_SKIP() << "several devices have rounds of their own engine";
  const Graph graph = Made("grid", 40);
  const auto session = Open(graph);
  Bfs bfs;
  const Array<std::uint32_t> levels = SerialBfs(graph, 0);
  for (const Execution execution : {Execution::kAuto, Execution::kAsync}) {
    for (const std::uint32_t rounds : {1u, 9u, 10u, 33u, 50u}) {
      SCOPED_TRACE(std::string(ExecutionName(execution)) + ", " + std::to_string(rounds));
      RunOptions options;
      options.execution = execution;
      options.max_rounds = rounds;
      const Result<Bfs> result = chatty::Run(*session, bfs, options);
      EXPECT_EQ(result.statistics.ended, Ended::kMaxRounds);
      EXPECT_EQ(result.statistics.rounds, rounds);
      for (VertexId v = 0; v < graph.vertices(); ++v) {
        ASSERT_EQ(result.values[v], levels[v] <= rounds ? levels[v] : kInfinity<std::uint32_t>) << v;
      }
    }
  }
}

TEST_P(FusedTest, AStopEndsARunAndTheNextOneIsWhole) {
  const Graph graph = Made("grid", 40);
  const auto session = Open(graph);
  RunOptions options;
  options.execution = Execution::kAsync;
  std::stop_source stop;
  stop.request_stop();
  options.stop = stop.get_token();
  const auto job = session->Prepare(std::make_shared<TypedProgram<Bfs>>(Bfs{}), options);
  EXPECT_EQ(job->Execute().ended, Ended::kStopped);
  job->SetLimits(0, {});
  EXPECT_EQ(job->Execute().ended, Ended::kConverged);
  std::vector<std::uint32_t> values(graph.vertices());
  job->CopyOutput(reinterpret_cast<std::byte*>(values.data()));
  EXPECT_EQ(values, ToVector(SerialBfs(graph, 0)));
}

}  // namespace chatty::test
