#include <memory>
#include <vector>

#include "../comm/unlinked_device.h"
#include "../prebuilt_programs.h"
#include "chatty/programs/bfs.h"
#include "chatty/programs/reference.h"
#include "rounds_together_test_body.h"

namespace chatty::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Cuda, RoundsTogetherTest,
                         testing::Values(TogetherCase{"one_gpu", "cuda:0"}, TogetherCase{"two_on_a_gpu", "cuda:2@0"},
                                         TogetherCase{"three_on_a_gpu", "cuda:3@0", "random"},
                                         TogetherCase{"nine_on_a_gpu", "cuda:9@0"},  // lists are shorter beyond eight
                                         TogetherCase{"two_gpus", "cuda:0,1", "random"},
                                         TogetherCase{"two_gpus_in_bands", "cuda:0,1"},
                                         TogetherCase{"four_gpus", "cuda:0,1,2,3"}),
                         TogetherName);

/// Entries of 16 bytes are one store of a resident kernel, which a link without atomics may divide.
TEST(GpusWithPlainLinks, AreDrivenByTheHost) {
  if (CudaDeviceCount() == 0) GTEST_SKIP() << "no GPU on this machine";
  const Graph graph = RandomGraph(21, 3000, 4.0, WeightKind::kNone, true);
  std::vector<std::unique_ptr<Device>> devices = OpenDevices(ParseDevices("cuda:2@0"), 0);
  for (std::unique_ptr<Device>& device : devices) {
    device = std::make_unique<Unlinked>(std::move(device), /*addressable=*/true);
  }
  Session session(graph, std::move(devices));
  for (const Execution execution : {Execution::kBsp, Execution::kAsync}) {
    RunOptions options;
    options.execution = execution;
    const auto result = chatty::Run(session, Bfs{}, options);
    EXPECT_EQ(result.statistics.fused_steps, 0u);
    EXPECT_EQ(result.statistics.wide_rounds, 0u);
    EXPECT_EQ(ToVector(result.values), ToVector(SerialBfs(graph, 0)));
  }
}

}  // namespace
}  // namespace chatty::test
