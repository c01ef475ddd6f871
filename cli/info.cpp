#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "chatty/cli/app.h"
#include "chatty/cli/commands.h"
#include "chatty/cli/json.h"
#include "chatty/cli/load.h"
#include "chatty/cli/options.h"
#include "chatty/cli/output_files.h"
#include "chatty/cli/text.h"
#include "chatty/cli/times.h"
#include "chatty/core/parallel.h"
#include "chatty/core/progress.h"
#include "chatty/framework/memory_plan.h"
#include "chatty/io/coordinates.h"
#include "chatty/io/input.h"
#include "chatty/partition/part_file.h"
#include "chatty/partition/partition.h"
#include "chatty/programs/measures.h"

namespace chatty::cli {
namespace {

struct InfoOptions {
  std::string graph, json, coordinates;
  LoadOptions load;
  PartId parts = 0;       // 0: no word of partitions
  std::string partition;  // empty: the default, if there are parts
  bool allow_fallback = true;
  std::string device_kind = "auto";
};

/// What coordinates say of a graph.
struct Extent {
  double x[2] = {0, 0}, y[2] = {0, 0};  ///< least and largest
  double mean = 0, longest = 0;         ///< straight-line lengths of edges
  VertexId from = kNoVertex, to = kNoVertex;
};

/// Of a graph and the positions that `path` holds. Throws InputError for coordinates of another graph.
Extent MeasureExtent(const Graph& graph, const Coordinates& coordinates, const std::string& path) {
  if (coordinates.x.size() != graph.vertices()) {
    Throw<InputError>("{}: holds {} positions, but the graph {} vertices: it is of another graph", path,
                      coordinates.x.size(), graph.vertices());
  }
  Extent extent;
  if (graph.vertices() == 0) return extent;
  for (const auto& [from, to] : {std::pair(&coordinates.x, extent.x), std::pair(&coordinates.y, extent.y)}) {
    const auto [least, largest] = std::minmax_element(from->begin(), from->end());
    to[0] = *least;
    to[1] = *largest;
  }
  // Sums of fixed ranges, so that the mean is the same on any number of threads.
  struct Part {
    double sum = 0, longest = -1;
    VertexId from = kNoVertex, to = kNoVertex;
  };
  constexpr std::size_t kRange = 4096;
  std::vector<Part> parts((graph.vertices() + kRange - 1) / kRange);
  ParallelChunks(parts.size(), 0, 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t p = first; p < last; ++p) {
      const auto end = static_cast<VertexId>(std::min<std::size_t>(graph.vertices(), (p + 1) * kRange));
      for (auto v = static_cast<VertexId>(p * kRange); v < end; ++v) {
        for (const VertexId u : graph.out()[v]) {
          const double length = std::hypot(coordinates.x[v] - coordinates.x[u], coordinates.y[v] - coordinates.y[u]);
          parts[p].sum += length;
          if (length <= parts[p].longest) continue;
          parts[p].longest = length;
          parts[p].from = v;
          parts[p].to = u;
        }
      }
    }
  });
  double sum = 0;
  for (const Part& part : parts) {
    sum += part.sum;
    if (part.from == kNoVertex || (extent.from != kNoVertex && part.longest <= extent.longest)) continue;
    extent.longest = part.longest;
    extent.from = part.from;
    extent.to = part.to;
  }
  if (graph.edges() > 0) extent.mean = sum / static_cast<double>(graph.edges());
  return extent;
}

Json ExtentJson(const Graph& graph, const Extent& extent, const std::string& path) {
  Json json;
  json["path"] = path;
  json["x"] = extent.x;
  json["y"] = extent.y;
  json["mean_edge"] = extent.mean;
  json["longest_edge"] = extent.longest;
  json["longest_from"] = IdJson(graph, extent.from);
  json["longest_to"] = IdJson(graph, extent.to);
  return json;
}

/// Least and largest weight, or nulls.
Json WeightRange(const Graph& graph) {
  return std::visit(
      [](const auto& weights) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(weights)>, std::monostate>) {
          return nullptr;
        } else {
          if (weights.empty()) return nullptr;
          const auto [least, largest] = std::minmax_element(weights.begin(), weights.end());
          return Json::array({*least, *largest});
        }
      },
      graph.out().weights);
}

Json DegreesJson(const Graph& graph, const DegreeSummary& degrees) {
  Json json;
  json["min"] = degrees.min;
  json["mean"] = degrees.mean;
  json["median"] = degrees.median;
  json["percentile_99"] = degrees.percentile_99;
  json["max"] = degrees.max;
  json["max_vertex"] = IdJson(graph, degrees.max_vertex);
  json["histogram"] = Json::array();
  for (std::size_t k = 0; k < degrees.histogram.size(); ++k) {
    const std::uint64_t from = k == 0 ? 0 : std::uint64_t{1} << (k - 1), to = k == 0 ? 0 : 2 * from - 1;
    json["histogram"].push_back({{"from", from}, {"to", to}, {"vertices", degrees.histogram[k]}});
  }
  return json;
}

