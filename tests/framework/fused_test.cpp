#include "fused_test_body.h"

namespace chatty::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Host, FusedTest,
                         testing::Values(FusedCase{"team_1", "host:1", 1}, FusedCase{"team_3", "host:1", 3}), FusedName);

}  // namespace
}  // namespace chatty::test
