/// \file
/// Programs that look at the neighbours of neighbours: communities, clustering and triangles.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "../programs/test_graphs.h"
#include "chatty/core/hash.h"
#include "chatty/io/reader.h"
#include "examples_fixture.h"

namespace chatty::test {
namespace {

TEST_P(Examples, CdlpIsWhatTwoReferencesSay) {
  for (const auto& [name, graph] : Graphs(false)) {
    SCOPED_TRACE(name);
    Session session = Divided(graph);
    for (const std::uint32_t rounds : {1u, 2u, 10u}) {
      const Answer answer = RunIt({"cdlp", ""}, session, {{"rounds", std::to_string(rounds)}});
      EXPECT_EQ(answer.As<VertexId>(), Communities(graph, rounds));
      EXPECT_EQ(answer.As<VertexId>(), ToVector(SerialLabelPropagation(graph, rounds)));
      EXPECT_EQ(answer.statistics.rounds, rounds);
    }
  }
}

TEST_P(Examples, CdlpCountsAReciprocalPairTwiceAndTakesTheLeastOfEquals) {
  // Vertex 4 hears 3 twice over the pair, 0 and 1 once each: 3 wins. Vertex 5 hears 1 and 2 once each: 1 wins.
  const Graph graph = MakeGraph(6, {{3, 4}, {4, 3}, {0, 4}, {1, 4}, {1, 5}, {2, 5}});
  Session session = Divided(graph);
  const Answer answer = RunIt({"cdlp", ""}, session, {{"rounds", "1"}});
  EXPECT_EQ(answer.As<VertexId>(), (std::vector<VertexId>{4, 4, 5, 4, 3, 1}));
}

TEST_P(Examples, LccIsWhatTwoReferencesSay) {
  for (const auto& [name, graph] : Graphs(false)) {
    SCOPED_TRACE(name);
    Session session = Divided(graph, "random");
    const Answer answer = RunIt({"lcc", ""}, session);
    EXPECT_EQ(answer.As<double>(), Clustering(graph));
    EXPECT_EQ(answer.As<double>(), ToVector(SerialClustering(graph)));
  }
}

TEST_P(Examples, LccCountsPairsBothWaysAndNoLoops) {
  // The neighbours of 0 are 1, 2 and 3, some by edges out, some in, 1 both ways; among them 1 -> 2, 2 -> 1 and 3 -> 2: three
  // of six. A hub, 4, has nine neighbours that do not know each other.
  std::vector<TestEdge> edges{{0, 1}, {1, 0}, {2, 0}, {0, 3}, {1, 2}, {2, 1}, {3, 2}, {0, 0}, {2, 2}};
  for (std::uint64_t v = 5; v < 14; ++v) edges.push_back({4, v});
  const Graph graph = MakeGraph(14, edges);
  Session session = Divided(graph);
  const Answer answer = RunIt({"lcc", ""}, session);
  EXPECT_EQ(answer.As<double>(), Clustering(graph));
  EXPECT_EQ(answer.As<double>()[0], 0.5);
  EXPECT_EQ(answer.As<double>()[4], 0);
  const Graph clique = MakeSymmetric(4, {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}});
  Session of_clique = Divided(clique);
  EXPECT_EQ(RunIt({"lcc", ""}, of_clique).As<double>(), std::vector<double>(4, 1.0));
}

/// Of every two of `vertices` one edge, from the larger one.
std::vector<TestEdge> Clique(std::uint64_t vertices) {
  std::vector<TestEdge> edges;
  for (std::uint64_t u = 0; u < vertices; ++u) {
    for (std::uint64_t v = 0; v < u; ++v) edges.push_back({u, v});
  }
  return edges;
}

TEST_P(Examples, TrianglesAreWhatTwoReferencesSay) {
  for (const bool symmetric : {true, false}) {
    for (const double degree : {2.0, 9.0, 30.0}) {  // the last one's rows are too long to be compared as they are
      for (std::uint32_t seed = 0; seed < 3; ++seed) {
        const Graph graph = RandomGraph(seed, 60 + 40 * seed, degree, WeightKind::kNone, symmetric);
        Session session = Divided(graph, seed % 2 == 0 ? "random" : "edge-balanced");
        const Answer answer = RunIt({"triangles", ""}, session);
        EXPECT_EQ(answer.As<std::uint64_t>(), TrianglesOf(graph)) << degree << ' ' << seed;
        EXPECT_EQ(answer.As<std::uint64_t>(), ToVector(SerialTriangles(graph))) << degree << ' ' << seed;
      }
    }
  }
}

TEST_P(Examples, TrianglesOfGraphsWhoseCountIsKnown) {
  const auto count = [&](const Graph& graph) {
    Session session = Divided(graph);
    return RunIt({"triangles", ""}, session).As<std::uint64_t>();
  };
  for (const std::uint64_t n : {1u, 2u, 3u, 4u, 25u, 26u, 33u, 90u}) {  // of any two other vertices, one
    const std::vector<std::uint64_t> expected(n, (n - 1) * (n - 2) / 2);
    EXPECT_EQ(count(MakeSymmetric(static_cast<VertexId>(n), Clique(n))), expected) << n;
    EXPECT_EQ(count(MakeGraph(static_cast<VertexId>(n), Clique(n))), expected) << n;
  }
  EXPECT_EQ(count(GridGraph(40, 30)), std::vector<std::uint64_t>(1200, 0));
  for (const std::uint64_t rim : {5u, 20u, 300u}) {  // a wheel has as many triangles as spokes
    std::vector<TestEdge> star, wheel;
    for (std::uint64_t v = 1; v <= rim; ++v) star.push_back({0, v});
    wheel = star;
    for (std::uint64_t v = 1; v <= rim; ++v) wheel.push_back({v, v % rim + 1});
    const auto vertices = static_cast<VertexId>(rim + 1);
    EXPECT_EQ(count(MakeSymmetric(vertices, star)), std::vector<std::uint64_t>(vertices, 0));
    std::vector<std::uint64_t> expected(vertices, 2);
    expected[0] = rim;
    EXPECT_EQ(count(MakeSymmetric(vertices, wheel)), expected);
    EXPECT_EQ(count(MakeGraph(vertices, wheel)), expected);
  }
  EXPECT_EQ(count(MakeGraph(7, {})), std::vector<std::uint64_t>(7, 0));
  EXPECT_EQ(count(MakeGraph(0, {})), std::vector<std::uint64_t>());
}

TEST_P(Examples, LoopsAndParallelEdgesMakeNoTriangles) {
  for (const std::uint64_t n : {4u, 40u}) {
    std::vector<TestEdge> edges = Clique(n);
    for (std::uint64_t v = 0; v < n; ++v) {
      edges.insert(edges.end(), 3, {v, v});
      edges.insert(edges.end(), 2, {v, (v + 1) % n});
      edges.insert(edges.end(), 2, {v, n});  // and one more vertex, which has only these edges
    }
    const auto vertices = static_cast<VertexId>(n + 2);
    std::vector<std::uint64_t> expected(n + 1, n * (n - 1) / 2);
    expected.push_back(0);
    for (const bool symmetric : {true, false}) {
      const Graph graph = symmetric ? MakeSymmetric(vertices, edges) : MakeGraph(vertices, edges);
      Session session = Divided(graph, "random");
      EXPECT_EQ(RunIt({"triangles", ""}, session).As<std::uint64_t>(), expected);
      EXPECT_EQ(RunIt({"lcc", ""}, session).As<double>(), Clustering(graph));
    }
  }
}

TEST_P(Examples, LccOfSimpleGraphsIsThatOfTheirTriangles) {
  BuildOptions simple;
  simple.merge_parallel = simple.remove_loops = true;
  for (const bool symmetric : {true, false}) {
    for (const std::uint32_t degree : {3, 40}) {
      std::vector<TestEdge> edges;
      for (std::uint64_t e = 0; e < 150 * degree; ++e) {
        const std::uint64_t u = Hash(2 * e) % 150, v = Hash(2 * e + 1) % 150;
        edges.push_back({std::min(u, v), std::max(u, v)});  // no edge has a reverse
      }
      simple.symmetrise = symmetric;
      const Graph graph = MakeGraph(150, edges, WeightKind::kNone, simple);
      Session session = Divided(graph, "random");
      EXPECT_EQ(RunIt({"lcc", ""}, session).As<double>(), Clustering(graph)) << degree;
    }
  }
}

TEST_P(Examples, TrianglesArePublishedOnes) {
  const char* const set = std::getenv("CHATTY_DATA");
  const std::filesystem::path folder = std::filesystem::path(set != nullptr ? set : CHATTY_SOURCE_DIR "/../shared/data");
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no graphs at " << folder << "; set CHATTY_DATA";
  // As SNAP's pages have them.
  const std::vector<std::pair<std::string, std::uint64_t>> published{
      {"ego-Facebook.mtx.gz", 1612010}, {"wiki-Vote.mtx.gz", 608389}, {"as-caida20071105.mtx.gz", 36365}};
  for (const auto& [name, triangles] : published) {
    if (!std::filesystem::exists(folder / name)) continue;
    const Graph graph = ReadGraph((folder / name).string());
    Session session = Divided(graph);
    const std::vector<std::uint64_t> counts = RunIt({"triangles", ""}, session).As<std::uint64_t>();
    EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}), 3 * triangles) << name;
  }
}

