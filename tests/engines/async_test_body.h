// The engine `async` against `bsp`, with registered programs, on devices that the including file chooses.
#pragma once

#include "engines.h"

namespace chatty::test {

class Async : public testing::TestWithParam<Selection> {
 protected:
  Session Open(const Graph& graph, const char* partition) const {
    return Session(graph, MakeDevices(std::get<0>(GetParam())), DividedBy(partition));
  }
  const char* transport() const { return std::get<1>(GetParam()); }
};

TEST_P(Async, AnswersAreThoseOfBsp) {
  ASSERT_GE(MonotonePrograms().size(), 5u);
  for (const WeightKind weights : {WeightKind::kNone, WeightKind::kInt32, WeightKind::kFloat32}) {
    VertexId seed = 0;
    for (const auto& [name, graph] : MixedGraphs(weights)) {
      Session session = Open(graph, ++seed % 2 == 0 ? "random" : "edge-balanced");
      for (const RegisteredProgram* program : MonotonePrograms()) {
        if (graph.vertices() == 0 && !From(*program, MakeGraph(1, {}), 0).empty()) continue;  // no vertex to start from
        SCOPED_TRACE(std::string(program->name()) + " on " + name);
        const ParameterValues parameters = From(*program, graph, 3);
        const AsyncAnswer expected = RunBy("bsp", session, *program, parameters, transport());
        const AsyncAnswer answer = RunBy("async", session, *program, parameters, transport());
        EXPECT_TRUE(SameBytes(answer.values, expected.values));
        EXPECT_EQ(answer.statistics.execution, "async");
        EXPECT_TRUE(answer.statistics.converged);
        EXPECT_EQ(answer.statistics.ended, Ended::kConverged);
        EXPECT_EQ(answer.statistics.transport == "none", session.device_count() == 1);
        EXPECT_EQ(answer.statistics.pull_rounds, 0u);
        EXPECT_EQ(answer.statistics.rounds, answer.statistics.push_rounds);
        for (const PairStatistics& pair : answer.statistics.pairs) {
          EXPECT_LE(pair.messages, pair.messages_before) << "combined on the way, never made";
          EXPECT_EQ(pair.messages == 0, pair.bytes == 0);
        }
      }
    }
  }
}

// A long path whose neighbours are on different devices: one message travels at a time, and all other devices are idle. An
// engine that stops too early leaves the end unreached.
TEST_P(Async, NobodyLeavesWhileAMessageIsOnTheWay) {
  constexpr VertexId kLength = 400;
  std::vector<TestEdge> path;
  for (std::uint64_t v = 1; v < kLength; ++v) path.push_back({v - 1, v, 1});
  const Graph graph = MakeGraph(kLength, path);
  Session session = Open(graph, "random");
  RunOptions options;
  options.execution = Execution::kAsync;
  options.comm = ParseCommSpec(transport());
  const std::unique_ptr<RegisteredJob> job = Programs().Find("bfs", kKind).Prepare(session, {{"source", "0"}}, "", options);
  const int runs = kKind == DeviceKind::kHost ? 20 : 10;
  for (int run = 0; run < runs; ++run) {
    const RunStatistics statistics = job->Execute();
    EXPECT_GE(statistics.rounds, (kLength - 1) / session.device_count());
    const ErasedValues values = job->Output();
    const auto levels = values.As<std::uint32_t>();
    for (VertexId v = 0; v < kLength; ++v) ASSERT_EQ(levels[v], v) << "run " << run;
  }
}

// Everything at once, again and again: counters and buffers meet in every order that the machine has.
TEST_P(Async, EndsAndIsRightEveryTime) {
  const Graph graph = RandomGraph(77, 60, 3.0, WeightKind::kInt32, false);
  const RegisteredProgram& program = Programs().Find("sssp", kKind);
  Session session = Open(graph, "random");
  const AsyncAnswer expected = RunBy("bsp", session, program, {{"source", "1"}}, transport());
  RunOptions options;
  options.execution = Execution::kAsync;
  options.comm = ParseCommSpec(transport());
  const std::unique_ptr<RegisteredJob> job = program.Prepare(session, {{"source", "1"}}, "", options);
  const int runs = kKind == DeviceKind::kHost ? 400 : 150;
  for (int run = 0; run < runs; ++run) {
    job->Execute();
    ASSERT_TRUE(SameBytes(job->Output(), expected.values)) << "run " << run;
  }
}

// Groute's filter: a halo copy does not send what does not improve on what it has sent.
TEST_P(Async, HalosFilter) {
  std::vector<TestEdge> edges;
  for (std::uint64_t v = 1; v < 2000; ++v) edges.push_back({v, 0, 1});  // all shout at one vertex
  const Graph graph = MakeSymmetric(2000, edges);
  Session session = Open(graph, "random");
  const AsyncAnswer answer = RunBy("async", session, Programs().Find("label_propagation", kKind), {}, transport());
  std::uint64_t before = 0, messages = 0;
  for (const PairStatistics& pair : answer.statistics.pairs) {
    before += pair.messages_before;
    messages += pair.messages;
  }
  if (session.device_count() > 1) {
    EXPECT_GT(before, 1000u);
    EXPECT_LT(messages, 2 * graph.vertices());
  }
  EXPECT_EQ(answer.values.As<std::uint32_t>()[1999], 0u);
}

TEST_P(Async, ADerivedProgramRunsAsItCan) {
  const Graph graph = RandomGraph(78, 500, 3.0, WeightKind::kNone, true);
  Session session = Open(graph, "edge-balanced");
  const RegisteredProgram& bfs = Programs().Find("bfs", kKind);
  RunOptions options;
  options.comm = ParseCommSpec(transport());
  std::vector<ErasedValues> parents;
  for (const char* execution : {"bsp", "async"}) {
    options.execution = ParseExecution(execution);
    const std::unique_ptr<RegisteredJob> job = bfs.Prepare(session, {{"source", "1"}}, "parent", options);
    job->Execute();
    parents.push_back(job->Output());
  }
  EXPECT_TRUE(SameBytes(parents[0], parents[1]));
}

inline std::string AsyncName(const testing::TestParamInfo<Selection>& info) {
  std::string name = std::string(std::get<0>(info.param)) + "_" + std::get<1>(info.param);
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

}  // namespace chatty::test
