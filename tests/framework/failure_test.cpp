// What happens when something goes wrong: typed errors, nothing leaked, the session as good as before.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "../core/waits.h"
#include "../prebuilt_programs.h"
#include "chatty/framework/operators/operator_program.h"
#include "chatty/framework/run.h"
#include "chatty/programs/reference.h"
#include "failure_fixture.h"
#include "test_inputs.h"

namespace chatty::test {
namespace {

TEST(Failure, EndRoundThrows) {
  const Graph graph = MadeGraph();
  const std::vector<VertexId> expected = ToVector(SerialComponents(graph));
  for (const char* selection : kSelections) {
    SCOPED_TRACE(selection);
    Session session(graph, selection, Options());
    const auto job = session.Prepare(std::make_shared<TypedProgram<Moody>>(Moody{}));
    for (const int round : {0, 1, 2}) {
      g_rounds_until_throw = round;
      try {
        job->Execute();
        FAIL() << "round " << round << " did not throw";
      } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "EndRound is in a mood") << "the cause, not another device's consequence";
      }
      g_rounds_until_throw = -1;
      job->Execute();  // the same job, after the failure
      std::vector<std::uint32_t> output(graph.vertices());
      job->CopyOutput(reinterpret_cast<std::byte*>(output.data()));
      ASSERT_EQ(output, std::vector<std::uint32_t>(expected.begin(), expected.end()));
    }
  }
}

TEST(Failure, AVertexFunctionThrowsOnAnyThread) {
  const Graph graph = RandomGraph(52, 20000, 2.0, WeightKind::kNone, true);  // enough for every step to take all threads
  const std::vector<VertexId> expected = ToVector(SerialComponents(graph));
  for (const char* selection : {"host:1", "host:2"}) {
    for (const Direction direction : {Direction::kPush, Direction::kPull, Direction::kAuto}) {
      SCOPED_TRACE(std::string(selection) + ", direction " + std::to_string(static_cast<int>(direction)));
      Session session(graph, selection, Options());
      RunOptions options;
      options.direction = direction;
      const auto job = session.Prepare(std::make_shared<TypedProgram<Moody>>(Moody{}), options);
      for (const int update : {0, 1, 7000, 14000}) {
        g_updates_until_throw = update;
        EXPECT_THROW(job->Execute(), std::runtime_error) << update;
        g_updates_until_throw = -1;
        job->Execute();
        std::vector<std::uint32_t> output(graph.vertices());
        job->CopyOutput(reinterpret_cast<std::byte*>(output.data()));
        ASSERT_EQ(output, std::vector<std::uint32_t>(expected.begin(), expected.end()))
            << "after a failure at update " << update;
      }
    }
  }
}

/// Which function of Faulty throws, once it has been called so often.
enum class Where { kNowhere, kInit, kScatter, kUpdate, kMeasure, kCombine, kEndRound, kOutput };
std::atomic<Where> g_where{Where::kNowhere};
std::atomic<std::int64_t> g_calls_until_throw{0};
std::atomic<bool> g_throw_bad_alloc{false};

/// Spreads least ids and counts what changes; any of its functions may throw.
struct Faulty {
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  struct Global {
    std::uint64_t sum = 0;
  };
  static constexpr auto kReduction = Reduction::kMin;
  static constexpr auto kSafety = Safety::kMonotone;
  static void Maybe(Where where) {
    if (g_where != where || g_calls_until_throw-- != 0) return;
    if (g_throw_bad_alloc) throw std::bad_alloc();
    throw std::runtime_error("this program is faulty");
  }
  Value InitVertex(Vertex v) const {
    Maybe(Where::kInit);
    return static_cast<Value>(v.id);
  }
  Message ComputeScatter(const Value& value, Edge<>, const Round<Global>&) const {
    Maybe(Where::kScatter);
    return value;
  }
  bool UpdateStatus(Value& value, Message m, Vertex, const Round<Global>&) const {
    Maybe(Where::kUpdate);
    if (m >= value) return false;
    value = m;
    return true;
  }
  Global Measure(const Value& value, Vertex) const {
    Maybe(Where::kMeasure);
    return {value};
  }
  static Global Combine(const Global& a, const Global& b) {
    Maybe(Where::kCombine);
    return {a.sum + b.sum};
  }
  Next EndRound(Round<Global>&) const {
    Maybe(Where::kEndRound);
    return Next::kContinue;
  }
  std::uint32_t Output(const Value& value) const {
    Maybe(Where::kOutput);
    return value;
  }
};

