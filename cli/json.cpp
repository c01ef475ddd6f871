#include "chatty/cli/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "chatty/cli/ldbc_input.h"
#include "chatty/cli/load.h"
#include "chatty/cli/parameters.h"
#include "chatty/cli/text.h"
#include "chatty/cli/times.h"
#include "chatty/core/version.h"
#include "chatty/io/output.h"

namespace chatty::cli {

void WriteJson(const std::string& path, const Json& json) {
  OutputFile output(path);
  // A path need not be UTF-8; JSON has to be.
  output.Write(json.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace));
  output.Letter('\n');
  output.Commit();
}

namespace {

void AppendLines(const Json& json, std::size_t indent, std::string& text) {
  const auto compact = [](const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); };
  const auto is_plain = [](const Json& value) { return !value.is_structured(); };
  if (json.is_object() ? json.empty() : std::all_of(json.begin(), json.end(), is_plain)) {
    text += compact(json);
    return;
  }
  text += json.is_object() ? '{' : '[';
  bool first = true;
  for (const auto& [name, value] : json.items()) {
    text += first ? "\n" : ",\n";
    text.append(indent + 2, ' ');
    if (json.is_object()) {
      text += compact(name) + ": ";
      AppendLines(value, indent + 2, text);
    } else {
      text += compact(value);
    }
    first = false;
  }
  text += '\n';
  text.append(indent, ' ');
  text += json.is_object() ? '}' : ']';
}

}  // namespace

void WriteJsonLines(const std::string& path, const Json& json) {
  std::string text;
  AppendLines(json, 0, text);
  OutputFile output(path);
  output.Write(text);
  output.Letter('\n');
  output.Commit();
}

Json BuildJson() {
  Json json;
  json["version"] = Version();
  json["commit"] = GitCommit();
  json["compiler"] = CompilerVersion();
  json["cuda"] = CudaVersion().empty() ? Json(nullptr) : Json(CudaVersion());
  json["vertex_bits"] = CHATTY_VERTEX_BITS;
  return json;
}

Json GraphJson(const LoadedGraph& loaded) {
  const Graph& graph = loaded.graph;
  Json json;
  json["path"] = loaded.path;
  json["name"] = graph.name();
  json["vertices"] = graph.vertices();
  json["edges"] = graph.edges();
  json["symmetric"] = graph.symmetric();
  json["weights"] = WeightName(graph.weight_kind());
  json["first_id"] = graph.ids().empty() ? Json(graph.first_id()) : Json(nullptr);  // null: ids leave gaps
  json["least_id"] = IdJson(graph, graph.vertices() == 0 ? kNoVertex : 0);
  json["largest_id"] = IdJson(graph, graph.vertices() == 0 ? kNoVertex : graph.vertices() - 1);
  if (loaded.cache.use != CacheReport::Use::kNone) {
    json["cache"] = {{"use", CacheUseName(loaded.cache.use)}, {"file", loaded.cache.file}};
  }
  return json;
}

Json IdJson(const Graph& graph, VertexId v) { return v == kNoVertex ? Json(nullptr) : Json(graph.id(v)); }

Json QualityJson(const Partition& partition, const PartitionQuality& quality) {
  Json json;
  json["name"] = partition.name();
  json["parts"] = partition.parts();
  json["edge_cut"] = quality.edge_cut;
  json["owned"] = quality.owned;
  json["edges"] = quality.edges;
  json["border"] = quality.border;
  json["border_union"] = quality.border_union;
  json["vertex_balance"] = quality.vertex_balance;
  json["edge_balance"] = quality.edge_balance;
  return json;
}

Json LdbcJson(const std::optional<LdbcChoice>& ldbc) {
  if (!ldbc) return nullptr;
  Json json;
  json["properties"] = ldbc->properties.path;
  json["taken"] = Json::object();
  for (const auto& [name, value] : ldbc->taken) json["taken"][name] = Json::parse(value);
  return json;
}

Json VertexDataJson(const std::vector<DataFile>& files) {
  Json json = Json::object();
  for (const DataFile& file : files) json[file.info.name] = file.path;
  return json;
}

Json ParametersJson(const RegisteredProgram& program, const Graph& graph, const ParameterValues& values,
                    const std::vector<DataFile>& data) {
  Json json = Json::object();
  for (const ParameterInfo& parameter : program.parameters()) {
    if (IsReplaced(parameter.name, data)) {
      json[parameter.name] = nullptr;
      continue;
    }
    const auto given = values.find(parameter.name);
    const std::string& text = given != values.end() ? given->second : parameter.default_value;
    if (const auto vertex = ParseNumber<VertexId>(text); parameter.is_vertex && vertex && *vertex < graph.vertices()) {
      json[parameter.name] = graph.id(*vertex);
    } else if (const auto integer = ParseNumber<std::int64_t>(text)) {
      json[parameter.name] = *integer;
    } else if (const auto real = ParseNumber<double>(text)) {
      json[parameter.name] = *real;
    } else {
      json[parameter.name] = text;
    }
  }
  return json;
}

Json VerdictJson(const Verdict& verdict) {
  Json json;
  json["passed"] = verdict.passed;
  json["message"] = verdict.message;
  return json;
}

Json StatisticsJson(const RunStatistics& statistics) {
  Json json;
  json["rounds"] = statistics.rounds;
  json["phases"] = statistics.phases;
  json["push_rounds"] = statistics.push_rounds;
  json["gauss_seidel_rounds"] = statistics.gauss_seidel_rounds;
  json["pull_rounds"] = statistics.pull_rounds;
  json["fused_steps"] = statistics.fused_steps;
  json["wide_rounds"] = statistics.wide_rounds;
  json["edges_touched"] = statistics.edges_touched;
  json["vertices_updated"] = statistics.vertices_updated;
  json["items"] = statistics.items;
  json["devices"] = Json::array();
  for (const DeviceStatistics& device : statistics.devices) {
    json["devices"].push_back({{"device", device.device},
                               {"vertices", device.vertices},
                               {"compute_ms", RoundedMs(device.compute_ms)},
                               {"communication_ms", RoundedMs(device.communication_ms)},
                               {"waiting_ms", RoundedMs(device.waiting_ms)}});
  }
  json["pairs"] = Json::array();
  for (const PairStatistics& pair : statistics.pairs) {
    json["pairs"].push_back({{"from", pair.from},
                             {"to", pair.to},
                             {"messages_before", pair.messages_before},
                             {"messages", pair.messages},
                             {"bytes", pair.bytes}});
  }
  return json;
}

std::string_view EndedName(Ended ended) {
  switch (ended) {
    case Ended::kConverged:
      return "converged";
    case Ended::kLimit:
      return "limit";
    case Ended::kMaxRounds:
      return "max-rounds";
    case Ended::kStopped:
      return "stopped";
    case Ended::kFailed:
      return "failed";
  }
  return "";
}

}  // namespace chatty::cli
