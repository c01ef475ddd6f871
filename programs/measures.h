/// \file
/// What a graph looks like: degrees, components and a bound on the diameter, as `chatty info` prints them.
#pragma once

#include <cstdint>
#include <vector>

#include "chatty/core/graph.h"
#include "chatty/core/types.h"

namespace chatty {

/// The distribution of degrees in one direction. All zero for a graph without vertices.
struct DegreeSummary {
  EdgeIndex min = 0;                ///< the least
  EdgeIndex median = 0;             ///< of n vertices, ascending, the ceil(n/2)th
  EdgeIndex percentile_99 = 0;      ///< and the ceil(0.99 n)th
  EdgeIndex max = 0;                ///< the largest
  double mean = 0;                  ///< edges over vertices
  VertexId max_vertex = kNoVertex;  ///< the least of those with the largest degree
  /// Vertices by powers of two: [0] those of degree 0, [k] those of degree 2^(k-1) to 2^k - 1. The last is not 0.
  std::vector<std::uint64_t> histogram;
};

/// Out-degrees, or in-degrees. In parallel; takes 8 bytes a vertex of scratch.
DegreeSummary SummariseDegrees(const Graph& graph, bool in = false);

/// Weak components.
struct ComponentSummary {
  VertexId count = 0;                   ///< isolated vertices are one each
  VertexId largest = 0;                 ///< vertices of the largest
  VertexId representative = kNoVertex;  ///< the least vertex of the largest, and of several largest of the first
};
/// Finds the weak components.
ComponentSummary SummariseComponents(const Graph& graph);

/// A lower bound on a component's diameter, edges taken both ways.
struct DiameterBound {
  std::uint32_t length = 0;   ///< edges on a shortest path between `from` and `to`
  VertexId from = kNoVertex;  ///< one end of the path found
  VertexId to = kNoVertex;    ///< the other
  std::uint32_t sweeps = 0;   ///< breadth-first searches made
};

/// Searches from `start`, then from a vertex farthest from it, and so on while paths get longer, at most `max_sweeps` times:
/// the double sweep of Magnien, Latapy and Habib (ACM JEA 13, 2009). Exact on trees; on other graphs often, but the true
/// diameter can be up to twice as long. In parallel; along out- and in-edges, which it builds for a directed graph. Throws
/// UsageError if `start` is no vertex.
DiameterBound EstimateDiameter(const Graph& graph, VertexId start, std::uint32_t max_sweeps = 4);

}  // namespace chatty
