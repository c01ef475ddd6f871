// Residuals between GPUs.
#include "residuals_test_body.h"

namespace chatty::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Cuda, Residuals,
                         testing::Values(Selection{"cuda:1", "auto"}, Selection{"cuda:2", "auto"},
                                         Selection{"cuda:3", "staged"}),
                         [](const auto& info) { return SelectionName(std::get<0>(info.param)); });

}  // namespace
}  // namespace chatty::test
