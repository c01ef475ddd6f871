// Memory that runs out at every allocation in turn: an error each time, and nothing leaked.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "../prebuilt_programs.h"
#include "chatty/core/memory_resources.h"
#include "chatty/framework/operators/operator_program.h"
#include "chatty/framework/run.h"
#include "chatty/programs/cc.h"
#include "chatty/programs/reference.h"
#include "failure_fixture.h"
#include "test_inputs.h"

namespace chatty::test {
namespace {

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

}  // namespace
}  // namespace chatty::test
