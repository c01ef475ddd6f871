// Streams of a GPU: what travels is scheduled before what is computed.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "chatty/core/device.h"

namespace chatty::test {
namespace {

int PriorityOf(const Stream& stream) {
  int priority = 0;
  EXPECT_EQ(cudaStreamGetPriority(static_cast<cudaStream_t>(stream.native()), &priority), cudaSuccess);
  return priority;
}

TEST(CudaStreams, ThoseForMessagesHaveTheGreatestPriority) {
  const std::unique_ptr<Device> device = MakeCudaDevice(0);
  const std::unique_ptr<Stream> messages = device->NewStream();
  int least = 0, greatest = 0;
  ASSERT_EQ(cudaDeviceGetStreamPriorityRange(&least, &greatest), cudaSuccess);
  EXPECT_LT(greatest, least) << "this GPU has one priority";
  EXPECT_EQ(PriorityOf(*messages), greatest);
  EXPECT_EQ(PriorityOf(device->stream()), least);
}

TEST(CudaStreams, SayWhetherTheirWorkHasRun) {
  const std::unique_ptr<Device> device = MakeCudaDevice(0);
  const std::unique_ptr<Stream> stream = device->NewStream();
  EXPECT_TRUE(stream->IsIdle());
  std::atomic<bool> open{false};
  const auto wait = [](void* gate) {
    while (!*static_cast<std::atomic<bool>*>(gate)) std::this_thread::sleep_for(std::chrono::microseconds(100));
  };
  ASSERT_EQ(cudaLaunchHostFunc(static_cast<cudaStream_t>(stream->native()), wait, &open), cudaSuccess);
  EXPECT_FALSE(stream->IsIdle());
  EXPECT_TRUE(device->stream().IsIdle()) << "another stream";
  open = true;
  stream->Synchronize();
  EXPECT_TRUE(stream->IsIdle());
}

}  // namespace
}  // namespace chatty::test
