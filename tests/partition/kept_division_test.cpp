#include "chatty/partition/kept_division.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "../sanitized.h"
#include "chatty/core/config.h"
#include "chatty/core/error.h"
#include "checks.h"

namespace chatty {
namespace {

using test::Divide;
using test::RandomGraph;
using test::SubgraphFault;
using test::TestWeights;

/// What several graphs' stores keep, and how often arrays were found.
struct Memory {
  std::map<std::string, std::vector<Array<std::byte>>> kept;
  int found = 0, saved = 0;
};

class MemoryStore : public GraphStore {
 public:
  explicit MemoryStore(Memory* memory) : memory_(memory) {}

  std::optional<Adjacency> LoadInEdges() override { return std::nullopt; }
  void SaveInEdges(const Adjacency&) noexcept override {}
  std::optional<KeptArrays> LoadArrays(const std::string& key) override {
    const auto found = memory_->kept.find(key);
    if (found == memory_->kept.end()) return std::nullopt;
    ++memory_->found;
    auto copies = std::make_shared<std::vector<Array<std::byte>>>();
    KeptArrays arrays;
    for (const Array<std::byte>& array : found->second) {
      copies->push_back(array.Clone());
      arrays.arrays.push_back(copies->back().span());
    }
    arrays.owner = copies;
    return arrays;
  }
  void SaveArrays(const std::string& key, std::span<const std::span<const std::byte>> arrays) noexcept override {
    ++memory_->saved;
    std::vector<Array<std::byte>>& kept = memory_->kept[key];
    kept.clear();
    for (const std::span<const std::byte> array : arrays) kept.emplace_back(array);
  }

