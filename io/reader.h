/// \file
/// Reads a Graph from a file: Matrix Market, edge lists, DIMACS, the project's own binary format and more; plain, gzip or
/// Zstandard. The contents determine the format; for a possible edge list the name matters, too.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chatty/core/graph.h"
#include "chatty/io/input.h"

namespace chatty {

/// The format of a graph file.
enum class GraphFormat : std::uint8_t {
  kMatrixMarket,
  kEdgeList,
  kDimacs,
  kMetis,
  kGalois,
  kGap,
  kGbbs,
  kLdbc,
  kBinary,
  kKonect
};

std::string_view FormatName(GraphFormat format);  ///< "matrix-market", "edge-list", "dimacs", "binary", ...
/// The format with that name or short name: "matrix-market" or "mtx", "edge-list" or "el", "dimacs" or "gr", "binary" or
/// "chatty". Throws UsageError with the list of names.
GraphFormat ParseFormat(std::string_view name);
/// The names of all formats.
std::vector<std::string_view> FormatNames();
/// All names for ParseFormat, for help and errors: "matrix-market (mtx), edge-list (el) and binary (chatty)".
std::string DescribeFormats();

/// How to read a file. By default graphs are simple: loops are dropped, and of parallel edges the lightest is kept.
struct ReadOptions {
  std::optional<std::string> format = {};  ///< a name for ParseFormat; absent: determined by the contents
  bool symmetrise = false;                 ///< every edge goes both ways, whatever the file states
  bool directed = false;                   ///< edges go as stored, even if the file states that they go both ways
  bool keep_loops = false;                 ///< keep edges from a vertex to itself
  bool keep_parallel = false;              ///< keep all edges between the same two vertices
  bool compact_ids = false;                ///< only ids that occur in edges are vertices; the graph then has ids()
  int threads = 0;                         ///< 0: one per core
  /// Arrays of an uncompressed file in the project's own format are views of the file, so that reading needs no memory for
  /// them. The file must not be written or shortened during the graph's lifetime. Use it for graphs that are read once, for
  /// instance to copy them to a GPU: the pages are small ones.
  bool in_place = false;
  /// Limit in bytes of the host memory that reading may use at a time, except for buffers of a few MiB per thread; 0: no
  /// limit. It is checked before memory is allocated.
  std::uint64_t memory_limit = 0;
};

/// The properties of the file, and of the changes made.
struct ReadReport {
  /// The file's format.
  GraphFormat format = GraphFormat::kEdgeList;
  /// The file's compression.
  Compression compression = Compression::kNone;
  std::uint64_t bytes = 0;              ///< length of the contents, decompressed
  std::uint64_t lines = 0;              ///< 0 for the binary format
  BuildReport build;                    ///< counts of dropped and kept edges
  bool symmetrised = false;             ///< reverse edges were added
  std::vector<std::string> files = {};  ///< further files that were read because the named file refers to them
  bool listed = true;                   ///< edges were a list before they became rows, which takes further memory
  std::vector<std::string> notes = {};  ///< what was left out or renamed, as text: "times (column 4) left out"
  std::string writers_note = {};        ///< in the binary format: the note that the writer stored with the graph
};

inline namespace CHATTY_ABI {

/// Reads the graph in `path`, "-" for standard input. The graph's name is the file's, without folder and suffixes.
///
/// - Matrix Market: coordinate pattern, integer or real; general (directed) or symmetric (each entry is an edge both ways);
///   square; first_id 1. A warning names a banner with other characters or lines before it. `real` gives float weights,
///   `integer` int32.
/// - Edge list: "source target" or "source target weight" per line, separated by blanks, tabs or a comma; `#` and `%` begin
///   comments; directed; ids as written from 0, vertices = the largest id + 1; first_id 0. Edges go both ways if SNAP's
///   comment "# Undirected graph" is present. Refused if the name is that of another format, or the first edge is a line of
///   sizes, unless `format` states that it is a list.
/// - KONECT's out.* files, whose header defines the columns: `sym` and `bip` both ways, `asym` directed; times and numbers
///   of parallel edges dropped; first_id 1; the right side of `bip` is numbered after the whole left side.
/// - DIMACS shortest paths: `c`, `p sp n m` and `a u v w` lines; directed; first_id 1.
/// - Galois' binary .gr, versions 1 and 2: first_id 0; symmetric if its edges are. Edge data of 4 bytes are int32 weights,
///   data of 8 bytes int64 ones. The file does not state the type, so a warning names negative 4-byte values, and 8-byte
///   values that look like doubles are refused.
/// - GAP's .sg and .wsg, which differ in their length: directed or symmetric, as they state; first_id 0. In-edges are
///   skipped.
/// - GBBS' and PASGAL's .bin, and their text, which may have weights: first_id 0; symmetric if the edges are.
/// - LDBC Graphalytics: a properties file, which names the vertex and the edge file beside it; ids of 64 bits with gaps,
///   kept in Graph::ids(); isolated vertices; each undirected edge stored once.
/// - METIS: rows of neighbours, each edge in both; undirected; first_id 1; int32 weights of edges; weights of vertices are
///   dropped.
/// - Binary: as written by WriteGraph, symmetry, first_id and labels included.
///
/// If a format leaves the kind of weights open, it is int32 if all weights are such integers, and float otherwise; integers
/// too large for a float's 24 bits are then rounded.
///
/// Throws InputError with file and line for any error in the file, UsageError for contradictory options, CapabilityError for
/// a graph too large for this build's ids or this machine, OutOfMemoryError for a graph that takes more than the limit.
Graph ReadGraph(const std::string& path, const ReadOptions& options = {}, ReadReport* report = nullptr);

}  // namespace CHATTY_ABI

}  // namespace chatty
