/// BFS and PageRank with 64-bit vertex ids, on every number of devices: the same answers as with 32.
#include <gtest/gtest.h>

#include "chatty/framework/registry.h"
#include "chatty/io/generators.h"
#include "chatty/programs/reference.h"

namespace chatty {
namespace {

static_assert(sizeof(VertexId) == 8);

class Engine64 : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam().starts_with("cuda") && CudaDeviceCount() < static_cast<int>(GetParam().size() - 3) / 2) {
      GTEST_SKIP() << "this machine has " << CudaDeviceCount() << " GPUs";
    }
    RegisterPrograms(registry_);
  }
  /// Runs `program` on `graph` and returns its answer once the verifier has passed it.
  ErasedValues Answer(const Graph& graph, std::string_view program, const ParameterValues& parameters,
                      std::string_view value, const std::string& partition, Direction direction) {
    const DeviceSelection selection = ParseDevices(GetParam());
    SessionOptions options;
    options.partition = partition;
    Session session(graph, OpenDevices(selection, 2), options);
    RunOptions run;
    run.direction = direction;
    const RegisteredProgram& entry = registry_.Find(program, selection.kind);
    const auto job = entry.Prepare(session, parameters, value, run);
    const RunStatistics statistics = job->Execute();
    ErasedValues values = job->Output();
    const Verdict verdict = entry.Verify(graph, parameters, values, &statistics);
    EXPECT_TRUE(verdict.passed) << verdict.message;
    return values;
  }
  Registry registry_;
};

Graph RandomGraph(const std::string& family) {
  GeneratorSpec spec;
  spec.family = family;
  spec.scale = 12;
  spec.width = 90;
  spec.height = 40;
  spec.drop = 0.3;
  return Generate(spec);
}

TEST_P(Engine64, BfsMatchesTheSerialReference) {
  for (const char* family : {"kron", "grid"}) {
    const Graph graph = RandomGraph(family);
    const VertexId source = graph.max_degree_vertex();
    const ParameterValues parameters{{"source", std::to_string(source)}};
    const Array<std::uint32_t> levels = SerialBfs(graph, source);
    const Array<VertexId> parents = SerialBfsParents(graph, source);
    for (const char* partition : {"edge-balanced", "random"}) {
      for (const Direction direction : {Direction::kAuto, Direction::kPush, Direction::kPull}) {
        const ErasedValues level = Answer(graph, "bfs", parameters, "level", partition, direction);
        EXPECT_TRUE(std::ranges::equal(level.As<std::uint32_t>(), levels.span()));
        const ErasedValues parent = Answer(graph, "bfs", parameters, "parent", partition, direction);
        ASSERT_EQ(parent.type, ScalarType::kUint64);
        EXPECT_TRUE(std::ranges::equal(parent.As<VertexId>(), parents.span()));
      }
    }
  }
}

TEST_P(Engine64, PageRankMatchesTheSerialReference) {
  const Graph graph = RandomGraph("kron");
  const PageRankResult expected = SerialPageRank(graph, 0.85, 12);
  for (const Direction direction : {Direction::kAuto, Direction::kPush}) {
    const ErasedValues ranks =
        Answer(graph, "pagerank", {{"rounds", "12"}, {"tolerance", "0"}, {"damping", "0.85"}}, "rank", "random", direction);
    const std::span<const float> got = ranks.As<float>();
    ASSERT_EQ(got.size(), expected.ranks.size());
    for (std::size_t v = 0; v < got.size(); ++v) ASSERT_NEAR(got[v], expected.ranks[v], 1e-5 * expected.ranks[v]) << v;
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Engine64,
                         testing::Values("host:1", "host:2", "host:3", "host:8", "cuda:0", "cuda:0,1", "cuda:0,1,2,3"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace_if(
                               name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
                           return name;
                         });

}  // namespace
}  // namespace chatty
