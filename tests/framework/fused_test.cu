#include "fused_rounds_body.h"
#include "fused_test_body.h"

namespace chatty::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Cuda, FusedTest, testing::Values(FusedCase{"gpu", "cuda:0", 0}), FusedName);
INSTANTIATE_TEST_SUITE_P(CudaTogether, FusedTest,
                         testing::Values(FusedCase{"two_on_a_gpu", "cuda:2@0", 0, "edge-balanced", true},
                                         FusedCase{"five_on_a_gpu", "cuda:5@0", 0, "random", true},
                                         FusedCase{"two_gpus", "cuda:0,1", 0, "random", true},
                                         FusedCase{"four_gpus", "cuda:0,1,2,3", 0, "edge-balanced", true}),
                         FusedName);

}  // namespace
}  // namespace chatty::test
