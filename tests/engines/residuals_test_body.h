// Residuals between devices in the engine `async`: each is taken once, sent once and added once, whatever waits for whom. On
// devices that the including file chooses.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <stop_token>
#include <string>
#include <vector>

#include "../framework/feature_programs.h"
#include "chatty/framework/typed_program.h"
#include "slow_peer.h"

namespace chatty::test {

class Residuals : public testing::TestWithParam<Selection> {
 protected:
  Session Open(const Graph& graph, const char* partition = "random") const {
    return Session(graph, MakeDevices(std::get<0>(GetParam())), DividedBy(partition));
  }
  RunOptions Asynchronously(std::uint32_t slots = kMinTransportSlots) const {
    RunOptions options;
    options.execution = Execution::kAsync;
    options.comm = ParseCommSpec(std::get<1>(GetParam()));
    options.slots = slots;
    return options;
  }
  /// Tokens that all vertices have kept or could still send, after a run.
  static std::uint64_t TokensAfter(Job& job, VertexId vertices) {
    std::vector<std::uint64_t> outputs(vertices);
    job.CopyOutput(reinterpret_cast<std::byte*>(outputs.data()));
    return std::accumulate(outputs.begin(), outputs.end(), std::uint64_t{0}, [](std::uint64_t sum, std::uint64_t output) {
      return sum + (output >> 32) + (output & ~std::uint32_t{0});
    });
  }
  static std::uint64_t TokensBefore(VertexId vertices) {
    std::uint64_t sum = 0;
    for (VertexId v = 0; v < vertices; ++v) sum += Tokens{}.InitVertex({v, 0, 0, 0}).fresh;
    return sum;
  }
  static void ExpectRounds(const RunStatistics& statistics, PartId devices) {
    EXPECT_EQ(statistics.ended, Ended::kConverged);
    EXPECT_EQ(statistics.execution, devices > 1 ? "async" : "bsp");
    EXPECT_TRUE(devices == 1 || statistics.pull_rounds == 0);
    for (const PairStatistics& pair : statistics.pairs) {
      EXPECT_LE(pair.messages, pair.messages_before) << "combined on the way, never made";
      EXPECT_EQ(pair.messages == 0, pair.bytes == 0);
    }
  }
};

TEST_P(Residuals, RanksAreThoseOfBsp) {
  const RegisteredProgram& program = Programs().Find("pagerank_push", kKind);
  std::vector<NamedGraph> graphs = MixedGraphs(WeightKind::kNone);
  graphs.push_back({"random", RandomGraph(31, 3000, 6.0, WeightKind::kNone, false)});
  VertexId turn = 0;
  for (const auto& [name, graph] : graphs) {
    SCOPED_TRACE(name);
    Session session = Open(graph, ++turn % 2 == 0 ? "random" : "edge-balanced");
    const AsyncAnswer expected = RunBy("bsp", session, program, {}, std::get<1>(GetParam()));
    const AsyncAnswer answer = RunBy("async", session, program, {}, std::get<1>(GetParam()));
    ExpectRounds(answer.statistics, session.device_count());
    if (graph.vertices() == 0) continue;
    const Verdict verdict = program.Verify(graph, {}, answer.values, &answer.statistics, {});
    EXPECT_TRUE(verdict) << verdict.message;
    double difference = 0, sum = 0;
    for (VertexId v = 0; v < graph.vertices(); ++v) {
      difference += std::abs(double{answer.values.As<float>()[v]} - double{expected.values.As<float>()[v]});
      sum += double{answer.values.As<float>()[v]};
    }
    EXPECT_LT(difference, 2 * 1e-4 / (1 - 0.85) + 1e-5) << "what both may leave unsent";
    EXPECT_NEAR(sum, 1, 1e-4);
  }
}

// Whole numbers: one message lost or added twice changes their sum.
TEST_P(Residuals, NothingIsLostOrDoubled) {
  for (const bool symmetric : {true, false}) {
    const Graph graph = RandomGraph(91, 1500, 5.0, WeightKind::kNone, symmetric);
    for (const char* partition : {"random", "contiguous"}) {
      Session session = Open(graph, partition);
      for (const std::uint32_t slots : {2u, 8u}) {
        SCOPED_TRACE(testing::Message() << partition << ", " << slots << " slots");
        const auto job = session.Prepare(std::make_shared<TypedProgram<Tokens>>(Tokens{}), Asynchronously(slots));
        for (int run = 0; run < 10; ++run) {
          ExpectRounds(job->Execute(), session.device_count());
          ASSERT_EQ(TokensAfter(*job, graph.vertices()), TokensBefore(graph.vertices())) << "run " << run;
        }
      }
    }
  }
}

// Messages that wait for a slow device's slots are added up at the halo meanwhile. The device takes its first buffer late,
// or each a little late.
TEST_P(Residuals, NothingIsLostBeforeASlowDevice) {
  const Graph graph = RandomGraph(92, 800, 5.0, WeightKind::kNone, true);
  Session session = Open(graph);
  if (session.device_count() == 1) GTEST_SKIP() << "one device has no peer";
  for (PartId slow = 0; slow < session.device_count(); ++slow) {
    for (const SlowPeer& late : {SlowPeer{slow, 0, 20}, SlowPeer{slow, session.device_count() > 2 ? 4u : 0u, 0}}) {
      for (const std::uint32_t slots : {2u, 3u}) {
        SCOPED_TRACE(testing::Message() << "slow " << slow << ", " << slots << " slots, others' buffers " << late.others);
        RunOptions options = WithSlowPeer(late, slots);
        const auto job = session.Prepare(std::make_shared<TypedProgram<Tokens>>(Tokens{}), options);
        for (int run = 0; run < 3; ++run) {
          ExpectRounds(job->Execute(), session.device_count());
          ASSERT_EQ(TokensAfter(*job, graph.vertices()), TokensBefore(graph.vertices())) << "run " << run;
        }
      }
    }
  }
}

TEST_P(Residuals, RunsEndEarlyAndBeginAnew) {
  const Graph graph = RandomGraph(93, 600, 4.0, WeightKind::kNone, true);
  Session session = Open(graph);
  const auto program = std::make_shared<TypedProgram<Tokens>>(Tokens{});
  RunOptions options = Asynchronously();
  options.max_rounds = 2;
  const auto cut = session.Prepare(program, options);
  EXPECT_EQ(cut->Execute().ended, Ended::kMaxRounds);
  EXPECT_LE(TokensAfter(*cut, graph.vertices()), TokensBefore(graph.vertices())) << "some are on the way";
  std::stop_source stop;
  stop.request_stop();
  options.max_rounds = 0;
  options.stop = stop.get_token();
  EXPECT_EQ(session.Prepare(program, options)->Execute().ended, Ended::kStopped);
  const auto whole = session.Prepare(program, Asynchronously());
  whole->Execute();
  EXPECT_EQ(TokensAfter(*whole, graph.vertices()), TokensBefore(graph.vertices()));
}

}  // namespace chatty::test
