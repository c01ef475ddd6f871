// The prebuilt programs, through the registry, on every selection of devices.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../registered_programs.h"
#include "../sanitized.h"
#include "chatty/core/trace.h"
#include "chatty/framework/engines/bsp.h"
#include "chatty/framework/registry.h"
#include "chatty/io/generators.h"
#include "chatty/io/reader.h"
#include "chatty/programs/reference.h"
#include "chatty/programs/verify.h"
#include "test_inputs.h"

namespace chatty::test {
namespace {

constexpr Direction kDirections[] = {Direction::kAuto, Direction::kPush, Direction::kPull};
constexpr const char* kPartitions[] = {"contiguous", "edge-balanced", "random"};

template <class T>
std::vector<T> Copied(std::span<const T> values) {
  return {values.begin(), values.end()};
}

class EngineTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const std::string reason = WhyNot(GetParam()); !reason.empty()) GTEST_SKIP() << reason;
    kind_ = ParseDevices(GetParam()).kind;
    try {
      Programs().Find("bfs", kind_);
    } catch (const CapabilityError& error) {
      GTEST_SKIP() << error.what();
    }
  }

  static SessionOptions Divided(const std::string& partition) {
    SessionOptions options;
    options.partition = partition;
    options.threads = 6;  // several threads a device, whatever the machine has
    return options;
  }
  static RunOptions Towards(Direction direction, const std::string& transport = "auto") {
    RunOptions options;
    options.direction = direction;
    options.comm = ParseCommSpec(transport);
    return options;
  }

  /// Every partition and transport once, every direction with each.
  void ForEachConfiguration(const Graph& graph, const std::function<void(Session&, const RunOptions&)>& body) {
    for (const char* partition : kPartitions) {
      Session session(graph, GetParam(), Divided(partition));
      // The transport of choice, and for one of the partitions some that are not.
      for (const std::string transport : {"auto", "staged", "uva", "chattygraph", "ring"}) {
        if (transport != "auto" && (session.device_count() == 1 || std::string(partition) != "random")) continue;
        // Making communicators takes longer than these runs; tests/engines tests NCCL.
        if (transport == "chattygraph" && session.device(0).kind() != DeviceKind::kHost) continue;
        for (const Direction direction : kDirections) {
          if (transport == "staged" && direction != Direction::kAuto) continue;
          SCOPED_TRACE(std::string(partition) + ", transport " + transport + ", direction " +
                       std::to_string(static_cast<int>(direction)));
          body(session, Towards(direction, transport));
          if (HasFatalFailure()) return;
        }
      }
    }
  }

  const RegisteredProgram& Program(std::string_view name) const { return Programs().Find(name, kind_); }

  /// What every run's statistics must satisfy, whatever ran.
  static void CheckStatistics(const RunStatistics& s, const Session& session, const RunOptions& options,
                              std::uint64_t least_bits = 32) {
    EXPECT_EQ(s.execution, "bsp");
    EXPECT_EQ(s.push_rounds + s.pull_rounds, s.rounds);
    EXPECT_TRUE(options.direction != Direction::kPush || s.pull_rounds == 0);
    EXPECT_TRUE(options.direction != Direction::kPull || s.push_rounds == 0);
    EXPECT_TRUE(s.converged);
    EXPECT_GE(s.time_ms, 0.0);
    ASSERT_EQ(s.devices.size(), session.device_count());
    VertexId vertices = 0;
    for (std::size_t d = 0; d < s.devices.size(); ++d) {
      EXPECT_EQ(s.devices[d].device, session.device(d).label());
      EXPECT_EQ(s.devices[d].vertices, session.partition().OwnedCount(static_cast<PartId>(d)));
      EXPECT_GE(s.devices[d].compute_ms, 0.0);
      EXPECT_GE(s.devices[d].communication_ms, 0.0);
      EXPECT_GE(s.devices[d].waiting_ms, 0.0);
      vertices += s.devices[d].vertices;
    }
    EXPECT_EQ(vertices, session.graph().vertices());
    if (session.device_count() == 1) {
      EXPECT_EQ(s.transport, "none");
      EXPECT_TRUE(s.pairs.empty());
    } else if (options.comm.data == "auto") {
      const std::string first = s.transport.substr(0, s.transport.find('+'));
      EXPECT_NE(FindTransport(first), nullptr) << s.transport;
    } else {
      EXPECT_EQ(s.transport, options.comm.data);
    }
    for (const PairStatistics& pair : s.pairs) {
      EXPECT_LT(pair.from, session.device_count());
      EXPECT_LT(pair.to, session.device_count());
      EXPECT_NE(pair.from, pair.to);
      EXPECT_LE(pair.messages, pair.messages_before) << "combining adds nothing";
      if (!options.comm.broadcast && options.comm.data != "ring") {  // which tell all what is meant for one
        EXPECT_GT(pair.messages_before, 0u);
        EXPECT_EQ(pair.messages == 0, pair.bytes == 0);
      }
      EXPECT_GE(pair.bytes * 8, pair.messages * least_bits) << "no payload is under four bytes, unless all are one bit";
    }
  }

  template <class T>
  static std::string FirstDifference(std::span<const T> actual, const Array<T>& expected) {
    if (actual.size() != expected.size()) return "in their number";
    const auto [a, e] = std::mismatch(actual.begin(), actual.end(), expected.begin());
    return a == actual.end() ? "nowhere" : fmt::format("vertex {}: {} instead of {}", a - actual.begin(), *a, *e);
  }

  /// The unique answers: byte for byte, in every configuration.
  template <class T>
  void AnswersAre(const Graph& graph, const char* program, const char* value, const ParameterValues& parameters,
                  const Array<T>& expected, const std::function<void(const RunStatistics&, const RunOptions&)>& check = {}) {
    SCOPED_TRACE(std::string(program) + " " + value);
    ForEachConfiguration(graph, [&](Session& session, const RunOptions& options) {
      const auto job = Program(program).Prepare(session, parameters, value, options);
      const int runs = graph.vertices() < 500 && options.direction == Direction::kAuto ? 2 : 1;
      for (int again = 0; again < runs; ++again) {
        const RunStatistics statistics = job->Execute();
        const ErasedValues output = job->Output();
        ASSERT_TRUE(std::ranges::equal(output.As<T>(), expected.span()))
            << "answers differ: " << FirstDifference(output.As<T>(), expected);
        if (session.partition().name() == "random" && options.direction == Direction::kAuto) {
          const Verdict verdict = Program(program).Verify(graph, parameters, output, &statistics);
          EXPECT_TRUE(verdict) << verdict.message;
        }
        CheckStatistics(statistics, session, options, std::string_view(program) == "bfs" ? 1 : 32);
        if (check) check(statistics, options);
      }
    });
  }

  void CheckBfs(const Graph& graph, VertexId source) {
    const ParameterValues parameters{{"source", std::to_string(source)}};
    const Array<std::uint32_t> levels = SerialBfs(graph, source);
    std::uint64_t reached = 0, edges = 0;
    std::uint32_t depth = 0;
    for (VertexId v = 0; v < graph.vertices(); ++v) {
      if (levels[v] == kFar) continue;
      ++reached;
      edges += graph.out_degree(v);
      depth = std::max(depth, levels[v]);
    }
    AnswersAre(graph, "bfs", "level", parameters, levels, [&](const RunStatistics& s, const RunOptions& options) {
      EXPECT_EQ(s.rounds, depth + 1);
      EXPECT_EQ(s.phases, 1u);
      EXPECT_EQ(s.vertices_updated, reached - 1) << "every vertex but the source is reached once";
      if (options.direction == Direction::kPush) {
        EXPECT_EQ(s.edges_touched, edges) << "a pushed search looks at the edges of what it reaches, once";
      }
    });
    AnswersAre(graph, "bfs", "parent", parameters, SerialBfsParents(graph, source));
  }

  void CheckSssp(const Graph& graph, VertexId source) {
    const ParameterValues parameters{{"source", std::to_string(source)}};
    if (graph.weight_kind() == WeightKind::kFloat32) {
      AnswersAre(graph, "sssp", "distance", parameters, SerialSssp<float>(graph, source));
    } else {
      AnswersAre(graph, "sssp", "distance", parameters, SerialSssp<std::uint32_t>(graph, source));
    }
  }

  void CheckComponents(const Graph& graph) {
    const Array<VertexId> components = SerialComponents(graph);
    AnswersAre(graph, "label_propagation", "component", {}, components);
    for (const char* partition : kPartitions) {
      SCOPED_TRACE(partition);
      Session session(graph, GetParam(), Divided(partition));
      const auto job = Program("cc").Prepare(session, {}, "", {});
      for (int again = 0; again < 3; ++again) {
        const RunStatistics statistics = job->Execute();
        const ErasedValues output = job->Output();
        ASSERT_EQ(Copied(output.As<VertexId>()), test::ToVector(components)) << "cc";
        EXPECT_EQ(statistics.devices.size(), session.device_count());
        EXPECT_EQ(statistics.execution, "operators");
        EXPECT_TRUE(Program("cc").Verify(graph, {}, output, &statistics));
      }
    }
  }

  void CheckPageRank(const Graph& graph) {
    constexpr std::uint32_t kRounds = 12;
    const ParameterValues fixed{{"rounds", std::to_string(kRounds)}, {"tolerance", "0"}};
    const Array<double> expected = SerialPageRank(graph, 0.85f, kRounds).ranks;
    ForEachConfiguration(graph, [&](Session& session, const RunOptions& options) {
      const auto job = Program("pagerank").Prepare(session, fixed, "", options);
      const RunStatistics statistics = job->Execute();
      const ErasedValues output = job->Output();
      for (VertexId v = 0; v < graph.vertices(); ++v) {
        ASSERT_NEAR(output.As<float>()[v], expected[v], 1e-5 * expected[v]) << "pagerank of vertex " << v;
      }
      if (graph.vertices() > 0) {
        EXPECT_EQ(statistics.rounds, kRounds);
        if (options.direction == Direction::kPull) {
          const Verdict verdict = Program("pagerank").Verify(graph, fixed, output, &statistics);
          EXPECT_TRUE(verdict) << verdict.message;
        }
      }
      CheckStatistics(statistics, session, options);

      if (graph.vertices() == 0) return;
      const ParameterValues settled{{"tolerance", "1e-4"}};
      const auto settles = Program("pagerank").Prepare(session, settled, "", options);
      const RunStatistics settled_statistics = settles->Execute();
      EXPECT_EQ(settled_statistics.ended, Ended::kConverged);
      const ErasedValues ranks = settles->Output();
      const Verdict rounds = Program("pagerank").Verify(graph, settled, ranks, &settled_statistics);
      EXPECT_TRUE(rounds) << rounds.message;
      const Verdict residual = VerifyPageRank<float>(graph, ranks.As<float>(), 0.85f, 1e-4);
      EXPECT_TRUE(residual) << residual.message;

      const ParameterValues residuals{{"tolerance", "1e-3"}};
      const auto pushed = Program("pagerank_push").Prepare(session, residuals, "", options);
      const RunStatistics push_statistics = pushed->Execute();
      const Verdict verdict = Program("pagerank_push").Verify(graph, residuals, pushed->Output(), &push_statistics);
      EXPECT_TRUE(verdict) << verdict.message;
      CheckStatistics(push_statistics, session, options);
    });
  }

  void CheckAll(const Graph& graph, VertexId source) {
    if (graph.vertices() > 0) {
      CheckBfs(graph, source);
      CheckSssp(graph, source);
    }
    CheckComponents(graph);
    CheckPageRank(graph);
  }

  DeviceKind kind_ = DeviceKind::kHost;
};