std::string DescribeDegrees(const Graph& graph, const DegreeSummary& degrees) {
  if (degrees.max_vertex == kNoVertex) return "none";
  std::string label;
  if (!graph.labels().empty()) label = fmt::format(", {}", graph.labels()[degrees.max_vertex]);
  return fmt::format("{} to {}, mean {:.2f}, median {}, 99 % at most {}; largest at vertex {}{}", Grouped(degrees.min),
                     Grouped(degrees.max), degrees.mean, Grouped(degrees.median), Grouped(degrees.percentile_99),
                     graph.id(degrees.max_vertex), label);
}

/// How many vertices have which degree, in percent: "0: 12.0, 1: 3.5, 2-3: 40.1, ...".
std::string DescribeHistogram(const Graph& graph, const DegreeSummary& degrees) {
  std::string text;
  for (std::size_t k = 0; k < degrees.histogram.size(); ++k) {
    if (degrees.histogram[k] == 0) continue;
    const std::uint64_t from = k == 0 ? 0 : std::uint64_t{1} << (k - 1);
    const double percent = 100 * static_cast<double>(degrees.histogram[k]) / static_cast<double>(graph.vertices());
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ",
                        k < 2 ? Grouped(from) : Grouped(from) + "-" + Grouped(2 * from - 1),
                        percent < 0.1 ? "<0.1" : fmt::format("{:.1f}", percent));
  }
  return text + " % of vertices";
}

constexpr PartId kDeviceCounts[] = {1, 2, 4, 8};

/// What a program needs on each number of devices.
struct ProgramNeed {
  std::string_view program;
  bool complete = true;  // false: an operator program that does not say what it allocates
  std::vector<MemoryPlan> plans;
};

std::vector<ProgramNeed> MeasureNeeds(const Registry& registry, const Graph& graph, EdgeIndex max_degree, DeviceKind kind,
                                      int threads, const ReadReport& report) {
  const bool text = report.listed;
  GraphCounts counts = CountsOf(graph);
  counts.max_degree = max_degree;
  std::vector<ProgramNeed> needs;
  for (const RegisteredProgram* program : registry.All()) {
    const std::vector<ProgramMemory> memory = program->Memory(&graph, "", {}).front();
    ProgramNeed need;
    need.program = program->name();
    for (const ProgramMemory& one : memory) need.complete = need.complete && one.complete;
    for (const PartId devices : kDeviceCounts) {
      need.plans.push_back(
          BoundMemory(counts, memory, kind, devices, {}, Bound::kMax, text, report.build.edges_given, threads));
    }
    needs.push_back(std::move(need));
  }
  return needs;
}

/// The device of a plan that holds most.
const DeviceMemory& Largest(const MemoryPlan& plan) {
  return *std::max_element(plan.devices.begin(), plan.devices.end(),
                           [](const DeviceMemory& a, const DeviceMemory& b) { return a.total() < b.total(); });
}

Json NeedsJson(const std::vector<ProgramNeed>& needs, DeviceKind kind) {
  Json json;
  json["device_kind"] = kind == DeviceKind::kCuda ? "cuda" : "host";
  json["programs"] = Json::array();
  for (const ProgramNeed& need : needs) {
    Json rows = Json::array();
    for (const MemoryPlan& plan : need.plans) {
      const DeviceMemory& device = Largest(plan);
      rows.push_back({{"devices", plan.devices.size()},
                      {"bound", !need.complete             ? "least"
                                : plan.devices.size() == 1 ? "exact"
                                                           : "equal-parts"},
                      {"device", device.total()},
                      {"graph", device.graph},
                      {"state", device.state},
                      {"buffers", device.buffers},
                      {"host", plan.host.total()}});
    }
    json["programs"].push_back({{"program", need.program}, {"needs", std::move(rows)}});
  }
  return json;
}

std::string DescribeNeeds(const std::vector<ProgramNeed>& needs, DeviceKind kind) {
  std::string text = fmt::format(
      "\nMemory needed on each of 1 to 8 {}\n(one: exact; several: at most, where parts are about equal)\n  {:<20}",
      kind == DeviceKind::kCuda ? "GPUs" : "host devices, beside the graph that they share", "");
  for (const PartId devices : kDeviceCounts) text += fmt::format("{:>12}", devices);
  text += fmt::format("{:>16}\n", "host, with 1");
  for (const ProgramNeed& need : needs) {
    text += fmt::format("  {:<20}", need.program);
    for (const MemoryPlan& plan : need.plans) {
      text += fmt::format("{:>12}", (need.complete ? "" : ">") + FormatBytes(Largest(plan).total()));
    }
    text += fmt::format("{:>16}\n", FormatBytes(need.plans.front().host.total()));
  }
  return text;
}