TEST(Failure, AnyFunctionThatThrowsEndsTheRunWithItsException) {
  const Graph graph = RandomGraph(53, 6000, 2.0, WeightKind::kNone, true);
  const std::vector<VertexId> expected = ToVector(SerialComponents(graph));
  std::vector<std::uint32_t> output(graph.vertices());
  auto* const bytes = reinterpret_cast<std::byte*>(output.data());
  for (const char* selection : {"host:1", "host:3"}) {
    Session session(graph, selection, Options());
    const auto job = session.Prepare(std::make_shared<TypedProgram<Faulty>>(Faulty{}));
    EXPECT_THROW(job->CopyOutput(bytes), UsageError) << "nothing was executed";
    EXPECT_THROW(job->CopyValues(bytes), UsageError) << "nothing was executed";
    for (const Where where :
         {Where::kInit, Where::kScatter, Where::kUpdate, Where::kMeasure, Where::kCombine, Where::kEndRound}) {
      for (const bool bad_alloc : {false, true}) {
        for (const int calls : {0, 3, 9000}) {
          SCOPED_TRACE(std::string(selection) + ", function " + std::to_string(static_cast<int>(where)) + ", call " +
                       std::to_string(calls));
          g_throw_bad_alloc = bad_alloc;
          g_calls_until_throw = calls;
          g_where = where;
          bool threw = false;
          try {
            job->Execute();
          } catch (const OutOfMemoryError& error) {
            threw = true;
            EXPECT_TRUE(bad_alloc) << error.what();
            EXPECT_NE(std::string(error.what()).find("running a program"), std::string::npos) << error.what();
          } catch (const std::runtime_error& error) {
            threw = true;
            EXPECT_STREQ(error.what(), "this program is faulty");
            EXPECT_FALSE(bad_alloc);
          }
          g_where = Where::kNowhere;
          EXPECT_TRUE(threw || calls == 9000);
          EXPECT_EQ(job->statistics().ended, threw ? Ended::kFailed : Ended::kConverged);
          EXPECT_EQ(job->statistics().converged, !threw);
          if (threw) {
            EXPECT_THROW(job->CopyOutput(bytes), UsageError) << "values of no one round are no answer";
          }
          const RunStatistics again = job->Execute();
          EXPECT_EQ(again.ended, Ended::kConverged);
          job->CopyOutput(bytes);
          ASSERT_EQ(output, std::vector<std::uint32_t>(expected.begin(), expected.end()));
        }
      }
    }
    g_calls_until_throw = 5;
    g_throw_bad_alloc = false;
    g_where = Where::kOutput;
    EXPECT_THROW(job->CopyOutput(bytes), std::runtime_error);
    g_where = Where::kNowhere;
    job->CopyOutput(bytes);
    ASSERT_EQ(output, std::vector<std::uint32_t>(expected.begin(), expected.end()));
  }
}

