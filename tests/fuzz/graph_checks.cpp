#include "graph_checks.h"

#include <algorithm>
#include <optional>

#include "chatty/core/graph.h"
#include "chatty/io/formats.h"
#include "chatty/io/peek.h"
#include "chatty/io/writer.h"
#include "fuzz.h"

namespace chatty::fuzz {
namespace {

template <class T>
bool Same(const Array<T>& a, const Array<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

double WeightAt(const Weights& weights, std::size_t e) {
  return std::visit(
      [&](const auto& array) -> double {
        if constexpr (std::is_same_v<std::decay_t<decltype(array)>, std::monostate>) {
          return 1;  // what formats that must have weights give an edge without one
        } else {
          return array[e];
        }
      },
      weights);
}

void CheckPeek(const GraphPeek& peek, const Graph& graph, const ReadReport& report) {
  Expect(peek.format == report.format, "peeked as {}, read as {}", FormatName(peek.format), FormatName(report.format));
  Expect(peek.edges_least <= peek.edges_most, "at least {} edges and at most {}", peek.edges_least, peek.edges_most);
  Expect(!peek.vertices || *peek.vertices == graph.vertices(), "{} vertices where {} were peeked", graph.vertices(),
         peek.vertices.value_or(0));
  Expect(graph.edges() <= peek.edges_most, "{} edges where at most {} were peeked", graph.edges(), peek.edges_most);
  // What peek.h takes to hold of files: no edge twice, so no more loops than vertices.
  if (report.build.parallel_merged == 0 && report.build.loops_removed <= graph.vertices()) {
    Expect(graph.edges() >= peek.edges_least, "{} edges where at least {} were peeked", graph.edges(), peek.edges_least);
  }
  Expect(!peek.symmetric || graph.symmetric(), "a directed graph was peeked as symmetric");
  Expect(peek.maybe_symmetric || !graph.symmetric(), "a symmetric graph was peeked as directed");
  if (!peek.vertices || graph.edges() == 0) return;  // no edge has no weight
  Expect((peek.weights == WeightKind::kNone) == (graph.weight_kind() == WeightKind::kNone),
         "{} weights where {} were peeked", WeightName(graph.weight_kind()), WeightName(peek.weights));
}

void CheckIsSimple(const Graph& graph, const ReadOptions& options) {
  const Adjacency& out = graph.out();
  for (VertexId v = 0; v < graph.vertices(); ++v) {
    const auto list = out[v];
    Expect(options.keep_loops || !std::binary_search(list.begin(), list.end(), v), "vertex {} has a loop", v);
    Expect(options.keep_parallel || std::adjacent_find(list.begin(), list.end()) == list.end(),
           "vertex {} has an edge twice", v);
  }
  Expect(!graph.symmetric() || IsSymmetric(out), "a graph that is marked symmetric is not");
  Expect(graph.ids().empty() || graph.ids().size() == graph.vertices(), "{} ids for {} vertices", graph.ids().size(),
         graph.vertices());
  Expect(graph.labels().empty() || graph.labels().size() == graph.vertices(), "{} labels for {} vertices",
         graph.labels().size(), graph.vertices());
}

/// Vertices that an edge list speaks of: all; or, where they have names, those with edges.
VertexId Named(const Graph& graph) {
  if (graph.ids().empty()) return graph.vertices();
  std::vector<bool> has_edge(graph.vertices());
  for (VertexId v = 0; v < graph.vertices(); ++v) {
    for (const VertexId u : graph.out()[v]) has_edge[v] = has_edge[u] = true;
  }
  return static_cast<VertexId>(std::count(has_edge.begin(), has_edge.end(), true));
}

void CheckAgain(const Graph& graph, const Graph& again, GraphFormat format) {
  const std::string_view name = FormatName(format);
  const bool list = format == GraphFormat::kEdgeList;
  const VertexId vertices = list ? Named(graph) : graph.vertices();
  Expect(again.vertices() == vertices, "{}: {} of {} vertices", name, again.vertices(), vertices);
  Expect(again.edges() == graph.edges(), "{}: {} of {} edges", name, again.edges(), graph.edges());
  if (list && !graph.ids().empty()) {
    std::size_t found = 0;
    for (VertexId v = 0; v < again.vertices(); ++v) found += graph.find(again.id(v)) ? 1 : 0;
    Expect(found == again.vertices(), "{}: has vertices of its own", name);
  } else {
    Expect(Same(graph.out().neighbours, again.out().neighbours), "{}: other neighbours", name);
    for (VertexId v = 0; v < vertices; ++v) {
      Expect(graph.out_degree(v) == again.out_degree(v), "{}: vertex {} has {} of {} edges", name, v, again.out_degree(v),
             graph.out_degree(v));
    }
  }
  if (again.weight_kind() != WeightKind::kNone || graph.weight_kind() != WeightKind::kNone) {
    for (std::size_t e = 0; e < graph.edges(); ++e) {
      const double weight = WeightAt(graph.out().weights, e), other = WeightAt(again.out().weights, e);
      Expect(weight == other, "{}: edge {} weighs {} instead of {}", name, e, other, weight);
    }
  }
  if (format == GraphFormat::kMatrixMarket || format == GraphFormat::kBinary || format == GraphFormat::kLdbc) {
    Expect(again.symmetric() == graph.symmetric(), "{}: symmetry is lost", name);
  }
  if (format == GraphFormat::kBinary) {
    Expect(again.weight_kind() == graph.weight_kind() && again.first_id() == graph.first_id() &&
               Same(again.ids(), graph.ids()) && again.labels() == graph.labels(),
           "{}: kind of weights, ids or labels are lost", name);
  }
}

/// Whether parallel edges stand as BuildAdjacency has them, so that they stand so again. A binary file may have others.
bool LightestFirst(const Graph& graph) {
  const Adjacency& out = graph.out();
  for (VertexId v = 0; v < graph.vertices(); ++v) {
    for (EdgeIndex e = out.offsets[v] + 1; e < out.offsets[v + 1]; ++e) {
      if (out.neighbours[e - 1] == out.neighbours[e] && WeightAt(out.weights, e - 1) > WeightAt(out.weights, e))
        return false;
    }
  }
  return true;
}

void CheckRoundTrips(const Graph& graph) {
  for (const io::FormatEntry& entry : io::Formats()) {
    if (entry.write == nullptr) continue;
    const bool list = entry.format == GraphFormat::kEdgeList;
    if (list && graph.edges() == 0 && !graph.ids().empty()) continue;  // has no vertices then
    const std::string path = Files().Path("again" + std::string(entry.suffixes.substr(0, entry.suffixes.find(' '))));
    const bool written = Attempt([&] { WriteGraph(graph, path, std::string(entry.name)); });
    const bool says_all = list || entry.format == GraphFormat::kMatrixMarket || entry.format == GraphFormat::kDimacs ||
                          entry.format == GraphFormat::kBinary;
    Expect(written || !says_all, "{} cannot be written", entry.name);
    if (!written) continue;
    ReadOptions options;
    options.format = entry.name;
    options.keep_loops = options.keep_parallel = true;
    options.compact_ids = list && !graph.ids().empty();
    options.threads = 1;
    Graph again;
    try {
      again = ReadGraph(path, options);
    } catch (const std::exception& error) {
      Report(fmt::format("{}: what was written is not read: {}", entry.name, error.what()));
    }
    CheckAgain(graph, again, entry.format);
  }
}

}  // namespace

ReadOptions OptionsOf(std::uint8_t bits) {
  ReadOptions options;
  options.symmetrise = (bits & 1) != 0;
  options.directed = (bits & 2) != 0;
  options.keep_loops = (bits & 4) != 0;
  options.keep_parallel = (bits & 8) != 0;
  options.compact_ids = (bits & 16) != 0;
  options.threads = 1;
  return options;
}

void CheckGraph(const std::string& path, const ReadOptions& options) {
  std::optional<GraphPeek> peek;
  const bool peeked = Attempt([&] { peek = PeekGraph(path, options); });
  Graph graph;
  ReadReport report;
  if (!Attempt([&] { graph = ReadGraph(path, options, &report); })) return;
  Expect(peeked && peek.has_value(), "read, but not peeked");
  CheckPeek(*peek, graph, report);
  // The writer of a binary file guarantees that both directions are stored; the reader does not check it.
  if (report.format == GraphFormat::kBinary && graph.symmetric() && !IsSymmetric(graph.out())) return;
  CheckIsSimple(graph, options);
  if (graph.vertices() <= 4096 && LightestFirst(graph)) CheckRoundTrips(graph);  // a name of many digits makes many vertices
}

}  // namespace chatty::fuzz
