// GAP's own graphs: edge by edge and weight by weight.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <ranges>
#include <utility>
#include <vector>

#include "chatty/io/generators.h"
#include "generator_checks.h"

namespace chatty::generated {
namespace {

// ---- GAP's graphs

TEST(GeneratorFamilies, GapGraphsAreGapsEdgeByEdgeAndWeightByWeight) {
  // Of what GAP's converter writes for -g and -u, with and without -w.
  struct Known {
    const char* family;
    int scale;
    bool weighted;
    std::uint64_t undirected, fingerprint;
  };
  for (const Known& known :
       {Known{"gap-kron", 10, false, 10496, 17652309712516241397u}, Known{"gap-kron", 10, true, 10496, 2086564282951545839u},
        Known{"gap-urand", 10, false, 16125, 13585670331593503454u},
        Known{"gap-urand", 10, true, 16125, 4521790646907826562u}, Known{"gap-kron", 16, true, 909646, 3459928680130827820u},
        Known{"gap-urand", 16, false, 1048276, 7643339170709697784u}}) {
    GeneratorSpec spec = Spec(known.family, known.scale, 16);
    if (known.weighted) spec.weights = WeightKind::kInt32;
    const Graph graph = Generate(spec);
    SCOPED_TRACE(graph.name());
    EXPECT_EQ(graph.name(), fmt::format("{}-{}", known.family, known.scale));
    EXPECT_EQ(graph.vertices(), 1u << known.scale);
    EXPECT_EQ(graph.edges(), 2 * known.undirected);
    EXPECT_EQ(Fingerprint(graph), known.fingerprint);
  }
}

#if defined(_GLIBCXX_RELEASE) && _GLIBCXX_RELEASE >= 11
/// The definition, with the library that GAP is built with.
Graph GapByTheBook(bool kron, int scale, std::uint64_t degree, bool weighted) {
  const auto twister_of = [](std::uint64_t edge) {
    return std::mt19937(static_cast<std::mt19937::result_type>(27491095 + (edge >> 18)));
  };
  const std::uint64_t n = std::uint64_t{1} << scale, m = n * degree;
  EdgeList list;
  list.vertices = static_cast<VertexId>(n);
  list.sources = Array<VertexId>(m);
  list.targets = Array<VertexId>(m);
  std::mt19937 words;
  for (std::uint64_t e = 0; e < m; ++e) {
    if (e % (1 << 18) == 0) words = twister_of(e);
    VertexId source = 0, target = 0;
    if (kron) {
      constexpr double kMax = 4294967295.0;
      const auto a = static_cast<std::uint32_t>(.57 * kMax), b = static_cast<std::uint32_t>(.19 * kMax);
      for (int level = 0; level < scale; ++level) {
        const std::uint64_t word = words();
        const bool lower = word >= a + b;
        source = 2 * source + (lower ? 1 : 0);
        target = 2 * target + (word > (lower ? a + b + b : a) ? 1 : 0);
      }
    } else {
      source = static_cast<VertexId>(words() % n);
      target = static_cast<VertexId>(words() % n);
    }
    list.sources[e] = source;
    list.targets[e] = target;
  }
  if (kron) {
    std::vector<std::int32_t> labels(n);
    std::iota(labels.begin(), labels.end(), 0);
    std::shuffle(labels.begin(), labels.end(), std::mt19937(27491095));
    for (VertexId& source : list.sources) source = static_cast<VertexId>(labels[source]);
    for (VertexId& target : list.targets) target = static_cast<VertexId>(labels[target]);
  }
  list.vertices = std::max(*std::ranges::max_element(list.sources), *std::ranges::max_element(list.targets)) + 1;
  if (weighted) {
    Array<std::int32_t>& weights = list.weights.emplace<Array<std::int32_t>>(m);
    for (std::uint64_t e = 0; e < m; ++e) {
      if (e % (1 << 18) == 0) words = twister_of(e);
      std::uint64_t word;
      do word = words();
      while (word == 0xffffffff);
      weights[e] = static_cast<std::int32_t>(word % 255 + 1);
    }
  }
  BuildOptions options;
  options.symmetrise = options.remove_loops = options.merge_parallel = true;
  return BuildGraph(std::move(list), options);
}

TEST(GeneratorFamilies, GapGraphsAreTheirDefinition) {
  struct Case {
    int scale;
    std::uint64_t degree;
  };
  // The labels of 2^16 vertices and more are shuffled in another way; the fifth has more than one block of edges.
  for (const Case& one :
       {Case{1, 3}, Case{2, 1}, Case{5, 1}, Case{8, 16}, Case{14, 17}, Case{15, 1}, Case{16, 1}, Case{17, 1}}) {
    for (const bool kron : {false, true}) {
      for (const bool weighted : {true, false}) {
        if (!weighted && one.scale > 8) continue;
        SCOPED_TRACE(fmt::format("scale {}, degree {}, {}", one.scale, one.degree, kron ? "kron" : "urand"));
        GeneratorSpec spec = Spec(kron ? "gap-kron" : "gap-urand", one.scale, one.degree);
        if (weighted) spec.weights = WeightKind::kInt32;
        EXPECT_TRUE(Same(Generate(spec), GapByTheBook(kron, one.scale, one.degree, weighted)));
      }
    }
  }
}
#endif

TEST(GeneratorFamilies, GapGraphsEndAtTheLastTouchedVertex) {
  std::size_t shorter = 0;
  for (int scale = 1; scale <= 8; ++scale) {
    const Graph graph = Generate(Spec("gap-kron", scale, 1));
    EXPECT_LE(graph.vertices(), 1u << scale);
    shorter += graph.vertices() < 1u << scale;
  }
  EXPECT_GT(shorter, 0u);
}

TEST(GeneratorFamilies, GapGraphsKnowOneSeedAndOtherWeights) {
  for (const char* family : {"gap-kron", "gap-urand"}) {
    GeneratorSpec spec = Spec(family, 9, 16);
    const Graph graph = Generate(spec);
    spec.weights = WeightKind::kInt32;
    const Graph weighted = Generate(spec);
    spec.seed = 5;
    EXPECT_TRUE(Same(Generate(spec), weighted));
    spec.own_weights = true;
    spec.weights = WeightKind::kNone;
    EXPECT_TRUE(Same(Generate(spec), weighted));
    spec.own_weights = false;
    EXPECT_TRUE(Same(Generate(spec), graph));
    spec.weights = WeightKind::kInt32;
    spec.max_weight = 254;
    const Graph other = Generate(spec);
    EXPECT_TRUE(std::ranges::equal(other.out().neighbours, graph.out().neighbours));
    spec.seed = 1;
    EXPECT_FALSE(Same(Generate(spec), other)) << "weights of any other range are drawn by seed";
  }
}

}  // namespace
}  // namespace chatty::generated
