// Vertex programs on distributed worklists against `bsp`, and functions of a worklist that a user replaces. On devices that
// the including file chooses.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "../../examples/programs/reach.h"
#include "../../examples/programs/widest_path.h"
#include "../framework/feature_programs.h"
#include "chatty/core/hash.h"
#include "chatty/framework/worklist/vertex_program.h"
#include "chatty/programs/bfs.h"
#include "chatty/programs/label_propagation.h"
#include "chatty/programs/pagerank_push.h"
#include "chatty/programs/sssp.h"
#include "engines.h"

namespace chatty::test {

/// Breadth-first search, a level after the other.
struct LevelItems : VertexItems<Bfs> {
  CHATTY_FN double Priority(const Item& item) const { return ValueIn(item); }
};

/// Breadth-first search that sends a level in two bytes, and counts what it sends and receives.
struct ShortLevelItems : LevelItems {
  struct Message {
    std::array<std::uint16_t, 3> halves;  ///< of the vertex, and the level
  };
  std::uint64_t *packed = nullptr, *received = nullptr;  ///< counts, of this device

  CHATTY_FN Message Pack(const Item& item) const {
    atomics::Add<true>(packed, std::uint64_t{1});
    const LocalId v = at_owner[item.vertex - graph.owned];
    return {
        {static_cast<std::uint16_t>(v), static_cast<std::uint16_t>(v >> 16), static_cast<std::uint16_t>(MessageIn(item))}};
  }
  CHATTY_FN Item Unpack(const Message& m) const { return {m.halves[0] | LocalId{m.halves[1]} << 16, m.halves[2]}; }
  CHATTY_FN bool OnReceive(Item& item) const {
    atomics::Add<true>(received, std::uint64_t{1});
    return LevelItems::OnReceive(item);
  }
};

/// Residuals of pagerank_push, the largest first, each bucket within a factor of 2.
struct LargeResidualItems : VertexItems<PageRankPush> {
  CHATTY_FN double Priority(const Item& item) const {
    return -std::log2(1e-30 + ValueIn(item).residual + atomics::Load(&messages[item.vertex].message));
  }
};

/// Distances where an edge is as long as its target's datum.
struct Tolls {
  struct Data {
    std::uint32_t toll = 0;
  };
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = Reduction::kMin;
  static constexpr auto kSafety = Safety::kMonotone;
  static constexpr auto kVertexData = std::make_tuple(VertexDatum{"toll", &Data::toll, "to enter", Presence::kRequired});
  VertexId source = 0;

  CHATTY_FN Value InitVertex(Vertex v, const Data&) const { return v.id == source ? 0 : kInfinity<Value>; }
  CHATTY_FN bool IsActive(const Value& value) const { return value != kInfinity<Value>; }
  CHATTY_FN Message ComputeScatter(const Value& value, Edge<>) const { return value; }
  CHATTY_FN Value Priority(const Value& value) const { return value; }
  CHATTY_FN bool UpdateStatus(Value& value, Message m, Vertex, const Data& data) const {
    if (m + data.toll >= value) return false;
    value = m + data.toll;
    return true;
  }
};

/// The parameter is what --devices takes.
class VertexWorklistTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const std::string why = WhyNot(GetParam()); !why.empty()) GTEST_SKIP() << why;
  }

  static Session Open(const Graph& graph, std::uint64_t turn) {
    constexpr const char* kPartitions[] = {"random", "contiguous", "edge-balanced"};
    return Session(graph, OpenDevices(ParseDevices(GetParam()), 6), DividedBy(kPartitions[turn % 3]));
  }
  /// Expects the values of the registered program of that name under `bsp`, whatever the width and the room in lists.
  template <class Items = void, class P>
  static void Compare(Session& session, const P& program, const char* name, const char* value = "") {
    using Program = std::conditional_t<std::is_void_v<Items>, VertexItems<P>, Items>;
    const RegisteredProgram& registered = Programs().Find(name, kKind);
    ParameterValues parameters;
    if constexpr (requires { program.source; }) parameters = From(registered, session.graph(), program.source);
    RunOptions rounds;
    rounds.execution = Execution::kBsp;
    const std::unique_ptr<RegisteredJob> job = registered.Prepare(session, parameters, value, rounds);
    job->Execute();
    const ErasedValues expected = job->Output();
    VertexWorklist<P, Program> worklist(session, program);
    for (const WorklistOptions& options : {WorklistOptions{}, WorklistOptions{.width = 3, .list_items = 64}}) {
      SCOPED_TRACE(testing::Message() << name << ", width " << options.width);
      const WorklistStatistics statistics = worklist.Run(options);
      const auto output = worklist.Output();
      ASSERT_EQ(output.size() * sizeof(output[0]), expected.bytes.size());
      EXPECT_TRUE(output.empty() || std::memcmp(output.data(), expected.bytes.data(), expected.bytes.size()) == 0);
      EXPECT_FALSE(statistics.stopped);
      EXPECT_TRUE(statistics.sent == 0 || session.device_count() > 1);
    }
  }
};

