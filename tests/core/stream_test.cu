// Streams of a GPU: what travels is scheduled before what is computed.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <memory>

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

}  // namespace
}  // namespace chatty::test
