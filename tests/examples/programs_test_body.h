// The programs of examples/programs/ by their registered names, on devices that the including file chooses: host devices in
// programs_test.cpp, GPUs in programs_test.cu. Nothing is instantiated here: what runs is what `chatty-examples` runs.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <set>
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
  static const std::vector<Case> all{{"kcore", ""},       {"cdlp", ""},        {"lcc", ""},
                                     {"widest_path", ""}, {"reach", ""},       {"personalised_pagerank", ""},
                                     {"mis", ""},         {"betweenness", ""}, {"betweenness", "dependency"}};
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
  if (program == "kcore" || program == "lcc") return {};
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

TEST_P(Examples, PersonalisedPageRankByHand) {
  // 0 - 1: with damping d, the source has 1 / (1 + d) of the time, the other d / (1 + d).
  const Graph graph = MakeSymmetric(3, {{0, 1}});
  Session session = Divided(graph);
  const ParameterValues half{{"source", "0"}, {"damping", "0.5"}, {"tolerance", "1e-12"}};
  const std::vector<double> ranks =
      RunIt({"personalised_pagerank", ""}, session, half, OptionsFor("personalised_pagerank")).As<double>();
  EXPECT_NEAR(ranks[0], 2.0 / 3, 1e-10);
  EXPECT_NEAR(ranks[1], 1.0 / 3, 1e-10);
  EXPECT_EQ(ranks[2], 0.0);
}

// ------------------------------------------------------------- verifiers, parameters ----

/// Another value of the same type, wrong for every program here.
void Spoil(ErasedValues& values, VertexId v, bool badly) {
  const auto change = [&]<class T>(T) {
    T* const value = reinterpret_cast<T*>(values.bytes.data()) + v;
    if constexpr (std::is_floating_point_v<T>) {
      *value = badly ? std::numeric_limits<T>::quiet_NaN() : *value == kInfinity<T> ? T{1} : *value + T{0.01f};
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
  refused("personalised_pagerank", "source", "5");
  for (const char* const value : {"1", "-0.1", "nan", "inf"}) refused("personalised_pagerank", "damping", value);
  for (const char* const value : {"0", "1", "-1", "nan"}) refused("personalised_pagerank", "tolerance", value);
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
