/// \file
/// A graph file's counts without reading the graph, to know how much memory it will take.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "chatty/core/graph_counts.h"
#include "chatty/io/reader.h"

namespace chatty {

/// What can be known of the graph that ReadGraph would make of a file, from its first lines and its length.
struct GraphPeek {
  GraphFormat format = GraphFormat::kEdgeList;   ///< as ReadReport
  Compression compression = Compression::kNone;  ///< as ReadReport
  std::optional<std::uint64_t> vertices;         ///< absent where no header says so, as of an edge list
  /// @{
  /// Bounds of the graph's directed edges. They are equal where the options drop nothing and the header is no lie.
  std::uint64_t edges_least = 0;
  std::uint64_t edges_most = 0;
  /// @}
  std::uint64_t edges_likely = 0;  ///< of a plain edge list: stored ones, by the lines in parts of it; 0: not known
  std::uint64_t stored = 0;        ///< edges that the file holds, as the header says
  bool symmetric = false;          ///< of the graph that is made
  bool maybe_symmetric = false;    ///< also where that is seen from the edges alone
  bool listed = true;              ///< as ReadReport
  /// Where a format leaves the kind open, int32: the other kind takes as many bytes. kNone for an edge list: not known.
  WeightKind weights = WeightKind::kNone;
  std::string from;  ///< what says so, for messages: "line 3 of road.mtx"

  /// Nothing is left to find out by reading.
  bool exact() const { return vertices.has_value() && edges_least == edges_most && symmetric == maybe_symmetric; }
  /// The counts with the fewest edges. `vertices` must be there.
  GraphCounts least() const { return {*vertices, edges_least, maybe_symmetric, weights, 0}; }
  /// The counts with the most edges. `vertices` must be there.
  GraphCounts most() const { return {*vertices, edges_most, symmetric, weights, 0}; }
};

/// Looks at the begin of a regular file, plain or compressed, and reads no edge. Nothing for what can only be read once:
/// standard input and pipes.
///
/// - Matrix Market, DIMACS and the binary format state vertices and edges. The most edges are those stated, twice where an
///   entry goes both ways. The least are fewer by as many loops as there may be, unless loops are kept, and count an edge
///   and its reverse once where `symmetrise` would merge them. Parallel edges are taken to be stored once, as all but
///   multigraphs have it: of a file that repeats edges fewer than `edges_least` may be left; `chatty convert` merges them
///   for good.
/// - A header that states more than the file's length can hold (deflate packs at most 1032 to 1, Zstandard 32768 to 1) is
///   believed only as far as that, with `edges_least` 0: the reader will say what is wrong with it.
/// - An edge list states nothing: vertices are unknown, and its length bounds its edges, at 4 bytes each.
///
/// Throws what ReadGraph throws for the same begin of a file.
std::optional<GraphPeek> PeekGraph(const std::string& path, const ReadOptions& options = {});

}  // namespace chatty
