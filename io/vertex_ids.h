/// \file
/// From the names that a file gives its vertices, with gaps between them, to vertices without. Internal to io/.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chatty/core/array.h"
#include "chatty/io/formats.h"
#include "chatty/io/text_parser.h"

namespace chatty::io {

/// Numbers vertices by ascending id. Vertices are the ends of edges. Sets vertices, edges and ids of the result. Throws
/// CapabilityError if there are more than this build can name.
RawGraph CompactIds(const std::string& name, std::vector<WideEdges> edges, int threads);

/// Numbers vertices by ascending id. Vertices are `vertices` alone, in any order. Throws InputError, naming `name` and the
/// edge, for an edge between others, and for an id that `vertices` holds twice.
RawGraph CompactIds(const std::string& name, std::vector<WideEdges> edges, Array<std::uint64_t> vertices, int threads);

}  // namespace chatty::io
