/// \file
/// The formats behind ReadGraph and WriteGraph, one source file each. Internal to io/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "chatty/core/graph.h"
#include "chatty/io/input.h"
#include "chatty/io/output.h"
#include "chatty/io/reader.h"

namespace chatty::io {

/// The edges of a file, before they are built into a Graph.
struct RawGraph {
  EdgeList list;
  bool symmetric = false;  ///< each edge is stored once and goes both ways
  int first_id = 0;
  std::uint64_t lines = 0;
};

/// What a header says of the edges behind it.
struct StatedCounts {
  std::uint64_t vertices = 0;
  std::uint64_t entries = 0;      ///< as stored
  std::size_t entry_bytes = 0;    ///< the least that one takes, unpacked
  std::uint64_t other_bytes = 0;  ///< that the file must hold besides, unpacked
  bool stored_once = false;       ///< an entry stands for both directions of an edge
  bool symmetric = false;         ///< both directions of every edge are stored
  WeightKind weights = WeightKind::kNone;
  std::uint64_t line = 0;  ///< that says so; 0: a binary header
};

/// Skips a byte order mark and says of what format the rest is: the one that `options` name, or what the content looks like.
/// Throws InputError for an empty file or one of no known format.
GraphFormat OpenFormat(Input& input, const ReadOptions& options);

// `input` stands at the file's begin, or past its byte order mark.
StatedCounts PeekMatrixMarket(Input& input);
StatedCounts PeekDimacs(Input& input);
StatedCounts PeekBinary(Input& input);
RawGraph ReadMatrixMarket(Input& input, int threads);
RawGraph ReadEdgeList(Input& input, int threads);
RawGraph ReadDimacs(Input& input, int threads);
Graph ReadBinary(Input& input, int threads);

void WriteMatrixMarket(const Graph& graph, OutputFile& output);
void WriteEdgeList(const Graph& graph, OutputFile& output);
void WriteDimacs(const Graph& graph, OutputFile& output);
void WriteBinary(const Graph& graph, OutputFile& output);

/// First bytes of the binary format. Like PNG's, they reveal a transfer that changes line ends or drops the eighth bit.
inline constexpr std::string_view kBinaryMagic{
    "\x89"
    "CGR\r\n\x1a\n",
    8};

/// True for the banner of a Matrix Market file.
bool IsMatrixMarket(std::string_view head);

}  // namespace chatty::io
