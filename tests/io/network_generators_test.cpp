// Generated families by their definitions: networks of places, roads, references, pages and people.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <ranges>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "chatty/core/error.h"
#include "chatty/io/generators.h"
#include "generator_checks.h"

namespace chatty::generated {
namespace {

// ---- rgg

TEST(GeneratorFamilies, RggIsOfThePublishedFamily) {
  // rgg_n_2_15_s0 of the 10th DIMACS challenge: 320,480 entries, one draw.
  const Graph graph = Generate(Spec("rgg", 15, 16));
  EXPECT_EQ(graph.vertices(), 32768u);
  EXPECT_NEAR(static_cast<double>(graph.edges()), 320480.0, 0.01 * 320480.0);
}

TEST(GeneratorFamilies, RggHasTheExpectedEdgesAtAnyRadius) {
  // From so small that most cells are empty to so large that a cell has most points.
  GeneratorSpec spec = Spec("rgg", 10, 16);
  const double pairs = 1024.0 * 1023 / 2;
  for (const double r : {.002, .01, .03, .07, .11, .2, .3, .5, .9}) {
    spec.radius = r;
    const Graph graph = Generate(spec);
    ExpectSimple(graph);
    const double expected = pairs * (3.14159265358979 * r * r - 8 * r * r * r / 3 + r * r * r * r / 2);
    // Pairs are not independent: points that are crowded add what a whole neighbourhood deviates.
    EXPECT_NEAR(static_cast<double>(graph.edges()) / 2, expected, 6 * std::sqrt(expected) + 0.02 * expected) << r;
  }
  spec.radius = 1.5;
  EXPECT_TRUE(Same(Generate(spec), Generate(CountSpec("complete", 1024))));
}

TEST(GeneratorFamilies, RggOfALargerRadiusHasAllEdgesOfASmallerOne) {
  // The points are the same. A cell that the search misses would show, as radii differ in which cells they look at.
  GeneratorSpec small = Spec("rgg", 12, 16), large = small;
  for (const double r : {.015, .02, .025, .03, .04, .05}) {
    small.radius = r;
    large.radius = 1.07 * r;
    const Graph few = Generate(small), many = Generate(large);
    ASSERT_LT(few.edges(), many.edges());
    for (VertexId v = 0; v < few.vertices(); ++v) ASSERT_TRUE(std::ranges::includes(many.out()[v], few.out()[v])) << v;
  }
}

TEST(GeneratorFamilies, RggClustersAsThePlaneDoes) {
  // Two neighbours of a vertex are neighbours with probability 1 - 3 sqrt(3) / (4 pi), but for the border.
  const Graph graph = Generate(Spec("rgg", 13, 16));
  double wedges = 0, closed = 0;
  for (VertexId v = 0; v < graph.vertices(); ++v) {
    const auto list = graph.out()[v];
    wedges += static_cast<double>(list.size()) * static_cast<double>(list.size() - 1);
    for (const VertexId u : list) {
      std::vector<VertexId> common;
      std::ranges::set_intersection(list, graph.out()[u], std::back_inserter(common));
      closed += static_cast<double>(common.size());
    }
  }
  EXPECT_NEAR(closed / wedges, 0.5865, 0.02);
}

TEST(GeneratorFamilies, RggNumbersNearVerticesAlike) {
  const Graph graph = Generate(Spec("rgg", 14, 16));
  double spans = 0;
  for (VertexId v = 0; v < graph.vertices(); ++v) {
    for (const VertexId u : graph.out()[v]) spans += std::abs(static_cast<double>(u) - static_cast<double>(v));
  }
  EXPECT_LT(spans / static_cast<double>(graph.edges()), 0.02 * 16384) << "a third of all vertices, were they in no order";
}

// ---- road

TEST(GeneratorFamilies, RoadIsLikeARoadNetwork) {
  for (const std::uint64_t count : {3000, 30000, 200000}) {
    GeneratorSpec spec = CountSpec("road", count);
    spec.own_weights = true;
    const Graph graph = Generate(spec);
    const auto n = static_cast<double>(graph.vertices());
    EXPECT_NEAR(n, static_cast<double>(count), 0.04 * static_cast<double>(count));
    EXPECT_EQ(CountComponents(graph), 1u);
    ExpectSimple(graph);
    EXPECT_NEAR(static_cast<double>(graph.edges()) / n, 2.54, 0.06);  // Florida 2.51, New York 2.76
    std::vector<double> degrees(5);
    for (VertexId v = 0; v < graph.vertices(); ++v) ++degrees.at(graph.out_degree(v));
    EXPECT_EQ(degrees[0], 0);
    EXPECT_NEAR(degrees[1] / n, .065, .02) << "dead ends";
    EXPECT_GT(degrees[2] / n, .4) << "bends";
    EXPECT_GT(degrees[3] / n, .2) << "crossings";
    // From the border to the border: 1.4 sqrt(n) in New York, 2.0 in Florida.
    const std::size_t diameter = Farthest(graph, Farthest(graph, Farthest(graph, 0).second).second).first;
    EXPECT_NEAR(static_cast<double>(diameter) / std::sqrt(n), 1.8, 0.3);
    for (const std::int32_t time : std::get<Array<std::int32_t>>(graph.out().weights)) {
      ASSERT_GE(time, 10);   // 30 m on a motorway
      ASSERT_LE(time, 180);  // 150 m in a street
    }
  }
}

TEST(GeneratorFamilies, RoadIsFasterOnMainRoads) {
  // A single row is line 0, a motorway; a block of 63 x 63 junctions to which no motorway but the border belongs is slower.
  const auto mean_time = [](std::uint64_t width, std::uint64_t height) {
    GeneratorSpec spec;
    spec.family = "road";
    spec.width = width;
    spec.height = height;
    spec.own_weights = true;
    const Graph graph = Generate(spec);
    const auto& times = std::get<Array<std::int32_t>>(graph.out().weights);
    return std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
  };
  EXPECT_NEAR(mean_time(3000, 1), 90 * 3.6 / 11.0, 1);  // 90 m at 110 km/h, in tenths of a second
  EXPECT_GT(mean_time(63, 63), 80);
}

TEST(GeneratorFamilies, RoadOfAnyShape) {
  GeneratorSpec spec;
  spec.family = "road";
  spec.own_weights = true;
  for (spec.width = 1; spec.width <= 12; ++spec.width) {
    for (spec.height = 1; spec.height <= 12; ++spec.height) {
      const Graph graph = Generate(spec);
      ASSERT_GE(graph.vertices(), 1u);
      ASSERT_EQ(CountComponents(graph), 1u);
      ASSERT_TRUE(IsItsOwnTranspose(graph));
    }
  }
  spec.width = spec.height = 1;
  EXPECT_EQ(Generate(spec).edges(), 0u);
  spec.width = 700;  // its motorway never ends
  EXPECT_GE(Generate(spec).vertices(), 700u);
  EXPECT_EQ(Generate(spec).edges(), 2 * (Generate(spec).vertices() - 1));
  EXPECT_EQ(Generate(spec).name(), "road-700x1");
  EXPECT_EQ(Generate(CountSpec("road", 5000)).name(), "road-5000");
}

// ---- ba

TEST(GeneratorFamilies, BarabasiAlbertVerticesAttachToDistinctEarlierOnes) {
  for (const std::uint64_t k : {1, 2, 8, 40}) {
    GeneratorSpec spec = CountSpec("ba", 5000);
    spec.edges_per_vertex = k;
    const Graph graph = Generate(spec);
    ExpectSimple(graph);
    EXPECT_EQ(graph.edges(), 2 * (k * (k + 1) / 2 + (5000 - k - 1) * k));
    EXPECT_EQ(CountComponents(graph), 1u);
    for (VertexId v = 0; v < graph.vertices(); ++v) {
      const auto list = graph.out()[v];
      const auto earlier = static_cast<std::uint64_t>(std::ranges::lower_bound(list, v) - list.begin());
      ASSERT_EQ(earlier, std::min<std::uint64_t>(v, k)) << v;
    }
  }
  GeneratorSpec spec = CountSpec("ba", 9);
  EXPECT_TRUE(Same(Generate(spec), Generate(CountSpec("complete", 9))));
}

TEST(GeneratorFamilies, BarabasiAlbertDegreesFollowAge) {
  // The expected degree of vertex v is k sqrt(n / v), so the oldest 1 % and 9 % have a tenth and three tenths of all ends,
  // but for what the clique changes. Degrees fall off as d^-3: a vertex has at least 2 k with probability 1/4 and 4 k with
  // 1/16.
  GeneratorSpec spec = CountSpec("ba", 100000);
  spec.edges_per_vertex = 4;
  const Graph graph = Generate(spec);
  double oldest = 0, old = 0, twice = 0, fourfold = 0;
  for (VertexId v = 0; v < graph.vertices(); ++v) {
    const auto degree = static_cast<double>(graph.out_degree(v));
    if (v < 1000) oldest += degree;
    if (v < 9000) old += degree;
    twice += degree >= 8;
    fourfold += degree >= 16;
  }
  const auto ends = static_cast<double>(graph.edges());
  EXPECT_NEAR(oldest / ends, 0.1, 0.015);
  EXPECT_NEAR(old / ends, 0.3, 0.02);
  // k (k + 1) / (d (d + 1)) of the vertices have d or more.
  EXPECT_NEAR(twice / 1e5, 20.0 / 72, 0.01);
  EXPECT_NEAR(fourfold / 1e5, 20.0 / 272, 0.005);
  EXPECT_GT(graph.out_degree(graph.max_degree_vertex()), 300u);
  EXPECT_LT(graph.max_degree_vertex(), 20u);
}

// ---- directed

TEST(GeneratorFamilies, DirectedEdgesAreThoseOfTheUndirectedGraphOneWay) {
  for (const char* const family : {"kron", "rmat", "uniform"}) {
    SCOPED_TRACE(family);
    GeneratorSpec spec = Spec(family, 11, 8);
    spec.weights = WeightKind::kInt32;
    const Graph undirected = Generate(spec);
    spec.directed = true;
    const Graph graph = Generate(spec);
    ExpectSimpleAndDirected(graph);
    EXPECT_NE(graph.name().find("-directed"), std::string::npos) << graph.name();
    Adjacency rows{graph.out().offsets.Clone(), graph.out().neighbours.Clone(),
                   std::get<Array<std::int32_t>>(graph.out().weights).Clone()};
    EdgeList list;
    list.vertices = graph.vertices();
    list.sources = Array<VertexId>(graph.edges());
    list.targets = rows.neighbours.Clone();
    for (VertexId v = 0; v < graph.vertices(); ++v) {
      std::fill(list.sources.begin() + static_cast<std::ptrdiff_t>(rows.offsets[v]),
                list.sources.begin() + static_cast<std::ptrdiff_t>(rows.offsets[v + 1]), v);
    }
    list.weights = std::move(rows.weights);
    BuildOptions options;
    options.symmetrise = options.merge_parallel = true;
    const Graph both(BuildAdjacency(std::move(list), options), /*symmetric=*/true);
    EXPECT_TRUE(Same(both, undirected));
  }
}

TEST(GeneratorFamilies, ADirectedUniformGraphHasDanglingVertices) {
  GeneratorSpec spec = Spec("uniform", 15, 2);
  spec.directed = true;
  const Graph graph = Generate(spec);
  double dangling = 0;
  for (VertexId v = 0; v < graph.vertices(); ++v) dangling += graph.out_degree(v) == 0 ? 1 : 0;
  const double expected = std::exp(-2.0) * graph.vertices();
  EXPECT_NEAR(dangling, expected, 6 * std::sqrt(expected));
}

TEST(GeneratorFamilies, CitationsAreOfDistinctOlderVerticesAndRatherOfCitedOnes) {
  for (const std::uint64_t k : {1u, 3u, 8u}) {
    SCOPED_TRACE(k);
    GeneratorSpec spec = CountSpec("citations", 20000);
    spec.edges_per_vertex = k;
    const Graph graph = Generate(spec);
    ExpectSimpleAndDirected(graph);
    std::vector<EdgeIndex> cited(graph.vertices());
    for (VertexId v = 0; v < graph.vertices(); ++v) {
      ASSERT_EQ(graph.out_degree(v), std::min<EdgeIndex>(v, k)) << v;
      for (const VertexId u : graph.out()[v]) {
        ASSERT_LT(u, v);
        ++cited[u];
      }
    }
    // Of uniform citations a vertex of age v expects k ln(n / v); the most cited of the second half would have some 20.
    EXPECT_GT(*std::max_element(cited.begin() + 100, cited.end()), 20 * k) << "some are cited far oftener";
    EXPECT_GT(std::count(cited.begin(), cited.end(), 0u), graph.vertices() / 6) << "and many never";
  }
  GeneratorSpec all = CountSpec("citations", 9);
  EXPECT_EQ(Generate(all).edges(), 36u) << "eight others, as far as there are";
  all.edges_per_vertex = 9;
  EXPECT_THROW(Generate(all), UsageError);
}

TEST(GeneratorFamilies, AWebHasHostsHubsAndSoManyDanglingPages) {
  for (const double share : {0.0, 0.3, 0.8, 1.0}) {
    SCOPED_TRACE(share);
    GeneratorSpec spec = CountSpec("web", 100000);
    spec.dangling = share;
    const Graph graph = Generate(spec);
    EXPECT_FALSE(graph.symmetric());
    EXPECT_FALSE(HasLoops(graph));
    EXPECT_FALSE(HasParallelEdges(graph));
    const double n = graph.vertices();
    double dangling = 0, near = 0;
    EdgeIndex most_out = 0;
    std::vector<EdgeIndex> linked(graph.vertices());
    for (VertexId v = 0; v < graph.vertices(); ++v) {
      dangling += graph.out_degree(v) == 0 ? 1 : 0;
      most_out = std::max(most_out, graph.out_degree(v));
      for (const VertexId u : graph.out()[v]) {
        near += std::abs(static_cast<double>(u) - static_cast<double>(v)) < 1000 ? 1 : 0;
        ++linked[u];
      }
    }
    EXPECT_NEAR(dangling, share * n, 6 * std::sqrt(share * (1 - share) * n));
    if (share == 1) continue;
    const double links = static_cast<double>(graph.edges()), pages = n - dangling;
    EXPECT_GT(links, 3 * pages);
    EXPECT_LT(links, 9 * pages) << "some of 8 are the same";
    EXPECT_GT(near, 0.4 * links);
    EXPECT_GT(most_out, 100u);
    EXPECT_GT(*std::ranges::max_element(linked), 100 * graph.edges() / graph.vertices());
  }
  GeneratorSpec spec = CountSpec("web", 2);
  spec.dangling = 0;
  EXPECT_EQ(Generate(spec).edges(), 2u);
  spec.count = 1;
  EXPECT_THROW(Generate(spec), UsageError);
  spec.count = 10;
  spec.local = 1.5;
  EXPECT_THROW(Generate(spec), UsageError);
}

// ---- small-world

GeneratorSpec RingSpec(std::uint64_t count, std::uint64_t neighbours, double rewire) {
  GeneratorSpec spec = CountSpec("small-world", count);
  spec.neighbours = neighbours;
  spec.rewire = rewire;
  return spec;
}

TEST(GeneratorFamilies, SmallWorldKeepsItsNumberOfEdges) {
  for (const GeneratorSpec& spec :
       {RingSpec(3, 2, .5), RingSpec(50, 2, 1), RingSpec(60, 10, .3), RingSpec(40, 20, 1), RingSpec(9, 8, 1),
        RingSpec(31, 28, .9), RingSpec(200, 100, .5), RingSpec(3000, 30, 1), RingSpec(10000, 4, .01)}) {
    const Graph graph = Generate(spec);
    EXPECT_EQ(graph.edges(), spec.count * spec.neighbours) << graph.name();
    ExpectSimple(graph);
  }
}

TEST(GeneratorFamilies, SmallWorldWithoutRewiringIsARing) {
  const Graph graph = Generate(RingSpec(10, 4, 0));
  EXPECT_EQ(Neighbours(graph, 0), (std::vector<VertexId>{1, 2, 8, 9}));
  EXPECT_EQ(Neighbours(graph, 5), (std::vector<VertexId>{3, 4, 6, 7}));
  EXPECT_EQ(Farthest(Generate(RingSpec(1000, 10, 0)), 0).first, 100u);
  EXPECT_TRUE(Same(Generate(RingSpec(9, 8, 0)), Generate(CountSpec("complete", 9))));
  EXPECT_TRUE(Same(Generate(RingSpec(9, 8, 1)), Generate(CountSpec("complete", 9)))) << "there is nowhere else to lead";
}

TEST(GeneratorFamilies, SmallWorldRewiresWithTheGivenProbability) {
  const double n = 20000, k = 10;
  for (const double rewire : {.05, .3, 1.0}) {
    const Graph graph = Generate(RingSpec(20000, 10, rewire));
    double on_ring = 0;
    for (VertexId v = 0; v < graph.vertices(); ++v) {
      for (const VertexId u : graph.out()[v]) {
        const std::uint64_t apart = v < u ? u - v : v - u;
        on_ring += std::min<std::uint64_t>(apart, 20000 - apart) <= 5;
      }
    }
    const double edges = n * k / 2;
    EXPECT_NEAR(on_ring / 2, edges * (1 - rewire), 6 * std::sqrt(edges * rewire * (1 - rewire)) + 2 * k * k) << rewire;
    EXPECT_LT(Farthest(graph, 0).first, 60u) << "2000 on the ring alone";
  }
}

TEST(GeneratorFamilies, SmallWorldStraysAnywhere) {
  // All rewired: half a vertex's edges are its own, the others come as they like.
  const Graph graph = Generate(RingSpec(50000, 8, 1));
  double squares = 0, span = 0;
  for (VertexId v = 0; v < graph.vertices(); ++v) {
    const auto degree = static_cast<double>(graph.out_degree(v));
    ASSERT_GE(degree, 4);
    squares += (degree - 8) * (degree - 8);
    for (const VertexId u : graph.out()[v]) span += std::abs(static_cast<double>(u) - static_cast<double>(v));
  }
  EXPECT_NEAR(squares / 50000, 4, 0.2);  // of the four that come on average
  EXPECT_NEAR(span / static_cast<double>(graph.edges()), 50000 / 3.0, 200);
}

}  // namespace
}  // namespace chatty::generated
