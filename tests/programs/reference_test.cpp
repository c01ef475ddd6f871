#include "chatty/programs/reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "chatty/core/error.h"
#include "chatty/io/reader.h"
#include "test_graphs.h"

namespace chatty::test {
namespace {

template <class E, class Call>
std::string TextOf(Call&& call) {
  try {
    call();
  } catch (const E& error) {
    return error.what();
  }
  ADD_FAILURE() << "no such error was thrown";
  return {};
}

// ---------------------------------------------------------------- BFS ----

TEST(ReferenceBfs, ByHand) {
  const Graph path = MakeGraph(5, {{0, 1}, {1, 2}, {2, 3}, {3, 4}});
  EXPECT_EQ(ToVector(SerialBfs(path, 0)), (std::vector<std::uint32_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(ToVector(SerialBfs(path, 3)), (std::vector<std::uint32_t>{kFar, kFar, kFar, 0, 1}));
  const Graph both = MakeSymmetric(5, {{0, 1}, {1, 2}, {3, 4}, {2, 2}, {0, 1}});
  EXPECT_EQ(ToVector(SerialBfs(both, 2)), (std::vector<std::uint32_t>{2, 1, 0, kFar, kFar}));
  EXPECT_EQ(ToVector(SerialBfs(MakeGraph(1, {}), 0)), std::vector<std::uint32_t>{0});
}

TEST(ReferenceBfs, ParentIsTheLeastOneLevelUp) {
  const Graph graph = MakeGraph(7, {{0, 2}, {0, 1}, {2, 3}, {1, 3}, {3, 0}, {4, 3}, {3, 5}, {2, 5}, {6, 6}});
  EXPECT_EQ(ToVector(SerialBfsParents(graph, 0)), (std::vector<VertexId>{0, 0, 0, 1, kNoVertex, 2, kNoVertex}));
}

TEST(ReferenceBfs, SourceOutsideIsAUsageErrorInTheFilesIds) {
  EdgeList list;
  list.vertices = 3;
  Graph graph = BuildGraph(std::move(list), {});
  EXPECT_EQ(TextOf<UsageError>([&] { SerialBfs(graph, 3); }), "source 3 is not a vertex: ids go from 0 to 2");
  Adjacency empty{Array<EdgeIndex>(4, EdgeIndex{0}), {}, {}};
  const Graph from_one(std::move(empty), true, 1);
  EXPECT_EQ(TextOf<UsageError>([&] { SerialBfsParents(from_one, 3); }), "source 4 is not a vertex: ids go from 1 to 3");
  EXPECT_THROW(SerialBfs(Graph(), 0), UsageError);
}

// --------------------------------------------------------------- SSSP ----

// Relaxes all edges until nothing changes: any order has the same result to the bit.
template <class Distance>
std::vector<Distance> BellmanFord(const Graph& graph, VertexId source) {
  std::vector<Distance> distances(graph.vertices(), kInfinity<Distance>);
  distances[source] = 0;
  const auto weight = [&](EdgeIndex e) -> Distance {
    if (const auto* w = std::get_if<Array<std::int32_t>>(&graph.out().weights)) return static_cast<Distance>((*w)[e]);
    if (const auto* w = std::get_if<Array<float>>(&graph.out().weights)) return static_cast<Distance>((*w)[e]);
    return 1;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (VertexId u = graph.vertices(); u-- > 0;) {
      if (distances[u] == kInfinity<Distance>) continue;
      for (EdgeIndex e = graph.out().offsets[u]; e < graph.out().offsets[u + 1]; ++e) {
        const Distance candidate = distances[u] + weight(e);
        Distance& d = distances[graph.out().neighbours[e]];
        if (candidate < d) {
          d = candidate;
          changed = true;
        }
      }
    }
  }
  return distances;
}

TEST(ReferenceSssp, ByHand) {
  const std::vector<TestEdge> edges{{0, 1, 7}, {0, 2, 3}, {2, 1, 3}, {1, 3, 0}, {3, 1, 0}, {0, 1, 9}, {4, 0, 1}};
  const Graph ints = MakeGraph(6, edges, WeightKind::kInt32);
  constexpr std::int32_t kNever = kInfinity<std::int32_t>;
  EXPECT_EQ(ToVector(SerialSssp<std::int32_t>(ints, 0)), (std::vector<std::int32_t>{0, 6, 3, 6, kNever, kNever}));
  const float never = kInfinity<float>;
  const Graph floats = MakeGraph(6, edges, WeightKind::kFloat32);
  EXPECT_EQ(ToVector(SerialSssp<float>(floats, 0)), (std::vector<float>{0, 6, 3, 6, never, never}));
  EXPECT_EQ(ToVector(SerialSssp<float>(ints, 0)), (std::vector<float>{0, 6, 3, 6, never, never}));
  EXPECT_EQ(ToVector(SerialSssp<std::int32_t>(MakeGraph(6, edges), 0)),
            (std::vector<std::int32_t>{0, 1, 1, 2, kNever, kNever}));
}

TEST(ReferenceSssp, EqualsRelaxingToAFixedPointBitForBit) {
  for (const RandomCase& random : RandomCases()) {
    SCOPED_TRACE(random.seed);
    const Graph plain = random.Make();
    const Graph ints = random.Make(WeightKind::kInt32);
    const Graph floats = random.Make(WeightKind::kFloat32);
    const VertexId source = random.vertices / 2;
    EXPECT_EQ(ToVector(SerialSssp<std::int32_t>(plain, source)), BellmanFord<std::int32_t>(plain, source));
    EXPECT_EQ(ToVector(SerialSssp<std::int32_t>(ints, source)), BellmanFord<std::int32_t>(ints, source));
    EXPECT_EQ(ToVector(SerialSssp<std::uint32_t>(ints, source)), BellmanFord<std::uint32_t>(ints, source));
    EXPECT_EQ(ToVector(SerialSssp<std::int64_t>(ints, source)), BellmanFord<std::int64_t>(ints, source));
    EXPECT_EQ(ToVector(SerialSssp<float>(ints, source)), BellmanFord<float>(ints, source));
    EXPECT_EQ(ToVector(SerialSssp<float>(floats, source)), BellmanFord<float>(floats, source));
    EXPECT_EQ(ToVector(SerialSssp<double>(floats, source)), BellmanFord<double>(floats, source));
  }
}

TEST(ReferenceSssp, UnweightedDistancesAreLevels) {
  for (const RandomCase& random : RandomCases()) {
    const Graph graph = random.Make();
    EXPECT_EQ(ToVector(SerialSssp<std::uint32_t>(graph, 0)), ToVector(SerialBfs(graph, 0)));
  }
}

TEST(ReferenceSssp, OverflowIsSaidNotWrapped) {
  constexpr double kHalf = 1 << 30;
  const Graph fits = MakeGraph(3, {{0, 1, kHalf}, {1, 2, kHalf - 2}}, WeightKind::kInt32);
  EXPECT_EQ(SerialSssp<std::int32_t>(fits, 0)[2], std::numeric_limits<std::int32_t>::max() - 1);
  // The next one is the value of "unreached" itself.
  const Graph over = MakeGraph(3, {{0, 1, kHalf}, {1, 2, kHalf - 1}}, WeightKind::kInt32);
  EXPECT_EQ(TextOf<CapabilityError>([&] { SerialSssp<std::int32_t>(over, 0); }),
            "the distance of vertex 2 is 2147483647, more than a 32-bit integer holds; use a wider distance type");
  EXPECT_EQ(SerialSssp<std::uint32_t>(over, 0)[2], 2147483647u);
  const Graph far = MakeGraph(4, {{0, 1, kHalf}, {1, 2, kHalf}, {2, 3, kHalf}}, WeightKind::kInt32);
  EXPECT_THROW(SerialSssp<std::int32_t>(far, 0), CapabilityError);
  EXPECT_EQ(SerialSssp<std::int64_t>(far, 0)[3], std::int64_t{3} << 30);
}

TEST(ReferenceSssp, RefusesWeightsThatHaveNoShortestPaths) {
  const Graph negative = MakeGraph(4, {{0, 1, 1}, {3, 2, -5}}, WeightKind::kInt32);
  EXPECT_EQ(TextOf<UsageError>([&] { SerialSssp<std::int32_t>(negative, 0); }),
            "the edge from vertex 3 to vertex 2 has weight -5; shortest paths need weights of at least 0");
  const Graph nan = MakeGraph(2, {{0, 1, std::nan("")}}, WeightKind::kFloat32);
  EXPECT_THROW(SerialSssp<float>(nan, 0), UsageError);
  const Graph floats = MakeGraph(2, {{0, 1, 0.5}}, WeightKind::kFloat32);
  EXPECT_THROW(SerialSssp<std::int32_t>(floats, 0), UsageError);
  EXPECT_THROW(SerialSssp<float>(floats, 2), UsageError);
}

// ----------------------------------------------------------- PageRank ----

TEST(ReferencePageRank, ByHand) {
  // 0 -> 1, and 1 dangles.
  const Graph pair = MakeGraph(2, {{0, 1}});
  const PageRankResult once = SerialPageRank(pair, 0.85, 1);
  EXPECT_NEAR(once.ranks[0], 0.15 / 2 + 0.85 * 0.25, 1e-15);
  EXPECT_NEAR(once.ranks[1], 0.15 / 2 + 0.85 * (0.25 + 0.5), 1e-15);
  EXPECT_EQ(once.rounds, 1u);
  EXPECT_NEAR(once.change, 2 * (once.ranks[1] - 0.5), 1e-15);
  // At the fixed point r0 = 0.075 + 0.425 r1 and r0 + r1 = 1.
  const PageRankResult fixed = SerialPageRank(pair, 0.85, 1000, 1e-15);
  EXPECT_NEAR(fixed.ranks[0], 0.5 / 1.425, 1e-14);
  EXPECT_LT(fixed.rounds, 1000u);
  EXPECT_LT(fixed.change, 1e-15);

  const Graph ring = MakeGraph(4, {{0, 1}, {1, 2}, {2, 3}, {3, 0}});
  for (const double rank : SerialPageRank(ring, 0.85, 20).ranks) EXPECT_NEAR(rank, 0.25, 1e-15);
  // Parallel edges count each: 0 gives two thirds to 1.
  const Graph twice = MakeGraph(3, {{0, 1}, {0, 1}, {0, 2}, {1, 0}, {2, 0}});
  const PageRankResult uneven = SerialPageRank(twice, 0.5, 1);
  EXPECT_NEAR(uneven.ranks[1], 0.5 / 3 + 0.5 * (2.0 / 9), 1e-15);
}

TEST(ReferencePageRank, SolvesTheLinearSystem) {
  for (const RandomCase& random : RandomCases()) {
    SCOPED_TRACE(random.seed);
    const Graph graph = random.Make();
    const std::size_t n = graph.vertices();
    constexpr double d = 0.85;
    // (I - d P) r = (1 - d) / n by Gauss and Jordan, P's columns being out-edges, or 1/n all over for a dangling
    // vertex.
    std::vector<std::vector<double>> rows(n, std::vector<double>(n + 1, 0.0));
    for (std::size_t u = 0; u < n; ++u) {
      rows[u][n] = (1 - d) / static_cast<double>(n);
      const auto neighbours = graph.out()[static_cast<VertexId>(u)];
      for (const VertexId v : neighbours) rows[v][u] -= d / static_cast<double>(neighbours.size());
      for (std::size_t v = 0; v < n && neighbours.empty(); ++v) rows[v][u] -= d / static_cast<double>(n);
    }
    for (std::size_t i = 0; i < n; ++i) rows[i][i] += 1;
    for (std::size_t i = 0; i < n; ++i) {  // diagonally dominant by columns: needs no pivoting
      for (std::size_t j = 0; j < n; ++j) {
        if (j == i) continue;
        const double factor = rows[j][i] / rows[i][i];
        for (std::size_t k = i; k <= n; ++k) rows[j][k] -= factor * rows[i][k];
      }
    }
    const PageRankResult result = SerialPageRank(graph, d, 500, 1e-14);
    for (std::size_t v = 0; v < n; ++v) EXPECT_NEAR(result.ranks[v], rows[v][n] / rows[v][v], 1e-12);
    EXPECT_NEAR(std::accumulate(result.ranks.begin(), result.ranks.end(), 0.0), 1.0, 1e-12);
  }
}

TEST(ReferencePageRank, Edges) {
  EXPECT_TRUE(SerialPageRank(Graph()).ranks.empty());
  const Graph graph = MakeGraph(3, {{0, 1}});
  EXPECT_EQ(SerialPageRank(graph, 0.85, 0).ranks[2], 1.0 / 3);
  EXPECT_EQ(SerialPageRank(graph, 0.85, 7).rounds, 7u);
  EXPECT_THROW(SerialPageRank(graph, 1.0), UsageError);
  EXPECT_THROW(SerialPageRank(graph, -0.1), UsageError);
  EXPECT_THROW(SerialPageRank(graph, std::nan("")), UsageError);
}

// --------------------------------------------------------- components ----

TEST(ReferenceComponents, DirectionDoesNotMatter) {
  const Graph graph = MakeGraph(8, {{5, 1}, {2, 1}, {2, 7}, {4, 3}, {6, 6}});
  EXPECT_EQ(ToVector(SerialComponents(graph)), (std::vector<VertexId>{0, 1, 1, 3, 3, 1, 6, 1}));
}

TEST(ReferenceComponents, EqualsFloodingFromEachVertex) {
  for (const RandomCase& random : RandomCases()) {
    SCOPED_TRACE(random.seed);
    const Graph graph = random.Make();
    std::vector<VertexId> labels(graph.vertices());
    std::iota(labels.begin(), labels.end(), VertexId{0});
    for (bool changed = true; changed;) {
      changed = false;
      for (VertexId u = 0; u < graph.vertices(); ++u) {
        for (const VertexId v : graph.out()[u]) {
          changed |= labels[u] != labels[v];
          labels[u] = labels[v] = std::min(labels[u], labels[v]);
        }
      }
    }
    EXPECT_EQ(ToVector(SerialComponents(graph)), labels);
  }
}

// -------------------------------------------------------------- k-core ----

TEST(ReferenceKCore, TriangleWithATail) {
  const Graph graph = MakeSymmetric(6, {{0, 1}, {1, 2}, {2, 0}, {2, 3}, {3, 4}});
  EXPECT_EQ(ToVector(SerialKCore(graph)), (std::vector<std::uint32_t>{2, 2, 2, 1, 1, 0}));
  EXPECT_EQ(ToVector(SerialKCore(MakeGraph(3, {{0, 1}, {1, 0}}))), (std::vector<std::uint32_t>{2, 2, 0}));
  EXPECT_TRUE(SerialKCore(Graph()).empty());
}

TEST(ReferenceKCore, EqualsDeletingByDefinition) {
  for (const RandomCase& random : RandomCases()) {
    SCOPED_TRACE(random.seed);
    const Graph graph = random.Make();
    std::vector<std::uint32_t> cores(graph.vertices(), 0);
    std::vector<bool> alive(graph.vertices(), true);
    for (std::uint32_t k = 1; std::find(alive.begin(), alive.end(), true) != alive.end(); ++k) {
      for (bool changed = true; changed;) {  // delete whatever has fewer than k edges to what is left
        changed = false;
        for (VertexId v = 0; v < graph.vertices(); ++v) {
          if (!alive[v]) continue;
          std::uint32_t degree = 0;
          for (const VertexId u : graph.out()[v]) degree += alive[u];
          if (!graph.symmetric()) {
            for (const VertexId u : graph.in()[v]) degree += alive[u];
          }
          if (degree < k) {
            alive[v] = false;
            changed = true;
          }
        }
      }
      for (VertexId v = 0; v < graph.vertices(); ++v) {
        if (alive[v]) cores[v] = k;
      }
    }
    EXPECT_EQ(ToVector(SerialKCore(graph)), cores);
  }
}

// ---------------------------------------------------------------- CDLP ----

TEST(ReferenceLabelPropagation, ByHand) {
  // On a path the two sides swap labels for ever: it is synchronous.
  const Graph path = MakeSymmetric(3, {{0, 1}, {1, 2}});
  EXPECT_EQ(ToVector(SerialLabelPropagation(path, 0)), (std::vector<VertexId>{0, 1, 2}));
  EXPECT_EQ(ToVector(SerialLabelPropagation(path, 1)), (std::vector<VertexId>{1, 0, 1}));
  EXPECT_EQ(ToVector(SerialLabelPropagation(path, 2)), (std::vector<VertexId>{0, 1, 0}));
  // Frequency goes before size: 3 and 4 are both met by 5 as 2 after a round, against one 0.
  const Graph directed = MakeGraph(6, {{2, 3}, {2, 4}, {5, 3}, {5, 4}, {0, 5}, {1, 0}, {0, 1}});
  const Array<VertexId> once = SerialLabelPropagation(directed, 1);
  EXPECT_EQ(once[0], 1u);  // 1 twice, by the reciprocal pair, against one 5
  EXPECT_EQ(once[5], 0u);
  EXPECT_EQ(SerialLabelPropagation(directed, 2)[5], 2u);
  EXPECT_EQ(SerialLabelPropagation(MakeGraph(2, {}), 5)[1], 1u);
}

// --------------------------------------------------------- betweenness ----

TEST(ReferenceBetweenness, ByHand) {
  const std::vector<VertexId> all{0, 1, 2, 3};
  const Graph path = MakeSymmetric(4, {{0, 1}, {1, 2}, {2, 3}});
  EXPECT_EQ(ToVector(SerialBetweenness(path, all)), (std::vector<double>{0, 4, 4, 0}));
  const Graph diamond = MakeGraph(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}});
  EXPECT_EQ(ToVector(SerialBetweenness(diamond, all)), (std::vector<double>{0, 0.5, 0.5, 0}));
  EXPECT_EQ(ToVector(SerialBetweenness(diamond, std::vector<VertexId>{1, 2})), (std::vector<double>{0, 0, 0, 0}));
  const Graph doubled = MakeGraph(4, {{0, 1}, {0, 1}, {0, 1}, {0, 2}, {1, 3}, {2, 3}});
  EXPECT_EQ(ToVector(SerialBetweenness(doubled, all)), (std::vector<double>{0, 0.75, 0.25, 0}));
}

TEST(ReferenceBetweenness, EqualsCountingPathsOfAllPairs) {
  for (const RandomCase& random : RandomCases()) {
    SCOPED_TRACE(random.seed);
    const Graph graph = random.Make();
    const VertexId n = graph.vertices();
    std::vector<std::vector<std::uint32_t>> levels;
    std::vector<std::vector<double>> paths(n, std::vector<double>(n, 0.0));
    for (VertexId s = 0; s < n; ++s) {
      levels.push_back(ToVector(SerialBfs(graph, s)));
      paths[s][s] = 1;
      for (std::uint32_t level = 0; level < n; ++level) {
        for (VertexId u = 0; u < n; ++u) {
          if (levels[s][u] != level) continue;
          for (const VertexId v : graph.out()[u]) paths[s][v] += levels[s][v] == level + 1 ? paths[s][u] : 0;
        }
      }
    }
    std::vector<VertexId> sources(n);
    std::iota(sources.begin(), sources.end(), VertexId{0});
    const Array<double> scores = SerialBetweenness(graph, sources);
    for (VertexId v = 0; v < n; ++v) {
      double expected = 0;
      for (VertexId s = 0; s < n; ++s) {
        for (VertexId t = 0; t < n; ++t) {
          if (s == v || t == v || s == t || levels[s][t] == kFar || levels[s][v] == kFar || levels[v][t] == kFar) continue;
          if (levels[s][v] + levels[v][t] == levels[s][t]) expected += paths[s][v] * paths[v][t] / paths[s][t];
        }
      }
      EXPECT_NEAR(scores[v], expected, 1e-9 * (1 + expected));
    }
  }
}

TEST(ReferenceBetweenness, TooManyPathsAreSaid) {
  std::vector<TestEdge> edges;  // two edges a step: 2^1100 paths
  for (std::uint64_t v = 0; v < 1100; ++v) edges.insert(edges.end(), {{v, v + 1}, {v, v + 1}});
  const std::vector<VertexId> source{0};
  EXPECT_THROW(SerialBetweenness(MakeGraph(1101, edges), source), CapabilityError);
  EXPECT_THROW(SerialBetweenness(MakeGraph(1, {}), std::vector<VertexId>{1}), UsageError);
}

// --------------------------------------------------------- shared data ----

std::filesystem::path DataFolder() {
  const char* folder = std::getenv("CHATTY_DATA");
  if (folder != nullptr && *folder != '\0') return folder;
  return std::filesystem::path(CHATTY_SOURCE_DIR) / ".." / "shared" / "data";
}

// An example of LDBC Graphalytics: whitespace-separated text, vertices named by numbers, which are kept in order.
struct LdbcExample {
  std::map<std::uint64_t, VertexId> ids;
  Graph graph;

