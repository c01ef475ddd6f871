#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../sanitized.h"
#include "chatty/core/config.h"
#include "chatty/core/error.h"
#include "chatty/io/generators.h"
#include "chatty/partition/metis_partitioner.h"
#include "chatty/partition/partition.h"
#include "checks.h"

namespace chatty {
namespace {

using test::GraphOf;
using test::RandomGraph;

/// Divides by "metis", and what the log said meanwhile.
std::pair<Partition, std::string> Divide(const Graph& graph, const PartitionOptions& options) {
  testing::internal::CaptureStderr();
  std::pair<Partition, std::string> result;
  try {
    result.first = MakePartitioner("metis")->Divide(graph, options);
  } catch (...) {
    testing::internal::GetCapturedStderr();
    throw;
  }
  result.second = testing::internal::GetCapturedStderr();
  return result;
}

/// Every vertex owned once, local ids as they should be; and the work of each part, as "edge-balanced" counts it.
std::vector<std::uint64_t> CheckedWork(const Graph& graph, const Partition& partition, PartId parts) {
  EXPECT_EQ(partition.parts(), parts);
  EXPECT_EQ(partition.vertices(), graph.vertices());
  std::vector<std::uint64_t> work(parts, 0);
  std::vector<bool> owned(graph.vertices(), false);
  for (PartId p = 0; p < parts; ++p) {
    for (LocalId l = 0; l < partition.OwnedCount(p); ++l) {
      const VertexId v = partition.Global(p, l);
      EXPECT_FALSE(owned[v]) << "vertex " << v;
      owned[v] = true;
      EXPECT_EQ(partition.Owner(v), p);
      EXPECT_EQ(partition.Local(v), l);
      work[p] += 1 + graph.out_degree(v);
    }
  }
  EXPECT_EQ(std::count(owned.begin(), owned.end(), false), 0);
  return work;
}

Graph Grid(VertexId width, VertexId height) {
  GeneratorSpec spec;
  spec.family = "grid";
  spec.width = width;
  spec.height = height;
  return Generate(spec);
}

/// The fallback, and that it was said once, with the reason, and what is used.
void ExpectFallback(const Graph& graph, PartId parts, const std::string& why) {
  SCOPED_TRACE(fmt::format("{} vertices, {} edges, {} parts", graph.vertices(), graph.edges(), parts));
  const auto [partition, said] = Divide(graph, {.parts = parts});
  EXPECT_EQ(partition.name(), "edge-balanced");
  CheckedWork(graph, partition, parts);
  EXPECT_TRUE(said.find("warning: partition metis: ") != std::string::npos) << said;
  EXPECT_TRUE(said.find("edge-balanced is used instead") != std::string::npos) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
#if CHATTY_WITH_METIS
  EXPECT_TRUE(said.find(why) != std::string::npos) << said;
#else
  EXPECT_TRUE(said.find("without METIS") != std::string::npos) << said << why;
#endif
  EXPECT_THROW(Divide(graph, {.parts = parts, .allow_fallback = false}), CapabilityError);
}

// ---------------------------------------------------------------- any build ----

TEST(Metis, OnePartNeedsNobody) {
  for (const VertexId n : {0, 1, 7}) {
    const Graph graph = RandomGraph(n, n, 20, false);
    const auto [partition, said] = Divide(graph, {.parts = 1, .allow_fallback = false});
    EXPECT_EQ(partition.name(), "metis");
    EXPECT_EQ(said, "");
    CheckedWork(graph, partition, 1);
  }
}

TEST(Metis, FallsBackAloud) {
  ExpectFallback(GraphOf(3, {{0, 1}, {1, 2}}, true), 4, "3 vertices are too few for 4 parts");
  ExpectFallback(GraphOf(0, {}, true), 2, "0 vertices are too few for 2 parts");
  ExpectFallback(GraphOf(9, {}, true), 3, "no edge joins two vertices");
  ExpectFallback(GraphOf(5, {{0, 0}, {3, 3}, {3, 3}}, false), 2, "no edge joins two vertices");
}

TEST(Metis, RefusesWhatItsIntegersCannotCount) {
  constexpr std::uint64_t kLargest = std::numeric_limits<std::int32_t>::max();
  EXPECT_EQ(metis::WhyNot(kLargest, kLargest, 8, kLargest), "");
  EXPECT_NE(metis::WhyNot(kLargest + 1, 10, 8, kLargest).find("2147483648 vertices"), std::string::npos);
  EXPECT_NE(metis::WhyNot(1000, kLargest + 1, 8, kLargest).find("2147483648 edges"), std::string::npos);
  EXPECT_EQ(metis::WhyNot(kLargest + 1, kLargest + 1, 8, std::numeric_limits<std::int64_t>::max()), "");
  EXPECT_NE(metis::WhyNot(7, 10, 8, kLargest), "");
  EXPECT_EQ(metis::WhyNot(8, 10, 8, kLargest), "");
  EXPECT_NE(metis::WhyNot(8, 0, 8, kLargest), "");
}

/// The adjacency by brute force: how many edges join two different vertices.
std::vector<std::map<VertexId, EdgeIndex>> Joined(const Graph& graph) {
  std::vector<std::map<VertexId, EdgeIndex>> joined(graph.vertices());
  for (VertexId v = 0; v < graph.vertices(); ++v) {
    for (const VertexId u : graph.out()[v]) {
      if (u == v) continue;
      ++joined[v][u];
      if (!graph.symmetric()) ++joined[u][v];
    }
  }
  return joined;
}

template <class Index>
void ExpectWorkingGraph(const Graph& graph, int threads) {
  const auto joined = Joined(graph);
  EdgeIndex entries = 0, sum = 0;
  for (const auto& row : joined) {
    entries += row.size();
    for (const auto& [u, count] : row) sum += count;
  }
  ASSERT_EQ(metis::CountEntries(graph, threads), entries);
  const auto working = metis::BuildWorkingGraph<Index>(graph, entries, std::numeric_limits<Index>::max(), threads);
  ASSERT_EQ(working.offsets.size(), std::size_t{graph.vertices()} + 1);
  ASSERT_EQ(working.neighbours.size(), entries);
  ASSERT_EQ(working.edge_weights.size(), sum == entries ? 0 : entries);
  for (VertexId v = 0; v < graph.vertices(); ++v) {
    EXPECT_EQ(static_cast<EdgeIndex>(working.vertex_weights[v]), 1 + graph.out_degree(v));
    auto at = static_cast<std::size_t>(working.offsets[v]);
    for (const auto& [u, count] : joined[v]) {
      ASSERT_EQ(static_cast<VertexId>(working.neighbours[at]), u) << "vertex " << v;
      if (sum != entries) {
        ASSERT_EQ(static_cast<EdgeIndex>(working.edge_weights[at]), count);
      }
      ++at;
    }
    ASSERT_EQ(static_cast<std::size_t>(working.offsets[v + 1]), at);
  }
}

TEST(Metis, TheWorkingGraphHasNeitherLoopsNorParallelEdgesAndGoesBothWays) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    // Few vertices and many edges: loops, parallel edges and pairs that go both ways.
    const Graph graph = RandomGraph(seed, seed % 3 == 0 ? 3000 : 40, 5000, seed % 2 == 0, test::TestWeights::kNone, true);
    for (const int threads : {1, 3}) {
      SCOPED_TRACE(fmt::format("seed {}, {} threads", seed, threads));
      ExpectWorkingGraph<std::int32_t>(graph, threads);
      ExpectWorkingGraph<std::int64_t>(graph, threads);
    }
  }
}

