/// \file
/// Writes a Graph to a file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chatty/core/graph.h"
#include "chatty/io/output.h"
#include "chatty/io/reader.h"

namespace chatty {

/// The format of a path's suffix, ignoring a further .gz or .zst: .mtx, .gr (DIMACS), .chatty, .el, .txt and others for an
/// edge list. None for other names.
std::optional<GraphFormat> FormatOfSuffix(const std::string& path);
/// Advice for a name without such a suffix: "end it in one of .mtx (matrix-market), ...".
std::string NameAFormat();

/// Writes `graph` to `path` ("-": standard output). The file appears under its name when it is complete, compressed if the
/// name ends in .gz or .zst. `format` is a name for ParseFormat; absent: by the suffix.
///
/// Vertex v is again vertex v when the file is read. Properties that a format cannot store are lost; LossesOf lists them. If
/// that would be another graph, the function throws (METIS: directed graphs, loops, parallel edges, weights below 1 or
/// real). Edge lists and DIMACS store further properties in a comment for this project's readers: vertices without edges,
/// ids that do not count from 0, symmetry, and arcs whose weight of 1 means no weight. They write float weights as reals,
/// which other readers of DIMACS may refuse.
///
/// A graph with weights can be written to .wsg and .adj, but not to .sg and .bin, which have none. Weights of GAP and Galois
/// are int32. `galois` must be named, because .gr means DIMACS.
///
/// Throws UsageError for an unknown format and for weights that the format lacks, InputError if the target cannot be created
/// and for weights that are not finite, CapabilityError if a write fails and for more vertices than the format's ids can
/// number.
void WriteGraph(const Graph& graph, const std::string& path, const std::optional<std::string>& format = std::nullopt);

/// The properties that WriteGraph would lose, as clauses for messages; empty: ReadGraph returns an equal graph, except for
/// its name. For a graph without edges the kind of weights is not mentioned. Throws UsageError for an unknown format.
std::vector<std::string> LossesOf(const Graph& graph, const std::string& path,
                                  const std::optional<std::string>& format = std::nullopt);
/// The id of the first vertex, 0 or 1, in the format that WriteGraph would choose; nothing if it keeps Graph::id(). Throws
/// UsageError for an unknown format.
std::optional<int> FirstIdOf(const std::string& path, const std::optional<std::string>& format = std::nullopt);

}  // namespace chatty
