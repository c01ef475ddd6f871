#include "chatty/core/graph.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "../sanitized.h"
#include "chatty/core/error.h"

namespace chatty {
namespace {

// ---- A slow and plain model of what BuildGraph promises
// ---------------------------------------------------------------

/// Source, target and a stand-in for the weight that orders as weights do; 0 for none.
using PlainEdge = std::tuple<std::uint64_t, std::uint64_t, std::int64_t>;

/// Orders as the weight does, and tells NaNs and signed zeros apart.
std::int64_t WeightKey(const Weights& weights, std::size_t i) {
  if (const auto* integers = std::get_if<Array<std::int32_t>>(&weights)) return (*integers)[i];
  if (const auto* floats = std::get_if<Array<float>>(&weights)) {
    const auto bits = std::bit_cast<std::uint32_t>((*floats)[i]);
    const auto magnitude = static_cast<std::int64_t>(bits & 0x7fffffffu);
    return bits >> 31 ? -magnitude - 1 : magnitude;
  }
  return 0;
}

std::vector<PlainEdge> PlainEdges(const EdgeList& list) {
  std::vector<PlainEdge> edges;
  for (std::size_t i = 0; i < list.sources.size(); ++i) {
    edges.emplace_back(list.sources[i], list.targets[i], WeightKey(list.weights, i));
  }
  return edges;
}

std::vector<PlainEdge> PlainEdges(VertexId vertices, const Adjacency& adjacency) {
  std::vector<PlainEdge> edges;
  for (VertexId v = 0; v < vertices; ++v) {
    for (EdgeIndex e = adjacency.offsets[v]; e < adjacency.offsets[v + 1]; ++e) {
      edges.emplace_back(v, adjacency.neighbours[e], WeightKey(adjacency.weights, e));
    }
  }
  return edges;
}

struct Model {
  std::vector<PlainEdge> edges;
  BuildReport report;
};

Model PlainBuild(const EdgeList& list, const BuildOptions& options) {
  Model model;
  for (const PlainEdge& edge : PlainEdges(list)) {
    ++model.report.edges_given;
    const auto& [u, v, w] = edge;
    if (u == v && options.remove_loops) {
      ++model.report.loops_removed;
      continue;
    }
    model.edges.push_back(edge);
    if (options.symmetrise && u != v) model.edges.emplace_back(v, u, w);
  }
  std::sort(model.edges.begin(), model.edges.end());
  if (options.merge_parallel) {
    const auto same_ends = [](const PlainEdge& a, const PlainEdge& b) {
      return std::get<0>(a) == std::get<0>(b) && std::get<1>(a) == std::get<1>(b);
    };
    const auto end = std::unique(model.edges.begin(), model.edges.end(), same_ends);
    model.report.parallel_merged = static_cast<EdgeIndex>(model.edges.end() - end);
    model.edges.erase(end, model.edges.end());
  }
  model.report.edges_kept = model.edges.size();
  return model;
}

// ---- Inputs
// -----------------------------------------------------------------------------------------------------------

struct Shape {
  VertexId vertices;
  std::size_t edges;
  double skew;  // ends are vertices * x^skew for uniform x
};

EdgeList RandomList(const Shape& shape, WeightKind kind, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> unit(0, 1);
  const auto end = [&] {
    const double x = std::pow(unit(random), shape.skew) * static_cast<double>(shape.vertices);
    return std::min(static_cast<VertexId>(x), shape.vertices - 1);
  };
  EdgeList list;
  list.vertices = shape.vertices;
  list.sources = Array<VertexId>(shape.edges);
  list.targets = Array<VertexId>(shape.edges);
  for (std::size_t i = 0; i < shape.edges; ++i) {
    list.sources[i] = end();
    list.targets[i] = end();
  }
  if (kind == WeightKind::kInt32) {
    Array<std::int32_t> weights(shape.edges);
    for (std::int32_t& weight : weights) weight = static_cast<std::int32_t>(random() % 100) - 50;
    list.weights = std::move(weights);
  } else if (kind == WeightKind::kFloat32) {
    constexpr float kOdd[] = {0.0f, -0.0f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()};
    Array<float> weights(shape.edges);
    for (float& weight : weights) {
      weight = random() % 8 == 0 ? kOdd[random() % 4] : static_cast<float>(random() % 64) / 4 - 8;
    }
    list.weights = std::move(weights);
  }
  return list;
}

EdgeList Copy(const EdgeList& list) {
  return {list.vertices, list.sources.Clone(), list.targets.Clone(), Clone(list.weights)};
}

EdgeList ListOf(VertexId vertices, const std::vector<std::pair<VertexId, VertexId>>& edges) {
  EdgeList list;
  list.vertices = vertices;
  list.sources = Array<VertexId>(edges.size());
  list.targets = Array<VertexId>(edges.size());
  for (std::size_t i = 0; i < edges.size(); ++i) {
    list.sources[i] = edges[i].first;
    list.targets[i] = edges[i].second;
  }
  return list;
}

std::vector<VertexId> Neighbours(const Graph& graph, VertexId v) {
  const auto list = graph.out()[v];
  return {list.begin(), list.end()};
}

template <class E>
std::string ErrorOf(auto&& action) {
  try {
    action();
  } catch (const E& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another error: " << error.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

// ---- BuildGraph
// -------------------------------------------------------------------------------------------------------

class BuildGraphTest : public testing::TestWithParam<WeightKind> {};

TEST_P(BuildGraphTest, AgreesWithThePlainModel) {
  const WeightKind kind = GetParam();
  // From one vertex to many; the last ones are large enough for many blocks and buckets, dense and sparse.
  const Shape shapes[] = {{1, 0, 1},     {1, 7, 1},      {2, 50, 1},        {5, 3, 1},          {100, 400, 1},
                          {64, 5000, 2}, {1000, 900, 6}, {300, 40000, 1.5}, {120000, 60000, 1}, {1000, 270000, 3}};
  std::uint64_t seed = 7;
  for (const Shape& shape : shapes) {
    // The model of a large one takes half a minute.
    if (CHATTY_TEST_SANITIZED && shape.edges > 50000 && kind != WeightKind::kInt32) continue;
    const EdgeList list = RandomList(shape, kind, ++seed);
    for (int choice = 0; choice < 8; ++choice) {
      if (shape.edges > 5000 && choice != static_cast<int>(shape.edges / 10000 % 8) && choice != 7) continue;
      if (CHATTY_TEST_SANITIZED && shape.edges > 50000 && choice != 7) continue;
      BuildOptions options;
      options.symmetrise = choice & 1;
      options.remove_loops = choice & 2;
      options.merge_parallel = choice & 4;
      const Model model = PlainBuild(list, options);
      for (const int threads : {1, 3}) {
        options.threads = threads;
        SCOPED_TRACE(
            fmt::format("{} vertices, {} edges, choice {}, {} threads", shape.vertices, shape.edges, choice, threads));
        BuildReport report;
        const Graph graph = BuildGraph(Copy(list), options, &report);
        ASSERT_EQ(graph.vertices(), shape.vertices);
        ASSERT_EQ(graph.symmetric(), options.symmetrise);
        ASSERT_EQ(graph.weight_kind(), kind);
        ASSERT_TRUE(PlainEdges(graph.vertices(), graph.out()) == model.edges);
        EXPECT_EQ(report.edges_given, model.report.edges_given);
        EXPECT_EQ(report.loops_removed, model.report.loops_removed);
        EXPECT_EQ(report.parallel_merged, model.report.parallel_merged);
        EXPECT_EQ(report.edges_kept, model.report.edges_kept);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Weights, BuildGraphTest,
                         testing::Values(WeightKind::kNone, WeightKind::kInt32, WeightKind::kFloat32),
                         [](const auto& info) { return std::string(WeightName(info.param)); });

TEST(BuildGraph, OrderOfTheListDoesNotMatter) {
  const EdgeList list = RandomList({500, 100000, 1}, WeightKind::kFloat32, 3);
  std::vector<std::size_t> order(list.sources.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), std::mt19937_64(5));
  EdgeList shuffled = Copy(list);
  auto& weights = std::get<Array<float>>(shuffled.weights);
  for (std::size_t i = 0; i < order.size(); ++i) {
    shuffled.sources[i] = list.sources[order[i]];
    shuffled.targets[i] = list.targets[order[i]];
    weights[i] = std::get<Array<float>>(list.weights)[order[i]];
  }
  const Graph first = BuildGraph(Copy(list), {});
  const Graph second = BuildGraph(std::move(shuffled), {});
  EXPECT_TRUE(PlainEdges(500, first.out()) == PlainEdges(500, second.out()));
}

TEST(BuildGraph, SymmetrisingAddsALoopOnce) {
  BuildOptions options;
  options.symmetrise = true;
  const Graph graph = BuildGraph(ListOf(2, {{0, 0}, {0, 1}}), options);
  EXPECT_EQ(graph.edges(), 3u);
  EXPECT_EQ(Neighbours(graph, 0), (std::vector<VertexId>{0, 1}));
  EXPECT_EQ(Neighbours(graph, 1), (std::vector<VertexId>{0}));
}

TEST(BuildGraph, SymmetricMergeKeepsOneWeightForBothDirections) {
  EdgeList list = ListOf(2, {{0, 1}, {1, 0}, {0, 1}});
  list.weights = Array<std::int32_t>{5, 3, 4};
  BuildOptions options;
  options.symmetrise = options.merge_parallel = true;
  BuildReport report;
  const Graph graph = BuildGraph(std::move(list), options, &report);
  ASSERT_EQ(graph.edges(), 2u);
  EXPECT_EQ(std::get<Array<std::int32_t>>(graph.out().weights)[0], 3);
  EXPECT_EQ(std::get<Array<std::int32_t>>(graph.out().weights)[1], 3);
  EXPECT_EQ(report.parallel_merged, 4u);
}

TEST(BuildGraph, AllEdgesAtOneHub) {
  constexpr VertexId kLeaves = 200000;
  EdgeList list;
  list.vertices = kLeaves + 1;
  list.sources = Array<VertexId>(kLeaves, kLeaves);
  list.targets = Array<VertexId>(kLeaves);
  for (VertexId v = 0; v < kLeaves; ++v) list.targets[v] = kLeaves - 1 - v;
  const Graph graph = BuildGraph(std::move(list), {});
  ASSERT_EQ(graph.out_degree(kLeaves), kLeaves);
  EXPECT_EQ(graph.max_degree_vertex(), kLeaves);
  for (VertexId v = 0; v < kLeaves; ++v) ASSERT_EQ(graph.out().neighbours[v], v);
  EXPECT_EQ(graph.in().degree(0), 1u);
}

TEST(BuildGraph, EmptyGraphs) {
  const Graph none = BuildGraph(EdgeList{}, {});
  EXPECT_EQ(none.vertices(), 0u);
  EXPECT_EQ(none.edges(), 0u);
  EXPECT_EQ(none.max_degree_vertex(), kNoVertex);
  EXPECT_EQ(none.in().neighbours.size(), 0u);
  EXPECT_EQ(none.in_degrees().size(), 0u);
  const Graph isolated = BuildGraph(ListOf(100000, {}), {});
  EXPECT_EQ(isolated.vertices(), 100000u);
  EXPECT_EQ(isolated.out_degree(99999), 0u);
  EXPECT_EQ(isolated.max_degree_vertex(), 0u);
}

TEST(BuildGraph, AssumeSymmetricIsTaken) {
  BuildOptions options;
  options.assume_symmetric = true;
  const Graph graph = BuildGraph(ListOf(2, {{0, 1}, {1, 0}}), options);
  EXPECT_TRUE(graph.symmetric());
  EXPECT_EQ(graph.edges(), 2u);
  EXPECT_EQ(&graph.in(), &graph.out());
  EXPECT_TRUE(graph.has_in_edges());
  EXPECT_TRUE(graph.in_degrees().empty());
  EXPECT_EQ(graph.in_degree(1), 1u);
}

TEST(BuildGraph, RefusesBadLists) {
  EXPECT_NE(ErrorOf<InputError>([] {
              BuildGraph(ListOf(3, {{0, 1}, {1, 3}}), {});
            }).find("edge 1 of the list (1 -> 3"),
            std::string::npos);
  EXPECT_THROW(BuildGraph(ListOf(0, {{0, 0}}), {}), InputError);
  // Far into a list of many blocks, by several threads.
  EdgeList large = RandomList({10, 600000, 1}, WeightKind::kNone, 1);
  large.targets[599999] = 10;
  BuildOptions options;
  options.threads = 4;
  EXPECT_NE(ErrorOf<InputError>([&] { BuildGraph(std::move(large), options); }).find("edge 599999"), std::string::npos);
  EdgeList ragged = ListOf(3, {{0, 1}});
  ragged.weights = Array<float>{1, 2};
  EXPECT_THROW(BuildGraph(std::move(ragged), {}), InputError);
  EdgeList uneven = ListOf(3, {{0, 1}});
  uneven.targets = Array<VertexId>{1, 2};
  EXPECT_THROW(BuildGraph(std::move(uneven), {}), InputError);
}

// ---- Transpose and in-edges
// -------------------------------------------------------------------------------------------

class TransposeTest : public testing::TestWithParam<WeightKind> {};

TEST_P(TransposeTest, ReversesEveryEdge) {
  std::uint64_t seed = 70;
  for (const Shape& shape : {Shape{1, 5, 1}, Shape{50, 300, 2}, Shape{400, 270000, 2}, Shape{120000, 50000, 1}}) {
    if (CHATTY_TEST_SANITIZED && shape.edges > 50000 && GetParam() != WeightKind::kInt32) continue;
    const Graph graph = BuildGraph(RandomList(shape, GetParam(), ++seed), {});
    std::vector<PlainEdge> expected = PlainEdges(shape.vertices, graph.out());
    for (PlainEdge& edge : expected) std::swap(std::get<0>(edge), std::get<1>(edge));
    std::sort(expected.begin(), expected.end());
    for (const int threads : {1, 3}) {
      const Adjacency transposed = Transpose(graph.vertices(), graph.out(), threads);
      ASSERT_EQ(KindOf(transposed.weights), GetParam());
      ASSERT_TRUE(PlainEdges(shape.vertices, transposed) == expected) << shape.vertices << " vertices";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Weights, TransposeTest,
                         testing::Values(WeightKind::kNone, WeightKind::kInt32, WeightKind::kFloat32),
                         [](const auto& info) { return std::string(WeightName(info.param)); });

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
// --------------------------------------------------------------------------------------------------

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
// ----------------------------------------------------------------------------------------------------------

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
