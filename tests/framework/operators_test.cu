#include "operators_test_body.h"

namespace chatty::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Cuda, OperatorsTest, testing::Values("cuda:0", "cuda:0,1"));

}  // namespace
}  // namespace chatty::test
