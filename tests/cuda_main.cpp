// main() of the tests that need a GPU: without one, they are skipped, not passed.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdio>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  int devices = 0;
  if (const cudaError_t status = cudaGetDeviceCount(&devices); status != cudaSuccess || devices == 0) {
    std::printf("skipped: no CUDA device here (%s)\n", cudaGetErrorString(status));
    constexpr int kSkipped = 77;  // what tests/CMakeLists.txt tells ctest to count as skipped
    return kSkipped;
  }
  return RUN_ALL_TESTS();
}
