#include "symmetric_test_body.h"

namespace chatty::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Cuda, SymmetricTest, testing::Values("cuda:0", "cuda:2@0", "cuda:4@0", "cuda:0,1", "cuda:0,1,2,3"));
INSTANTIATE_TEST_SUITE_P(CudaProxy, SymmetricTest,
                         testing::Values("cuda:0 proxy", "cuda:2@0 proxy", "cuda:0,1 proxy", "cuda:0,1,2,3 proxy"));

}  // namespace
}  // namespace chatty::test
