/// \file
/// From the names that a file gives its vertices, with gaps between them, to vertices without. Internal to io/.
#pragma once

#include <cstdint>
#include <string>

#include "chatty/core/array.h"
#include "chatty/core/graph.h"
#include "chatty/io/text_parser.h"

namespace chatty::io {

/// Edges between vertices 0, 1, 2, ..., and how the file calls each of these.
struct CompactEdges {
  EdgeList list;
  Array<std::uint64_t> ids;  ///< ascending
};

/// Numbers vertices by ascending id. Vertices are the ends of edges. Throws CapabilityError if there are more than this build can name.
CompactEdges CompactIds(const std::string& name, Edges<std::uint64_t> edges, int threads);

/// Numbers vertices by ascending id. Vertices are `vertices` alone, in any order. Throws InputError, naming `name` and the
/// edge, for an edge between others, and for an id that `vertices` holds twice.
CompactEdges CompactIds(const std::string& name, Edges<std::uint64_t> edges, Array<std::uint64_t> vertices, int threads);

}  // namespace chatty::io
