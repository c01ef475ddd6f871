#include "chatty/partition/partition.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chatty/cli/app.h"
#include "chatty/cli/commands.h"
#include "chatty/cli/json.h"
#include "chatty/cli/load.h"
#include "chatty/cli/options.h"
#include "chatty/cli/output_files.h"
#include "chatty/cli/text.h"
#include "chatty/cli/times.h"
#include "chatty/core/device.h"
#include "chatty/core/error.h"
#include "chatty/core/progress.h"
#include "chatty/partition/part_file.h"

namespace chatty::cli {
namespace {

struct PartitionCommandOptions {
  std::string graph, output, json;
  LoadOptions load;
  PartId parts = 0;  // 0: as a part file says
  std::vector<std::string> partitions;
  bool allow_fallback = true;
  std::uint64_t seed = 1;
};

/// One way of dividing, and how it went.
struct Division {
  std::string asked;
  std::unique_ptr<Partitioner> partitioner;
  Partition partition;
  PartitionQuality quality;
  double ms = 0;
};

std::uint64_t Border(const PartitionQuality& quality) {
  return std::accumulate(quality.border_union.begin(), quality.border_union.end(), std::uint64_t{0});
}

/// Copies of vertices that parts hold of each other's: what a round sends at most, in values.
std::uint64_t Halo(const PartitionQuality& quality) {
  std::uint64_t sum = 0;
  for (const auto& row : quality.border) sum = std::accumulate(row.begin(), row.end(), sum);
  return sum;
}

std::string DescribeName(const Division& division) {
  if (division.partition.name() == division.asked) return division.asked;
  return fmt::format("{} ({} was asked for)", division.partition.name(), division.asked);
}

/// A line each.
std::string Compare(const Graph& graph, const std::vector<Division>& divisions) {
  std::size_t width = std::string_view("partition").size();
  for (const Division& division : divisions) width = std::max(width, DescribeName(division).size());
  std::string text = fmt::format("{:<{}} {:>17} {:>7} {:>12} {:>10} {:>15} {:>15} {:>11}\n", "partition", width, "edges cut",
                                 "%", "vert. bal.", "edge bal.", "border", "halo", "time");
  for (const Division& division : divisions) {
    const PartitionQuality& quality = division.quality;
    const double percent =
        graph.edges() == 0 ? 0 : 100.0 * static_cast<double>(quality.edge_cut) / static_cast<double>(graph.edges());
    text += fmt::format("{:<{}} {:>17} {:>7.2f} {:>12.3f} {:>10.3f} {:>15} {:>15} {:>11}\n", DescribeName(division), width,
                        Grouped(quality.edge_cut), percent, quality.vertex_balance, quality.edge_balance,
                        Grouped(Border(quality)), Grouped(Halo(quality)), FormatMs(division.ms));
  }
  return text;
}

/// Refuses, before the load, what cannot go together; returns the number of parts.
PartId CountParts(const PartitionCommandOptions& options, const std::vector<Division>& divisions) {
  PartId parts = options.parts;
  for (const Division& division : divisions) {
    if (parts == 0) parts = division.partitioner->parts();
  }
  if (parts == 0) throw UsageError("--parts is required: into how many parts?");
  for (const Division& division : divisions) CheckParts(*division.partitioner, parts, fmt::format("{} parts", parts));
  if (!options.output.empty()) {
    if (divisions.size() > 1) throw UsageError("--output takes one partition; give --partition one name");
    // Whoever reads the file believes its name.
    const PartId named = PartsInName(options.output);
    if (named != 0 && named != parts) {
      Throw<UsageError>("--output {}: the name is that of a file of {} parts, and there are {}", options.output, named,
                        parts);
    }
  }
  return parts;
}

int DividePartition(const PartitionCommandOptions& options) {
  if (options.output == "-" && options.json == "-") {
    throw UsageError("--output and --json cannot both go to standard output");
  }
  std::vector<Division> divisions;
  for (const std::string& name : options.partitions) {
    divisions.emplace_back();
    divisions.back().asked = name;
    divisions.back().partitioner = MakePartitioner(name);
  }
  PartitionOptions divide;
  divide.parts = CountParts(options, divisions);
  divide.seed = options.seed;
  divide.threads = options.load.read.threads;
  divide.allow_fallback = options.allow_fallback;
  RefuseOtherSuffix("--output", options.output, "a partition is lines of text, say NAME.part.4 or .txt", {});
  RefuseSameFile("--output", options.output, "--json", options.json);
  for (const auto& [option, path] : {std::pair("--output", &options.output), std::pair("--json", &options.json)}) {
    RefuseSameFile(option, *path, "the graph", options.graph);
    for (const Division& division : divisions) {
      if (IsPartFilePath(division.asked)) RefuseSameFile(option, *path, "--partition", division.asked);
    }
  }
  PrepareOutput(options.output);
  PrepareJson(options.json);

  const LoadedGraph loaded = Load(options.graph, options.load);
  const Graph& graph = loaded.graph;
  for (Division& division : divisions) {
    PhaseLine phase(fmt::format("partitioning, {}", division.asked));
    const Stopwatch watch;
    division.partition = division.partitioner->Divide(graph, divide);
    division.ms = watch.ms();
    phase.Begin("measuring the partition");
    division.quality = MeasureQuality(graph, division.partition, divide.threads);
  }
  if (!options.output.empty()) WritePartFile(options.output, divisions.front().partition);

  if (!options.json.empty()) {
    Json json;
    json["chatty"] = BuildJson();
    json["graph"] = GraphJson(loaded);
    json["parts"] = divide.parts;
    json["seed"] = options.seed;
    json["partitions"] = Json::array();
    for (const Division& division : divisions) {
      Json one = QualityJson(division.partition, division.quality);
      if (divide.parts > static_cast<PartId>(kMaxDevices)) one.erase("border");  // millions of pairs
      one["asked"] = division.asked;
      one["border_total"] = Border(division.quality);
      one["halo_total"] = Halo(division.quality);
      one["ms"] = division.ms;
      json["partitions"].push_back(std::move(one));
    }
    WriteJson(options.json, json);
  }
  if (options.json == "-") return kSuccess;

  std::string text = DescribeGraph(graph) + "\n\n";
  if (divisions.size() > 1) {
    text += fmt::format("{} parts\n", divide.parts) + Compare(graph, divisions);
  } else {
    const Division& division = divisions.front();
    text +=
        fmt::format("partition       {}, {} parts, in {}\n", DescribeName(division), divide.parts, FormatMs(division.ms)) +
        FormatQuality(division.quality);
  }
  PrintReport(text, /*aside=*/options.output == "-");
  return kSuccess;
}

}  // namespace

void AddPartition(CLI::App& app, Context& context) {
  auto options = std::make_shared<PartitionCommandOptions>();
  CLI::App* command =
      app.add_subcommand("partition", "Divide a graph, print how good the division is, write or read a METIS part file");
  command->add_option("GRAPH", options->graph, "Graph file, or - for standard input")->required();
  command->add_option("--parts", options->parts, "Into how many parts; a part file says so itself")
      ->type_name("P")
      ->check(Unnamed(CLI::Range(PartId{1}, kMaxFileParts)));
  command
      ->add_option("--partition", options->partitions,
                   fmt::format("How to divide it: {}, or the path, with a / or a . in it, of a part file; several, with "
                               "commas between, are compared (default: metis)",
                               fmt::join(PartitionerNames(), ", ")))
      ->type_name("NAME|FILE,...")
      ->delimiter(',')
      ->take_all()
      ->allow_extra_args(false)
      ->check(NotEmpty());
  AddFallbackOption(*command, options->allow_fallback);
  command->add_option("--seed", options->seed, "Seed of partitions random and metis (default: 1)")
      ->type_name("N")
      ->check(WholeNumber());
  command
      ->add_option("-o,--output", options->output,
                   "Write a part file, which `chatty run --partition` takes: line v is the part of vertex v, both from 0; - "
                   "for standard output")
      ->type_name("FILE|-")
      ->check(NotEmpty());
  AddJsonOption(*command, options->json);
  AddLoadOptions(*command, options->load, "--format", /*uses=*/false);
  command->footer(
      "Examples:\n"
      "  chatty partition road.chatty --parts 4 -o road.part.4\n"
      "  chatty partition road.chatty --parts 4 --partition metis,edge-balanced,random\n"
      "  chatty partition road.chatty --partition road.part.4\n"
      "  chatty run bfs road.chatty --devices host:4 --partition road.part.4\n"
      "\n"
      "The border are vertices with a neighbour in another part; the halo are all copies that parts hold of others'\n"
      "border. Balance is the largest part over the mean. Edges are counted directed: an undirected one twice.");
  command->callback([&context, options] {
    if (options->partitions.empty()) options->partitions = {"metis"};
    context.action = [options] { return DividePartition(*options); };
  });
}

}  // namespace chatty::cli
