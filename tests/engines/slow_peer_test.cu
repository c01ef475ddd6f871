// GPUs of which one takes its messages late.
#include "slow_peer_test_body.h"

namespace chatty::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Cuda, SlowPeers, testing::Values(2, 3, 4));

}  // namespace
}  // namespace chatty::test
