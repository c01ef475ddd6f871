// GPUs of which one is late: its kernel is held up, or does not begin.
#include <cuda_runtime_api.h>

#include <chrono>
#include <thread>

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
    try {
      job->Execute();
      ADD_FAILURE() << "waited for a kernel that was not launched";
    } catch (const TimeoutError& error) {
      ExpectSays(error.what(), {": " + Waited() + "a resident kernel", "raise --timeout",
                                " waited for kernels that have not begun: " + session.device(0).label()});
    }
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
    if (fails && progress.rounds == 2) throw DeviceError("this device fails");
  };
  const auto job = session.Prepare(std::make_shared<TypedProgram<HeldLevels>>(HeldLevels{nullptr, kLength}), options);
  for (int run = 0; run < 3; ++run) {
    try {
      job->Execute();
      ADD_FAILURE() << "did not fail";
    } catch (const DeviceError& error) {
      EXPECT_STREQ(error.what(), "this device fails");
    }
  }
  fails = false;
  for (int run = 0; run < 2; ++run) ExpectWhole(*job);
}

INSTANTIATE_TEST_SUITE_P(Cuda, LateKernels,
                         testing::Values(LateCase{"two_on_a_gpu", "cuda:2@0", 0, Execution::kBsp},
                                         LateCase{"two_gpus", "cuda:0,1", 0, Execution::kBsp},
                                         LateCase{"four_gpus", "cuda:0,1,2,3", 0, Execution::kBsp}),
                         LateName);

}  // namespace
}  // namespace chatty::test
