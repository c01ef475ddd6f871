// Verifiers of ranks and of betweenness: what is right up to rounding is accepted, and anything further off is found.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "chatty/core/error.h"
#include "chatty/programs/reference.h"
#include "chatty/programs/verify.h"
#include "test_graphs.h"

namespace chatty::test {
namespace {

template <class Rank>
Array<Rank> As(const Array<double>& ranks) {
  Array<Rank> result(ranks.size());
  std::transform(ranks.begin(), ranks.end(), result.begin(), [](double rank) { return static_cast<Rank>(rank); });
  return result;
}

TEST(VerifyPageRank, AcceptsTheFixedPoint) {
  for (const RandomCase& random : RandomCases()) {
    SCOPED_TRACE(random.seed);
    const Graph graph = random.Make();
    const PageRankResult result = SerialPageRank(graph, 0.85, 1000, 1e-13);
    const Verdict verdict = VerifyPageRank<double>(graph, result.ranks.span(), 0.85, 1e-12);
    EXPECT_TRUE(verdict.passed) << verdict.message;
    const Array<float> narrow = As<float>(result.ranks);
    EXPECT_TRUE(VerifyPageRank<float>(graph, narrow.span(), 0.85, 1e-6).passed);
  }
  const Graph large = LargeGraph();
  EXPECT_TRUE(VerifyPageRank<double>(large, SerialPageRank(large, 0.85, 1000, 1e-13).ranks.span(), 0.85, 1e-12).passed);
  EXPECT_TRUE(VerifyPageRank<double>(Graph(), {}, 0.85, 1e-9).passed);
}

TEST(VerifyPageRank, FindsAnyNudgeAnywhere) {
  std::uint64_t nudges = 0;
  for (const RandomCase& random : RandomCases()) {
    SCOPED_TRACE(random.seed);
    const Graph graph = random.Make();
    const VertexId n = graph.vertices();
    Array<double> ranks = SerialPageRank(graph, 0.85, 1000, 1e-13).ranks;
    for (VertexId v = 0; v < n; ++v) {
      const double right = ranks[v];
      for (const double wrong :
           {right * 1.001, right * 0.999, 0.0, -right, std::nan(""), std::numeric_limits<double>::infinity(), 1.0 + right}) {
        ranks[v] = wrong;
        EXPECT_FALSE(VerifyPageRank<double>(graph, ranks.span(), 0.85, 1e-6).passed) << right << " as " << wrong;
        ++nudges;
      }
      ranks[v] = right;
      // Rank moved from one vertex to another keeps the sum: the residual must tell.
      const VertexId other = (v + 1) % n;
      if (other == v) continue;
      const double moved = right * 0.01, kept = ranks[other];
      ranks[v] -= moved;
      ranks[other] += moved;
      const Verdict verdict = VerifyPageRank<double>(graph, ranks.span(), 0.85, 1e-6);
      EXPECT_FALSE(verdict.passed);
      EXPECT_EQ(verdict.message.find("the residual is "), 0u) << verdict.message;
      ranks[v] = right;
      ranks[other] = kept;
    }
  }
  EXPECT_GT(nudges, 1000u);
}

TEST(VerifyPageRank, FindsOtherDampingAndLostDanglingMass) {
  const Graph graph = MakeGraph(4, {{0, 1}, {1, 2}, {2, 0}, {0, 3}});  // 3 dangles
  const Array<double> ranks = SerialPageRank(graph, 0.85, 1000, 1e-15).ranks;
  EXPECT_TRUE(VerifyPageRank<double>(graph, ranks.span(), 0.85, 1e-12).passed);
  EXPECT_FALSE(VerifyPageRank<double>(graph, ranks.span(), 0.84, 1e-3).passed);
  EXPECT_FALSE(VerifyPageRank<double>(graph, SerialPageRank(graph, 0.85, 3).ranks.span(), 0.85, 1e-3).passed);
  // Without the dangling mass ranks sum to less than 1.
  std::vector<double> lossy(4, 0.25);
  for (int round = 0; round < 200; ++round) {
    lossy = {0.0375 + 0.85 * lossy[2], 0.0375 + 0.425 * lossy[0], 0.0375 + 0.85 * lossy[1], 0.0375 + 0.425 * lossy[0]};
  }
  const Verdict verdict = VerifyPageRank<double>(graph, lossy, 0.85, 1e-6);
  EXPECT_FALSE(verdict.passed);
  EXPECT_EQ(verdict.message.find("the ranks sum to "), 0u) << verdict.message;
  EXPECT_THROW((void)VerifyPageRank<double>(graph, ranks.span(), 1.0, 1e-6), UsageError);
  EXPECT_EQ(VerifyPageRank<double>(graph, ranks.span().first(2), 0.85, 1e-6).message,
            "the answer has 2 values, the graph 4 vertices");
  lossy[2] = 0;
  EXPECT_EQ(VerifyPageRank<double>(graph, lossy, 0.85, 1e-6).message, "the rank of vertex 2 is 0");
}

TEST(VerifyPageRankRounds, AcceptsThoseRoundsOnly) {
  std::uint64_t nudges = 0;
  for (const RandomCase& random : RandomCases()) {
    SCOPED_TRACE(random.seed);
    const Graph graph = random.Make();
    for (const std::uint32_t rounds : {0u, 1u, 2u, 20u}) {
      Array<double> ranks = SerialPageRank(graph, 0.85, rounds).ranks;
      const Verdict verdict = VerifyPageRankRounds<double>(graph, ranks.span(), 0.85, rounds, 1e-12);
      EXPECT_TRUE(verdict.passed) << verdict.message;
      Array<float> narrow = As<float>(ranks);
      EXPECT_TRUE(VerifyPageRankRounds<float>(graph, narrow.span(), 0.85, rounds, 1e-7).passed);
      for (VertexId v = 0; v < graph.vertices(); ++v) {
        for (const double factor : {1 + 1e-5, 1 - 1e-5, 0.0, -1.0, std::nan("")}) {
          const float right = narrow[v];
          narrow[v] = static_cast<float>(right * factor);
          EXPECT_FALSE(VerifyPageRankRounds<float>(graph, narrow.span(), 0.85, rounds, 1e-6).passed);
          narrow[v] = right;
          ++nudges;
        }
      }
    }
  }
  EXPECT_GT(nudges, 2000u);
}

/// So many rounds from 1 each that leave out what dangling vertices spread; then scaled to sum to 1.
Array<double> ScaledAtEnd(const Graph& graph, std::uint32_t rounds) {
  const VertexId n = graph.vertices();
  Array<double> ranks(n, 1.0);
  for (std::uint32_t round = 0; round < rounds; ++round) {
    Array<double> next(n, 0.15);
    for (VertexId u = 0; u < n; ++u) {
      for (const VertexId v : graph.out()[u]) next[v] += 0.85 * ranks[u] / static_cast<double>(graph.out_degree(u));
    }
    ranks = std::move(next);
  }
  const double sum = std::accumulate(ranks.begin(), ranks.end(), 0.0);
  for (double& rank : ranks) rank /= sum;
  return ranks;
}

TEST(VerifyPageRankRounds, AcceptsThoseThatAreScaledAtTheEnd) {
  std::uint64_t differ = 0;
  for (const RandomCase& random : RandomCases()) {
    SCOPED_TRACE(random.seed);
    const Graph graph = random.Make();
    if (graph.vertices() == 0) continue;
    for (const std::uint32_t rounds : {0u, 1u, 2u, 20u}) {
      const Array<double> ranks = ScaledAtEnd(graph, rounds);
      const Verdict verdict = VerifyPageRankRounds<double>(graph, ranks.span(), 0.85, rounds, 1e-12, Dangling::kAtEnd);
      EXPECT_TRUE(verdict) << verdict.message;
      differ += VerifyPageRankRounds<double>(graph, ranks.span(), 0.85, rounds, 1e-6) ? 0 : 1;
      Array<float> narrow = As<float>(ranks);
      narrow[0] *= 1 + 1e-5f;
      EXPECT_FALSE(VerifyPageRankRounds<float>(graph, narrow.span(), 0.85, rounds, 1e-6, Dangling::kAtEnd));
    }
    // Where rounds lead is the same.
    const Verdict fixed_point = VerifyPageRank<double>(graph, ScaledAtEnd(graph, 300).span(), 0.85, 1e-12);
    EXPECT_TRUE(fixed_point) << fixed_point.message;
  }
  EXPECT_GT(differ, 10u) << "cases with dangling vertices";
}

TEST(VerifyPageRankRounds, TellsRoundsOfALargeGraph) {
  const Graph large = LargeGraph();
  const Array<double> five = SerialPageRank(large, 0.85, 5).ranks;
  EXPECT_TRUE(VerifyPageRankRounds<double>(large, five.span(), 0.85, 5, 1e-12).passed);
  EXPECT_FALSE(VerifyPageRankRounds<double>(large, five.span(), 0.85, 6, 1e-6).passed);
  EXPECT_FALSE(VerifyPageRankRounds<double>(large, five.span(), 0.85, 4, 1e-6).passed);
  EXPECT_FALSE(VerifyPageRankRounds<double>(large, five.span(), 0.85, 5, 1e-6, Dangling::kAtEnd).passed);
  EXPECT_EQ(VerifyPageRankRounds<double>(MakeGraph(2, {}), std::vector<double>{0.5, 0.25}, 0.85, 3, 1e-6).message,
            "the rank of vertex 1 after 3 rounds is 0.25 instead of 0.5, a relative error above 1e-06");
}

TEST(VerifyBetweenness, FindsWhatIsSlightlyWrong) {
  const Graph graph = MakeGraph(5, {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {3, 4}});
  EXPECT_TRUE(VerifyBetweenness(graph, std::array<VertexId, 1>{0}, std::vector<double>{0, 1, 1, 1, 0}).passed);
  EXPECT_TRUE(VerifyBetweenness(graph, std::array<VertexId, 2>{0, 1}, std::vector<double>{0, 1, 1, 2, 0}).passed);
  const Verdict wrong = VerifyBetweenness(graph, std::array<VertexId, 1>{0}, std::vector<double>{0, 1, 1.0001, 1, 0});
  EXPECT_FALSE(wrong.passed);
  EXPECT_EQ(wrong.message, "vertex 2 has a centrality of 1.0001; Brandes' algorithm says 1");
  EXPECT_FALSE(VerifyBetweenness(graph, std::array<VertexId, 1>{0}, std::vector<double>{0, 1, 1, 1}).passed);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(VerifyBetweenness(graph, std::array<VertexId, 1>{0}, std::vector<double>{nan, 1, 1, 1, 0}).passed);
  EXPECT_THROW((void)VerifyBetweenness(graph, std::array<VertexId, 1>{5}, std::vector<double>{0, 1, 1, 1, 0}), UsageError);
}

TEST(VerifyBetweenness, AcceptsTheReference) {
  for (const RandomCase& c : RandomCases()) {
    const Graph graph = c.Make(WeightKind::kNone);
    if (graph.vertices() == 0) continue;
    std::vector<VertexId> all(graph.vertices());
    std::iota(all.begin(), all.end(), VertexId{0});
    EXPECT_TRUE(VerifyBetweenness(graph, all, SerialBetweenness(graph, all))) << c.seed;
  }
}

TEST(VerifyBetweenness, AShareOfVeryManyPathsMayBeNothing) {
  // Diamonds from 0 to 3000 double the paths 1000 times, and 3001 is on one more path from the end of 2999: its share is
  // negligible, but not 0.
  constexpr VertexId kDiamonds = 1000, kEnd = 3 * kDiamonds;
  std::vector<TestEdge> edges;
  for (std::uint64_t i = 0; i < kDiamonds; ++i) {
    edges.insert(edges.end(), {{3 * i, 3 * i + 1}, {3 * i, 3 * i + 2}, {3 * i + 1, 3 * i + 3}, {3 * i + 2, 3 * i + 3}});
  }
  for (std::uint64_t i = 0; i < 2 * kDiamonds; ++i) edges.push_back({i == 0 ? 0 : kEnd + i, kEnd + i + 1});
  const VertexId last = kEnd + 2 * kDiamonds, joint = last + 1;
  edges.push_back({kEnd, joint});
  edges.push_back({last, joint});  // one path in 2^1000
  const Graph graph = MakeGraph(joint + 1, edges);
  std::vector<double> answer(graph.vertices(), 0.0);
  for (VertexId v = 1; v <= kEnd; ++v) {
    const double behind = 3.0 * (kDiamonds - v / 3) + 1;
    answer[v] = v % 3 == 0 ? behind : (behind - 2) / 2;
  }
  for (VertexId i = 1; i <= 2 * kDiamonds; ++i) answer[kEnd + i] = 2 * kDiamonds - i;
  answer[last] = 1e-301;
  const std::array<VertexId, 1> source{0};
  EXPECT_TRUE(VerifyBetweenness(graph, source, answer)) << VerifyBetweenness(graph, source, answer).message;
  answer[last] = 0;
  EXPECT_TRUE(VerifyBetweenness(graph, source, answer));
  answer[last] = 1e-200;
  EXPECT_FALSE(VerifyBetweenness(graph, source, answer));
  answer[last] = 0;
  answer[joint] = 1e-301;  // on no path: nothing at all
  EXPECT_FALSE(VerifyBetweenness(graph, source, answer));
}

}  // namespace
}  // namespace chatty::test
