/// \file
/// The file formats of ReadGraph and WriteGraph. Each has a source file. Internal to io/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chatty/core/graph.h"
#include "chatty/io/input.h"
#include "chatty/io/output.h"
#include "chatty/io/reader.h"

namespace chatty::io {

/// The contents of a file before a Graph is built: a list of edges, or rows.
struct RawGraph {
  VertexId vertices = 0;        ///< of a list; rows imply it
  std::vector<EdgeList> edges;  ///< a list in pieces, in any order, without their member `vertices`; empty if there are rows
  /// Rows whose offsets and weights have passed CheckOffsets and CheckWeights (io/rows.h). Every list is sorted (by
  /// SortLists, after CheckRows).
  std::optional<Adjacency> rows;
  /// Every list of `rows` is known to ascend strictly, with valid ids and without loops. The checks of Graph and
  /// SimplifyLists are then unnecessary.
  bool simple = false;
  bool symmetric = false;         ///< a list: each edge is stored once and goes both ways; rows: both directions are stored
  bool stated_symmetric = false;  ///< a list: the file states that both directions of every edge are stored
  int first_id = 0;
  Array<std::uint64_t> ids;         ///< as Graph::ids()
  std::vector<std::string> labels;  ///< as Graph::labels()
  std::uint64_t lines = 0;          ///< 0 for a binary format
  std::vector<std::string> files;   ///< further files that were read because the named file refers to them
  std::uint64_t other_bytes = 0;    ///< unpacked bytes of these further files
  std::vector<std::string> notes;   ///< as ReadReport::notes
  std::string writers_note;         ///< as ReadReport::writers_note
};

/// The counts in a header.
struct StatedCounts {
  std::uint64_t vertices = 0;
  std::uint64_t entries = 0;      ///< edges as stored
  std::size_t entry_bytes = 0;    ///< minimum unpacked length of an entry; 0: entries are in another file
  std::uint64_t other_bytes = 0;  ///< minimum unpacked length of the rest of the file
  bool stored_once = false;       ///< an entry represents both directions of an edge
  bool symmetric = false;         ///< both directions of every edge are stored
  bool maybe_symmetric = false;   ///< only the edges show whether both directions are stored
  WeightKind weights = WeightKind::kNone;
  bool odd_loops = false;  ///< a loop may count as one entry, as two, or not at all
  bool most_vertices =
      false;                  ///< the number of vertices is not stated: `vertices` is an upper bound from the files' lengths
  bool most_entries = false;  ///< the same for `entries`
  std::uint64_t line = 0;     ///< number of the line with the counts; 0: a binary header
};

/// A format: its names, and functions to recognise, read and write it. The format's own source file defines the functions.
struct FormatEntry {
  GraphFormat format;
  std::string_view name;        ///< name in errors and records
  std::string_view other_name;  ///< a shorter name for ParseFormat
  std::string_view suffixes;    ///< suffixes for WriteGraph, removed from a graph's name: ".el .txt"
  std::string_view says;        ///< description for help texts: "GAP's serialised graph"
  /// Whether a file is likely to be of this format. `head` is the input's first 64 KiB without leading blanks. The function
  /// may call the input's Peek and remaining().
  bool (*recognise)(Input& input, std::string_view head);
  /// Reads the header; null if the format has none. The input is at the file's begin, or after its byte order mark.
  StatedCounts (*peek)(Input& input);
  RawGraph (*read)(Input& input, const ReadOptions& options);
  /// Writes to `output`, whose final name is `path`, and to files beside it if the format has several. Null if the format
  /// can only be read.
  void (*write)(const Graph& graph, OutputFile& output, const std::string& path);
  bool has_rows = false;  ///< files have rows, so that no list of edges is made
  /// The id of the first vertex in files, if the others follow without gaps; negative: files keep Graph::id().
  int first_id = -1;
  bool integer_weights = false;  ///< weights in files are int32
};

/// Whether a path ends in `suffix`, ignoring a further .gz or .zst.
bool EndsIn(std::string_view path, std::string_view suffix);

/// All formats in the order of recognition: those with unambiguous contents first.
std::span<const FormatEntry> Formats();
const FormatEntry& Format(GraphFormat format);
/// A graph's name: the file's name without folders and suffixes; "stdin" for "-".
std::string GraphNameOf(const std::string& path);

/// A file's format.
struct OpenedFormat {
  const FormatEntry& entry;
  bool by_name = false;  ///< only the file's name distinguishes it from an edge list