// Each test says by hand what the serial reference answers, and asks the same of every configuration.

template <class T>
void Expect(const Array<T>& reference, const Array<T>& by_hand) {
  EXPECT_EQ(test::ToVector(reference), test::ToVector(by_hand));
}

TEST_P(EngineTest, EmptyGraph) {
  const Graph graph = MakeGraph(0, {});
  CheckAll(graph, 0);
  Session session(graph, GetParam());
  EXPECT_THROW(Program("bfs").Prepare(session, {}, "", {}), UsageError) << "there is no source";
}

TEST_P(EngineTest, OneVertex) {
  const Graph graph = MakeGraph(1, {});
  CheckAll(graph, 0);
  Expect(SerialBfs(graph, 0), Array<std::uint32_t>{0});
  Expect(SerialBfsParents(graph, 0), Array<VertexId>{0});
  Expect(SerialSssp<std::uint32_t>(graph, 0), Array<std::uint32_t>{0});
  Expect(SerialComponents(graph), Array<VertexId>{0});
}

TEST_P(EngineTest, PathOfFive) {
  const Graph graph = MakeSymmetric(5, {{0, 1, 3}, {1, 2, 1}, {2, 3, 4}, {3, 4, 1}}, WeightKind::kInt32);
  CheckAll(graph, 1);
  Expect(SerialBfs(graph, 1), Array<std::uint32_t>{1, 0, 1, 2, 3});
  Expect(SerialBfsParents(graph, 1), Array<VertexId>{1, 1, 1, 2, 3});
  Expect(SerialSssp<std::uint32_t>(graph, 1), Array<std::uint32_t>{3, 0, 1, 5, 6});
  Expect(SerialComponents(graph), Array<VertexId>{0, 0, 0, 0, 0});
}

