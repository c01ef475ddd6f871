// Each verifier accepts the right answer and rejects every way of spoiling it, at every vertex of many random graphs.
// Where the right answer is unique, any change must be found. Here: distances.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "chatty/core/error.h"
#include "chatty/programs/reference.h"
#include "chatty/programs/verify.h"
#include "test_graphs.h"

namespace chatty::test {
namespace {

template <class T>
class VerifySsspTest : public testing::Test {};
using DistanceTypes = testing::Types<std::int32_t, std::uint32_t, std::int64_t, float, double>;
TYPED_TEST_SUITE(VerifySsspTest, DistanceTypes);

template <class Distance>
constexpr WeightKind KindFor() {
  return std::is_integral_v<Distance> ? WeightKind::kInt32 : WeightKind::kFloat32;
}

template <class Distance>
Distance Above(Distance d) {
  if constexpr (std::is_integral_v<Distance>) return d + 1;
  return std::nextafter(d, std::numeric_limits<Distance>::infinity());
}

template <class Distance>
Distance Below(Distance d) {
  if constexpr (std::is_integral_v<Distance>) return d - 1;
  return std::nextafter(d, -std::numeric_limits<Distance>::infinity());
}

TYPED_TEST(VerifySsspTest, AcceptsTheReference) {
  for (const RandomCase& random : RandomCases()) {
    SCOPED_TRACE(random.seed);
    for (const WeightKind kind : {WeightKind::kNone, WeightKind::kInt32, KindFor<TypeParam>()}) {
      const Graph graph = random.Make(kind);
      for (VertexId source = 0; source < graph.vertices(); source += 5) {
        const Verdict verdict = VerifySssp<TypeParam>(graph, source, SerialSssp<TypeParam>(graph, source).span());
        EXPECT_TRUE(verdict.passed) << verdict.message;
      }
    }
  }
  const Graph large = LargeGraph(KindFor<TypeParam>());
  EXPECT_TRUE(VerifySssp<TypeParam>(large, 5, SerialSssp<TypeParam>(large, 5).span()).passed);
}

TYPED_TEST(VerifySsspTest, FindsAnyChangeAnywhere) {
  using Distance = TypeParam;
  std::uint64_t changes = 0;
  for (const RandomCase& random : RandomCases()) {
    SCOPED_TRACE(random.seed);
    const Graph graph = random.Make(KindFor<Distance>());
    const VertexId source = random.vertices / 2;
    Array<Distance> distances = SerialSssp<Distance>(graph, source);
    for (VertexId v = 0; v < graph.vertices(); ++v) {
      const Distance right = distances[v];
      std::vector<Distance> wrongs{Distance{0},
                                   Distance{1},
                                   static_cast<Distance>(-1),
                                   kInfinity<Distance>,
                                   Below<Distance>(kInfinity<Distance>),
                                   static_cast<Distance>(right / 2)};
      if (right != kInfinity<Distance>) {
        wrongs.insert(wrongs.end(), {Above(right), Below(right), static_cast<Distance>(right + 5)});
      }
      if (!std::is_integral_v<Distance>) wrongs.push_back(std::numeric_limits<Distance>::quiet_NaN());
      for (const Distance wrong : wrongs) {
        if (wrong == right) continue;
        distances[v] = wrong;
        EXPECT_FALSE(VerifySssp<Distance>(graph, source, distances.span()).passed) << v << ": " << right << " as " << wrong;
        ++changes;
      }
      distances[v] = right;
    }
  }
  EXPECT_GT(changes, 1000u);
}

// Moving many vertices at once keeps all edges satisfied: only the lack of a tight path from the source tells.
TYPED_TEST(VerifySsspTest, FindsDistancesThatAreSmallerTogether) {
  using Distance = TypeParam;
  const WeightKind kind = KindFor<Distance>();
  // The circle 1 -> 2 -> 3 -> 1 of zero weight is 6 from the source. Closer together, each still has a tight in-edge.
  const Graph circle = MakeGraph(5, {{0, 1, 6}, {1, 2, 0}, {2, 3, 0}, {3, 1, 0}, {3, 4, 2}}, kind);
  const std::vector<Distance> right{0, 6, 6, 6, 8}, closer{0, 4, 4, 4, 6};
  EXPECT_TRUE(VerifySssp<Distance>(circle, 0, right).passed);
  EXPECT_EQ(VerifySssp<Distance>(circle, 0, closer).message,
            "vertex 1 is said to be at distance 4, but no path from the source is that short");
  // A circle that the source does not reach at all.
  const Graph aside = MakeGraph(4, {{0, 1, 3}, {2, 3, 0}, {3, 2, 0}}, kind);
  const Distance never = kInfinity<Distance>;
  EXPECT_TRUE(VerifySssp<Distance>(aside, 0, std::vector<Distance>{0, 3, never, never}).passed);
  EXPECT_EQ(VerifySssp<Distance>(aside, 0, std::vector<Distance>{0, 3, 5, 5}).message,
            "vertex 2 is said to be at distance 5, but no path from the source is that short");
  EXPECT_FALSE(VerifySssp<Distance>(aside, 0, std::vector<Distance>{0, 3, 0, 0}).passed);
  // A loop of zero weight supports no vertex either.
  const Graph loop = MakeGraph(3, {{0, 1, 3}, {1, 1, 0}, {2, 2, 0}}, kind);
  EXPECT_TRUE(VerifySssp<Distance>(loop, 0, std::vector<Distance>{0, 3, never}).passed);
  EXPECT_FALSE(VerifySssp<Distance>(loop, 0, std::vector<Distance>{0, 2, never}).passed);
  EXPECT_FALSE(VerifySssp<Distance>(loop, 0, std::vector<Distance>{0, 3, 4}).passed);
}

TYPED_TEST(VerifySsspTest, FollowsLongRunsOfZeroWeight) {
  using Distance = TypeParam;
  constexpr std::uint64_t kLength = 10000;
  std::vector<TestEdge> edges{{kLength, kLength - 1, 3}};
  for (std::uint64_t v = 0; v + 1 < kLength; ++v) edges.push_back({v + 1, v, 0});  // against the order of ids
  edges.push_back({0, kLength - 1, 0});
  const Graph graph = MakeGraph(kLength + 1, edges, KindFor<Distance>());
  Array<Distance> distances(kLength + 1, Distance{3});
  distances[kLength] = 0;
  EXPECT_TRUE(VerifySssp<Distance>(graph, kLength, distances.span()).passed);
  std::fill_n(distances.begin(), kLength, Distance{2});
  EXPECT_FALSE(VerifySssp<Distance>(graph, kLength, distances.span()).passed);
}

TEST(VerifySssp, AFloatSumThatAbsorbsItsWeightIsTightInACircleToo) {
  // 1e8 + 1 == 1e8 in float: 1 and 2 support each other at any large distance.
  const Graph graph = MakeGraph(3, {{0, 1, 2e8}, {1, 2, 1}, {2, 1, 1}}, WeightKind::kFloat32);
  EXPECT_TRUE(VerifySssp<float>(graph, 0, std::vector<float>{0, 2e8f, 2e8f}).passed);
  EXPECT_FALSE(VerifySssp<float>(graph, 0, std::vector<float>{0, 1e8f, 1e8f}).passed);
  EXPECT_FALSE(VerifySssp<double>(graph, 0, std::vector<double>{0, 2e8, 2e8}).passed);
  EXPECT_TRUE(VerifySssp<double>(graph, 0, std::vector<double>{0, 2e8, 2e8 + 1}).passed);
}

TEST(VerifySssp, PathsTooLongForTheTypeAreNotUnreached) {
  constexpr double kHalf = 1 << 30;
  const Graph graph = MakeGraph(3, {{0, 1, kHalf}, {1, 2, kHalf}}, WeightKind::kInt32);
  const std::int32_t half = 1 << 30;
  EXPECT_EQ(VerifySssp<std::int32_t>(graph, 0, std::vector<std::int32_t>{0, half, kInfinity<std::int32_t>}).message,
            "vertex 1 is at distance 1073741824 and has an edge of weight 1073741824 to vertex 2, which is said to be "
            "unreached");
  // The sum wrapped around.
  const std::int32_t wrapped = std::numeric_limits<std::int32_t>::min();
  EXPECT_EQ(VerifySssp<std::int32_t>(graph, 0, std::vector<std::int32_t>{0, half, wrapped}).message,
            "the distance of vertex 2 is -2147483648");
  EXPECT_TRUE(VerifySssp<std::int64_t>(graph, 0, std::vector<std::int64_t>{0, half, std::int64_t{1} << 31}).passed);
  EXPECT_TRUE(VerifySssp<std::uint32_t>(graph, 0, std::vector<std::uint32_t>{0, 1u << 30, 1u << 31}).passed);
  // A float sum that overflows is infinity, which is "unreached".
  const Graph huge = MakeGraph(3, {{0, 1, 3e38}, {1, 2, 3e38}}, WeightKind::kFloat32);
  EXPECT_EQ(SerialSssp<float>(huge, 0)[2], kInfinity<float>);
  EXPECT_TRUE(VerifySssp<float>(huge, 0, std::vector<float>{0, 3e38f, kInfinity<float>}).passed);
}

// A part of an infinite distance is infinite, and so is what a finite distance differs from it by.
TEST(VerifySsspWithin, FindsAnyChangeAnywhere) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  std::uint64_t unreached = 0;
  for (const RandomCase& random : RandomCases()) {
    SCOPED_TRACE(random.seed);
    for (const WeightKind kind : {WeightKind::kInt32, WeightKind::kFloat32}) {
      const Graph graph = RandomGraph(random.seed, random.vertices, 1.5, kind, false);
      const VertexId source = random.vertices / 2;
      Array<float> distances(graph.vertices());
      const Array<double> exact = SerialSssp<double>(graph, source);
      for (VertexId v = 0; v < graph.vertices(); ++v) distances[v] = static_cast<float>(exact[v]);
      const Verdict verdict = VerifySsspWithin(graph, source, distances.span(), 1e-4);
      EXPECT_TRUE(verdict.passed) << verdict.message;
      for (VertexId v = 0; v < graph.vertices(); ++v) {
        const float right = distances[v];
        unreached += right == kInf;
        for (const float wrong : {right + 1, right * 1.001F, -right, -1.0F, 0.0F, 5.0F, 1e30F,
                                  std::numeric_limits<float>::max(), kInf, -kInf, std::nanf("")}) {
          if (wrong == right) continue;
          distances[v] = wrong;
          EXPECT_FALSE(VerifySsspWithin(graph, source, distances.span(), 1e-4).passed)
              << v << ": " << right << " as " << wrong;
        }
        distances[v] = right;
      }
    }
  }
  EXPECT_GT(unreached, 50u);
}

TEST(VerifySssp, SaysWhatIsWrong) {
  const Graph graph = MakeGraph(4, {{0, 1, 2}, {1, 2, 3}}, WeightKind::kInt32);
  const std::int32_t never = kInfinity<std::int32_t>;
  const auto message = [&](std::vector<std::int32_t> distances) {
    const Verdict verdict = VerifySssp<std::int32_t>(graph, 0, distances);
    return (verdict.passed ? "passed: " : "") + verdict.message;
  };
  EXPECT_EQ(message({0, 2, 5, never}),
            "passed: distances hold: 3 of 4 vertices reached, the farthest at 5, 2 edges checked");
  EXPECT_EQ(message({0, 2, 5}), "the answer has 3 values, the graph 4 vertices");
  EXPECT_EQ(message({1, 2, 5, never}), "the distance of the source, vertex 0, is 1 instead of 0");
  EXPECT_EQ(message({0, 2, -5, never}), "the distance of vertex 2 is -5");
  EXPECT_EQ(message({0, 2, 6, never}),
            "vertex 1 is at distance 2 and has an edge of weight 3 to vertex 2, which is at 6 instead of 5 at most");
  EXPECT_EQ(message({0, 2, 4, never}), "vertex 2 is said to be at distance 4, but no path from the source is that short");
  EXPECT_EQ(message({0, 2, 5, 9}), "vertex 3 is said to be at distance 9, but no path from the source is that short");
}

TEST(VerifySssp, RefusesQuestionsWithoutAnAnswer) {
  const Graph negative = MakeGraph(2, {{0, 1, -1}}, WeightKind::kInt32);
  EXPECT_THROW((void)VerifySssp<std::int32_t>(negative, 0, std::vector<std::int32_t>{0, 1}), UsageError);
  const Graph floats = MakeGraph(2, {{0, 1, 1}}, WeightKind::kFloat32);
  EXPECT_THROW((void)VerifySssp<std::int32_t>(floats, 0, std::vector<std::int32_t>{0, 1}), UsageError);
  EXPECT_THROW((void)VerifySssp<float>(floats, 2, std::vector<float>{0, 1}), UsageError);
  EXPECT_THROW((void)VerifyBfsLevels(floats, 2, std::vector<std::uint32_t>{0, 1}), UsageError);
  EXPECT_THROW((void)VerifyBfsParents(floats, 2, std::vector<VertexId>{0, 0}), UsageError);
}

}  // namespace
}  // namespace chatty::test