TEST(Failure, AFailedRunTellsWhatItDid) {
  std::vector<TestEdge> path;
  for (std::uint64_t v = 1; v < 40; ++v) path.push_back({v - 1, v});
  const Graph graph = MakeSymmetric(40, path);
  std::vector<std::uint32_t> values(graph.vertices());
  auto* const bytes = reinterpret_cast<std::byte*>(values.data());
  for (const char* selection : {"host:1", "host:3"}) {
    SCOPED_TRACE(selection);
    SessionOptions options;
    options.partition = "contiguous";
    Session session(graph, selection, options);
    const auto job = session.Prepare(std::make_shared<TypedProgram<Moody>>(Moody{}));
    RunOptions limited;
    limited.max_rounds = 7;
    const auto shorter = session.Prepare(std::make_shared<TypedProgram<Moody>>(Moody{}), limited);
    const RunStatistics seven = shorter->Execute();
    std::vector<std::uint32_t> after_seven(graph.vertices());
    shorter->CopyValues(reinterpret_cast<std::byte*>(after_seven.data()));
    EXPECT_EQ(seven.ended, Ended::kMaxRounds);

    g_rounds_until_throw = 6;  // EndRound after the 7th round, when all values are in
    EXPECT_THROW(job->Execute(), std::runtime_error);
    g_rounds_until_throw = -1;
    const RunStatistics& told = job->statistics();
    EXPECT_EQ(told.ended, Ended::kFailed);
    EXPECT_FALSE(told.converged);
    EXPECT_EQ(told.rounds, 7u);
    EXPECT_EQ(job->round().index, 7u);
    EXPECT_EQ(told.edges_touched, seven.edges_touched);
    EXPECT_EQ(told.vertices_updated, seven.vertices_updated);
    EXPECT_EQ(told.push_rounds + told.pull_rounds, 7u);
    EXPECT_EQ(told.devices.size(), session.device_count());
    EXPECT_EQ(told.pairs.size(), seven.pairs.size());
    EXPECT_GT(told.time_ms, 0.0);
    job->CopyValues(bytes);
    EXPECT_EQ(values, after_seven);
    EXPECT_THROW(job->CopyOutput(bytes), UsageError);

    // In the middle of a round's updates: each vertex has the value of that round or of the previous one.
    g_updates_until_throw = 300;
    EXPECT_THROW(job->Execute(), std::runtime_error);
    g_updates_until_throw = -1;
    EXPECT_GT(job->statistics().rounds, 2u);
    EXPECT_LT(job->statistics().rounds, 39u);
    job->CopyValues(bytes);
    for (VertexId v = 0; v < graph.vertices(); ++v) {
      EXPECT_LE(values[v], v);
      const std::uint32_t least = v > job->statistics().rounds + 1 ? v - job->statistics().rounds - 1 : 0;
      EXPECT_GE(values[v], least);
    }
    // Before there is anything.
    g_where = Where::kInit;
    g_calls_until_throw = 3;
    const auto never = session.Prepare(std::make_shared<TypedProgram<Faulty>>(Faulty{}));
    EXPECT_THROW(never->Execute(), std::runtime_error);
    g_where = Where::kNowhere;
    EXPECT_EQ(never->statistics().rounds, 0u);
    EXPECT_THROW(never->CopyValues(bytes), UsageError);
  }
}

TEST(Failure, ValuesOfAFailedRunAreNoPrior) {
  const Graph graph = MakeSymmetric(4, {{0, 1}, {1, 2}});
  Session session(graph, "host:2");
  const auto levels = session.Prepare(std::make_shared<TypedProgram<Bfs>>(Bfs{}));
  const auto parents = session.Prepare(std::make_shared<TypedProgram<BfsParents>>(BfsParents{}));
  EXPECT_THROW(parents->Execute(levels.get()), UsageError) << "it has not been executed";
  levels->Execute();
  EXPECT_NO_THROW(parents->Execute(levels.get()));
}

/// An operator program that fails on one device while the others wait for it.
struct BrokenOperators {
  using Output = std::uint32_t;
  template <class Operators>
  void Run(Operators& ops, Output* out) const {
    ops.ForEachVertex([out](LocalId v) { out[v] = 1; });
    if (g_rounds_until_throw == 0 && ops.rank() == ops.devices() - 1) throw std::runtime_error("broken");
    ops.AllReduceSum(1.0);
  }
};

