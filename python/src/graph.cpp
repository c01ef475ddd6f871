#include "graph.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <optional>
#include <string>
#include <utility>

#include "arrays.h"
#include "chatty/core/error.h"
#include "chatty/core/parallel.h"
#include "chatty/io/reader.h"
#include "chatty/io/writer.h"
#include "process.h"

namespace chatty::python {
namespace {

using nb::literals::operator""_a;

constexpr std::size_t kGrain = std::size_t{1} << 14;

/// Throws InputError that says where offsets do not ascend from 0 to the number of neighbours.
[[noreturn]] void ThrowOffsets(const Adjacency& rows) {
  const std::size_t n = rows.offsets.size() - 1, m = rows.neighbours.size();
  if (rows.offsets[0] != 0)
    Throw<InputError>("indptr begins at {} instead of 0", static_cast<std::int64_t>(rows.offsets[0]));
  if (rows.offsets[n] != m) {
    Throw<InputError>("indptr ends at {}, but there are {} indices", static_cast<std::int64_t>(rows.offsets[n]), m);
  }
  std::size_t v = 0;
  while (v + 1 < n && rows.offsets[v] <= rows.offsets[v + 1] && rows.offsets[v + 1] <= m) ++v;
  Throw<InputError>("indptr does not ascend: row {} is [{}, {}) of {} indices", v,
                    static_cast<std::int64_t>(rows.offsets[v]), static_cast<std::int64_t>(rows.offsets[v + 1]), m);
}

std::size_t Count(const Weights& weights) {
  return std::visit(
      [](const auto& held) -> std::size_t {
        if constexpr (requires { held.size(); }) {
          return held.size();
        } else {
          return 0;
        }
      },
      weights);
}

SharedGraph Shared(Graph graph) { return {std::make_shared<const Graph>(std::move(graph))}; }

SharedGraph FromCsr(const AnyArray& indptr, const AnyArray& indices, const std::optional<AnyArray>& weights,
                    std::optional<bool> symmetric, bool copy) {
  CheckProcess();
  if (indptr.size() == 0) throw InputError("indptr is empty; it has one entry more than there are vertices");
  Adjacency rows;
  rows.offsets = OffsetsOf(indptr, "indptr");
  const std::size_t n = rows.offsets.size() - 1;
  if (n >= kNoVertex) Throw<CapabilityError>("{} vertices are more than 32-bit vertex ids can name", n);
  if (indices.size() > 0 && n == 0) Throw<InputError>("there are {} indices, but no vertex", indices.size());
  // Entries of 32 bits are looked at below, with the rest. Negative ones are then above all vertices.
  const bool checked = n > std::size_t{1} << 31 || indices.itemsize() != sizeof(VertexId);
  rows.neighbours = checked ? VerticesOf(indices, "indices", n) : ViewAsVertices(indices, "indices");
  if (weights) {
    rows.weights = WeightsOf(*weights, "weights");
    if (Count(rows.weights) != rows.neighbours.size()) {
      Throw<InputError>("there are {} weights for {} indices", Count(rows.weights), rows.neighbours.size());
    }
  }
  RowReport report;
  {
    const nb::gil_scoped_release released;
    if (copy) Own(rows);
    report = InspectRows(rows, !symmetric);
    if (!report.offsets_ascend) ThrowOffsets(rows);
    if (report.in_range && !report.lists_ascend) {
      if (!copy) Own(rows);  // the caller's arrays stay as they are
      SortLists(rows);
    }
  }
  if (!report.in_range) {
    static_cast<void>(VerticesOf(indices, "indices", n));  // throws, and says which
    throw InputError("indices were changed while the graph was made");
  }
  return Shared(Graph::OfChecked(std::move(rows), symmetric.value_or(report.symmetric)));
}

SharedGraph FromEdges(const AnyArray& sources, const AnyArray& targets, const std::optional<AnyArray>& weights,
                      std::optional<std::uint64_t> vertices, bool symmetrise, bool remove_loops, bool merge_parallel,
                      std::optional<bool> symmetric) {
  CheckProcess();
  if (sources.size() != targets.size()) {
    Throw<InputError>("there are {} sources and {} targets; each edge has one of both", sources.size(), targets.size());
  }
  if (vertices && *vertices >= kNoVertex) {
    Throw<CapabilityError>("{} vertices are more than 32-bit vertex ids can name", *vertices);
  }
  if (vertices && *vertices == 0 && sources.size() > 0)
    Throw<InputError>("there are {} edges, but no vertex", sources.size());
  EdgeList list;
  list.sources = VerticesOf(sources, "sources", vertices.value_or(0));
  list.targets = VerticesOf(targets, "targets", vertices.value_or(0));
  if (weights) {
    list.weights = WeightsOf(*weights, "weights");
    if (Count(list.weights) != list.sources.size()) {
      Throw<InputError>("there are {} weights for {} edges", Count(list.weights), list.sources.size());
    }
  }
  const nb::gil_scoped_release released;
  if (vertices) {
    list.vertices = static_cast<VertexId>(*vertices);
  } else {
    std::atomic<std::uint64_t> count{0};
    ParallelChunks(list.sources.size(), 0, kGrain, [&](std::size_t begin, std::size_t end) {
      std::uint64_t most = 0;
      for (std::size_t i = begin; i < end; ++i)
        most = std::max({most, std::uint64_t{list.sources[i]} + 1, std::uint64_t{list.targets[i]} + 1});
      std::uint64_t before = count.load(std::memory_order_relaxed);
      while (before < most && !count.compare_exchange_weak(before, most)) {
      }
    });
    list.vertices = static_cast<VertexId>(count.load());
  }
  // BuildAdjacency gives the pages of its input back to the system as it goes: it must not have the caller's.
  list.sources = list.sources.Clone();
  list.targets = list.targets.Clone();
  list.weights = Clone(list.weights);
  BuildOptions options;
  options.symmetrise = symmetrise;
  options.remove_loops = remove_loops;
  options.merge_parallel = merge_parallel;
  Adjacency rows = BuildAdjacency(std::move(list), options);
  const bool both_ways = symmetrise || (symmetric ? *symmetric : IsSymmetric(rows));
  return Shared(Graph::OfChecked(std::move(rows), both_ways));
}

SharedGraph Read(const std::string& path, const std::optional<std::string>& format, bool symmetrise, bool directed,
                 bool keep_loops, bool keep_parallel, bool compact_ids, int threads) {
  CheckProcess();
  const nb::gil_scoped_release released;
  ReadOptions options;
  options.format = format;
  options.symmetrise = symmetrise;
  options.directed = directed;
  options.keep_loops = keep_loops;
  options.keep_parallel = keep_parallel;
  options.compact_ids = compact_ids;
  options.threads = threads;
  return Shared(ReadGraph(path, options));
}

nb::object WeightsAsNumpy(const nb::handle self) {
  return std::visit(
      [&](const auto& held) -> nb::object {
        if constexpr (requires { held.size(); }) {
          return ViewAsNumpy(held.data(), held.size(), self);
        } else {
          return nb::none();
        }
      },
      nb::cast<const SharedGraph&>(self).graph->out().weights);
}

const Graph& Of(const nb::handle self) { return *nb::cast<const SharedGraph&>(self).graph; }

}  // namespace

void BindGraph(nb::module_& module) {
  nb::class_<SharedGraph>(module, "Graph", "A graph in host memory, as rows of neighbours. It does not change.")
      .def_static("from_csr", &FromCsr, "indptr"_a, "indices"_a, "weights"_a = nb::none(), nb::kw_only(),
                  "symmetric"_a = nb::none(), "copy"_a = false,
                  "The graph whose row v is indices[indptr[v]:indptr[v + 1]]. Arrays of fitting types are not copied.")
      .def_static("from_edges", &FromEdges, "sources"_a, "targets"_a, "weights"_a = nb::none(), nb::kw_only(),
                  "vertices"_a = nb::none(), "symmetrise"_a = false, "remove_loops"_a = false, "merge_parallel"_a = false,
                  "symmetric"_a = nb::none(), "The graph with the edges sources[i] -> targets[i].")
      .def_static("read", &Read, "path"_a, nb::kw_only(), "format"_a = nb::none(), "symmetrise"_a = false,
                  "directed"_a = false, "keep_loops"_a = false, "keep_parallel"_a = false, "compact_ids"_a = false,
                  "threads"_a = 0, "The graph in a file, as the command line reads it.")
      .def_prop_ro(
          "vertices", [](const SharedGraph& self) { return self.graph->vertices(); }, "Number of vertices.")
      .def_prop_ro(
          "edges", [](const SharedGraph& self) { return self.graph->edges(); },
          "Number of directed edges; one that goes both ways counts twice.")
      .def_prop_ro(
          "symmetric", [](const SharedGraph& self) { return self.graph->symmetric(); },
          "Whether every edge has its reverse, with the same weight.")
      .def_prop_ro(
          "weight_type", [](const SharedGraph& self) { return std::string(WeightName(self.graph->weight_kind())); },
          "\"none\", \"int32\" or \"float32\".")
      .def_prop_ro(
          "first_id", [](const SharedGraph& self) { return self.graph->first_id(); }, "The file's id of vertex 0.")
      .def_prop_ro(
          "name", [](const SharedGraph& self) { return self.graph->name(); }, "The file's name, if it has one.")
      .def_prop_ro(
          "labels", [](const SharedGraph& self) { return self.graph->labels(); },
          "The vertices' names, if the file has them.")
      .def_prop_ro(
          "nbytes", [](const SharedGraph& self) { return self.graph->bytes(); }, "Bytes of host memory in use.")
      .def_prop_ro(
          "indptr",
          [](nb::handle self) { return ViewAsNumpy(Of(self).out().offsets.data(), Of(self).out().offsets.size(), self); },
          nb::sig("def indptr(self) -> numpy.ndarray"), "Begin of each row, and the end of the last: uint64, read only.")
      .def_prop_ro(
          "indices",
          [](nb::handle self) {
            return ViewAsNumpy(Of(self).out().neighbours.data(), Of(self).out().neighbours.size(), self);
          },
          nb::sig("def indices(self) -> numpy.ndarray"), "The neighbours of all rows: uint32, read only.")
      .def_prop_ro("weights", &WeightsAsNumpy, nb::sig("def weights(self) -> numpy.ndarray | None"),
                   "The weights of all edges, read only; None if there are none.")
      .def_prop_ro(
          "ids",
          [](nb::handle self) -> nb::object {
            const Array<std::uint64_t>& ids = Of(self).ids();
            return ids.empty() ? nb::none() : ViewAsNumpy(ids.data(), ids.size(), self);
          },
          nb::sig("def ids(self) -> numpy.ndarray | None"),
          "The file's ids where they have gaps; None if vertex v has the id first_id + v.");
}

}  // namespace chatty::python