TEST_P(EngineTest, TwoComponents) {
  const Graph graph = MakeSymmetric(6, {{0, 2}, {2, 4}, {1, 3}, {3, 5}, {5, 1}});
  CheckAll(graph, 3);
  Expect(SerialBfs(graph, 3), Array<std::uint32_t>{kFar, 1, kFar, 0, kFar, 1});
  Expect(SerialBfsParents(graph, 3), Array<VertexId>{kNoVertex, 3, kNoVertex, 3, kNoVertex, 3});
  Expect(SerialComponents(graph), Array<VertexId>{0, 1, 0, 1, 0, 1});
}

TEST_P(EngineTest, LoopsAndParallelEdges) {
  const Graph graph =
      MakeGraph(4, {{0, 0, 1}, {0, 1, 7}, {0, 1, 2}, {1, 2, 1}, {2, 2, 0}, {2, 0, 3}, {3, 3, 5}}, WeightKind::kInt32);
  CheckAll(graph, 0);
  Expect(SerialSssp<std::uint32_t>(graph, 0), Array<std::uint32_t>{0, 2, 3, kFar});
  Expect(SerialComponents(graph), Array<VertexId>{0, 0, 0, 3});
}

TEST_P(EngineTest, Star) {
  std::vector<TestEdge> edges;
  for (VertexId v = 1; v < 70; ++v) edges.push_back({0, v, static_cast<double>(v)});
  const Graph graph = MakeSymmetric(70, edges, WeightKind::kFloat32);
  CheckAll(graph, 5);
  Array<std::uint32_t> levels(70, 2);
  levels[0] = 1;
  levels[5] = 0;
  Expect(SerialBfs(graph, 5), levels);
  Array<float> distances(70);
  for (VertexId v = 0; v < 70; ++v) distances[v] = 5.0f + static_cast<float>(v);
  distances[5] = 0;
  Expect(SerialSssp<float>(graph, 5), distances);
}

