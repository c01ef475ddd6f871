#include "chatty/framework/memory_plan.h"
#include "chatty/framework/operators/operator_program.h"
#include "chatty/programs/triangles.h"
#include "vertex_data_test_body.h"

namespace chatty::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Host, VertexDataTest, testing::Values("host:1", "host:2", "host:3"),
                         [](const auto& info) { return SelectionName(info.param); });

/// Delays without data.
struct Hops {
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = Reduction::kMin;
  static constexpr auto kSafety = Safety::kMonotone;
  CHATTY_FN Value InitVertex(Vertex v) const { return v.id; }
  CHATTY_FN Message ComputeScatter(const Value& value, Edge<>, const Round<>&) const { return value; }
  CHATTY_FN bool UpdateStatus(Value&, Message, Vertex, const Round<>&) const { return false; }
};

// Who declares none pays for none, and what is declared is in the plan: on devices, and on the host before it is there.
TEST(VertexDataMemory, IsPlannedForThoseWhoTakeIt) {
  static_assert(std::is_empty_v<decltype(StateRef<Hops>::data)>);
  static_assert(sizeof(StateRef<Delays>) == sizeof(StateRef<Hops>) + sizeof(void*));
  const Graph graph = RandomGraph(5, 1000, 4.0, WeightKind::kNone, false);
  const auto with = std::make_shared<TypedProgram<Delays>>(Delays{});
  const auto without = std::make_shared<TypedProgram<Hops>>(Hops{});
  EXPECT_EQ(with->traits().data_bytes, 8u);
  EXPECT_EQ(without->traits().data_bytes, 0u);
  const ProgramMemory planned = MemoryOf(with, {}), plain = MemoryOf(without, {});
  for (const PartId devices : {1u, 3u}) {
    const MemoryPlan most = BoundMemory(CountsOf(graph), {&planned, 1}, DeviceKind::kHost, devices, {}, Bound::kMax);
    const MemoryPlan less = BoundMemory(CountsOf(graph), {&plain, 1}, DeviceKind::kHost, devices, {}, Bound::kMax);
    EXPECT_EQ(most.host.data, 8000u);
    EXPECT_EQ(less.host.data, 0u);
    std::uint64_t more = 0;
    for (PartId d = 0; d < devices; ++d) more += most.devices[d].state - less.devices[d].state;
    EXPECT_EQ(more, 8000u);
  }
}

// Between runs a source may change, and with it what a program makes of its data.
TEST(VertexDataJobs, PrepareThemAnewForOtherParameters) {
  const Graph graph = MakeGraph(4, {{0, 1}, {1, 0}, {2, 3}, {3, 2}});
  Session session(graph, "host:2");
  PersonalisedPageRank program;
  const auto job = session.Prepare(std::make_shared<TypedProgram<PersonalisedPageRank>>(program));
  Array<float> ranks(4);
  for (const VertexId source : {0u, 2u, 0u}) {
    program.source = source;
    job->SetProgram(std::make_shared<TypedProgram<PersonalisedPageRank>>(program));
    job->Execute();
    job->CopyOutput(reinterpret_cast<std::byte*>(ranks.data()));
    EXPECT_GT(ranks[source], 0.5f);
    EXPECT_EQ(ranks[2 - source], 0.0f);
  }
}

TEST(VertexDataOperators, AreRefusedInWords) {
  const Graph graph = MakeSymmetric(3, {{0, 1}, {1, 2}});
  Session session(graph, "host:1");
  RunOptions options;
  options.vertex_data.emplace("side", VertexArray(std::vector<float>{0, 1, 0}));
  try {
    chatty::Run(session, Triangles{}, options);
    ADD_FAILURE() << "was not refused";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "vertex data 'side': a program on operators takes none");
  }
}

TEST(VertexDataArrays, TellWhatTheyHold) {
  EXPECT_EQ(VertexArray(std::vector<float>{1}).type(), "float");
  EXPECT_EQ(VertexArray(std::vector<std::uint64_t>{1}).type(), "uint64");
  EXPECT_EQ(VertexArray(std::vector<double>{1, 2}).size(), 2u);
  EXPECT_THROW(VertexArray(VertexArray::Values(Array<float>{1, 2}), Array<bool>{true}), UsageError);
}

}  // namespace
}  // namespace chatty::test
