/// \file
/// The formats behind ReadGraph and WriteGraph, one source file each. Internal to io/.
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

/// What a file holds, before it is built into a Graph: a list of edges, or rows.
struct RawGraph {
  VertexId vertices = 0;        ///< of a list; rows know theirs
  std::vector<EdgeList> edges;  ///< a list in pieces, in any order, without their own `vertices`; none if there are rows
  /// Offsets and weights that CheckOffsets and CheckWeights (io/rows.h) have passed, every list sorted (SortLists does it,
  /// after CheckRows).
  std::optional<Adjacency> rows;
  /// Every list of `rows` is known to ascend strictly, below the number of vertices and past its own: neither the checks of
  /// a Graph nor SimplifyLists would find anything.
  bool simple = false;
  bool symmetric = false;  ///< of a list: each edge is stored once and goes both ways; of rows: both directions are stored
  bool stated_symmetric = false;  ///< of a list: the file says that both directions of every edge are stored
  int first_id = 0;
  Array<std::uint64_t> ids;         ///< as Graph::ids()
  std::vector<std::string> labels;  ///< as Graph::labels()
  std::uint64_t lines = 0;          ///< 0 for a binary format
  std::vector<std::string> files;   ///< that belong to the one that was named, and were read too
  std::uint64_t other_bytes = 0;    ///< unpacked, of the files beside the one that was opened
  std::vector<std::string> notes;   ///< as ReadReport::notes
  std::string writers_note;         ///< as ReadReport::writers_note
};

/// What a header says of the edges behind it.
struct StatedCounts {
  std::uint64_t vertices = 0;
  std::uint64_t entries = 0;      ///< as stored
  std::size_t entry_bytes = 0;    ///< the least that one takes, unpacked; 0: they are in another file
  std::uint64_t other_bytes = 0;  ///< that the file must hold besides, unpacked
  bool stored_once = false;       ///< an entry stands for both directions of an edge
  bool symmetric = false;         ///< both directions of every edge are stored
  bool maybe_symmetric = false;   ///< whether they are is seen from the edges alone
  WeightKind weights = WeightKind::kNone;
  bool odd_loops = false;      ///< a loop may be counted as one entry, as two, or not at all
  bool most_vertices = false;  ///< vertices are not stated: no more of them fit the files
  bool most_entries = false;   ///< nor are entries
  std::uint64_t line = 0;      ///< that says so; 0: a binary header
};

/// A format: how it is called, recognised, read and written. The members are functions of the format's own source file.
struct FormatEntry {
  GraphFormat format;
  std::string_view name;        ///< as errors and records call it
  std::string_view other_name;  ///< a shorter one that ParseFormat takes, too
  std::string_view suffixes;    ///< of files that WriteGraph writes in it, and that a graph's name is without: ".el .txt"
  std::string_view says;        ///< what its files look like, for help: "GAP's serialised graph"
  /// Whether a file looks like it. `head` is what the input's first 64 KiB hold, blanks at the begin skipped; the input may
  /// be asked for more by Peek, and for remaining().
  bool (*recognise)(Input& input, std::string_view head);
  /// Reads the header; null where there is none. The input stands at the file's begin, or past its byte order mark.
  StatedCounts (*peek)(Input& input);
  RawGraph (*read)(Input& input, const ReadOptions& options);
  /// Writes to `output`, which will be called `path`, and to files beside it, if the format has several; null where the
  /// format is only read.
  void (*write)(const Graph& graph, OutputFile& output, const std::string& path);
  bool has_rows = false;  ///< its files hold rows, so that no list of edges is made of them first
  /// What its files call the first vertex, the others following without gaps; negative: they keep Graph::id().
  int first_id = -1;
  bool integer_weights = false;  ///< weights in its files are int32
};

/// Whether a file's name ends in `suffix`, a further .gz or .zst aside.
bool EndsIn(std::string_view path, std::string_view suffix);

/// All formats, in the order in which a file is held against them: those that are sure of themselves first.
std::span<const FormatEntry> Formats();
const FormatEntry& Format(GraphFormat format);
/// What a graph is called after its file: the name without folders and suffixes; "stdin" for "-".
std::string GraphNameOf(const std::string& path);

/// A file's format.
struct OpenedFormat {
  const FormatEntry& entry;
  bool by_name = false;  ///< the file's name tells it apart from an edge list, and nothing else does

  /// A reader's complaint, with the other way to read the file where only its name told the format.
  std::string Describe(std::string_view error) const;
};

/// Skips a byte order mark and says of what format the rest is: the one that `options` name, or what the content looks like.
/// Throws InputError for an empty file, one of no known format, and one that may be an edge list and is called otherwise.
OpenedFormat OpenFormat(Input& input, const ReadOptions& options);

/// Unpacked bytes that so many packed ones can hold at most.
std::uint64_t MostUnpacked(std::uint64_t bytes, Compression compression);

bool IsLdbc(Input& input, std::string_view head);
bool IsMatrixMarket(Input& input, std::string_view head);
bool IsDimacs(Input& input, std::string_view head);
bool IsMetis(Input& input, std::string_view head);
bool IsKonect(Input& input, std::string_view head);
bool IsEdgeList(Input& input, std::string_view head);
/// Of a line of words where an edge belongs, and the line after it: what it looks like and what to do. Empty for other
/// lines.
std::string DescribeWords(std::string_view line, std::string_view next);
/// Whether the comments at an edge list's begin say that its edges have no direction.
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
/// `note` is what ReadBinaryNote gives back.
void WriteBinary(const Graph& graph, OutputFile& output, std::string_view note);

/// What the writer of a binary file left in it for itself; reads nothing else of the file.
std::string ReadBinaryNote(Input& input);

/// A weight in text that tells the two kinds apart.
inline void WriteWeight(OutputFile& output, std::int32_t weight) { output.Number(weight); }
inline void WriteWeight(OutputFile& output, float weight) { output.Real(weight); }

/// First bytes of the binary format. Like PNG's, they reveal a transfer that changes line ends or drops the eighth bit.
inline constexpr std::string_view kBinaryMagic{
    "\x89"
    "CGR\r\n\x1a\n",
    8};

}  // namespace chatty::io
