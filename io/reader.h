/// \file
/// From a file to a Graph: Matrix Market, edge lists, DIMACS, the project's own binary format and more, each plain, gzip or
/// Zstandard, all told apart by content; of what may be an edge list, by the name, too.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chatty/core/graph.h"
#include "chatty/io/input.h"

namespace chatty {

/// What a graph file is written in.
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
/// A format by its name or a shorter one: "matrix-market" or "mtx", "edge-list" or "el", "dimacs" or "gr", "binary" or
/// "chatty". Throws UsageError, listing the names.
GraphFormat ParseFormat(std::string_view name);
/// The names of all formats that are known.
std::vector<std::string_view> FormatNames();
/// All names that ParseFormat takes, as help and errors list them: "matrix-market (mtx), edge-list (el) and binary
/// (chatty)".
std::string DescribeFormats();

/// What a reader makes of a file. By default graphs come out simple: loops dropped, the lightest of parallel edges
/// kept.
struct ReadOptions {
  std::optional<std::string> format = {};  ///< a name that ParseFormat knows; absent: seen from the content
  bool symmetrise = false;                 ///< every edge goes both ways, whatever the file says
  bool directed = false;                   ///< edges go as stored, even where the file says that they go both ways
  bool keep_loops = false;                 ///< keep edges from a vertex to itself
  bool keep_parallel = false;              ///< keep all of several edges between the same two vertices
  bool compact_ids = false;                ///< only ids that some edge names are vertices; the graph has ids() then
  int threads = 0;                         ///< 0: as many as there are cores
  /// Arrays of an unpacked file of the project's own format view the file instead of being copied, so that reading takes no
  /// memory of its own. The file must then not be written or shortened while the graph lives. For what reads the graph once,
  /// say to copy it to a GPU: pages are small ones.
  bool in_place = false;
  /// Bytes that reading may hold in host memory at a time, but for buffers of a few MiB a thread; 0: no limit. It is asked
  /// before memory is taken.
  std::uint64_t memory_limit = 0;
};

/// What was read and what became of it.
struct ReadReport {
  /// What the file was found to be.
  GraphFormat format = GraphFormat::kEdgeList;
  /// How it was packed.
  Compression compression = Compression::kNone;
  std::uint64_t bytes = 0;              ///< of content, unpacked
  std::uint64_t lines = 0;              ///< 0 for the binary format
  BuildReport build;                    ///< what was dropped and kept
  bool symmetrised = false;             ///< reverse edges were added
  std::vector<std::string> files = {};  ///< that belong to the one that was named, and were read too
  bool listed = true;                   ///< its edges were a list before they became rows, which takes memory of its own
  std::vector<std::string> notes = {};  ///< what was left out or called otherwise, in words: "times (column 4) left out"
  std::string writers_note = {};        ///< of a file of the binary format, what its writer has put beside the graph
};

inline namespace CHATTY_ABI {

/// Reads the graph in `path`, "-" for standard input. The graph is named after the file, without folder and suffixes.
///
/// - Matrix Market: coordinate pattern, integer or real; general (directed) or symmetric (each entry is an edge both
///   ways); square; first_id 1. A banner with other signs or lines before it is warned of. `real` gives float weights,
///   `integer` int32.
/// - Edge list: "source target" or "source target weight" a line, separated by blanks, tabs or a comma; `#` and `%`
///   begin comments; directed; ids as written from 0, vertices = the largest id + 1; first_id 0.
///   Both ways where SNAP's comment "# Undirected graph" says so. Refused where the name is of another format, and where the
///   first edge is a line of sizes, unless `format` says that it is a list.
/// - KONECT's out.* files, whose header says what their columns are: `sym` and `bip` both ways, `asym` directed; times and
///   numbers of parallel edges dropped; first_id 1; vertex k of the right side of `bip` comes after the whole left side.
/// - DIMACS shortest paths: `c`, `p sp n m` and `a u v w` lines; directed; first_id 1.
/// - Galois' binary .gr, versions 1 and 2: first_id 0; symmetric if its edges are. Edge data of 4 bytes are int32 weights,
///   of 8 bytes int64 ones; the file does not tell them from other types, so that negative 4-byte ones are warned of and
///   8-byte ones that look like doubles refused.
/// - GAP's .sg and .wsg, told apart by their length: directed or symmetric, as they say; first_id 0. In-edges are skipped.
/// - GBBS' and PASGAL's .bin, and their text, which may have weights: first_id 0; symmetric if the edges are.
/// - LDBC Graphalytics: a properties file, which names the files of vertices and edges beside it; ids of 64 bits with gaps,
///   which Graph::ids() keeps; isolated vertices; each undirected edge stored once.
/// - METIS: rows of neighbours, each edge in both; undirected; first_id 1; int32 weights of edges, those of vertices
/// dropped.
/// - Binary: as written by WriteGraph, symmetry, first_id and labels included.
///
/// Where a format leaves the weights' kind open it is int32 if all of them are such integers, float otherwise (and
/// integers too large for a float's 24 bits are then rounded).
///
/// Throws InputError with file and line for whatever is wrong in the file, UsageError for options that contradict each
/// other, CapabilityError for a graph too large for this build's ids or this machine, OutOfMemoryError for one that takes
/// more than the limit.
Graph ReadGraph(const std::string& path, const ReadOptions& options = {}, ReadReport* report = nullptr);

}  // namespace CHATTY_ABI

}  // namespace chatty
