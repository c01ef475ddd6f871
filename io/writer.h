/// \file
/// From a Graph to a file.
#pragma once

#include <optional>
#include <string>

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
/// Every format numbers vertices its own way (Matrix Market, DIMACS and METIS from 1, edge lists from 0, LDBC Graphalytics
/// by Graph::id()), so that vertex v is vertex v again when the file is read. What a format cannot say is lost, or refused
/// where that would be another graph (METIS: directed graphs, loops, parallel edges, weights below 1 or real): only the
/// binary one keeps labels and first_id; DIMACS and edge lists hold both directions of an edge and not that the graph is
/// symmetric; DIMACS gives an unweighted graph weight 1, and writes float weights as reals, which other readers may refuse;
/// an edge list loses vertices without edges whose ids are larger than all others'.
///
/// A graph with weights goes to .wsg and .adj and not to .sg and .bin, which have none; the weights of GAP and Galois are
/// int32. `galois` is known by its name alone, as .gr means DIMACS.
///
/// Throws UsageError for an unknown format and for weights that the format does not hold, InputError where the target
/// cannot be created, CapabilityError where writing fails and for more vertices than the format can name.
void WriteGraph(const Graph& graph, const std::string& path, const std::optional<std::string>& format = std::nullopt);

}  // namespace chatty
