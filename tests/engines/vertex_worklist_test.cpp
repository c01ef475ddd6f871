// Vertex programs on worklists of host devices, and which programs can run so.
#include "vertex_worklist_test_body.h"

namespace chatty::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Host, VertexWorklistTest, testing::Values("host:1", "host:2", "host:3", "host:5", "host:8"),
                         [](const auto& info) { return SelectionName(info.param); });

static_assert(WorklistProgram<VertexItems<Bfs>> && WorklistProgram<ShortLevelItems> && WorklistProgram<VertexItems<Reach>>);
static_assert(CheckOnWorklist<SsspOf<float>>() && CheckOnWorklist<PageRankPush>());
static_assert(!WorklistVertexProgram<BfsParents> && !WorklistVertexProgram<int>);

/// Each vertex adds the number of the round.
struct ByRound {
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = Reduction::kMin;
  static constexpr auto kSafety = Safety::kMonotone;
  Value InitVertex(Vertex v) const { return static_cast<Value>(v.id); }
  Message ComputeScatter(const Value& value, Edge<>, const Round<>& round) const { return value + round.index; }
  bool UpdateStatus(Value& value, Message m, Vertex) const {
    if (m >= value) return false;
    value = m;
    return true;
  }
};

TEST(VertexWorklist, RefusesWhatDoesNotFit) {
  const Graph graph = MakeSymmetric(4, {{0, 1}, {1, 2}});
  Session session(graph, "host:2");
  EXPECT_THROW(VertexWorklist(session, ByRound{}), UsageError);
  EXPECT_THROW(VertexWorklist(session, Bfs{4}), UsageError) << "a source that is no vertex";
  EXPECT_THROW(VertexWorklist(session, PageRankPush{.damping = 2}), UsageError);
  EXPECT_THROW(VertexWorklist(session, Tolls{}), UsageError) << "without the data that it requires";
  VertexWorklist worklist(session, Bfs{0});
  EXPECT_THROW(worklist.Run<CudaOnly>(), CapabilityError);
  worklist.Run();
  EXPECT_EQ(worklist.Output()[2], 2u);
}

}  // namespace
}  // namespace chatty::test
