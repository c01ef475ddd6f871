#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <variant>

#include "chatty/cli/app.h"
#include "chatty/cli/commands.h"
#include "chatty/cli/common.h"
#include "chatty/io/input.h"
#include "chatty/partition/partition.h"
#include "chatty/programs/reference.h"

namespace chatty::cli {
namespace {

struct InfoOptions {
  std::string graph, json;
  LoadOptions load;
  PartId parts = 0;  // 0: no word of partitions
  std::string partition = SessionOptions{}.partition;
};

/// Degrees of one direction.
struct Degrees {
  EdgeIndex min = 0, max = 0;
  double mean = 0;
  VertexId max_vertex = kNoVertex;  // the least of those with the largest degree
};

template <class DegreeOf>
Degrees MeasureDegrees(const Graph& graph, DegreeOf&& degree_of) {
  Degrees degrees;
  const VertexId n = graph.vertices();
  for (VertexId v = 0; v < n; ++v) {
    const EdgeIndex degree = degree_of(v);
    if (v == 0 || degree < degrees.min) degrees.min = degree;
    if (v == 0 || degree > degrees.max) {
      degrees.max = degree;
      degrees.max_vertex = v;
    }
  }
  if (n > 0) degrees.mean = static_cast<double>(graph.edges()) / static_cast<double>(n);
  return degrees;
}

struct Components {
  VertexId count = 0, largest = 0;
};

Components CountComponents(const Graph& graph) {
  Components components;
  const Array<VertexId> labels = SerialComponents(graph);
  Array<VertexId> sizes(labels.size(), 0);
  for (const VertexId label : labels) {
    if (sizes[label]++ == 0) ++components.count;
    components.largest = std::max(components.largest, sizes[label]);
  }
  return components;
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

Json DegreesJson(const Graph& graph, const Degrees& degrees) {
  Json json;
  json["min"] = degrees.min;
  json["mean"] = degrees.mean;
  json["max"] = degrees.max;
  json["max_vertex"] = degrees.max_vertex == kNoVertex
                           ? Json(nullptr)
                           : Json(std::uint64_t{degrees.max_vertex} + static_cast<std::uint64_t>(graph.first_id()));
  return json;
}

std::string DescribeDegrees(const Graph& graph, const Degrees& degrees) {
  if (degrees.max_vertex == kNoVertex) return "none";
  std::string label;
  if (!graph.labels().empty()) label = fmt::format(", {}", graph.labels()[degrees.max_vertex]);
  return fmt::format("{} to {}, mean {:.2f}; largest at vertex {}{}", Grouped(degrees.min), Grouped(degrees.max),
                     degrees.mean, std::uint64_t{degrees.max_vertex} + static_cast<std::uint64_t>(graph.first_id()), label);
}

int Info(const InfoOptions& options) {
  PrepareOutput(options.json);
  const std::unique_ptr<Partitioner> partitioner = MakePartitioner(options.partition);  // refused before loading
  if (options.parts > 0) CheckParts(*partitioner, options.parts, fmt::format("--parts {}", options.parts));
  if (options.parts > static_cast<PartId>(kMaxDevices)) {
    Throw<UsageError>("--parts {}: a graph is divided into at most {} parts", options.parts, kMaxDevices);
  }
  const LoadedGraph loaded = Load(options.graph, options.load);
  const Graph& graph = loaded.graph;
  const ReadReport& report = loaded.report;
  const Degrees out = MeasureDegrees(graph, [&](VertexId v) { return graph.out_degree(v); });
  const Degrees in = graph.symmetric() ? out : MeasureDegrees(graph, [&](VertexId v) { return graph.in_degree(v); });
  VertexId isolated = 0;
  for (VertexId v = 0; v < graph.vertices(); ++v) isolated += graph.out_degree(v) == 0 && graph.in_degree(v) == 0 ? 1 : 0;
  const Components components = CountComponents(graph);
  const Json weight_range = WeightRange(graph);
  Partition partition;
  PartitionQuality quality;
  if (options.parts > 0) {
    PartitionOptions divide;
    divide.parts = options.parts;
    divide.threads = options.load.read.threads;
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
    json["out_degree"] = DegreesJson(graph, out);
    json["in_degree"] = DegreesJson(graph, in);
    json["isolated"] = isolated;
    json["weight_range"] = weight_range;
    json["components"] = {{"count", components.count}, {"largest", components.largest}};
    json["memory"] = graph.bytes();
    if (options.parts > 0) json["partition"] = QualityJson(partition, quality);
    json["phases_ms"] = {{"load", loaded.ms}};
    WriteJson(options.json, json);
  }
  if (options.json == "-") return kSuccess;

  std::string text = DescribeGraph(graph) + "\n";
  const auto line = [&](std::string_view name, std::string_view value) {
    text += fmt::format("  {:<12} {}\n", name, value);
  };
  line("file", fmt::format("{}, {}, {}, loaded in {}", FormatName(report.format), CompressionName(report.compression),
                           FormatBytes(report.bytes), FormatMs(loaded.ms)));
  if (graph.vertices() > 0) {
    line("ids",
         fmt::format("{} to {}", graph.first_id(), graph.vertices() + static_cast<std::uint64_t>(graph.first_id()) - 1));
  }
  if (report.build.loops_removed > 0 || report.build.parallel_merged > 0) {
    line("dropped", fmt::format("{} loops, {} parallel edges", Grouped(report.build.loops_removed),
                                Grouped(report.build.parallel_merged)));
  }
  if (graph.symmetric()) {
    line("degrees", DescribeDegrees(graph, out));
  } else {
    line("out-degrees", DescribeDegrees(graph, out));
    line("in-degrees", DescribeDegrees(graph, in));
  }
  line("isolated", fmt::format("{} vertices", Grouped(isolated)));
  if (!weight_range.is_null()) line("weights", fmt::format("{} to {}", weight_range[0].dump(), weight_range[1].dump()));
  line("components",
       fmt::format("{} (weak); the largest has {} vertices", Grouped(components.count), Grouped(components.largest)));
  line("memory", FormatBytes(graph.bytes()));
  if (options.parts > 0) text += "\n" + FormatQuality(quality);
  if (text.back() != '\n') text += '\n';
  PrintText(text);
  return kSuccess;
}

}  // namespace

void AddInfo(CLI::App& app, Context& context) {
  auto options = std::make_shared<InfoOptions>();
  CLI::App* command = app.add_subcommand("info", "Tell what a graph file holds: sizes, degrees, weights, components");
  command->add_option("GRAPH", options->graph, "Graph file, or - for standard input")->required();
  AddJsonOption(*command, options->json);
  AddLoadOptions(*command, options->load, "--format", /*uses=*/true);
  command->add_option("--parts", options->parts,
                      "Also divide the graph into so many parts and tell how good the division is");
  command
      ->add_option("--partition", options->partition,
                   "How to divide it: contiguous, edge-balanced, random, metis, or the path of a part file")
      ->capture_default_str();
  command->footer(
      "Examples:\n"
      "  chatty info road.chatty --parts 4 --partition contiguous\n"
      "  chatty info USA-road-d.NY.gr.zst\n"
      "  chatty info web.mtx.gz --keep-loops --json -\n"
      "\n"
      "Edges are counted directed: an undirected one twice.");
  command->callback([&context, options] { context.action = [options] { return Info(*options); }; });
}

}  // namespace chatty::cli