TEST_P(EngineTest, DirectedCycle) {
  const Graph graph = MakeGraph(5, {{0, 1, 1}, {1, 2, 10}, {2, 3, 100}, {3, 4, 1000}, {4, 0, 10000}}, WeightKind::kInt32);
  CheckAll(graph, 2);
  Expect(SerialBfs(graph, 2), Array<std::uint32_t>{3, 4, 0, 1, 2});
  Expect(SerialBfsParents(graph, 2), Array<VertexId>{4, 0, 2, 2, 3});
  Expect(SerialSssp<std::uint32_t>(graph, 2), Array<std::uint32_t>{11100, 11101, 0, 100, 1100});
}

TEST_P(EngineTest, AVertexThatNothingLeaves) {
  const Graph graph = MakeGraph(3, {{0, 1}, {2, 1}});
  Expect(SerialBfs(graph, 1), Array<std::uint32_t>{kFar, 0, kFar});
  CheckAll(graph, 1);
}

TEST_P(EngineTest, ManySmallRandomGraphs) {
  std::uint32_t seed = 100;
  for (const VertexId vertices : {9, 33, 130}) {
    for (const bool symmetric : {false, true}) {
      const WeightKind kind = seed % 2 == 0 ? WeightKind::kInt32 : WeightKind::kFloat32;
      SCOPED_TRACE("seed " + std::to_string(seed));
      CheckAll(RandomGraph(seed, vertices, 1.0 + seed % 3, kind, symmetric), seed % vertices);
      if (HasFatalFailure()) return;
      ++seed;
    }
  }
}

