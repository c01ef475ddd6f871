#include "program_test_body.h"

namespace chatty::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Host, ProgramTest, testing::Values("host:1", "host:2", "host:3", "host:8"), DevicesName);

}  // namespace
}  // namespace chatty::test
