#define CHATTY_TEST_FEATURES 0  // in program_features_test.cu
#include "program_test_body.h"

namespace chatty::test {
namespace {

// For the tests of both files: they belong to one suite.
INSTANTIATE_TEST_SUITE_P(Cuda, ProgramTest, testing::Values("cuda:0", "cuda:0,1", "cuda:0,1,2,3"), DevicesName);

}  // namespace
}  // namespace chatty::test
