// Host devices, alone and together.
#include "endless_test_body.h"

namespace chatty::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Host, EndlessTest,
                         testing::Values(EndlessCase{"one_thread", "host:1", 1, Execution::kAsync},
                                         EndlessCase{"two_threads", "host:1", 2, Execution::kAsync},
                                         EndlessCase{"two_devices", "host:2", 2, Execution::kAsync},
                                         EndlessCase{"two_devices_of_two", "host:2", 4, Execution::kAsync},
                                         EndlessCase{"three_devices", "host:3", 3, Execution::kAsync}),
                         EndlessName);

}  // namespace
}  // namespace chatty::test
