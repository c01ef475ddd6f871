// Residuals between host devices.
#include "residuals_test_body.h"

namespace chatty::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Host, Residuals,
                         testing::Values(Selection{"host:1", "auto"}, Selection{"host:2", "auto"},
                                         Selection{"host:3", "staged"}, Selection{"host:5", "uva"},
                                         Selection{"host:8", "auto"}),
                         [](const auto& info) { return SelectionName(std::get<0>(info.param)); });

}  // namespace
}  // namespace chatty::test
