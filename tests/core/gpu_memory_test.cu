#include <cuda.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>

#include "chatty/core/cuda.h"
#include "chatty/core/device.h"
#include "chatty/core/error.h"
#include "chatty/core/gpu_memory.h"

namespace chatty {
namespace {

/// In a new process: uses GPU 1 alone, from a thread that has used none, and exits with 0 if GPU 0 has no context after it
/// and is current as before.
[[noreturn]] void UseTheSecondGpuAlone() {
  int failures = 0;
  const auto expect = [&](bool holds, const char* what) {
    if (!holds) fprintf(stderr, "%s\n", what);
    failures += holds ? 0 : 1;
  };
  expect(!KeepCurrentGpu::IsPossible(), "GPU 0 has a context before anything is done");
  int current = -1;
  {
    std::shared_ptr<std::byte> memory = AllocateGpuMemory(1, 1000);
    expect(GpuOf(memory.get()) == 1, "the memory is not known");
    expect(detail::HasPrimaryContext(1), "GPU 1 has no context");
    expect(!detail::HasPrimaryContext(0), "AllocateGpuMemory or GpuOf created a context on GPU 0");
    std::byte copy{};
    CopyFromGpu(&copy, 1, memory.get(), 1, 1, 1, nullptr);
    expect(!detail::HasPrimaryContext(0), "CopyFromGpu created a context on GPU 0");
  }
  expect(!detail::HasPrimaryContext(0), "freeing created a context on GPU 0");
  expect(cudaGetDevice(&current) == cudaSuccess && current == 0, "another GPU is current");
  std::thread([&] {  // as a caller does for whom KeepCurrentGpu is not possible
    const std::unique_ptr<Device> device = MakeCudaDevice(1);
    { const Buffer<std::byte> some(*device, 1000); }
    device->stream().Synchronize();
  })
      .join();
  expect(!detail::HasPrimaryContext(0), "a device created a context on GPU 0");
  expect(cudaGetDevice(&current) == cudaSuccess && current == 0, "a device has changed the current GPU of another thread");
  cudaFree(nullptr);
  expect(detail::HasPrimaryContext(0) && KeepCurrentGpu::IsPossible(), "GPU 0 has no context after the first call for it");
  {
    const KeepCurrentGpu callers;
    cudaSetDevice(1);
  }
  expect(cudaGetDevice(&current) == cudaSuccess && current == 0, "the GPU that was current is not kept");
  std::_Exit(failures);
}

TEST(GpuMemoryCuda, OneGpuIsUsedWithoutAContextOnAnother) {
  if (CudaDeviceCount() < 2) GTEST_SKIP() << "fewer than two GPUs";
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // runs the test program again, in which nothing has used a GPU
  EXPECT_EXIT(UseTheSecondGpuAlone(), testing::ExitedWithCode(0), "");
}

TEST(GpuMemoryCuda, AContextOfTheCallersStaysCurrent) {
  const KeepCurrentGpu outer;
  CHATTY_CUDA(cudaSetDevice(0));
  CHATTY_CUDA(cudaFree(nullptr));
  EXPECT_TRUE(KeepCurrentGpu::IsPossible());
  int current = -1;
  {
    const KeepCurrentGpu callers;
    const AsCurrent other(CudaDeviceCount() - 1);
    CHATTY_CUDA(cudaGetDevice(&current));
    EXPECT_EQ(current, CudaDeviceCount() - 1);
  }
  CHATTY_CUDA(cudaGetDevice(&current));
  EXPECT_EQ(current, 0);
}

TEST(GpuMemoryCuda, GivingMemoryBackWaitsAsLongAsItMay) {
  const std::unique_ptr<Device> device = MakeCudaDevice(0);
  std::atomic<bool> released{false};
  const auto hold = [](void* flag) {
    while (!static_cast<std::atomic<bool>*>(flag)->load()) std::this_thread::yield();
  };
  CHATTY_CUDA(cudaLaunchHostFunc(static_cast<cudaStream_t>(device->stream().native()), hold, &released));
  EXPECT_THROW(device->ReleaseKeptMemory({nullptr, std::chrono::milliseconds(20)}), TimeoutError);
  released = true;
  device->ReleaseKeptMemory({nullptr, std::chrono::minutes(10)});
}

}  // namespace
}  // namespace chatty
