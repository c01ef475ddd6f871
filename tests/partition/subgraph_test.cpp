#include "chatty/partition/subgraph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "../sanitized.h"
#include "chatty/core/error.h"
#include "checks.h"

namespace chatty {
namespace {

using test::Divide;
using test::GraphOf;
using test::RandomGraph;
using test::SubgraphFault;
using test::TestWeights;

constexpr bool kSameIds = sizeof(VertexId) == sizeof(LocalId);

std::string FaultOf(const Graph& graph, const Partition& partition, const SubgraphOptions& options) {
  return SubgraphFault(graph, partition, options, BuildSubgraphs(graph, partition, options));
}

/// Every choice of edges and of lists, without weights.
std::vector<SubgraphOptions> AllOptions(int threads = 2) {
  std::vector<SubgraphOptions> all;
  for (const Edges edges : {Edges::kOut, Edges::kIn, Edges::kBoth}) {
    for (const bool forward : {false, true}) {
      for (const bool reverse : {false, true}) {
        all.push_back({.edges = edges, .forward = forward, .reverse = reverse, .threads = threads});
        if (edges != Edges::kOut) continue;  // of symmetric graphs alone
        all.push_back({.edges = edges, .forward = forward, .reverse = reverse, .own_begins = true, .threads = threads});
      }
    }
  }
  return all;
}

std::string Describe(const SubgraphOptions& options) {
  return fmt::format("edges {}, forward {}, reverse {}, weights {}{}", static_cast<int>(options.edges), options.forward,
                     options.reverse, WeightName(options.weights), options.own_begins ? ", own begins" : "");
}

void ExpectSoundEveryWay(const Graph& graph, const std::vector<PartId>& part_counts) {
  for (const std::string_view name : PartitionerNames()) {
    for (const PartId parts : part_counts) {
      const Partition partition = Divide(graph, name, parts);
      for (const SubgraphOptions& options : AllOptions()) {
        SCOPED_TRACE(fmt::format("{}, {} parts, {}", name, parts, Describe(options)));
        EXPECT_EQ(FaultOf(graph, partition, options), "");
      }
    }
  }
}

TEST(Subgraph, ByHand) {
  // A directed square 0 -> 1 -> 2 -> 3 -> 0 with a diagonal 0 -> 2, in parts {0, 1} and {2, 3}.
  const Graph graph = GraphOf(4, {{0, 1}, {1, 2}, {2, 3}, {3, 0}, {0, 2}}, false);
  const auto parts = BuildSubgraphs(graph, Partition::FromBounds({0, 2, 4}, ""), {});
  ASSERT_EQ(parts.size(), 2u);
  const Subgraph& a = parts[0];
  EXPECT_EQ(a.owned, 2u);
  EXPECT_EQ(a.local, 4u);  // 2 by out-edges, 3 by an in-edge
  EXPECT_EQ(a.halo_begin, (std::vector<LocalId>{2, 2, 4}));
  EXPECT_EQ(std::vector<VertexId>(a.global_ids.begin(), a.global_ids.end()), (std::vector<VertexId>{0, 1, 2, 3}));
  EXPECT_EQ(std::vector<EdgeIndex>(a.forward->offsets.begin(), a.forward->offsets.end()), (std::vector<EdgeIndex>{0, 2, 3}));
  EXPECT_EQ(std::vector<LocalId>(a.forward->neighbours.begin(), a.forward->neighbours.end()),
            (std::vector<LocalId>{1, 2, 2}));
  EXPECT_EQ(std::vector<LocalId>(a.reverse->neighbours.begin(), a.reverse->neighbours.end()), (std::vector<LocalId>{3, 0}));
  EXPECT_EQ(a.forward->max_degree, 2u);

  const Subgraph& b = parts[1];
  EXPECT_EQ(std::vector<VertexId>(b.global_ids.begin(), b.global_ids.end()), (std::vector<VertexId>{2, 3, 0, 1}));
  // In-edges of 2 come from 0 and 1, of 3 from 2: global order, so local ids fall.
  EXPECT_EQ(std::vector<LocalId>(b.reverse->neighbours.begin(), b.reverse->neighbours.end()),
            (std::vector<LocalId>{2, 3, 0}));
  EXPECT_EQ(std::vector<LocalId>(b.border[0].begin(), b.border[0].end()), (std::vector<LocalId>{0, 1}));
  EXPECT_EQ(std::vector<LocalId>(a.union_to_halo[1].begin(), a.union_to_halo[1].end()), (std::vector<LocalId>{2, 3}));
}

TEST(Subgraph, RandomGraphsEveryWay) {
  for (std::uint64_t seed = 0; seed < (CHATTY_TEST_SANITIZED ? 2 : 4); ++seed) {
    for (const bool symmetric : {false, true}) {
      const VertexId n = static_cast<VertexId>(30 + 25 * seed);
      SCOPED_TRACE(fmt::format("seed {}, symmetric {}", seed, symmetric));
      ExpectSoundEveryWay(RandomGraph(seed, n, n * (1 + seed), symmetric, TestWeights::kNone, seed % 2 == 1),
                          {1, 2, 3, 8, 17});
    }
  }
}

/// Rows so long that the halo is found by searching those of others.
TEST(Subgraph, DenseGraphsEveryWay) {
  for (const bool symmetric : {false, true}) {
    SCOPED_TRACE(symmetric);
    const Graph graph = RandomGraph(5, 100, 100 * 40, symmetric, TestWeights::kNone, true);
    if (!symmetric) graph.in();  // the other ends' rows are there
    ExpectSoundEveryWay(graph, {2, 3, 5});
  }
}

/// Neighbours that keep the graph's ids are those that are renamed, once their words have renamed them.
TEST(Subgraph, WordsOfTheHaloRename) {
  for (const bool symmetric : {false, true}) {
    for (const VertexId degree : {2, 40}) {
      const Graph graph = RandomGraph(7, 500, 500 * degree, symmetric, TestWeights::kInt32, false);
      for (const std::string_view name : {"contiguous", "edge-balanced", "random"}) {
        for (const PartId parts : {1, 3, 8}) {
          const Partition partition = Divide(graph, name, parts);
          for (const SubgraphOptions& renamed : AllOptions()) {
            SCOPED_TRACE(
                fmt::format("symmetric {}, degree {}, {}, {} parts, {}", symmetric, degree, name, parts, Describe(renamed)));
            SubgraphOptions kept = renamed;
            kept.rename = false;
            const std::vector<Subgraph> expected = BuildSubgraphs(graph, partition, renamed);
            const std::vector<Subgraph> actual = BuildSubgraphs(graph, partition, kept);
            for (PartId p = 0; p < parts; ++p) {
              const Subgraph &a = expected[p], &b = actual[p];
              ASSERT_TRUE(std::ranges::equal(a.global_ids, b.global_ids));
              ASSERT_TRUE(std::ranges::equal(a.own_begins, b.own_begins));
              for (const auto& [list, other] : {std::pair(a.forward, b.forward), std::pair(a.reverse, b.reverse)}) {
                if (list == nullptr) continue;
                const bool merged = renamed.edges == Edges::kBoth && !symmetric;
                EXPECT_EQ(other->global, kSameIds && parts > 1 && partition.contiguous() && !b.identity && !merged);
                EXPECT_EQ(other->global, !b.halo_words.empty());
                ASSERT_EQ(list->neighbours.size(), other->neighbours.size());
                for (std::size_t e = 0; e < list->neighbours.size(); ++e) {
                  LocalId u = other->neighbours[e];
                  if (other->global) {
                    const VertexId first = b.Global(0);
                    const HaloWord& word = b.halo_words[u / 64];
                    u = u - first < b.owned
                            ? static_cast<LocalId>(u - first)
                            : static_cast<LocalId>(word.before + std::popcount(word.marks & ((1ull << (u % 64)) - 1)));
                  }
                  ASSERT_EQ(u, list->neighbours[e]) << "edge " << e << " of part " << p;
                }
              }
            }
          }
        }
      }
    }
  }
}

TEST(Subgraph, WeightsOfEveryKindFromEveryKind) {
  const std::pair<TestWeights, WeightKind> kinds[] = {
      {TestWeights::kNone, WeightKind::kInt32},       {TestWeights::kNone, WeightKind::kFloat32},
      {TestWeights::kInt32, WeightKind::kNone},       {TestWeights::kInt32, WeightKind::kInt32},
      {TestWeights::kInt32, WeightKind::kFloat32},    {TestWeights::kFraction, WeightKind::kNone},
      {TestWeights::kFraction, WeightKind::kFloat32}, {TestWeights::kWholeFloat, WeightKind::kInt32},
  };
  for (const auto& [given, asked] : kinds) {
    for (const bool symmetric : {false, true}) {
      const Graph graph = RandomGraph(11, 120, 500, symmetric, given, true);
      for (const std::string_view name : PartitionerNames()) {
        for (const PartId parts : {1, 2, 3, 8, 17}) {
          if (CHATTY_TEST_SANITIZED && parts != 3) continue;
          const Partition partition = Divide(graph, name, parts);
          for (const Edges edges : {Edges::kOut, Edges::kIn, Edges::kBoth}) {
            const SubgraphOptions options{.edges = edges, .weights = asked, .threads = 2};
            SCOPED_TRACE(fmt::format("{} weights given, {}, {} parts, {}", WeightName(graph.weight_kind()), name, parts,
                                     Describe(options)));
            EXPECT_EQ(FaultOf(graph, partition, options), "");
          }
        }
      }
    }
  }
}

/// Large enough for several chunks of vertices, words and edges a part, on more threads than a part has chunks.
TEST(Subgraph, ManyChunks) {
  const std::tuple<bool, std::string_view, Edges> cases[] = {
      {true, "edge-balanced", Edges::kOut},
      {false, "edge-balanced", Edges::kIn},
      {false, "random", Edges::kOut},
      {false, "random", Edges::kBoth},
  };
  for (const auto& [symmetric, name, edges] : cases) {
    if (CHATTY_TEST_SANITIZED && edges != Edges::kBoth) continue;
    const Graph graph = RandomGraph(3, 140'000, 250'000, symmetric, TestWeights::kInt32, true);
    const SubgraphOptions options{.edges = edges, .weights = WeightKind::kInt32, .own_begins = true, .threads = 5};
    SCOPED_TRACE(fmt::format("symmetric {}, {}, {}", symmetric, name, Describe(options)));
    EXPECT_EQ(FaultOf(graph, Divide(graph, name, 3), options), "");
  }
}

TEST(Subgraph, MergedListsPutOutEdgesFirst) {
  EdgeList list;
  list.vertices = 2;
  list.sources = {0, 1};
  list.targets = {1, 0};
  list.weights = Array<std::int32_t>{7, 9};
  const Graph graph = BuildGraph(std::move(list), {});
  for (const PartId parts : {1, 2}) {
    const SubgraphOptions options{.edges = Edges::kBoth, .weights = WeightKind::kInt32};
    const auto subgraphs = BuildSubgraphs(graph, Divide(graph, "contiguous", parts), options);
    const auto weights = std::get<std::span<const std::int32_t>>(subgraphs[0].forward->weights);
    EXPECT_EQ(weights[0], 7);
    EXPECT_EQ(weights[1], 9);
    EXPECT_EQ(subgraphs[0].forward, subgraphs[0].reverse);
  }
}

TEST(Subgraph, OnePartViewsTheGraph) {
  for (const bool symmetric : {false, true}) {
    const Graph graph = RandomGraph(2, 300, 2000, symmetric, TestWeights::kFraction);
    const SubgraphOptions options{.weights = WeightKind::kFloat32};
    for (const std::string_view name : PartitionerNames()) {
      const auto subgraphs = BuildSubgraphs(graph, Divide(graph, name, 1), options);
      const Subgraph& s = subgraphs.front();
      EXPECT_TRUE(s.identity);
      EXPECT_TRUE(s.global_ids.empty());
      for (const auto& [local, whole] : {std::pair{s.forward, &graph.out()}, std::pair{s.reverse, &graph.in()}}) {
        EXPECT_EQ(local->offsets.data(), whole->offsets.data());
        EXPECT_EQ(std::get<std::span<const float>>(local->weights).data(), std::get<Array<float>>(whole->weights).data());
        EXPECT_EQ(local->offsets_storage.size(), 0u);
        EXPECT_EQ(local->neighbours_storage.size(), kSameIds ? 0u : graph.edges());
        EXPECT_EQ(static_cast<const void*>(local->neighbours.data()) == whole->neighbours.data(), kSameIds);
      }
    }
    // Owners in a table, but all one part: no different.
    Array<PartId> owners(300, 1);
    const auto subgraphs = BuildSubgraphs(graph, Partition::FromOwners(std::move(owners), 3, ""), options);
    EXPECT_TRUE(subgraphs[1].identity);
    EXPECT_EQ(subgraphs[1].forward->offsets.data(), graph.out().offsets.data());
    EXPECT_FALSE(subgraphs[0].identity);
  }
}

TEST(Subgraph, ContiguousPartsViewTheWeights) {
  const Graph graph = RandomGraph(2, 300, 2000, false, TestWeights::kInt32);
  const Partition partition = Divide(graph, "contiguous", 3);
  const auto subgraphs = BuildSubgraphs(graph, partition, {.weights = WeightKind::kInt32});
  const auto& whole = std::get<Array<std::int32_t>>(graph.out().weights);
  for (PartId p = 0; p < 3; ++p) {
    const auto weights = std::get<std::span<const std::int32_t>>(subgraphs[p].forward->weights);
    EXPECT_EQ(weights.data(), whole.data() + graph.out().offsets[partition.Global(p, 0)]);
    EXPECT_EQ(KindOf(subgraphs[p].forward->weights_storage), WeightKind::kNone);
  }
}

TEST(Subgraph, InEdgesAreBuiltOnlyOnDemand) {
  const auto build = [](const SubgraphOptions& options) {
    const Graph graph = RandomGraph(4, 50, 200, false);
    BuildSubgraphs(graph, Divide(graph, "contiguous", 3), options);
    return graph.has_in_edges();
  };
  EXPECT_FALSE(build({.edges = Edges::kOut, .reverse = false}));
  EXPECT_FALSE(build({.edges = Edges::kIn, .forward = false}));
  EXPECT_FALSE(build({.edges = Edges::kBoth, .forward = false, .reverse = false}));
  EXPECT_TRUE(build({.edges = Edges::kOut}));
  EXPECT_TRUE(build({.edges = Edges::kIn, .reverse = false}));
  EXPECT_TRUE(build({.edges = Edges::kBoth, .reverse = false}));
}

TEST(Subgraph, FloatsThatAreNoIntegersAreRefusedByName) {
  for (const float weight : {0.5f, 2147483648.0f, -2147483904.0f, std::numeric_limits<float>::infinity(), std::nanf("")}) {
    EdgeList list;
    list.vertices = 4;
    list.sources = {0, 2};
    list.targets = {1, 3};
    list.weights = Array<float>{1.0f, weight};
    const Graph graph = BuildGraph(std::move(list), {});
    for (const Edges edges : {Edges::kOut, Edges::kIn, Edges::kBoth}) {
      try {
        BuildSubgraphs(graph, Divide(graph, "random", 2), {.edges = edges, .weights = WeightKind::kInt32});
        FAIL() << weight << " was taken for an int32";
      } catch (const UsageError& error) {
        EXPECT_NE(std::string(error.what()).find("2 -> 3"), std::string::npos) << error.what();
      }
    }
  }
  EdgeList list;  // the extremes that do fit
  list.vertices = 2;
  list.sources = {0, 1};
  list.targets = {1, 0};
  list.weights = Array<float>{-2147483648.0f, 2147483520.0f};
  const Graph graph = BuildGraph(std::move(list), {});
  const auto subgraphs = BuildSubgraphs(graph, Divide(graph, "contiguous", 1), {.weights = WeightKind::kInt32});
  const auto weights = std::get<std::span<const std::int32_t>>(subgraphs[0].forward->weights);
  EXPECT_EQ(weights[0], std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(weights[1], 2147483520);
}

TEST(Subgraph, AnotherGraphsPartitionIsRefused) {
  const Graph graph = GraphOf(4, {}, true);
  EXPECT_THROW(BuildSubgraphs(graph, Partition::FromBounds({0, 5}, ""), {}), UsageError);
  EXPECT_THROW(BuildSubgraphs(Graph(), Partition(), {}), UsageError);
}

TEST(Subgraph, NoVertices) {
  ExpectSoundEveryWay(Graph(), {1, 3});
  ExpectSoundEveryWay(GraphOf(0, {}, false), {1, 3});
}

TEST(Subgraph, OneVertexWithAndWithoutALoop) {
  for (const bool symmetric : {false, true}) {
    ExpectSoundEveryWay(GraphOf(1, {}, symmetric), {1, 2, 17});
    ExpectSoundEveryWay(GraphOf(1, {{0, 0}}, symmetric), {1, 2, 17});
  }
}

TEST(Subgraph, NoEdges) { ExpectSoundEveryWay(GraphOf(20, {}, false), {1, 3, 8}); }

TEST(Subgraph, FewerVerticesThanParts) {
  ExpectSoundEveryWay(GraphOf(5, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 0}, {2, 2}, {0, 1}}, false), {8, 17, 64});
}

TEST(Subgraph, EmptyPartsBetweenOthers) {
  const Graph graph = RandomGraph(8, 40, 200, false);
  for (const SubgraphOptions& options : AllOptions()) {
    EXPECT_EQ(FaultOf(graph, Partition::FromBounds({0, 0, 10, 10, 10, 40, 40}, ""), options), "") << Describe(options);
  }
}

Graph Star(VertexId vertices, VertexId hub, bool symmetric) {
  std::vector<std::pair<VertexId, VertexId>> edges;
  for (VertexId v = 0; v < vertices; ++v) {
    if (v != hub) edges.emplace_back(hub, v);
  }
  return GraphOf(vertices, edges, symmetric);
}

TEST(Subgraph, OwnBeginsByHand) {
  // Parts {0, 1}, {2, 3, 4, 5} and {6, 7}. Of the second 2 has neighbours of each part and itself, twice; 3 owned ones
  // alone; 4 lesser and greater ones; 5 none.
  Adjacency rows;
  rows.offsets = {0, 2, 6, 13, 14, 17, 17, 19, 21};
  rows.neighbours = {2, 7, 2, 2, 4, 4, 0, 1, 1, 2, 2, 3, 6, 2, 1, 1, 7, 2, 6, 0, 4};
  const Graph graph(std::move(rows), /*symmetric=*/true);
  const Partition partition = Partition::FromBounds({0, 2, 6, 8}, "");
  const auto parts = BuildSubgraphs(graph, partition, {.own_begins = true});
  const auto begins = [](const Subgraph& s) { return std::vector<EdgeIndex>(s.own_begins.begin(), s.own_begins.end()); };
  EXPECT_EQ(begins(parts[0]), std::vector<EdgeIndex>{});
  EXPECT_EQ(begins(parts[1]), (std::vector<EdgeIndex>{3, 7, 10, 11}));
  EXPECT_EQ(begins(parts[2]), (std::vector<EdgeIndex>{1, 4}));
  EXPECT_EQ(FaultOf(graph, partition, {.own_begins = true}), "");
}

TEST(Subgraph, OwnBeginsAreAddedLater) {
  const Graph graph = RandomGraph(13, 300, 1500, true);
  for (const std::string_view name : PartitionerNames()) {
    const Partition partition = Divide(graph, name, 4);
    auto subgraphs = BuildSubgraphs(graph, partition, {});
    ASSERT_EQ(SubgraphFault(graph, partition, {}, subgraphs), "");
    for (int time = 0; time < 2; ++time) {
      AddOwnBegins(subgraphs, 2);
      EXPECT_EQ(SubgraphFault(graph, partition, {.own_begins = true}, subgraphs), "") << name;
    }
  }
  auto ranges = BuildSubgraphs(graph, Divide(graph, "contiguous", 4), {.own_begins = true});
  for (PartId p = 0; p < 4; ++p) {
    EXPECT_TRUE(PartsAreRanges(ranges[p]));
    EXPECT_EQ(ranges[p].own_begins.empty(), p == 0);
  }
  EXPECT_FALSE(PartsAreRanges(BuildSubgraphs(graph, Divide(graph, "random", 4), {})[1]));
}

/// Ranges that are not in the order of their parts: what is less than a part's vertices is of later parts, too.
TEST(Subgraph, RangesInAnotherOrder) {
  const Graph graph = RandomGraph(14, 300, 1500, true);
  Array<PartId> owners(300);
  for (std::size_t v = 0; v < 300; ++v) owners[v] = static_cast<PartId>((v / 100 + 1) % 3);
  const Partition partition = Partition::FromOwners(std::move(owners), 3, "");
  for (const SubgraphOptions& options : AllOptions()) EXPECT_EQ(FaultOf(graph, partition, options), "") << Describe(options);
}

TEST(Subgraph, Hub) {
  ExpectSoundEveryWay(Star(700, 350, true), {2, 8});
  ExpectSoundEveryWay(Star(700, 350, false), {2, 8});
}

TEST(Subgraph, HubWhoseRowIsSeveralChunks) {
  const Graph graph = Star(150'000, 70'000, false);
  for (const std::string_view name : {"edge-balanced", "random"}) {
    EXPECT_EQ(FaultOf(graph, Divide(graph, name, 2), {.threads = 3}), "") << name;
  }
}

TEST(Subgraph, SixtyFourParts) { ExpectSoundEveryWay(RandomGraph(6, 400, 3000, false, TestWeights::kNone, true), {64}); }

/// The tests above are worth what SubgraphFault sees: it must see any one number changed.
TEST(SubgraphFault, SeesEveryDamage) {
  const Graph graph = RandomGraph(21, 60, 300, false, TestWeights::kInt32);
  const Partition partition = Divide(graph, "random", 3);
  const SubgraphOptions options{.weights = WeightKind::kInt32};
  ASSERT_EQ(FaultOf(graph, partition, options), "");

  const auto with_forward = [](Subgraph& s, const std::function<void(LocalAdjacency&)>& change) {
    auto copy = std::make_shared<LocalAdjacency>();
    copy->offsets_storage = Array<EdgeIndex>(s.forward->offsets);
    copy->neighbours_storage = Array<LocalId>(s.forward->neighbours);
    copy->weights_storage = Array<std::int32_t>(std::get<std::span<const std::int32_t>>(s.forward->weights));
    copy->max_degree = s.forward->max_degree;
    change(*copy);
    copy->offsets = copy->offsets_storage.span();
    copy->neighbours = copy->neighbours_storage.span();
    copy->weights = std::span<const std::int32_t>(std::get<Array<std::int32_t>>(copy->weights_storage).span());
    s.forward = copy;
  };
  const std::vector<std::pair<std::string, std::function<void(Subgraph&)>>> damages = {
      {"owned", [](Subgraph& s) { --s.owned; }},
      {"symmetric", [](Subgraph& s) { s.symmetric = !s.symmetric; }},
      {"identity", [](Subgraph& s) { s.identity = true; }},
      {"two global ids swapped", [](Subgraph& s) { std::swap(s.global_ids[s.owned], s.global_ids[s.owned + 1]); }},
      {"an out-degree", [](Subgraph& s) { ++s.out_degrees[4]; }},
      {"an in-degree", [](Subgraph& s) { --s.in_degrees[4]; }},
      {"reverse missing", [](Subgraph& s) { s.reverse = nullptr; }},
      {"forward for reverse", [](Subgraph& s) { s.reverse = s.forward; }},
      {"a neighbour", [&](Subgraph& s) { with_forward(s, [](LocalAdjacency& a) { a.neighbours_storage[5] ^= 1; }); }},
      {"a weight",
       [&](Subgraph& s) {
         with_forward(s, [](LocalAdjacency& a) { ++std::get<Array<std::int32_t>>(a.weights_storage)[5]; });
       }},
      {"the last offset", [&](Subgraph& s) { with_forward(s, [](LocalAdjacency& a) { --a.offsets_storage.back(); }); }},
      {"max_degree", [&](Subgraph& s) { with_forward(s, [](LocalAdjacency& a) { ++a.max_degree; }); }},
      {"halo_begin",
       [](Subgraph& s) {
         s.halo_begin[1] += 1;
         s.halo_begin[2] += 1;
       }},
      {"a border entry", [](Subgraph& s) { std::swap(s.border[2][0], s.border[2][1]); }},
      {"a border entry short", [](Subgraph& s) { s.border[2].Truncate(s.border[2].size() - 1); }},
      {"border_union", [](Subgraph& s) { s.border_union.Truncate(s.border_union.size() - 1); }},
      {"border_to_union", [](Subgraph& s) { std::swap(s.border_to_union[0][0], s.border_to_union[0][1]); }},
      {"union_to_halo", [](Subgraph& s) { std::swap(s.union_to_halo[0][0], s.union_to_halo[0][1]); }},
      {"union_to_halo forgets",
       [](Subgraph& s) {
         *std::find_if(s.union_to_halo[0].begin(), s.union_to_halo[0].end(), [](LocalId l) { return l != kNoLocal; }) =
             kNoLocal;
       }},
  };
  for (const auto& [what, damage] : damages) {
    auto subgraphs = BuildSubgraphs(graph, partition, options);
    damage(subgraphs[1]);
    EXPECT_NE(SubgraphFault(graph, partition, options, subgraphs), "") << what << " was damaged and not seen";
  }
}

TEST(SubgraphFault, SeesWrongOwnBegins) {
  const Graph graph = RandomGraph(21, 60, 300, true);
  const Partition partition = Divide(graph, "contiguous", 3);
  const SubgraphOptions options{.own_begins = true};
  const std::function<void(Subgraph&)> damages[] = {
      [](Subgraph& s) { ++s.own_begins[7]; },
      [](Subgraph& s) { s.own_begins.Truncate(s.own_begins.size() - 1); },
      [](Subgraph& s) { s.own_begins = {}; },
  };
  for (const auto& damage : damages) {
    auto subgraphs = BuildSubgraphs(graph, partition, options);
    damage(subgraphs[1]);
    EXPECT_NE(SubgraphFault(graph, partition, options, subgraphs), "");
  }
}

}  // namespace
}  // namespace chatty
