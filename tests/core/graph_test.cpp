#include "chatty/core/graph.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "chatty/core/error.h"
#include "graph_model.h"

namespace chatty {
namespace {

using test::Copy;
using test::ErrorOf;
using test::ListOf;
using test::Neighbours;
using test::PlainEdges;
using test::RandomList;

TEST(Graph, InEdgesAreBuiltOnceByWhomeverComesFirst) {
  const Graph graph = BuildGraph(RandomList({2000, 50000, 2}, WeightKind::kInt32, 9), {});
  EXPECT_FALSE(graph.has_in_edges());
  const std::size_t bytes = graph.bytes();
  std::vector<const Adjacency*> seen(6);
  std::vector<const EdgeIndex*> degrees(6);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < seen.size(); ++t) {
    threads.emplace_back([&, t] {
      if (t % 2 == 0) degrees[t] = graph.in_degrees().data();
      (void)graph.bytes();
      (void)graph.has_in_edges();
      seen[t] = &graph.in();
      degrees[t] = graph.in_degrees().data();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t t = 1; t < seen.size(); ++t) {
    EXPECT_EQ(seen[t], seen[0]);
    EXPECT_EQ(degrees[t], degrees[0]);
  }
  EXPECT_TRUE(graph.has_in_edges());
  EXPECT_GT(graph.bytes(), bytes);
  for (VertexId v = 0; v < graph.vertices(); ++v) ASSERT_EQ(graph.in_degree(v), graph.in().degree(v));
}

TEST(Graph, InDegreesComeWithoutInEdgesAndAfterThem) {
  const EdgeList list = RandomList({300, 200000, 4}, WeightKind::kNone, 11);
  std::vector<EdgeIndex> expected(300);
  for (const VertexId target : list.targets) ++expected[target];
  const Graph first = BuildGraph(Copy(list), {});
  const auto degrees = first.in_degrees();
  EXPECT_EQ(std::vector<EdgeIndex>(degrees.begin(), degrees.end()), expected);
  EXPECT_FALSE(first.has_in_edges());
  const Graph second = BuildGraph(Copy(list), {});
  second.in();
  const auto again = second.in_degrees();
  EXPECT_EQ(std::vector<EdgeIndex>(again.begin(), again.end()), expected);
}

TEST(Graph, StaysUsableWhenMoved) {
  Graph graph = BuildGraph(ListOf(3, {{0, 1}, {2, 1}}), {});
  const Adjacency& in = graph.in();
  const VertexId* const sources = in.neighbours.data();
  const Graph moved = std::move(graph);
  EXPECT_EQ(moved.in().neighbours.data(), sources);
  EXPECT_EQ(moved.in_degree(1), 2u);
}

// ---- The constructor

Adjacency MakeAdjacency(std::initializer_list<EdgeIndex> offsets, std::initializer_list<VertexId> neighbours,
                        Weights weights = {}) {
  return {Array<EdgeIndex>(offsets), Array<VertexId>(neighbours), std::move(weights)};
}

TEST(Graph, TakesOverAFinishedAdjacency) {
  Graph graph(MakeAdjacency({0, 2, 2, 3}, {1, 2, 0}, Array<float>{1, 2, 3}), false, 1, "three");
  EXPECT_EQ(graph.vertices(), 3u);
  EXPECT_EQ(graph.edges(), 3u);
  EXPECT_EQ(graph.first_id(), 1);
  EXPECT_EQ(graph.name(), "three");
  EXPECT_EQ(graph.weight_kind(), WeightKind::kFloat32);
  EXPECT_EQ(graph.max_degree_vertex(), 0u);
  EXPECT_EQ(Neighbours(graph, 0), (std::vector<VertexId>{1, 2}));
  EXPECT_EQ(Graph(Adjacency{}, true).vertices(), 0u);
  EXPECT_EQ(Graph(MakeAdjacency({0}, {}), true).vertices(), 0u);
}

TEST(Graph, RefusesBadAdjacencies) {
  const auto error = [](Adjacency adjacency) { return ErrorOf<InputError>([&] { Graph(std::move(adjacency), false); }); };
  EXPECT_NE(error(MakeAdjacency({}, {0})).find("no offsets"), std::string::npos);
  EXPECT_NE(error(MakeAdjacency({1, 1}, {0})).find("begin at 1"), std::string::npos);
  EXPECT_NE(error(MakeAdjacency({0, 2}, {0})).find("end at 2"), std::string::npos);
  EXPECT_NE(error(MakeAdjacency({0, 2, 1, 2}, {0, 1})).find("vertex 1"), std::string::npos);
  EXPECT_NE(error(MakeAdjacency({0, 9, 2}, {0, 1})).find("vertex 0"), std::string::npos);
  EXPECT_NE(error(MakeAdjacency({0, 0, 2}, {0, 2})).find("neighbour 2"), std::string::npos);
  EXPECT_NE(error(MakeAdjacency({0, 0, 2}, {1, 0})).find("vertex 1 are not sorted"), std::string::npos);
  EXPECT_NE(error(MakeAdjacency({0, 1}, {0}, Array<float>{1, 2})).find("2 weights"), std::string::npos);
  EXPECT_NE(error(MakeAdjacency({0, 1}, {0}, Array<std::int32_t>{})).find("0 weights"), std::string::npos);
}

TEST(Graph, MaxDegreeVertexIsTheLeastAmongEquals) {
  // 200000 vertices of degree 0 or 1, so that several chunks tie.
  EdgeList list;
  list.vertices = 200000;
  list.sources = Array<VertexId>(150000);
  list.targets = Array<VertexId>(150000, 0);
  for (VertexId i = 0; i < 150000; ++i) list.sources[i] = i + 40000;
  EXPECT_EQ(BuildGraph(std::move(list), {}).max_degree_vertex(), 40000u);
}

// ---- Weights

TEST(Graph, WithWeightsConverts) {
  Graph graph(MakeAdjacency({0, 2, 3}, {0, 1, 0}, Array<float>{1, -2, 0x1p24f}), false, 1, "two");
  graph.set_labels({"a", "b"});
  const Graph integers = graph.WithWeights(WeightKind::kInt32);
  const auto& weights = std::get<Array<std::int32_t>>(integers.out().weights);
  EXPECT_EQ(std::vector<std::int32_t>(weights.begin(), weights.end()), (std::vector<std::int32_t>{1, -2, 1 << 24}));
  EXPECT_EQ(integers.name(), "two");
  EXPECT_EQ(integers.first_id(), 1);
  EXPECT_EQ(integers.labels(), graph.labels());
  EXPECT_FALSE(integers.symmetric());
  EXPECT_EQ(Neighbours(integers, 0), Neighbours(graph, 0));

  const Graph floats = integers.WithWeights(WeightKind::kFloat32);
  EXPECT_EQ(PlainEdges(2, floats.out()), PlainEdges(2, graph.out()));
  EXPECT_EQ(PlainEdges(2, graph.WithWeights(WeightKind::kFloat32).out()), PlainEdges(2, graph.out()));

  const Graph bare = graph.WithWeights(WeightKind::kNone);
  EXPECT_EQ(bare.weight_kind(), WeightKind::kNone);
  EXPECT_EQ(bare.edges(), 3u);
  const Graph ones = bare.WithWeights(WeightKind::kInt32);
  for (const std::int32_t weight : std::get<Array<std::int32_t>>(ones.out().weights)) EXPECT_EQ(weight, 1);
  const Graph float_ones = bare.WithWeights(WeightKind::kFloat32);
  for (const float weight : std::get<Array<float>>(float_ones.out().weights)) EXPECT_EQ(weight, 1.0f);
}

TEST(Graph, WithWeightsRefusesWhatNoIntegerEquals) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const float weight : {0.5f, 0x1p31f, -0x1.000002p31f, kInfinity<float>, kNan}) {
    const Graph graph(MakeAdjacency({0, 1}, {0}, Array<float>{weight}), true);
    EXPECT_THROW(graph.WithWeights(WeightKind::kInt32), InputError) << weight;
  }
  const Graph least(MakeAdjacency({0, 1}, {0}, Array<float>{-0x1p31f}), true);
  EXPECT_EQ(std::get<Array<std::int32_t>>(least.WithWeights(WeightKind::kInt32).out().weights)[0],
            std::numeric_limits<std::int32_t>::min());
}

TEST(Graph, HasIdsOfItsOwn) {
  EdgeList list = RandomList(2, 3, 5, WeightKind::kNone);
  Graph graph = BuildGraph(std::move(list), {});
  EXPECT_EQ(graph.id(2), 2u);
  graph.set_first_id(1);
  EXPECT_EQ(graph.id(2), 3u);
  EXPECT_EQ(graph.find(1), VertexId{0});
  EXPECT_FALSE(graph.find(0).has_value());
  EXPECT_FALSE(graph.find(4).has_value());
  const std::size_t bytes = graph.bytes();
  graph.set_ids({5, 70, 1ull << 40});
  EXPECT_EQ(graph.id(2), 1ull << 40);
  EXPECT_EQ(graph.find(70), VertexId{1});
  EXPECT_FALSE(graph.find(6).has_value());
  EXPECT_FALSE(graph.find(~0ull).has_value());
  EXPECT_EQ(graph.bytes(), bytes + 24);
  EXPECT_EQ(graph.WithWeights(WeightKind::kInt32).id(0), 5u);
  EXPECT_THROW(graph.set_ids({1, 2}), InputError);
  EXPECT_THROW(graph.set_ids({1, 3, 3}), InputError);
  EXPECT_THROW(graph.set_ids({3, 2, 4}), InputError);
  graph.set_ids({});
  EXPECT_EQ(graph.id(0), 1u);
}

TEST(Weights, NamesAndClones) {
  EXPECT_EQ(WeightName(WeightKind::kNone), "none");
  EXPECT_EQ(WeightName(WeightKind::kInt32), "int32");
  EXPECT_EQ(WeightName(WeightKind::kFloat32), "float32");
  const Weights weights = Array<float>{1, 2};
  const Weights clone = Clone(weights);
  ASSERT_EQ(KindOf(clone), WeightKind::kFloat32);
  EXPECT_NE(std::get<Array<float>>(clone).data(), std::get<Array<float>>(weights).data());
  EXPECT_EQ(std::get<Array<float>>(clone)[1], 2.0f);
  EXPECT_EQ(KindOf(Clone(Weights{})), WeightKind::kNone);
}

}  // namespace
}  // namespace chatty
