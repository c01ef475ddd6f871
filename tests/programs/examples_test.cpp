// The example programs on host devices.
#include "examples_test_body.h"

namespace chatty::test {

std::vector<int> DeviceCounts() { return {1, 2, 3, 8}; }

std::vector<std::unique_ptr<Device>> MakeDevices(int count) {
  std::vector<std::unique_ptr<Device>> devices;
  for (int i = 0; i < count; ++i) devices.push_back(MakeHostDevice(i, count == 1 ? 4 : 1 + i % 2));
  return devices;
}

}  // namespace chatty::test
