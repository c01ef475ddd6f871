// Host devices as nvcc compiles them: its front end rewrites host code before the host compiler sees it. One program for
// each kind of reduction, weights, shared values and messages that are collected, against the interpreter. A test of its
// own, which needs no GPU.
#define CHATTY_TEST_REDUCTIONS 0
#define CHATTY_TEST_FEATURES 0
#include "program_test_body.h"

namespace chatty::test {
namespace {

class HostByNvccTest : public ProgramTest {};

TEST_P(HostByNvccTest, ProgramsAgreeWithTheInterpreter) {
  AgreesOnAll(Extreme<std::int32_t, Reduction::kMin>{});
  AgreesOnAll(Champion<2>{});
  AgreesOnAll(CountedCommunities<std::uint32_t, true>{});
  AgreesOnAll(Sharing{});
  for (const NamedGraph& input : MixedGraphs(WeightKind::kFloat32)) {
    SCOPED_TRACE(input.name);
    Agrees(input.graph, Weighted<float>{});
  }
}

INSTANTIATE_TEST_SUITE_P(Host, HostByNvccTest, testing::Values("host:2"), DevicesName);

}  // namespace
}  // namespace chatty::test
