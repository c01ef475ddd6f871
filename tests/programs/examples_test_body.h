// The programs of examples/programs/ against references, on devices that the including file chooses: host devices in
// examples_test.cpp, GPUs in examples_test.cu. Each program's type fits the concept, each answer is compared in full.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <numeric>
#include <queue>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../../examples/programs/betweenness.h"
#include "../../examples/programs/cdlp.h"
#include "../../examples/programs/kcore.h"
#include "../../examples/programs/mis.h"
#include "../../examples/programs/personalised_pagerank.h"
#include "../../examples/programs/reach.h"
#include "../../examples/programs/widest_path.h"
#include "chatty/programs/bfs.h"
#include "chatty/programs/cc.h"
#include "chatty/programs/label_propagation.h"
#include "chatty/programs/pagerank.h"
#include "chatty/programs/pagerank_push.h"
#include "chatty/programs/reference.h"
#include "chatty/programs/sssp.h"
#include "test_graphs.h"

namespace chatty::test {

/// Defined by the including file.
std::vector<int> DeviceCounts();
std::vector<std::unique_ptr<Device>> MakeDevices(int count);

namespace {

// The table of docs/writing-a-program.md: how each named algorithm fits.
static_assert(VertexProgram<Bfs> && Traits<Bfs>::kHasWants && Traits<Bfs>::kFirstSuffices);
static_assert(VertexProgram<BfsParents> && Traits<BfsParents>::kHasPrior && !Traits<BfsParents>::kHasEndRound);
static_assert(VertexProgram<SsspOf<float>> && VertexProgram<SsspOf<std::int32_t>>);
static_assert(Traits<SsspOf<float>>::kHasPriority && Traits<SsspOf<float>>::kHasWantsMessage);
static_assert(VertexProgram<PageRank> && Traits<PageRank>::kEveryRound && Traits<PageRank>::kHasShare);
static_assert(VertexProgram<PageRankPush> && Traits<PageRankPush>::kHasConsume);
static_assert(VertexProgram<LabelPropagation> && Traits<LabelPropagation>::kEdges == Edges::kBoth);
static_assert(OperatorProgram<ConnectedComponents> && !VertexProgram<ConnectedComponents>);
static_assert(VertexProgram<Cdlp> && Traits<Cdlp>::kCollects && !Traits<Cdlp>::kCanPush);
static_assert(VertexProgram<KCore> && Traits<KCore>::kHasIsActive && Traits<KCore>::kHasEndRound);
static_assert(VertexProgram<Mis> && Traits<Mis>::kEveryRound && Traits<Mis>::kHasShare);
static_assert(VertexProgram<ShortestPaths> && VertexProgram<Betweenness> && Traits<Betweenness>::kEdges == Edges::kIn);
static_assert(VertexProgram<WidestPath> && Traits<WidestPath>::kIdempotent);
static_assert(VertexProgram<Reach> && sizeof(Reach::Message) == 8 && Traits<Reach>::kIdempotent);
static_assert(VertexProgram<PersonalisedPageRank> && Traits<PersonalisedPageRank>::kHasConsume);

/// A graph, directed or not, by number of devices and direction of travel.
class Examples : public testing::TestWithParam<std::tuple<int, Direction>> {
 protected:
  int devices() const { return std::get<0>(GetParam()); }
  RunOptions options() const {
    RunOptions options;
    options.direction = std::get<1>(GetParam());
    return options;
  }
  /// Where every program can go.
  RunOptions pulled() const {
    RunOptions options;
    if (std::get<1>(GetParam()) != Direction::kPush) options = this->options();
    return options;
  }

