#include "chatty/io/reader.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <utility>

#include "chatty/core/error.h"
#include "chatty/core/parallel.h"
#include "chatty/io/formats.h"
#include "chatty/io/text_parser.h"

namespace chatty {
namespace {

/// Throws where a file's first bytes say that it is nothing that can be read.
void RefuseWhatCannotBeRead(std::string_view head, const std::string& name) {
  if (head.starts_with("\xff\xfe") || head.starts_with("\xfe\xff")) {
    Throw<InputError>("{}: is UTF-16 text; convert it to UTF-8 or ASCII", name);
  }
  for (const auto& [magic, packer] : {std::pair<std::string_view, std::string_view>{"BZh", "bzip2"},
                                      {{"\xfd"
                                        "7zXZ",
                                        5},
                                       "xz"},
                                      {{"PK\x03\x04", 4}, "zip"}}) {
    if (head.starts_with(magic)) {
      Throw<InputError>("{}: is packed with {}; unpack it first, or pack it with gzip or zstd", name, packer);
    }
  }
}

/// Calls body(suffix) for each of a list's, until one returns true.
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

/// Host memory that Build takes at a time, what it is given included: a list goes as the edges are sorted, which have their
/// sources then; rows stay.
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

/// Makes a graph of what a reader found, as the options have it.
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

const FormatEntry& OpenFormat(Input& input, const ReadOptions& options) {
  const FormatEntry* const named = options.format ? &Format(ParseFormat(*options.format)) : nullptr;
  input.SkipByteOrderMark();
  if (input.Peek(1).empty()) Throw<InputError>("{}: is empty; write or fetch it again", input.name());
  if (named != nullptr) return *named;
  constexpr std::size_t kSeen = std::size_t{1} << 16;
  std::string_view head;
  for (const FormatEntry& entry : kFormats) {
    head = input.Peek(kSeen);  // whoever was asked before may have looked further
    head.remove_prefix(std::min(head.find_first_not_of(" \t\r\n"), head.size()));
    if (head.empty()) Throw<InputError>("{}: is empty; write or fetch it again", input.name());
    if (entry.recognise(input, head)) return entry;
  }
  RefuseWhatCannotBeRead(input.Peek(kSeen), input.name());  // only now: a count can look like any magic
  Throw<InputError>("{}: begins with {}, which no graph file does; known are {}; comments in an edge list begin with # or %",
                    input.name(), Quote(head.substr(0, head.find('\n'))), DescribeFormats());
}

}  // namespace io

std::string_view FormatName(GraphFormat format) { return io::Format(format).name; }

GraphFormat ParseFormat(std::string_view name) {
  for (const io::FormatEntry& entry : io::Formats()) {
    if (name == entry.name || name == entry.other_name) return entry.format;
  }
  Throw<UsageError>("unknown graph format '{}'; there are {}", name, DescribeFormats());
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
  if (options.format) ParseFormat(*options.format);  // a wrong name is told before a missing file
  MemoryClaims claims(options.memory_limit);
  Input input(path);
  input.set_claims(&claims);
  const io::FormatEntry& format = io::OpenFormat(input, options);
  io::RawGraph raw = format.read(input, options);
  claims.Expect(BuildBytes(raw, options), input.name());
  const std::uint64_t lines = raw.lines, other_bytes = raw.other_bytes;
  const bool both_ways = raw.stated_symmetric || (raw.rows && raw.symmetric);
  std::vector<std::string> files = std::move(raw.files);
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
    *report = {format.format,    input.compression(), input.bytes_delivered() + other_bytes, lines, built, symmetrised,
               std::move(files), !format.has_rows};
  }
  return graph;
} catch (const std::bad_alloc&) {
  ThrowOutOfHostMemory("reading a graph");
}

}  // namespace CHATTY_ABI
}  // namespace chatty
