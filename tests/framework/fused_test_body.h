// Answers of fused runs on every kind of device, against serial references: on graphs of every shape, entered at once
// (async) and between rounds (auto), and on several devices together (async). Includers instantiate FusedTest over devices.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <utility>
#include <variant>
#include <vector>

#include "chatty/framework/run.h"
#include "chatty/io/generators.h"
#include "chatty/programs/reference.h"
#include "fused_fixture.h"
#include "test_inputs.h"

namespace chatty::test {

TEST_P(FusedTest, RowsOfEveryLength) {
  for (const WeightKind kind : {WeightKind::kInt32, WeightKind::kFloat32}) {
    for (const VertexId copies : {1u, 40u}) {  // few items of a warp, and many
      SCOPED_TRACE(copies);
      Check(RowsOfEveryLength(copies, kind), 0);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(FusedTest, CarriedValues) {
  for (const Graph& graph : {Made("grid", 40), Made("kron", 10), Made("binary-tree", 5000), RowsOfEveryLength(40)}) {
    WidestFirst widest;
    widest.source = graph.max_degree_vertex();
    Array<std::int32_t> expected(graph.vertices());  // Dijkstra's algorithm with (max, min)
    std::fill(expected.begin(), expected.end(), 0);
    expected[widest.source] = kInfinity<std::int32_t>;
    std::priority_queue<std::pair<std::int32_t, VertexId>> queue;
    queue.emplace(kInfinity<std::int32_t>, widest.source);
    const auto& weights = std::get<Array<std::int32_t>>(graph.out().weights);
    while (!queue.empty()) {
      const auto [width, v] = queue.top();
      queue.pop();
      for (EdgeIndex e = graph.out().offsets[v]; width == expected[v] && e < graph.out().offsets[v + 1]; ++e) {
        const std::int32_t through = std::min(width, weights[e]);
        const VertexId u = graph.out().neighbours[e];
        if (through <= expected[u]) continue;
        expected[u] = through;
        queue.emplace(through, u);
      }
    }
    const auto session = Open(graph);
    Is(*session, widest, expected, "widest paths");
    if (HasFatalFailure()) return;
  }
}

TEST_P(FusedTest, InfinitePrioritiesEnd) {
  const Graph graph = Made("grid", 80, WeightKind::kFloat32);  // more vertices than a list has room for
  const auto session = Open(graph);
  AllBegin program;
  program.source = 17;
  Is(*session, program, SerialSssp<float>(graph, program.source), "all vertices begin");
}

TEST_P(FusedTest, SmallAndOddGraphs) {
  for (const WeightKind kind : {WeightKind::kInt32, WeightKind::kFloat32}) {
    for (const NamedGraph& input : MixedGraphs(kind)) {
      SCOPED_TRACE(input.name);
      if (input.graph.vertices() == 0) continue;  // no source
      Check(input.graph, input.graph.vertices() / 2);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(FusedTest, NoEdges) {
  for (const WeightKind kind : {WeightKind::kInt32, WeightKind::kFloat32}) Check(MakeGraph(3000, {}, kind), 2999);
}

TEST_P(FusedTest, LongWays) {
  Check(Made("grid", 40), 3);
  Check(Made("grid", 25, WeightKind::kFloat32), 311);
  Check(Made("chain", 300, WeightKind::kFloat32), 150);
}

TEST_P(FusedTest, HubsAndWideFrontiers) {
  const Graph kron = Made("kron", 10);
  Check(kron, kron.max_degree_vertex());
  Check(Made("star", 20000), 0);  // rows of every length: a hub is walked by all
  Check(Made("star", 9000, WeightKind::kFloat32), 4321);
  Check(HubGraph(41, 5000, WeightKind::kInt32, false), 3);
  Check(Made("binary-tree", 5000), 1);
  Check(Made("binary-tree", 5000), 4999);  // from a leaf: narrow for long, then more than a short list holds
}

// Groute's measure of work: each vertex that is reached is followed once at least, and again only for another value. Engines
// of a run come one after another where frontiers are narrow and wide by turns.
TEST_P(FusedTest, ItemsHaveACause) {
  const std::pair<Graph, VertexId> searches[] = {{Made("grid", 40), 3},
                                                 {Made("kron", 9), 5},
                                                 {Made("binary-tree", 5000), 4999},
                                                 {HubGraph(41, 5000, WeightKind::kInt32, false), 3}};
  for (const auto& [graph, source] : searches) {
    const auto session = Open(graph);
    const Array<std::uint32_t> levels = SerialBfs(graph, source);
    const auto reached = static_cast<std::uint64_t>(
        std::count_if(levels.begin(), levels.end(), [](std::uint32_t level) { return level != kInfinity<std::uint32_t>; }));
    for (const RunOptions& options : Ways()) {
      SCOPED_TRACE(Words(options));
      Bfs bfs;
      bfs.source = source;
      SsspOf<std::int32_t> sssp;
      sssp.source = source;
      for (const RunStatistics& statistics :
           {chatty::Run(*session, bfs, options).statistics, chatty::Run(*session, sssp, options).statistics}) {
        EXPECT_GE(statistics.items, reached);
        EXPECT_LE(statistics.items, statistics.vertices_updated + 1) << "the source needs no update";
      }
    }
  }
}

TEST_P(FusedTest, TwoHundredRuns) {
  // A race is a matter of time.
  const Graph graph = Made("kron", 9), thin = Made("grid", 30);
  for (const Graph* g : {&graph, &thin}) {
    const auto session = Open(*g);
    SsspOf<std::int32_t> sssp;
    sssp.source = g->max_degree_vertex();
    const Array<std::uint32_t> expected = SerialSssp<std::uint32_t>(*g, sssp.source);
    RunOptions options;
    options.execution = Execution::kAsync;
    const auto job = session->Prepare(std::make_shared<TypedProgram<SsspOf<std::int32_t>>>(sssp), options);
    std::vector<std::uint32_t> values(g->vertices());
    for (int run = 0; run < 100; ++run) {
      job->Execute();
      job->CopyOutput(reinterpret_cast<std::byte*>(values.data()));
      ASSERT_EQ(values, ToVector(expected)) << "run " << run;
    }
  }
}

TEST_P(FusedTest, MessagesMayReadBothEnds) {
  for (const Graph& graph : {Made("grid", 50), Made("kron", 9), Made("star", 9000)}) {
    TargetsCount program;
    program.source = graph.vertices() / 3;
    Array<std::uint32_t> expected(graph.vertices());  // Dijkstra's algorithm
    std::fill(expected.begin(), expected.end(), kInfinity<std::uint32_t>);
    expected[program.source] = 0;
    std::priority_queue<std::pair<std::uint32_t, VertexId>, std::vector<std::pair<std::uint32_t, VertexId>>, std::greater<>>
        queue;
    queue.emplace(0, program.source);
    while (!queue.empty()) {
      const auto [distance, v] = queue.top();
      queue.pop();
      if (distance != expected[v]) continue;
      for (const VertexId u : graph.out()[v]) {
        const std::uint32_t through = distance + 1 + static_cast<std::uint32_t>((v ^ u) % 5);
        if (through >= expected[u]) continue;
        expected[u] = through;
        queue.emplace(through, u);
      }
    }
    const auto session = Open(graph);
    Is(*session, program, expected, "both ends");
    if (HasFatalFailure()) return;
  }
}

// Every vertex is in every halo, and rings are short: devices wait for room and take messages meanwhile.
TEST_P(FusedTest, FullRingsLoseNothing) {
  GeneratorSpec spec;
  spec.family = "uniform";
  spec.scale = 12;
  spec.weights = WeightKind::kInt32;
  const Graph graph = Generate(spec);
  SessionOptions dealt;
  dealt.partition = "random";
  Session session(graph, OpenDevices(ParseDevices(GetParam().devices), GetParam().threads), dealt);
  RunOptions options;
  options.execution = Execution::kAsync;
  options.list_items = 64;
  options.delta = 1000;  // one bucket: all that is improved is sent at once
  SsspOf<std::int32_t> sssp;
  sssp.source = graph.max_degree_vertex();
  const Array<std::uint32_t> expected = SerialSssp<std::uint32_t>(graph, sssp.source);
  const auto job = session.Prepare(std::make_shared<TypedProgram<SsspOf<std::int32_t>>>(sssp), options);
  std::vector<std::uint32_t> values(graph.vertices());
  for (int run = 0; run < 20; ++run) {
    const RunStatistics statistics = job->Execute();
    job->CopyOutput(reinterpret_cast<std::byte*>(values.data()));
    ASSERT_EQ(values, ToVector(expected)) << "run " << run;
    for (const PairStatistics& pair : statistics.pairs) {
      EXPECT_GT(pair.messages, 10 * 64u) << "a ring has 64 places";
    }
    EXPECT_EQ(statistics.pairs.size(), GetParam().together ? session.device_count() * (session.device_count() - 1) : 0u);
  }
}

}  // namespace chatty::test
