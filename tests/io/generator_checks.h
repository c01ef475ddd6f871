/// \file
/// Generated graphs, and what to ask of them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "chatty/core/error.h"
#include "chatty/io/generators.h"

namespace chatty::generated {

inline GeneratorSpec Spec(std::string family, int scale, std::uint64_t edge_factor) {
  GeneratorSpec spec;
  spec.family = std::move(family);
  spec.scale = scale;
  spec.edge_factor = edge_factor;
  return spec;
}

inline GeneratorSpec GridSpec(std::uint64_t width, std::uint64_t height, double drop = 0) {
  GeneratorSpec spec;
  spec.family = "grid";
  spec.width = width;
  spec.height = height;
  spec.drop = drop;
  return spec;
}

inline GeneratorSpec CountSpec(std::string family, std::uint64_t count) {
  GeneratorSpec spec;
  spec.family = std::move(family);
  spec.count = count;
  return spec;
}

inline std::vector<VertexId> Neighbours(const Graph& graph, VertexId v) {
  const auto list = graph.out()[v];
  return {list.begin(), list.end()};
}

inline bool SameWeights(const Weights& a, const Weights& b) {
  if (a.index() != b.index()) return false;
  if (const auto* integers = std::get_if<Array<std::int32_t>>(&a)) {
    return std::ranges::equal(*integers, std::get<Array<std::int32_t>>(b));
  }
  if (const auto* floats = std::get_if<Array<float>>(&a)) return std::ranges::equal(*floats, std::get<Array<float>>(b));
  return true;
}

inline bool Same(const Graph& a, const Graph& b) {
  return a.vertices() == b.vertices() && std::ranges::equal(a.out().offsets, b.out().offsets) &&
         std::ranges::equal(a.out().neighbours, b.out().neighbours) && SameWeights(a.out().weights, b.out().weights);
}

/// Every edge has its reverse, with the same weight.
inline bool IsItsOwnTranspose(const Graph& graph) {
  const Adjacency transposed = Transpose(graph.vertices(), graph.out());
  return std::ranges::equal(graph.out().offsets, transposed.offsets) &&
         std::ranges::equal(graph.out().neighbours, transposed.neighbours) &&
         SameWeights(graph.out().weights, transposed.weights);
}

inline bool HasLoops(const Graph& graph) {
  for (VertexId v = 0; v < graph.vertices(); ++v) {
    if (std::ranges::binary_search(graph.out()[v], v)) return true;
  }
  return false;
}

inline bool HasParallelEdges(const Graph& graph) {
  for (VertexId v = 0; v < graph.vertices(); ++v) {
    const auto list = graph.out()[v];
    if (std::ranges::adjacent_find(list) != list.end()) return true;
  }
  return false;
}

inline std::size_t CountComponents(const Graph& graph) {
  std::vector<VertexId> parent(graph.vertices());
  std::iota(parent.begin(), parent.end(), VertexId{0});
  const auto find = [&](VertexId v) {
    while (parent[v] != v) v = parent[v] = parent[parent[v]];
    return v;
  };
  std::size_t components = graph.vertices();
  for (VertexId v = 0; v < graph.vertices(); ++v) {
    for (const VertexId u : graph.out()[v]) {
      const VertexId a = find(v);
      const VertexId b = find(u);
      if (a == b) continue;
      parent[a] = b;
      --components;
    }
  }
  return components;
}

inline std::size_t CountLoops(const Graph& graph) {
  std::size_t loops = 0;
  for (VertexId v = 0; v < graph.vertices(); ++v) loops += static_cast<std::size_t>(std::ranges::count(graph.out()[v], v));
  return loops;
}

/// Undirected, simple, and each edge of one weight.
inline void ExpectSimple(const Graph& graph) {
  EXPECT_TRUE(graph.symmetric());
  EXPECT_TRUE(IsItsOwnTranspose(graph));
  EXPECT_FALSE(HasLoops(graph));
  EXPECT_FALSE(HasParallelEdges(graph));
}

/// Directed, some edge without its reverse, and simple.
inline void ExpectSimpleAndDirected(const Graph& graph) {
  EXPECT_FALSE(graph.symmetric());
  EXPECT_FALSE(IsItsOwnTranspose(graph));
  EXPECT_FALSE(HasLoops(graph));
  EXPECT_FALSE(HasParallelEdges(graph));
}

/// A number that says what a graph is, weights included: the same for 32- and 64-bit ids.
inline std::uint64_t Fingerprint(const Graph& graph) {
  std::uint64_t hash = 0;
  const auto add = [&](std::uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  };
  add(graph.vertices());
  for (const EdgeIndex offset : graph.out().offsets) add(offset);
  for (const VertexId neighbour : graph.out().neighbours) add(neighbour);
  if (const auto* integers = std::get_if<Array<std::int32_t>>(&graph.out().weights)) {
    for (const std::int32_t weight : *integers) add(static_cast<std::uint32_t>(weight));
  } else if (const auto* floats = std::get_if<Array<float>>(&graph.out().weights)) {
    for (const float weight : *floats) add(std::bit_cast<std::uint32_t>(weight));
  }
  return hash;
}

/// How far the last vertex is that a search from `source` reaches, and which it is.
inline std::pair<std::size_t, VertexId> Farthest(const Graph& graph, VertexId source) {
  std::vector<VertexId> queue{source};
  std::vector<std::size_t> depth(graph.vertices(), graph.vertices());
  depth[source] = 0;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    for (const VertexId u : graph.out()[queue[i]]) {
      if (depth[u] < graph.vertices()) continue;
      depth[u] = depth[queue[i]] + 1;
      queue.push_back(u);
    }
  }
  return {depth[queue.back()], queue.back()};
}

/// Expects a UsageError whose text holds `part`.
inline void ExpectUsageError(const GeneratorSpec& spec, const std::string& part) {
  try {
    Generate(spec);
    ADD_FAILURE() << "no error that says `" << part << "`";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

}  // namespace chatty::generated
