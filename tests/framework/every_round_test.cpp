#include "every_round_test_body.h"

namespace chatty::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Host, EveryRound, testing::Values("host:1", "host:2", "host:3", "host:8"));

}  // namespace
}  // namespace chatty::test
