// The programs of examples/programs/ by their registered names, on devices that the including file chooses: host devices in
// programs_test.cpp, GPUs in programs_test.cu. Nothing is instantiated here: what runs is what `chatty-examples` runs.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <stop_token>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../../examples/reference.h"
#include "../programs/test_graphs.h"
#include "../registered_programs.h"
#include "chatty/core/error.h"
#include "chatty/core/hash.h"
#include "chatty/framework/registry.h"
#include "chatty/io/reader.h"

namespace chatty::test {

/// Defined by the including file.
std::vector<int> DeviceCounts();
std::vector<std::unique_ptr<Device>> MakeDevices(int count);
extern const DeviceKind kKind;

namespace {

const RegisteredProgram& Program(const std::string& name) { return Programs().Find(name, kKind); }

/// A name with one of its values; the default's is not named.
struct Case {
  std::string program, value;
};
const std::vector<Case>& AllPrograms() {
  static const std::vector<Case> all{{"kcore", ""},       {"cdlp", ""},
                                     {"lcc", ""},         {"triangles", ""},
                                     {"bc", ""},          {"widest_path", ""},
                                     {"reach", ""},       {"personalised_push", ""},
                                     {"mis", ""},         {"hits", ""},
                                     {"hits", "hub"},     {"scc", ""},
                                     {"betweenness", ""}, {"betweenness", "dependency"}};
  return all;
}

/// Communities by LDBC's definition (Graphalytics, CDLP), word by word: in each round every vertex counts the labels of its
/// in- and out-neighbours in a map and takes the most frequent, the least of equals.
std::vector<VertexId> Communities(const Graph& graph, std::uint32_t rounds) {
  std::vector<VertexId> labels(graph.vertices()), next;
  std::iota(labels.begin(), labels.end(), VertexId{0});
  for (std::uint32_t round = 0; round < rounds; ++round) {
    next = labels;
    for (VertexId v = 0; v < graph.vertices(); ++v) {
      std::map<VertexId, std::uint64_t> count;
      for (const VertexId u : graph.out()[v]) ++count[labels[u]];
      if (!graph.symmetric()) {
        for (const VertexId u : graph.in()[v]) ++count[labels[u]];
      }
      std::uint64_t most = 0;
      for (const auto& [label, times] : count) {
        if (times > most) most = times, next[v] = label;
      }
    }
    labels.swap(next);
  }
  return labels;
}

/// Clustering by LDBC's definition (Graphalytics, LCC), word by word: of all ordered pairs of neighbours, those that are an
/// edge.
std::vector<double> Clustering(const Graph& graph) {
  std::vector<double> coefficients;
  const auto edges_between = [&](VertexId u, VertexId w) {
    const auto row = graph.out()[u];
    return static_cast<double>(std::count(row.begin(), row.end(), w));
  };
  for (VertexId v = 0; v < graph.vertices(); ++v) {
    std::set<VertexId> near(graph.out()[v].begin(), graph.out()[v].end());
    near.insert(graph.in()[v].begin(), graph.in()[v].end());
    near.erase(v);
    double pairs = 0, edges = 0;
    for (const VertexId u : near) {
      for (const VertexId w : near) {
        if (u == w) continue;
        pairs += 1;
        edges += edges_between(u, w);
      }
    }
    coefficients.push_back(pairs == 0 ? 0 : edges / pairs);
  }
  return coefficients;
}

/// Triangles by all sets of three vertices.
std::vector<std::uint64_t> TrianglesOf(const Graph& graph) {
  const VertexId n = graph.vertices();
  std::vector<char> tied(std::size_t{n} * n, 0);
  for (VertexId v = 0; v < n; ++v) {
    for (const VertexId u : graph.out()[v]) tied[std::size_t{v} * n + u] = tied[std::size_t{u} * n + v] = 1;
  }
  std::vector<std::uint64_t> triangles(n, 0);
  for (VertexId u = 0; u < n; ++u) {
    for (VertexId v = 0; v < u; ++v) {
      if (!tied[std::size_t{u} * n + v]) continue;
      for (VertexId w = 0; w < v; ++w) {
        if (tied[std::size_t{u} * n + w] && tied[std::size_t{v} * n + w]) ++triangles[u], ++triangles[v], ++triangles[w];
      }
    }
  }
  return triangles;
}

struct Answer {
  ErasedValues values;
  RunStatistics statistics;

