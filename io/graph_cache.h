/// \file
/// Graphs that were read once, kept in a folder as they are in memory, so that they are read from a text once only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "chatty/core/graph.h"
#include "chatty/io/reader.h"

namespace chatty {

/// What a cache did for a graph.
struct CacheReport {
  /// In what way the cache took part.
  enum class Use : std::uint8_t {
    kNone,   ///< it cannot serve this source; `why` says so
    kRead,   ///< the graph came from `file`
    kFilled  ///< the graph was read from its source and is in `file` now; `why` says what was wrong with an earlier entry
  };
  Use use = Use::kNone;  ///< what happened
  std::string file;      ///< the entry: a file of the binary format, which `chatty info` and every other command reads, too
  std::string why;       ///< in words; empty where there is nothing to say
};

std::string_view CacheUseName(CacheReport::Use use);  ///< "none", "read" or "filled"

inline namespace CHATTY_ABI {

/// ReadGraph through a cache in `folder`, which is made if it is not there. The entry of a source and options is a file
/// named after both. It serves as long as path, length, times and inode of the source, and of the files that belong to it,
/// are those of when it was made: an edited file is read anew and its entry replaced. A damaged entry, or one of another
/// version, is noticed by its checksums and replaced. Entries appear whole: any number of processes may read and fill them
/// at once.
///
/// What is made of the graph afterwards is kept beside the entry, and read from there by later graphs of the same source and
/// options: in-edges of a directed graph, when Graph::in() is first asked for them; and divisions among several devices,
/// METIS' and BuildSubgraphs', a file for each division and each kind of lists and weights.
///
/// Not served are standard input, pipes and files of the binary format, which load as fast as an entry would; of the latter
/// in-edges and divisions are kept. What goes wrong with the cache alone, say a full disk, is a warning.
///
/// `report` is that of the reading that made the entry. Throws what ReadGraph throws.
Graph ReadGraphCached(const std::string& path, const ReadOptions& options, const std::string& folder,
                      ReadReport* report = nullptr, CacheReport* cache = nullptr);

}  // namespace CHATTY_ABI

}  // namespace chatty