TEST_P(EngineTest, RandomDirected) { CheckAll(RandomGraph(201, 3000, 6.0, WeightKind::kInt32, false), 17); }
TEST_P(EngineTest, RandomSymmetric) { CheckAll(RandomGraph(202, 2500, 3.0, WeightKind::kFloat32, true), 18); }
TEST_P(EngineTest, HubsDirected) { CheckAll(HubGraph(203, 4000, WeightKind::kFloat32, false), 3); }
TEST_P(EngineTest, HubsSymmetric) { CheckAll(HubGraph(204, 3000, WeightKind::kInt32, true), 0); }

TEST_P(EngineTest, LongThinGraphsTakeManySmallRounds) {
  GeneratorSpec spec;
  spec.family = "grid";
  spec.width = 150;
  spec.height = 3;
  spec.drop = 0.1;
  spec.weights = WeightKind::kInt32;
  const Graph graph = Generate(spec);
  CheckBfs(graph, 1);
  CheckSssp(graph, 1);
  CheckComponents(graph);
}

TEST_P(EngineTest, SkewedGraphsTakeFewBigRounds) {
  GeneratorSpec spec;
  spec.family = "kron";
  spec.scale = 12;
  spec.weights = WeightKind::kFloat32;
  const Graph graph = Generate(spec);
  CheckBfs(graph, graph.max_degree_vertex());
  CheckSssp(graph, graph.max_degree_vertex());
  CheckComponents(graph);
}

// A search from a hub follows each edge once, whether what it reaches goes to a bitmap or to a queue. On a GPU all blocks
// share the hub's row.
TEST_P(EngineTest, ASearchFromAHubFollowsItsRowOnce) {
  constexpr VertexId kLeaves = 3 * kHubDegree + 5;
  for (const VertexId vertices : {kLeaves + 1, 40 * kLeaves}) {
    SCOPED_TRACE(vertices);
    std::vector<TestEdge> edges;
    for (VertexId v = 1; v <= kLeaves; ++v) edges.push_back({0, v, static_cast<double>(v % 7 + 1)});
    const Graph graph = MakeSymmetric(vertices, edges, WeightKind::kInt32);
    Session session(graph, GetParam(), Divided("contiguous"));
    RunOptions options;
    options.execution = Execution::kBsp;
    options.direction = Direction::kPush;
    const auto job = Program("bfs").Prepare(session, {{"source", "0"}}, "level", options);
    for (int run = 0; run < 3; ++run) {
      const RunStatistics statistics = job->Execute();
      EXPECT_EQ(statistics.edges_touched, graph.edges());
      const auto levels = Copied(job->Output().As<std::uint32_t>());
      for (VertexId v = 0; v < vertices; ++v) {
        ASSERT_EQ(levels[v], v == 0 ? 0 : v <= kLeaves ? 1 : kFar) << v;
      }
    }
  }
}

