#include "every_round_test_body.h"

namespace chatty::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Cuda, EveryRound, testing::Values("cuda:0", "cuda:0,1", "cuda:0,1,2,3"));

}  // namespace
}  // namespace chatty::test
