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

constexpr std::string_view kKnown = "Matrix Market, edge list, DIMACS .gr and the binary format are known";

/// What a file's first bytes say it is. Throws where they say that it is nothing that can be read.
GraphFormat Recognise(Input& input) {
  constexpr std::size_t kSeen = std::size_t{1} << 16;
  const std::string& name = input.name();
  std::string_view head = input.Peek(kSeen);
  if (head.starts_with(io::kBinaryMagic)) return GraphFormat::kBinary;
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
  const std::size_t begin = head.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) Throw<InputError>("{}: is empty", name);
  head.remove_prefix(begin);
  if (io::IsMatrixMarket(head)) return GraphFormat::kMatrixMarket;
  const bool letter_alone = head.size() == 1 || std::isspace(static_cast<unsigned char>(head[1])) != 0;
  if ((head[0] == 'c' || head[0] == 'p' || head[0] == 'a') && letter_alone) return GraphFormat::kDimacs;
  if (head[0] == '#' || head[0] == '%' || head[0] == '-' || (head[0] >= '0' && head[0] <= '9'))
    return GraphFormat::kEdgeList;
  Throw<InputError>("{}: begins with {}, which no graph file does: {}; comments in an edge list begin with # or %", name,
                    io::Quote(head.substr(0, head.find('\n'))), kKnown);
}

/// The file's name without folders and suffixes.
std::string Stem(const std::string& path) {
  if (path == "-") return "stdin";
  std::string_view stem = std::string_view(path).substr(path.find_last_of('/') + 1);
  for (const std::string_view suffix :
       {".gz", ".zst", ".mtx", ".gr", ".el", ".wel", ".txt", ".tsv", ".csv", ".e", ".chatty"}) {
    if (stem.size() > suffix.size() && stem.ends_with(suffix)) stem.remove_suffix(suffix.size());
  }
  return std::string(stem);
}

/// True if some list of the graph holds what the options would drop.
bool HasLoopsOrParallel(const Graph& graph, const ReadOptions& options) {
  std::atomic<bool> found{false};
  ParallelFor(graph.vertices(), options.threads, [&](std::size_t v) {
    const auto list = graph.out()[static_cast<VertexId>(v)];
    const bool loop = !options.keep_loops && std::binary_search(list.begin(), list.end(), static_cast<VertexId>(v));
    const bool parallel = !options.keep_parallel && std::adjacent_find(list.begin(), list.end()) != list.end();
    if (loop || parallel) found.store(true, std::memory_order_relaxed);
  });
  return found;
}

EdgeList ToEdgeList(const Graph& graph, int threads) {
  EdgeList list;
  list.vertices = graph.vertices();
  list.sources = Array<VertexId>(graph.edges());
  list.targets = graph.out().neighbours.Clone();
  list.weights = Clone(graph.out().weights);
  ParallelFor(graph.vertices(), threads, [&](std::size_t v) {
    std::fill(list.sources.begin() + graph.out().offsets[v], list.sources.begin() + graph.out().offsets[v + 1],
              static_cast<VertexId>(v));
  });
  return list;
}

BuildOptions ToBuildOptions(const ReadOptions& options) {
  BuildOptions build;
  build.remove_loops = !options.keep_loops;
  build.merge_parallel = !options.keep_parallel;
  build.threads = options.threads;
  return build;
}

/// Applies the options to a graph that is built already; most often they leave it as it is.
Graph Adapt(Graph graph, const ReadOptions& options, BuildReport* report) {
  const bool symmetrise = options.symmetrise && !graph.symmetric();
  const bool undirect = options.directed && graph.symmetric();
  if (!symmetrise && !undirect && !HasLoopsOrParallel(graph, options)) {
    report->edges_given = report->edges_kept = graph.edges();
    return graph;
  }
  BuildOptions build = ToBuildOptions(options);
  build.symmetrise = symmetrise;
  build.assume_symmetric = graph.symmetric() && !options.directed;
  Graph adapted = BuildGraph(ToEdgeList(graph, options.threads), build, report);
  adapted.set_first_id(graph.first_id());
  adapted.set_labels(graph.labels());
  return adapted;
}

}  // namespace

std::string_view FormatName(GraphFormat format) {
  switch (format) {
    case GraphFormat::kMatrixMarket:
      return "matrix-market";
    case GraphFormat::kEdgeList:
      return "edge-list";
    case GraphFormat::kDimacs:
      return "dimacs";
    case GraphFormat::kBinary:
      return "binary";
  }
  return "unknown";
}

GraphFormat ParseFormat(std::string_view name) {
  if (name == "matrix-market" || name == "mtx") return GraphFormat::kMatrixMarket;
  if (name == "edge-list" || name == "el" || name == "txt") return GraphFormat::kEdgeList;
  if (name == "dimacs" || name == "gr") return GraphFormat::kDimacs;
  if (name == "binary" || name == "chatty") return GraphFormat::kBinary;
  Throw<UsageError>(
      "unknown graph format '{}'; there are matrix-market (mtx), edge-list (el), dimacs (gr) and binary (chatty)", name);
}

GraphFormat io::OpenFormat(Input& input, const ReadOptions& options) {
  std::optional<GraphFormat> format;
  if (options.format) format = ParseFormat(*options.format);
  if (input.Peek(3) == "\xef\xbb\xbf") input.Consume(3);  // a byte order mark
  if (input.Peek(1).empty()) Throw<InputError>("{}: is empty", input.name());
  return format ? *format : Recognise(input);
}

inline namespace CHATTY_ABI {

Graph ReadGraph(const std::string& path, const ReadOptions& options, ReadReport* report) try {
  if (options.symmetrise && options.directed) {
    throw UsageError("a graph cannot be both made symmetric and read as directed; choose one");
  }
  if (options.format) ParseFormat(*options.format);  // a wrong name is told before a missing file
  Input input(path);
  const GraphFormat format = io::OpenFormat(input, options);

  BuildReport built;
  Graph graph;
  std::uint64_t lines = 0;
  if (format == GraphFormat::kBinary) {
    graph = Adapt(io::ReadBinary(input, options.threads), options, &built);
  } else {
    io::RawGraph raw = format == GraphFormat::kMatrixMarket ? io::ReadMatrixMarket(input, options.threads)
                       : format == GraphFormat::kDimacs     ? io::ReadDimacs(input, options.threads)
                                                            : io::ReadEdgeList(input, options.threads);
    lines = raw.lines;
    BuildOptions build = ToBuildOptions(options);
    build.symmetrise = options.symmetrise || (raw.symmetric && !options.directed);
    graph = BuildGraph(std::move(raw.list), build, &built);
    graph.set_first_id(raw.first_id);
  }
  graph.set_name(Stem(path));
  if (report != nullptr) *report = {format, input.compression(), input.bytes_delivered(), lines, built};
  return graph;
} catch (const std::bad_alloc&) {
  ThrowOutOfHostMemory("reading a graph");
}

}  // namespace CHATTY_ABI
}  // namespace chatty
