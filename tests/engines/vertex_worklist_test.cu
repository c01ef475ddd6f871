// Vertex programs on worklists of GPUs.
#include "vertex_worklist_test_body.h"

namespace chatty::test {
namespace {

std::string Name(const testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  for (char& c : name) {
    if (c == ':' || c == ',' || c == '@') c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Cuda, VertexWorklistTest, testing::Values("cuda:0", "cuda:2@0", "cuda:4@0"), Name);
INSTANTIATE_TEST_SUITE_P(CudaTogether, VertexWorklistTest, testing::Values("cuda:0,1", "cuda:0,1,2,3"), Name);

}  // namespace
}  // namespace chatty::test
