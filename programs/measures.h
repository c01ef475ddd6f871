/// \file
/// Measures of a graph for `chatty info`: degrees, components and a bound on the diameter.
#pragma once

#include <cstdint>
#include <vector>

#include "chatty/core/graph.h"
#include "chatty/core/types.h"

namespace chatty {

/// The distribution of degrees in one direction. All zero for a graph without vertices.
struct DegreeSummary {
  EdgeIndex min = 0;                ///< minimum
  EdgeIndex median = 0;             ///< the ceil(n/2)th of n degrees in ascending order
  EdgeIndex percentile_99 = 0;      ///< the ceil(0.99 n)th
  EdgeIndex max = 0;                ///< maximum
  double mean = 0;                  ///< edges / vertices
  VertexId max_vertex = kNoVertex;  ///< least vertex of largest degree
  /// Numbers of vertices by powers of two: [0] of degree 0, [k] of degree 2^(k-1) to 2^k - 1. The last entry is not 0.
  std::vector<std::uint64_t> histogram;
};

/// Summarises out-degrees, or in-degrees. Runs in parallel, with 8 bytes of scratch memory per vertex.
DegreeSummary SummariseDegrees(const Graph& graph, bool in = false);

/// Weak components.
struct ComponentSummary {
  VertexId count = 0;                   ///< number of components; an isolated vertex is one
  VertexId largest = 0;                 ///< number of vertices of the largest component
  VertexId representative = kNoVertex;  ///< least vertex of the largest component; of several largest ones, of the first
};
/// Finds the weak components.
ComponentSummary SummariseComponents(const Graph& graph);

/// A lower bound on a component's diameter, with edges in both directions.
struct DiameterBound {
  std::uint32_t length = 0;   ///< edges on a shortest path between `from` and `to`
  VertexId from = kNoVertex;  ///< one end of the path found
  VertexId to = kNoVertex;    ///< the other end
  std::uint32_t sweeps = 0;   ///< number of breadth-first searches
};

/// Searches from `start`, then from a vertex farthest from it, and so on while paths become longer, at most `max_sweeps`
/// times: the double sweep of Magnien, Latapy and Habib (ACM JEA 13, 2009). Exact on trees, and often on other graphs, but
/// the true diameter can be up to twice as long. Runs in parallel, along out- and in-edges, which it builds for a directed
/// graph. Throws UsageError if `start` is not a vertex.
DiameterBound EstimateDiameter(const Graph& graph, VertexId start, std::uint32_t max_sweeps = 4);

}  // namespace chatty
