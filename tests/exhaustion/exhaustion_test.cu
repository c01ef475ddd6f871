// GPUs that run out of memory: device memory, pinned memory and the memory of the process, in every program and in fused
// runs.
#include <cuda_runtime_api.h>

#include "chatty/core/bytes.h"
#include "sweep.h"
#include "sweep_together.h"

namespace chatty::test {
namespace {

/// GPUs that are open as long as tests run. Where there are fewer GPUs than devices asked for, several devices share one:
/// each has its own stream and memory.
class Gpus final : public testing::Environment {
 public:
  /// The sessions' devices: opening real ones for each attempt would take most of the time.
  static MakeDevices Borrow(std::size_t count) {
    std::vector<std::unique_ptr<Device>>& all = All();
    while (all.size() < count) all.push_back(MakeCudaDevice(static_cast<int>(all.size()) % CudaDeviceCount()));
    return [count, &all] {
      std::vector<std::unique_ptr<Device>> devices;
      for (std::size_t i = 0; i < count; ++i) devices.push_back(std::make_unique<BorrowedDevice>(*all[i]));
      return devices;
    };
  }
  /// As Borrow, of devices that share the first GPU.
  static MakeDevices BorrowOnOneGpu(std::size_t count) {
    std::vector<std::unique_ptr<Device>>& shared = Shared();
    while (shared.size() < count) {
      shared.push_back(MakeCudaDevice(0));
      shared.back()->set_share(static_cast<int>(shared.size()) - 1);
    }
    return [count, &shared] {
      std::vector<std::unique_ptr<Device>> devices;
      for (std::size_t i = 0; i < count; ++i) devices.push_back(std::make_unique<BorrowedDevice>(*shared[i]));
      return devices;
    };
  }
  /// While CUDA still is there.
  void TearDown() override {
    All().clear();
    Shared().clear();
  }

 private:
  static std::vector<std::unique_ptr<Device>>& Shared() {
    static std::vector<std::unique_ptr<Device>> shared;
    return shared;
  }
  static std::vector<std::unique_ptr<Device>>& All() {
    static std::vector<std::unique_ptr<Device>> all;
    return all;
  }
};
[[maybe_unused]] const testing::Environment* const kGpus = testing::AddGlobalTestEnvironment(new Gpus);

/// Whether the first two GPUs reach each other's memory.
bool HavePeers() {
  if (CudaDeviceCount() < 2) return false;
  int out = 0, back = 0;
  return cudaDeviceCanAccessPeer(&out, 0, 1) == cudaSuccess && cudaDeviceCanAccessPeer(&back, 1, 0) == cudaSuccess &&
         out != 0 && back != 0;
}

class CudaExhaustion : public testing::TestWithParam<SweepCase> {
 protected:
  void TearDown() override {
    RecordProperty("failures", failures_);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "of a failed allocation, left for the next call to find";
  }
  void Sweep(Scarce& scarce, const SweepOptions& options) {
    static const Registry& registry = *[] {
      auto* const made = new Registry;
      RegisterPrograms(*made);
      return made;
    }();
    failures_ += test::Sweep(registry, DeviceKind::kCuda, GetParam(), scarce, options);
  }
  int failures_ = 0;
};

TEST_P(CudaExhaustion, OfDeviceMemory) {
  for (const Failing failing : {Failing::kFromThere, Failing::kOnce}) {
    ScarceDeviceMemory one(Gpus::Borrow(1), false, failing), staged(Gpus::Borrow(3), true, failing);
    Sweep(one, {});
    Sweep(staged, {.transport = "staged"});
  }
}

// A third device shares a GPU with the first where there are but two, and what passes between these two is staged inside.
TEST_P(CudaExhaustion, OfDeviceMemoryWithPeerCopies) {
  if (!HavePeers()) GTEST_SKIP() << "no two GPUs here that reach each other's memory";
  for (const Failing failing : {Failing::kFromThere, Failing::kOnce}) {
    ScarceDeviceMemory peers(Gpus::Borrow(3), false, failing);
    Sweep(peers, {.transport = "p2p-copy"});
  }
}

// On hosts each allocation fails with more devices, modes and transports; here it is about what a GPU's run adds to them.
TEST_P(CudaExhaustion, OfHostMemory) {
  ScarceHostMemory one(Gpus::Borrow(1), Failing::kFromThere), two(Gpus::Borrow(2), Failing::kOnce);
  Sweep(one, {});
  Sweep(two, {.transport = HavePeers() ? "p2p-copy" : "staged"});
}

INSTANTIATE_TEST_SUITE_P(Programs, CudaExhaustion, testing::ValuesIn(SweepCases()),
                         [](const testing::TestParamInfo<SweepCase>& info) { return std::string(info.param.name); });

// Events of GPUs, which the recording makes, are one for all programs.
TEST(CudaExhaustionOfTheTrace, OfHostMemory) {
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus < 2) GTEST_SKIP() << "a trace names each GPU once";
  Registry registry;
  RegisterPrograms(registry);
  int failures = 0;
  for (const Failing failing : {Failing::kFromThere, Failing::kOnce}) {
    ScarceHostMemory two(Gpus::Borrow(2), failing);
    failures += Sweep(registry, DeviceKind::kCuda, SweepCases().front(), two, {.trace = true});
  }
  RecordProperty("failures", failures);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST(CudaExhaustionOfFusedRuns, OfDeviceMemory) {
  ScarceDeviceMemory one(Gpus::Borrow(1), false, Failing::kFromThere), once(Gpus::Borrow(1), false, Failing::kOnce);
  RecordProperty("failures", SweepAllFused(one) + SweepAllFused(once));
}
TEST(CudaExhaustionOfFusedRuns, OfHostMemory) {
  ScarceHostMemory one(Gpus::Borrow(1), Failing::kFromThere), once(Gpus::Borrow(1), Failing::kOnce);
  RecordProperty("failures", SweepAllFused(one) + SweepAllFused(once));
}

/// Runs in resident kernels of two devices: on one GPU, or on a GPU each.
class CudaExhaustionOfRunsTogether : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam() && !HavePeers()) GTEST_SKIP() << "no two GPUs here that reach each other's memory";
    if (GetParam()) rounds_ = HaveNativeAtomics();
  }
  void TearDown() override { EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "left for the next call to find"; }
  static MakeDevices Two() { return GetParam() ? Gpus::Borrow(2) : Gpus::BorrowOnOneGpu(2); }
  static bool HaveNativeAtomics() {
    const std::vector<std::unique_ptr<Device>> devices = Gpus::Borrow(2)();
    return devices[0]->HasNativeAtomics(*devices[1]) && devices[1]->HasNativeAtomics(*devices[0]);
  }
  bool rounds_ = true;  ///< links execute atomics, so there are rounds together
};

