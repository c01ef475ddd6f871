// The example programs on GPUs. Where there are fewer GPUs than devices asked for, several devices share one: each has
// its own stream and memory, so what crosses between devices is the same.
#include "programs_test_body.h"

namespace chatty::test {

const DeviceKind kKind = DeviceKind::kCuda;

std::vector<int> DeviceCounts() { return {1, 2, 3}; }

std::vector<std::unique_ptr<Device>> MakeDevices(int count) {
  std::vector<std::unique_ptr<Device>> devices;
  for (int i = 0; i < count; ++i) devices.push_back(MakeCudaDevice(i % CudaDeviceCount()));
  return devices;
}

}  // namespace chatty::test
