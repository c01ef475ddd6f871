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

namespace chatty::io {

/// The edges of a file, before they are built into a Graph.
struct RawGraph {
  EdgeList list;
  bool symmetric = false;  ///< each edge is stored once and goes both ways
  int first_id = 0;
  std::uint64_t lines = 0;
};

// `input` stands at the file's begin, or past its byte order mark.
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
