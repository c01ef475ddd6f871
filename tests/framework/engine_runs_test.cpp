// Runs of the prebuilt programs through the registry: what a run counts, jobs that run again and with other parameters,
// rounds of a few edges, values that do not fit, and graphs whose answers an independent program has. engine_test.cpp has
// the devices.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "../registered_programs.h"
#include "chatty/core/trace.h"
#include "chatty/framework/registry.h"
#include "chatty/io/generators.h"
#include "chatty/io/reader.h"
#include "chatty/programs/reference.h"
#include "engine_fixture.h"
#include "test_inputs.h"

namespace chatty::test {
namespace {

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
TEST(InPlace, RoundsOfAFewEdges) {
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

}  // namespace
}  // namespace chatty::test
