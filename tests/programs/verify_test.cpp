// Each verifier accepts the right answer and rejects every way of spoiling it, at every vertex of many random graphs.
// Where the right answer is unique, any change must be found. Here: levels, parents and components.
#include "chatty/programs/verify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "chatty/programs/reference.h"
#include "test_graphs.h"

namespace chatty::test {
namespace {

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

}  // namespace
}  // namespace chatty::test
