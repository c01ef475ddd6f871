// Both engines over every transport, on host devices.
#include "comm_test_body.h"

namespace chatty::test {

std::vector<std::unique_ptr<Device>> MakeDifferentDevices(int count) {
  std::vector<std::unique_ptr<Device>> devices;
  for (int i = 0; i < count; ++i) devices.push_back(MakeHostDevice(i, 1));
  return devices;
}

namespace {

INSTANTIATE_TEST_SUITE_P(Host, Comm, testing::Values(2, 3, 4),
                         [](const auto& info) { return "Devices" + std::to_string(info.param); });

}  // namespace
}  // namespace chatty::test
