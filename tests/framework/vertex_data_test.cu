#include "vertex_data_test_body.h"

namespace chatty::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Cuda, VertexDataTest, testing::Values("cuda:0", "cuda:0,1", "cuda:0,1,2"),
                         [](const auto& info) { return SelectionName(info.param); });

}  // namespace
}  // namespace chatty::test
