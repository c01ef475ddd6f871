// GPUs, alone and together.
#include "endless_test_body.h"

namespace chatty::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Cuda, EndlessTest,
                         testing::Values(EndlessCase{"one", "cuda:0", 0, Execution::kAsync},
                                         EndlessCase{"two_on_a_gpu", "cuda:2@0", 0, Execution::kAsync},
                                         EndlessCase{"two", "cuda:0,1", 0, Execution::kAsync},
                                         EndlessCase{"four", "cuda:0,1,2,3", 0, Execution::kAsync}),
                         EndlessName);

}  // namespace
}  // namespace chatty::test
