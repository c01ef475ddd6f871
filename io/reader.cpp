#include "chatty/io/reader.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <filesystem>
#include <system_error>
#include <utility>

#include "chatty/core/abbreviated.h"
#include "chatty/core/error.h"
#include "chatty/core/logging.h"
#include "chatty/core/parallel.h"
#include "chatty/core/suggestion.h"
#include "chatty/io/formats.h"
#include "chatty/io/text_parser.h"

namespace chatty {
namespace {

/// A file that begins with `magic` at `at`, and advice; {} stands for the file's name.
struct ForeignFile {
  std::size_t at;
  std::string_view magic;
  std::string_view advice;
};

using namespace std::string_view_literals;

constexpr ForeignFile kForeignFiles[] = {
    {0, "\xff\xfe"sv, "is UTF-16 text; convert it to UTF-8 or ASCII"},
    {0, "\xfe\xff"sv, "is UTF-16 text; convert it to UTF-8 or ASCII"},
    {257, "ustar"sv, "is a tar archive; unpack it (tar xf {}) and name the graph's file in it"},
    {0, "\x93NUMPY"sv,
     "is a NumPy array, as results are written; a graph is read from, say, lines of two ids: numpy.savetxt(\"graph.el\", "
     "numpy.load(\"{}\"), fmt=\"%d\")"},
    {0, "PAR1"sv,
     "is a Parquet table; write its two columns of ids as text: pandas.read_parquet(\"{}\").to_csv(\"graph.el\", sep=\" \", "
     "header=False, index=False)"},
    {0, "ARROW1"sv,
     "is an Arrow table; write its two columns of ids as text: pandas.read_feather(\"{}\").to_csv(\"graph.el\", sep=\" \", "
     "header=False, index=False)"},
    {0, "\x89HDF\r\n\x1a\n"sv,
     "is an HDF5 file; write the graph that it holds in another format, say by scipy.io.mmwrite(\"graph.mtx\", matrix)"},
    {0, "MATLAB 5.0 MAT-file"sv,
     "is a file of MATLAB; write the matrix that it holds: scipy.io.mmwrite(\"graph.mtx\", scipy.io.loadmat(\"{}\")[NAME])"},
    {0, "PK\x05\x06"sv, "is a zip archive without files; fetch it again"},
    {0, "BZh"sv, "is packed with bzip2; unpack it first, or pack it with gzip or zstd"},
    {0,
     "\xfd"
     "7zXZ"sv,
     "is packed with xz; unpack it first, or pack it with gzip or zstd"},
    {0, "LZIP"sv, "is packed with lzip; unpack it first, or pack it with gzip or zstd"},
    {0, "\x04\x22\x4d\x18"sv, "is packed with lz4; unpack it first, or pack it with gzip or zstd"},
    {0, "\x1f\x8b\x08"sv, "is packed twice; unpack it once (zcat)"},
    {0, "\x28\xb5\x2f\xfd"sv, "is packed twice; unpack it once (zstdcat)"},
    {0, "7z\xbc\xaf\x27\x1c"sv, "is a 7-Zip archive; unpack it (7z x {}) and name the graph's file in it"},
    {0, "Rar!\x1a\x07"sv, "is a RAR archive; unpack it and name the graph's file in it"},
    {0, "SQLite format 3"sv, "is a database of SQLite; write a table of two ids a line as text"},
    {0, "\x80\x04\x95"sv, "is a pickle of Python; write the graph in another format, say by scipy.io.mmwrite"},
    {0, "\x80\x05\x95"sv, "is a pickle of Python; write the graph in another format, say by scipy.io.mmwrite"},
    {0, "version https://git-lfs"sv, "is a pointer of Git LFS and not the file itself; fetch that (git lfs pull)"},
    {0, "<!DOCTYPE html"sv, "is a page of the web, so the download went wrong; fetch it again"},
    {0, "<html"sv, "is a page of the web, so the download went wrong; fetch it again"},
    {0, "{"sv,
     "is JSON, as results may be; a graph is read from another format, say Matrix Market, which scipy.io.mmwrite writes"},
    {0, "*Vertices"sv,
     "is a network of Pajek, which is not read; write another format, say by networkx.write_edgelist(..., data=False)"},
};

/// The name of the first file in a zip archive.
std::string_view FirstInZip(std::string_view head) {
  constexpr std::size_t kNameBytes = 26, kName = 30;
  if (head.size() < kName) return {};
  const auto bytes = static_cast<std::size_t>(static_cast<unsigned char>(head[kNameBytes])) |
                     static_cast<std::size_t>(static_cast<unsigned char>(head[kNameBytes + 1])) << 8;
  return head.substr(kName, bytes);
}

/// Throws if the first bytes identify a file that is not a graph.
void RefuseWhatCannotBeRead(std::string_view head, const std::string& name) {
  if (head.starts_with("PK\x03\x04")) {
    const std::string_view first = FirstInZip(head);
    if (first.ends_with(".npy")) {
      Throw<InputError>(
          "{0}: is an archive of NumPy arrays (.npz); if it is a matrix of SciPy, write it as Matrix Market: "
          "scipy.io.mmwrite(\"graph.mtx\", scipy.sparse.load_npz(\"{0}\"))",
          name);
    }
    Throw<InputError>("{0}: is packed with zip{1}; unpack it (unzip {0}) and name the graph's file", name,
                      first.empty() ? std::string() : ", and its first file is " + io::Quote(first));
  }
  for (const ForeignFile& foreign : kForeignFiles) {
    if (head.size() < foreign.at || !head.substr(foreign.at).starts_with(foreign.magic)) continue;
    Throw<InputError>("{}: {}", name, fmt::format(fmt::runtime(foreign.advice), name));
  }
}

/// Calls body(suffix) for each suffix in a list until one call returns true.
template <class Body>
bool AnySuffix(std::string_view suffixes, Body&& body) {
  while (!suffixes.empty()) {
    const std::string_view suffix = suffixes.substr(0, suffixes.find(' '));
    suffixes.remove_prefix(std::min(suffix.size() + 1, suffixes.size()));
    if (body(suffix)) return true;
  }
  return false;
}

EdgeList ToEdgeList(Adjacency rows, int threads) {
  EdgeList list;
  list.vertices = static_cast<VertexId>(rows.offsets.size() - 1);
  list.sources = Array<VertexId>(rows.neighbours.size());
  ParallelFor(list.vertices, threads, [&](std::size_t v) {
    std::fill(list.sources.begin() + rows.offsets[v], list.sources.begin() + rows.offsets[v + 1], static_cast<VertexId>(v));
  });
  list.targets = std::move(rows.neighbours);
  list.weights = std::move(rows.weights);
  return list;
}

/// Maximum of the host memory that Build uses at a time, its input included. A list is freed while its edges are sorted,
/// with their sources; rows stay.
std::uint64_t BuildBytes(const io::RawGraph& raw, const ReadOptions& options) {
  const auto weight_bytes_of = [](const Weights& weights) -> std::uint64_t {
    return KindOf(weights) == WeightKind::kNone ? 0 : sizeof(float);
  };
  std::uint64_t entries = 0, weight_bytes = 0, rows = (std::uint64_t{raw.vertices} + 1) * sizeof(EdgeIndex);
  const bool both_ways = !raw.stated_symmetric && (options.symmetrise || (raw.symmetric && !options.directed));
  if (raw.rows) {
    rows = raw.rows->offsets.bytes();
    entries = raw.rows->neighbours.size();
    weight_bytes = weight_bytes_of(raw.rows->weights);
    if (raw.symmetric || !options.symmetrise) return rows + entries * (sizeof(VertexId) + weight_bytes);
  }
  for (const EdgeList& piece : raw.edges) {
    entries += piece.sources.size();
    weight_bytes = std::max(weight_bytes, weight_bytes_of(piece.weights));
  }
  return rows + (both_ways ? 2 : 1) * entries * (2 * sizeof(VertexId) + weight_bytes) + raw.ids.bytes();
}

/// Builds a graph from a reader's result and the options.
Graph Build(io::RawGraph raw, const ReadOptions& options, BuildReport* report) {
  BuildOptions build;
  build.remove_loops = !options.keep_loops;
  build.merge_parallel = !options.keep_parallel;
  build.threads = options.threads;
  Graph graph;
  if (raw.rows && (raw.symmetric || !options.symmetrise)) {
    const bool symmetric = raw.symmetric && !options.directed;
    if (raw.simple) {
      report->edges_given += raw.rows->neighbours.size();
      report->edges_kept += raw.rows->neighbours.size();
      graph = Graph::OfChecked(std::move(*raw.rows), symmetric);
    } else {
      SimplifyLists(*raw.rows, build, report);
      graph = Graph(std::move(*raw.rows), symmetric);
    }
  } else {
    const bool stated = raw.stated_symmetric && !options.directed;
    build.symmetrise = !stated && (options.symmetrise || (raw.symmetric && !options.directed));
    if (raw.rows) {
      raw.vertices = static_cast<VertexId>(raw.rows->offsets.size() - 1);
      raw.edges.push_back(ToEdgeList(std::move(*raw.rows), options.threads));
    }
    Adjacency out = BuildAdjacency(raw.vertices, std::move(raw.edges), build, report);
    if (stated && !IsSymmetric(out, options.threads)) {
      throw InputError(
          "its first line says \"symmetric\", but some edge has no reverse, or one of another weight; remove the "
          "word, or write the file again");
    }
    graph = Graph(std::move(out), build.symmetrise || stated);
  }
  graph.set_first_id(raw.first_id);
  graph.set_ids(std::move(raw.ids));
  graph.set_labels(std::move(raw.labels));
  return graph;
}

}  // namespace

namespace io {
namespace {

constexpr std::size_t kSeen = std::size_t{1} << 16;  // bytes of a file's begin for recognition of its format

void WritePlainBinary(const Graph& graph, OutputFile& output, const std::string& /*path*/) {
  WriteBinary(graph, output, {});
}

constexpr FormatEntry kFormats[] = {
    {GraphFormat::kBinary, "binary", "chatty", ".chatty", "this project's own", IsBinary, PeekBinary, ReadBinary,
     WritePlainBinary, /*has_rows=*/true},
    {GraphFormat::kGbbs, "gbbs", "bin", ".bin .adj", "GBBS' and PASGAL's, binary or text", IsGbbs, PeekGbbs, ReadGbbs,
     WriteGbbs, /*has_rows=*/true, /*first_id=*/0},
    {GraphFormat::kGalois, "galois", "bgr", "", "Galois' binary .gr", IsGalois, PeekGalois, ReadGalois, WriteGalois,
     /*has_rows=*/true, /*first_id=*/0, /*integer_weights=*/true},
    {GraphFormat::kGap, "gap", "sg", ".sg .wsg", "GAP's serialised graph", IsGap, PeekGap, ReadGap, WriteGap,
     /*has_rows=*/true, /*first_id=*/0, /*integer_weights=*/true},
    {GraphFormat::kMatrixMarket, "matrix-market", "mtx", ".mtx", "Matrix Market", IsMatrixMarket, PeekMatrixMarket,
     ReadMatrixMarket, WriteMatrixMarket, /*has_rows=*/false, /*first_id=*/1},
    {GraphFormat::kKonect, "konect", "out", "", "KONECT, lines of two ids below its header", IsKonect, PeekKonect,
     ReadKonect, nullptr},
    {GraphFormat::kLdbc, "ldbc", "graphalytics", ".properties", "LDBC Graphalytics, three files", IsLdbc, PeekLdbc, ReadLdbc,
     WriteLdbc},
    {GraphFormat::kDimacs, "dimacs", "gr", ".gr", "DIMACS shortest paths", IsDimacs, PeekDimacs, ReadDimacs, WriteDimacs,
     /*has_rows=*/false, /*first_id=*/1},
    {GraphFormat::kMetis, "metis", "graph", ".graph", "METIS", IsMetis, PeekMetis, ReadMetis, WriteMetis, /*has_rows=*/true,
     /*first_id=*/1, /*integer_weights=*/true},
    {GraphFormat::kEdgeList, "edge-list", "el", ".el .wel .txt .tsv .csv .e", "lines of two ids, and a weight", IsEdgeList,
     nullptr, ReadEdgeList, WriteEdgeList},
};

}  // namespace

std::span<const FormatEntry> Formats() { return kFormats; }

const FormatEntry& Format(GraphFormat format) {
  return *std::find_if(std::begin(kFormats), std::end(kFormats),
                       [&](const FormatEntry& entry) { return entry.format == format; });
}

bool EndsIn(std::string_view path, std::string_view suffix) {
  for (const std::string_view packed : {".gz", ".zst"}) {
    if (path.ends_with(packed)) path.remove_suffix(packed.size());
  }
  return path.ends_with(suffix);
}

std::string GraphNameOf(const std::string& path) {
  if (path == "-") return "stdin";
  std::string_view stem = std::string_view(path).substr(path.find_last_of('/') + 1);
  const auto drop = [&](std::string_view suffix) {
    const bool has = stem.size() > suffix.size() && stem.ends_with(suffix);
    if (has) stem.remove_suffix(suffix.size());
    return has;
  };
  if (!drop(".gz")) drop(".zst");
  for (const FormatEntry& entry : Formats()) {
    if (AnySuffix(entry.suffixes, drop)) break;
  }
  return std::string(stem);
}

namespace {

/// The first line that is neither blank nor a comment, or else the last comment, and its number.
std::pair<std::string_view, std::uint64_t> FirstLine(std::string_view text) {
  std::pair<std::string_view, std::uint64_t> first;
  VisitLeadingLines(text, [&](std::string_view line, std::uint64_t number) {
    if (line.find_first_not_of(" \t") != std::string_view::npos) first = {line, number};
    return false;
  });
  return first;
}

/// Whether the path has a name that is usual for the format, ignoring case.
bool HasNameOf(const FormatEntry& entry, const std::string& lower_path) {
  if (entry.format == GraphFormat::kMetis && EndsIn(lower_path, ".metis")) return true;
  if (entry.format == GraphFormat::kLdbc && EndsIn(lower_path, ".v")) return true;
  if (entry.format == GraphFormat::kKonect) {
    const auto is_list = [&](std::string_view suffix) { return EndsIn(lower_path, suffix); };
    return lower_path.substr(lower_path.find_last_of('/') + 1).starts_with("out.") &&
           !AnySuffix(Format(GraphFormat::kEdgeList).suffixes, is_list);
  }
  return AnySuffix(entry.suffixes, [&](std::string_view suffix) { return EndsIn(lower_path, suffix); });
}

/// The format of a file of numbers, any two of which could be an edge. Throws InputError if its name belongs to another
/// format; returns METIS for a METIS name.
const FormatEntry& FormatOfNumbers(Input& input) {
  const FormatEntry& list = Format(GraphFormat::kEdgeList);
  std::string path = input.path();
  std::transform(path.begin(), path.end(), path.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto named = std::find_if(std::begin(kFormats), std::end(kFormats),
                                  [&](const FormatEntry& entry) { return HasNameOf(entry, path); });
  const std::string& name = input.name();
  if (named == std::end(kFormats) || path == "-") return list;
  const auto [line, number] = FirstLine(input.Peek(kSeen));
  constexpr std::string_view kAsEdges = "--format edge-list reads lines of two ids";
  switch (named->format) {
    case GraphFormat::kEdgeList:
      break;
    case GraphFormat::kMetis:
      return *named;
    case GraphFormat::kMatrixMarket:
      FailAt(name, number,
             fmt::format("begins with {}, not with the banner of Matrix Market that its name promises; write "
                         "\"%%MatrixMarket matrix coordinate FIELD SYMMETRY\" before it; {}",
                         Quote(line), kAsEdges));
    case GraphFormat::kKonect:  // other files also have names such as out.txt
      Log().warn(
          "{}:{}: begins with {} and not with the header of KONECT, as the file's name may promise; it is read as an edge "
          "list, "
          "directed; write \"% sym\", \"% asym\" or \"% bip\" and the kind of weights before it if it is one of KONECT's",
          name, number, Quote(line));
      return list;
    default:
      if (EndsIn(path, ".v")) {
        FailAt(
            name, number,
            fmt::format("begins with {}: it seems to be the file of vertices of a graph of LDBC Graphalytics; name the file "
                        "that ends in .properties; {}",
                        Quote(line), kAsEdges));
      }
      FailAt(name, number,
             fmt::format("begins with {}, which is not the format {} of its name; give --format {} or fetch it again; {}",
                         Quote(line), named->name, named->name, kAsEdges));
  }
  // An edge file of LDBC Graphalytics states neither the vertices without edges nor whether edges are directed.
  constexpr std::string_view kEdges = ".e";
  for (const std::string_view packed : {"", ".gz", ".zst"}) {
    if (!path.ends_with(std::string(kEdges) + std::string(packed))) continue;
    const std::string properties = input.path().substr(0, path.size() - kEdges.size() - packed.size()) + ".properties";
    std::error_code error;
    if (!std::filesystem::exists(properties, error)) continue;
    Throw<InputError>("{}: is the file of edges of {}, which says how to read it; name that; {}", name,
                      Abbreviated(properties), kAsEdges);
  }
  return list;
}

}  // namespace

OpenedFormat OpenFormat(Input& input, const ReadOptions& options) {
  const FormatEntry* const named = options.format ? &Format(ParseFormat(*options.format)) : nullptr;
  input.SkipByteOrderMark();
  if (input.Peek(1).empty()) Throw<InputError>("{}: is empty; write or fetch it again", input.name());
  if (named != nullptr) return {*named};
  std::string_view head;
  for (const FormatEntry& entry : kFormats) {
    // A count in a binary file may equal any other format's first bytes, so binary formats are tried first. Text formats
    // could match a name in an archive.
    if (entry.format == GraphFormat::kMatrixMarket) RefuseWhatCannotBeRead(input.Peek(kSeen), input.name());
    head = input.Peek(kSeen);  // an earlier test may have extended the view
    head.remove_prefix(std::min(head.find_first_not_of(" \t\r\n"), head.size()));
    if (head.empty()) Throw<InputError>("{}: is empty; write or fetch it again", input.name());
    if (!entry.recognise(input, head)) continue;
    if (entry.format != GraphFormat::kEdgeList) return {entry};
    const FormatEntry& chosen = FormatOfNumbers(input);
    return {chosen, /*by_name=*/&chosen != &entry};
  }
  const std::string_view seen = input.Peek(kSeen);
  const auto [line, number] = FirstLine(seen);
  std::string_view next = seen.substr(static_cast<std::size_t>(line.data() - seen.data()) + line.size());
  next.remove_prefix(std::min(next.find_first_not_of("\r\n"), next.size()));
  if (const std::string words = DescribeWords(line, next.substr(0, next.find('\n'))); !words.empty()) {
    FailAt(input.name(), number, fmt::format("{} {}", Quote(line), words));
  }
  Throw<InputError>(
      "{}: begins with {}, which is not a known graph format; the formats are {}; comments in an edge list begin with # or "
      "%",
      input.name(), Quote(head.substr(0, head.find('\n'))), DescribeFormats());
}

std::string OpenedFormat::Describe(std::string_view error) const {
  if (!by_name) return std::string(error);
  return fmt::format("{}; by its name the file was taken for {}: --format edge-list reads it as lines of two ids", error,
                     entry.name);
}

}  // namespace io

std::string_view FormatName(GraphFormat format) { return io::Format(format).name; }

GraphFormat ParseFormat(std::string_view name) {
  for (const io::FormatEntry& entry : io::Formats()) {
    if (name == entry.name || name == entry.other_name) return entry.format;
  }
  std::vector<std::string_view> names = FormatNames();
  for (const io::FormatEntry& entry : io::Formats()) names.push_back(entry.other_name);
  Throw<UsageError>("unknown graph format '{}'{}; there are {}", Abbreviated(name), DidYouMean(name, names),
                    DescribeFormats());
}

std::vector<std::string_view> FormatNames() {
  std::vector<std::string_view> names;
  for (const io::FormatEntry& entry : io::Formats()) names.push_back(entry.name);
  return names;
}

std::string DescribeFormats() {
  std::string names;
  const std::span<const io::FormatEntry> formats = io::Formats();
  for (std::size_t i = 0; i < formats.size(); ++i) {
    if (i > 0) names += i + 1 == formats.size() ? " and " : ", ";
    names += fmt::format("{} ({})", formats[i].name, formats[i].other_name);
  }
  return names;
}

std::optional<GraphFormat> FormatOfSuffix(const std::string& path) {
  for (const io::FormatEntry& entry : io::Formats()) {
    if (AnySuffix(entry.suffixes, [&](std::string_view suffix) { return io::EndsIn(path, suffix); })) return entry.format;
  }
  return std::nullopt;
}

inline namespace CHATTY_ABI {

Graph ReadGraph(const std::string& path, const ReadOptions& options, ReadReport* report) try {
  if (options.symmetrise && options.directed) {
    throw UsageError("a graph cannot be both made symmetric and read as directed; choose one");
  }
  if (options.format) ParseFormat(*options.format);  // report a wrong name before a missing file
  MemoryClaims claims(options.memory_limit);
  Input input(path);
  input.set_claims(&claims);
  const io::OpenedFormat opened = io::OpenFormat(input, options);
  const io::FormatEntry& format = opened.entry;
  io::RawGraph raw = [&] {
    try {
      return format.read(input, options);
    } catch (const InputError& error) {
      throw InputError(opened.Describe(error.what()));
    }
  }();
  claims.Expect(BuildBytes(raw, options), input.name());
  const std::uint64_t lines = raw.lines, other_bytes = raw.other_bytes;
  const bool both_ways = raw.stated_symmetric || (raw.rows && raw.symmetric);
  std::vector<std::string> files = std::move(raw.files), notes = std::move(raw.notes);
  std::string writers_note = std::move(raw.writers_note);
  BuildReport built;
  Graph graph;
  try {
    graph = Build(std::move(raw), options, &built);
  } catch (const InputError& error) {
    Throw<InputError>("{}: {}", input.name(), error.what());
  }
  graph.set_name(io::GraphNameOf(path));
  if (report != nullptr) {
    const bool symmetrised = graph.symmetric() && !both_ways;
    *report = {format.format,
               input.compression(),
               input.bytes_delivered() + other_bytes,
               lines,
               built,
               symmetrised,
               std::move(files),
               !format.has_rows,
               std::move(notes),
               std::move(writers_note)};
  }
  return graph;
} catch (const std::bad_alloc&) {
  ThrowOutOfHostMemory("reading a graph");
}

}  // namespace CHATTY_ABI
}  // namespace chatty