int Info(const Registry& registry, const InfoOptions& options) {
  RefuseSameFile("--json", options.json, "the graph", options.graph);
  if (IsPartFilePath(options.partition)) RefuseSameFile("--json", options.json, "--partition", options.partition);
  PrepareJson(options.json);
  const std::unique_ptr<Partitioner> partitioner =  // refused before loading
      MakePartitioner(options.partition.empty() ? SessionOptions{}.partition : options.partition);
  PartId parts = options.parts;
  if (parts > 0) {
    CheckParts(*partitioner, parts, fmt::format("--parts {}", parts));
  } else if (!options.partition.empty()) {
    parts = partitioner->parts();
    if (parts == 0) Throw<UsageError>("--partition {}: into how many parts? Add --parts", options.partition);
  }
  if (options.graph == "-" && options.coordinates == "-") {
    throw UsageError("graph and coordinates cannot both come from standard input");
  }
  RefuseSameFile("--json", options.json, "--coordinates", options.coordinates);
  std::optional<Coordinates> coordinates;  // read first: what is wrong there is refused before a long load
  if (!options.coordinates.empty()) coordinates = ReadCoordinates(options.coordinates, options.load.read.threads);
  const LoadedGraph loaded = Load(options.graph, options.load);
  const Graph& graph = loaded.graph;
  const ReadReport& report = loaded.report;
  std::optional<Extent> extent;
  if (coordinates) extent = MeasureExtent(graph, *coordinates, options.coordinates);
  PhaseLine phase("analysing");
  const Stopwatch watch;
  const DegreeSummary out = SummariseDegrees(graph);
  const DegreeSummary in = graph.symmetric() ? out : SummariseDegrees(graph, /*in=*/true);
  std::atomic<VertexId> isolated{0};
  ParallelChunks(graph.vertices(), 0, std::size_t{1} << 14, [&](std::size_t begin, std::size_t end) {
    VertexId mine = 0;
    for (auto v = static_cast<VertexId>(begin); v < end; ++v) {
      mine += graph.out_degree(v) == 0 && graph.in_degree(v) == 0 ? 1 : 0;
    }
    isolated += mine;
  });
  const ComponentSummary components = SummariseComponents(graph);
  DiameterBound diameter;
  if (components.largest > 0) diameter = EstimateDiameter(graph, components.representative);
  const DeviceKind kind = options.device_kind == "cuda" || (options.device_kind == "auto" && CudaDeviceCount() > 0)
                              ? DeviceKind::kCuda
                              : DeviceKind::kHost;
  const std::vector<ProgramNeed> needs =
      MeasureNeeds(registry, graph, std::max(out.max, in.max), kind, options.load.read.threads, report);
  const double analyse_ms = watch.ms();
  phase.Finish();
  const Json weight_range = WeightRange(graph);
  Partition partition;
  PartitionQuality quality;
  if (parts > 0) {
    PartitionOptions divide;
    divide.parts = parts;
    divide.threads = options.load.read.threads;
    divide.allow_fallback = options.allow_fallback;
    partition = partitioner->Divide(graph, divide);
    quality = MeasureQuality(graph, partition);
  }

  if (!options.json.empty()) {
    Json json;
    json["chatty"] = BuildJson();
    json["graph"] = GraphJson(loaded);
    json["file"] = {{"format", FormatName(report.format)},
                    {"compression", CompressionName(report.compression)},
                    {"bytes", report.bytes},
                    {"lines", report.lines},
                    {"edges_given", report.build.edges_given},
                    {"loops_removed", report.build.loops_removed},
                    {"parallel_merged", report.build.parallel_merged}};
    json["coordinates"] = extent ? ExtentJson(graph, *extent, options.coordinates) : Json(nullptr);
    json["out_degree"] = DegreesJson(graph, out);
    json["in_degree"] = DegreesJson(graph, in);
    json["isolated"] = isolated.load();
    json["weight_range"] = weight_range;
    json["components"] = {{"count", components.count}, {"largest", components.largest}};
    json["diameter"] = {{"at_least", diameter.length},
                        {"from", IdJson(graph, diameter.from)},
                        {"to", IdJson(graph, diameter.to)},
                        {"sweeps", diameter.sweeps}};
    json["memory"] = graph.bytes();
    json["memory_needed"] = NeedsJson(needs, kind);
    if (parts > 0) json["partition"] = QualityJson(partition, quality);
    json["phases_ms"] = {{"load", loaded.ms}, {"analyse", analyse_ms}};
    WriteJson(options.json, json);
  }
  if (options.json == "-") return kSuccess;

  std::string text = DescribeGraph(graph) + "\n";
  const auto line = [&](std::string_view name, std::string_view value) {
    text += fmt::format("  {:<12} {}\n", name, value);
  };
  text += DescribeLoad(loaded, options.load, 12);
  if (graph.vertices() > 0) {
    line("ids",
         fmt::format("{} to {}{}", graph.id(0), graph.id(graph.vertices() - 1), graph.ids().empty() ? "" : ", with gaps"));
  }
  if (graph.symmetric()) {
    line("degrees", DescribeDegrees(graph, out));
    if (graph.vertices() > 0) line("", DescribeHistogram(graph, out));
  } else {
    line("out-degrees", DescribeDegrees(graph, out));
    if (graph.vertices() > 0) line("", DescribeHistogram(graph, out));
    line("in-degrees", DescribeDegrees(graph, in));
    if (graph.vertices() > 0) line("", DescribeHistogram(graph, in));
  }
  line("isolated", fmt::format("{} vertices", Grouped(isolated.load())));
  if (!weight_range.is_null()) line("weights", fmt::format("{} to {}", weight_range[0].dump(), weight_range[1].dump()));
  line("components",
       fmt::format("{} (weak); the largest has {} vertices", Grouped(components.count), Grouped(components.largest)));
  if (components.largest > 0) {
    line("diameter", fmt::format("at least {} in the largest component, edges taken both ways ({} searches)",
                                 Grouped(diameter.length), diameter.sweeps));
  }
  if (extent) {
    line("coordinates", fmt::format("x {} to {}, y {} to {}", extent->x[0], extent->x[1], extent->y[0], extent->y[1]));
    if (extent->from != kNoVertex) {
      line("lengths", fmt::format("straight lines in their unit: mean {:.1f}, longest {:.1f} ({} to {})", extent->mean,
                                  extent->longest, graph.id(extent->from), graph.id(extent->to)));
    }
  }
  line("memory", FormatBytes(graph.bytes()));
  text += DescribeNeeds(needs, kind);
  if (parts > 0) text += "\n" + FormatQuality(quality);
  if (text.back() != '\n') text += '\n';
  PrintReport(text);
  return kSuccess;
}

}  // namespace

