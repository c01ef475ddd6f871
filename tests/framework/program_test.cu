#include "program_test_body.h"

namespace chatty::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Cuda, ProgramTest, testing::Values("cuda:0", "cuda:0,1", "cuda:0,1,2,3"), DevicesName);
// The same source compiled by nvcc runs on the host too.
INSTANTIATE_TEST_SUITE_P(Host, ProgramTest, testing::Values("host:2"), DevicesName);

}  // namespace
}  // namespace chatty::test