TEST(Failure, AnOperatorProgramThatThrows) {
  const Graph graph = MadeGraph();
  std::vector<std::uint32_t> output(graph.vertices());
  for (const char* selection : kSelections) {
    Session session(graph, selection, Options());
    OperatorJob<BrokenOperators> job(session, BrokenOperators{}, {});
    EXPECT_THROW(job.CopyOutput(reinterpret_cast<std::byte*>(output.data())), UsageError) << "nothing was executed";
    g_rounds_until_throw = 0;
    try {
      job.Execute();
      ADD_FAILURE() << "did not throw";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "broken");
    }
    g_rounds_until_throw = -1;
    EXPECT_EQ(job.statistics().ended, Ended::kFailed);
    EXPECT_EQ(job.statistics().devices.size(), session.device_count());
    EXPECT_THROW(job.CopyOutput(reinterpret_cast<std::byte*>(output.data())), UsageError);
    EXPECT_EQ(job.Execute().ended, Ended::kConverged);
    job.CopyOutput(reinterpret_cast<std::byte*>(output.data()));
    EXPECT_EQ(output, std::vector<std::uint32_t>(graph.vertices(), 1));
  }
}

/// kNextPhase without IsActive: a fault of the program that only shows when it runs.
struct MoodyOfOneKind : Moody {
  Next EndRound(Round<>&) const { return Next::kNextPhase; }
};
/// Endless phases without an active vertex.
struct Endless : Moody {
  bool IsActive(const Value&, const Round<>& round) const { return round.phase == 0; }
  Next EndRound(Round<>& round) const { return round.active == 0 ? Next::kNextPhase : Next::kContinue; }
};

TEST(Failure, ProgramsThatMisuseEndRound) {
  const Graph graph = MakeSymmetric(5, {{0, 1}, {1, 2}, {3, 4}});
  for (const char* selection : {"host:1", "host:2"}) {
    Session session(graph, selection);
    EXPECT_THROW(chatty::Run(session, MoodyOfOneKind{}), UsageError) << selection;
  }
  Session session(graph, "host:1");
  EXPECT_THROW(chatty::Run(session, Endless{}), UsageError);
}

constexpr std::chrono::seconds kHasty{60};  // a deadline that is never missed, even on a busy machine
/// Once, in UpdateStatus of one vertex, the deadline passes for the other device, which waits: the vertex' own is late.
std::atomic<bool> g_slow{true};
struct Slow : Moody {
  bool UpdateStatus(Value& value, Message m, Vertex v, const Round<>&) const {
    if (v.id == 1 && g_slow.exchange(false)) {
      EXPECT_TRUE(waits::AwaitQuiet());
      waits::Advance(2 * kHasty);
      for (const std::uint64_t looks = waits::Looks(); waits::Looks() == looks;) std::this_thread::yield();  // it was seen
    }
    if (m >= value) return false;
    value = m;
    return true;
  }
};

TEST(Failure, ADeviceThatIsLateIsATimeout) {
  const Graph graph = MakeSymmetric(4, {{0, 1}, {1, 2}, {2, 3}});
  SessionOptions options;
  options.partition = "contiguous";
  Session session(graph, "host:2", options);
  RunOptions hasty;
  hasty.timeout = kHasty;
  try {
    chatty::Run(session, Slow{}, hasty);
    FAIL() << "waited for ever";
  } catch (const TimeoutError& error) {
    EXPECT_NE(std::string(error.what()).find("60000 ms"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("devices"), std::string::npos) << "says what for: " << error.what();
  }
  // The job itself goes on as well, once its device has caught up: here on a vertex that has become quick.
  const auto job = session.Prepare(std::make_shared<TypedProgram<Slow>>(Slow{}), hasty);
  g_slow = true;
  EXPECT_THROW(job->Execute(), TimeoutError);
  EXPECT_EQ(job->statistics().ended, Ended::kFailed);
  g_slow = false;
  EXPECT_EQ(job->Execute().ended, Ended::kConverged);
  std::vector<std::uint32_t> output(graph.vertices());
  job->CopyOutput(reinterpret_cast<std::byte*>(output.data()));
  EXPECT_EQ(output, (std::vector<std::uint32_t>{0, 0, 0, 0}));
  g_slow = true;
  RunOptions patient;
  patient.timeout = 10 * kHasty;
  EXPECT_EQ(ToVector(chatty::Run(session, Slow{}, patient).values), (std::vector<std::uint32_t>{0, 0, 0, 0}));
}

}  // namespace
}  // namespace chatty::test
