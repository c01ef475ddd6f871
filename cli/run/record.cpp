#include "chatty/cli/run/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "chatty/cli/interrupt.h"
#include "chatty/cli/json.h"
#include "chatty/cli/text.h"
#include "chatty/cli/times.h"
#include "chatty/core/affinity.h"
#include "chatty/core/device.h"

namespace chatty::cli {
namespace {

std::string_view EndOf(const RunResults& results) {
  if (!results.error.empty()) return "failed";
  return results.signal != 0 ? "interrupt" : EndedName(results.statistics.ended);
}

/// Whether all programs have rounds: the values are then those of one.
bool RunsInRounds(const RunPlan& plan) {
  return std::all_of(plan.programs.begin(), plan.programs.end(),
                     [](const ProgramPlan& program) { return program.engine == EngineKind::kBsp; });
}

/// All that is known of the last trial, and with --explain of each buffer.
Json LastTrialJson(const RunStatistics& statistics) {
  Json json = StatisticsJson(statistics);
  json["converged"] = statistics.converged;
  for (const BufferRecord& buffer : statistics.buffers) {  // only with --explain
    json["buffers"].push_back(
        {{"round", buffer.round},
         {"from", buffer.from},
         {"to", buffer.to},
         {"broadcast", buffer.broadcast},
         {"path", buffer.path},
         {"encoding", buffer.encoding},
         {"entries", buffer.entries},
         {"bytes", buffer.bytes},
         {"expected_bytes", buffer.expected_bytes},
         {"predicted_us", std::isfinite(buffer.predicted_us) ? Json(RoundedMs(buffer.predicted_us)) : Json(nullptr)},
         {"measured_us", buffer.measured_us >= 0 ? Json(RoundedMs(buffer.measured_us)) : Json(nullptr)}});
  }
  return json;
}

Json BytesOrNull(const std::optional<std::size_t>& bytes) { return bytes ? Json(*bytes) : Json(nullptr); }
/// Infinite: null.
Json WidthJson(double width) { return std::isfinite(width) ? Json(width) : Json(nullptr); }

std::string_view BroadcastsName(Broadcasts broadcasts) {
  return broadcasts == Broadcasts::kAlways ? "always" : broadcasts == Broadcasts::kChosen ? "chosen" : "never";
}

/// The decisions before the run.
Json PlanJson(const RunPlan& plan) {
  Json programs = Json::array();
  for (const ProgramPlan& program : plan.programs) {
    Json json = {{"value", program.name}, {"engine", EngineName(program.engine)}, {"why", program.why}};
    json["fused"] = {{"use", FusedUseName(program.fused)}, {"why", program.fused_why}};
    json["wide_rounds"] = program.rows.wide_rounds;
    json["directions"] = Json::array();
    if (program.directions.push) json["directions"].push_back("push");
    if (program.directions.pull) json["directions"].push_back("pull");
    json["buckets"] = {{"width", WidthJson(program.buckets.width)},
                       {"adapts", program.buckets.adapts},
                       {"fused_width", WidthJson(program.buckets.fused_width)}};
    json["message_bytes"] = BytesOrNull(program.message_payload);
    json["shared_bytes"] = BytesOrNull(program.shared_payload);
    json["transports"] = program.comm.paths;
    json["broadcasts"] = BroadcastsName(program.comm.broadcasts);
    json["slots"] = program.slots;
    programs.push_back(std::move(json));
  }
  Json memory = Json::array();
  for (std::size_t d = 0; d < plan.memory.size(); ++d) {
    const DeviceMemory& needs = plan.memory[d];
    memory.push_back(
        {{"device", plan.devices[d]}, {"graph", needs.graph}, {"state", needs.state}, {"buffers", needs.buffers}});
  }
  return {{"partition", plan.partition}, {"programs", std::move(programs)}, {"memory_bytes", std::move(memory)}};
}

Json RecordJson(const RunCommandOptions& options, const RegisteredProgram& program, const LoadedGraph& loaded,
                const Session& session, const RunResults& results) {
  Json json;
  json["schema"] = "chatty-run-2";
  json["chatty"] = BuildJson();
  json["started"] = results.started;
  json["program"] = program.name();
  json["value"] = results.value;
  json["graph"] = GraphJson(loaded);
  json["ldbc"] = LdbcJson(results.ldbc);
  json["devices"] = Json::array();
  for (const Device* device : session.devices()) {
    const CpuPlacement& place = device->placement();
    json["devices"].push_back({{"label", device->label()},
                               {"name", device->info().name},
                               {"memory", device->info().memory},
                               {"shares_gpu", device->share() != Device::kAlone},
                               {"numa_node", place.numa_node < 0 ? Json(nullptr) : Json(place.numa_node)},
                               {"cpus", place.cpus.none() ? Json(nullptr) : Json(CpuListText(place.cpus))}});
  }
  json["devices_why"] = results.devices_why.empty() ? Json(nullptr) : Json(results.devices_why);
  json["devices_advice"] = results.devices_advice.empty() ? Json(nullptr) : Json(results.devices_advice);
  json["partition"] = session.partition().name();
  json["partition_asked"] = options.partition;
  json["execution"] = results.statistics.execution;
  json["direction"] = options.direction;
  json["transport"] = results.statistics.transport;
  json["comm"] = options.transport;
  json["links"] = options.links;
  json["tiles"] = options.tiles;
  json["records"] = options.records;
  json["delta"] = options.delta;
  json["seed"] = options.seed;
  json["plan"] = results.plan.programs.empty() ? Json(nullptr) : PlanJson(results.plan);
  json["phases_ms"] = {{"load", RoundedMs(loaded.ms)},
                       {"open_devices", RoundedMs(results.open_ms)},
                       {"partition", RoundedMs(results.partition_ms)},
                       {"upload", RoundedMs(results.upload_ms)},
                       {"prepare", RoundedMs(results.prepare_ms)},
                       {"output", RoundedMs(results.output_ms)},
                       {"verify", RoundedMs(results.verify_ms)}};
  Json trials = Json::array();
  for (const double ms : results.trials_ms) trials.push_back(RoundedMs(ms));
  json["time"] = {
      {"first_answer_ms", results.first_answer_ms > 0 ? Json(RoundedMs(results.first_answer_ms)) : Json(nullptr)},
      {"median_ms", RoundedMs(Median(results.trials_ms))},
      {"min_ms", RoundedMs(*std::min_element(results.trials_ms.begin(), results.trials_ms.end()))},
      {"max_ms", RoundedMs(*std::max_element(results.trials_ms.begin(), results.trials_ms.end()))},
      {"trials_ms", std::move(trials)}};
  json["sources"] = Json::array();
  const std::size_t finished =
      std::min(results.sources.size(), results.trials_ms.size());  // without a trial that was cut off
  for (std::size_t i = 0; i < finished; ++i) {
    json["sources"].push_back(loaded.graph.id(results.sources[i]));
  }
  json["ended"] = EndOf(results);
  if (!results.error.empty()) json["error"] = results.error;
  json["statistics"] = LastTrialJson(results.statistics);
  json["total"] = results.total ? Json(*results.total) : Json(nullptr);
  json["verification"] = results.verdict ? VerdictJson(*results.verdict) : Json(nullptr);
  json["parameters"] = ParametersJson(program, loaded.graph, results.parameters, results.data);
  json["vertex_data"] = VertexDataJson(results.data);
  return json;
}

}  // namespace

std::string WhyNotFinal(const RunResults& results) {
  const RunStatistics& statistics = results.statistics;
  if (results.signal == 0 && statistics.converged) return "";
  const std::string by = results.signal != 0                     ? SignalName(results.signal)
                         : statistics.ended == Ended::kMaxRounds ? "--max-rounds"
                                                                 : results.limit_reason;
  if (statistics.converged) return fmt::format("ended by {} after a trial that converged", by);
  return fmt::format(
      "ended by {} before it converged: the values are {} and not final", by,
      RunsInRounds(results.plan) ? fmt::format("those of round {}", Grouped(statistics.rounds)) : "what had been found");
}

void WritePlan(const RunCommandOptions& options, const RegisteredProgram& program, const LoadedGraph& loaded,
               const RunPlan& plan) {
  Json json;
  json["schema"] = "chatty-plan-1";
  json["chatty"] = BuildJson();
  json["program"] = program.name();
  json["graph"] = GraphJson(loaded);
  json["plan"] = PlanJson(plan);
  WriteJson(options.json, json);
}

void WriteRecord(const RunCommandOptions& options, const RegisteredProgram& program, const LoadedGraph& loaded,
                 const Session& session, const RunResults& results) {
  WriteJson(options.json, RecordJson(options, program, loaded, session, results));
}

}  // namespace chatty::cli