  /// Small ones of every shape, a hub, a path, and one large enough that every thread and warp has work.
  template <class Body>
  void ForGraphs(WeightKind weights, Body&& body) {
    std::vector<std::pair<std::string, Graph>> graphs;
    for (const RandomCase& c : RandomCases()) {
      if (std::get<1>(GetParam()) != Direction::kAuto && c.vertices < 40) continue;  // too small to differ
      graphs.emplace_back("random graph " + std::to_string(c.seed), c.Make(weights));
    }
    graphs.emplace_back("directed", RandomGraph(101, 1200, 4.0, weights, false));
    graphs.emplace_back("symmetric", RandomGraph(102, 1200, 3.0, weights, true));
    std::vector<TestEdge> star, path;
    for (std::uint64_t v = 1; v < 9000; ++v) star.push_back({0, v, static_cast<double>(v % 17)});
    for (std::uint64_t v = 1; v < 60; ++v) path.push_back({v - 1, v, static_cast<double>(60 - v)});
    graphs.emplace_back("hub", MakeSymmetric(9000, star, weights));
    graphs.emplace_back("path", MakeGraph(60, path, weights));
    for (const auto& [name, graph] : graphs) {
      SCOPED_TRACE(name);
      Session session(graph, MakeDevices(devices()));
      body(graph, session);
    }
  }
};

template <class P, class Answer>
void ExpectVerified(const Graph& graph, const P& program, const Answer& answer, const RunStatistics& statistics) {
  const Verdict verdict = program.Verify(graph, answer.span(), statistics);
  EXPECT_TRUE(verdict.passed) << verdict.message;
}

TEST_P(Examples, CdlpGivesTheLabelsOfTheReference) {
  ForGraphs(WeightKind::kNone, [&](const Graph& graph, Session& session) {
    for (const std::uint32_t rounds : {1u, 10u}) {
      Cdlp program;
      program.rounds = rounds;
      const auto result = chatty::Run(session, program, pulled());
      EXPECT_EQ(ToVector(result.values), ToVector(SerialLabelPropagation(graph, rounds)));
      EXPECT_EQ(result.statistics.rounds, rounds);
    }
  });
}

TEST_P(Examples, CdlpCountsAReciprocalPairTwiceAndTakesTheLeastOfEquals) {
  // Vertex 4 hears 3 twice over the pair, 0 and 1 once each: 3 wins. Vertex 5 hears 1 and 2 once each: 1 wins.
  const Graph graph = MakeGraph(6, {{3, 4}, {4, 3}, {0, 4}, {1, 4}, {1, 5}, {2, 5}});
  Cdlp program;
  program.rounds = 1;
  Session session(graph, MakeDevices(devices()));
  const auto result = chatty::Run(session, program);
  EXPECT_EQ(ToVector(result.values), (std::vector<VertexId>{4, 4, 5, 4, 3, 1}));
}

TEST_P(Examples, KCoreGivesTheCoresOfSerialPeeling) {
  ForGraphs(WeightKind::kNone, [&](const Graph& graph, Session& session) {
    const auto result = chatty::Run(session, KCore{}, options());
    EXPECT_EQ(ToVector(result.values), ToVector(SerialKCore(graph)));
    ExpectVerified(graph, KCore{}, result.values, result.statistics);
  });
}

TEST_P(Examples, KCoreByHand) {
  // A square with both diagonals, a tail of two, a loner.
  const Graph graph = MakeSymmetric(7, {{0, 1}, {1, 2}, {2, 3}, {3, 0}, {0, 2}, {1, 3}, {3, 4}, {4, 5}});
  Session session(graph, MakeDevices(devices()));
  const auto result = chatty::Run(session, KCore{}, options());
  EXPECT_EQ(ToVector(result.values), (std::vector<std::uint32_t>{3, 3, 3, 3, 1, 1, 0}));
}

TEST_P(Examples, MisIsTheGreedySetInOrderOfPriority) {
  ForGraphs(WeightKind::kNone, [&](const Graph& graph, Session& session) {
    for (const std::uint64_t seed : {1, 2}) {
      Mis program;
      program.seed = seed;
      const auto result = chatty::Run(session, program, options());
      ExpectVerified(graph, program, result.values, result.statistics);

      std::vector<VertexId> order(graph.vertices());
      std::iota(order.begin(), order.end(), VertexId{0});
      std::sort(order.begin(), order.end(), [&](VertexId a, VertexId b) { return program.Hash(a) > program.Hash(b); });
      std::vector<std::uint32_t> expected(graph.vertices(), Mis::kUndecided);
      for (const VertexId v : order) {
        if (expected[v] != Mis::kUndecided) continue;
        for (const Adjacency* adjacency : {&graph.out(), &graph.in()}) {
          for (const VertexId u : (*adjacency)[v]) expected[u] = Mis::kOut;
        }
        expected[v] = Mis::kIn;
      }
      EXPECT_EQ(ToVector(result.values), expected);
    }
  });
}

TEST(ExampleVerifiers, MisSeesBothFaults) {
  const Graph graph = MakeSymmetric(3, {{0, 1}});
  const RunStatistics none;
  EXPECT_TRUE(Mis{}.Verify(graph, std::vector<std::uint32_t>{1, 0, 1}, none).passed);
  EXPECT_FALSE(Mis{}.Verify(graph, std::vector<std::uint32_t>{1, 1, 1}, none).passed);
  EXPECT_FALSE(Mis{}.Verify(graph, std::vector<std::uint32_t>{1, 0, 0}, none).passed);
}

TEST_P(Examples, BetweennessAddsUpToBrandes) {
  ForGraphs(WeightKind::kNone, [&](const Graph& graph, Session& session) {
    if (graph.vertices() > 5000) return;  // three passes over thousands of leaves show nothing more
    const std::array<VertexId, 3> sources{0, graph.vertices() / 2, graph.vertices() - 1};
    std::vector<double> sum(graph.vertices(), 0.0);
    for (const VertexId source : sources) {
      ShortestPaths paths;
      paths.source = source;
      Sequence sequence(session, options());
      sequence.Then(paths);
      ExpectVerified(graph, paths, sequence.Output<ShortestPaths>(), sequence.statistics());
      const Betweenness back(paths);
      sequence.Then(back);
      const auto dependencies = sequence.Output<Betweenness>();
      ExpectVerified(graph, back, dependencies, sequence.statistics());
      for (VertexId v = 0; v < graph.vertices(); ++v) sum[v] += dependencies[v];
    }
    const auto expected = SerialBetweenness(graph, sources);
    for (VertexId v = 0; v < graph.vertices(); ++v) {
      ASSERT_NEAR(sum[v], expected[v], 1e-9 * (1.0 + expected[v])) << "vertex " << v;
    }
  });
}

TEST_P(Examples, BetweennessByHand) {
  // From 0, two paths to 3 by way of 1 and of 2, then on to 4.
  const Graph graph = MakeGraph(5, {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {3, 4}});
  Session session(graph, MakeDevices(devices()));
  Sequence sequence(session, options());
  sequence.Then(ShortestPaths{}).Then(Betweenness{});
  EXPECT_EQ(ToVector(sequence.Output<Betweenness>()), (std::vector<double>{0, 1, 1, 1, 0}));
}

/// Dijkstra's algorithm with the widest open path first.
std::vector<float> SerialWidths(const Graph& graph, VertexId source) {
  const auto& weights = std::get<Array<float>>(graph.out().weights);
  std::vector<float> width(graph.vertices(), 0.0f);
  width[source] = kInfinity<float>;
  std::priority_queue<std::pair<float, VertexId>> open;
  open.emplace(width[source], source);
  while (!open.empty()) {
    const auto [w, u] = open.top();
    open.pop();
    if (w < width[u]) continue;
    for (EdgeIndex e = graph.out().offsets[u]; e < graph.out().offsets[u + 1]; ++e) {
      const VertexId v = graph.out().neighbours[e];
      const float through = std::min(w, weights[e]);
      if (through <= width[v]) continue;
      width[v] = through;
      open.emplace(through, v);
    }
  }
  return width;
}

TEST_P(Examples, WidestPathIsThatOfTheSerialSearch) {
  ForGraphs(WeightKind::kFloat32, [&](const Graph& graph, Session& session) {
    WidestPath program;
    program.source = graph.vertices() / 3;
    const auto result = chatty::Run(session, program, options());
    EXPECT_EQ(ToVector(result.values), SerialWidths(graph, program.source));
    ExpectVerified(graph, program, result.values, result.statistics);
  });
}

TEST(ExampleVerifiers, WidestPathSeesTooWideAndTooNarrow) {
  const Graph graph = MakeGraph(3, {{0, 1, 5}, {1, 2, 3}}, WeightKind::kFloat32);
  const RunStatistics none;
  const float infinity = kInfinity<float>;
  EXPECT_TRUE(WidestPath{}.Verify(graph, std::vector<float>{infinity, 5, 3}, none).passed);
  EXPECT_FALSE(WidestPath{}.Verify(graph, std::vector<float>{infinity, 5, 4}, none).passed);
  EXPECT_FALSE(WidestPath{}.Verify(graph, std::vector<float>{infinity, 5, 2}, none).passed);
  EXPECT_FALSE(WidestPath{}.Verify(graph, std::vector<float>{7, 5, 3}, none).passed);
}

TEST_P(Examples, ReachIsWhatSearchesFromEachSourceSay) {
  ForGraphs(WeightKind::kNone, [&](const Graph& graph, Session& session) {
    Reach program;
    program.first = graph.vertices() / 5;
    program.stride = std::max<VertexId>(1, graph.vertices() / 50);
    if (graph.vertices() > 5000) program.count = 8;
    const auto result = chatty::Run(session, program, options());
    ExpectVerified(graph, program, result.values, result.statistics);
    EXPECT_EQ(result.values[program.first] & 1, 1u);
  });
}

TEST_P(Examples, PersonalisedPageRankIsTheFixedPointOfTheWalk) {
  ForGraphs(WeightKind::kNone, [&](const Graph& graph, Session& session) {
    PersonalisedPageRank program;
    program.source = graph.vertices() / 2;
    const auto result = chatty::Run(session, program, options());
    ExpectVerified(graph, program, result.values, result.statistics);

    // Power iteration in fp64; what is left after 100 rounds is below 1e-6.
    std::vector<double> rank(graph.vertices(), 0.0);
    rank[program.source] = 1.0;
    for (int round = 0; round < 100 && graph.vertices() < 5000; ++round) {
      std::vector<double> next(graph.vertices(), 0.0);
      for (VertexId u = 0; u < graph.vertices(); ++u) {
        const auto degree = static_cast<double>(graph.out_degree(u));
        next[program.source] += degree > 0 ? (1.0 - double{program.damping}) * rank[u] : rank[u];
        for (const VertexId v : graph.out()[u]) next[v] += program.damping * rank[u] / degree;
      }
      rank = std::move(next);
    }
    if (graph.vertices() >= 5000) return;
    double distance = 0;
    for (VertexId v = 0; v < graph.vertices(); ++v) distance += std::abs(rank[v] - result.values[v]);
    const double residual = double{program.tolerance} * static_cast<double>(graph.edges() + graph.vertices());
    EXPECT_LT(distance, 2 * residual / (1.0 - program.damping) / (1.0 - program.damping) + 1e-4);
  });
}

std::string CaseName(const testing::TestParamInfo<Examples::ParamType>& info) {
  const auto [devices, direction] = info.param;
  return std::to_string(devices) + (direction == Direction::kAuto   ? "Auto"
                                    : direction == Direction::kPush ? "Push"
                                                                    : "Pull");
}

INSTANTIATE_TEST_SUITE_P(Devices, Examples,
                         testing::Combine(testing::ValuesIn(DeviceCounts()),
                                          testing::Values(Direction::kAuto, Direction::kPush, Direction::kPull)),
                         CaseName);

}  // namespace
}  // namespace chatty::test
