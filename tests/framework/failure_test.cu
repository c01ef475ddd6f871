// The state after a GPU program fails. Device code cannot throw: it traps, and the GPU's context is lost, so each such run
// has a process of its own.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stop_token>
#include <string>

#include "chatty/framework/operators/operator_program.h"
#include "chatty/framework/run.h"
#include "test_inputs.h"

namespace chatty::test {
namespace {

/// Spreads least ids; traps at a vertex.
struct Trapping {
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = Reduction::kMin;
  static constexpr auto kSafety = Safety::kMonotone;
  std::uint32_t trap_at = ~0u;
  CHATTY_FN Value InitVertex(Vertex v) const { return static_cast<Value>(v.id); }
  CHATTY_FN Message ComputeScatter(const Value& value, Edge<>, const Round<>&) const { return value; }
  CHATTY_FN bool UpdateStatus(Value& value, Message m, [[maybe_unused]] Vertex v, const Round<>&) const {
#ifdef __CUDA_ARCH__
    if (v.id == trap_at) __trap();
#endif
    if (m >= value) return false;
    value = m;
    return true;
  }
};

/// Ends the process with 0 if the error says all that it should.
[[noreturn]] void RunAndTell() {
  const Graph graph = MakeSymmetric(6, {{0, 1}, {1, 2}, {2, 3}, {3, 4}});
  Session session(graph, "cuda:0");
  Trapping program;
  program.trap_at = 2;
  const auto job = session.Prepare(std::make_shared<TypedProgram<Trapping>>(program));
  int told = 0;
  for (int run = 0; run < 2; ++run) {  // the second time the context is lost from the start
    try {
      job->Execute();
    } catch (const DeviceError& error) {
      const std::string text = error.what();
      std::fprintf(stderr, "%s\n", text.c_str());
      told += text.find("cuda:0") != std::string::npos && text.find("context is lost") != std::string::npos;
      told += job->statistics().ended == Ended::kFailed;
    }
  }
  std::_Exit(told == 4 ? 0 : 1);
}

TEST(CudaFailureDeathTest, AKernelThatTrapsIsADeviceErrorThatNamesTheDevice) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(RunAndTell(), testing::ExitedWithCode(0), "cuda:0: .*step.* failed");
}

TEST(CudaFailure, AStopEndsARunOnGpus) {
  const Graph graph = HubGraph(51, 1500, WeightKind::kNone, true);
  for (const char* selection : {"cuda:0", "cuda:0,1"}) {
    if (!WhyNot(selection).empty()) continue;
    Session session(graph, selection);
    std::stop_source stop;
    stop.request_stop();
    RunOptions options;
    options.stop = stop.get_token();
    const auto stopped = chatty::Run(session, Trapping{}, options);
    EXPECT_EQ(stopped.statistics.ended, Ended::kStopped);
    EXPECT_EQ(stopped.statistics.rounds, 0u);
    for (VertexId v = 0; v < graph.vertices(); ++v) ASSERT_EQ(stopped.values[v], v);
    EXPECT_EQ(chatty::Run(session, Trapping{}).statistics.ended, Ended::kConverged);
  }
}

}  // namespace
}  // namespace chatty::test