TEST(Metis, WeightsAreScaledToFit) {
  const Graph graph = RandomGraph(3, 200, 20'000, false, test::TestWeights::kNone, true);
  const EdgeIndex entries = metis::CountEntries(graph);
  // Room for the work in full, for a part of it, for little more than 1 a vertex, and for nothing more.
  ASSERT_LT(entries, 2 * graph.edges()) << "some are parallel";
  for (const std::uint64_t largest :
       {std::uint64_t{20'200}, std::uint64_t{20'199}, std::uint64_t{10'000}, std::uint64_t{201}, std::uint64_t{200}}) {
    const auto working = metis::BuildWorkingGraph<std::int32_t>(graph, entries, largest);
    std::uint64_t sum = 0;
    VertexId heaviest = 0;
    for (VertexId v = 0; v < graph.vertices(); ++v) {
      EXPECT_GE(working.vertex_weights[v], 1);
      sum += static_cast<std::uint64_t>(working.vertex_weights[v]);
      if (working.vertex_weights[v] > working.vertex_weights[heaviest]) heaviest = v;
    }
    EXPECT_LE(sum, largest);
    EXPECT_TRUE(working.edge_weights.empty()) << "the edges weigh " << 2 * graph.edges();
    if (largest == 20'200) {
      EXPECT_EQ(sum, largest);
    } else if (largest == 10'000) {
      EXPECT_GT(sum, largest / 4) << "no more is given up than must be";
      EXPECT_EQ(heaviest, graph.max_degree_vertex());
    }
  }
}

TEST(Metis, EmptyPartsAreFilled) {
  const Graph graph = Grid(10, 10);
  Array<PartId> owners(100, PartId{2});
  EXPECT_EQ(metis::FillEmptyParts(graph, 4, owners.span()), 3u);
  const Partition partition = Partition::FromOwners(std::move(owners), 4, "");
  for (const std::uint64_t work : CheckedWork(graph, partition, 4)) EXPECT_NEAR(static_cast<double>(work), 460 / 4.0, 10);

  std::vector<std::pair<VertexId, VertexId>> edges;  // a hub that is most of the work, alone with one other vertex
  for (VertexId v = 1; v < 50; ++v) edges.emplace_back(0, v);
  Array<PartId> two(50, PartId{1});
  two[0] = two[49] = 0;
  EXPECT_EQ(metis::FillEmptyParts(GraphOf(50, edges, false), 3, two.span()), 1u);
  EXPECT_EQ(two[0], 0u);
  EXPECT_EQ(two[49], 2u);

  Array<PartId> full{0, 1, 2, 2};
  EXPECT_EQ(metis::FillEmptyParts(GraphOf(4, {}, true), 3, full.span()), 0u);
  Array<PartId> same(8, PartId{0});
  EXPECT_EQ(metis::FillEmptyParts(GraphOf(8, {}, true), 8, same.span()), 7u);
  std::sort(same.begin(), same.end());
  for (PartId p = 0; p < 8; ++p) EXPECT_EQ(same[p], p);
}

// ------------------------------------------------------------- with METIS ----
#if CHATTY_WITH_METIS

/// No fallback, no empty part, and balance: METIS' 3 % of the mean, and what one vertex more or less makes. Returns the cut.
EdgeIndex ExpectDivided(const Graph& graph, PartId parts, std::uint64_t seed = 1) {
  SCOPED_TRACE(fmt::format("{} vertices, {} edges, {} parts, seed {}", graph.vertices(), graph.edges(), parts, seed));
  const auto [partition, said] = Divide(graph, {.parts = parts, .seed = seed, .allow_fallback = false});
  EXPECT_EQ(partition.name(), "metis");
  EXPECT_EQ(said.find("warning"), std::string::npos) << said;
  std::uint64_t heaviest = 0;
  for (VertexId v = 0; v < graph.vertices(); ++v) heaviest = std::max<std::uint64_t>(heaviest, 1 + graph.out_degree(v));
  const double mean = static_cast<double>(graph.vertices() + graph.edges()) / parts;
  for (const std::uint64_t work : CheckedWork(graph, partition, parts)) {
    EXPECT_GE(work, 1u);
    EXPECT_LE(static_cast<double>(work), 1.03 * mean + static_cast<double>(heaviest));
  }
  return MeasureQuality(graph, partition).edge_cut;
}

TEST(Metis, CutsFarLessThanOthersOfAGrid) {
  const Graph grid = Grid(120, 80);
  for (const PartId parts : {2, 3, 8, 17}) {
    const EdgeIndex cut = ExpectDivided(grid, parts);
    for (const auto& [other, share] : {std::pair("random", 0.1), std::pair("edge-balanced", parts > 2 ? 0.9 : 1.1)}) {
      const Partition partition = MakePartitioner(other)->Divide(grid, {.parts = parts});
      EXPECT_LT(static_cast<double>(cut), share * static_cast<double>(MeasureQuality(grid, partition).edge_cut)) << other;
    }
  }
}

TEST(Metis, DividesRandomGraphsWithLoopsAndParallelEdges) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Graph graph = RandomGraph(seed, 700, 4000, seed % 2 == 0, test::TestWeights::kNone, seed % 4 < 2);
    for (const PartId parts : {2, 3, 8, 64}) ExpectDivided(graph, parts, seed);
  }
}

TEST(Metis, DividesStarsPairsAndChains) {
  std::vector<std::pair<VertexId, VertexId>> star, pairs, chain;
  for (VertexId v = 1; v < 1000; ++v) {
    star.emplace_back(0, v);
    chain.emplace_back(v - 1, v);
    if (v % 2 == 1) pairs.emplace_back(v - 1, v);
  }
  for (const bool symmetric : {false, true}) {
    for (const PartId parts : {2, 3, 8, 64}) {
      ExpectDivided(GraphOf(1000, star, symmetric), parts);
      ExpectDivided(GraphOf(1000, pairs, symmetric), parts);
      ExpectDivided(GraphOf(1000, chain, symmetric), parts);
    }
  }
  EXPECT_EQ(ExpectDivided(GraphOf(1000, pairs, true), 4), 0u) << "nothing has to be cut";
}

TEST(Metis, AsManyPartsAsVertices) {
  for (const VertexId n : {2, 3, 4, 9, 40, 300}) {
    std::vector<std::pair<VertexId, VertexId>> edges{{0, 1}};
    for (VertexId v = 2; v < n; ++v) edges.emplace_back(v / 2, v);
    const Graph graph = GraphOf(n, edges, false);
    const auto [partition, said] = Divide(graph, {.parts = static_cast<PartId>(n), .allow_fallback = false});
    EXPECT_EQ(partition.name(), "metis");
    for (PartId p = 0; p < n; ++p) EXPECT_EQ(partition.OwnedCount(p), 1u) << p << " of " << n;
  }
}

TEST(Metis, IsAFunctionOfTheSeed) {
  const Graph graph = RandomGraph(5, 3000, 12'000, false, test::TestWeights::kNone, true);
  const auto owners = [&](std::uint64_t seed, int threads) {
    const Partition partition = Divide(graph, {.parts = 8, .seed = seed, .threads = threads}).first;
    std::vector<PartId> all;
    for (VertexId v = 0; v < graph.vertices(); ++v) all.push_back(partition.Owner(v));
    return all;
  };
  const std::vector<PartId> one = owners(1, 1);
  std::srand(77);  // METIS draws from rand(): neither may see the other
  const int first = std::rand();
  std::srand(77);
  EXPECT_EQ(owners(1, 3), one);
  EXPECT_EQ(std::rand(), first);
  EXPECT_NE(owners(2, 1), one);
  EXPECT_NE(owners(1 + (std::uint64_t{1} << 40), 1), one) << "the upper half of a seed counts";
}

TEST(Metis, ManyThreadsAtOnceGetWhatOneGets) {
#if CHATTY_TEST_ADDRESS_SANITIZED
  GTEST_SKIP() << "unlike malloc's, AddressSanitizer's locks are left held in a child that another thread forks";
#endif
  const Graph graph = Grid(60, 50);
  const auto divide = [&](std::uint64_t seed) {
    return MakePartitioner("metis")->Divide(graph, {.parts = 5, .seed = seed});
  };
  std::vector<Partition> alone(4), together(4);
  for (std::uint64_t seed = 0; seed < 4; ++seed) alone[seed] = divide(seed);
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t seed = 0; seed < 4; ++seed) threads.emplace_back([&, seed] { together[seed] = divide(seed); });
  }
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    for (VertexId v = 0; v < graph.vertices(); ++v) ASSERT_EQ(together[seed].Owner(v), alone[seed].Owner(v));
  }
}

extern "C" void OurHandler(int) {}

TEST(Metis, LeavesSignalsAlone) {
  struct sigaction ours {
  }, before{}, after{};
  ours.sa_handler = OurHandler;
  ours.sa_flags = SA_RESTART;
  ASSERT_EQ(::sigaction(SIGTERM, &ours, &before), 0);
  Divide(Grid(20, 20), {.parts = 3});
  ASSERT_EQ(::sigaction(SIGTERM, &before, &after), 0);
  EXPECT_EQ(after.sa_handler, OurHandler);
  EXPECT_EQ(after.sa_flags & SA_RESTART, SA_RESTART);
}

TEST(Metis, WorksWhereEndedChildrenAreThrownAway) {
  struct sigaction ignore {
  }, before{};
  ignore.sa_handler = SIG_IGN;
  ASSERT_EQ(::sigaction(SIGCHLD, &ignore, &before), 0);
  ExpectDivided(Grid(20, 20), 3);
  ASSERT_EQ(::sigaction(SIGCHLD, &before, nullptr), 0);
}

#endif  // CHATTY_WITH_METIS

}  // namespace
}  // namespace chatty
