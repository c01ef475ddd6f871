#include "fused_rounds_body.h"
#include "fused_test_body.h"

namespace chatty::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Cuda, FusedTest, testing::Values(FusedCase{"gpu", "cuda:0", 0}), FusedName);
INSTANTIATE_TEST_SUITE_P(CudaTogether, FusedTest,
                         testing::Values(FusedCase{"two_on_a_gpu", "cuda:2@0", 0, "edge-balanced", true},
                                         FusedCase{"five_on_a_gpu", "cuda:5@0", 0, "random", true},
                                         FusedCase{"two_gpus", "cuda:0,1", 0, "random", true},
                                         FusedCase{"four_gpus", "cuda:0,1,2,3", 0, "edge-balanced", true}),
                         FusedName);

/// A member that takes no space, which compilers may lay out differently.
struct EmptyMember : LabelPropagation {
  [[no_unique_address]] None nothing;
};

TEST(KernelParameters, OfAnotherSizeThanTheHostsAreRefused) {
  if (const std::string why = WhyNot("cuda:0"); !why.empty()) GTEST_SKIP() << why;
  GeneratorSpec spec;
  spec.family = "grid";
  spec.width = spec.height = 30;
  const Graph graph = Generate(spec);
  Session session(graph, OpenDevices(ParseDevices("cuda:0"), 0));
  for (const Execution execution : {Execution::kBsp, Execution::kAsync}) {
    RunOptions options;
    options.execution = execution;
    try {
      EXPECT_EQ(ToVector(chatty::Run(session, EmptyMember{}, options).values), ToVector(SerialComponents(graph)));
    } catch (const CapabilityError& error) {
      EXPECT_NE(std::string(error.what()).find("the program has an empty member"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace chatty::test