  /// A reader's error text. If only the file's name determined the format, adds the other way to read the file.
  std::string Describe(std::string_view error) const;
};

/// Skips a byte order mark and determines the format: the one in `options`, or the one that the contents match. Throws
/// InputError for an empty file, an unknown format, and a possible edge list with another format's name.
OpenedFormat OpenFormat(Input& input, const ReadOptions& options);

/// Maximum number of unpacked bytes in `bytes` packed ones.
std::uint64_t MaxUnpacked(std::uint64_t bytes, Compression compression);

bool IsLdbc(Input& input, std::string_view head);
bool IsMatrixMarket(Input& input, std::string_view head);
bool IsDimacs(Input& input, std::string_view head);
bool IsMetis(Input& input, std::string_view head);
bool IsKonect(Input& input, std::string_view head);
bool IsEdgeList(Input& input, std::string_view head);
/// For a line of words in place of an edge, and the line after it: a likely explanation and advice. Empty for other lines.
std::string DescribeWords(std::string_view line, std::string_view next);
/// Whether the comments at an edge list's begin state that its edges are undirected.
bool SaysUndirected(std::string_view head);
bool IsBinary(Input& input, std::string_view head);
bool IsGbbs(Input& input, std::string_view head);
bool IsGalois(Input& input, std::string_view head);
bool IsGap(Input& input, std::string_view head);

StatedCounts PeekLdbc(Input& input);
StatedCounts PeekMatrixMarket(Input& input);
StatedCounts PeekDimacs(Input& input);
StatedCounts PeekMetis(Input& input);
StatedCounts PeekKonect(Input& input);
StatedCounts PeekBinary(Input& input);
StatedCounts PeekGbbs(Input& input);
StatedCounts PeekGalois(Input& input);
StatedCounts PeekGap(Input& input);

RawGraph ReadLdbc(Input& input, const ReadOptions& options);
RawGraph ReadMatrixMarket(Input& input, const ReadOptions& options);
RawGraph ReadMetis(Input& input, const ReadOptions& options);
RawGraph ReadKonect(Input& input, const ReadOptions& options);
RawGraph ReadEdgeList(Input& input, const ReadOptions& options);
RawGraph ReadDimacs(Input& input, const ReadOptions& options);
RawGraph ReadBinary(Input& input, const ReadOptions& options);
RawGraph ReadGbbs(Input& input, const ReadOptions& options);
RawGraph ReadGalois(Input& input, const ReadOptions& options);
RawGraph ReadGap(Input& input, const ReadOptions& options);

void WriteLdbc(const Graph& graph, OutputFile& output, const std::string& path);
void WriteMatrixMarket(const Graph& graph, OutputFile& output, const std::string& path);
void WriteMetis(const Graph& graph, OutputFile& output, const std::string& path);
void WriteEdgeList(const Graph& graph, OutputFile& output, const std::string& path);
void WriteDimacs(const Graph& graph, OutputFile& output, const std::string& path);
void WriteGbbs(const Graph& graph, OutputFile& output, const std::string& path);
void WriteGalois(const Graph& graph, OutputFile& output, const std::string& path);
void WriteGap(const Graph& graph, OutputFile& output, const std::string& path);
/// ReadBinaryNote returns `note`.
void WriteBinary(const Graph& graph, OutputFile& output, std::string_view note);

/// The note of a binary file's writer. Reads nothing else of the file.
std::string ReadBinaryNote(Input& input);

/// Writes a weight as text that shows its kind.
inline void WriteWeight(OutputFile& output, std::int32_t weight) { output.Number(weight); }
inline void WriteWeight(OutputFile& output, float weight) { output.Real(weight); }

/// First bytes of the binary format. As with PNG, they reveal a transfer that changed line ends or dropped the eighth bit.
inline constexpr std::string_view kBinaryMagic{
    "\x89"
    "CGR\r\n\x1a\n",
    8};

}  // namespace chatty::io
