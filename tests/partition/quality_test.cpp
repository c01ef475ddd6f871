#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "chatty/core/error.h"
#include "chatty/partition/partition.h"
#include "checks.h"

namespace chatty {
namespace {

using test::GraphOf;
using test::RandomGraph;

/// MeasureQuality's promise, with a set for every count.
PartitionQuality BruteForce(const Graph& graph, const Partition& partition) {
  const PartId parts = partition.parts();
  PartitionQuality expected;
  expected.owned.resize(parts);
  expected.edges.resize(parts);
  std::vector<std::vector<std::set<VertexId>>> border(parts, std::vector<std::set<VertexId>>(parts));
  std::vector<std::set<VertexId>> border_union(parts);
  for (VertexId v = 0; v < graph.vertices(); ++v) {
    const PartId p = partition.Owner(v);
    ++expected.owned[p];
    for (const VertexId u : graph.out()[v]) {
      const PartId q = partition.Owner(u);
      ++expected.edges[p];
      if (p == q) continue;
      ++expected.edge_cut;
      border[p][q].insert(v);
      border[q][p].insert(u);
      border_union[p].insert(v);
      border_union[q].insert(u);
    }
  }
  for (PartId p = 0; p < parts; ++p) {
    expected.border.emplace_back();
    for (PartId q = 0; q < parts; ++q) expected.border[p].push_back(static_cast<VertexId>(border[p][q].size()));
    expected.border_union.push_back(static_cast<VertexId>(border_union[p].size()));
  }
  const auto balance = [parts](const auto& entries) {
    double total = 0, most = 0;
    for (const auto entry : entries) {
      total += static_cast<double>(entry);
      most = std::max(most, static_cast<double>(entry));
    }
    return total == 0 ? 1.0 : most / (total / parts);
  };
  expected.vertex_balance = balance(expected.owned);
  expected.edge_balance = balance(expected.edges);
  return expected;
}

void ExpectEqual(const PartitionQuality& quality, const PartitionQuality& expected) {
  EXPECT_EQ(quality.edge_cut, expected.edge_cut);
  EXPECT_EQ(quality.owned, expected.owned);
  EXPECT_EQ(quality.edges, expected.edges);
  EXPECT_EQ(quality.border, expected.border);
  EXPECT_EQ(quality.border_union, expected.border_union);
  EXPECT_DOUBLE_EQ(quality.vertex_balance, expected.vertex_balance);
  EXPECT_DOUBLE_EQ(quality.edge_balance, expected.edge_balance);
}

TEST(Quality, ByHand) {
  // 0 -> 1 -> 2 -> 3 and 0 -> 3, in parts {0, 1}, {2}, {3}.
  const Graph graph = GraphOf(4, {{0, 1}, {1, 2}, {2, 3}, {0, 3}}, false);
  const PartitionQuality quality = MeasureQuality(graph, Partition::FromBounds({0, 2, 3, 4}, ""));
  EXPECT_EQ(quality.edge_cut, 3u);
  EXPECT_EQ(quality.owned, (std::vector<VertexId>{2, 1, 1}));
  EXPECT_EQ(quality.edges, (std::vector<EdgeIndex>{3, 1, 0}));
  EXPECT_EQ(quality.border, (std::vector<std::vector<VertexId>>{{0, 1, 1}, {1, 0, 1}, {1, 1, 0}}));
  EXPECT_EQ(quality.border_union, (std::vector<VertexId>{2, 1, 1}));
  EXPECT_DOUBLE_EQ(quality.vertex_balance, 1.5);
  EXPECT_DOUBLE_EQ(quality.edge_balance, 2.25);
}

TEST(Quality, AgreesWithBruteForce) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const VertexId n = seed < 2 ? static_cast<VertexId>(seed) : static_cast<VertexId>(20 * seed);
    const Graph graph = RandomGraph(seed, n, n * (seed % 5), seed % 2 == 0, test::TestWeights::kNone, seed % 3 == 0);
    for (const std::string_view name : PartitionerNames()) {
      for (const PartId parts : {1, 2, 3, 8, 17, 64, 65, 200}) {
        SCOPED_TRACE(fmt::format("seed {}, {} parts, {}", seed, parts, name));
        const Partition partition = MakePartitioner(name)->Divide(graph, {.parts = parts, .seed = seed});
        ExpectEqual(MeasureQuality(graph, partition, 3), BruteForce(graph, partition));
      }
    }
  }
}

TEST(Quality, AgreesWithBruteForceOverManyChunks) {
  for (const bool symmetric : {false, true}) {
    const Graph graph = RandomGraph(99, 20'000, 60'000, symmetric, test::TestWeights::kNone, true);
    const Partition partition = MakePartitioner("random")->Divide(graph, {.parts = 70});
    ExpectEqual(MeasureQuality(graph, partition, 4), BruteForce(graph, partition));
  }
}

TEST(Quality, AnotherGraphsPartitionIsRefused) {
  EXPECT_THROW(MeasureQuality(GraphOf(4, {}, true), Partition::FromBounds({0, 3}, "")), UsageError);
  EXPECT_THROW(MeasureQuality(GraphOf(0, {}, true), Partition()), UsageError);
}

TEST(Quality, TableShowsWhatWasMeasured) {
  const Graph graph = RandomGraph(5, 6000, 30'000, true);
  const Partition few = MakePartitioner("contiguous")->Divide(graph, {.parts = 3});
  const PartitionQuality quality = MeasureQuality(graph, few);
  const std::string text = FormatQuality(quality);
  EXPECT_NE(text.find(fmt::format("{:.3f}", quality.edge_balance)), std::string::npos) << text;
  EXPECT_NE(text.find("2,000"), std::string::npos) << text;  // vertices of a part, digits grouped
  EXPECT_NE(text.find(" -"), std::string::npos) << text;     // the diagonal of the matrix
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3 + 1 + 1 + 3 + 1 + 1 + 2 + 3) << text;

  // Too many parts for a matrix: one line for it instead.
  const std::string wide = FormatQuality(MeasureQuality(graph, MakePartitioner("random")->Divide(graph, {.parts = 40})));
  EXPECT_EQ(std::count(wide.begin(), wide.end(), '\n'), 3 + 1 + 1 + 40 + 1 + 2) << wide;
  for (std::size_t begin = 0; begin < wide.size(); begin = wide.find('\n', begin) + 1) {
    EXPECT_LE(wide.find('\n', begin) - begin, 100u);
  }
}

}  // namespace
}  // namespace chatty
