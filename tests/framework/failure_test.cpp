// What happens when something goes wrong: typed errors, nothing leaked, the session as good as before.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "../core/waits.h"
#include "chatty/core/memory_resources.h"
#include "chatty/framework/operators/operator_program.h"
#include "chatty/framework/operators/sequence.h"
#include "chatty/framework/registry.h"
#include "chatty/framework/run.h"
#include "chatty/io/generators.h"
#include "chatty/programs/bfs.h"
#include "chatty/programs/cc.h"
#include "chatty/programs/label_propagation.h"
#include "chatty/programs/pagerank.h"
#include "chatty/programs/pagerank_push.h"
#include "chatty/programs/reference.h"
#include "chatty/programs/sssp.h"
#include "test_inputs.h"

namespace chatty::test {
namespace {

constexpr const char* kSelections[] = {"host:1", "host:2", "host:3", "host:8"};

SessionOptions Options() {
  SessionOptions options;
  options.partition = "random";
  options.threads = 6;
  return options;
}

Graph MadeGraph() { return HubGraph(51, 1500, WeightKind::kInt32, true); }

/// Spreads least ids, and throws where and when it is told to. Programs hold plain data: the switch is outside.
std::atomic<std::int64_t> g_updates_until_throw{-1};
std::atomic<std::int64_t> g_rounds_until_throw{-1};
struct Moody {
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = Reduction::kMin;
  static constexpr auto kSafety = Safety::kMonotone;
  Value InitVertex(Vertex v) const { return static_cast<Value>(v.id); }
  Message ComputeScatter(const Value& value, Edge<>, const Round<>&) const { return value; }
  bool UpdateStatus(Value& value, Message m, Vertex, const Round<>&) const {
    if (g_updates_until_throw >= 0 && g_updates_until_throw-- == 0) throw std::runtime_error("UpdateStatus is in a mood");
    if (m >= value) return false;
    value = m;
    return true;
  }
  Next EndRound(Round<>&) const {
    if (g_rounds_until_throw >= 0 && g_rounds_until_throw-- == 0) throw std::runtime_error("EndRound is in a mood");
    return Next::kContinue;
  }
};

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

// ------------------------------------------------- what a failed run leaves behind ----

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

    // Half way through the values of a round: each vertex has one of that round or of the one before.
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

// -------------------------------------------------------------------------- stopping ----

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

/// Phases in which nobody starts, until it is stopped.
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
/// Phases for ever, in which nobody starts.
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

// ------------------------------------------------------------------ out of memory ----

/// Host devices whose memory counts, and fails on demand.
class Exhausted {
 public:
  Exhausted(const Graph& graph, const char* selection, const SessionOptions& options = Options()) {
    auto devices = OpenDevices(ParseDevices(selection), 4);
    for (const auto& device : devices) {
      memory_.push_back(std::make_unique<Memory>(device->memory()));
      device->set_memory(&memory_.back()->failing);
    }
    session_ = std::make_unique<Session>(graph, std::move(devices), options);
  }
  Session& session() { return *session_; }
  /// The n-th allocation from now on device d fails, and all that follow; 0: none.
  void FailAt(std::size_t d, std::uint64_t nth) {
    for (auto& memory : memory_) memory->failing.FailAt(0);
    memory_[d]->failing.FailAt(nth);
  }
  std::int64_t live() const {
    std::int64_t live = 0;
    for (const auto& memory : memory_) live += memory->counting.live();
    return live;
  }
  std::size_t devices() const { return memory_.size(); }

