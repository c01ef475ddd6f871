// Each verifier accepts the right answer and rejects every way of spoiling it, at every vertex of many random graphs.
// Where the right answer is unique, any change must be found.
#include "chatty/programs/verify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "chatty/core/error.h"
#include "chatty/programs/reference.h"
#include "test_graphs.h"

namespace chatty::test {
namespace {

// A graph of many ranges of vertices, so that threads share the work.
Graph LargeGraph(WeightKind kind = WeightKind::kNone) { return RandomGraph(99, 20000, 2.5, kind, false); }

// ---------------------------------------------------------------- BFS ----

TEST(VerifyBfsLevels, AcceptsTheReference) {
  for (const RandomCase& random : RandomCases()) {
    SCOPED_TRACE(random.seed);
    const Graph graph = random.Make();
    for (VertexId source = 0; source < graph.vertices(); source += 3) {
      const Verdict verdict = VerifyBfsLevels(graph, source, SerialBfs(graph, source).span());
      EXPECT_TRUE(verdict.passed) << verdict.message;
    }
  }
  const Graph large = LargeGraph();
  EXPECT_TRUE(VerifyBfsLevels(large, 5, SerialBfs(large, 5).span()).passed);
}

TEST(VerifyBfsLevels, FindsAnyChangeAnywhere) {
  std::uint64_t changes = 0;
  for (const RandomCase& random : RandomCases()) {
    SCOPED_TRACE(random.seed);
    const Graph graph = random.Make();
    const VertexId source = random.vertices / 2;
    Array<std::uint32_t> levels = SerialBfs(graph, source);
    for (VertexId v = 0; v < graph.vertices(); ++v) {
      const std::uint32_t right = levels[v];
      for (const std::uint32_t wrong : {right + 1, right - 1, std::uint32_t{0}, std::uint32_t{1}, kFar, kFar - 1}) {
        if (wrong == right) continue;
        levels[v] = wrong;
        EXPECT_FALSE(VerifyBfsLevels(graph, source, levels.span()).passed) << v << ": " << right << " as " << wrong;
        ++changes;
      }
      levels[v] = right;
    }
  }
  EXPECT_GT(changes, 1000u);
}

TEST(VerifyBfsLevels, SaysWhatIsWrong) {
  const Graph graph = MakeGraph(5, {{0, 1}, {1, 2}, {2, 3}, {0, 2}});
  const auto message = [&](std::vector<std::uint32_t> levels) {
    const Verdict verdict = VerifyBfsLevels(graph, 0, levels);
    return (verdict.passed ? "passed: " : "") + verdict.message;
  };
  EXPECT_EQ(message({0, 1, 1, 2, kFar}), "passed: levels hold: 4 of 5 vertices reached, 2 deep, 4 edges checked");
  EXPECT_EQ(message({0, 1, 1, 2}), "the answer has 4 values, the graph 5 vertices");
  EXPECT_EQ(message({1, 1, 1, 2, kFar}), "the source, vertex 0, is at level 1 instead of 0");
  EXPECT_EQ(message({kFar, 1, 1, 2, kFar}), "the source, vertex 0, is said to be unreached");
  EXPECT_EQ(message({0, 1, 1, 0, kFar}), "vertex 3 is at level 0 but is not the source");
  EXPECT_EQ(message({0, 1, 2, 3, kFar}),
            "vertex 0 is at level 0 and has an edge to vertex 2, which is at level 2 instead of 1 at most");
  EXPECT_EQ(message({0, 1, 1, kFar, kFar}),
            "vertex 2 is at level 1 and has an edge to vertex 3, which is said to be unreached");
  EXPECT_EQ(message({0, 1, 1, 2, 5}), "vertex 4 is at level 5, but none of its in-neighbours is at level 4");
}

TEST(VerifyBfsLevels, NamesTheFileIdsAndLabels) {
  Adjacency path{Array<EdgeIndex>{0, 1, 1}, Array<VertexId>{1}, {}};
  Graph graph(std::move(path), false, 1);
  graph.set_labels({"bash", "libc6"});
  EXPECT_EQ(VerifyBfsLevels(graph, 0, std::vector<std::uint32_t>{0, kFar}).message,
            "vertex 1 (bash) is at level 0 and has an edge to vertex 2 (libc6), which is said to be unreached");
}

TEST(VerifyBfsLevels, NamesTheLeastOfManyFaults) {
  const Graph large = LargeGraph();
  Array<std::uint32_t> levels = SerialBfs(large, 5);
  // Vertices without in-edges: nothing but their own level is at fault.
  std::vector<VertexId> lonely;
  for (VertexId v = 0; v < large.vertices(); ++v) {
    if (large.in_degree(v) == 0 && large.out_degree(v) == 0) lonely.push_back(v);
  }
  ASSERT_GT(lonely.size(), 10u);
  for (std::size_t i = lonely.size() / 2; i < lonely.size(); ++i) levels[lonely[i]] = 7;
  const std::string least = "vertex " + std::to_string(lonely[lonely.size() / 2]) + " ";
  for (int repeat = 0; repeat < 20; ++repeat) {
    const Verdict verdict = VerifyBfsLevels(large, 5, levels.span());
    EXPECT_FALSE(verdict.passed);
    EXPECT_EQ(verdict.message.substr(0, least.size()), least);
  }
}

TEST(VerifyBfsParents, AcceptsAnyParentOneLevelUp) {
  for (const RandomCase& random : RandomCases()) {
    SCOPED_TRACE(random.seed);
    const Graph graph = random.Make();
    const VertexId source = random.vertices / 2;
    const Array<std::uint32_t> levels = SerialBfs(graph, source);
    Array<VertexId> parents = SerialBfsParents(graph, source);
    const Verdict verdict = VerifyBfsParents(graph, source, parents.span(), levels.span());
    EXPECT_TRUE(verdict.passed) << verdict.message;
    for (VertexId v = 0; v < graph.vertices(); ++v) {  // the greatest instead of the least
      for (const VertexId u : graph.in()[v]) {
        if (v != source && levels[u] != kFar && levels[u] + 1 == levels[v]) parents[v] = u;
      }
    }
    EXPECT_TRUE(VerifyBfsParents(graph, source, parents.span()).passed);
    EXPECT_TRUE(VerifyBfsParents(graph, source, parents.span(), levels.span()).passed);
  }
  const Graph large = LargeGraph();
  EXPECT_TRUE(VerifyBfsParents(large, 5, SerialBfsParents(large, 5).span(), SerialBfs(large, 5).span()).passed);
}

TEST(VerifyBfsParents, FindsEveryWrongParent) {
  std::uint64_t changes = 0;
  for (const RandomCase& random : RandomCases()) {
    SCOPED_TRACE(random.seed);
    const Graph graph = random.Make();
    const VertexId n = graph.vertices(), source = n / 2;
    const Array<std::uint32_t> levels = SerialBfs(graph, source);
    Array<VertexId> parents = SerialBfsParents(graph, source);
    for (VertexId v = 0; v < n; ++v) {
      const VertexId kept = parents[v];
      std::vector<VertexId> tried{kNoVertex, n, kNoVertex - 1};
      for (VertexId u = 0; u < n; ++u) tried.push_back(u);
      for (const VertexId parent : tried) {
        // What is right: none for the unreached, itself for the source, else any in-neighbour one level up.
        bool right = false;
        if (levels[v] == kFar) {
          right = parent == kNoVertex;
        } else if (v == source) {
          right = parent == source;
        } else if (parent < n && levels[parent] != kFar && levels[parent] + 1 == levels[v]) {
          const auto children = graph.out()[parent];
          right = std::find(children.begin(), children.end(), v) != children.end();
        }
        parents[v] = parent;
        EXPECT_EQ(VerifyBfsParents(graph, source, parents.span()).passed, right) << v << " below " << parent;
        changes += !right;
      }
      parents[v] = kept;
    }
  }
  EXPECT_GT(changes, 5000u);
}

TEST(VerifyBfsParents, SaysWhatIsWrong) {
  // 0 -> 1 -> 2 -> 3 -> 1, 0 -> 4 and 4 -> 3, and a pair 5 <-> 6 aside.
  const Graph graph = MakeGraph(7, {{0, 1}, {1, 2}, {2, 3}, {3, 1}, {0, 4}, {4, 3}, {5, 6}, {6, 5}});
  const VertexId none = kNoVertex;
  const auto message = [&](std::vector<VertexId> parents, std::vector<std::uint32_t> levels = {}) {
    const Verdict verdict = VerifyBfsParents(graph, 0, parents, levels);
    return (verdict.passed ? "passed: " : "") + verdict.message;
  };
  EXPECT_EQ(message({0, 0, 1, 4, 0, none, none}), "passed: parents hold: 5 of 7 vertices reached, 2 deep, 8 edges checked");
  EXPECT_EQ(message({0, 0, 1, 4, 0, none}), "the answer has 6 values, the graph 7 vertices");
  EXPECT_EQ(message({none, 0, 1, 4, 0, none, none}), "the source, vertex 0, has no parent instead of itself");
  EXPECT_EQ(message({1, 0, 1, 4, 0, none, none}), "the parent of the source, vertex 0, is vertex 1 instead of itself");
  EXPECT_EQ(message({0, 0, 1, 9, 0, none, none}), "the parent of vertex 3 is vertex 9, which is not a vertex: there are 7");
  EXPECT_EQ(message({0, 0, 1, 0, 0, none, none}), "the parent of vertex 3 is vertex 0, but there is no such edge");
  EXPECT_EQ(message({0, 0, 2, 4, 0, none, none}), "vertex 2 is its own parent but is not the source");
  EXPECT_EQ(message({0, 3, 1, 2, 0, none, none}), "the parents of vertex 1 run in a circle and never reach the source");
  EXPECT_EQ(message({0, 0, 1, 4, 0, 6, 5}), "the parents of vertex 5 run in a circle and never reach the source");
  EXPECT_EQ(message({0, 0, 1, 4, 0, none, 5}),
            "the parents of vertex 6 lead to vertex 5, which has none, instead of the source");
  EXPECT_EQ(message({0, 0, 1, 2, 0, none, none}),
            "by its parents, vertex 4 is at level 1 and has an edge to vertex 3, which is at level 3 instead of 2 at most");
  EXPECT_EQ(message({0, 0, none, 4, 0, none, none}),
            "by its parents, vertex 1 is at level 1 and has an edge to vertex 2, which is said to be unreached");
  EXPECT_EQ(message({0, 0, 1, 4, 0, none, none}, {0, 1, 2, 2, 2, kFar, kFar}),
            "vertex 4 has level 2, but its parents are 1 steps to the source");
  EXPECT_EQ(message({0, 0, 1, 4, 0, none, none}, {0, 1, 2, 2, 1, 3, kFar}), "vertex 5 has level 3 but no parent");
  EXPECT_EQ(message({0, 0, 1, 4, 0, none, none}, {0, kFar, 2, 2, 1, kFar, kFar}),
            "vertex 1 has a parent but is said to be unreached");
}

TEST(VerifyBfsParents, LongChainsAndLongCircles) {
  constexpr VertexId kLength = 100000;
  std::vector<TestEdge> edges;
  for (std::uint64_t v = 0; v + 1 < kLength; ++v) edges.push_back({v + 1, v});  // ids descend along the chain
  edges.push_back({0, kLength - 2});
  const Graph graph = MakeGraph(kLength, edges);
  Array<VertexId> parents(kLength);
  for (VertexId v = 0; v < kLength; ++v) parents[v] = v + 1 < kLength ? v + 1 : v;
  EXPECT_TRUE(VerifyBfsParents(graph, kLength - 1, parents.span(), SerialBfs(graph, kLength - 1).span()).passed);
  parents[kLength - 2] = 0;
  EXPECT_EQ(VerifyBfsParents(graph, kLength - 1, parents.span()).message,
            "the parents of vertex 0 run in a circle and never reach the source");
}

// --------------------------------------------------------------- SSSP ----

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

// --------------------------------------------------------- components ----

TEST(VerifyComponents, AcceptsTheReference) {
  for (const RandomCase& random : RandomCases()) {
    SCOPED_TRACE(random.seed);
    const Graph graph = random.Make();
    const Verdict verdict = VerifyComponents(graph, SerialComponents(graph).span());
    EXPECT_TRUE(verdict.passed) << verdict.message;
  }
  const Graph large = LargeGraph();
  EXPECT_TRUE(VerifyComponents(large, SerialComponents(large).span()).passed);
  EXPECT_TRUE(VerifyComponents(Graph(), {}).passed);
}

TEST(VerifyComponents, FindsAnyChangeAnywhere) {
  std::uint64_t changes = 0;
  for (const RandomCase& random : RandomCases()) {
    SCOPED_TRACE(random.seed);
    const Graph graph = random.Make();
    Array<VertexId> labels = SerialComponents(graph);
    for (VertexId v = 0; v < graph.vertices(); ++v) {
      const VertexId right = labels[v];
      std::vector<VertexId> wrongs{kNoVertex, graph.vertices(), right + 1};
      for (VertexId u = 0; u < graph.vertices(); ++u) wrongs.push_back(u);
      for (const VertexId wrong : wrongs) {
        if (wrong == right) continue;
        labels[v] = wrong;
        EXPECT_FALSE(VerifyComponents(graph, labels.span()).passed) << v << ": " << right << " as " << wrong;
        ++changes;
      }
      labels[v] = right;
    }
  }
  EXPECT_GT(changes, 5000u);
}

TEST(VerifyComponents, FindsWholeComponentsMergedOrRenamed) {
  std::uint64_t merges = 0;
  for (const RandomCase& random : RandomCases()) {
    SCOPED_TRACE(random.seed);
    const Graph graph = random.Make();
    const Array<VertexId> right = SerialComponents(graph);
    const std::set<VertexId> names(right.begin(), right.end());
    for (const VertexId from : names) {
      for (const VertexId to : names) {
        if (from == to) continue;
        Array<VertexId> labels = right.Clone();
        std::replace(labels.begin(), labels.end(), from, to);
        EXPECT_FALSE(VerifyComponents(graph, labels.span()).passed) << from << " as " << to;
        ++merges;
      }
      // Its greatest member instead of its least.
      VertexId greatest = from;
      for (VertexId v = 0; v < graph.vertices(); ++v) greatest = right[v] == from ? v : greatest;
      if (greatest == from) continue;
      Array<VertexId> labels = right.Clone();
      std::replace(labels.begin(), labels.end(), from, greatest);
      EXPECT_FALSE(VerifyComponents(graph, labels.span()).passed);
    }
  }
  EXPECT_GT(merges, 500u);
}

TEST(VerifyComponents, SaysWhatIsWrong) {
  const Graph graph = MakeGraph(5, {{2, 0}, {1, 3}});
  const auto message = [&](std::vector<VertexId> labels) {
    const Verdict verdict = VerifyComponents(graph, labels);
    return (verdict.passed ? "passed: " : "") + verdict.message;
  };
  EXPECT_EQ(message({0, 1, 0, 1, 4}), "passed: components hold: 3 of 5 vertices, 2 edges checked");
  EXPECT_EQ(message({0, 1, 0}), "the answer has 3 values, the graph 5 vertices");
  EXPECT_EQ(message({0, 1, kNoVertex, 1, 4}), "vertex 2 has no label");
  EXPECT_EQ(message({2, 1, 2, 1, 4}), "the label of vertex 0 is vertex 2, not the least of its component");
  EXPECT_EQ(message({0, 1, 0, 2, 4}), "the label of vertex 3 is vertex 2, which has the label vertex 0 itself");
  EXPECT_EQ(message({0, 1, 0, 3, 4}), "the edge from vertex 1 to vertex 3 joins the labels vertex 1 and vertex 3");
  EXPECT_EQ(message({0, 1, 0, 1, 1}),
            "vertex 4 has the label vertex 1, but no path joins them: there are 3 components and 2 labels");
}

// ----------------------------------------------------------- PageRank ----

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

// ------------------------------------------------------------ betweenness ----

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
