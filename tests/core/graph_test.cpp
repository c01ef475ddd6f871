#include "chatty/core/graph.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
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

/// The edges of a list by their ends, each with its lesser end first, and parallel ones as they come; then, if `but_one`,
/// one from the back put to the front.
EdgeList InOrder(const EdgeList& list, bool but_one) {
  std::vector<std::size_t> order(list.sources.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto ends = [&](std::size_t i) { return std::minmax(list.sources[i], list.targets[i]); };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair<VertexId, VertexId>(ends(a)) < std::pair<VertexId, VertexId>(ends(b));
  });
  if (but_one) std::rotate(order.begin(), order.end() - 1, order.end());
  EdgeList ordered = Copy(list);
  for (std::size_t i = 0; i < order.size(); ++i) {
    std::tie(ordered.sources[i], ordered.targets[i]) = std::pair<VertexId, VertexId>(ends(order[i]));
    if (auto* integers = std::get_if<Array<std::int32_t>>(&ordered.weights)) {
      (*integers)[i] = std::get<Array<std::int32_t>>(list.weights)[order[i]];
    } else if (auto* floats = std::get_if<Array<float>>(&ordered.weights)) {
      (*floats)[i] = std::get<Array<float>>(list.weights)[order[i]];
    }
  }
  return ordered;
}

