/// \file
/// A folder of graphs in binary form, so that each text file is parsed only once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "chatty/core/graph.h"
#include "chatty/io/reader.h"

namespace chatty {

/// The effect of a cache on one read.
struct CacheReport {
  /// How the cache was used.
  enum class Use : std::uint8_t {
    kNone,   ///< it cannot serve this source; `why` is the reason
    kRead,   ///< the graph came from `file`
    kFilled  ///< the graph was read from its source and is now in `file`; `why` is the fault of an earlier entry
  };
  Use use = Use::kNone;  ///< how the cache was used
  std::string file;      ///< the entry, a file of the binary format; `chatty info` and every other command can read it
  std::string why;       ///< the reason as text; may be empty
};

std::string_view CacheUseName(CacheReport::Use use);  ///< "none", "read" or "filled"

inline namespace CHATTY_ABI {

/// As ReadGraph, with a cache in `folder`, which is created if missing. An entry is a file named after the source and the
/// options. It is valid while path, length, times and inode of the source, and of the files that belong to it, are
/// unchanged. An edited file is read again and its entry replaced. Checksums detect a damaged entry or one of another
/// version; it is replaced as well. Entries appear complete: any number of processes may read and write them at once.
///
/// Data derived from the graph is stored beside the entry, and later reads of the same source and options use it: in-edges
/// of a directed graph, when Graph::in() is first called; and divisions among several devices, by METIS and by
/// BuildSubgraphs, one file for each division and each kind of lists and weights.
///
/// The cache does not store standard input, pipes and files of the binary format, which load as fast as an entry. For the
/// latter it stores in-edges and divisions. An error of the cache alone, such as a full disk, is a warning.
///
/// `report` is that of the read that made the entry. Throws the errors of ReadGraph.
Graph ReadGraphCached(const std::string& path, const ReadOptions& options, const std::string& folder,
                      ReadReport* report = nullptr, CacheReport* cache = nullptr);

}  // namespace CHATTY_ABI

}  // namespace chatty
