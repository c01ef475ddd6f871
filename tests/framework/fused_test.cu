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

TEST(CarriedValuesTogether, AutoTakesThemWhereTheGraphHasManyLevels) {
  constexpr const char* kDevices = "cuda:2@0";
  if (const std::string why = WhyNot(kDevices); !why.empty()) GTEST_SKIP() << why;
  GeneratorSpec spec;
  spec.family = "grid";
  spec.width = spec.height = 300;
  spec.drop = 0.38;
  const Graph graph = Generate(spec);
  Session session(graph, OpenDevices(ParseDevices(kDevices), 0));
  for (const std::uint32_t list_items : {0u, 4096u}) {  // all vertices begin: one list has no room for them
    SCOPED_TRACE(list_items);
    RunOptions options;
    options.list_items = list_items;
    const Result<LabelPropagation> result = chatty::Run(session, LabelPropagation{}, options);
    EXPECT_EQ(ToVector(result.values), ToVector(SerialComponents(graph)));
    EXPECT_GT(result.statistics.fused_steps, 0u);
    EXPECT_EQ(result.statistics.rounds, result.statistics.fused_steps) << "no rounds of the host";
    // A stop while vertices wait for their window: the next run has all of them.
    std::stop_source stop;
    stop.request_stop();
    options.stop = stop.get_token();
    const auto job = session.Prepare(std::make_shared<TypedProgram<LabelPropagation>>(LabelPropagation{}), options);
    EXPECT_EQ(job->Execute().ended, Ended::kStopped);
    job->SetLimits(0, {});
    EXPECT_EQ(job->Execute().ended, Ended::kConverged);
    std::vector<VertexId> labels(graph.vertices());
    job->CopyOutput(reinterpret_cast<std::byte*>(labels.data()));
    EXPECT_EQ(labels, ToVector(result.values));
  }
}

}  // namespace
}  // namespace chatty::test
