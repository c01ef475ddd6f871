/// \file
/// Serial references: a simple correct algorithm for each program, on one thread, for comparison. Results that are not
/// unique by nature (a parent, a label) are made unique by the least id, as in the programs.
#pragma once

#include <cstdint>
#include <span>

#include "chatty/core/array.h"
#include "chatty/core/graph.h"
#include "chatty/core/types.h"

namespace chatty {

/// Number of edges on a shortest path from `source` to every vertex, along out-edges; kInfinity<uint32_t> if there is no
/// path. Throws UsageError if `source` is not a vertex, CapabilityError beyond 2^32 - 2 levels.
Array<std::uint32_t> SerialBfs(const Graph& graph, VertexId source);

/// Each vertex's least in-neighbour one level up. The source is its own parent; unreached vertices have kNoVertex. Throws as
/// SerialBfs does.
Array<VertexId> SerialBfsParents(const Graph& graph, VertexId source);

/// Lengths of shortest paths from `source` (Dijkstra's algorithm, Numerische Mathematik 1, 1959); kInfinity<Distance> if
/// there is no path. Edges of an unweighted graph have weight 1.
///
/// Distance is int32_t, uint32_t, int64_t, float or double. Integers are added in 64 bits. A floating-point distance is
/// *defined* as the minimum, over all paths, of the sum of weights added from the source onwards, each sum rounded to
/// Distance. Rounded addition of nonnegative weights never decreases a sum and keeps the order of two sums, as Dijkstra's
/// proof requires. So the algorithm finds this value, it is unique, and any program that relaxes edges in Distance until
/// nothing changes has the same bits. A float sum that overflows to infinity counts as no path.
///
/// Throws UsageError if `source` is not a vertex, a weight is negative or not a number, or an integer Distance is used with
/// float weights; CapabilityError if a distance does not fit an integer Distance below kInfinity.
template <class Distance>
Array<Distance> SerialSssp(const Graph& graph, VertexId source);

/// Ranks, and the number of rounds and the change at the end.
struct PageRankResult {
  Array<double> ranks;       ///< one per vertex, with the sum 1
  std::uint32_t rounds = 0;  ///< number of rounds
  double change = 0;         ///< sum over vertices of |new - old| in the last round
};

/// PageRank (Page, Brin, Motwani and Winograd, 1999) by power iteration in fp64 from 1/n each. new(v) = (1 - damping) / n +
/// damping * (sum over edges u -> v of old(u) / out_degree(u) + dangling / n). Here dangling is the old rank of all vertices
/// without out-edges; each round spreads it evenly. Parallel edges count each; weights do not count. Stops after `rounds`,
/// or after an earlier round whose change is below `tolerance`; 0 runs all rounds. Throws UsageError unless 0 <= damping <
/// 1.
PageRankResult SerialPageRank(const Graph& graph, double damping = 0.85, std::uint32_t rounds = 20, double tolerance = 0.0);

/// Personalised PageRank by power iteration in fp64 from p, which is `teleport` scaled to the sum 1. new(v) = (1 - damping +
/// damping * dangling) * p(v) + damping * sum over edges u -> v of old(u) / out_degree(u). Here dangling is the old rank of
/// all vertices without out-edges. Stops as SerialPageRank does. Throws UsageError unless 0 <= damping < 1, and unless
/// `teleport` has a finite number for each vertex, none is negative, and one is positive.
PageRankResult SerialPersonalisedPageRank(const Graph& graph, std::span<const double> teleport, double damping = 0.85,
                                          std::uint32_t rounds = 20, double tolerance = 0.0);

/// The least id of each vertex's weakly connected component, by union-find.
Array<VertexId> SerialComponents(const Graph& graph);

/// Core numbers: the largest k for which a vertex belongs to a subgraph in which all degrees are at least k (Batagelj and
/// Zaversnik's linear-time peeling, 2003). A degree counts entries of adjacency lists, in- and out-edges alike on a directed
/// graph; loops and parallel edges count as often as they are stored. Throws CapabilityError beyond 2^32 - 1 edges at one
/// vertex.
Array<std::uint32_t> SerialKCore(const Graph& graph);

/// Communities by synchronous label propagation as LDBC Graphalytics defines it (CDLP): labels begin as vertex ids. In each
/// round every vertex takes the most frequent label among its neighbours, on ties the least; a vertex without neighbours
/// keeps its own. On a directed graph both directions count, a reciprocal pair twice.
Array<VertexId> SerialLabelPropagation(const Graph& graph, std::uint32_t rounds = 10);

/// Number of triangles at each vertex: sets of three vertices with an edge between any two, in either direction. Loops and
/// parallel edges do not count.
Array<std::uint64_t> SerialTriangles(const Graph& graph);

/// Local clustering coefficients as LDBC Graphalytics defines them (LCC). N are v's in- and out-neighbours without v. The
/// coefficient is the number of edges u -> w with u and w in N over |N| (|N| - 1); 0 if N has fewer than two vertices. Loops
/// do not count, parallel edges each.
Array<double> SerialClustering(const Graph& graph);

/// Betweenness (Brandes, 2001), unweighted, along out-edges, summed over the shortest paths from `sources` only, endpoints
/// not counted, not normalised. With all vertices of a symmetric graph as sources, each pair counts in both directions.
/// Parallel edges are different paths. Throws UsageError if a source is not a vertex, CapabilityError if a double cannot
/// hold the number of paths to a vertex.
Array<double> SerialBetweenness(const Graph& graph, std::span<const VertexId> sources);

}  // namespace chatty
