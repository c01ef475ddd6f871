#include <cstdlib>
#include <string>

#include "symmetric_test_body.h"

namespace chatty::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Cuda, SymmetricTest, testing::Values("cuda:0", "cuda:2@0", "cuda:4@0", "cuda:0,1", "cuda:0,1,2,3"));
INSTANTIATE_TEST_SUITE_P(CudaLsa, SymmetricTest, testing::Values("cuda:0,1 lsa", "cuda:0,1,2,3 lsa"));
INSTANTIATE_TEST_SUITE_P(CudaProxy, SymmetricTest,
                         testing::Values("cuda:0 proxy", "cuda:2@0 proxy", "cuda:0,1 proxy", "cuda:0,1,2,3 proxy"));
INSTANTIATE_TEST_SUITE_P(CudaProxyUnlinked, SymmetricTest,
                         testing::Values("cuda:2@0 proxy unlinked", "cuda:0,1 proxy unlinked",
                                         "cuda:0,1,2,3 proxy unlinked"));

/// The text of the CapabilityError that a heap with backend lsa ends with.
std::string WhyNoLsa(const std::string& devices) {
  try {
    const Heap heap(devices + " lsa", 4096, SymmetricOptions());
  } catch (const CapabilityError& error) {
    return error.what();
  }
  return "no error";
}

TEST(SymmetricLsa, SaysWhatItLacks) {
  if (CudaDeviceCount() == 0) GTEST_SKIP() << "no GPU";
  EXPECT_NE(WhyNoLsa("cuda:2@0").find("joins each GPU once, and cuda:0.0 and cuda:0.1 share one"), std::string::npos)
      << WhyNoLsa("cuda:2@0");
  const char* const set = std::getenv("NCCL_NVLS_ENABLE");
  const std::string before = set == nullptr ? "" : set;
  ::setenv("NCCL_NVLS_ENABLE", "1", 1);
  const std::string text = WhyNoLsa("cuda:0");
  if (set == nullptr) {
    ::unsetenv("NCCL_NVLS_ENABLE");
  } else {
    ::setenv("NCCL_NVLS_ENABLE", before.c_str(), 1);
  }
  EXPECT_TRUE(text.find("set NCCL_NVLS_ENABLE=0 before the process starts") != std::string::npos ||
              text.find("NCCL 2.28") != std::string::npos || text.find("is loaded; choose p2p") != std::string::npos)
      << text;
}

}  // namespace
}  // namespace chatty::test