 private:
  struct Memory {
    explicit Memory(MemoryResource& upstream) : counting(upstream), failing(counting) {}
    CountingMemory counting;
    FailingMemory failing;
  };
  std::vector<std::unique_ptr<Memory>> memory_;  // outlives the session's buffers
  std::unique_ptr<Session> session_;
};

/// Calls `attempt` with ever later failures until one gets through. Every failure has to be an OutOfMemoryError that leaves
/// no more alive than `attempt` keeps on purpose.
void FailEverywhere(Exhausted& exhausted, const std::function<void()>& attempt) {
  for (std::size_t d = 0; d < exhausted.devices(); ++d) {
    bool failed = true;
    int failures = 0;
    for (std::uint64_t nth = 1; failed; ++nth) {
      ASSERT_LT(nth, 1000u) << "never succeeds";
      const std::int64_t before = exhausted.live();
      exhausted.FailAt(d, nth);
      failed = false;
      try {
        attempt();
      } catch (const OutOfMemoryError&) {
        failed = true;
        ++failures;
      }
      exhausted.FailAt(d, 0);
      ASSERT_EQ(exhausted.live(), before) << "failure " << nth << " of device " << d << " leaks";
    }
    EXPECT_GT(failures, 3) << "device " << d << " was hardly asked for memory";
  }
}

TEST(Failure, MemoryRunsOutAnywhereInPrepare) {
  const Graph graph = MadeGraph();
  const Array<std::uint32_t> expected = SerialSssp<std::uint32_t>(graph, 0);
  for (const char* selection : {"host:1", "host:3"}) {
    SCOPED_TRACE(selection);
    Exhausted exhausted(graph, selection);
    {  // graphs are kept by the session: fail while they are made, then have them
      std::int64_t kept = -1;
      for (std::uint64_t nth = 1; kept < 0; ++nth) {
        exhausted.FailAt(exhausted.devices() - 1, nth);
        try {
          exhausted.session().Graphs(Edges::kOut, WeightKind::kInt32, true, true);
          kept = exhausted.live();
        } catch (const OutOfMemoryError&) {
          ASSERT_EQ(exhausted.live(), 0) << "half a graph is left";
        }
        ASSERT_LT(nth, 1000u);
      }
      EXPECT_GT(kept, 0);
    }
    FailEverywhere(exhausted, [&] {
      SsspOf<std::int32_t> sssp;
      const auto result = chatty::Run(exhausted.session(), sssp);
      EXPECT_EQ(ToVector(result.values), ToVector(expected));
    });
  }
}

TEST(Failure, MemoryRunsOutInAnOperatorProgram) {
  const Graph graph = MadeGraph();
  const std::vector<VertexId> expected = ToVector(SerialComponents(graph));
  for (const char* selection : {"host:1", "host:2", "host:3"}) {
    SCOPED_TRACE(selection);
    Exhausted exhausted(graph, selection);
    exhausted.session().Graphs(Edges::kOut, WeightKind::kNone, true, false);
    // One job throughout: a run that failed while it made its buffers must not be the end of it.
    OperatorJob<ConnectedComponents> job(exhausted.session(), ConnectedComponents{}, {});
    std::vector<VertexId> output(graph.vertices());
    for (std::size_t d = 0; d < exhausted.devices(); ++d) {
      for (std::uint64_t nth = 1; nth <= 12; ++nth) {
        exhausted.FailAt(d, nth);
        try {
          job.Execute();
        } catch (const OutOfMemoryError&) {
        }
        exhausted.FailAt(d, 0);
        if (nth % 4 == 0) {
          job.Execute();
          job.CopyOutput(reinterpret_cast<std::byte*>(output.data()));
          ASSERT_EQ(output, expected) << "device " << d << ", allocation " << nth;
        }
      }
    }
  }
}

TEST(Failure, MemoryRunsOutWhileOwnBeginsAreAdded) {
  const Graph graph = RandomGraph(3, 500, 6.0, WeightKind::kNone, true);
  SessionOptions options = Options();
  options.partition = "contiguous";
  Exhausted exhausted(graph, "host:3", options);
  const PreparedGraphs& graphs = exhausted.session().Graphs(Edges::kOut, WeightKind::kNone, true, true);
  const std::int64_t before = exhausted.live();
  for (const std::size_t d : {1, 2}) {  // rows of the first device begin with what it owns
    exhausted.FailAt(d, 1);
    EXPECT_THROW(chatty::Run(exhausted.session(), ConnectedComponents{}), OutOfMemoryError) << "device " << d;
    exhausted.FailAt(d, 0);
    EXPECT_TRUE(graphs.devices[d]->LacksOwnBegins());
    EXPECT_EQ(exhausted.live() - before, d == 1 ? 0 : 1) << "only what a device before had added is kept";
  }
  const auto result = chatty::Run(exhausted.session(), ConnectedComponents{});
  EXPECT_EQ(ToVector(result.values), ToVector(SerialComponents(graph)));
}

TEST(Failure, AnotherJobRunsOnWhileOneCannotBePrepared) {
  const Graph graph = MadeGraph();
  Exhausted exhausted(graph, "host:2");
  const auto job = exhausted.session().Prepare(std::make_shared<TypedProgram<Bfs>>(Bfs{}));
  job->Execute();
  exhausted.FailAt(1, 1);
  EXPECT_THROW(exhausted.session().Prepare(std::make_shared<TypedProgram<Bfs>>(Bfs{})), OutOfMemoryError);
  job->Execute();  // runs allocate nothing
  std::vector<std::uint32_t> output(graph.vertices());
  job->CopyOutput(reinterpret_cast<std::byte*>(output.data()));
  EXPECT_EQ(output, ToVector(SerialBfs(graph, 0)));
}

// ------------------------------------------------------------------------ deadlines ----

constexpr std::chrono::seconds kHasty{60};  // of a deadline that nobody misses on a busy machine
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

// ------------------------------------------------------------------ what makes no sense ----

/// Pulled only.
struct Collecting {
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = Reduction::kCollect;
  static constexpr auto kSafety = Safety::kSynchronous;
  Value InitVertex(Vertex) const { return 0; }
  Message ComputeScatter(const Value& value, Edge<>, const Round<>&) const { return value; }
  bool UpdateStatus(Value& value, Messages<Message> all, Vertex, const Round<>&) const {
    value = static_cast<Value>(all.size());
    return false;
  }
};

void IsUsageError(const std::function<void()>& attempt, const char* says) {
  try {
    attempt();
    ADD_FAILURE() << "was accepted: " << says;
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
  }
}

TEST(Failure, OptionsThatMakeNoSense) {
  const Graph graph = MakeSymmetric(4, {{0, 1}, {1, 2}});
  Session session(graph, "host:2");
  RunOptions options;
  options.direction = Direction::kPush;
  IsUsageError([&] { chatty::Run(session, Collecting{}, options); }, "push");
  options = {};
  options.transport = "carrier-pigeon";
  IsUsageError([&] { chatty::Run(session, Bfs{}, options); }, "carrier-pigeon");
  options = {};
  options.transport = "p2p-copy";
  EXPECT_THROW(chatty::Run(session, Bfs{}, options), UsageError) << "host devices are no peers";
  options = {};
  IsUsageError([] { ParseExecution("wishful"); }, "wishful");
  IsUsageError([] { ParseExecution("asinc"); }, "did you mean 'async'");
  IsUsageError([&] { chatty::Run(session, BfsParents{}); }, "starts from another's values");
  // The session is as good as before.
  EXPECT_EQ(ToVector(chatty::Run(session, Bfs{}).values), (std::vector<std::uint32_t>{0, 1, 2, kInfinity<std::uint32_t>}));
}

/// Breadth-first search as far as two hops.
struct TwoHops : Bfs {
  Next EndRound(Round<>& round) const { return round.index >= 2 ? Next::kLimit : Next::kContinue; }
};
TEST(Stopping, AProgramsOwnLimitIsNoConvergence) {
  const Graph graph = MakeSymmetric(5, {{0, 1}, {1, 2}, {2, 3}, {3, 4}});
  for (const char* devices : {"host:1", "host:3"}) {
    const auto result = chatty::Run(graph, TwoHops{}, devices);
    EXPECT_EQ(result.statistics.ended, Ended::kLimit);
    EXPECT_FALSE(result.statistics.converged);
    EXPECT_EQ(result.statistics.rounds, 2u);
    EXPECT_EQ(ToVector(result.values),
              (std::vector<std::uint32_t>{0, 1, 2, kInfinity<std::uint32_t>, kInfinity<std::uint32_t>}));
  }
}

/// Refuses what it is told, and says that its answer did not fit.
struct Choosy : Bfs {
  std::uint32_t limit = 1;
  void CheckInput() const {
    if (limit == 0) throw UsageError("limit is 0");
  }
  void CheckInput(const Graph& graph) const {
    if (graph.vertices() > 4) throw UsageError("more than four vertices");
  }
  static void CheckOutput(std::span<const std::uint32_t> levels) {
    if (levels[2] == 2) throw CapabilityError("2 does not fit");
  }
};
TEST(Failure, ProgramsRefuseInputsAndOutputs) {
  const Graph graph = MakeSymmetric(4, {{0, 1}, {1, 2}});
  Choosy program;
  program.limit = 0;
  IsUsageError([&] { chatty::Run(graph, program); }, "limit is 0");
  program.limit = 1;
  EXPECT_THROW(chatty::Run(graph, program), CapabilityError);
  program.source = 4;
  IsUsageError([&] { chatty::Run(graph, program); }, "source 4 is not a vertex");
  program.source = 3;
  EXPECT_EQ(chatty::Run(graph, program, "host:2").values[3], 0);
  IsUsageError([&] { chatty::Run(MakeSymmetric(5, {{0, 1}}), program); }, "more than four vertices");
}

// A program that is unsafe asynchronously is told so, and what to declare.
static_assert(AsynchronousProgram<Bfs> && AsynchronousProgram<LabelPropagation> && AsynchronousProgram<PageRankPush>);
static_assert(!AsynchronousProgram<PageRank> && !AsynchronousProgram<Collecting> &&
              !AsynchronousProgram<ConnectedComponents>);
TEST(Failure, AsynchronousRunsAreRefusedForTheRightReason) {
  const Graph graph = MakeSymmetric(4, {{0, 1}, {1, 2}});
  Session session(graph, "host:2");
  RunOptions options;
  options.execution = Execution::kAsync;
  EXPECT_EQ(chatty::Run(session, Bfs{}, options).statistics.execution, "async");
  IsUsageError([&] { chatty::Run(session, TwoHops{}, options); }, "decides after each round");
  IsUsageError([&] { chatty::Run(session, Collecting{}, options); }, "is kSynchronous, so it cannot run asynchronously");
  IsUsageError([&] { chatty::Run(session, Collecting{}, options); }, "declare kSafety = kMonotone");
  IsUsageError([&] { chatty::Run(session, ConnectedComponents{}, options); }, "written on operators");
  EXPECT_FALSE(TypedProgram<PageRank>(PageRank{}).traits().asynchronous);
  EXPECT_TRUE(TypedProgram<Bfs>(Bfs{}).traits().asynchronous);
}

TEST(Failure, PriorsOfTheWrongKind) {
  const Graph graph = MakeSymmetric(4, {{0, 1}, {1, 2}});
  Session session(graph, "host:2"), other(graph, "host:2");
  const auto parents = session.Prepare(std::make_shared<TypedProgram<BfsParents>>(BfsParents{}));
  const auto elsewhere = other.Prepare(std::make_shared<TypedProgram<Bfs>>(Bfs{}));
  elsewhere->Execute();
  EXPECT_THROW(parents->Execute(), UsageError);
  EXPECT_THROW(parents->Execute(elsewhere.get()), UsageError) << "another session's devices";
  const auto ranks = session.Prepare(std::make_shared<TypedProgram<PageRank>>(PageRank{}));
  EXPECT_THROW(parents->Execute(ranks.get()), UsageError) << "values of another size";
  Sequence sequence(session);
  EXPECT_THROW(sequence.Then(BfsParents{}), UsageError);
  sequence.Then(Bfs{}).Then(BfsParents{});
  EXPECT_EQ(ToVector(sequence.Output<BfsParents>()), ToVector(SerialBfsParents(graph, 0)));
}

TEST(Failure, SessionsThatMakeNoSense) {
  const Graph graph = MakeSymmetric(4, {{0, 1}, {1, 2}});
  EXPECT_THROW(Session(graph, std::vector<std::unique_ptr<Device>>()), UsageError);
  SessionOptions options;
  options.partition = "by colour";
  EXPECT_THROW(Session(graph, "host:2", options), UsageError);
  EXPECT_THROW(Session(graph, "host:0"), UsageError);
  std::vector<std::unique_ptr<Device>> many;
  for (int i = 0; i <= kMaxDevices; ++i) many.push_back(MakeHostDevice(i, 1));
  EXPECT_THROW(Session(graph, std::move(many)), UsageError);
}

/// A GPU in name only: sessions ask for a device's kind before anything else.
class PaperGpu final : public Device {
 public:
  PaperGpu() : host_(MakeHostDevice(7, 1)) {}
  DeviceKind kind() const override { return DeviceKind::kCuda; }
  int index() const override { return host_->index(); }
  const DeviceInfo& info() const override { return host_->info(); }
  MemoryResource& memory() override { return host_->memory(); }
  void set_memory(MemoryResource* resource) override { host_->set_memory(resource); }
  void MakeCurrent() override {}
  Stream& stream() override { return host_->stream(); }
  std::unique_ptr<Stream> NewStream() override { return host_->NewStream(); }
  std::unique_ptr<Event> NewEvent() override { return host_->NewEvent(); }
  void CopyIn(void* to, const void* from, std::size_t bytes, Stream& stream) override {
    host_->CopyIn(to, from, bytes, stream);
  }
  void CopyOut(void* to, const void* from, std::size_t bytes, Stream& stream) override {
    host_->CopyOut(to, from, bytes, stream);
  }
  void CopyWithin(void* to, const void* from, std::size_t bytes, Stream& stream) override {
    host_->CopyWithin(to, from, bytes, stream);
  }
  void Fill(void* to, std::uint8_t byte, std::size_t bytes, Stream& stream) override {
    host_->Fill(to, byte, bytes, stream);
  }
  MemoryResource& pinned_memory() override { return host_->pinned_memory(); }
  void set_pinned_memory(MemoryResource* resource) override { host_->set_pinned_memory(resource); }

 private:
  std::unique_ptr<Device> host_;
};

TEST(Failure, DevicesOfTwoKindsDoNotMix) {
  const Graph graph = MakeSymmetric(4, {{0, 1}, {1, 2}});
  std::vector<std::unique_ptr<Device>> mixed;
  mixed.push_back(MakeHostDevice(0, 1));
  mixed.push_back(std::make_unique<PaperGpu>());
  IsUsageError([&] { Session(graph, std::move(mixed)); }, "mixture");
}

TEST(Failure, AProgramCompiledForTheHostIsRefusedByAGpu) {
  const Graph graph = MakeSymmetric(4, {{0, 1}, {1, 2}});
  std::vector<std::unique_ptr<Device>> paper;
  paper.push_back(std::make_unique<PaperGpu>());
  Session session(graph, std::move(paper));
  EXPECT_THROW(chatty::Run(session, Bfs{}), CapabilityError);
}

}  // namespace
}  // namespace chatty::test