void AddInfo(CLI::App& app, Context& context) {
  auto options = std::make_shared<InfoOptions>();
  CLI::App* command = app.add_subcommand("info", "Print what a graph file holds and what memory programs would need on it");
  command->add_option("GRAPH", options->graph, "Graph file, or - for standard input")->required();
  AddJsonOption(*command, options->json);
  AddLoadOptions(*command, options->load, "--format", /*uses=*/true);
  command
      ->add_option("--coordinates", options->coordinates,
                   "Positions of the vertices, a .co file of DIMACS: also print the bounding box and how long edges are")
      ->type_name("FILE")
      ->check(NotEmpty());
  command
      ->add_option("--parts", options->parts, "Also divide the graph into so many parts and print how good the division is")
      ->type_name("P")
      ->check(Unnamed(CLI::Range(PartId{1}, static_cast<PartId>(kMaxDevices))));
  command->add_option(
      "--partition", options->partition,
      fmt::format("How to divide it: contiguous, edge-balanced, random, metis, or the path of a part file, which says "
                  "itself into how many (default: {})",
                  SessionOptions{}.partition));
  AddFallbackOption(*command, options->allow_fallback);
  command
      ->add_option(
          "--device-kind", options->device_kind,
          "Print the memory needed on `host` devices or on GPUs (`cuda`), which need not be there; `auto` (default): "
          "GPUs if present")
      ->type_name("auto|host|cuda")
      ->check(OneOf({"auto", "host", "cuda"}));
  command->footer(
      "Examples:\n"
      "  chatty info road.chatty --parts 4 --partition contiguous\n"
      "  chatty info USA-road-d.NY.gr.zst\n"
      "  chatty info web.mtx.gz --keep-loops --json -\n"
      "  chatty info USA-road-d.NY.gr.gz --coordinates USA-road-d.NY.co.gz\n"
      "\n"
      "Edges are counted directed: an undirected one twice. The diameter is a lower bound, from a few breadth-first "
      "searches,\n"
      "each from the end of the longest shortest path that the last one found.");
  command->callback(
      [&context, options] { context.action = [&context, options] { return Info(context.registry, *options); }; });
}

}  // namespace chatty::cli