TEST_P(EngineTest, TheSameJobAgainAndAgain) {
  GeneratorSpec spec;
  spec.family = "kron";
  spec.scale = 10;
  spec.weights = WeightKind::kInt32;
  const Graph graph = Generate(spec);
  const VertexId source = graph.max_degree_vertex();
  const ParameterValues parameters{{"source", std::to_string(source)}};
  const auto levels = test::ToVector(SerialBfs(graph, source));
  const auto distances = test::ToVector(SerialSssp<std::uint32_t>(graph, source));
  const auto components = test::ToVector(SerialComponents(graph));
  Session session(graph, GetParam(), Divided("random"));
  const auto bfs = Program("bfs").Prepare(session, parameters, "level", {});
  const auto sssp = Program("sssp").Prepare(session, parameters, "", {});
  const auto labels = Program("label_propagation").Prepare(session, {}, "", {});
  const auto cc = Program("cc").Prepare(session, {}, "", {});
  for (int i = 0; i < 40; ++i) {
    SCOPED_TRACE("run " + std::to_string(i));
    bfs->Execute();
    ASSERT_EQ(Copied(bfs->Output().As<std::uint32_t>()), levels);
    sssp->Execute();
    ASSERT_EQ(Copied(sssp->Output().As<std::uint32_t>()), distances);
    labels->Execute();
    ASSERT_EQ(Copied(labels->Output().As<VertexId>()), components);
    cc->Execute();
    ASSERT_EQ(Copied(cc->Output().As<VertexId>()), components);
  }
}

TEST_P(EngineTest, ParametersChangeBetweenRuns) {
  const Graph graph = RandomGraph(301, 400, 2.0, WeightKind::kInt32, false);
  Session session(graph, GetParam(), Divided("edge-balanced"));
  const auto bfs = Program("bfs").Prepare(session, {}, "parent", {});
  const auto sssp = Program("sssp").Prepare(session, {}, "", {});
  for (const VertexId source : {5u, 0u, 399u, 5u}) {
    bfs->Set("source", std::to_string(source));
    sssp->Set("source", std::to_string(source));
    bfs->Execute();
    sssp->Execute();
    EXPECT_EQ(Copied(bfs->Output().As<VertexId>()), test::ToVector(SerialBfsParents(graph, source)));
    EXPECT_EQ(Copied(sssp->Output().As<std::uint32_t>()), test::ToVector(SerialSssp<std::uint32_t>(graph, source)));
  }
  for (const char* wrong : {"400", "-1", "five", "", "1.5", "99999999999999999999999"}) {
    EXPECT_THROW(bfs->Set("source", wrong), UsageError) << wrong;
  }
  EXPECT_THROW(bfs->Set("sauce", "1"), UsageError);
  bfs->Execute();
  EXPECT_EQ(Copied(bfs->Output().As<VertexId>()), test::ToVector(SerialBfsParents(graph, 5)))
      << "a refused value changes nothing";
}

// In place, round by round where a trace asks to see each, after the levels of an engine without rounds, or to a limit.
TEST_P(EngineTest, ParentsAreTheSameHoweverTheyAreFound) {
  const Graph graph = HubGraph(302, 6000, WeightKind::kNone, false);
  const std::vector<VertexId> expected = test::ToVector(SerialBfsParents(graph, 7));
  for (const char* partition : kPartitions) {
    SCOPED_TRACE(partition);
    Session session(graph, GetParam(), Divided(partition));
    Trace trace;
    RunOptions plain, traced, async, limited;
    traced.trace = &trace;
    async.execution = Execution::kAsync;
    limited.max_rounds = 1;
    for (const RunOptions* options : {&plain, &traced, &async}) {
      const auto job = Program("bfs").Prepare(session, {{"source", "7"}}, "parent", *options);
      for (int again = 0; again < 3; ++again) {
        job->Execute();
        ASSERT_EQ(Copied(job->Output().As<VertexId>()), expected) << again;
      }
    }
    const auto job = Program("bfs").Prepare(session, {{"source", "7"}}, "parent", limited);
    EXPECT_EQ(job->Execute().ended, Ended::kMaxRounds);
    const std::vector<VertexId> first = Copied(job->Output().As<VertexId>());
    for (VertexId v = 0; v < graph.vertices(); ++v) {
      EXPECT_EQ(first[v], expected[v] == 7 ? 7 : kNoVertex) << v;
    }
  }
}

