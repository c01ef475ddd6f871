// BuildGraph against a plain model.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "../sanitized.h"
#include "chatty/core/error.h"
#include "chatty/core/graph.h"
#include "graph_model.h"

namespace chatty {
namespace {

using test::Copy;
using test::ErrorOf;
using test::ListOf;
using test::Model;
using test::Neighbours;
using test::PlainBuild;
using test::PlainEdges;
using test::RandomList;
using test::Shape;

// ---- BuildGraph

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

}  // namespace
}  // namespace chatty
