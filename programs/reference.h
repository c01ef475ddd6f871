/// \file
/// Serial references: the plainest right algorithm for each program, on one thread, to compare answers with. What is
/// not unique by nature (a parent, a label) is made unique here by taking the least id, as the programs do.
#pragma once

#include <cstdint>
#include <span>

#include "chatty/core/array.h"
#include "chatty/core/graph.h"
#include "chatty/core/types.h"

namespace chatty {

/// Edges on a shortest path from `source` to every vertex, along out-edges; kInfinity<uint32_t> where there is no path.
/// Throws UsageError if `source` is not a vertex, CapabilityError past 2^32 - 2 levels.
Array<std::uint32_t> SerialBfs(const Graph& graph, VertexId source);

/// Each vertex's least in-neighbour one level up. The source is its own parent; kNoVertex for a vertex not reached.
/// Throws as SerialBfs does.
Array<VertexId> SerialBfsParents(const Graph& graph, VertexId source);

/// Lengths of shortest paths from `source` (Dijkstra's algorithm, Numerische Mathematik 1, 1959); kInfinity<Distance>
/// where there is no path. An unweighted graph takes weight 1.
///
/// Distance is int32_t, uint32_t, int64_t, float or double. Integer sums are made in 64 bits. A floating-point distance
/// is *defined* as the least, over all paths, of the sum of weights added from the source onwards, each sum rounded to
/// Distance. Rounded addition of nonnegative weights never decreases a sum and keeps the order of two sums, which is
/// all that Dijkstra's proof asks: so this value is what he finds, it is unique, and any program that relaxes edges in
/// Distance until nothing changes ends at the same bits. A float sum that overflows to infinity counts as no path.
///
/// Throws UsageError if `source` is not a vertex, a weight is negative or not a number, or integer distances are asked
/// over float weights; CapabilityError if a distance does not fit an integer Distance below kInfinity.
template <class Distance>
Array<Distance> SerialSssp(const Graph& graph, VertexId source);

/// Ranks, and how the iteration ended.
struct PageRankResult {
  Array<double> ranks;       ///< one a vertex, summing to 1
  std::uint32_t rounds = 0;  ///< rounds done
  double change = 0;         ///< sum over vertices of |new - old| in the last round
};

/// PageRank (Page, Brin, Motwani and Winograd, 1999) by power iteration in fp64 from 1/n each:
/// new(v) = (1 - damping) / n + damping * (sum over edges u -> v of old(u) / out_degree(u) + dangling / n), where
/// dangling is the old rank of all vertices without out-edges, spread evenly every round. Parallel edges count each;
/// weights do not. Stops after `rounds`, or before that after the first round whose change is below `tolerance`; 0 runs
/// all rounds. Throws UsageError unless 0 <= damping < 1.
PageRankResult SerialPageRank(const Graph& graph, double damping = 0.85, std::uint32_t rounds = 20, double tolerance = 0.0);

/// Personalised PageRank by power iteration in fp64 from p, which is `teleport` scaled to sum to 1:
/// new(v) = (1 - damping + damping * dangling) * p(v) + damping * sum over edges u -> v of old(u) / out_degree(u), where
/// dangling is the old rank of all vertices without out-edges. Stops as SerialPageRank does. Throws UsageError unless 0 <=
/// damping < 1, and unless `teleport` has a number for each vertex that is finite and not negative, of which one is
/// positive.
PageRankResult SerialPersonalisedPageRank(const Graph& graph, std::span<const double> teleport, double damping = 0.85,
                                          std::uint32_t rounds = 20, double tolerance = 0.0);

/// The least id of each vertex's weakly connected component, by union-find.
Array<VertexId> SerialComponents(const Graph& graph);

/// Core numbers: the largest k for which a vertex belongs to a subgraph where all have degree k or more (Batagelj and
/// Zaversnik's linear-time peeling, 2003). A degree counts entries of adjacency lists, in- and out-edges alike on a
/// directed graph; loops and parallel edges count as often as they are stored. Throws CapabilityError past 2^32 - 1
/// edges at one vertex.
Array<std::uint32_t> SerialKCore(const Graph& graph);

/// Communities by synchronous label propagation as LDBC Graphalytics defines it (CDLP): labels begin as vertex ids;
/// each round every vertex takes the most frequent label among its neighbours, the least of equally frequent ones, and
/// keeps its own if it has none. On a directed graph both directions count, a reciprocal pair twice.
Array<VertexId> SerialLabelPropagation(const Graph& graph, std::uint32_t rounds = 10);

/// How many triangles each vertex is a corner of: sets of three vertices, all of them with an edge between them, in either
/// direction. Loops and parallel edges do not count.
Array<std::uint64_t> SerialTriangles(const Graph& graph);

/// Local clustering coefficients as LDBC Graphalytics defines them (LCC): N being the vertices that an edge leads to from v
/// or from which one leads to v, without v, the number of edges u -> w with u and w in N over |N| (|N| - 1); 0 where N has
/// fewer than two. Loops do not count, parallel edges each.
Array<double> SerialClustering(const Graph& graph);

/// Betweenness (Brandes, 2001), unweighted, along out-edges, summed over the shortest paths from `sources` only,
/// endpoints not counted, not normalised: from all vertices of a symmetric graph each pair counts in both directions.
/// Parallel edges are different paths. Throws UsageError if a source is not a vertex, CapabilityError if the paths to
/// one vertex are more than a double holds.
Array<double> SerialBetweenness(const Graph& graph, std::span<const VertexId> sources);

}  // namespace chatty
