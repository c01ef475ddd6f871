/// \file
/// The programs of examples/programs/ by their registered names, on devices that the including file chooses: host devices in
/// programs_test.cpp, GPUs in programs_test.cu. Nothing is instantiated here: what runs is what `chatty-examples` runs.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <stop_token>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "../../examples/reference.h"
#include "../programs/test_graphs.h"
#include "centrality_test_body.h"
#include "chatty/core/error.h"
#include "chatty/core/hash.h"
#include "chatty/framework/registry.h"
#include "examples_fixture.h"
#include "multi_source_test_body.h"
#include "neighbourhood_test_body.h"

namespace chatty::test {
namespace {

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
    EXPECT_EQ(answer.statistics.phases, 3u);  // 0, which removes no vertex, 33 and 100
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
  refused("multi_source_bfs", "source", "5");
  for (const char* const value : {"0", "65", "-1"}) refused("multi_source_bfs", "sources", value);
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
