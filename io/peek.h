/// \file
/// Counts of a graph file from its header, for estimates of memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "chatty/core/graph_counts.h"
#include "chatty/io/reader.h"

namespace chatty {

/// Properties of the graph that ReadGraph would make of a file, as far as its first lines and its length show them.
struct GraphPeek {
  GraphFormat format = GraphFormat::kEdgeList;   ///< as in ReadReport
  Compression compression = Compression::kNone;  ///< as in ReadReport
  std::optional<std::uint64_t> vertices;         ///< absent if no header states it, as for an edge list
  /// @{
  /// Bounds of the graph's directed edges. They are equal if the options drop no edge and the header is correct.
  std::uint64_t edges_least = 0;
  std::uint64_t edges_most = 0;
  /// @}
  std::uint64_t edges_likely = 0;  ///< stored edges of a plain edge list, estimated from parts of it; 0: unknown
  std::uint64_t stored = 0;        ///< edges in the file, by its header
  bool symmetric = false;          ///< symmetry of the resulting graph
  bool maybe_symmetric = false;    ///< true also if only the edges show whether the graph is symmetric
  bool listed = true;              ///< as in ReadReport
  /// int32 if the format leaves the kind open: both kinds have the same size. kNone for an edge list: unknown.
  WeightKind weights = WeightKind::kNone;
  std::string from;  ///< origin of the counts, for messages: "line 3 of road.mtx"

  /// Whether all counts are exact.
  bool exact() const { return vertices.has_value() && edges_least == edges_most && symmetric == maybe_symmetric; }
  /// The counts with the fewest edges. `vertices` must be known.
  GraphCounts least() const { return {*vertices, edges_least, maybe_symmetric, weights, 0}; }
  /// The counts with the most edges. `vertices` must be known.
  GraphCounts most() const { return {*vertices, edges_most, symmetric, weights, 0}; }
};

/// Reads the begin of a regular file, plain or compressed, and no edges. Returns nothing for standard input and pipes, which
/// can be read only once.
///
/// - Matrix Market, DIMACS and the binary format state vertices and edges. The upper bound of edges is the stated number, or
///   twice the number if an entry goes both ways. The lower bound excludes all possible loops, unless loops are kept, and
///   counts an edge and its reverse once if `symmetrise` would merge them. Parallel edges are assumed to be stored once; a
///   file that repeats edges may yield fewer than `edges_least`. `chatty convert` merges them permanently.
/// - A header may state more than the file's length can hold (deflate packs at most 1032 to 1, Zstandard 32768 to 1). Then
///   that length is the upper bound and `edges_least` is 0; the reader will report the error.
/// - An edge list states nothing: vertices are unknown, and its length bounds its edges, at 4 bytes each.
///
/// Throws the errors of ReadGraph for the same begin of a file.
std::optional<GraphPeek> PeekGraph(const std::string& path, const ReadOptions& options = {});

}  // namespace chatty
