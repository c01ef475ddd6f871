// GPUs of which one is late or fails: its kernel is held up, does not begin, or traps.
#include <cuda_runtime_api.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "chatty/io/generators.h"
#include "chatty/programs/reference.h"
#include "late_devices_test_body.h"

namespace chatty::test {

const std::chrono::milliseconds kLateDeadline = std::chrono::seconds(2);

namespace {

/// Returns once a kernel that waits for other devices has been on the device's stream, and has ended; or after a minute.
void AwaitGivenUp(Device& device) {
  constexpr int kPolls = 30000, kResident = 100;  // 2 ms apart: steps and copies take less than so many
  const auto is_busy = [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return cudaStreamQuery(static_cast<cudaStream_t>(device.stream().native())) == cudaErrorNotReady;
  };
  int polls = 0;
  for (int busy = 0; busy < kResident && polls < kPolls; ++polls) busy = is_busy() ? busy + 1 : 0;
  while (polls++ < kPolls && is_busy()) {
  }
}

}  // namespace

std::jthread ReleaseWhenGivenUp(Device& waiting, std::uint32_t* hold) {
  return std::jthread([&waiting, hold] {
    waiting.MakeCurrent();
    AwaitGivenUp(waiting);
    g_time_to_end.Begin();
    detail::StoreRelaxed(hold, 0u);
  });
}

namespace {

INSTANTIATE_TEST_SUITE_P(Cuda, LateDevices,
                         testing::Values(LateCase{"relaxing_two_on_a_gpu", "cuda:2@0", 0},
                                         LateCase{"relaxing_two_gpus", "cuda:0,1", 0},
                                         LateCase{"relaxing_four_gpus", "cuda:0,1,2,3", 0},
                                         LateCase{"rounds_two_on_a_gpu", "cuda:2@0", 0, Execution::kBsp},
                                         LateCase{"rounds_two_gpus", "cuda:0,1", 0, Execution::kBsp},
                                         LateCase{"rounds_four_gpus", "cuda:0,1,2,3", 0, Execution::kBsp}),
                         LateName);
INSTANTIATE_TEST_SUITE_P(Cuda, LateWorklists,
                         testing::Values(LateCase{"two_on_a_gpu", "cuda:2@0", 0}, LateCase{"two_gpus", "cuda:0,1", 0},
                                         LateCase{"four_gpus", "cuda:0,1,2,3", 0}),
                         LateName);

/// Levels of a search plus 1, in rounds of any width; a vertex holds its device up.
struct HeldSearch {
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = Reduction::kMax;
  static constexpr auto kSafety = Safety::kSynchronous;
  static constexpr Hints kHints{.any_message_suffices = true};
  std::uint32_t* hold = nullptr;  ///< page-locked memory
  VertexId held = 0;

