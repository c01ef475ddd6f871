#include "symmetric_test_body.h"

namespace chatty::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Cuda, SymmetricTest, testing::Values("cuda:0", "cuda:2@0", "cuda:4@0", "cuda:0,1", "cuda:0,1,2,3"));

}  // namespace
}  // namespace chatty::test
