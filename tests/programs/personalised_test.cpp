// The reference and the verifiers of personalised PageRank.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "chatty/core/error.h"
#include "chatty/programs/reference.h"
#include "chatty/programs/verify.h"
#include "test_graphs.h"

namespace chatty::test {
namespace {

TEST(ReferencePersonalised, ByHand) {
  const Graph pair = MakeGraph(2, {{0, 1}});  // 1 dangles: walks begin anew
  const double one[] = {4, 0};
  const PageRankResult once = SerialPersonalisedPageRank(pair, one, 0.5, 1);
  EXPECT_DOUBLE_EQ(once.ranks[0], 0.5);
  EXPECT_DOUBLE_EQ(once.ranks[1], 0.5);
  const PageRankResult twice = SerialPersonalisedPageRank(pair, one, 0.5, 2);
  EXPECT_DOUBLE_EQ(twice.ranks[0], 0.75);
  EXPECT_DOUBLE_EQ(twice.ranks[1], 0.25);
  const PageRankResult settled = SerialPersonalisedPageRank(pair, one, 0.5, 1000, 1e-15);  // x = 1 - d / (1 + d) ...
  EXPECT_NEAR(settled.ranks[0], 2.0 / 3, 1e-14);
  EXPECT_NEAR(settled.ranks[1], 1.0 / 3, 1e-14);
}

TEST(ReferencePersonalised, OfAllVerticesAlikeIsPageRank) {
  const Graph graph = RandomGraph(3, 200, 3.0, WeightKind::kNone, false);
  const std::vector<double> alike(graph.vertices(), 0.25);
  const PageRankResult expected = SerialPageRank(graph, 0.85, 12);
  const PageRankResult result = SerialPersonalisedPageRank(graph, alike, 0.85, 12);
  for (VertexId v = 0; v < graph.vertices(); ++v) EXPECT_NEAR(result.ranks[v], expected.ranks[v], 1e-14);
  EXPECT_NEAR(result.change, expected.change, 1e-14);
}

TEST(ReferencePersonalised, RefusesVectorsThatMeanNothing) {
  const Graph graph = MakeGraph(2, {{0, 1}});
  const auto refused = [&](std::vector<double> teleport) {
    EXPECT_THROW(SerialPersonalisedPageRank(graph, teleport), UsageError);
  };
  refused({1});
  refused({0, 0});
  refused({1, -1});
  refused({1, std::nan("")});
  refused({1, kInfinity<double>});
  refused({1e308, 1e308});
  EXPECT_THROW(SerialPersonalisedPageRank(graph, std::vector<double>{1, 1}, 1.0), UsageError);
  EXPECT_TRUE(SerialPersonalisedPageRank(Graph(), {}).ranks.empty());
}

/// Two components, of which walks come to one; the other's ranks are 0.
struct Case {
  Graph graph = MakeGraph(7, {{0, 1}, {1, 2}, {2, 0}, {0, 3}, {4, 5}, {5, 6}, {6, 4}});
  Array<double> teleport{0, 2, 1, 0, 0, 0, 0};

  std::vector<float> Ranks(std::uint32_t rounds) const {
    const PageRankResult result = SerialPersonalisedPageRank(graph, teleport.span(), 0.85, rounds);
    return {result.ranks.begin(), result.ranks.end()};
  }
};

// One entry of a right answer, changed in every way.
TEST(VerifyPersonalisedRanks, RefusesEveryMutation) {
  const Case c;
  const auto settled = [&](const std::vector<float>& ranks) {
    return VerifyPersonalised(c.graph, ranks, c.teleport, 0.85, 1e-6).passed;
  };
  const auto counted = [&](const std::vector<float>& ranks) {
    return VerifyPersonalisedRounds(c.graph, ranks, c.teleport, 0.85, 6, 1e-5).passed;
  };
  const std::vector<float> right = c.Ranks(300), of_six = c.Ranks(6);
  ASSERT_TRUE(settled(right));
  ASSERT_TRUE(counted(of_six));
  EXPECT_FALSE(settled(of_six));
  EXPECT_FALSE(counted(right));
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (std::size_t v = 0; v < right.size(); ++v) {
    for (const bool by_rounds : {false, true}) {
      const std::vector<float>& answer = by_rounds ? of_six : right;
      const float is = answer[v];
      for (const float wrong : {is + 1e-4f, is - 1e-4f, kInf, -kInf, std::nanf(""), -is - 1e-3f, 1e30f, 1.0f,
                                is > 0 ? 0.0f : 1e-7f, is > 0 ? is * 1.001f : std::numeric_limits<float>::min()}) {
        std::vector<float> mutated = answer;
        mutated[v] = wrong;
        EXPECT_FALSE(by_rounds ? counted(mutated) : settled(mutated)) << "vertex " << v << ": " << is << " as " << wrong;
      }
    }
  }
  std::vector<float> swapped = right;
  std::swap(swapped[1], swapped[2]);
  EXPECT_FALSE(settled(swapped));
  EXPECT_FALSE(settled({right.begin(), right.end() - 1}));
  EXPECT_TRUE(VerifyPersonalised(Graph(), {}, {}, 0.85, 1e-6).passed);
}

TEST(VerifyPersonalisedRanks, DependOnTheVectorAndDamping) {
  const Case c;
  const std::vector<float> ranks = c.Ranks(300);
  const Array<double> same{0, 20, 10, 0, 0, 0, 0}, other{0, 1, 1, 0, 0, 0, 0};
  EXPECT_TRUE(VerifyPersonalised(c.graph, ranks, same, 0.85, 1e-6).passed);
  EXPECT_FALSE(VerifyPersonalised(c.graph, ranks, other, 0.85, 1e-6).passed);
  EXPECT_FALSE(VerifyPersonalised(c.graph, ranks, c.teleport, 0.8, 1e-6).passed);
  EXPECT_EQ(VerifyPersonalised(c.graph, std::vector<float>{0.1f, 0.1f, 0.1f, 0.1f, 0.2f, 0.2f, 0.2f}, c.teleport, 0.85, 1e-6)
                .message,
            "the rank of vertex 4 is 0.2, and no walk comes there");
}

}  // namespace
}  // namespace chatty::test