// One thread goes through them without the others; where the frontier grows they join, and leave again.
TEST(IsZeroCopyReceive, RoundsOfAFewEdges) {
  const RegisteredProgram& bfs = Programs().Find("bfs", DeviceKind::kHost);
  constexpr std::uint64_t kLength = 20000, kEvery = 1500;
  std::vector<TestEdge> edges;
  std::uint64_t vertices = kLength;
  for (std::uint64_t v = 1; v < kLength; ++v) edges.push_back({v - 1, v});
  for (std::uint64_t v = kEvery, width = 20; v + 4 < kLength; v += kEvery, width += 90) {  // bundles of paths beside it
    for (std::uint64_t k = 0; k < width; ++k) {
      edges.push_back({v, vertices});
      edges.push_back({vertices, vertices + 1});
      edges.push_back({vertices + 1, v + 3 + k % 2});
      vertices += 2;
    }
  }
  const Graph graph = test::MakeSymmetric(vertices, edges);
  for (const int threads : {1, 2, 5}) {
    SCOPED_TRACE(threads);
    Session session(graph, OpenDevices(ParseDevices("host:1"), threads));
    for (const VertexId source : {VertexId{0}, VertexId{kLength / 2}}) {
      const std::string from = std::to_string(source);
      const auto levels = bfs.Prepare(session, {{"source", from}}, "", {});
      const auto parents = bfs.Prepare(session, {{"source", from}}, "parent", {});
      for (int again = 0; again < 2; ++again) {
        const RunStatistics statistics = levels->Execute();
        ASSERT_EQ(Copied(levels->Output().As<std::uint32_t>()), test::ToVector(SerialBfs(graph, source)));
        EXPECT_EQ(statistics.rounds, statistics.push_rounds + statistics.pull_rounds);
        parents->Execute();
        ASSERT_EQ(Copied(parents->Output().As<VertexId>()), test::ToVector(SerialBfsParents(graph, source)));
      }
    }
    RunOptions limited;
    limited.max_rounds = 4321;
    const auto some = bfs.Prepare(session, {{"source", "0"}}, "", limited);
    const RunStatistics statistics = some->Execute();
    EXPECT_EQ(statistics.ended, Ended::kMaxRounds);
    EXPECT_EQ(statistics.rounds, 4321u);
    const std::vector<std::uint32_t> reached = Copied(some->Output().As<std::uint32_t>());
    const Array<std::uint32_t> expected = SerialBfs(graph, 0);
    for (VertexId v = 0; v < graph.vertices(); ++v) {
      ASSERT_EQ(reached[v], expected[v] <= 4321 ? expected[v] : kInfinity<std::uint32_t>) << v;
    }
  }
}

TEST_P(EngineTest, ADistanceThatDoesNotFitIsSaid) {
  const Graph graph = MakeGraph(4, {{0, 1, 2e9}, {1, 2, 2e9}, {2, 3, 2e9}}, WeightKind::kInt32);
  Session session(graph, GetParam());
  const auto job = Program("sssp").Prepare(session, {{"source", "0"}}, "", {});
  job->Execute();
  EXPECT_THROW(job->Output(), CapabilityError);
  job->Set("source", "1");
  job->Execute();
  EXPECT_EQ(Copied(job->Output().As<std::uint32_t>()), (std::vector<std::uint32_t>{kFar, 0, 2000000000u, 4000000000u}));
}

