// Runs that are asked to stop: all devices leave after the same round, and the result says why.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "../prebuilt_programs.h"
#include "chatty/framework/operators/operator_program.h"
#include "chatty/framework/operators/sequence.h"
#include "chatty/framework/run.h"
#include "chatty/programs/cc.h"
#include "chatty/programs/reference.h"
#include "failure_fixture.h"
#include "test_inputs.h"

namespace chatty::test {
namespace {

/// Never done, and asks for a stop itself in a round of its choice.
std::stop_source g_stop;
std::atomic<std::uint32_t> g_stop_in_round{0}, g_rounds_seen{0};
struct Restless {
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = Reduction::kSum;
  static constexpr auto kSafety = Safety::kSynchronous;
  Value InitVertex(Vertex) const { return 0; }
  Message ComputeScatter(const Value&, Edge<>, const Round<>&) const { return 0; }
  bool UpdateStatus(Value& value, Message, Vertex v, const Round<>& round) const {
    if (v.id == 0) g_rounds_seen = round.index + 1;  // on whichever device owns it
    if (v.id == 0 && round.index == g_stop_in_round) g_stop.request_stop();
    value = round.index + 1;
    return true;
  }
  Next EndRound(Round<>&) const { return Next::kContinue; }
};

TEST(Stopping, AllDevicesLeaveAfterTheSameRound) {
  const Graph graph = MadeGraph();
  for (const char* selection : kSelections) {
    Session session(graph, selection, Options());
    for (const std::uint32_t round : {0u, 1u, 5u, 40u}) {
      SCOPED_TRACE(std::string(selection) + ", round " + std::to_string(round));
      g_stop = std::stop_source();
      g_stop_in_round = round;
      RunOptions options;
      options.stop = g_stop.get_token();
      options.timeout = std::chrono::seconds(30);
      const auto result = chatty::Run(session, Restless{}, options);
      EXPECT_FALSE(result.statistics.converged);
      EXPECT_EQ(result.statistics.ended, Ended::kStopped);
      // The first device looks at each round's end: it may have looked before another device asked in the same round.
      EXPECT_GE(result.statistics.rounds, round + 1);
      EXPECT_LE(result.statistics.rounds, round + 2);
      EXPECT_EQ(result.round.index, result.statistics.rounds);
      for (VertexId v = 0; v < graph.vertices(); ++v) {
        ASSERT_EQ(result.values[v], graph.out_degree(v) > 0 ? result.statistics.rounds : 0) << v;
      }
    }
  }
}

TEST(Stopping, BeforeTheFirstRoundAndAgain) {
  const Graph graph = MadeGraph();
  std::stop_source stop;
  RunOptions options;
  options.stop = stop.get_token();
  stop.request_stop();
  for (const char* selection : {"host:1", "host:3"}) {
    Session session(graph, selection, Options());
    const auto stopped = chatty::Run(session, Moody{}, options);
    EXPECT_EQ(stopped.statistics.ended, Ended::kStopped);
    EXPECT_EQ(stopped.statistics.rounds, 0u);
    for (VertexId v = 0; v < graph.vertices(); ++v) ASSERT_EQ(stopped.values[v], v) << "as InitVertex left it";
    const auto whole = chatty::Run(session, Moody{});
    EXPECT_EQ(whole.statistics.ended, Ended::kConverged);
    const std::vector<VertexId> expected = ToVector(SerialComponents(graph));
    EXPECT_EQ(ToVector(whole.values), std::vector<std::uint32_t>(expected.begin(), expected.end()));
  }
}

TEST(Stopping, FromAnotherThread) {
  const Graph graph = MadeGraph();
  Session session(graph, "host:3", Options());
  std::stop_source stop;
  RunOptions options;
  options.stop = stop.get_token();
  g_stop_in_round = ~0u;
  g_rounds_seen = 0;
  std::thread other([&] {  // preparing may take any time: not before the run has begun
    while (g_rounds_seen < 3) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    stop.request_stop();
  });
  const auto result = chatty::Run(session, Restless{}, options);
  other.join();
  EXPECT_EQ(result.statistics.ended, Ended::kStopped);
  EXPECT_GE(result.statistics.rounds, 3u);
  for (VertexId v = 0; v < graph.vertices(); ++v) {
    ASSERT_EQ(result.values[v], graph.out_degree(v) > 0 ? result.statistics.rounds : 0) << v;
  }
}

TEST(Stopping, AStopThatComesWithTheEndIsNone) {
  const Graph graph = MakeSymmetric(0, {});
  std::stop_source stop;
  stop.request_stop();
  RunOptions options;
  options.stop = stop.get_token();
  Session session(graph, "host:2");
  EXPECT_EQ(chatty::Run(session, Moody{}, options).statistics.ended, Ended::kConverged) << "there was nothing to do";
}

/// Phases without an active vertex, until the program stops.
struct Waiting : Moody {
  bool IsActive(const Value&, const Round<>&) const { return false; }
  Next EndRound(Round<>& round) const {
    if (round.phase == 100) g_stop.request_stop();
    return Next::kNextPhase;
  }
};

TEST(Stopping, BetweenPhasesInWhichNobodyStarts) {
  const Graph graph = MakeSymmetric(4, {{0, 1}, {1, 2}});
  for (const char* selection : {"host:1", "host:2"}) {
    Session session(graph, selection);
    g_stop = std::stop_source();
    RunOptions options;
    options.stop = g_stop.get_token();
    const auto result = chatty::Run(session, Waiting{}, options);
    EXPECT_EQ(result.statistics.ended, Ended::kStopped);
    EXPECT_EQ(result.statistics.phases, 102u);
  }
}

TEST(Stopping, OperatorProgramsAndSequences) {
  std::stop_source stop;
  stop.request_stop();
  RunOptions options;
  options.stop = stop.get_token();
  for (const bool symmetric : {false, true}) {
    const Graph graph = HubGraph(54, 1500, WeightKind::kNone, symmetric);
    const std::vector<VertexId> final = ToVector(SerialComponents(graph));
    for (const char* selection : kSelections) {
      SCOPED_TRACE(selection);
      Session session(graph, selection, Options());
      const auto stopped = chatty::Run(session, ConnectedComponents{}, options);
      EXPECT_EQ(stopped.statistics.ended, Ended::kStopped);
      EXPECT_FALSE(stopped.statistics.converged);
      // On a symmetric graph the two links a vertex that come first may be all that it takes.
      EXPECT_TRUE(symmetric || ToVector(stopped.values) != final) << "it was not stopped";
      for (VertexId v = 0; v < graph.vertices(); ++v) {  // parts of components: a label is a vertex of the same one
        ASSERT_EQ(final[stopped.values[v]], final[v]) << v;
      }
      const auto whole = chatty::Run(session, ConnectedComponents{});
      EXPECT_EQ(whole.statistics.ended, Ended::kConverged);
      EXPECT_EQ(ToVector(whole.values), final);

      Sequence sequence(session, options);
      sequence.Then(Bfs{}).Then(BfsParents{});
      EXPECT_EQ(sequence.statistics().ended, Ended::kStopped);
      EXPECT_FALSE(sequence.statistics().converged);
      EXPECT_EQ(sequence.statistics().rounds, 0u);
      EXPECT_EQ(sequence.Output<BfsParents>().size(), graph.vertices());
    }
  }
}

}  // namespace
}  // namespace chatty::test