TEST_P(BuildGraphTest, AgreesWithThePlainModelOnListsInOrder) {
  for (const Shape& shape : {Shape{300, 40000, 1.5}, Shape{20000, 15000, 1}, Shape{40, 300, 1}}) {
    const EdgeList list = RandomList(shape, GetParam(), shape.edges);
    for (const bool but_one : {false, true}) {
      const EdgeList ordered = InOrder(list, but_one);
      for (int choice = 0; choice < 4; ++choice) {
        BuildOptions options;
        options.symmetrise = choice & 1;
        options.merge_parallel = choice & 2;
        SCOPED_TRACE(fmt::format("{} vertices, choice {}, {}", shape.vertices, choice, but_one ? "but one" : "all"));
        const Model model = PlainBuild(ordered, options);
        BuildReport report;
        const Graph graph = BuildGraph(Copy(ordered), options, &report);
        EXPECT_TRUE(PlainEdges(graph.vertices(), graph.out()) == model.edges);
        EXPECT_EQ(report.parallel_merged, model.report.parallel_merged);
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

// ---- Lists and rows as readers have them ----

EdgeList RandomList(std::uint64_t seed, VertexId vertices, std::size_t edges, WeightKind kind) {
  std::mt19937_64 random(seed);
  EdgeList list;
  list.vertices = vertices;
  list.sources = Array<VertexId>(edges);
  list.targets = Array<VertexId>(edges);
  Array<std::int32_t> integers(edges);
  for (std::size_t e = 0; e < edges; ++e) {
    list.sources[e] = static_cast<VertexId>(random() % vertices);
    list.targets[e] = static_cast<VertexId>(random() % vertices);
    integers[e] = static_cast<std::int32_t>(random() % 5);
  }
  if (kind == WeightKind::kInt32) list.weights = std::move(integers);
  if (kind == WeightKind::kFloat32) {
    Array<float> floats(edges);
    std::copy(integers.begin(), integers.end(), floats.begin());
    list.weights = std::move(floats);
  }
  return list;
}

EdgeList Part(const EdgeList& list, std::size_t begin, std::size_t end) {
  EdgeList part;
  part.sources = Array<VertexId>(list.sources.span().subspan(begin, end - begin));
  part.targets = Array<VertexId>(list.targets.span().subspan(begin, end - begin));
  if (const auto* integers = std::get_if<Array<std::int32_t>>(&list.weights)) {
    part.weights = Array<std::int32_t>(integers->span().subspan(begin, end - begin));
  } else if (const auto* floats = std::get_if<Array<float>>(&list.weights)) {
    part.weights = Array<float>(floats->span().subspan(begin, end - begin));
  }
  return part;
}

TEST(Adjacency, OfAListInPiecesIsThatOfTheWholeList) {
  constexpr VertexId kVertices = 500;
  for (const WeightKind kind : {WeightKind::kNone, WeightKind::kInt32, WeightKind::kFloat32}) {
    for (const std::size_t edges : {std::size_t{0}, std::size_t{1}, std::size_t{3000}, std::size_t{300000}}) {
      const EdgeList list = RandomList(edges, kVertices, edges, kind);
      std::mt19937_64 random(edges);
      std::vector<std::pair<std::size_t, std::size_t>> cuts;
      for (std::size_t at = 0; at < edges;) {
        const std::size_t end = std::min<std::size_t>(edges, at + random() % (edges / 3 + 2));  // now and then nothing
        cuts.emplace_back(at, end);
        at = end;
      }
      std::shuffle(cuts.begin(), cuts.end(), random);
      std::vector<EdgeList> pieces;
      for (const auto& [begin, end] : cuts) pieces.push_back(Part(list, begin, end));
      BuildOptions options{.symmetrise = true, .remove_loops = true, .merge_parallel = true};
      BuildReport whole_report, report;
      const Adjacency whole = BuildAdjacency(RandomList(edges, kVertices, edges, kind), options, &whole_report);
      const Adjacency joined = BuildAdjacency(kVertices, std::move(pieces), options, &report);
      EXPECT_EQ(PlainEdges(kVertices, joined), PlainEdges(kVertices, whole));
      EXPECT_EQ(report.edges_given, edges);
      EXPECT_EQ(report.loops_removed, whole_report.loops_removed);
      EXPECT_EQ(report.parallel_merged, whole_report.parallel_merged);
    }
  }
}

TEST(Adjacency, PiecesOfIntegersAndOfFloatsMakeFloats) {
  std::vector<EdgeList> pieces(3);
  pieces[0].sources = {0};
  pieces[0].targets = {1};
  pieces[0].weights = Array<std::int32_t>{7};
  pieces[1].sources = {1};
  pieces[1].targets = {0};
  pieces[1].weights = Array<float>{0.5f};
  pieces[2].weights = Array<std::int32_t>();
  const Adjacency rows = BuildAdjacency(2, std::move(pieces), {});
  ASSERT_TRUE(std::holds_alternative<Array<float>>(rows.weights));
  EXPECT_EQ(std::get<Array<float>>(rows.weights)[0], 7.0f);
  EXPECT_EQ(std::get<Array<float>>(rows.weights)[1], 0.5f);

  std::vector<EdgeList> some(2);
  some[0].weights = Array<float>();
  some[1].sources = {0};
  some[1].targets = {0};
  EXPECT_THROW(BuildAdjacency(1, std::move(some), {}), InputError) << "weights for some edges only";
}

TEST(Adjacency, ListsAreSortedAndSimplifiedInPlace) {
  constexpr VertexId kVertices = 60;
  for (const WeightKind kind : {WeightKind::kNone, WeightKind::kInt32, WeightKind::kFloat32}) {
    Adjacency rows = BuildAdjacency(RandomList(9, kVertices, 2500, kind), {});
    const std::vector<PlainEdge> sorted = PlainEdges(kVertices, rows);
    std::mt19937_64 random(3);
    for (VertexId v = 0; v < kVertices; ++v) {
      for (EdgeIndex e = rows.offsets[v + 1]; e > rows.offsets[v] + 1; --e) {
        const EdgeIndex other = rows.offsets[v] + random() % (e - rows.offsets[v]);
        std::swap(rows.neighbours[e - 1], rows.neighbours[other]);
        std::visit(
            [&](auto& weights) {
              if constexpr (!std::is_same_v<std::decay_t<decltype(weights)>, std::monostate>) {
                std::swap(weights[e - 1], weights[other]);
              }
            },
            rows.weights);
      }
    }
    ASSERT_NE(PlainEdges(kVertices, rows), sorted);
    SortLists(rows);
    EXPECT_EQ(PlainEdges(kVertices, rows), sorted);

    for (const BuildOptions& options : {BuildOptions{.remove_loops = true}, BuildOptions{.merge_parallel = true},
                                        BuildOptions{.remove_loops = true, .merge_parallel = true}, BuildOptions{}}) {
      BuildReport expected_report, report;
      const Adjacency expected = BuildAdjacency(RandomList(9, kVertices, 2500, kind), options, &expected_report);
      Adjacency simple = BuildAdjacency(RandomList(9, kVertices, 2500, kind), {});
      SimplifyLists(simple, options, &report);
      EXPECT_EQ(PlainEdges(kVertices, simple), PlainEdges(kVertices, expected));
      EXPECT_EQ(report.loops_removed, expected_report.loops_removed);
      EXPECT_EQ(report.parallel_merged, expected_report.parallel_merged);
      EXPECT_EQ(report.edges_kept, expected_report.edges_kept);
    }
  }
}

TEST(Adjacency, TheLightestParallelEdgeIsKeptWhereverItStands) {
  Adjacency rows;
  rows.offsets = {0, 4, 4, 6};
  rows.neighbours = {1, 1, 1, 2, 0, 0};
  rows.weights = Array<float>{1.5f, -0.5f, 3, 7, 2, 2};
  SimplifyLists(rows, {.merge_parallel = true});
  EXPECT_EQ(std::vector<VertexId>(rows.neighbours.begin(), rows.neighbours.end()), (std::vector<VertexId>{1, 2, 0}));
  const auto& weights = std::get<Array<float>>(rows.weights);
  EXPECT_EQ(std::vector<float>(weights.begin(), weights.end()), (std::vector<float>{-0.5f, 7, 2}));
}

TEST(Adjacency, KnowsWhetherItIsSymmetric) {
  for (const WeightKind kind : {WeightKind::kNone, WeightKind::kInt32, WeightKind::kFloat32}) {
    Adjacency rows = BuildAdjacency(RandomList(1, 200, 3000, kind), {.symmetrise = true});
    EXPECT_TRUE(IsSymmetric(rows)) << "parallel edges and loops are";
    if (auto* weights = std::get_if<Array<std::int32_t>>(&rows.weights)) {
      const std::int32_t kept = std::exchange((*weights)[17], 1000);
      EXPECT_FALSE(IsSymmetric(rows)) << "a weight that differs from its reverse's";
      (*weights)[17] = kept;
      EXPECT_TRUE(IsSymmetric(rows));
    }
    EXPECT_FALSE(IsSymmetric(BuildAdjacency(RandomList(1, 200, 3000, kind), {})));
  }
  const auto of = [](std::initializer_list<std::pair<VertexId, VertexId>> edges) {
    EdgeList list;
    list.vertices = 4;
    list.sources = Array<VertexId>(edges.size());
    list.targets = Array<VertexId>(edges.size());
    std::size_t e = 0;
    for (const auto& [u, v] : edges) {
      list.sources[e] = u;
      list.targets[e++] = v;
    }
    return BuildAdjacency(std::move(list), {});
  };
  EXPECT_TRUE(IsSymmetric(of({})));
  EXPECT_TRUE(IsSymmetric(of({{2, 2}})));
  EXPECT_TRUE(IsSymmetric(of({{0, 1}, {1, 0}})));
  EXPECT_FALSE(IsSymmetric(of({{0, 1}})));
  EXPECT_FALSE(IsSymmetric(of({{0, 1}, {0, 1}, {1, 0}}))) << "as often";
  EXPECT_FALSE(IsSymmetric(of({{0, 1}, {1, 2}, {2, 0}}))) << "a circle";
  EXPECT_TRUE(IsSymmetric(Adjacency{}));
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
