// Options, programs, priors and devices that make no sense: each refused with a reason.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../prebuilt_programs.h"
#include "chatty/core/memory_resources.h"
#include "chatty/framework/operators/operator_program.h"
#include "chatty/framework/operators/sequence.h"
#include "chatty/framework/run.h"
#include "chatty/programs/cc.h"
#include "chatty/programs/pagerank_push.h"
#include "chatty/programs/reference.h"
#include "failure_fixture.h"
#include "test_inputs.h"

namespace chatty::test {
namespace {

/// Pulled only.
struct Collecting {
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = Reduction::kCount;
  static constexpr auto kSafety = Safety::kSynchronous;
  Value InitVertex(Vertex) const { return 0; }
  Message ComputeScatter(const Value& value, Edge<>, const Round<>&) const { return value; }
  bool UpdateStatus(Value& value, Counts<Message> all, Vertex, const Round<>&) const {
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
  options.comm.data = "carrier-pigeon";
  IsUsageError([&] { chatty::Run(session, Bfs{}, options); }, "carrier-pigeon");
  options = {};
  options.comm.data = "p2p-copy";
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
