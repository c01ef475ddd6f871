// Host devices of which one takes its messages late.
#include "slow_peer_test_body.h"

namespace chatty::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Host, SlowPeers, testing::Values(2, 3, 4, 5));

}  // namespace
}  // namespace chatty::test
