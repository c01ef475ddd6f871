// What happens when something goes wrong: typed errors, nothing leaked, the session as good as before.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "../core/test_memory.h"
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

/// kNextPhase without IsActive: a fault of the program that only shows when it runs.
struct Phaseless : Moody {
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
    EXPECT_THROW(chatty::Run(session, Phaseless{}), UsageError) << selection;
  }
  Session session(graph, "host:1");
  EXPECT_THROW(chatty::Run(session, Endless{}), UsageError);
}

// ------------------------------------------------------------------ out of memory ----

/// Host devices whose memory counts, and fails on demand.
class Exhausted {
 public:
  Exhausted(const Graph& graph, const char* selection) {
    auto devices = OpenDevices(ParseDevices(selection), 4);
    for (const auto& device : devices) {
      memory_.push_back(std::make_unique<CountingMemory>(device->memory()));
      device->set_memory(memory_.back().get());
    }
    session_ = std::make_unique<Session>(graph, std::move(devices), Options());
  }
  Session& session() { return *session_; }
  /// The n-th allocation from now on device d fails, and all that follow; 0: none.
  void FailAt(std::size_t d, std::uint64_t nth) {
    for (auto& memory : memory_) memory->FailAt(0);
    memory_[d]->FailAt(nth);
  }
  std::int64_t live() const {
    std::int64_t live = 0;
    for (const auto& memory : memory_) live += memory->live();
    return live;
  }
  std::size_t devices() const { return memory_.size(); }

 private:
  std::vector<std::unique_ptr<CountingMemory>> memory_;  // outlives the session's buffers
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
    // One job throughout: a run that failed while it made its boxes must not be the end of it.
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

/// Dawdles in UpdateStatus of one vertex, so that its device is late.
struct Slow : Moody {
  bool UpdateStatus(Value& value, Message m, Vertex v, const Round<>&) const {
    if (v.id == 1) std::this_thread::sleep_for(std::chrono::milliseconds(150));
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
  hasty.timeout = std::chrono::milliseconds(20);
  try {
    chatty::Run(session, Slow{}, hasty);
    FAIL() << "waited for ever";
  } catch (const TimeoutError& error) {
    EXPECT_NE(std::string(error.what()).find("20 ms"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("devices"), std::string::npos) << "says what for: " << error.what();
  }
  RunOptions patient;
  patient.timeout = std::chrono::milliseconds(20000);
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
  options.execution = "wishful";
  IsUsageError([&] { chatty::Run(session, Bfs{}, options); }, "wishful");
  IsUsageError([&] { chatty::Run(session, ConnectedComponents{}, options); }, "wishful");
  IsUsageError([&] { chatty::Run(session, BfsParents{}); }, "starts from another's values");
  // The session is as good as before.
  EXPECT_EQ(ToVector(chatty::Run(session, Bfs{}).values), (std::vector<std::uint32_t>{0, 1, 2, kInfinity<std::uint32_t>}));
}

// A program that is unsafe asynchronously is told so, and what to declare; one that is safe, that the engine is missing.
static_assert(AsynchronousProgram<Bfs> && AsynchronousProgram<LabelPropagation> && AsynchronousProgram<PageRankPush>);
static_assert(!AsynchronousProgram<PageRank> && !AsynchronousProgram<Collecting> &&
              !AsynchronousProgram<ConnectedComponents>);
TEST(Failure, AsynchronousRunsAreRefusedForTheRightReason) {
  const Graph graph = MakeSymmetric(4, {{0, 1}, {1, 2}});
  Session session(graph, "host:2");
  RunOptions options;
  options.execution = "async";
  IsUsageError([&] { chatty::Run(session, Bfs{}, options); }, "there is no asynchronous engine in this version");
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
  void* AllocatePinned(std::size_t bytes) override { return host_->AllocatePinned(bytes); }
  void FreePinned(void* pointer) noexcept override { host_->FreePinned(pointer); }

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
