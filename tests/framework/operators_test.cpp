#include "operators_test_body.h"

namespace chatty::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Host, OperatorsTest, testing::Values("host:1", "host:2", "host:3"));

}  // namespace
}  // namespace chatty::test