TEST_P(VertexWorklistTest, AnswersAreThoseOfBsp) {
  std::uint64_t turn = 0;
  for (const WeightKind weights : {WeightKind::kNone, WeightKind::kInt32, WeightKind::kFloat32}) {
    for (const auto& [name, graph] : MixedGraphs(weights)) {
      SCOPED_TRACE(name);
      Session session = Open(graph, ++turn);
      Compare(session, LabelPropagation{}, "label_propagation");
      if (graph.vertices() == 0) continue;  // no vertex to start from
      const auto source = static_cast<VertexId>(3 % graph.vertices());
      Compare(session, Reach{}, "reach");
      Compare(session, Bfs{source}, "bfs");
      Compare<LevelItems>(session, Bfs{source}, "bfs");
      Compare(session, BfsTree(Bfs{source}), "bfs", "parent");
      if (weights == WeightKind::kFloat32) {
        Compare(session, SsspOf<float>{source}, "sssp");
      } else {
        Compare(session, SsspOf<std::int32_t>{source}, "sssp");
      }
      Compare(session, WidestPath{source}, "widest_path");
    }
  }
}

TEST_P(VertexWorklistTest, RandomGraphsAndDivisions) {
  for (std::uint64_t run = 0; run < 6; ++run) {
    const std::uint64_t hash = Hash(run + 91);
    const auto vertices = static_cast<VertexId>(50 + hash % 3000);
    const Graph graph = RandomGraph(static_cast<std::uint32_t>(run), vertices, 1.5 + static_cast<double>(run % 5),
                                    WeightKind::kInt32, run % 3 != 0);
    SCOPED_TRACE(testing::Message() << "run " << run << ", " << vertices << " vertices");
    Session session = Open(graph, hash >> 32);
    Compare(session, SsspOf<std::int32_t>{static_cast<VertexId>(run)}, "sssp");
    Compare(session, WidestPath{static_cast<VertexId>(run)}, "widest_path");
    Compare(session, LabelPropagation{}, "label_propagation");
  }
}

// Levels one after the other: each vertex is processed once, and a step is a level.
TEST_P(VertexWorklistTest, AnotherPriorityDecidesTheOrder) {
  const Graph graph = GridGraph(60, 40);
  Session session = Open(graph, 0);
  VertexWorklist<Bfs, LevelItems> worklist(session);
  const WorklistStatistics statistics = worklist.Run({.width = 1});
  EXPECT_EQ(statistics.processed, graph.vertices());
  EXPECT_EQ(statistics.steps, 60u + 40u - 1u);
  EXPECT_EQ(worklist.Output()[graph.vertices() - 1], 60u + 40u - 2u);
  // The next run begins anew, with the parameters that the programs have then.
  for (LevelItems& items : worklist.programs()) items.program.source = 59;
  worklist.Run({.width = 1});
  EXPECT_EQ(worklist.Output()[59], 0u);
  EXPECT_EQ(worklist.Output()[0], 59u);
}

