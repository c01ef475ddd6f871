#include "fused_test_body.h"

namespace chatty::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Cuda, FusedTest, testing::Values(FusedCase{"gpu", "cuda:0", 0}), FusedName);

}  // namespace
}  // namespace chatty::test
