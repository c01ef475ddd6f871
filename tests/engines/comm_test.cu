// Both engines over every transport, on GPUs.
#include "comm_test_body.h"

namespace chatty::test {

std::vector<std::unique_ptr<Device>> MakeDifferentDevices(int count) {
  std::vector<std::unique_ptr<Device>> devices;
  if (CudaDeviceCount() < count) return devices;
  for (int i = 0; i < count; ++i) devices.push_back(MakeCudaDevice(i));
  return devices;
}

namespace {

INSTANTIATE_TEST_SUITE_P(Cuda, Comm, testing::Values(2, 4),
                         [](const auto& info) { return "Devices" + std::to_string(info.param); });

}  // namespace
}  // namespace chatty::test
