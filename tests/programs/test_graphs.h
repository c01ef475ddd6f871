// Small graphs for the tests of this folder: by hand, and random from a seed.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "chatty/core/array.h"
#include "chatty/core/graph.h"
#include "chatty/core/types.h"

namespace chatty::test {

inline constexpr std::uint32_t kFar = kInfinity<std::uint32_t>;  ///< no level, no distance

struct TestEdge {
  std::uint64_t source, target;
  double weight = 1;
};

inline Graph MakeGraph(VertexId vertices, const std::vector<TestEdge>& edges, WeightKind kind = WeightKind::kNone,
                       BuildOptions options = {}) {
  EdgeList list;
  list.vertices = vertices;
  list.sources = Array<VertexId>(edges.size());
  list.targets = Array<VertexId>(edges.size());
  const auto fill = [&](auto weights) {
    for (std::size_t i = 0; i < edges.size(); ++i) {
      weights[i] = static_cast<typename decltype(weights)::value_type>(edges[i].weight);
    }
    list.weights = std::move(weights);
  };
  if (kind == WeightKind::kInt32) fill(Array<std::int32_t>(edges.size()));
  if (kind == WeightKind::kFloat32) fill(Array<float>(edges.size()));
  for (std::size_t i = 0; i < edges.size(); ++i) {
    list.sources[i] = static_cast<VertexId>(edges[i].source);
    list.targets[i] = static_cast<VertexId>(edges[i].target);
  }
  return BuildGraph(std::move(list), options);
}

inline Graph MakeSymmetric(VertexId vertices, const std::vector<TestEdge>& edges, WeightKind kind = WeightKind::kNone) {
  BuildOptions options;
  options.symmetrise = true;
  return MakeGraph(vertices, edges, kind, options);
}

/// Vertices in rows, each next to those on its four sides.
inline Graph GridGraph(VertexId width, VertexId height, WeightKind kind = WeightKind::kNone) {
  std::vector<TestEdge> edges;
  for (VertexId y = 0; y < height; ++y) {
    for (VertexId x = 0; x < width; ++x) {
      const VertexId v = y * width + x;
      const double weight = 1 + (x * 7 + y * 3) % 5;
      if (x + 1 < width) edges.push_back({v, v + 1, weight});
      if (y + 1 < height) edges.push_back({v, v + width, weight});
    }
  }
  return MakeSymmetric(width * height, edges, kind);
}

/// Loops, parallel edges and isolated vertices included. One weight in four is 0; float weights span many magnitudes,
/// so that sums round and some weights vanish in them.
inline Graph RandomGraph(std::uint32_t seed, VertexId vertices, double degree, WeightKind kind, bool symmetric) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<std::uint64_t> vertex(0, vertices - 1);
  std::uniform_real_distribution<double> unit(0, 1);
  std::vector<TestEdge> edges(static_cast<std::size_t>(degree * static_cast<double>(vertices)));
  for (TestEdge& edge : edges) {
    edge = {vertex(random), vertex(random), 0};
    if (unit(random) < 0.25) continue;
    edge.weight = kind == WeightKind::kInt32 ? 1 + static_cast<int>(20 * unit(random))
                                             : std::pow(10.0, 10 * unit(random) - 9) * (1 + unit(random));
  }
  return symmetric ? MakeSymmetric(vertices, edges, kind) : MakeGraph(vertices, edges, kind);
}

/// A graph of many ranges of vertices, so that threads share the work.
inline Graph LargeGraph(WeightKind kind = WeightKind::kNone) { return RandomGraph(99, 20000, 2.5, kind, false); }

/// Seeds, sizes, densities and both kinds of direction, for properties that must hold on all of them.
struct RandomCase {
  std::uint32_t seed;
  VertexId vertices;
  double degree;
  bool symmetric;

  Graph Make(WeightKind kind = WeightKind::kNone) const { return RandomGraph(seed, vertices, degree, kind, symmetric); }
};

inline std::vector<RandomCase> RandomCases() {
  std::vector<RandomCase> cases;
  std::uint32_t seed = 1;
  for (const VertexId vertices : {VertexId{1}, VertexId{2}, VertexId{7}, VertexId{40}}) {
    for (const double degree : {0.0, 0.6, 1.5, 4.0}) {
      for (const bool symmetric : {false, true}) cases.push_back({seed++, vertices, degree, symmetric});
    }
  }
  return cases;
}

template <class T>
std::vector<T> ToVector(const Array<T>& array) {
  return {array.begin(), array.end()};
}

}  // namespace chatty::test
