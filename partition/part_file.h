/// \file
/// Partitions in files, in the format of METIS' gpmetis and other programs.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "chatty/core/array.h"
#include "chatty/core/types.h"
#include "chatty/partition/partition.h"

namespace chatty {

/// Maximum number of parts in a part file. A larger number means that the file contains something else.
inline constexpr PartId kMaxFileParts = 4096;

/// The contents of a part file.
struct PartFile {
  Array<PartId> owners;  ///< one per vertex
  PartId parts = 0;      ///< the K of a name that ends in `.part.K`, else one more than the largest owner; 0 if empty
  std::vector<PartId> empty = {};  ///< parts without vertices, ascending
};

/// The K of a path that ends in `.part.K`, METIS' file name, or `.part.K.gz` or `.part.K.zst`. 0 for any other path, or if K
/// is not from 1 to kMaxFileParts.
PartId PartsInName(std::string_view path);

/// Reads a METIS part file: line v is the part of vertex v; both count from 0. Line ends may be "\r\n"; blank lines, and
/// lines that begin with % or #, are skipped. Plain, gzip or Zstandard; "-" is standard input. Throws InputError with file
/// and line for any other line, and for a part that is not below the K of the file's name or kMaxFileParts.
PartFile ReadPartFile(const std::string& path);

/// Writes a part file, which appears under its name when it is complete; `.gz` and `.zst` compress, "-" is standard output.
/// Throws the errors of OutputFile.
void WritePartFile(const std::string& path, const Partition& partition);

/// Whether a partition's name is a path: it contains a `/` or a `.`.
bool IsPartFilePath(std::string_view name);

/// A partitioner with the owners in a part file, which is read now. The Partition's name is the path. Divide warns of empty
/// parts; it throws InputError for a graph with another number of vertices, UsageError for another number of parts.
std::unique_ptr<Partitioner> MakePartFilePartitioner(const std::string& path);

/// A warning that lists the empty parts of a part file's partitioner and their likely cause; "" if there are none, and for
/// other partitioners.
std::string DescribeEmptyParts(const Partitioner& partitioner);

}  // namespace chatty