std::filesystem::path DataFolder() {
  const char* folder = std::getenv("CHATTY_DATA");
  return folder != nullptr ? std::filesystem::path(folder)
                           : std::filesystem::path(CHATTY_SOURCE_DIR) / ".." / "shared" / "data";
}

TEST_P(EngineTest, RealGraphsEqualAnIndependentProgram) {
  const std::filesystem::path folder = DataFolder();
  std::ifstream file(folder / "reference-results.json");
  if (!file) GTEST_SKIP() << "no reference-results.json in " << folder << "; set CHATTY_DATA";
  const nlohmann::json results = nlohmann::json::parse(file);
  int checked = 0;
  for (const auto& [name, expected] : results.items()) {
    if (expected["arcs"].get<std::uint64_t>() > 200000 || expected["bfs_depth"].get<int>() > 300)
      continue;  // the quick ones
    SCOPED_TRACE(name);
    std::string path;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::string candidate = entry.path().filename().string();
      if (candidate.starts_with(name + ".") && candidate.find(".co") == std::string::npos) path = entry.path().string();
    }
    ASSERT_FALSE(path.empty());
    Graph graph = ReadGraph(path);
    const bool weighted = expected.contains("sssp_ck");
    if (weighted && graph.weight_kind() == WeightKind::kFloat32) graph = graph.WithWeights(WeightKind::kInt32);
    const ParameterValues source{{"source", std::to_string(expected["src"].get<VertexId>())}};
    const auto checksum = [](std::span<const std::uint32_t> distances) {
      std::uint64_t sum = 0;
      for (std::uint64_t v = 0; v < distances.size(); ++v) {
        if (distances[v] != kFar) sum += (v + 1) * (std::uint64_t{distances[v]} + 1);
      }
      return sum;
    };
    Session session(graph, GetParam());
    const auto run = [&](const char* program, const char* value, const ParameterValues& parameters) {
      const auto job = Program(program).Prepare(session, parameters, value, {});
      job->Execute();
      return job->Output();
    };
    EXPECT_EQ(checksum(run("bfs", "level", source).As<std::uint32_t>()), expected["bfs_ck"]);
    if (weighted) {
      EXPECT_EQ(checksum(run("sssp", "", source).As<std::uint32_t>()), expected["sssp_ck"]);
    }
    for (const char* program : {"cc", "label_propagation"}) {
      const ErasedValues labels = run(program, "", {});
      std::uint64_t components = 0;
      for (VertexId v = 0; v < graph.vertices(); ++v) components += labels.As<VertexId>()[v] == v;
      EXPECT_EQ(components, expected["wcc"]) << program;
    }
    const ErasedValues ranks = run("pagerank", "", {{"rounds", "20"}, {"tolerance", "0"}});
    const auto top = expected["pr20_top"].get<VertexId>();
    const double value = expected["pr20_top_val"];
    EXPECT_NEAR(ranks.As<float>()[top], value, 1e-5 * value);
    EXPECT_LE(*std::max_element(ranks.As<float>().begin(), ranks.As<float>().end()), value * (1 + 1e-5));
    ++checked;
  }
  EXPECT_GE(checked, 3);
}

std::string EngineDevices(const testing::TestParamInfo<const char*>& info) { return SelectionName(info.param); }
INSTANTIATE_TEST_SUITE_P(Host, EngineTest, testing::Values("host:1", "host:2", "host:3"), EngineDevices);
#if !CHATTY_TEST_SANITIZED  // it takes as long as the other three
INSTANTIATE_TEST_SUITE_P(ManyOnHost, EngineTest, testing::Values("host:8"), EngineDevices);
#endif
INSTANTIATE_TEST_SUITE_P(Cuda, EngineTest, testing::Values("cuda:0", "cuda:0,1", "cuda:0,1,2,3"), EngineDevices);

}  // namespace
}  // namespace chatty::test
