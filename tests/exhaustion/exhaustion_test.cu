// GPUs that run out of memory: device memory and pinned memory, in every program and in the resident kernel.
#include <cuda_runtime_api.h>

#include "sweep.h"

namespace chatty::test {
namespace {

/// Where there are fewer GPUs than devices asked for, several devices share one: each has its own stream and memory.
ScarceDeviceMemory::MakeDevices Gpus(int count) {
  return [count] {
    std::vector<std::unique_ptr<Device>> devices;
    for (int i = 0; i < count; ++i) devices.push_back(MakeCudaDevice(i % CudaDeviceCount()));
    return devices;
  };
}

class CudaExhaustion : public testing::TestWithParam<SweepCase> {
 protected:
  /// No error of a failed allocation may be left for the next call to find.
  void TearDown() override { EXPECT_EQ(cudaGetLastError(), cudaSuccess); }
};

TEST_P(CudaExhaustion, OfDeviceMemory) {
  Registry registry;
  RegisterPrograms(registry);
  ScarceDeviceMemory one(Gpus(1), false), staged(Gpus(3), false);
  int failures = Sweep(registry, DeviceKind::kCuda, GetParam(), one, "auto", false);
  failures += Sweep(registry, DeviceKind::kCuda, GetParam(), staged, "staged", false);
  RecordProperty("failures", failures);
}

INSTANTIATE_TEST_SUITE_P(Programs, CudaExhaustion, testing::ValuesIn(SweepCases()),
                         [](const testing::TestParamInfo<SweepCase>& info) { return std::string(info.param.name); });

TEST(CudaExhaustionOfTheResidentLoop, OfDeviceMemory) {
  ScarceDeviceMemory one(Gpus(1), false);
  RecordProperty("failures", SweepAllResident(one));
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
      EXPECT_NE(std::string(error.what()).find(std::to_string(too_much)), std::string::npos) << error.what();
    }
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
    const Buffer<std::byte> some(*device, 1000);
    device->Fill(some.data(), 1, some.bytes(), device->stream());
    device->stream().Synchronize();
  }
}

}  // namespace
}  // namespace chatty::test