  CHATTY_FN Value InitVertex(Vertex v) const { return v.id == 0 ? 1 : 0; }
  CHATTY_FN bool IsActive(const Value& v) const { return v != 0; }
  CHATTY_FN Message RoundMessage(const Round<>& round) const { return round.index + 2; }
  CHATTY_FN Message ComputeScatter(const Value&, Edge<>, const Round<>& round) const { return RoundMessage(round); }
  CHATTY_FN bool Filter(const Value& v) const { return v == 0; }
  CHATTY_NO_EXEC_CHECK
  CHATTY_FN bool UpdateStatus(Value& v, Message m, Vertex vertex) const {
    if (vertex.id == held) HoldUp(hold);
    if (v != 0) return false;
    v = m;
    return true;
  }
};

class LateWideRounds : public LateDevices {};

// A device is held up in the middle of a round of its resident kernel; the others are at the round's barrier.
TEST_P(LateWideRounds, EndTheRunOfAllAndAreNamed) {
  GeneratorSpec spec;
  spec.family = "uniform";
  spec.scale = 10;
  const Graph graph = Generate(spec);
  const std::vector<std::uint32_t> levels = ToVector(SerialBfs(graph, 0));
  VertexId held = graph.vertices() - 1;  // of the last device
  while (levels[held] == kInfinity<std::uint32_t>) --held;
  Session session(graph, Open(), InPieces());
  const std::string last = session.device(session.device_count() - 1).label();
  const Pinned<std::uint32_t> hold(session.device(0), 1);
  const auto job = session.Prepare(std::make_shared<TypedProgram<HeldSearch>>(HeldSearch{hold.data(), held}), Resident());
  for (int failure = 0; failure < 2; ++failure) {
    hold[0] = 1;
    g_time_to_end.Begin(kLateDeadline);
    try {
      job->Execute();
      ADD_FAILURE() << "waited for a device that was held up";
    } catch (const TimeoutError& error) {
      ExpectSays(error.what(), {": " + Waited() + "a resident kernel", "raise --timeout"});
      const std::string text = error.what();  // of a device at the barrier, or of the one that is held up
      EXPECT_TRUE(text.find(" waited at a barrier for " + last) != std::string::npos ||
                  text.find(last + " has not reached the barrier of all others") != std::string::npos)
          << text;
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
    g_time_to_end.End(DeviceKind::kCuda);
    detail::StoreRelaxed(hold.data(), 0u);
    EXPECT_EQ(job->statistics().ended, Ended::kFailed);
    const RunStatistics statistics = job->Execute();
    EXPECT_EQ(statistics.ended, Ended::kConverged);
    EXPECT_GT(statistics.wide_rounds, 0u);
    std::vector<std::uint32_t> values(graph.vertices());
    job->CopyOutput(reinterpret_cast<std::byte*>(values.data()));
    for (VertexId v = 0; v < graph.vertices(); ++v) ASSERT_EQ(values[v] - 1, levels[v]) << v;  // 0 - 1: not reached
  }
}

INSTANTIATE_TEST_SUITE_P(Cuda, LateWideRounds,
                         testing::Values(LateCase{"two_on_a_gpu", "cuda:2@0", 0, Execution::kBsp},
                                         LateCase{"two_gpus", "cuda:0,1", 0, Execution::kBsp},
                                         LateCase{"four_gpus", "cuda:0,1,2,3", 0, Execution::kBsp}),
                         LateName);

class LateKernels : public LateDevices {};

// The first device's thread reports a round and does not come back; the others are in their kernels.
TEST_P(LateKernels, ThatDoNotBeginEndTheOthersAndAreNamed) {
  const Graph graph = Path();
  Session session(graph, Open(), InPieces());
  bool stalls = true;
  RunOptions options = Resident();
  options.on_round = [&](const RoundProgress& progress) {
    if (stalls && progress.rounds == 2) AwaitGivenUp(session.device(1));  // the next rounds are in resident kernels
  };
  const auto job = session.Prepare(std::make_shared<TypedProgram<HeldLevels>>(HeldLevels{nullptr, kLength}), options);
  for (int run = 0; run < 2; ++run) {
    g_time_to_end.Begin(kLateDeadline);
    try {
      job->Execute();
      ADD_FAILURE() << "waited for a kernel that was not launched";
    } catch (const TimeoutError& error) {
      ExpectSays(error.what(), {": " + Waited() + "a resident kernel", "raise --timeout",
                                " waited for kernels that have not begun: " + session.device(0).label()});
    }
    g_time_to_end.End(DeviceKind::kCuda);
  }
  stalls = false;
  for (int run = 0; run < 2; ++run) ExpectWhole(*job);
}

// Another failure than a deadline, while the others wait in kernels: its error comes first.
TEST_P(LateKernels, OfADeviceThatFailsEndTheOthers) {
  const Graph graph = Path();
  Session session(graph, Open(), InPieces());
  bool fails = true;
  RunOptions options = Resident();
  options.timeout = std::chrono::seconds(60);  // who waits for the failed device hangs
  options.on_round = [&](const RoundProgress& progress) {
    if (!fails || progress.rounds != 2) return;
    g_time_to_end.Begin();
    throw DeviceError("this device fails");
  };
  const auto job = session.Prepare(std::make_shared<TypedProgram<HeldLevels>>(HeldLevels{nullptr, kLength}), options);
  for (int run = 0; run < 3; ++run) {
    try {
      job->Execute();
      ADD_FAILURE() << "did not fail";
    } catch (const DeviceError& error) {
      EXPECT_STREQ(error.what(), "this device fails");
    }
    g_time_to_end.End(DeviceKind::kCuda);
  }
  fails = false;
  for (int run = 0; run < 2; ++run) ExpectWhole(*job);
}

/// A kernel that traps takes its GPU's context with it, so each run has a process of its own. The context of a GPU that has
/// access to its memory may be lost, too, and may be noticed first: the error names one of the run's GPUs.
class TrappedKernelsDeathTest : public LateDevices {
 protected:
  /// Ends the process with 0 if the errors name a GPU and say what is lost, and all is freed.
  [[noreturn]] static void RunAndTell() {
    ::alarm(120);  // a hang ends by a signal
    int right = 0;
    {
      const Graph graph = Path();
      Session session(graph, Open(), InPieces());
      const Pinned<std::uint32_t> hold(session.device(0), 1);
      hold[0] = 0;
      const auto program = std::make_shared<TypedProgram<HeldLevels>>(HeldLevels{hold.data(), kLength - 2});
      const auto job = session.Prepare(program, Resident());
      ExpectWhole(*job);
      hold[0] = kTraps;
      for (int run = 0; run < 2; ++run) {  // the second time the context is lost from the start
        try {
          job->Execute();
        } catch (const DeviceError& error) {
          const std::string text = error.what();
          std::fprintf(stderr, "%s\n", text.c_str());
          const bool named = text.starts_with("cuda:") && text.find("context is lost") != std::string::npos;
          right += named || run > 0;
          right += job->statistics().ended == Ended::kFailed;
        }
      }
    }
    std::_Exit(right == 4 && !HasFailure() ? 0 : 1);
  }
};

// The last device's resident kernel traps, and the others wait for it in theirs.
TEST_P(TrappedKernelsDeathTest, EndTheRunOfAllAndAreNamed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(RunAndTell(), testing::ExitedWithCode(0), "cuda:[01].* failed: .*context is lost");
}

INSTANTIATE_TEST_SUITE_P(Cuda, TrappedKernelsDeathTest,
                         testing::Values(LateCase{"relaxing_two_on_a_gpu", "cuda:2@0", 0},
                                         LateCase{"relaxing_two_gpus", "cuda:0,1", 0},
                                         LateCase{"rounds_two_on_a_gpu", "cuda:2@0", 0, Execution::kBsp},
                                         LateCase{"rounds_two_gpus", "cuda:0,1", 0, Execution::kBsp}),
                         LateName);

INSTANTIATE_TEST_SUITE_P(Cuda, LateKernels,
                         testing::Values(LateCase{"two_on_a_gpu", "cuda:2@0", 0, Execution::kBsp},
                                         LateCase{"two_gpus", "cuda:0,1", 0, Execution::kBsp},
                                         LateCase{"four_gpus", "cuda:0,1,2,3", 0, Execution::kBsp}),
                         LateName);

}  // namespace
}  // namespace chatty::test
