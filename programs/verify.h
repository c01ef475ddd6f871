/// \file
/// Verifiers. Each decides from the graph alone whether a result is correct, without a reference run, by properties that
/// only the correct result has. These are the rules of the GAP benchmark suite and of Graph500, completed to proofs. All
/// verifiers are parallel and take time linear in vertices and edges, unless their comments give another time.
///
/// The verdict on a wrong result names the least vertex, or its first edge, that shows the error, in the file's own ids. A
/// verifier throws UsageError for an invalid question: a source that is not a vertex, negative weights. A result whose
/// length is not the number of vertices fails.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "chatty/core/array.h"
#include "chatty/core/graph.h"
#include "chatty/core/types.h"
#include "chatty/core/verdict.h"

namespace chatty {

/// BFS levels along out-edges, kInfinity<uint32_t> for unreached. Requires:
/// - level 0 at the source only;
/// - along each edge from a reached vertex the level grows by at most one (so no level is too large, and no reachable vertex
///   is missing);
/// - every other reached vertex has an in-neighbour one level up (so none is too small).
Verdict VerifyBfsLevels(const Graph& graph, VertexId source, std::span<const std::uint32_t> levels);

/// BFS parents: the source is its own parent, kNoVertex for unreached. Requires: each edge parent -> child exists; the
/// parents form one tree at the source; depths in that tree are BFS levels. Any parent one level up is accepted. `levels`,
/// if given, must equal the depths.
Verdict VerifyBfsParents(const Graph& graph, VertexId source, std::span<const VertexId> parents,
                         std::span<const std::uint32_t> levels = {});

/// Shortest distances along out-edges, kInfinity<Distance> for unreached; weight 1 without weights. Distance is int32_t,
/// uint32_t, int64_t, float or double. Requires, exactly:
/// - 0 at the source;
/// - d(v) <= d(u) + w on every edge (none too large);
/// - tight edges, those with d(v) == d(u) + w, lead from the source to every reached vertex (none too small).
///
/// Edges of zero weight, or of a weight that a float sum absorbs, may be tight in an unsupported cycle; the verifier
/// therefore traverses them only from supported vertices. Floating-point sums are made in Distance, where the result is
/// unique (see SerialSssp), so there is no tolerance. Throws UsageError for negative weights and for integer distances over
/// float weights.
template <class Distance>
Verdict VerifySssp(const Graph& graph, VertexId source, std::span<const Distance> distances);

/// Weakly connected components, labelled by least ids. Requires:
/// - a label is at most its vertex's id and is its own label;
/// - the ends of every edge have the same label (so components are not split);
/// - the number of labels equals that of components in an independent union-find (so none are merged).
Verdict VerifyComponents(const Graph& graph, std::span<const VertexId> labels);

/// PageRank at its fixed point; Rank is float or double. Requires:
/// - ranks finite and above 0;
/// - their sum within tolerance / (1 - damping) of 1, and within `sum_bound`, which is for ranks that have been scaled;
/// - in fp64, a residual of at most `tolerance`: the sum over v of |r(v) - ((1 - damping + damping * dangling) / n +
///   damping * sum over u -> v of r(u) / out_degree(u))|.
///
/// Then r is within tolerance / (1 - damping) of the exact ranks in L1. Builds the in-edges of a directed graph.
template <class Rank>
Verdict VerifyPageRank(const Graph& graph, std::span<const Rank> ranks, double damping, double tolerance,
                       double sum_bound = std::numeric_limits<double>::infinity());

/// When the rank of vertices without out-edges, of which all vertices get the same share, is spread. The fixed point is the
/// same.
enum class Dangling : std::uint8_t {
  kEveryRound,  ///< in every round, as in SerialPageRank
  kAtEnd,       ///< not in rounds: the final ranks are scaled to sum to 1
};

/// PageRank after exactly `rounds` rounds from 1/n; Rank is float or double. Requires each rank to be within
/// `relative_bound`, relative to it, of the same rounds computed in fp64, in parallel. Builds the in-edges of a directed
/// graph.
template <class Rank>
Verdict VerifyPageRankRounds(const Graph& graph, std::span<const Rank> ranks, double damping, std::uint32_t rounds,
                             double relative_bound, Dangling dangling = Dangling::kEveryRound);

/// Personalised PageRank at its fixed point: as VerifyPageRank, but walks restart by `teleport`, which is scaled to the sum
/// 1, and ranks may be 0. Throws UsageError as SerialPersonalisedPageRank does.
Verdict VerifyPersonalised(const Graph& graph, std::span<const float> ranks, const Array<double>& teleport, double damping,
                           double tolerance);

/// Personalised PageRank after exactly `rounds` rounds from `teleport`: each rank is within `relative_bound`, relative to
/// it, of the same rounds computed in fp64, in parallel, or both are below the least normal float.
Verdict VerifyPersonalisedRounds(const Graph& graph, std::span<const float> ranks, const Array<double>& teleport,
                                 double damping, std::uint32_t rounds, double relative_bound);

/// Largest relative error of a real result by the validation rules of LDBC Graphalytics.
inline constexpr double kLdbcEpsilon = 1e-4;

/// Largest relative error of a real result: that of `rules`, or else that of LDBC Graphalytics.
inline double ToleranceOf(const AnswerRules& rules) { return rules.tolerance > 0 ? rules.tolerance : kLdbcEpsilon; }

/// Shortest distances of unknown origin, summed in any precision: 0 at the source, kInfinity exactly where there is no path,
/// and each within `relative_bound` of the distance in fp64 by Dijkstra's algorithm on one thread. Throws as VerifySssp
/// does.
Verdict VerifySsspWithin(const Graph& graph, VertexId source, std::span<const float> distances, double relative_bound);

/// Communities after `rounds` rounds of synchronous label propagation: equal to SerialLabelPropagation's.
Verdict VerifyLabelPropagation(const Graph& graph, std::span<const VertexId> labels, std::uint32_t rounds);

/// Triangles at each vertex, as SerialTriangles defines them: equal to a parallel count by merging sorted rows of higher
/// neighbours, in order of degree and id. Takes time proportional to these rows for each edge, and 4 bytes per edge.
Verdict VerifyTriangles(const Graph& graph, std::span<const std::uint64_t> counts);

/// Betweenness from `sources`, as SerialBetweenness defines it: within `relative_bound`, relative to it, of Brandes'
/// algorithm on one thread, with numbers that no count of paths exceeds. Throws UsageError if a source is not a vertex.
Verdict VerifyBetweenness(const Graph& graph, std::span<const VertexId> sources, std::span<const double> centralities,
                          double relative_bound = 1e-9);

/// Local clustering coefficients as SerialClustering defines them, each within `relative_bound`, relative to it; counted in
/// parallel, by out-edges alone.
Verdict VerifyClustering(const Graph& graph, std::span<const double> coefficients, double relative_bound);

}  // namespace chatty
