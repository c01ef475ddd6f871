#include "trace_test_body.h"

namespace chatty::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Host, TraceTest, testing::Values("host", "host:2", "host:3"), TraceName);

}  // namespace
}  // namespace chatty::test