  std::filesystem::path folder;
  std::string name;

  LdbcExample(std::filesystem::path from, std::string of, bool directed) : folder(std::move(from)), name(std::move(of)) {
    std::ifstream vertices(folder / (name + ".v")), edges(folder / (name + ".e"));
    for (std::uint64_t id; vertices >> id;) ids.emplace(id, static_cast<VertexId>(ids.size()));
    std::vector<TestEdge> list;
    std::uint64_t u, v;
    for (double weight; edges >> u >> v >> weight;) list.push_back({ids.at(u), ids.at(v), weight});
    BuildOptions options;
    options.symmetrise = !directed;
    graph = MakeGraph(static_cast<VertexId>(ids.size()), list, WeightKind::kFloat32, options);
  }

  // The published value of every vertex, in id order.
  std::vector<double> Expected(const std::string& algorithm) const {
    std::ifstream file(folder / (name + "-" + algorithm));
    std::vector<double> values(ids.size(), std::nan(""));
    std::uint64_t id;
    for (std::string value; file >> id >> value;) values.at(ids.at(id)) = std::strtod(value.c_str(), nullptr);
    return values;
  }
};

TEST(ReferenceSharedData, LdbcExamples) {
  const std::filesystem::path folder = DataFolder() / "ldbc-examples";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no LDBC examples at " << folder << "; set CHATTY_DATA";
  for (const bool directed : {true, false}) {
    const LdbcExample example(folder, directed ? "example-directed" : "example-undirected", directed);
    SCOPED_TRACE(example.name);
    const VertexId n = example.graph.vertices();
    ASSERT_EQ(n, directed ? 10u : 9u);
    ASSERT_EQ(example.graph.edges(), directed ? 17u : 24u);
    const VertexId source = example.ids.at(directed ? 1 : 2);
    const auto id_of = [&](VertexId v) {
      return static_cast<double>(
          std::find_if(example.ids.begin(), example.ids.end(), [&](const auto& entry) { return entry.second == v; })->first);
    };

    const Array<std::uint32_t> levels = SerialBfs(example.graph, source);
    const Array<float> distances = SerialSssp<float>(example.graph, source);
    const Array<double> ranks = SerialPageRank(example.graph, 0.85, 2).ranks;
    const Array<VertexId> labels = SerialLabelPropagation(example.graph, 2);
    const Array<VertexId> components = SerialComponents(example.graph);
    const std::vector<double> bfs = example.Expected("BFS"), sssp = example.Expected("SSSP"), pr = example.Expected("PR"),
                              cdlp = example.Expected("CDLP"), wcc = example.Expected("WCC");
    // Components are named by any of their vertices there: compare what is equal to what.
    std::map<double, double> least;
    for (VertexId v = n; v-- > 0;) least[wcc[v]] = id_of(v);
    for (VertexId v = 0; v < n; ++v) {
      SCOPED_TRACE(id_of(v));
      EXPECT_EQ(levels[v] == kFar ? 9223372036854775807.0 : levels[v], bfs[v]);
      if (std::isinf(sssp[v])) {
        EXPECT_EQ(distances[v], kInfinity<float>);
      } else {
        EXPECT_NEAR(distances[v], sssp[v], 1e-6);
      }
      EXPECT_NEAR(ranks[v], pr[v], 1e-14);
      EXPECT_EQ(id_of(labels[v]), cdlp[v]);
      EXPECT_EQ(id_of(components[v]), least.at(wcc[v]));
    }
  }
}

TEST(ReferenceSharedData, EqualsAnIndependentProgram) {
  const std::filesystem::path folder = DataFolder();
  std::ifstream file(folder / "reference-results.json");
  if (!file) GTEST_SKIP() << "no reference-results.json in " << folder << "; set CHATTY_DATA";
  const nlohmann::json results = nlohmann::json::parse(file);
  ASSERT_FALSE(results.empty());
  // Sum over reached v of (v + 1) (distance + 1), modulo 2^64.
  const auto checksum = []<class T>(const Array<T>& distances) {
    std::uint64_t sum = 0;
    for (std::uint64_t v = 0; v < distances.size(); ++v) {
      if (distances[v] != kInfinity<T>) sum += (v + 1) * (static_cast<std::uint64_t>(distances[v]) + 1);
    }
    return sum;
  };
  for (const auto& [name, expected] : results.items()) {
    SCOPED_TRACE(name);
    std::string path;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::string candidate = entry.path().filename().string();
      if (candidate.starts_with(name + ".") && candidate.find(".co") == std::string::npos) path = entry.path().string();
    }
    ASSERT_FALSE(path.empty());
    Graph graph = ReadGraph(path);
    ASSERT_EQ(graph.vertices(), expected["n"]);
    ASSERT_EQ(graph.edges(), expected["arcs"]);
    const VertexId source = expected["src"].get<VertexId>();
    EXPECT_EQ(graph.max_degree_vertex(), source);

    std::uint64_t reached = 0, sum = 0;
    std::uint32_t depth = 0;
    const Array<std::uint32_t> levels = SerialBfs(graph, source);
    for (const std::uint32_t level : levels) {
      if (level == kFar) continue;
      ++reached;
      sum += level;
      depth = std::max(depth, level);
    }
    EXPECT_EQ(reached, expected["bfs_reached"]);
    EXPECT_EQ(depth, expected["bfs_depth"]);
    EXPECT_EQ(sum, expected["bfs_sum"]);
    EXPECT_EQ(checksum(levels), expected["bfs_ck"]);

    if (expected.contains("sssp_ck")) {
      if (graph.weight_kind() == WeightKind::kFloat32) graph = graph.WithWeights(WeightKind::kInt32);
      const Array<std::int32_t> distances = SerialSssp<std::int32_t>(graph, source);
      std::int64_t total = 0;
      std::int32_t farthest = 0;
      for (const std::int32_t distance : distances) {
        if (distance == kInfinity<std::int32_t>) continue;
        total += distance;
        farthest = std::max(farthest, distance);
      }
      EXPECT_EQ(farthest, expected["sssp_max"]);
      EXPECT_EQ(total, expected["sssp_sum"]);
      EXPECT_EQ(checksum(distances), expected["sssp_ck"]);
    }

    const Array<double> ranks = SerialPageRank(graph, 0.85, 20).ranks;
    const double* const top = std::max_element(ranks.begin(), ranks.end());
    EXPECT_EQ(static_cast<std::uint64_t>(top - ranks.begin()), expected["pr20_top"]);
    EXPECT_NEAR(*top / expected["pr20_top_val"].get<double>(), 1.0, 1e-10);
    const double squares = std::inner_product(ranks.begin(), ranks.end(), ranks.begin(), 0.0);
    EXPECT_NEAR(squares / expected["pr20_sumsq"].get<double>(), 1.0, 1e-10);

    const Array<VertexId> components = SerialComponents(graph);
    std::uint64_t count = 0;
    for (VertexId v = 0; v < graph.vertices(); ++v) count += components[v] == v;
    EXPECT_EQ(count, expected["wcc"]);
  }
}

}  // namespace
}  // namespace chatty::test
