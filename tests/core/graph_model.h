/// \file
/// A slow and plain model of what BuildGraph promises, and lists of edges to try it on.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "chatty/core/graph.h"

namespace chatty::test {

/// Source, target and a stand-in for the weight that orders as weights do; 0 for none.
using PlainEdge = std::tuple<std::uint64_t, std::uint64_t, std::int64_t>;

/// Orders as the weight does, and tells NaNs and signed zeros apart.
inline std::int64_t WeightKey(const Weights& weights, std::size_t i) {
  if (const auto* integers = std::get_if<Array<std::int32_t>>(&weights)) return (*integers)[i];
  if (const auto* floats = std::get_if<Array<float>>(&weights)) {
    const auto bits = std::bit_cast<std::uint32_t>((*floats)[i]);
    const auto magnitude = static_cast<std::int64_t>(bits & 0x7fffffffu);
    return bits >> 31 ? -magnitude - 1 : magnitude;
  }
  return 0;
}

inline std::vector<PlainEdge> PlainEdges(const EdgeList& list) {
  std::vector<PlainEdge> edges;
  for (std::size_t i = 0; i < list.sources.size(); ++i) {
    edges.emplace_back(list.sources[i], list.targets[i], WeightKey(list.weights, i));
  }
  return edges;
}

inline std::vector<PlainEdge> PlainEdges(VertexId vertices, const Adjacency& adjacency) {
  std::vector<PlainEdge> edges;
  for (VertexId v = 0; v < vertices; ++v) {
    for (EdgeIndex e = adjacency.offsets[v]; e < adjacency.offsets[v + 1]; ++e) {
      edges.emplace_back(v, adjacency.neighbours[e], WeightKey(adjacency.weights, e));
    }
  }
  return edges;
}

struct Model {
  std::vector<PlainEdge> edges;
  BuildReport report;
};

inline Model PlainBuild(const EdgeList& list, const BuildOptions& options) {
  Model model;
  for (const PlainEdge& edge : PlainEdges(list)) {
    ++model.report.edges_given;
    const auto& [u, v, w] = edge;
    if (u == v && options.remove_loops) {
      ++model.report.loops_removed;
      continue;
    }
    model.edges.push_back(edge);
    if (options.symmetrise && u != v) model.edges.emplace_back(v, u, w);
  }
  std::sort(model.edges.begin(), model.edges.end());
  if (options.merge_parallel) {
    const auto same_ends = [](const PlainEdge& a, const PlainEdge& b) {
      return std::get<0>(a) == std::get<0>(b) && std::get<1>(a) == std::get<1>(b);
    };
    const auto end = std::unique(model.edges.begin(), model.edges.end(), same_ends);
    model.report.parallel_merged = static_cast<EdgeIndex>(model.edges.end() - end);
    model.edges.erase(end, model.edges.end());
  }
  model.report.edges_kept = model.edges.size();
  return model;
}

struct Shape {
  VertexId vertices;
  std::size_t edges;
  double skew;  // ends are vertices * x^skew for uniform x
};

inline EdgeList RandomList(const Shape& shape, WeightKind kind, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> unit(0, 1);
  const auto end = [&] {
    const double x = std::pow(unit(random), shape.skew) * static_cast<double>(shape.vertices);
    return std::min(static_cast<VertexId>(x), shape.vertices - 1);
  };
  EdgeList list;
  list.vertices = shape.vertices;
  list.sources = Array<VertexId>(shape.edges);
  list.targets = Array<VertexId>(shape.edges);
  for (std::size_t i = 0; i < shape.edges; ++i) {
    list.sources[i] = end();
    list.targets[i] = end();
  }
  if (kind == WeightKind::kInt32) {
    Array<std::int32_t> weights(shape.edges);
    for (std::int32_t& weight : weights) weight = static_cast<std::int32_t>(random() % 100) - 50;
    list.weights = std::move(weights);
  } else if (kind == WeightKind::kFloat32) {
    constexpr float kOdd[] = {0.0f, -0.0f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()};
    Array<float> weights(shape.edges);
    for (float& weight : weights) {
      weight = random() % 8 == 0 ? kOdd[random() % 4] : static_cast<float>(random() % 64) / 4 - 8;
    }
    list.weights = std::move(weights);
  }
  return list;
}

inline EdgeList Copy(const EdgeList& list) {
  return {list.vertices, list.sources.Clone(), list.targets.Clone(), Clone(list.weights)};
}

inline EdgeList ListOf(VertexId vertices, const std::vector<std::pair<VertexId, VertexId>>& edges) {
  EdgeList list;
  list.vertices = vertices;
  list.sources = Array<VertexId>(edges.size());
  list.targets = Array<VertexId>(edges.size());
  for (std::size_t i = 0; i < edges.size(); ++i) {
    list.sources[i] = edges[i].first;
    list.targets[i] = edges[i].second;
  }
  return list;
}

inline std::vector<VertexId> Neighbours(const Graph& graph, VertexId v) {
  const auto list = graph.out()[v];
  return {list.begin(), list.end()};
}

template <class E>
std::string ErrorOf(auto&& action) {
  try {
    action();
  } catch (const E& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another error: " << error.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

inline EdgeList RandomList(std::uint64_t seed, VertexId vertices, std::size_t edges, WeightKind kind) {
  std::mt19937_64 random(seed);
  EdgeList list;
  list.vertices = vertices;
  list.sources = Array<VertexId>(edges);
  list.targets = Array<VertexId>(edges);
  Array<std::int32_t> integers(edges);
  for (std::size_t e = 0; e < edges; ++e) {
    list.sources[e] = static_cast<VertexId>(random() % vertices);
    list.targets[e] = static_cast<VertexId>(random() % vertices);
    integers[e] = static_cast<std::int32_t>(random() % 5);
  }
  if (kind == WeightKind::kInt32) list.weights = std::move(integers);
  if (kind == WeightKind::kFloat32) {
    Array<float> floats(edges);
    std::copy(integers.begin(), integers.end(), floats.begin());
    list.weights = std::move(floats);
  }
  return list;
}

inline EdgeList Part(const EdgeList& list, std::size_t begin, std::size_t end) {
  EdgeList part;
  part.sources = Array<VertexId>(list.sources.span().subspan(begin, end - begin));
  part.targets = Array<VertexId>(list.targets.span().subspan(begin, end - begin));
  if (const auto* integers = std::get_if<Array<std::int32_t>>(&list.weights)) {
    part.weights = Array<std::int32_t>(integers->span().subspan(begin, end - begin));
  } else if (const auto* floats = std::get_if<Array<float>>(&list.weights)) {
    part.weights = Array<float>(floats->span().subspan(begin, end - begin));
  }
  return part;
}

}  // namespace chatty::test
