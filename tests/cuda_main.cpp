// main() of the tests that need a GPU: without one, they are skipped, not passed. So are tests of which none can run here.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdio>

namespace {

constexpr int kSkipped = 77;  // what tests/CMakeLists.txt tells ctest to count as skipped

/// Why the first test that was skipped was.
const char* FirstReason(const testing::UnitTest& all) {
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *all.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const testing::TestResult& result = *suite.GetTestInfo(t)->result();
      for (int p = 0; p < result.total_part_count(); ++p) {
        if (result.GetTestPartResult(p).skipped()) return result.GetTestPartResult(p).message();
      }
    }
  }
  return "no reason is given";
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  int devices = 0;
  if (const cudaError_t status = cudaGetDeviceCount(&devices); status != cudaSuccess || devices == 0) {
    std::printf("skipped: no CUDA device here (%s)\n", cudaGetErrorString(status));
    return kSkipped;
  }
  const int failed = RUN_ALL_TESTS();
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  if (failed == 0 && all.test_to_run_count() > 0 && all.skipped_test_count() == all.test_to_run_count()) {
    std::printf("skipped: %s\n", FirstReason(all));
    return kSkipped;
  }
  return failed;
}
