#include "wide_rounds_test_body.h"

namespace chatty::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Cuda, WideRoundsTest, testing::Values("cuda:0", "cuda:2@0", "cuda:3@0", "cuda:0,1", "cuda:0,1,2,3"),
                         WideName);

}  // namespace
}  // namespace chatty::test
