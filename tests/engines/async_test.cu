// The asynchronous engine on GPUs.
#include "async_test_body.h"

namespace chatty::test {

const DeviceKind kKind = DeviceKind::kCuda;

/// Where there are fewer GPUs than devices asked for, several devices share one: each has its own stream and memory.
std::vector<std::unique_ptr<Device>> MakeDevices(std::string_view selection) {
  std::vector<std::unique_ptr<Device>> devices;
  const int count = selection.back() - '0';
  for (int i = 0; i < count; ++i) devices.push_back(MakeCudaDevice(i % CudaDeviceCount()));
  return devices;
}

namespace {

INSTANTIATE_TEST_SUITE_P(Cuda, Async,
                         testing::Values(Selection{"cuda:1", "auto"}, Selection{"cuda:2", "auto"},
                                         Selection{"cuda:4", "auto"}, Selection{"cuda:3", "staged"}),
                         AsyncName);

}  // namespace
}  // namespace chatty::test
