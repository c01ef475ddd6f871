// Rows of an adjacency: of lists in pieces, reversed, sorted, simplified, and symmetric or not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <random>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "../sanitized.h"
#include "chatty/core/error.h"
#include "chatty/core/graph.h"
#include "graph_model.h"

namespace chatty {
namespace {

using test::Part;
using test::PlainEdge;
using test::PlainEdges;
using test::RandomList;
using test::Shape;

// ---- Transpose and in-edges

class TransposeTest : public testing::TestWithParam<WeightKind> {};

TEST_P(TransposeTest, ReversesEveryEdge) {
  std::uint64_t seed = 70;
  for (const Shape& shape : {Shape{1, 5, 1}, Shape{50, 300, 2}, Shape{400, 270000, 2}, Shape{120000, 50000, 1}}) {
    if (CHATTY_TEST_SANITIZED && shape.edges > 50000 && GetParam() != WeightKind::kInt32) continue;
    const Graph graph = BuildGraph(RandomList(shape, GetParam(), ++seed), {});
    std::vector<PlainEdge> expected = PlainEdges(shape.vertices, graph.out());
    for (PlainEdge& edge : expected) std::swap(std::get<0>(edge), std::get<1>(edge));
    std::sort(expected.begin(), expected.end());
    for (const int threads : {1, 3}) {
      const Adjacency transposed = Transpose(graph.vertices(), graph.out(), threads);
      ASSERT_EQ(KindOf(transposed.weights), GetParam());
      ASSERT_TRUE(PlainEdges(shape.vertices, transposed) == expected) << shape.vertices << " vertices";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Weights, TransposeTest,
                         testing::Values(WeightKind::kNone, WeightKind::kInt32, WeightKind::kFloat32),
                         [](const auto& info) { return std::string(WeightName(info.param)); });

TEST(Adjacency, OfAListInPiecesIsThatOfTheWholeList) {
  constexpr VertexId kVertices = 500;
  for (const WeightKind kind : {WeightKind::kNone, WeightKind::kInt32, WeightKind::kFloat32}) {
    for (const std::size_t edges : {std::size_t{0}, std::size_t{1}, std::size_t{3000}, std::size_t{300000}}) {
      const EdgeList list = RandomList(edges, kVertices, edges, kind);
      std::mt19937_64 random(edges);
      std::vector<std::pair<std::size_t, std::size_t>> cuts;
      for (std::size_t at = 0; at < edges;) {
        const std::size_t end = std::min<std::size_t>(edges, at + random() % (edges / 3 + 2));  // now and then nothing
        cuts.emplace_back(at, end);
        at = end;
      }
      std::shuffle(cuts.begin(), cuts.end(), random);
      std::vector<EdgeList> pieces;
      for (const auto& [begin, end] : cuts) pieces.push_back(Part(list, begin, end));
      BuildOptions options{.symmetrise = true, .remove_loops = true, .merge_parallel = true};
      BuildReport whole_report, report;
      const Adjacency whole = BuildAdjacency(RandomList(edges, kVertices, edges, kind), options, &whole_report);
      const Adjacency joined = BuildAdjacency(kVertices, std::move(pieces), options, &report);
      EXPECT_EQ(PlainEdges(kVertices, joined), PlainEdges(kVertices, whole));
      EXPECT_EQ(report.edges_given, edges);
      EXPECT_EQ(report.loops_removed, whole_report.loops_removed);
      EXPECT_EQ(report.parallel_merged, whole_report.parallel_merged);
    }
  }
}

TEST(Adjacency, PiecesOfIntegersAndOfFloatsMakeFloats) {
  std::vector<EdgeList> pieces(3);
  pieces[0].sources = {0};
  pieces[0].targets = {1};
  pieces[0].weights = Array<std::int32_t>{7};
  pieces[1].sources = {1};
  pieces[1].targets = {0};
  pieces[1].weights = Array<float>{0.5f};
  pieces[2].weights = Array<std::int32_t>();
  const Adjacency rows = BuildAdjacency(2, std::move(pieces), {});
  ASSERT_TRUE(std::holds_alternative<Array<float>>(rows.weights));
  EXPECT_EQ(std::get<Array<float>>(rows.weights)[0], 7.0f);
  EXPECT_EQ(std::get<Array<float>>(rows.weights)[1], 0.5f);

  std::vector<EdgeList> some(2);
  some[0].weights = Array<float>();
  some[1].sources = {0};
  some[1].targets = {0};
  EXPECT_THROW(BuildAdjacency(1, std::move(some), {}), InputError) << "weights for some edges only";
}

TEST(Adjacency, ListsAreSortedAndSimplifiedInPlace) {
  constexpr VertexId kVertices = 60;
  for (const WeightKind kind : {WeightKind::kNone, WeightKind::kInt32, WeightKind::kFloat32}) {
    Adjacency rows = BuildAdjacency(RandomList(9, kVertices, 2500, kind), {});
    const std::vector<PlainEdge> sorted = PlainEdges(kVertices, rows);
    std::mt19937_64 random(3);
    for (VertexId v = 0; v < kVertices; ++v) {
      for (EdgeIndex e = rows.offsets[v + 1]; e > rows.offsets[v] + 1; --e) {
        const EdgeIndex other = rows.offsets[v] + random() % (e - rows.offsets[v]);
        std::swap(rows.neighbours[e - 1], rows.neighbours[other]);
        std::visit(
            [&](auto& weights) {
              if constexpr (!std::is_same_v<std::decay_t<decltype(weights)>, std::monostate>) {
                std::swap(weights[e - 1], weights[other]);
              }
            },
            rows.weights);
      }
    }
    ASSERT_NE(PlainEdges(kVertices, rows), sorted);
    SortLists(rows);
    EXPECT_EQ(PlainEdges(kVertices, rows), sorted);

    for (const BuildOptions& options : {BuildOptions{.remove_loops = true}, BuildOptions{.merge_parallel = true},
                                        BuildOptions{.remove_loops = true, .merge_parallel = true}, BuildOptions{}}) {
      BuildReport expected_report, report;
      const Adjacency expected = BuildAdjacency(RandomList(9, kVertices, 2500, kind), options, &expected_report);
      Adjacency simple = BuildAdjacency(RandomList(9, kVertices, 2500, kind), {});
      SimplifyLists(simple, options, &report);
      EXPECT_EQ(PlainEdges(kVertices, simple), PlainEdges(kVertices, expected));
      EXPECT_EQ(report.loops_removed, expected_report.loops_removed);
      EXPECT_EQ(report.parallel_merged, expected_report.parallel_merged);
      EXPECT_EQ(report.edges_kept, expected_report.edges_kept);
    }
  }
}

TEST(Adjacency, TheLightestParallelEdgeIsKeptWhereverItStands) {
  Adjacency rows;
  rows.offsets = {0, 4, 4, 6};
  rows.neighbours = {1, 1, 1, 2, 0, 0};
  rows.weights = Array<float>{1.5f, -0.5f, 3, 7, 2, 2};
  SimplifyLists(rows, {.merge_parallel = true});
  EXPECT_EQ(std::vector<VertexId>(rows.neighbours.begin(), rows.neighbours.end()), (std::vector<VertexId>{1, 2, 0}));
  const auto& weights = std::get<Array<float>>(rows.weights);
  EXPECT_EQ(std::vector<float>(weights.begin(), weights.end()), (std::vector<float>{-0.5f, 7, 2}));
}

TEST(Adjacency, KnowsWhetherItIsSymmetric) {
  for (const WeightKind kind : {WeightKind::kNone, WeightKind::kInt32, WeightKind::kFloat32}) {
    Adjacency rows = BuildAdjacency(RandomList(1, 200, 3000, kind), {.symmetrise = true});
    EXPECT_TRUE(IsSymmetric(rows)) << "parallel edges and loops are";
    if (auto* weights = std::get_if<Array<std::int32_t>>(&rows.weights)) {
      const std::int32_t kept = std::exchange((*weights)[17], 1000);
      EXPECT_FALSE(IsSymmetric(rows)) << "a weight that differs from its reverse's";
      (*weights)[17] = kept;
      EXPECT_TRUE(IsSymmetric(rows));
    }
    EXPECT_FALSE(IsSymmetric(BuildAdjacency(RandomList(1, 200, 3000, kind), {})));
  }
  const auto of = [](std::initializer_list<std::pair<VertexId, VertexId>> edges) {
    EdgeList list;
    list.vertices = 4;
    list.sources = Array<VertexId>(edges.size());
    list.targets = Array<VertexId>(edges.size());
    std::size_t e = 0;
    for (const auto& [u, v] : edges) {
      list.sources[e] = u;
      list.targets[e++] = v;
    }
    return BuildAdjacency(std::move(list), {});
  };
  EXPECT_TRUE(IsSymmetric(of({})));
  EXPECT_TRUE(IsSymmetric(of({{2, 2}})));
  EXPECT_TRUE(IsSymmetric(of({{0, 1}, {1, 0}})));
  EXPECT_FALSE(IsSymmetric(of({{0, 1}})));
  EXPECT_FALSE(IsSymmetric(of({{0, 1}, {0, 1}, {1, 0}}))) << "as often";
  EXPECT_FALSE(IsSymmetric(of({{0, 1}, {1, 2}, {2, 0}}))) << "a circle";
  EXPECT_TRUE(IsSymmetric(Adjacency{}));
}

TEST(Adjacency, DirectedCirclesAreNotSymmetric) {
  for (VertexId n = 3; n < 40; ++n) {
    for (VertexId step = 1; step < n; ++step) {
      for (VertexId other = 0; other < n; other += 1 + n / 4) {  // 0: none
        EdgeList list;
        list.vertices = n;
        list.sources = Array<VertexId>(other == 0 ? n : 2 * n);
        list.targets = Array<VertexId>(list.sources.size());
        for (VertexId v = 0; v < n; ++v) {
          list.sources[v] = v;
          list.targets[v] = (v + step) % n;
          if (other == 0) continue;
          list.sources[n + v] = v;
          list.targets[n + v] = (v + other) % n;
        }
        const Adjacency rows = BuildAdjacency(std::move(list), {});
        const bool symmetric = other == 0 ? 2 * step == n : step + other == n || (2 * step == n && 2 * other == n);
        EXPECT_EQ(IsSymmetric(rows, 1), symmetric) << n << ' ' << step << ' ' << other;
        EXPECT_EQ(IsSymmetric(rows, 8), symmetric) << n << ' ' << step << ' ' << other;
      }
    }
  }
}

TEST(Adjacency, ParallelEdgesWithWeightsInAnotherOrderAreSymmetric) {
  Adjacency rows;
  rows.offsets = {0, 2, 4};
  rows.neighbours = {1, 1, 0, 0};
  rows.weights = Array<float>{2, 1, 1, 2};
  EXPECT_TRUE(IsSymmetric(rows, 1));
  EXPECT_TRUE(IsSymmetric(rows, 8));
  std::get<Array<float>>(rows.weights)[3] = 1;
  EXPECT_FALSE(IsSymmetric(rows, 1));
  EXPECT_FALSE(IsSymmetric(rows, 8));
}

TEST(Adjacency, OnePassFindsWhatIsWrongWithRows) {
  constexpr VertexId kVertices = 5000;  // several chunks of lists
  const auto make = [] { return BuildAdjacency(RandomList(7, kVertices, 40000, WeightKind::kNone), {.symmetrise = true}); };
  const auto inspect = [](const Adjacency& rows, bool symmetry = true) {
    const auto with = [&](int threads) {
      const RowReport report = InspectRows(rows, symmetry, threads);
      return std::tuple(report.offsets_ascend, report.in_range, report.lists_ascend, report.symmetric);
    };
    EXPECT_EQ(with(1), with(8)) << "a walk, and hashes";
    return with(2);
  };
  EXPECT_EQ(inspect(make()), std::tuple(true, true, true, true));
  const Adjacency one_way = BuildAdjacency(RandomList(7, kVertices, 40000, WeightKind::kNone), {});
  EXPECT_EQ(inspect(one_way), std::tuple(true, true, true, false));
  EXPECT_EQ(inspect(one_way, false), std::tuple(true, true, true, true)) << "nobody asked";
  Adjacency rows = make();
  for (const VertexId v : {VertexId{0}, VertexId{1023}, VertexId{2500}, kVertices - 1}) {
    const EdgeIndex first = rows.offsets[v], last = rows.offsets[v + 1];
    ASSERT_LT(first, last);
    const VertexId kept = std::exchange(rows.neighbours[last - 1], kVertices);
    EXPECT_EQ(inspect(rows), std::tuple(true, false, true, false)) << v;
    rows.neighbours[last - 1] = kept;
    if (last - first < 2 || rows.neighbours[first] == rows.neighbours[last - 1]) continue;
    std::swap(rows.neighbours[first], rows.neighbours[last - 1]);
    EXPECT_EQ(inspect(rows), std::tuple(true, true, false, true)) << "the same edges in another order, of " << v;
    const VertexId low = std::exchange(rows.neighbours[first], kVertices + 7);
    EXPECT_EQ(inspect(rows), std::tuple(true, false, false, false)) << "not at the end of the list of " << v;
    rows.neighbours[first] = low;
    std::swap(rows.neighbours[first], rows.neighbours[last - 1]);
  }
  for (const auto& [at, value] : {std::pair{0, 1}, {1000, 1 << 30}, {2000, 0}, {5000, 3}}) {
    const EdgeIndex kept = std::exchange(rows.offsets[at], value);
    EXPECT_FALSE(InspectRows(rows, true, 3).offsets_ascend) << at;
    rows.offsets[at] = kept;
  }
  EXPECT_EQ(inspect(rows), std::tuple(true, true, true, true));
  EXPECT_TRUE(InspectRows(Adjacency{}, true).offsets_ascend);
  Adjacency stray;
  stray.neighbours = {1};
  EXPECT_FALSE(InspectRows(stray, true).offsets_ascend);
}

}  // namespace
}  // namespace chatty
