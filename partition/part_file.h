/// \file
/// Partitions in files, as METIS' gpmetis writes and other tools read them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "chatty/core/array.h"
#include "chatty/core/types.h"
#include "chatty/partition/partition.h"

namespace chatty {

/// Most parts that a part file may speak of. A larger number in one means that it holds something else.
inline constexpr PartId kMaxFileParts = 4096;

/// What a part file holds.
struct PartFile {
  Array<PartId> owners;  ///< one a vertex
  PartId parts = 0;      ///< the K of a name that ends in `.part.K`, else one more than the largest owner; 0 if empty
  std::vector<PartId> empty = {};  ///< parts that no vertex is in, ascending
};

/// The K of a path that ends in `.part.K`, as METIS names its files, or `.part.K.gz` or `.part.K.zst`. 0 where it does
/// not, or K is not from 1 to kMaxFileParts.
PartId PartsInName(std::string_view path);

/// Reads a METIS part file: line v is a number, the part of vertex v, both counted from 0. Line ends may be "\r\n"; blank
/// lines, and lines that begin with % or #, are skipped. Plain, gzip or Zstandard; "-" is standard input. Throws InputError,
/// with file and line, for anything else on a line, and for a part that is not below the K of the file's name or
/// kMaxFileParts.
PartFile ReadPartFile(const std::string& path);

/// Writes one, which appears under its name once it is complete; `.gz` and `.zst` compress, "-" is standard output. Throws
/// as OutputFile does.
void WritePartFile(const std::string& path, const Partition& partition);

/// Whether a partition's name is a path: it has a `/` or a `.` in it.
bool IsPartFilePath(std::string_view name);

/// A partitioner that hands out what ReadPartFile finds now; the Partition is called by the path. Its Divide warns of empty
/// parts, and throws InputError for a graph of another number of vertices, UsageError for another number of parts.
std::unique_ptr<Partitioner> MakePartFilePartitioner(const std::string& path);

/// Of one of those, which parts no vertex is in, in words that say where they may come from; empty where there are none, and
/// for other partitioners.
std::string DescribeEmptyParts(const Partitioner& partitioner);

}  // namespace chatty
