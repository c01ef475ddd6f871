#include "chatty/cli/load.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>

#include "chatty/cli/interrupt.h"
#include "chatty/cli/text.h"
#include "chatty/cli/times.h"
#include "chatty/core/error.h"
#include "chatty/core/progress.h"

namespace chatty::cli {
namespace {

ReadOptions ToReadOptions(const LoadOptions& options) {
  ReadOptions read = options.read;
  if (!options.format.empty()) read.format = options.format;
  read.memory_limit = options.host_memory_limit;
  return read;
}

/// Throws OutOfMemoryError, before anything is read, for a graph that takes more host memory than the limit, by its header
/// or, where it has none, by how long its lines are.
void RefuseBeyondLimit(const std::string& path, const LoadOptions& options) {
  const std::optional<GraphPeek> peek = PeekGraph(path, ToReadOptions(options));
  if (!peek) return;
  const std::uint64_t limit = options.host_memory_limit;
  const auto entry = [&](std::uint64_t ids) {
    return ids * sizeof(VertexId) + (peek->weights == WeightKind::kNone ? 0 : sizeof(float));
  };
  if (peek->vertices) {
    const std::uint64_t needed = (*peek->vertices + 1) * sizeof(EdgeIndex) + peek->edges_least * entry(1);
    if (needed <= limit) return;
    Throw<OutOfMemoryError>(
        "out of memory (nothing was allocated): a graph of {} vertices and {} stored edges ({}) needs at least {} of host "
        "memory, but the host's limit allows only {}: use a smaller graph or a larger limit",
        *peek->vertices, peek->stored, peek->from, FormatBytes(needed), FormatBytes(limit));
  }
  const std::uint64_t needed = peek->edges_likely * entry(2);
  if (needed - needed / 4 <= limit) return;  // of what is near the limit the reader finds out
  Throw<OutOfMemoryError>(
      "out of memory (nothing was allocated): {} has about {} edges, and reading them needs about {} of host memory, but "
      "the "
      "host's limit allows only {}: use a smaller graph or a larger limit",
      path, peek->edges_likely, FormatBytes(needed), FormatBytes(limit));
}

}  // namespace

std::optional<GraphPeek> Peek(const std::string& path, const LoadOptions& options) {
  std::optional<GraphPeek> peek = PeekGraph(path, ToReadOptions(options));
  if (peek && options.weights != "file") {
    peek->weights = options.weights == "int"     ? WeightKind::kInt32
                    : options.weights == "float" ? WeightKind::kFloat32
                                                 : WeightKind::kNone;
  }
  return peek;
}

LoadedGraph Load(const std::string& path, const LoadOptions& options) {
  LoadedGraph loaded;
  loaded.path = path;
  const ReadOptions read = ToReadOptions(options);
  if (options.cache != "off") TakeInterrupts();  // it is written to
  if (read.threads > 0) omp_set_num_threads(read.threads);
  if (options.host_memory_limit > 0) RefuseBeyondLimit(path, options);
  const PhaseLine phase("loading");
  const Stopwatch watch;
  if (options.cache == "off") {
    loaded.graph = ReadGraph(path, read, &loaded.report);
  } else {
    loaded.graph = ReadGraphCached(path, read, options.cache, &loaded.report, &loaded.cache);
  }
  if (options.weights != "file") {
    loaded.graph = loaded.graph.WithWeights(options.weights == "int"     ? WeightKind::kInt32
                                            : options.weights == "float" ? WeightKind::kFloat32
                                                                         : WeightKind::kNone);
  }
  if (options.ids != "file") {
    loaded.graph.set_first_id(options.ids == "one" ? 1 : 0);
    loaded.graph.set_ids({});
  }
  loaded.ms = watch.ms();
  return loaded;
}

std::string DescribeLoad(const LoadedGraph& loaded, const LoadOptions& options, int width) {
  const ReadReport& report = loaded.report;
  const BuildReport& build = report.build;
  std::string text;
  const auto line = [&](std::string_view name, std::string_view value) {
    text += fmt::format("  {:<{}} {}\n", name, width, value);
  };
  const bool cached = loaded.cache.use == CacheReport::Use::kRead;
  line("file", fmt::format("{}, {}, {}, loaded {}in {} ({:.0f} MB/s)", FormatName(report.format),
                           CompressionName(report.compression), FormatBytes(report.bytes), cached ? "from the cache " : "",
                           FormatMs(loaded.ms), static_cast<double>(report.bytes) / 1e3 / std::max(loaded.ms, 1e-3)));
  if (cached) {
    line("cache", loaded.cache.file);
  } else if (loaded.cache.use == CacheReport::Use::kFilled) {
    line("cache", fmt::format("filled {}{}", loaded.cache.file,
                              loaded.cache.why.empty() ? "" : fmt::format(", which {}", loaded.cache.why)));
  } else if (!loaded.cache.why.empty()) {
    line("cache", fmt::format("not used: {}", loaded.cache.why));
  }
  const std::string direction = report.symmetrised ? options.read.symmetrise ? "both ways (--symmetrise)" : "both ways"
                                : loaded.graph.symmetric() ? "both ways, as they are stored"
                                : options.read.directed    ? "as stored (--directed)"
                                                           : "as stored (--symmetrise adds the reverse ones)";
  const auto dropped = [](bool keep, std::string_view what, std::uint64_t count, std::string_view verb) {
    return keep ? fmt::format("{} kept", what) : fmt::format("{} {} {}", Grouped(count), what, verb);
  };
  line("read as", fmt::format("{} edges {}; {}; {}", Grouped(build.edges_given), direction,
                              dropped(options.read.keep_loops, "loops", build.loops_removed, "dropped"),
                              dropped(options.read.keep_parallel, "parallel edges", build.parallel_merged,
                                      "merged into the lightest")));
  for (const std::string& note : report.notes) line("", note);
  line("", report.format != GraphFormat::kEdgeList ? "vertices without edges kept"
           : options.read.compact_ids              ? "ids that no edge names left out (--compact-ids)"
                                      : "ids that no edge names kept, without edges (--compact-ids leaves them out)");
  return text;
}

std::string DescribeGraph(const Graph& graph, std::string_view unweighted) {
  const WeightKind weights = graph.weight_kind();
  return fmt::format("{}: {} vertices, {} edges, {}, {}", graph.name(), Grouped(graph.vertices()), Grouped(graph.edges()),
                     graph.symmetric() ? "symmetric" : "directed",
                     weights == WeightKind::kNone ? "no weights" : fmt::format("{} weights", WeightName(weights))) +
         (weights == WeightKind::kNone || unweighted.empty() ? "" : fmt::format(", which {} does not use", unweighted));
}

}  // namespace chatty::cli
