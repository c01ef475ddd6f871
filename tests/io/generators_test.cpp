#include "chatty/io/generators.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "chatty/core/error.h"
#include "generator_checks.h"

namespace chatty::generated {
namespace {

// ---- What all families promise
// ---------------------------------------------------------------------------------------------

/// A small graph of each family, of several of the blocks that threads share out.
std::vector<GeneratorSpec> OneOfEach() {
  std::vector<GeneratorSpec> specs{
      Spec("kron", 12, 20),           Spec("rmat", 12, 20),      Spec("uniform", 12, 20),         Spec("gap-kron", 12, 70),
      Spec("gap-urand", 12, 16),      Spec("rgg", 17, 16),       CountSpec("road", 120000),       CountSpec("ba", 5000),
      CountSpec("citations", 9000),   CountSpec("web", 140000),  CountSpec("small-world", 20000), GridSpec(300, 401, 0.4),
      Spec("debruijn", 17, 16),       CountSpec("chain", 70000), CountSpec("star", 70000),        CountSpec("complete", 300),
      CountSpec("binary-tree", 70000)};
  specs[1].a = .4;
  specs[1].b = .3;
  specs[5].radius = .003;
  return specs;
}

TEST(Generators, EveryFamilyIsTested) {
  std::vector<std::string> tested;
  for (const GeneratorSpec& spec : OneOfEach()) tested.push_back(spec.family);
  EXPECT_TRUE(std::ranges::equal(tested, GeneratorNames()));
}

TEST(Generators, SameGraphAtAnyThreadCount) {
  for (GeneratorSpec spec : OneOfEach()) {
    SCOPED_TRACE(spec.family);
    spec.weights = WeightKind::kInt32;
    spec.threads = 1;
    const Graph first = Generate(spec);
    EXPECT_EQ(first.weight_kind(), WeightKind::kInt32);
    EXPECT_EQ(first.name().rfind(spec.family, 0), 0u) << first.name();
    if (first.symmetric()) {
      ExpectSimple(first);
    } else {
      ExpectSimpleAndDirected(first);
    }
    for (const int threads : {2, 3, 8}) {
      spec.threads = threads;
      EXPECT_TRUE(Same(first, Generate(spec))) << threads << " threads";
    }
  }
}

TEST(Generators, WeightsLeaveTheGraphAsItIs) {
  for (GeneratorSpec spec :
       {Spec("kron", 12, 20), Spec("gap-kron", 13, 40), CountSpec("road", 3000), GridSpec(300, 301, 0.4)}) {
    SCOPED_TRACE(spec.family);
    const Graph bare = Generate(spec);
    EXPECT_EQ(bare.weight_kind(), WeightKind::kNone);
    spec.weights = WeightKind::kFloat32;
    spec.threads = 1;
    const Graph weighted = Generate(spec);
    ExpectSimple(weighted);
    EXPECT_TRUE(std::ranges::equal(bare.out().offsets, weighted.out().offsets));
    EXPECT_TRUE(std::ranges::equal(bare.out().neighbours, weighted.out().neighbours));
    spec.threads = 3;
    EXPECT_TRUE(Same(weighted, Generate(spec)));
  }
}

TEST(Generators, SeedsMatter) {
  for (GeneratorSpec spec : {Spec("kron", 10, 8), Spec("rmat", 10, 8), Spec("uniform", 10, 8), Spec("rgg", 10, 8),
                             CountSpec("road", 1000), CountSpec("ba", 1000), CountSpec("citations", 1000),
                             CountSpec("web", 1000), CountSpec("small-world", 1000), GridSpec(50, 50, 0.5)}) {
    const Graph first = Generate(spec);
    spec.seed = 2;
    EXPECT_FALSE(Same(first, Generate(spec))) << spec.family;
  }
}

/// Results that every machine, compiler and library must reproduce. A change here changes all users' graphs.
TEST(Generators, GraphsStayWhatTheyAre) {
  const auto fingerprint = [](GeneratorSpec spec, WeightKind weights) {
    spec.weights = weights;
    return Fingerprint(Generate(spec));
  };
  struct Pinned {
    GeneratorSpec spec;
    std::uint64_t bare, integers, reals;
  };
  GeneratorSpec directed = Spec("kron", 8, 8);
  directed.directed = true;
  GeneratorSpec rmat = Spec("rmat", 8, 8), deep = GridSpec(5, 6, .25), rewired = CountSpec("small-world", 300);
  rmat.a = .45;
  rmat.b = .15;
  deep.depth = 7;
  rewired.rewire = 1;
  const Pinned all[] = {
      {Spec("kron", 8, 8), 12298328849358490725u, 7128778578763563913u, 8027980597147385100u},
      {rmat, 18392944627875353557u, 576597254130795727u, 9030666026312798030u},
      {Spec("uniform", 8, 8), 16742096124195616925u, 11164504716147864798u, 14587796078653384649u},
      {Spec("gap-kron", 8, 16), 2186469443403551108u, 15045684487311146569u, 18242341051408775616u},
      {Spec("gap-urand", 8, 16), 1332260486014750270u, 14908130636198395058u, 12831487351366041297u},
      {Spec("rgg", 8, 16), 2097853518624707660u, 6134290281115896739u, 11122505369539719252u},
      {CountSpec("road", 300), 13775974414171542767u, 1563487126734720919u, 4900218200031574098u},
      {CountSpec("ba", 200), 6627573639698409923u, 8119078423044673772u, 3605886579465577164u},
      {directed, 2509110573475027876u, 13741089823546110454u, 1698783722227273011u},
      {CountSpec("citations", 200), 9796060730707740620u, 2748484342098148799u, 10986533742400263394u},
      {CountSpec("web", 200), 9879069597558146358u, 3358356554307456390u, 6499999980039019838u},
      {rewired, 3062757323645835428u, 9696506523178985993u, 13222994571892843163u},
      {deep, 4011240828452550308u, 9935075245077668334u, 7046313182359897343u},
      {Spec("debruijn", 8, 16), 8744328100933924609u, 2088776745440830545u, 1626408875214138988u},
      {CountSpec("chain", 100), 17661680295862234478u, 2877524823235213226u, 13061589387209166276u},
      {CountSpec("star", 100), 1475350985253794644u, 7313073146969279014u, 13275315158823587413u},
      {CountSpec("complete", 30), 15584510716986460141u, 18188784520531067399u, 14445905871126603340u},
      {CountSpec("binary-tree", 100), 17196639743520426582u, 6642695480568252939u, 16228831252622831686u},
  };
  for (const Pinned& pinned : all) {
    SCOPED_TRACE(pinned.spec.family);
    EXPECT_EQ(fingerprint(pinned.spec, WeightKind::kNone), pinned.bare);
    EXPECT_EQ(fingerprint(pinned.spec, WeightKind::kInt32), pinned.integers);
    EXPECT_EQ(fingerprint(pinned.spec, WeightKind::kFloat32), pinned.reals);
  }
  GeneratorSpec road = CountSpec("road", 300);
  road.own_weights = true;
  EXPECT_EQ(Fingerprint(Generate(road)), 15629495794182540783u);
}

// ---- weights
// ---------------------------------------------------------------------------------------------------------------

TEST(Generators, IntegerWeightsAreUniformOverTheRange) {
  GeneratorSpec spec = Spec("uniform", 13, 16);
  spec.weights = WeightKind::kInt32;
  spec.min_weight = -2;
  spec.max_weight = 7;
  const Graph graph = Generate(spec);
  std::vector<double> counts(10);
  for (const std::int32_t weight : std::get<Array<std::int32_t>>(graph.out().weights)) {
    ASSERT_GE(weight, -2);
    ASSERT_LE(weight, 7);
    ++counts[static_cast<std::size_t>(weight + 2)];
  }
  // An edge's two directions share a weight: half as many draws as entries, so twice the variance.
  const double expected = static_cast<double>(graph.edges()) / 10;
  for (const double count : counts) EXPECT_NEAR(count, expected, 6 * std::sqrt(2 * expected));
}

TEST(Generators, FloatWeightsFillTheRange) {
  GeneratorSpec spec = GridSpec(200, 200);
  spec.weights = WeightKind::kFloat32;
  spec.min_weight = 0.5;
  spec.max_weight = 1.5;
  const Graph graph = Generate(spec);
  double sum = 0;
  float least = 2, most = 0;
  for (const float weight : std::get<Array<float>>(graph.out().weights)) {
    sum += weight;
    least = std::min(least, weight);
    most = std::max(most, weight);
  }
  EXPECT_GE(least, 0.5f);
  EXPECT_LE(most, 1.5f);
  EXPECT_LT(least, 0.51f);
  EXPECT_GT(most, 1.49f);
  EXPECT_NEAR(sum / static_cast<double>(graph.edges()), 1.0, 0.01);
}

TEST(Generators, WeightsDependOnSeedAndEndsOnly) {
  // The edges that a sparser grid keeps weigh what they weigh in the full one.
  GeneratorSpec spec = GridSpec(60, 60);
  spec.weights = WeightKind::kInt32;
  spec.max_weight = std::numeric_limits<std::int32_t>::max();
  spec.min_weight = std::numeric_limits<std::int32_t>::min();
  const Graph full = Generate(spec);
  spec.drop = 0.5;
  const Graph sparse = Generate(spec);
  const auto weight = [](const Graph& graph, VertexId v, VertexId u) {
    const auto list = graph.out()[v];
    const auto at = std::ranges::lower_bound(list, u) - list.begin();
    return std::get<Array<std::int32_t>>(graph.out().weights)[graph.out().offsets[v] + static_cast<EdgeIndex>(at)];
  };
  ASSERT_GT(sparse.edges(), 1000u);
  for (VertexId v = 0; v < sparse.vertices(); ++v) {
    for (const VertexId u : sparse.out()[v]) ASSERT_EQ(weight(sparse, v, u), weight(full, v, u));
  }
  spec.seed = 2;
  spec.drop = 0;
  EXPECT_FALSE(SameWeights(full.out().weights, Generate(spec).out().weights));
}

TEST(Generators, OneWeightIsARange) {
  GeneratorSpec spec = CountSpec("chain", 10);
  spec.weights = WeightKind::kInt32;
  spec.min_weight = spec.max_weight = 3;
  const Graph graph = Generate(spec);
  for (const std::int32_t weight : std::get<Array<std::int32_t>>(graph.out().weights)) EXPECT_EQ(weight, 3);
}

TEST(Generators, OwnWeights) {
  for (const GeneratorFamily& family : GeneratorFamilies()) {
    GeneratorSpec spec = CountSpec(std::string(family.name), 100);
    spec.scale = 7;
    spec.width = spec.height = 10;
    spec.own_weights = true;
    if (family.own_weights) {
      EXPECT_EQ(Generate(spec).weight_kind(), WeightKind::kInt32) << family.name;
    } else {
      ExpectUsageError(spec, "no weights of its own");
    }
  }
}

// ---- errors
// ----------------------------------------------------------------------------------------------------------------

TEST(Generators, RefusesBadParameters) {
  ExpectUsageError(CountSpec("tree", 5), "kron, rmat, uniform, gap-kron");
  for (const char* family : {"kron", "rmat", "uniform", "gap-kron", "gap-urand", "rgg", "debruijn"}) {
    ExpectUsageError(Spec(family, 0, 16), "scale");
    ExpectUsageError(Spec(family, -1, 16), "scale");
    ExpectUsageError(Spec(family, CHATTY_VERTEX_BITS == 32 ? 32 : 64, 16), "scale");
  }
  for (const char* family : {"kron", "rmat", "uniform", "gap-kron", "gap-urand"}) {
    ExpectUsageError(Spec(family, 10, 0), "edge factor");
    ExpectUsageError(Spec(family, 10, std::uint64_t{1} << 55), "edge factor");
  }
  ExpectUsageError(Spec("gap-kron", 31, 16), "from 1 to 30");
  ExpectUsageError(GridSpec(0, 5), "no vertices");
  ExpectUsageError(GridSpec(5, 0), "no vertices");
  ExpectUsageError(GridSpec(std::uint64_t{1} << 33, std::uint64_t{1} << 33), "64 bits");
  GeneratorSpec deep = GridSpec(5, 5);
  deep.depth = 0;
  ExpectUsageError(deep, "5 x 5 x 0");
  deep.depth = std::uint64_t{1} << 62;
  ExpectUsageError(deep, "64 bits");
  if (CHATTY_VERTEX_BITS == 32) {
    ExpectUsageError(GridSpec(65536, 65536), "4294967296 vertices");
    for (const char* family : {"chain", "star", "complete", "binary-tree", "ba", "small-world", "road"}) {
      ExpectUsageError(CountSpec(family, std::uint64_t{1} << 32), "vertex ids");
    }
  }
  for (const double drop : {-0.1, 1.1, std::nan("")}) ExpectUsageError(GridSpec(5, 5, drop), "probability");
  for (const char* family : {"chain", "star", "complete", "binary-tree", "ba", "small-world"}) {
    ExpectUsageError(CountSpec(family, 0), "0 vertices");
  }
  ExpectUsageError(CountSpec("road", 0), "no vertices");
  ExpectUsageError(CountSpec("complete", (std::uint64_t{1} << 32) - 2), "more edges than make sense");
}

TEST(Generators, RefusesBadOdds) {
  const auto rmat = [](double a, double b, double c) {
    GeneratorSpec spec = Spec("rmat", 5, 4);
    spec.a = a;
    spec.b = b;
    spec.c = c;
    return spec;
  };
  ExpectUsageError(rmat(.5, .3, .3), "more than 1");
  ExpectUsageError(rmat(-.1, .3, .3), "probability -0.1");
  ExpectUsageError(rmat(.5, std::nan(""), .3), "probability nan");
  ExpectUsageError(rmat(.5, .3, 1.5), "probability 1.5");
  EXPECT_EQ(Generate(rmat(.5, .3, .2)).vertices(), 32u) << "none is left to d, which is fine";
  GeneratorSpec ring = CountSpec("small-world", 50);
  ring.rewire = 1.5;
  ExpectUsageError(ring, "probability 1.5");
}

TEST(Generators, RefusesBadDegrees) {
  GeneratorSpec ring = CountSpec("small-world", 8), grown = CountSpec("ba", 8);
  for (const std::uint64_t neighbours : {0, 3, 8, 10}) {
    ring.neighbours = neighbours;
    ExpectUsageError(ring, "even number");
  }
  for (const std::uint64_t edges : {0, 8, 9}) {
    grown.edges_per_vertex = edges;
    ExpectUsageError(grown, "edges per vertex");
  }
  for (const double radius : {-1.0, 1.6, std::nan(""), std::numeric_limits<double>::infinity()}) {
    GeneratorSpec spec = Spec("rgg", 5, 16);
    spec.radius = radius;
    ExpectUsageError(spec, "radius");
  }
}

TEST(Generators, RefusesBadWeights) {
  GeneratorSpec spec = CountSpec("chain", 5);
  spec.weights = WeightKind::kInt32;
  const auto expect_error = [&](double min, double max, const std::string& part) {
    spec.min_weight = min;
    spec.max_weight = max;
    ExpectUsageError(spec, part);
  };
  expect_error(5, 4, "range");
  expect_error(std::nan(""), 4, "range");
  expect_error(0.5, 4, "integer");
  expect_error(0, 0x1p31, "integer");
  spec.weights = WeightKind::kFloat32;
  expect_error(0, 1e39, "float");
  expect_error(0, std::numeric_limits<double>::infinity(), "range");
}

}  // namespace
}  // namespace chatty::generated
