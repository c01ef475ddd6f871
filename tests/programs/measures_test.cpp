// Degrees, components and diameter, against definitions and serial searches.
#include "chatty/programs/measures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "chatty/core/error.h"
#include "chatty/io/generators.h"
#include "chatty/programs/reference.h"
#include "test_graphs.h"

namespace chatty::test {
namespace {

Graph Chain(std::uint64_t count) {
  GeneratorSpec spec;
  spec.family = "chain";
  spec.count = count;
  return Generate(spec);
}
Graph Star(std::uint64_t count) {
  GeneratorSpec spec;
  spec.family = "star";
  spec.count = count;
  return Generate(spec);
}
Graph Grid(std::uint64_t width, std::uint64_t height) {
  GeneratorSpec spec;
  spec.family = "grid";
  spec.width = width;
  spec.height = height;
  return Generate(spec);
}

/// The longest of all shortest paths in the component of `start`, by a search from every vertex.
std::uint32_t Diameter(const Graph& graph, VertexId start) {
  std::uint32_t longest = 0;
  const Array<std::uint32_t> reach = SerialBfs(graph, start);
  for (VertexId v = 0; v < graph.vertices(); ++v) {
    if (reach[v] == kInfinity<std::uint32_t>) continue;
    for (const std::uint32_t level : SerialBfs(graph, v)) {
      if (level != kInfinity<std::uint32_t>) longest = std::max(longest, level);
    }
  }
  return longest;
}

TEST(Diameter, OfKnownGraphs) {
  const auto bound = [](const Graph& graph, VertexId start) { return EstimateDiameter(graph, start).length; };
  EXPECT_EQ(bound(Chain(500), 123), 499u);
  EXPECT_EQ(bound(Chain(1), 0), 0u);
  EXPECT_EQ(bound(Star(50), 0), 2u);
  EXPECT_EQ(bound(Star(50), 7), 2u);
  EXPECT_EQ(bound(Star(2), 0), 1u);
  EXPECT_EQ(bound(Grid(30, 20), 333), 48u);
  for (const VertexId n : {3u, 8u, 101u}) {
    std::vector<TestEdge> edges;
    for (VertexId v = 0; v < n; ++v) edges.push_back({v, (v + 1) % n});
    EXPECT_EQ(bound(MakeSymmetric(n, edges), 2), n / 2) << "a cycle of " << n;
    EXPECT_EQ(bound(MakeGraph(n, edges), 2), n / 2) << "a directed one: edges are taken both ways";
  }
}

TEST(Diameter, IsExactOnTrees) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 30; ++trial) {
    std::vector<TestEdge> edges;
    const VertexId n = 40;
    for (VertexId v = 1; v < n; ++v) edges.push_back({v, random() % v});
    const Graph tree = MakeSymmetric(n, edges);
    const DiameterBound bound = EstimateDiameter(tree, static_cast<VertexId>(random() % n));
    EXPECT_EQ(bound.length, Diameter(tree, 0));
    EXPECT_EQ(SerialBfs(tree, bound.from)[bound.to], bound.length) << "it names the two ends";
    EXPECT_GE(bound.sweeps, 2u);
    EXPECT_LE(bound.sweeps, 4u);
  }
}

TEST(Diameter, IsALowerBoundAndAtLeastHalf) {
  for (const RandomCase& input : RandomCases()) {
    if (!input.symmetric) continue;
    const Graph graph = input.Make();
    const DiameterBound bound = EstimateDiameter(graph, 0);
    const std::uint32_t truth = Diameter(graph, 0);
    EXPECT_LE(bound.length, truth);
    EXPECT_GE(2 * bound.length, truth);
  }
  EXPECT_THROW(EstimateDiameter(MakeGraph(3, {}), 3), UsageError);
}

TEST(Diameter, OfAWideGraphIsFoundInParallel) {
  const Graph graph = RandomGraph(7, 60000, 3.0, WeightKind::kNone, true);  // frontiers of thousands
  const ComponentSummary components = SummariseComponents(graph);
  const DiameterBound bound = EstimateDiameter(graph, components.representative);
  const Array<std::uint32_t> levels = SerialBfs(graph, bound.from);
  std::uint32_t farthest = 0;
  for (const std::uint32_t level : levels)
    farthest = level == kInfinity<std::uint32_t> ? farthest : std::max(farthest, level);
  EXPECT_EQ(bound.length, farthest);
  EXPECT_EQ(levels[bound.to], farthest);
}

TEST(Degrees, AreThoseOfASortedList) {
  for (const RandomCase& input : RandomCases()) {
    const Graph graph = input.Make();
    for (const bool in : {false, true}) {
      std::vector<EdgeIndex> degrees;
      for (VertexId v = 0; v < graph.vertices(); ++v) degrees.push_back(in ? graph.in_degree(v) : graph.out_degree(v));
      const DegreeSummary summary = SummariseDegrees(graph, in);
      const auto first = std::max_element(degrees.begin(), degrees.end());
      EXPECT_EQ(summary.max, *first);
      EXPECT_EQ(summary.max_vertex, static_cast<VertexId>(first - degrees.begin()));
      std::sort(degrees.begin(), degrees.end());
      const std::size_t n = degrees.size();
      EXPECT_EQ(summary.min, degrees[0]);
      EXPECT_EQ(summary.median, degrees[(n + 1) / 2 - 1]);
      EXPECT_EQ(summary.percentile_99, degrees[(99 * n + 99) / 100 - 1]);
      EXPECT_DOUBLE_EQ(summary.mean, static_cast<double>(graph.edges()) / static_cast<double>(n));
      std::vector<std::uint64_t> histogram;
      for (const EdgeIndex degree : degrees) {
        std::size_t k = 0;
        while (k > 0 ? degree >= EdgeIndex{1} << k : degree > 0) ++k;
        if (histogram.size() <= k) histogram.resize(k + 1);
        ++histogram[k];
      }
      EXPECT_EQ(summary.histogram, histogram);
    }
  }
  const DegreeSummary none = SummariseDegrees(MakeGraph(0, {}));
  EXPECT_EQ(none.max_vertex, kNoVertex);
  EXPECT_TRUE(none.histogram.empty());
}

TEST(Components, LargestIsCalledByItsLeastVertex) {
  const ComponentSummary summary = SummariseComponents(MakeGraph(8, {{6, 2}, {2, 4}, {0, 1}, {5, 7}}));
  EXPECT_EQ(summary.count, 4u);
  EXPECT_EQ(summary.largest, 3u);
  EXPECT_EQ(summary.representative, 2u);
  EXPECT_EQ(SummariseComponents(MakeGraph(0, {})).representative, kNoVertex);
}

}  // namespace
}  // namespace chatty::test