TEST_P(CudaExhaustionOfRunsTogether, OfDeviceMemory) {
  ScarceDeviceMemory two(Two(), true, Failing::kFromThere), once(Two(), true, Failing::kOnce);
  const int failures =
      SweepAllTogether<OutOfMemoryError>(two, rounds_, 3 * kStep) + SweepAllTogether<OutOfMemoryError>(once, rounds_);
  RecordProperty("failures", failures);
  EXPECT_GT(failures, 100);
}
TEST_P(CudaExhaustionOfRunsTogether, OfHostMemory) {
  ScarceHostMemory two(Two(), Failing::kFromThere), once(Two(), Failing::kOnce);
  const int failures = SweepAllTogether<OutOfMemoryError>(two, rounds_, 5 * kStep) +
                       SweepAllTogether<OutOfMemoryError>(once, rounds_, 2 * kStep);
  RecordProperty("failures", failures);
  EXPECT_GT(failures, 100);
}
// Before a device's kernel is launched, so that it never arrives, and behind: the kernels of both end.
TEST_P(CudaExhaustionOfRunsTogether, CallsOfOneDeviceThatFailEndBoth) {
  FailingCalls calls(Two());
  const int failures = SweepAllTogether<DeviceError>(calls, rounds_);
  RecordProperty("failures", failures);
  EXPECT_GT(failures, 100);
}

INSTANTIATE_TEST_SUITE_P(Devices, CudaExhaustionOfRunsTogether, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& info) {
                           return std::string(info.param ? "two_gpus" : "two_on_a_gpu");
                         });

TEST(CudaExhaustionOfTheDevice, OfHostMemoryWhileItIsOpened) {
  for (const Failing failing : {Failing::kFromThere, Failing::kOnce}) {
    EXPECT_GT(FailEverywhere("opening a GPU", failing, [] { MakeCudaDevice(0); }), 2);
  }
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST(CudaExhaustionOfTheDevice, AnAllocationThatTheGpuRefusesIsForgottenOnceTold) {
  const std::unique_ptr<Device> device = MakeCudaDevice(0);
  const std::size_t too_much = static_cast<std::size_t>(device->info().memory) * 2;
  for (int i = 0; i < 3; ++i) {
    try {
      const Buffer<std::byte> all(*device, too_much);
      ADD_FAILURE() << too_much << " bytes were granted";
    } catch (const OutOfMemoryError& error) {
      EXPECT_NE(std::string(error.what()).find("cuda:0"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find(ExactBytes(too_much)), std::string::npos) << error.what();
    }
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
    const Buffer<std::byte> some(*device, 1000);
    device->Fill(some.data(), 1, some.bytes(), device->stream());
    device->stream().Synchronize();
  }
}

}  // namespace
}  // namespace chatty::test
