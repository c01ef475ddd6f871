// Answers of the prebuilt programs, through the registry, on every selection of devices. Each test says by hand what the
// serial reference answers, and asks the same of every configuration.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "../sanitized.h"
#include "chatty/io/generators.h"
#include "chatty/programs/reference.h"
#include "engine_fixture.h"
#include "test_inputs.h"

namespace chatty::test {
namespace {

template <class T>
void Expect(const Array<T>& reference, const Array<T>& by_hand) {
  EXPECT_EQ(test::ToVector(reference), test::ToVector(by_hand));
}

TEST_P(EngineTest, EmptyGraph) {
  const Graph graph = MakeGraph(0, {});
  CheckAll(graph, 0);
  Session session(graph, GetParam());
  EXPECT_THROW(Program("bfs").Prepare(session, {}, "", {}), UsageError) << "there is no source";
}

TEST_P(EngineTest, OneVertex) {
  const Graph graph = MakeGraph(1, {});
  CheckAll(graph, 0);
  Expect(SerialBfs(graph, 0), Array<std::uint32_t>{0});
  Expect(SerialBfsParents(graph, 0), Array<VertexId>{0});
  Expect(SerialSssp<std::uint32_t>(graph, 0), Array<std::uint32_t>{0});
  Expect(SerialComponents(graph), Array<VertexId>{0});
}

TEST_P(EngineTest, PathOfFive) {
  const Graph graph = MakeSymmetric(5, {{0, 1, 3}, {1, 2, 1}, {2, 3, 4}, {3, 4, 1}}, WeightKind::kInt32);
  CheckAll(graph, 1);
  Expect(SerialBfs(graph, 1), Array<std::uint32_t>{1, 0, 1, 2, 3});
  Expect(SerialBfsParents(graph, 1), Array<VertexId>{1, 1, 1, 2, 3});
  Expect(SerialSssp<std::uint32_t>(graph, 1), Array<std::uint32_t>{3, 0, 1, 5, 6});
  Expect(SerialComponents(graph), Array<VertexId>{0, 0, 0, 0, 0});
}

TEST_P(EngineTest, TwoComponents) {
  const Graph graph = MakeSymmetric(6, {{0, 2}, {2, 4}, {1, 3}, {3, 5}, {5, 1}});
  CheckAll(graph, 3);
  Expect(SerialBfs(graph, 3), Array<std::uint32_t>{kFar, 1, kFar, 0, kFar, 1});
  Expect(SerialBfsParents(graph, 3), Array<VertexId>{kNoVertex, 3, kNoVertex, 3, kNoVertex, 3});
  Expect(SerialComponents(graph), Array<VertexId>{0, 1, 0, 1, 0, 1});
}

TEST_P(EngineTest, LoopsAndParallelEdges) {
  const Graph graph =
      MakeGraph(4, {{0, 0, 1}, {0, 1, 7}, {0, 1, 2}, {1, 2, 1}, {2, 2, 0}, {2, 0, 3}, {3, 3, 5}}, WeightKind::kInt32);
  CheckAll(graph, 0);
  Expect(SerialSssp<std::uint32_t>(graph, 0), Array<std::uint32_t>{0, 2, 3, kFar});
  Expect(SerialComponents(graph), Array<VertexId>{0, 0, 0, 3});
}

TEST_P(EngineTest, Star) {
  std::vector<TestEdge> edges;
  for (VertexId v = 1; v < 70; ++v) edges.push_back({0, v, static_cast<double>(v)});
  const Graph graph = MakeSymmetric(70, edges, WeightKind::kFloat32);
  CheckAll(graph, 5);
  Array<std::uint32_t> levels(70, 2);
  levels[0] = 1;
  levels[5] = 0;
  Expect(SerialBfs(graph, 5), levels);
  Array<float> distances(70);
  for (VertexId v = 0; v < 70; ++v) distances[v] = 5.0f + static_cast<float>(v);
  distances[5] = 0;
  Expect(SerialSssp<float>(graph, 5), distances);
}

TEST_P(EngineTest, DirectedCycle) {
  const Graph graph = MakeGraph(5, {{0, 1, 1}, {1, 2, 10}, {2, 3, 100}, {3, 4, 1000}, {4, 0, 10000}}, WeightKind::kInt32);
  CheckAll(graph, 2);
  Expect(SerialBfs(graph, 2), Array<std::uint32_t>{3, 4, 0, 1, 2});
  Expect(SerialBfsParents(graph, 2), Array<VertexId>{4, 0, 2, 2, 3});
  Expect(SerialSssp<std::uint32_t>(graph, 2), Array<std::uint32_t>{11100, 11101, 0, 100, 1100});
}

TEST_P(EngineTest, AVertexThatNothingLeaves) {
  const Graph graph = MakeGraph(3, {{0, 1}, {2, 1}});
  Expect(SerialBfs(graph, 1), Array<std::uint32_t>{kFar, 0, kFar});
  CheckAll(graph, 1);
}

TEST_P(EngineTest, ManySmallRandomGraphs) {
  std::uint32_t seed = 100;
  for (const VertexId vertices : {9, 33, 130}) {
    for (const bool symmetric : {false, true}) {
      const WeightKind kind = seed % 2 == 0 ? WeightKind::kInt32 : WeightKind::kFloat32;
      SCOPED_TRACE("seed " + std::to_string(seed));
      CheckAll(RandomGraph(seed, vertices, 1.0 + seed % 3, kind, symmetric), seed % vertices);
      if (HasFatalFailure()) return;
      ++seed;
    }
  }
}

TEST_P(EngineTest, RandomDirected) { CheckAll(RandomGraph(201, 3000, 6.0, WeightKind::kInt32, false), 17); }
TEST_P(EngineTest, RandomSymmetric) { CheckAll(RandomGraph(202, 2500, 3.0, WeightKind::kFloat32, true), 18); }
TEST_P(EngineTest, HubsDirected) { CheckAll(HubGraph(203, 4000, WeightKind::kFloat32, false), 3); }
TEST_P(EngineTest, HubsSymmetric) { CheckAll(HubGraph(204, 3000, WeightKind::kInt32, true), 0); }

TEST_P(EngineTest, LongThinGraphsTakeManySmallRounds) {
  GeneratorSpec spec;
  spec.family = "grid";
  spec.width = 150;
  spec.height = 3;
  spec.drop = 0.1;
  spec.weights = WeightKind::kInt32;
  const Graph graph = Generate(spec);
  CheckBfs(graph, 1);
  CheckSssp(graph, 1);
  CheckComponents(graph);
}

TEST_P(EngineTest, SkewedGraphsTakeFewBigRounds) {
  GeneratorSpec spec;
  spec.family = "kron";
  spec.scale = 12;
  spec.weights = WeightKind::kFloat32;
  const Graph graph = Generate(spec);
  CheckBfs(graph, graph.max_degree_vertex());
  CheckSssp(graph, graph.max_degree_vertex());
  CheckComponents(graph);
}

std::string EngineDevices(const testing::TestParamInfo<const char*>& info) { return SelectionName(info.param); }
INSTANTIATE_TEST_SUITE_P(Host, EngineTest, testing::Values("host:1", "host:2", "host:3"), EngineDevices);
#if !CHATTY_TEST_SANITIZED  // it takes as long as the other three
INSTANTIATE_TEST_SUITE_P(ManyOnHost, EngineTest, testing::Values("host:8"), EngineDevices);
#endif
INSTANTIATE_TEST_SUITE_P(Cuda, EngineTest, testing::Values("cuda:0", "cuda:0,1", "cuda:0,1,2,3"), EngineDevices);

}  // namespace
}  // namespace chatty::test