 private:
  Memory* memory_;
};

std::vector<SubgraphOptions> EveryOption(const Graph& graph) {
  std::vector<SubgraphOptions> all;
  for (const Edges edges : {Edges::kOut, Edges::kIn, Edges::kBoth}) {
    for (const int lists : {1, 2, 3}) {
      for (const WeightKind weights : {WeightKind::kNone, WeightKind::kInt32, WeightKind::kFloat32}) {
        for (const bool rename : {true, false}) {
          if (graph.symmetric() && (edges != Edges::kOut || lists != 3)) continue;
          all.push_back({.edges = edges,
                         .forward = (lists & 1) != 0,
                         .reverse = (lists & 2) != 0,
                         .weights = weights,
                         .own_begins = graph.symmetric() && weights == WeightKind::kNone,
                         .rename = rename,
                         .threads = 2});
        }
      }
    }
  }
  return all;
}

/// Whether lists are of the graph's ids, which SubgraphFault does not know.
bool Renamed(const std::vector<Subgraph>& subgraphs) {
  for (const Subgraph& s : subgraphs) {
    if ((s.forward && s.forward->global) || (s.reverse && s.reverse->global)) return false;
  }
  return true;
}

template <class T>
std::vector<T> Copied(std::span<const T> elements) {
  return {elements.begin(), elements.end()};
}
template <class T>
std::vector<T> Copied(const Array<T>& elements) {
  return {elements.begin(), elements.end()};
}

void ExpectSameRows(const LocalAdjacency* one, const LocalAdjacency* other) {
  ASSERT_EQ(one == nullptr, other == nullptr);
  if (one == nullptr) return;
  EXPECT_EQ(one->max_degree, other->max_degree);
  EXPECT_EQ(one->global, other->global);
  EXPECT_EQ(Copied(one->offsets), Copied(other->offsets));
  EXPECT_EQ(Copied(one->neighbours), Copied(other->neighbours));
  ASSERT_EQ(one->weights.index(), other->weights.index());
  std::visit(
      [&](const auto& weights) {
        using Span = std::decay_t<decltype(weights)>;
        if constexpr (!std::is_same_v<Span, std::monostate>) {
          EXPECT_EQ(Copied(weights), Copied(std::get<Span>(other->weights)));
        }
      },
      one->weights);
  // What views the graph views the same of it; but offsets of in-edges may be copies.
  if (one->neighbours_storage.empty()) {
    EXPECT_EQ(one->neighbours.data(), other->neighbours.data());
  }
  if (!one->neighbours.empty()) {
    EXPECT_EQ(one->weights_storage.index(), other->weights_storage.index());
  }
}

/// Subgraphs that are built, kept and loaded are those that are built without a store.
void ExpectKept(Graph& graph, const Partition& partition, const SubgraphOptions& options) {
  const std::vector<Subgraph> plain = BuildSubgraphs(graph, partition, options);
  Memory memory;
  graph.set_store(std::make_unique<MemoryStore>(&memory));
  const std::vector<Subgraph> first = BuildSubgraphs(graph, partition, options);
  EXPECT_EQ(memory.saved, 1);
  EXPECT_EQ(memory.found, 0);
  const std::vector<Subgraph> loaded = BuildSubgraphs(graph, partition, options);
  EXPECT_EQ(memory.saved, 1);
  EXPECT_EQ(memory.found, 1);
  graph.set_store(nullptr);
  if (Renamed(loaded)) {
    EXPECT_EQ(SubgraphFault(graph, partition, options, loaded), "");
  }
  ASSERT_EQ(loaded.size(), plain.size());
  for (std::size_t p = 0; p < plain.size(); ++p) {
    const Subgraph &one = plain[p], &other = loaded[p];
    EXPECT_EQ(one.halo_begin, other.halo_begin);
    EXPECT_EQ(Copied(one.global_ids), Copied(other.global_ids));
    EXPECT_EQ(Copied(one.own_begins), Copied(other.own_begins));
    EXPECT_EQ(Copied(one.in_degrees), Copied(other.in_degrees));
    EXPECT_EQ(one.forward == one.reverse, other.forward == other.reverse);
    ASSERT_EQ(one.halo_words.size(), other.halo_words.size());
    for (std::size_t w = 0; w < one.halo_words.size(); ++w) {
      EXPECT_EQ(one.halo_words[w].marks, other.halo_words[w].marks);
      EXPECT_EQ(one.halo_words[w].before, other.halo_words[w].before);
    }
    ExpectSameRows(one.forward.get(), other.forward.get());
    ExpectSameRows(one.reverse.get(), other.reverse.get());
  }
}

TEST(KeptDivision, EveryWay) {
  for (const bool symmetric : {false, true}) {
    for (const TestWeights weights : {TestWeights::kNone, TestWeights::kInt32, TestWeights::kWholeFloat}) {
      Graph graph = RandomGraph(3, 90, 400, symmetric, weights);
      for (const std::string_view name : {"edge-balanced", "random"}) {
        for (const PartId parts : CHATTY_TEST_SANITIZED ? std::vector<PartId>{3} : std::vector<PartId>{2, 7}) {
          const Partition partition = Divide(graph, name, parts);
          for (const SubgraphOptions& options : EveryOption(graph)) {
            SCOPED_TRACE(fmt::format("{}, {} parts, symmetric {}, edges {}, lists {}{}, weights {}, rename {}", name, parts,
                                     symmetric, static_cast<int>(options.edges), options.forward, options.reverse,
                                     WeightName(options.weights), options.rename));
            ExpectKept(graph, partition, options);
          }
        }
      }
    }
  }
}

TEST(KeptDivision, OnePartIsKeptOnlyWhereListsAreMerged) {
  Graph graph = RandomGraph(4, 50, 300, /*symmetric=*/false);
  const Partition partition = Divide(graph, "contiguous", 1);
  ExpectKept(graph, partition, {.edges = Edges::kBoth});
  Memory memory;
  graph.set_store(std::make_unique<MemoryStore>(&memory));
  EXPECT_EQ(BuildSubgraphs(graph, partition, {.edges = Edges::kOut}).size(), 1u);
  EXPECT_EQ(memory.saved, 0);
}

TEST(KeptDivision, LoadedListsNeedNoInEdges) {
  Memory memory;
  for (const int found : {0, 1}) {
    Graph graph = RandomGraph(5, 200, 900, /*symmetric=*/false);
    graph.set_store(std::make_unique<MemoryStore>(&memory));
    const Partition partition = Divide(graph, "edge-balanced", 3);
    const SubgraphOptions options{.edges = Edges::kOut};
    const std::vector<Subgraph> subgraphs = BuildSubgraphs(graph, partition, options);
    EXPECT_EQ(memory.found, found);
    EXPECT_EQ(graph.has_in_edges(), found == 0);
    graph.set_store(nullptr);
    EXPECT_EQ(SubgraphFault(graph, partition, options, subgraphs), "");
  }
}

TEST(KeptDivision, EachDivisionHasAKeyOfItsOwn) {
  const Graph graph = RandomGraph(6, 100, 500, /*symmetric=*/false);
  const SubgraphOptions options{.weights = WeightKind::kInt32};
  std::map<std::string, int> keys;
  for (const PartId parts : {2u, 3u}) {
    for (const std::uint64_t seed : {1u, 2u}) {
      ++keys[SubgraphsKey(MakePartitioner("random")->Divide(graph, {.parts = parts, .seed = seed}), options)];
    }
    ++keys[SubgraphsKey(Divide(graph, "contiguous", parts), options)];
  }
  const Partition one = Partition::FromBounds({0, 40, 100}, "a"), other = Partition::FromBounds({0, 41, 100}, "a");
  for (const Partition* partition : {&one, &other}) {
    for (SubgraphOptions changed : EveryOption(graph)) {
      changed.own_begins = false;
      ++keys[SubgraphsKey(*partition, changed)];
    }
  }
  for (const auto& [key, count] : keys) EXPECT_EQ(count, 1) << key;
  EXPECT_EQ(SubgraphsKey(Partition::FromBounds({0, 40, 100}, "b"), options), SubgraphsKey(one, options))
      << "who divided does not matter";
}

TEST(KeptDivision, WhatIsNoDivisionOfTheGraphIsMadeAnew) {
  Graph graph = RandomGraph(7, 60, 250, /*symmetric=*/true, TestWeights::kInt32);
  const Partition partition = Divide(graph, "edge-balanced", 3);
  const SubgraphOptions options{.weights = WeightKind::kInt32};
  Memory memory;
  graph.set_store(std::make_unique<MemoryStore>(&memory));
  BuildSubgraphs(graph, partition, options);
  std::vector<Array<std::byte>>& kept = memory.kept.begin()->second;
  std::vector<Array<std::byte>> good;
  for (const Array<std::byte>& array : kept) good.push_back(array.Clone());
  const auto expect_anew = [&](const std::string& what) {
    SCOPED_TRACE(what);
    const int saved = memory.saved;
    const std::vector<Subgraph> subgraphs = BuildSubgraphs(graph, partition, options);
    EXPECT_EQ(memory.saved, saved + 1);
    EXPECT_EQ(SubgraphFault(graph, partition, options, subgraphs), "");
    ASSERT_EQ(kept.size(), good.size());
    for (std::size_t i = 0; i < good.size(); ++i) EXPECT_EQ(Copied(kept[i]), Copied(good[i]));
  };
  kept.clear();
  expect_anew("nothing");
  kept.pop_back();
  expect_anew("an array less");
  kept.emplace_back(8, std::byte{0});
  expect_anew("an array more");
  kept[0].Truncate(kept[0].size() - 8);
  expect_anew("a number less");
  kept[0].Truncate(kept[0].size() - 3);
  expect_anew("half a number");
  kept[1].Truncate(kept[1].size() - 4);
  expect_anew("an id less");
  for (std::size_t i : {0, 1, 2, 3, 4, 7}) {  // part, parts, vertices, symmetric, owned, and how many ids
    kept[0][i * 8] ^= std::byte{1};
    expect_anew(fmt::format("number {}", i));
  }
}

#if CHATTY_WITH_METIS
TEST(KeptDivision, OwnersOfMetis) {
  Memory memory;
  const Graph grid = [&] {
    Graph graph = RandomGraph(8, 120, 500, /*symmetric=*/true);
    graph.set_store(std::make_unique<MemoryStore>(&memory));
    return graph;
  }();
  const Partition first = Divide(grid, "metis", 4);
  EXPECT_EQ(memory.saved, 1);
  const Partition second = Divide(grid, "metis", 4);
  EXPECT_EQ(memory.found, 1);
  EXPECT_EQ(second.name(), "metis");
  for (VertexId v = 0; v < 120; ++v) EXPECT_EQ(first.Owner(v), second.Owner(v)) << v;
  // Others in their place come: METIS is not asked again.
  auto* const planted = reinterpret_cast<PartId*>(memory.kept.begin()->second[0].data());
  for (VertexId v = 0; v < 120; ++v) planted[v] = v % 4;
  const Partition third = Divide(grid, "metis", 4);
  for (VertexId v = 0; v < 120; ++v) EXPECT_EQ(third.Owner(v), v % 4) << v;
  planted[17] = 4;
  const Partition sound = Divide(grid, "metis", 4);
  for (VertexId v = 0; v < 120; ++v) EXPECT_EQ(sound.Owner(v), first.Owner(v)) << "made anew, " << v;
  EXPECT_EQ(memory.saved, 2);
  Divide(grid, "metis", 3);
  MakePartitioner("metis")->Divide(grid, {.parts = 4, .seed = 2});
  EXPECT_EQ(memory.saved, 4) << "of others there were none";
}
#endif

}  // namespace
}  // namespace chatty