TEST_P(VertexWorklistTest, OtherMessagesAndMembersOfTheirOwn) {
  const Graph graph = RandomGraph(5, 5000, 4.0, WeightKind::kNone, true);
  Session session = Open(graph, 0);
  VertexWorklist<Bfs, ShortLevelItems> worklist(session, Bfs{7});
  std::vector<Pinned<std::uint64_t>> counts;
  for (std::size_t d = 0; d < session.device_count(); ++d) {
    const Pinned<std::uint64_t>& count = counts.emplace_back(session.device(d), 2);
    count[0] = count[1] = 0;
    worklist.programs()[d].packed = count.data();
    worklist.programs()[d].received = count.data() + 1;
  }
  const WorklistStatistics statistics = worklist.Run({.width = 1});
  const AsyncAnswer expected = RunBy("bsp", session, Programs().Find("bfs", kKind), {{"source", "7"}});
  const Array<std::uint32_t> levels = worklist.Output();
  EXPECT_EQ(std::memcmp(levels.data(), expected.values.bytes.data(), expected.values.bytes.size()), 0);
  std::uint64_t packed = 0, received = 0;
  for (const Pinned<std::uint64_t>& count : counts) {
    packed += count[0];
    received += count[1];
  }
  EXPECT_EQ(packed, statistics.sent);
  EXPECT_GE(received, statistics.sent);
  EXPECT_EQ(statistics.sent > 0, session.device_count() > 1);
}

TEST_P(VertexWorklistTest, DataOfVertices) {
  std::vector<TestEdge> edges;
  std::vector<std::uint32_t> tolls;
  constexpr VertexId kVertices = 3000;
  for (VertexId v = 0; v < kVertices; ++v) tolls.push_back(static_cast<std::uint32_t>(Hash(v) % 20));
  for (std::uint64_t i = 0; i < 4 * kVertices; ++i) {
    const std::uint64_t target = Hash(i, 1) % kVertices;
    edges.push_back({Hash(i, 2) % kVertices, target, static_cast<double>(tolls[target])});
  }
  const Graph graph = MakeGraph(kVertices, edges, WeightKind::kInt32);
  Session session = Open(graph, 0);
  const AsyncAnswer expected = RunBy("bsp", session, Programs().Find("sssp", kKind), {{"source", "5"}});
  VertexWorklist worklist(session, Tolls{5}, {{"toll", VertexArray(tolls)}});
  worklist.Run({.width = 10});
  const Array<std::uint32_t> output = worklist.Output();
  EXPECT_EQ(std::memcmp(output.data(), expected.values.bytes.data(), expected.values.bytes.size()), 0);
}

TEST_P(VertexWorklistTest, ResidualsAreTakenOnce) {
  std::vector<NamedGraph> graphs = MixedGraphs(WeightKind::kNone);
  graphs.push_back({"random", RandomGraph(31, 3000, 6.0, WeightKind::kNone, false)});
  std::uint64_t turn = 0;
  for (const auto& [name, graph] : graphs) {
    SCOPED_TRACE(name);
    Session session = Open(graph, ++turn);
    const auto check = [&graph = graph](const Array<float>& ranks) {
      const Verdict verdict = PageRankPush{}.Verify(graph, ranks.span(), {});
      EXPECT_TRUE(graph.vertices() == 0 || verdict) << verdict.message;
    };
    VertexWorklist ranks(session, PageRankPush{});
    ranks.Run();
    check(ranks.Output());
    VertexWorklist<PageRankPush, LargeResidualItems> large_first(session);
    large_first.Run({.width = 1, .list_items = 64});
    check(large_first.Output());
    // Whole numbers: one message lost or added twice changes their sum.
    VertexWorklist tokens(session, Tokens{});
    for (const std::uint32_t list_items : {0u, 64u}) {
      tokens.Run({.list_items = list_items});
      std::uint64_t sum = 0;
      for (const std::uint64_t output : tokens.Output()) sum += (output >> 32) + (output & ~std::uint32_t{0});
      for (VertexId v = 0; v < graph.vertices(); ++v) sum -= Tokens{}.InitVertex({v, 0, 0, 0}).fresh;
      EXPECT_EQ(sum, 0u);
    }
  }
}

}  // namespace chatty::test