  template <class T>
  std::vector<T> As() const {
    return {values.As<T>().begin(), values.As<T>().end()};
  }
};

Answer RunIt(const Case& what, Session& session, const ParameterValues& parameters = {}, const RunOptions& options = {}) {
  const std::unique_ptr<RegisteredJob> job = Program(what.program).Prepare(session, parameters, what.value, options);
  Answer answer;
  answer.statistics = job->Execute();
  answer.values = job->Output();
  return answer;
}

/// Parameters that make a run on `graph` worth while, by `seed`.
ParameterValues ParametersFor(const std::string& program, const Graph& graph, VertexId seed) {
  const VertexId some = graph.vertices() == 0 ? 0 : static_cast<VertexId>(Hash(seed) % graph.vertices());
  const auto text = [](std::uint64_t number) { return std::to_string(number); };
  if (program == "cdlp") return {{"rounds", text(1 + seed % 10)}};
  if (program == "mis") return {{"seed", text(seed)}};
  if (program == "reach") {
    return {{"first", text(some / 2)}, {"stride", text(1 + graph.vertices() / 50)}, {"count", seed % 2 == 0 ? "64" : "5"}};
  }
  if (program == "bc") return {{"source", text(some)}, {"sources", text(1 + seed % 3)}, {"seed", text(seed)}};
  if (program == "hits") return {{"tolerance", "0.0001"}};
  if (program == "scc" || program == "kcore" || program == "lcc" || program == "triangles") return {};
  return {{"source", text(some)}};
}

/// Small ones of every shape, two components, a hub, a path, and two large enough that every thread and warp has work.
std::vector<std::pair<std::string, Graph>> Graphs(bool all) {
  constexpr WeightKind kWeights = WeightKind::kFloat32;
  std::vector<std::pair<std::string, Graph>> graphs;
  for (const RandomCase& c : RandomCases()) {
    if (!all && c.vertices < 40) continue;  // too small to differ
    graphs.emplace_back("random graph " + std::to_string(c.seed), c.Make(kWeights));
  }
  graphs.emplace_back("directed", RandomGraph(101, 1200, 4.0, kWeights, false));
  graphs.emplace_back("symmetric", RandomGraph(102, 1200, 3.0, kWeights, true));
  std::vector<TestEdge> star, path, apart;
  for (std::uint64_t v = 1; v < 9000; ++v) star.push_back({0, v, static_cast<double>(v % 17)});
  for (std::uint64_t v = 1; v < 60; ++v) path.push_back({v - 1, v, static_cast<double>(60 - v)});
  for (std::uint64_t e = 0; e < 300; ++e) {  // five components, of which one has no edges
    const std::uint64_t u = Hash(2 * e) % 80, v = Hash(2 * e + 1) % 80;
    if (u % 5 != 4) apart.push_back({u, v / 5 * 5 + u % 5, static_cast<double>(1 + e % 9)});
  }
  if (all) graphs.emplace_back("hub", MakeSymmetric(9000, star, kWeights));
  graphs.emplace_back("path", MakeGraph(60, path, kWeights));
  graphs.emplace_back("components", MakeGraph(80, apart, kWeights));
  graphs.emplace_back("symmetric components", MakeSymmetric(80, apart, kWeights));
  return graphs;
}

/// By number of devices and direction of travel.
class Examples : public testing::TestWithParam<std::tuple<int, Direction>> {
 protected:
  Session Divided(const Graph& graph, const char* partition = "edge-balanced") const {
    SessionOptions options;
    options.partition = partition;
    return Session(graph, MakeDevices(std::get<0>(GetParam())), options);
  }
  /// CDLP sees all messages at once, and so only pulls.
  RunOptions OptionsFor(const std::string& program) const {
    RunOptions options;
    if (program != "cdlp" || std::get<1>(GetParam()) != Direction::kPush) options.direction = std::get<1>(GetParam());
    return options;
  }
};

// The verifiers that this rests on are tested below.
TEST_P(Examples, AreVerifiedOnEveryGraph) {
  VertexId seed = 0;
  for (const auto& [name, graph] : Graphs(std::get<1>(GetParam()) == Direction::kAuto)) {
    SCOPED_TRACE(name);
    Session session = Divided(graph, ++seed % 2 == 0 ? "random" : "edge-balanced");
    for (const Case& what : AllPrograms()) {
      if (what.program == "betweenness" && graph.vertices() > 5000)
        continue;  // passes over thousands of leaves show nothing
      const ParameterValues parameters = ParametersFor(what.program, graph, seed);
      const Answer answer = RunIt(what, session, parameters, OptionsFor(what.program));
      const Verdict verdict = Program(what.program).Verify(graph, parameters, answer.values, &answer.statistics);
      EXPECT_TRUE(verdict.passed) << what.program << ' ' << what.value << ": " << verdict.message;
      EXPECT_TRUE(answer.statistics.converged);
    }
  }
}

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
      edges.insert(edges.end(), 2, {v, n});  // and one more that is nobody's neighbour but by these
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

TEST_P(Examples, KCoreByHand) {
  // A square with both diagonals, a tail of two, a loner.
  const Graph graph = MakeSymmetric(7, {{0, 1}, {1, 2}, {2, 3}, {3, 0}, {0, 2}, {1, 3}, {3, 4}, {4, 5}});
  Session session = Divided(graph);
  const Answer answer = RunIt({"kcore", ""}, session, {}, OptionsFor("kcore"));
  EXPECT_EQ(answer.As<std::uint32_t>(), (std::vector<std::uint32_t>{3, 3, 3, 3, 1, 1, 0}));
}

TEST_P(Examples, KCoreGoesOnlyThroughPhasesThatRemoveSomebody) {
  // Three times the same clique edge by edge, and a pair that is tied together 100 times over.
  std::vector<TestEdge> edges(100, TestEdge{12, 13});
  for (std::uint64_t u = 0; u < 12; ++u) {
    for (std::uint64_t v = 0; v < u; ++v) edges.insert(edges.end(), 3, {u, v});
  }
  for (const bool symmetric : {false, true}) {
    const Graph graph = symmetric ? MakeSymmetric(14, edges) : MakeGraph(14, edges);
    Session session = Divided(graph);
    const Answer answer = RunIt({"kcore", ""}, session, {}, OptionsFor("kcore"));
    std::vector<std::uint32_t> expected(12, 33);
    expected.insert(expected.end(), 2, 100);
    EXPECT_EQ(answer.As<std::uint32_t>(), expected);
    EXPECT_EQ(answer.statistics.phases, 3u);  // 0, which finds nobody, 33 and 100
  }
}

TEST_P(Examples, MisIsTheGreedySetInOrderOfPriority) {
  for (const auto& [name, graph] : Graphs(false)) {
    SCOPED_TRACE(name);
    Session session = Divided(graph, "random");
    for (const std::uint64_t seed : {1, 2}) {
      const Answer answer = RunIt({"mis", ""}, session, {{"seed", std::to_string(seed)}}, OptionsFor("mis"));
      std::vector<VertexId> order(graph.vertices());
      std::iota(order.begin(), order.end(), VertexId{0});
      std::sort(order.begin(), order.end(), [&](VertexId a, VertexId b) { return Hash(a, seed) > Hash(b, seed); });
      std::vector<std::uint32_t> expected(graph.vertices(), 2);
      for (const VertexId v : order) {
        if (expected[v] != 2) continue;
        for (const Adjacency* adjacency : {&graph.out(), &graph.in()}) {
          for (const VertexId u : (*adjacency)[v]) expected[u] = 0;
        }
        expected[v] = 1;
      }
      EXPECT_EQ(answer.As<std::uint32_t>(), expected);
    }
  }
}

TEST_P(Examples, BetweennessByHand) {
  // From 0, two paths to 3 by way of 1 and of 2, then on to 4.
  const Graph graph = MakeGraph(5, {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {3, 4}});
  Session session = Divided(graph);
  const Answer paths = RunIt({"betweenness", ""}, session, {}, OptionsFor("betweenness"));
  EXPECT_EQ(paths.As<double>(), (std::vector<double>{1, 1, 1, 2, 2}));
  const Answer answer = RunIt({"betweenness", "dependency"}, session, {}, OptionsFor("betweenness"));
  EXPECT_EQ(answer.As<double>(), (std::vector<double>{0, 1, 1, 1, 0}));
}

TEST_P(Examples, CentralityByHand) {
  // From 0, two paths to 3 by way of 1 and of 2, then on to 4; 5 and 6 are elsewhere.
  const Graph graph = MakeGraph(7, {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {3, 4}, {5, 6}});
  Session session = Divided(graph, "random");
  EXPECT_EQ(RunIt({"bc", ""}, session, {{"source", "0"}}).As<double>(), (std::vector<double>{0, 1, 1, 1, 0, 0, 0}));
  EXPECT_EQ(RunIt({"bc", ""}, session, {{"source", "4"}}).As<double>(), std::vector<double>(7, 0.0));
  EXPECT_EQ(RunIt({"bc", ""}, session, {{"sources", "0"}}).As<double>(), (std::vector<double>{0, 1, 1, 3, 0, 0, 0}));
}

TEST_P(Examples, CentralityFromEveryVertexIsBrandesOnOneThread) {
  for (const auto& [name, graph] : Graphs(false)) {
    if (graph.vertices() > 200) continue;
    SCOPED_TRACE(name);
    Session session = Divided(graph, "random");
    std::vector<VertexId> all(graph.vertices());
    std::iota(all.begin(), all.end(), VertexId{0});
    const Array<double> expected = SerialBetweenness(graph, all);
    const std::vector<double> answer = RunIt({"bc", ""}, session, {{"sources", "0"}}).As<double>();
    for (VertexId v = 0; v < graph.vertices(); ++v) ASSERT_NEAR(answer[v], expected[v], 1e-9 * (1 + expected[v])) << v;
  }
}

TEST_P(Examples, CentralityOfLevelsThatAreFoundEachWay) {
  // A hub whose neighbours have neighbours of their own: the first two levels from a leaf are one vertex, the third most of
  // the graph. Whoever passes the hub is behind it.
  constexpr std::uint64_t kSpokes = 6000, kOuter = 900;
  std::vector<TestEdge> edges;
  for (std::uint64_t v = 1; v <= kSpokes; ++v) edges.push_back({0, v});
  for (std::uint64_t v = 1; v <= kOuter; ++v) edges.push_back({v, kSpokes + v});
  const Graph graph = MakeSymmetric(1 + kSpokes + kOuter, edges);
  Session session = Divided(graph, "random");
  const std::vector<double> answer = RunIt({"bc", ""}, session, {{"source", std::to_string(kSpokes)}}).As<double>();
  EXPECT_EQ(answer[0], kSpokes - 1 + kOuter);
  for (std::uint64_t v = 1; v < answer.size(); ++v) ASSERT_EQ(answer[v], v <= kOuter ? 1 : 0) << v;
}

/// Runs bc from one source and from three, the first of which have to leave nothing behind.
inline void ExpectBetweenness(const Graph& graph, Session& session, VertexId source) {
  for (const char* const sources : {"1", "3"}) {
    const ParameterValues parameters{{"source", std::to_string(source)}, {"sources", sources}};
    const Answer answer = RunIt({"bc", ""}, session, parameters);
    const Verdict verdict = Program("bc").Verify(graph, parameters, answer.values, &answer.statistics);
    EXPECT_TRUE(verdict.passed) << sources << " from " << source << ": " << verdict.message;
  }
}

TEST_P(Examples, CentralityOfLevelsThatArePushedByMany) {
  // From a vertex some 30, then 1000 with 30,000 edges, too many for one thread and few against those of the rest.
  for (const bool symmetric : {true, false}) {
    SCOPED_TRACE(symmetric);
    const Graph graph = RandomGraph(401, 20000, symmetric ? 16.0 : 32.0, WeightKind::kNone, symmetric);
    Session session = Divided(graph);
    ExpectBetweenness(graph, session, 1);
    ExpectBetweenness(graph, session, 12345);
  }
}

TEST_P(Examples, CentralityOfALevelThatIsSmallAgainstTheGraph) {
  // 1000 vertices reach 15,000, by more edges than are one thread's and fewer than make a pass over all vertices worth it.
  if (std::get<1>(GetParam()) != Direction::kAuto) GTEST_SKIP() << "operators have no direction";
  constexpr std::uint64_t kFirst = 30, kSecond = 1000, kThird = 15000, kRest = 170000;
  const std::uint64_t second = 1 + kFirst, third = second + kSecond, rest = third + kThird;
  std::vector<TestEdge> edges;
  for (std::uint64_t i = 0; i < kFirst; ++i) edges.push_back({0, 1 + i});
  for (std::uint64_t i = 0; i < kSecond; ++i) edges.push_back({1 + i % kFirst, second + i});
  for (std::uint64_t i = 0; i < 20000; ++i) edges.push_back({second + Hash(i, 1) % kSecond, third + Hash(i, 2) % kThird});
  for (std::uint64_t i = 0; i < 600000; ++i) {
    edges.push_back({(i % 2 == 0 ? third : rest) + Hash(i, 3) % kThird, rest + Hash(i, 4) % kRest});
  }
  const Graph graph = MakeGraph(rest + kRest, edges);
  Session session = Divided(graph);
  ExpectBetweenness(graph, session, 0);
}

TEST_P(Examples, CentralityWhereFewPathsGoOn) {
  // A level of 60,000 edges among itself, from which 40 lead on to the last but one; one of these has very many others.
  constexpr std::uint64_t kWide = 3000, kBehind = 5, kEdges = 60000, kOn = 40;
  std::vector<TestEdge> edges;
  for (std::uint64_t v = 1; v <= kWide; ++v) edges.push_back({0, v});
  for (std::uint64_t i = 0; i < kEdges; ++i) edges.push_back({1 + Hash(i, 1) % kWide, 1 + Hash(i, 2) % kWide});
  for (std::uint64_t v = 1; v <= kWide; ++v) edges.push_back({5, v});
  for (std::uint64_t i = 0; i < kOn; ++i) {
    edges.push_back({i % 4 == 0 ? 5 : 1 + Hash(i, 3) % kWide, kWide + 1 + i % kBehind});
  }
  for (std::uint64_t i = 0; i < kBehind; ++i) edges.push_back({kWide + 1 + i, kWide + kBehind + 1 + i % 2});
  const std::uint64_t vertices = kWide + kBehind + 3;
  for (const bool symmetric : {true, false}) {
    SCOPED_TRACE(symmetric);
    const Graph graph = symmetric ? MakeSymmetric(vertices, edges) : MakeGraph(vertices, edges);
    Session session = Divided(graph, "random");
    ExpectBetweenness(graph, session, 0);
    ExpectBetweenness(graph, session, 7);
  }
}

TEST_P(Examples, CentralityWhereHubsReachMany) {
  // 100 hubs with a third of the edges, which reach the rest by more of them than there are vertices to look; one of the
  // rest has an edge from every other, and hubs at both ends of its row. Once behind 2^399 paths, so that
  // the level behind the hubs has a scale.
  constexpr std::uint64_t kHubs = 100, kRest = 8000, kFromHubs = 20000, kAmong = 45000;
  for (const std::uint64_t diamonds : {0u, 399u}) {
    if (diamonds > 0 && std::get<0>(GetParam()) > 2) continue;  // each level has meetings of all devices
    SCOPED_TRACE(diamonds);
    std::vector<TestEdge> edges;
    for (std::uint64_t i = 0; i < diamonds; ++i) {
      const std::uint64_t a = 3 * i;
      edges.insert(edges.end(), {{a, a + 1}, {a, a + 2}, {a + 1, a + 3}, {a + 2, a + 3}});
    }
    const std::uint64_t from = 3 * diamonds, rest = from + 1 + kHubs / 2, sink = rest + kRest + kHubs / 2;
    const auto hub = [&](std::uint64_t i) {
      return i % kHubs < kHubs / 2 ? from + 1 + i % kHubs : rest + kRest - kHubs / 2 + i % kHubs;
    };
    for (std::uint64_t h = 0; h < 4 * kHubs; ++h) edges.push_back({from, hub(h)});
    for (std::uint64_t i = 0; i < kFromHubs; ++i) edges.push_back({hub(Hash(i, 1)), rest + Hash(i, 2) % kRest});
    for (std::uint64_t i = 0; i < kAmong; ++i) edges.push_back({rest + Hash(i, 3) % kRest, rest + Hash(i, 4) % kRest});
    for (std::uint64_t v = rest; v < rest + kRest; ++v) edges.push_back({v, sink});
    for (std::uint64_t i = 0; i < 60; ++i) edges.push_back({hub(Hash(i, 5)), sink});
    const Graph graph = MakeGraph(sink + 2, edges);
    Session session = Divided(graph, "random");
    ExpectBetweenness(graph, session, 0);
  }
}

TEST_P(Examples, CentralityIsTheSameToTheBitAfterLevelsOfAScale) {
  // 3^k paths, which need a scale, and then layers so wide that many threads push.
  constexpr std::uint64_t kDeep = 254, kWide = 4000, kLayers = 25;
  std::vector<TestEdge> edges;
  for (std::uint64_t layer = 1; layer < kDeep; ++layer) {
    for (std::uint64_t i = 0; i < 9; ++i) edges.push_back({3 * (layer - 1) + i / 3, 3 * layer + i % 3});
  }
  std::uint64_t before = 3 * (kDeep - 1), width = 3, next = 3 * kDeep;
  for (std::uint64_t layer = 0; layer < kLayers; ++layer) {
    for (std::uint64_t i = 0; i < (layer == 0 ? kWide : 8 * kWide); ++i) {
      edges.push_back({before + Hash(layer * 100000 + i) % width, next + i % kWide});
    }
    before = next;
    width = kWide;
    next += kWide;
  }
  const Graph graph = MakeGraph(next, edges);
  Session session = Divided(graph);
  const std::vector<double> answer = RunIt({"bc", ""}, session, {{"source", "0"}}).As<double>();
  for (int again = 0; again < 4; ++again) {
    const std::vector<double> same = RunIt({"bc", ""}, session, {{"source", "0"}}).As<double>();
    for (VertexId v = 0; v < graph.vertices(); ++v) ASSERT_EQ(same[v], answer[v]) << v;
  }
}

TEST_P(Examples, CentralityWherePathsAreTooManyForADouble) {
  // From vertex 0 a chain of diamonds, each of which doubles the paths, and beside it a chain as long with one path: with
  // few diamonds levels need a scale, with many one scale does not do for both.
  if (std::get<1>(GetParam()) != Direction::kAuto) GTEST_SKIP() << "operators have no direction";
  struct Chains {
    std::uint64_t diamonds, tail;  ///< behind the last diamond
    int most_devices;              ///< each level has meetings of all devices
  };
  for (const auto& [diamonds, tail, most] :
       {Chains{1100, 0, 2}, Chains{1960, 9, 1}, Chains{2003, 200000, 1}, Chains{2018, 200000, 1}, Chains{2200, 0, 2}}) {
    if (std::get<0>(GetParam()) > most) continue;
    SCOPED_TRACE(diamonds);
    std::vector<TestEdge> edges;
    const std::uint64_t end = 3 * diamonds, chain = end + tail;
    for (std::uint64_t i = 0; i < diamonds; ++i) {
      const std::uint64_t a = 3 * i;
      edges.insert(edges.end(), {{a, a + 1}, {a, a + 2}, {a + 1, a + 3}, {a + 2, a + 3}});
    }
    for (std::uint64_t v = end; v < chain; ++v) edges.push_back({v, v + 1});
    for (std::uint64_t i = 0; i < 2 * diamonds; ++i) edges.push_back({i == 0 ? 0 : chain + i, chain + i + 1});
    const Graph graph = MakeGraph(1 + chain + 2 * diamonds, edges);
    Session session = Divided(graph);
    const std::vector<double> answer = RunIt({"bc", ""}, session, {{"source", "0"}}).As<double>();
    for (std::uint64_t v = 1; v <= end; ++v) {
      const std::uint64_t behind = 3 * (diamonds - v / 3) + tail;  // vertices behind the end of the diamond before v
      const double expected = v % 3 == 0 ? static_cast<double>(behind) : static_cast<double>(behind - 2) / 2;
      ASSERT_NEAR(answer[v], expected, 1e-9 * (1 + expected)) << v;
    }
    for (std::uint64_t v = end + 1; v <= chain; ++v) ASSERT_EQ(answer[v], static_cast<double>(chain - v)) << v;
    for (std::uint64_t i = 1; i <= 2 * diamonds; ++i) {
      ASSERT_EQ(answer[chain + i], static_cast<double>(2 * diamonds - i)) << i;
    }
  }
}

TEST_P(Examples, CentralityOfStrandsThatDieAndMeet) {
  // Strands of diamonds of which one has hardly a share where they meet, or dies: levels lose their ends, and scales move.
  if (std::get<1>(GetParam()) != Direction::kAuto || std::get<0>(GetParam()) > 2) GTEST_SKIP() << "seen by the others";
  for (const std::array<std::uint64_t, 3>& strands :
       {std::array<std::uint64_t, 3>{1500, 790, 0}, {1990, 500, 0}, {2100, 800, 0}, {700, 690, 5}}) {
    // Each is as long as the first; the first dies, the others meet.
    std::vector<TestEdge> edges;
    std::uint64_t next = 1;
    std::vector<std::uint64_t> ends;
    for (const std::uint64_t doublings : strands) {
      std::uint64_t at = 0;
      for (std::uint64_t i = 0; i < strands[0]; ++i) {
        const std::uint64_t side = next++, other = i < doublings ? next++ : side, meet = next++;
        edges.push_back({at, side});
        edges.push_back({side, meet});
        if (other != side) edges.insert(edges.end(), {{at, other}, {other, meet}});
        at = meet;
      }
      ends.push_back(at);
    }
    const std::uint64_t meeting = next++, last = next++;
    edges.insert(edges.end(), {{ends[1], meeting}, {ends[2], meeting}, {meeting, last}});
    const Graph graph = MakeGraph(next, edges);
    Session session = Divided(graph);
    const Answer answer = RunIt({"bc", ""}, session, {{"source", "0"}, {"sources", "2"}});
    const Verdict verdict =
        Program("bc").Verify(graph, {{"source", "0"}, {"sources", "2"}}, answer.values, &answer.statistics);
    EXPECT_TRUE(verdict.passed) << strands[0] << ": " << verdict.message;
  }
}

TEST_P(Examples, CentralityFromManySourcesCostsWhatTheyReach) {
  const std::uint64_t vertices = std::get<0>(GetParam()) == 1 ? 30000 : 300;
  const Graph graph = MakeGraph(vertices, {{0, 1}, {1, 2}, {vertices - 2, vertices - 1}});
  Session session = Divided(graph);
  const std::vector<double> answer = RunIt({"bc", ""}, session, {{"sources", "0"}}).As<double>();
  for (std::uint64_t v = 0; v < vertices; ++v) ASSERT_EQ(answer[v], v == 1 ? 1 : 0) << v;
}

TEST_P(Examples, WidestPathAndReachByHand) {
  // 0 to 3 by way of 1 is 2 wide, by way of 2 it is 4 wide; 4 leads to 3, and nothing to 4.
  const Graph graph = MakeGraph(5, {{0, 1, 9}, {1, 3, 2}, {0, 2, 5}, {2, 3, 4}, {4, 3, 1}}, WeightKind::kInt32);
  Session session = Divided(graph);
  const Answer widths = RunIt({"widest_path", ""}, session, {{"source", "0"}}, OptionsFor("widest_path"));
  EXPECT_EQ(widths.As<float>(), (std::vector<float>{kInfinity<float>, 9, 5, 4, 0}));
  const ParameterValues three{{"first", "0"}, {"stride", "2"}, {"count", "3"}};  // 0, 2 and 4
  const Answer sources = RunIt({"reach", ""}, session, three, OptionsFor("reach"));
  EXPECT_EQ(sources.As<std::uint64_t>(), (std::vector<std::uint64_t>{1, 1, 3, 7, 4}));
}

// What runs are given from outside, and by which their answers are verified.
TEST_P(Examples, TakeVertexData) {
  std::uint64_t seed = 0;
  for (const auto& [name, graph] : Graphs(false)) {
    SCOPED_TRACE(name);
    Session session = Divided(graph, ++seed % 2 == 0 ? "random" : "edge-balanced");
    const VertexId n = graph.vertices();
    Array<std::uint32_t> seeds(n, 0u);
    Array<bool> present(n, false);
    Array<std::int32_t> sides(n);
    for (VertexId v = 0; v < n; ++v) {
      present[v] = Hash(v, seed) % 8 == 0;
      seeds[v] = static_cast<std::uint32_t>(Hash(v, seed) / 8 % 5);
      sides[v] = static_cast<std::int32_t>(Hash(v, seed + 1) % 3) - 1;
    }
    const VertexData given[] = {{{"seed", VertexArray(VertexArray::Values(std::move(seeds)), std::move(present))}},
                                {{"side", VertexArray(VertexArray::Values(std::move(sides)))}}};
    const char* const programs[] = {"seed_labels", "same_side"};
    for (int i = 0; i < 2; ++i) {
      SCOPED_TRACE(programs[i]);
      RunOptions options;
      options.vertex_data = given[i];
      const Answer answer = RunIt({programs[i], ""}, session, {}, options);
      const RegisteredProgram& program = Program(programs[i]);
      const Verdict verdict = program.Verify(graph, {}, answer.values, &answer.statistics, given[i]);
      EXPECT_TRUE(verdict.passed) << verdict.message;
      ErasedValues spoilt;
      spoilt.type = answer.values.type;
      spoilt.name = answer.values.name;
      spoilt.bytes = answer.values.bytes.Clone();
      reinterpret_cast<std::uint32_t*>(spoilt.bytes.data())[n / 2] += 1;
      EXPECT_FALSE(program.Verify(graph, {}, spoilt, &answer.statistics, given[i]).passed);
      EXPECT_THROW(RunIt({programs[i], ""}, session), UsageError) << "without data";
      options.vertex_data = given[1 - i];
      EXPECT_THROW(RunIt({programs[i], ""}, session, {}, options), UsageError) << "with another's";
    }
  }
}

TEST_P(Examples, PersonalisedPushByHand) {
  // 0 - 1: with damping d, the source has 1 / (1 + d) of the time, the other d / (1 + d).
  const Graph graph = MakeSymmetric(3, {{0, 1}});
  Session session = Divided(graph);
  const ParameterValues half{{"source", "0"}, {"damping", "0.5"}, {"tolerance", "1e-12"}};
  const std::vector<double> ranks =
      RunIt({"personalised_push", ""}, session, half, OptionsFor("personalised_push")).As<double>();
  EXPECT_NEAR(ranks[0], 2.0 / 3, 1e-10);
  EXPECT_NEAR(ranks[1], 1.0 / 3, 1e-10);
  EXPECT_EQ(ranks[2], 0.0);
}

// -------------------------------------------------------------------- sequences ----

TEST_P(Examples, HubsAndAuthoritiesByHand) {
  // Of 0 -> 2, 1 -> 2 and 1 -> 3 the scores of either kind are as the golden ratio and 1; 4 is alone.
  const Graph graph = MakeGraph(5, {{0, 2}, {1, 2}, {1, 3}});
  Session session = Divided(graph, "random");
  const double larger = (std::sqrt(5.0) - 1) / 2, lesser = 1 - larger;
  const ParameterValues exact{{"tolerance", "1e-13"}};
  const std::vector<double> authorities = RunIt({"hits", ""}, session, exact, OptionsFor("hits")).As<double>();
  const std::vector<double> hubs = RunIt({"hits", "hub"}, session, exact, OptionsFor("hits")).As<double>();
  const std::vector<double> expected{0, 0, larger, lesser, 0}, expected_hubs{lesser, larger, 0, 0, 0};
  for (std::size_t v = 0; v < 5; ++v) {
    EXPECT_NEAR(authorities[v], expected[v], 1e-12) << v;
    EXPECT_NEAR(hubs[v], expected_hubs[v], 1e-12) << v;
  }
  const Graph without = MakeGraph(3, {}), empty = MakeGraph(0, {});
  Session no_edges = Divided(without), nothing = Divided(empty);
  EXPECT_EQ(RunIt({"hits", "hub"}, no_edges).As<double>(), std::vector<double>(3, 0.0));
  EXPECT_TRUE(RunIt({"hits", ""}, nothing).As<double>().empty());
}

TEST_P(Examples, StrongComponentsByHand) {
  // Two cycles, of which one leads to the other; a vertex before and one behind; one alone, one with a loop, a pair; and a
  // cycle whose vertices are numbered against its direction.
  const Graph graph = MakeGraph(15, {{0, 1},
                                     {1, 2},
                                     {2, 0},
                                     {2, 3},
                                     {3, 4},
                                     {4, 5},
                                     {5, 3},
                                     {6, 0},
                                     {5, 7},
                                     {9, 9},
                                     {10, 11},
                                     {11, 10},
                                     {14, 13},
                                     {13, 12},
                                     {12, 14},
                                     {7, 14}});
  Session session = Divided(graph, "random");
  EXPECT_EQ(RunIt({"scc", ""}, session, {}, OptionsFor("scc")).As<VertexId>(),
            (std::vector<VertexId>{0, 0, 0, 3, 3, 3, 6, 7, 8, 9, 10, 10, 12, 12, 12}));
  const Graph empty = MakeGraph(0, {});
  Session nothing = Divided(empty);
  EXPECT_TRUE(RunIt({"scc", ""}, nothing).As<VertexId>().empty());
}

TEST_P(Examples, StrongComponentsOfEverySize) {
  for (std::uint32_t seed = 0; seed < 12; ++seed) {  // about one edge a vertex: components of every size, long ways between
    const Graph graph = RandomGraph(seed, 40 + 60 * seed, 0.9 + 0.1 * (seed % 6), WeightKind::kNone, false);
    Session session = Divided(graph, seed % 2 == 0 ? "random" : "contiguous");
    EXPECT_EQ(RunIt({"scc", ""}, session, {}, OptionsFor("scc")).As<VertexId>(), reference::StrongComponents(graph)) << seed;
  }
}

TEST_P(Examples, ASequenceRunsAgainAndEndsWhenItIsTold) {
  const Graph graph = RandomGraph(7, 300, 3.0, WeightKind::kNone, false);
  Session session = Divided(graph);
  const std::unique_ptr<RegisteredJob> job = Program("hits").Prepare(session, {}, "hub", OptionsFor("hits"));
  EXPECT_THROW(job->Output(), UsageError) << "nothing has run";
  const RunStatistics first = job->Execute();
  const Answer before{job->Output(), first};
  EXPECT_TRUE(first.converged);
  EXPECT_GT(first.rounds, 10u);
  job->Set("rounds", "2");  // a limit of the program's own
  EXPECT_EQ(job->Execute().ended, Ended::kLimit);
  EXPECT_EQ(job->statistics().rounds, 4u);
  job->Set("rounds", "1000");
  EXPECT_EQ(job->Execute().rounds, first.rounds);
  const Answer after{job->Output(), first};
  for (VertexId v = 0; v < graph.vertices(); ++v) ASSERT_NEAR(after.As<double>()[v], before.As<double>()[v], 1e-12) << v;

  RunOptions options = OptionsFor("hits");
  options.max_rounds = 5;
  for (const char* program : {"hits", "scc"}) {
    const Answer cut = RunIt({program, ""}, session, {}, options);
    EXPECT_EQ(cut.statistics.ended, Ended::kMaxRounds) << program;
    EXPECT_EQ(cut.statistics.rounds, 5u) << program;
  }
  options.max_rounds = 0;
  std::stop_source stop;
  stop.request_stop();
  options.stop = stop.get_token();
  for (const char* program : {"hits", "scc"}) {
    const Answer stopped = RunIt({program, ""}, session, {}, options);
    EXPECT_EQ(stopped.statistics.ended, Ended::kStopped) << program;
    EXPECT_EQ(stopped.statistics.rounds, 0u) << program;
    EXPECT_EQ(stopped.values.size(), graph.vertices()) << program;
  }
}

TEST(ExampleSequences, SayWhatTheyTake) {
  EXPECT_EQ(Program("scc").safety(), "sequence");
  EXPECT_EQ(Program("scc").Memory(nullptr, "", {}).at(0).size(), 5u) << "its programs";
  EXPECT_EQ(Program("hits").Memory(nullptr, "hub", {}).at(0).size(), 4u) << "its programs, and the one that follows";
  const Graph graph = MakeGraph(5, {{0, 1}, {1, 0}});
  SessionOptions small;
  small.memory_limit = 300;
  Session session(graph, MakeDevices(2), small);
  EXPECT_THROW(Program("scc").Prepare(session, {}, "", {}), OutOfMemoryError);
  Session other(graph, MakeDevices(2));
  RunOptions options;
  options.execution = Execution::kAsync;
  EXPECT_THROW(Program("scc").Prepare(other, {}, "", options), UsageError) << "trimming needs rounds";
}

// ------------------------------------------------------------- verifiers, parameters ----

/// Another value of the same type, wrong for every program here.
void Spoil(ErasedValues& values, VertexId v, bool badly) {
  const auto change = [&]<class T>(T) {
    T* const value = reinterpret_cast<T*>(values.bytes.data()) + v;
    if constexpr (std::is_floating_point_v<T>) {
      *value = badly                    ? std::numeric_limits<T>::quiet_NaN()
               : *value == kInfinity<T> ? T{1}
                                        : *value + T{0.01f} * (1 + *value);
    } else {
      *value = badly ? static_cast<T>(*value + 1000) : values.name == "member" ? 1 - *value : *value ^ 1;
    }
  };
  switch (values.type) {
    case ScalarType::kUint32:
      return change(std::uint32_t{});
    case ScalarType::kUint64:
      return change(std::uint64_t{});
    case ScalarType::kFloat32:
      return change(float{});
    case ScalarType::kFloat64:
      return change(double{});
    default:
      FAIL() << "no example has such values";
  }
}

TEST(ExampleVerifiers, SeeOneWrongValueAnywhere) {
  for (const auto& [name, graph] : Graphs(false)) {
    SCOPED_TRACE(name);
    Session session(graph, MakeDevices(1));
    for (const Case& what : AllPrograms()) {
      SCOPED_TRACE(what.program + ' ' + what.value);
      const ParameterValues parameters = ParametersFor(what.program, graph, 5);
      Answer answer = RunIt(what, session, parameters);
      const auto verdict = [&, &on = graph] { return Program(what.program).Verify(on, parameters, answer.values, nullptr); };
      ASSERT_TRUE(verdict().passed) << verdict().message;
      for (const VertexId v : {VertexId{0}, graph.vertices() / 2, graph.vertices() - 1}) {
        for (const bool badly : {false, true}) {
          const std::vector<std::byte> right = ToVector(answer.values.bytes);
          Spoil(answer.values, v, badly);
          const Verdict spoilt = verdict();
          EXPECT_FALSE(spoilt.passed) << "vertex " << v << ": " << spoilt.message;
          std::copy(right.begin(), right.end(), answer.values.bytes.begin());
        }
      }
      EXPECT_TRUE(verdict().passed);
    }
  }
}

TEST(ExampleVerifiers, MisSeesBothFaults) {
  const Graph graph = MakeSymmetric(3, {{0, 1}});
  const auto passes = [&](std::vector<std::uint32_t> member) {
    return reference::IndependentAndMaximal(graph, std::span<const std::uint32_t>(member)).passed;
  };
  EXPECT_TRUE(passes({1, 0, 1}));
  EXPECT_TRUE(passes({0, 1, 1}));
  EXPECT_FALSE(passes({1, 1, 1}));
  EXPECT_FALSE(passes({0, 0, 1}));
  EXPECT_FALSE(passes({1, 0, 0}));
  EXPECT_FALSE(passes({1, 0, 2}));
}

TEST(ExampleParameters, NonsenseIsRefused) {
  const Graph graph = MakeGraph(5, {{0, 1, 1}, {1, 2, 2}}, WeightKind::kFloat32);
  Session session(graph, MakeDevices(1));
  const auto refused = [&](const std::string& program, const std::string& name, const std::string& value) {
    EXPECT_THROW(Program(program).Prepare(session, {{name, value}}, "", {}), UsageError)
        << program << ' ' << name << '=' << value;
  };
  refused("kcore", "k", "3");
  refused("cdlp", "rounds", "0");
  refused("cdlp", "rounds", "-1");
  refused("reach", "stride", "0");
  refused("reach", "count", "0");
  refused("reach", "count", "65");
  refused("reach", "first", "5");
  refused("mis", "seed", "x");
  refused("widest_path", "source", "5");
  refused("betweenness", "source", "5");
  refused("bc", "source", "5");
  refused("bc", "sources", "-1");
  refused("personalised_push", "source", "5");
  for (const char* const value : {"0", "-1", "0.1", "nan"}) refused("hits", "tolerance", value);
  refused("hits", "rounds", "0");
  refused("scc", "rounds", "1");
  for (const char* const value : {"1", "-0.1", "nan", "inf"}) refused("personalised_push", "damping", value);
  for (const char* const value : {"0", "1", "-1", "nan"}) refused("personalised_push", "tolerance", value);
  const Graph negative = MakeGraph(3, {{0, 1, -1}}, WeightKind::kFloat32);
  Session other(negative, MakeDevices(1));
  EXPECT_THROW(Program("widest_path").Prepare(other, {}, "", {}), UsageError);
}

std::string CaseName(const testing::TestParamInfo<Examples::ParamType>& info) {
  const auto [devices, direction] = info.param;
  return std::to_string(devices) + (direction == Direction::kAuto   ? "Auto"
                                    : direction == Direction::kPush ? "Push"
                                                                    : "Pull");
}

INSTANTIATE_TEST_SUITE_P(Devices, Examples,
                         testing::Combine(testing::ValuesIn(DeviceCounts()),
                                          testing::Values(Direction::kAuto, Direction::kPush, Direction::kPull)),
                         CaseName);

}  // namespace
}  // namespace chatty::test
