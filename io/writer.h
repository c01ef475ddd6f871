/// \file
/// From a Graph to a file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chatty/core/graph.h"
#include "chatty/io/output.h"
#include "chatty/io/reader.h"

namespace chatty {

/// The format that a target's suffix asks for, a further .gz or .zst aside: .mtx, .gr (DIMACS), .chatty, .el, .txt and
/// others for an edge list. None for other names.
std::optional<GraphFormat> FormatOfSuffix(const std::string& path);
/// What to do about a name without such a suffix, for messages: "end it in one of .mtx (matrix-market), ...".
std::string NameAFormat();

/// Writes `graph` to `path` ("-": standard output); the file appears under its name once it is complete, compressed if
/// the name ends in .gz or .zst. `format` is a name that ParseFormat knows; absent: by the suffix.
///
/// Vertex v is vertex v again when the file is read. What a format cannot say is lost, and LossesOf tells it beforehand; or
/// it is refused where that would be another graph (METIS: directed graphs, loops, parallel edges, weights below 1 or real).
/// Edge lists and DIMACS say in a comment, which only this project reads, what their lines do not show: vertices without
/// edges, ids that do not count from 0, that the graph is symmetric, that arcs of weight 1 have none. They write float
/// weights as reals, which other readers of DIMACS may refuse.
///
/// A graph with weights goes to .wsg and .adj and not to .sg and .bin, which have none; the weights of GAP and Galois are
/// int32. `galois` is known by its name alone, as .gr means DIMACS.
///
/// Throws UsageError for an unknown format and for weights that the format does not hold, InputError where the target
/// cannot be created and for weights that are not finite, CapabilityError where writing fails and for more vertices than the
/// format can name.
void WriteGraph(const Graph& graph, const std::string& path, const std::optional<std::string>& format = std::nullopt);

/// What WriteGraph would lose of the graph, in a clause each for messages; empty: ReadGraph gives it back but for its name.
/// Of a graph without edges the kind of weights is not told. Throws UsageError for an unknown format.
std::vector<std::string> LossesOf(const Graph& graph, const std::string& path,
                                  const std::optional<std::string>& format = std::nullopt);
/// From 0 or 1, how the format that WriteGraph would choose counts vertices; nothing if it keeps Graph::id(). Throws
/// UsageError for an unknown format.
std::optional<int> FirstIdOf(const std::string& path, const std::optional<std::string>& format = std::nullopt);

}  // namespace chatty
