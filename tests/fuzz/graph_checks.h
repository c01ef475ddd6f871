/// \file
/// What has to hold of a file that is read as a graph.
#pragma once

#include <string>

#include "chatty/io/reader.h"

namespace chatty::fuzz {

/// Peeks and reads: either is refused with an error, or the graph is one, is what was peeked, and comes back from each
/// format that can say it.
void CheckGraph(const std::string& path, const ReadOptions& options);

/// How a graph is read, by the bits of one byte; bits 5 to 7 are the target's.
ReadOptions OptionsOf(std::uint8_t bits);

}  // namespace chatty::fuzz