/// An example of LDBC Graphalytics: vertices named by numbers, which are kept in order, so that the least label is the least
/// id.
struct LdbcExample {
  std::map<std::uint64_t, VertexId> ids;
  Graph graph;
  std::vector<std::uint64_t> communities;  ///< as published, by vertex

  LdbcExample(const std::filesystem::path& folder, const std::string& name, bool directed) {
    std::ifstream vertices(folder / (name + ".v")), edges(folder / (name + ".e")), labels(folder / (name + "-CDLP"));
    for (std::uint64_t id; vertices >> id;) ids.emplace(id, static_cast<VertexId>(ids.size()));
    std::vector<TestEdge> list;
    std::uint64_t u, v;
    for (double weight; edges >> u >> v >> weight;) list.push_back({ids.at(u), ids.at(v)});
    const auto n = static_cast<VertexId>(ids.size());
    graph = directed ? MakeGraph(n, list) : MakeSymmetric(n, list);
    communities.resize(n);
    for (std::uint64_t id, label; labels >> id >> label;) communities.at(ids.at(id)) = label;
  }
};

TEST_P(Examples, CdlpGivesWhatLdbcPublished) {
  const char* const set = std::getenv("CHATTY_DATA");
  const std::filesystem::path folder =
      std::filesystem::path(set != nullptr ? set : CHATTY_SOURCE_DIR "/../shared/data") / "ldbc-examples";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no LDBC examples at " << folder << "; set CHATTY_DATA";
  for (const bool directed : {true, false}) {
    const LdbcExample example(folder, directed ? "example-directed" : "example-undirected", directed);
    ASSERT_EQ(example.graph.vertices(), directed ? 10u : 9u);
    Session session = Divided(example.graph);
    const Answer answer = RunIt({"cdlp", ""}, session, {{"rounds", "2"}});  // as the examples' .properties say
    for (const auto& [id, v] : example.ids) {
      EXPECT_EQ(answer.As<VertexId>()[v], example.ids.at(example.communities[v])) << "vertex " << id;
    }
  }
}

}  // namespace
}  // namespace chatty::test
