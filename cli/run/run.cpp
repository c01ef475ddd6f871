#include <fmt/chrono.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <future>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chatty/cli/app.h"
#include "chatty/cli/commands.h"
#include "chatty/cli/common.h"
#include "chatty/cli/interrupt.h"
#include "chatty/comm/selector.h"
#include "chatty/core/abbreviated.h"
#include "chatty/core/affinity.h"
#include "chatty/core/device.h"
#include "chatty/core/error.h"
#include "chatty/core/logging.h"
#include "chatty/core/progress.h"
#include "chatty/core/trace.h"
#include "chatty/framework/advice.h"
#include "chatty/framework/memory_plan.h"
#include "chatty/framework/session.h"
#include "chatty/io/results.h"
#include "chatty/io/trace_file.h"
#include "chatty/partition/part_file.h"
#include "chatty/partition/partition.h"

namespace chatty::cli {
namespace {

struct RunCommandOptions {
  std::string program, graph, ldbc;
  LoadOptions load;
  ParameterOptions parameters;
  std::string devices = "auto";
  std::string partition = "edge-balanced";
  bool partition_fallback = true;
  std::string direction = "auto";
  std::string execution = "auto";
  std::string transport = "auto", links = "all", remote_atomics = "auto", tiles = "auto", delta = "auto";
  bool explain = false;
  std::uint32_t max_rounds = 0;
  std::string bind = "auto";
  double timeout_s = 0;
  std::uint32_t trials = 1;
  std::uint64_t seed = 1;
  std::uint64_t memory_limit = 0;  // bytes; 0: what there is
  bool verify = false;
  std::string output, output_format, json, trace;
};

constexpr SpanKind kLoad{"load", SpanCategory::kHost};
constexpr SpanKind kOpenDevices{"open devices", SpanCategory::kHost};
constexpr SpanKind kTrial{"trial #", SpanCategory::kRound, {"trial"}};
constexpr SpanKind kTrialFrom{"trial # (source #)", SpanCategory::kRound, {"trial", "source"}};
constexpr SpanKind kWriteValues{"output", SpanCategory::kHost};
constexpr SpanKind kVerify{"verify", SpanCategory::kHost};

/// `--trace`: the recording, and the file that it becomes, also when the run fails.
class TraceOutput {
 public:
  TraceOutput(const RunCommandOptions& options, const std::string& command_line)
      : path_(options.trace),
        notes_{{"command", command_line},
               {"program", options.program},
               {"graph", options.graph},
               {"devices", options.devices}} {
    if (!path_.empty()) trace_.emplace();
  }
  ~TraceOutput() {
    if (!trace_ || !started_) return;
    notes_.emplace_back("ended", "the run failed");
    try {
      WriteTraceFile(path_, *trace_, notes_);
    } catch (const std::exception& error) {  // what made the run fail is the news
      Log().warn("the trace of the failed run was not written: {}", error.what());
    }
  }
  TraceOutput(const TraceOutput&) = delete;
  TraceOutput& operator=(const TraceOutput&) = delete;

  Trace* trace() { return trace_ ? &*trace_ : nullptr; }
  void Start() { started_ = true; }  ///< from here on there is something to tell of a failure
  void Write() {
    if (!trace_) return;
    if (trace_->dropped() > 0) {
      Log().warn("{}: holds the first {} events; {} more were dropped", Abbreviated(path_), trace_->limit(),
                 trace_->dropped());
    }
    try {
      WriteTraceFile(path_, *trace_, notes_);
    } catch (...) {
      trace_.reset();  // told once
      throw;
    }
    trace_.reset();
  }

 private:
  const std::string path_;
  TraceNotes notes_;
  std::optional<Trace> trace_;
  bool started_ = false;
};

Direction ParseDirection(const std::string& text) {
  return text == "push" ? Direction::kPush : text == "pull" ? Direction::kPull : Direction::kAuto;
}

RemoteAtomics ParseRemoteAtomics(std::string_view text) {
  return text == "never" ? RemoteAtomics::kNever : text == "always" ? RemoteAtomics::kAlways : RemoteAtomics::kAuto;
}

Tiling ParseTiling(std::string_view text) {
  return text == "never" ? Tiling::kNever : text == "always" ? Tiling::kAlways : Tiling::kAuto;
}

/// Of --delta: RunOptions::delta. Throws UsageError.
double ParseDelta(const std::string& text) {
  if (text == "auto") return kAutoDelta;
  if (text == "off") return kInfinity<double>;
  double width = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, width);
  if (error != std::errc() || stop != end || !(width > 0) || !std::isfinite(width)) {
    Throw<UsageError>("'{}' is no width of buckets; give auto, off or a positive number", text);
  }
  return width;
}

double Median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  const std::size_t middle = times.size() / 2;
  return times.size() % 2 == 1 ? times[middle] : (times[middle - 1] + times[middle]) / 2;
}

/// Milliseconds of a record: what is below a nanosecond means nothing.
double Rounded(double ms) { return std::round(ms * 1e6) / 1e6; }

/// All that a run has to tell.
struct Record {
  std::string started;
  std::vector<DataFile> data;
  std::string value;
  std::optional<LdbcChoice> ldbc;
  double first_answer_ms = 0;  // since the command began, with all that came before the first run
  double open_ms = 0, partition_ms = 0, upload_ms = 0, prepare_ms = 0, output_ms = 0, verify_ms = 0;
  std::vector<double> trials_ms;
  bool weighted = false;               // the program uses weights of edges
  std::string devices_why;             // `--devices auto` left some idle; else empty
  std::string devices_advice;          // on fewer devices it may be faster, and why; else empty
  std::vector<VertexId> sources;       // one a trial, also a cut off one; 0-based; empty for programs without a source
  ParameterValues parameters;          // of the last trial
  std::string limit_reason;            // RegisteredProgram::LimitReason
  RunStatistics statistics;            // of the last trial
  int signal = 0;                      // that interrupted the trials; 0: none
  std::string error;                   // that ended the trials; empty: none did
  std::optional<std::uint64_t> total;  // of the last trial's values, of a program that has one
  std::optional<Verdict> verdict;
};

std::string_view EndedName(const Record& record) {
  if (!record.error.empty()) return "failed";
  if (record.signal != 0) return "interrupt";
  switch (record.statistics.ended) {
    case Ended::kMaxRounds:
      return "max-rounds";
    case Ended::kLimit:
      return "limit";
    default:
      return "converged";
  }
}

/// What ended the trials early, and what that makes of the values; empty if nothing did.
std::string WhyNotFinal(const Record& record) {
  const RunStatistics& statistics = record.statistics;
  if (record.signal == 0 && statistics.converged) return "";
  const std::string by = record.signal != 0                      ? SignalName(record.signal)
                         : statistics.ended == Ended::kMaxRounds ? "--max-rounds"
                                                                 : record.limit_reason;
  if (statistics.converged) return fmt::format("ended by {} after a trial that converged", by);
  return fmt::format(
      "ended by {} before it converged: the values are {} and not final", by,
      statistics.execution == "bsp" ? fmt::format("those of round {}", Grouped(statistics.rounds)) : "what had been found");
}

Json StatisticsJson(const RunStatistics& statistics) {
  Json json;
  json["rounds"] = statistics.rounds;
  json["phases"] = statistics.phases;
  json["push_rounds"] = statistics.push_rounds;
  json["gauss_seidel_rounds"] = statistics.gauss_seidel_rounds;
  json["pull_rounds"] = statistics.pull_rounds;
  json["edges_touched"] = statistics.edges_touched;
  json["vertices_updated"] = statistics.vertices_updated;
  json["converged"] = statistics.converged;
  json["devices"] = Json::array();
  for (const DeviceStatistics& device : statistics.devices) {
    json["devices"].push_back({{"device", device.device},
                               {"vertices", device.vertices},
                               {"compute_ms", Rounded(device.compute_ms)},
                               {"communication_ms", Rounded(device.communication_ms)},
                               {"waiting_ms", Rounded(device.waiting_ms)}});
  }
  json["pairs"] = Json::array();
  for (const PairStatistics& pair : statistics.pairs) {
    json["pairs"].push_back({{"from", pair.from},
                             {"to", pair.to},
                             {"messages_before", pair.messages_before},
                             {"messages", pair.messages},
                             {"bytes", pair.bytes}});
  }
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
         {"predicted_us", std::isfinite(buffer.predicted_us) ? Json(Rounded(buffer.predicted_us)) : Json(nullptr)},
         {"measured_us", buffer.measured_us >= 0 ? Json(Rounded(buffer.measured_us)) : Json(nullptr)}});
  }
  return json;
}

Json RecordJson(const RunCommandOptions& options, const RegisteredProgram& program, const LoadedGraph& loaded,
                const Session& session, const Record& record) {
  Json json;
  json["schema"] = "chatty-run-2";
  json["chatty"] = BuildJson();
  json["started"] = record.started;
  json["program"] = program.name();
  json["value"] = record.value;
  json["graph"] = GraphJson(loaded);
  json["ldbc"] = LdbcJson(record.ldbc);
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
  json["devices_why"] = record.devices_why.empty() ? Json(nullptr) : Json(record.devices_why);
  json["devices_advice"] = record.devices_advice.empty() ? Json(nullptr) : Json(record.devices_advice);
  json["partition"] = session.partition().name();
  json["partition_asked"] = options.partition;
  json["execution"] = record.statistics.execution;
  json["direction"] = options.direction;
  json["transport"] = record.statistics.transport;
  json["comm"] = options.transport;
  json["links"] = options.links;
  json["remote_atomics"] = options.remote_atomics;
  json["tiles"] = options.tiles;
  json["delta"] = options.delta;
  json["seed"] = options.seed;
  json["phases_ms"] = {{"load", Rounded(loaded.ms)},
                       {"open_devices", Rounded(record.open_ms)},
                       {"partition", Rounded(record.partition_ms)},
                       {"upload", Rounded(record.upload_ms)},
                       {"prepare", Rounded(record.prepare_ms)},
                       {"output", Rounded(record.output_ms)},
                       {"verify", Rounded(record.verify_ms)}};
  Json trials = Json::array();
  for (const double ms : record.trials_ms) trials.push_back(Rounded(ms));
  json["time"] = {{"first_answer_ms", record.first_answer_ms > 0 ? Json(Rounded(record.first_answer_ms)) : Json(nullptr)},
                  {"median_ms", Rounded(Median(record.trials_ms))},
                  {"min_ms", Rounded(*std::min_element(record.trials_ms.begin(), record.trials_ms.end()))},
                  {"max_ms", Rounded(*std::max_element(record.trials_ms.begin(), record.trials_ms.end()))},
                  {"trials_ms", std::move(trials)}};
  json["sources"] = Json::array();
  const std::size_t told = std::min(record.sources.size(), record.trials_ms.size());  // without a trial that was cut off
  for (std::size_t i = 0; i < told; ++i) {
    json["sources"].push_back(loaded.graph.id(record.sources[i]));
  }
  json["ended"] = EndedName(record);
  if (!record.error.empty()) json["error"] = record.error;
  json["statistics"] = StatisticsJson(record.statistics);
  json["total"] = record.total ? Json(*record.total) : Json(nullptr);
  json["verification"] = record.verdict ? VerdictJson(*record.verdict) : Json(nullptr);
  json["parameters"] = ParametersJson(program, loaded.graph, record.parameters, record.data);
  json["vertex_data"] = VertexDataJson(record.data);
  return json;
}

std::string DescribeDevices(const Session& session) {
  std::vector<std::string> groups;
  for (std::size_t i = 0, j = 0; i < session.device_count(); i = j) {
    const std::string& name = session.device(i).info().name;
    while (j < session.device_count() && session.device(j).info().name == name) ++j;
    std::set<int> indices;
    for (std::size_t d = i; d < j; ++d) indices.insert(session.device(d).index());
    const bool shared = indices.size() < j - i;
    std::string labels = session.device(i).label();
    if (shared) {
      labels += fmt::format(" to {}", session.device(j - 1).label());
    } else if (j - i > 1) {
      labels += fmt::format(" to {}", session.device(j - 1).index());
    }
    groups.push_back(fmt::format("{} ({}{}{})", labels, indices.size() == 1 ? "" : fmt::format("{} × ", indices.size()),
                                 name, shared ? ", shared" : ""));
  }
  return fmt::format("{}", fmt::join(groups, ", "));
}

/// `--explain`: each message with the path that it took, what was predicted and what it took; of many alike the first and
/// the last rounds.
std::string Explanation(const RunStatistics& statistics) {
  constexpr std::size_t kRounds = 40;
  std::string text = fmt::format("  {:>7} {:>9} {:<12} {:<8} {:>12} {:>12} {:>12} {:>12} {:>8}\n", "round", "way", "path",
                                 "encoding", "entries", "bytes", "predicted", "taken", "off");
  std::uint32_t rounds = 0;
  std::vector<const BufferRecord*> buffers;
  for (const BufferRecord& buffer : statistics.buffers) {
    buffers.push_back(&buffer);
    rounds = std::max(rounds, buffer.round + 1);
  }
  std::stable_sort(buffers.begin(), buffers.end(),
                   [](const BufferRecord* a, const BufferRecord* b) { return a->round < b->round; });
  std::vector<double> errors;
  bool left_out = false;
  for (const BufferRecord* const buffer : buffers) {
    const bool known = std::isfinite(buffer->predicted_us) && buffer->measured_us > 0;
    if (known && buffer->bytes > 64 * 1024) errors.push_back(std::abs(buffer->predicted_us / buffer->measured_us - 1));
    if (buffer->round >= kRounds / 2 && buffer->round + kRounds / 2 < rounds) {
      if (!left_out) text += "        …\n";
      left_out = true;
      continue;
    }
    text += fmt::format(
        "  {:>7} {:>9} {:<12} {:<8} {:>12} {:>12} {:>12} {:>12} {:>8}\n", buffer->round,
        fmt::format("{}→{}{}", buffer->from, buffer->to, buffer->broadcast ? " all" : ""), buffer->path, buffer->encoding,
        Grouped(buffer->entries), Grouped(buffer->bytes),
        std::isfinite(buffer->predicted_us) ? FormatMs(buffer->predicted_us / 1e3) : std::string("?"),
        buffer->measured_us >= 0 ? FormatMs(buffer->measured_us / 1e3) : std::string("?"),
        known ? fmt::format("{:+.0f} %", 100 * (buffer->predicted_us / buffer->measured_us - 1)) : std::string("?"));
  }
  if (!errors.empty()) {
    text += fmt::format("  of {} messages over 64 KiB the prediction was off by {:.0f} % in the median, {:.0f} % at most\n",
                        Grouped(errors.size()), 100 * Median(errors), 100 * *std::max_element(errors.begin(), errors.end()));
  }
  return text;
}

std::string Summary(const RunCommandOptions& options, const RegisteredProgram& program, const LoadedGraph& loaded,
                    const Session& session, const Record& record, bool colours) {
  const RunStatistics& statistics = record.statistics;
  const double median = Median(record.trials_ms);
  std::string text =
      fmt::format("{} on {}\n", program.name(), DescribeGraph(loaded.graph, record.weighted ? "" : program.name()));
  const auto line = [&](std::string_view name, std::string_view value) {
    text += fmt::format("  {:<10} {}\n", name, value);
  };

  text += DescribeLoad(loaded, options.load, 10);
  line("devices", DescribeDevices(session) + (record.devices_why.empty() ? "" : ", " + record.devices_why) +
                      (session.device_count() == 1
                           ? ""
                           : fmt::format(", {} partition, transport {}", session.partition().name(), statistics.transport)));
  if (!record.devices_advice.empty()) line("advice", record.devices_advice);
  if (!record.sources.empty()) {
    const Graph& graph = loaded.graph;
    line("source",
         record.sources.front() == record.sources.back() && record.sources.size() == 1
             ? fmt::format("{} (out-degree {})", graph.id(record.sources[0]), Grouped(graph.out_degree(record.sources[0])))
             : fmt::format("{}, the last of {} trials", graph.id(record.sources.back()), record.sources.size()));
  }
  for (const DataFile& file : record.data) line("data", fmt::format("{} from {}", file.info.name, file.path));
  if (record.ldbc) line("ldbc", DescribeLdbc(*record.ldbc));
  std::string time = FormatMs(median);
  if (record.trials_ms.size() > 1) {
    time += fmt::format(", median of {} trials ({} to {})", record.trials_ms.size(),
                        FormatMs(*std::min_element(record.trials_ms.begin(), record.trials_ms.end())),
                        FormatMs(*std::max_element(record.trials_ms.begin(), record.trials_ms.end())));
  }
  line("time", time);
  line("first",
       fmt::format("answer {} after the command began, loading and preparing included", FormatMs(record.first_answer_ms)));
  std::string rounds = Grouped(statistics.rounds);
  if (statistics.push_rounds + statistics.pull_rounds > 0) {
    rounds += fmt::format(" ({} push, {} pull{})", Grouped(statistics.push_rounds), Grouped(statistics.pull_rounds),
                          statistics.gauss_seidel_rounds > 0 ? " in place" : "");
  }
  if (statistics.phases > 1) rounds += fmt::format(" in {} phases", Grouped(statistics.phases));
  if (const std::string why = WhyNotFinal(record); !why.empty()) rounds += ", " + why;
  line("rounds", rounds);
  if (record.total) line("total", fmt::format("{} {}", Grouped(*record.total), record.value));
  if (statistics.edges_touched > 0) {
    std::string edges = fmt::format("{} looked at", Grouped(statistics.edges_touched));
    if (statistics.time_ms > 0) {
      edges +=
          fmt::format(", {:.3g} million a second", static_cast<double>(statistics.edges_touched) / statistics.time_ms / 1e3);
    }
    line("edges", edges);
  }
  if (!statistics.pairs.empty()) {
    std::uint64_t before = 0, messages = 0, bytes = 0;
    for (const PairStatistics& pair : statistics.pairs) {
      before += pair.messages_before;
      messages += pair.messages;
      bytes += pair.bytes;
    }
    line("traffic", fmt::format("{} in {} messages{}", FormatBytes(bytes), Grouped(messages),
                                before > messages ? fmt::format(", combined from {}", Grouped(before)) : ""));
  }
  std::string apart = record.open_ms < 1 ? "" : fmt::format("open devices {}, ", FormatMs(record.open_ms));
  apart += fmt::format("load {}, partition {}, upload {}, prepare {}", FormatMs(loaded.ms), FormatMs(record.partition_ms),
                       FormatMs(record.upload_ms), FormatMs(record.prepare_ms));
  if (record.output_ms > 0) apart += fmt::format(", output {}", FormatMs(record.output_ms));
  if (record.verdict) apart += fmt::format(", verify {}", FormatMs(record.verify_ms));
  line("apart", apart);
  if (!options.output.empty() && options.output != "-")
    line("values", fmt::format("{} in {}", record.value, options.output));
  if (record.verdict) {
    const std::string name = fmt::format("{:<10}", record.verdict->passed ? "verified" : "WRONG");
    text += fmt::format("  {} {}\n", colours ? Coloured(name, record.verdict->passed) : name, record.verdict->message);
  }
  if (options.explain) {
    text += session.device_count() == 1 ? "  one device: no messages to explain\n" : Explanation(statistics);
    if (statistics.execution == "async" && session.device_count() > 1) {
      text += "  without rounds a message has no time of its own: --trace shows when each travelled\n";
    }
  }
  return text;
}

bool UsesWeights(const RegisteredProgram& program, const Graph& graph, const std::string& value, const RunOptions& run) {
  const auto alternatives = program.Memory(&graph, value, run);
  for (const std::vector<ProgramMemory>& programs : alternatives) {
    for (const ProgramMemory& memory : programs) {
      if (memory.weights != WeightKind::kNone) return true;
    }
  }
  return false;
}

/// `--devices auto` with several GPUs: gives back all but one where a traversal would only wait for more, if one has room
/// for all of it. Returns why, or nothing where all are kept.
std::string KeepWhatPays(const RunCommandOptions& options, const RegisteredProgram& program, const Graph& graph,
                         const RunOptions& run, std::vector<std::unique_ptr<Device>>& devices) {
  if (options.devices != "auto" || devices.size() < 2 || !program.traverses()) return {};
  const DeviceAdvice advice = AdviseDevices(graph, devices.size());
  if (advice.devices >= devices.size()) return {};
  const auto memory = program.Memory(&graph, options.parameters.value, run);
  const MemoryPlan plan =
      BoundMemory(CountsOf(graph), memory.at(0), devices[0]->kind(), 1, options.transport, Bound::kMax, /*text=*/false);
  const std::uint64_t room = options.memory_limit > 0 ? options.memory_limit : devices[0]->free_memory();
  if (room != 0 && plan.devices[0].total() > room) return {};
  const std::size_t all = devices.size();
  devices.resize(advice.devices);
  return fmt::format("{} of {}: {}; --devices cuda takes all", advice.devices, all, advice.why);
}

/// What a run on several host devices should know of one; nothing where several are as good.
std::string AdviceOfHostDevices(const RegisteredProgram& program, const Graph& graph, const Session& session) {
  if (session.device(0).kind() != DeviceKind::kHost || session.device_count() < 2 || !program.traverses()) return {};
  const DeviceAdvice advice = AdviseHostDevices(graph, session.device_count());
  return advice.devices > 1 ? std::string() : fmt::format("--devices host:1 may be faster: {}", advice.why);
}

/// Refuses a graph whose header says that the run cannot fit: before it is loaded, or once it is mapped, when the host has
/// been asked for nothing and the session will ask.
void RefuseTooLarge(const RunCommandOptions& options, const RegisteredProgram& program, const std::optional<GraphPeek>& peek,
                    const std::vector<std::unique_ptr<Device>>& devices, const RunOptions& run, bool mapped) {
  if (!peek || !peek->vertices) return;  // known once it is loaded
  std::vector<Device*> pointers;
  pointers.reserve(devices.size());
  for (const auto& device : devices) pointers.push_back(device.get());
  const KnownGraph graph{
      peek->least(), peek->most(),
      fmt::format("a graph of {} vertices and {} stored edges ({})", *peek->vertices, peek->stored, peek->from),
      /*held=*/0, /*text=*/peek->listed};
  const auto alternatives = program.Memory(nullptr, options.parameters.value, run);
  for (std::size_t i = 0; i < alternatives.size(); ++i) {  // one that fits will do: which it is depends on the graph
    try {
      const std::uint64_t host = mapped ? std::numeric_limits<std::uint64_t>::max() : options.load.host_memory_limit;
      CheckBounds(graph, alternatives[i], pointers, options.transport, {options.memory_limit, host});
      return;
    } catch (const OutOfMemoryError&) {
      if (i + 1 == alternatives.size()) throw;
    }
  }
}

/// A trial's time is told if the trial was finished, or if there is no other.
void Account(Record& record, const RunStatistics& statistics) {
  record.statistics = statistics;
  const bool whole = statistics.ended != Ended::kStopped && statistics.ended != Ended::kFailed;
  if (whole || record.trials_ms.empty()) record.trials_ms.push_back(statistics.time_ms);
}

/// Returns an ExitCode, or minus the signal that interrupted the trials.
int Run(const Registry& registry, const RunCommandOptions& given, const std::string& command_line) {
  const Stopwatch since_begin;
  RunCommandOptions options = given;
  if (!options.ldbc.empty()) {
    if (!options.graph.empty()) {
      Throw<UsageError>("GRAPH {} and --ldbc {}: give one of the two", options.graph, options.ldbc);
    }
    options.graph = options.ldbc;
    const bool by_name = HasResultSuffix(options.output, ".npy") || HasResultSuffix(options.output, ".json");
    if (options.output_format.empty() && !by_name) options.output_format = "ldbc";
  }
  if (options.graph.empty()) throw UsageError("GRAPH is required; see `chatty run --help`");
  if (options.output == "-" && options.json == "-") {
    throw UsageError("--output and --json cannot both go to standard output");
  }
  Record record;
  record.started = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  // Names that do not exist are told before a long load, and on any number of devices.
  std::shared_ptr<const Partitioner> partitioner = MakePartitioner(options.partition);
  CheckComm(options.transport, DeviceKind::kHost, 1);
  RefuseSameFile("--output", options.output, "--json", options.json);
  RefuseSameFile("--output", options.output, "the graph", options.graph);
  RefuseSameFile("--json", options.json, "the graph", options.graph);
  RefuseSameFile("--trace", options.trace, "--output", options.output);
  RefuseSameFile("--trace", options.trace, "--json", options.json);
  RefuseSameFile("--trace", options.trace, "the graph", options.graph);
  if (IsPartFilePath(options.partition)) {
    RefuseSameFile("--output", options.output, "--partition", options.partition);
    RefuseSameFile("--json", options.json, "--partition", options.partition);
    RefuseSameFile("--trace", options.trace, "--partition", options.partition);
  }
  if (options.trace == "-") throw UsageError("--trace -: a trace goes to a file; name one");
  TakeInterrupts();  // no thread has been started yet
  RefuseOtherSuffix("--output", options.output,
                    "results are lines of text (.txt), a NumPy array (.npy) or JSON (.json); --output-format chooses one "
                    "whatever the name",
                    {".npy", ".json"}, /*decided=*/!options.output_format.empty());
  RefuseOtherSuffix("--trace", options.trace, "a trace is JSON (.json)", {".json"});
  PrepareOutput(options.output);
  PrepareJson(options.json);
  PrepareOutput(options.trace);
  const DeviceSelection selection = ParseDevices(options.devices);
  CheckParts(*partitioner, static_cast<PartId>(selection.indices.size()),
             fmt::format("{} devices", selection.indices.size()));
  const RegisteredProgram& program = FindProgram(registry, options.program, selection.kind, options.parameters.precision);
  if (!options.ldbc.empty()) {
    record.ldbc = TakeLdbc(options.ldbc, program, options.parameters, options.load);
    for (const std::string& file : {record.ldbc->properties.vertex_path, record.ldbc->properties.edge_path}) {
      RefuseSameFile("--output", options.output, "the graph's", file);
      RefuseSameFile("--json", options.json, "the graph's", file);
      RefuseSameFile("--trace", options.trace, "the graph's", file);
    }
  }
  if (const std::optional<int> shared = SharedGpu(selection)) {
    Log().warn("several devices share cuda:{}: the answer is that of as many GPUs, the time is not", *shared);
  }
  RunOptions run;
  run.direction = ParseDirection(options.direction);
  run.execution = options.execution;
  run.transport = options.transport;
  run.links = options.links;
  run.remote_atomics = ParseRemoteAtomics(options.remote_atomics);
  run.tiling = ParseTiling(options.tiles);
  run.delta = ParseDelta(options.delta);
  run.explain = options.explain;
  run.max_rounds = options.max_rounds;
  run.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(options.timeout_s * 1000)));
  CheckRunOptions(run, selection);
  CheckParameters(program, options.parameters);
  record.data = VertexDataFiles(program, options.parameters);
  for (const DataFile& file : record.data) {
    RefuseSameFile("--output", options.output, "--vertex-data", file.path);
    RefuseSameFile("--json", options.json, "--vertex-data", file.path);
    RefuseSameFile("--trace", options.trace, "--vertex-data", file.path);
  }
  program.Memory(nullptr, options.parameters.value, run);  // refuses a value or a direction that it does not have
  if (options.verify) CheckVerifier(program, options.parameters.value, "run it without --verify");

  TraceOutput recording(options, command_line);
  Trace* const trace = recording.trace();
  run.trace = trace;
  // GPUs open while a graph is mapped, which takes as long. Any other graph waits for what is known of its size.
  const bool gpus = selection.kind == DeviceKind::kCuda;
  const std::optional<GraphPeek> peek = Peek(options.graph, options.load);
  const bool mapped = gpus && peek && peek->format == GraphFormat::kBinary && peek->compression == Compression::kNone &&
                      options.load.weights == "file" && !options.load.read.symmetrise;
  options.load.read.in_place = gpus;
  std::future<std::vector<std::unique_ptr<Device>>> opening =
      std::async(mapped ? std::launch::async : std::launch::deferred, [&] {
        const Stopwatch watch;
        auto opened = OpenDevices(selection, options.load.read.threads);
        record.open_ms = watch.ms();
        return opened;
      });
  std::vector<std::unique_ptr<Device>> devices;
  const auto open = [&] {
    const Span span(ProcessTrack(trace), nullptr, kOpenDevices);
    devices = opening.get();
    RefuseTooLarge(options, program, peek, devices, run, mapped);
  };
  if (!mapped) open();
  const LoadedGraph loaded = [&] {
    const Span span(ProcessTrack(trace), nullptr, kLoad);
    return Load(options.graph, options.load);
  }();
  if (mapped) open();
  const Graph& graph = loaded.graph;
  record.weighted = UsesWeights(program, graph, options.parameters.value, run);
  record.devices_why = KeepWhatPays(options, program, graph, run, devices);
  Parameters parameters = ResolveParameters(program, graph, options.parameters, options.seed);
  const auto choose_source = [&](std::uint32_t trial) {
    const VertexId source = parameters.source->Pick(graph, trial);
    parameters.values["source"] = fmt::format("{}", source);
    record.sources.push_back(source);
  };
  if (parameters.source) choose_source(0);

  SessionOptions session_options;
  session_options.partitioner = std::move(partitioner);
  session_options.partition_fallback = options.partition_fallback;
  session_options.seed = options.seed;
  session_options.threads = options.load.read.threads;
  session_options.bind = options.bind == "auto";
  session_options.trace = trace;
  session_options.memory_limit = options.memory_limit;
  session_options.host_memory_limit = options.load.host_memory_limit;
  PhaseLine phase("partitioning");
  session_options.on_phase = [&phase](std::string_view begun) { phase.Begin(begun); };
  Session session(graph, std::move(devices), session_options);

  StopOnInterrupt interrupt;
  run.stop = interrupt.token();
  const double before_prepare = session.partition_ms() + session.upload_ms();
  const Stopwatch prepare_watch;
  phase.Begin("preparing");
  if (phase.shown()) {
    run.on_round = [&phase](const RoundProgress& round) { phase.TellRound(round.rounds, round.active, round.change); };
  }
  run.vertex_data = ReadVertexData(record.data, graph);
  const std::unique_ptr<RegisteredJob> job = [&] {
    try {
      return program.Prepare(session, parameters.values, options.parameters.value, run);
    } catch (const UsageError& error) {  // all but the graph has been checked: it has, say, negative weights
      std::string data;
      for (const DataFile& file : record.data) data += fmt::format(" with {}={}", file.info.name, file.path);
      Throw<UsageError>("{}{}: {}", options.graph, data, error.what());
    }
  }();
  record.prepare_ms = std::max(0.0, prepare_watch.ms() - (session.partition_ms() + session.upload_ms() - before_prepare));
  record.partition_ms = session.partition_ms();
  record.upload_ms = session.upload_ms();

  // A run that failed tells what it had, too.
  const auto fail = [&](const RegisteredJob& failed, const std::exception& error) {
    phase.Finish();
    record.error = error.what();
    Account(record, failed.statistics());
    record.parameters = parameters.values;
    record.value = program.OutputShape(graph, options.parameters.value).name;
    try {
      if (!options.json.empty()) WriteJson(options.json, RecordJson(options, program, loaded, session, record));
    } catch (const std::exception& other) {  // what made the run fail is the news
      Log().warn("the record of the failed run was not written: {}", other.what());
    }
    // After a deadline a kernel may hold its GPU for good, and whatever gives back what was allocated there waits for it.
    if (selection.kind == DeviceKind::kCuda && dynamic_cast<const TimeoutError*>(&error) != nullptr) {
      PrintError(fmt::format("chatty: error: {}\n", error.what()));
      EndAtOnce(kRunFailed);
    }
  };

  recording.Start();
  {
    interrupt.Begin();
    for (std::uint32_t trial = 0; trial < options.trials; ++trial) {
      if (parameters.source && trial > 0) {
        choose_source(trial);
        if (parameters.source->random()) job->Set("source", parameters.values["source"]);
      }
      phase.Begin(options.trials > 1 ? fmt::format("trial {} of {}", trial + 1, options.trials) : "running");
      const SpanKind& kind = parameters.source ? kTrialFrom : kTrial;
      const SpanArguments names{trial, parameters.source ? graph.id(record.sources.back()) : 0};
      if (trace != nullptr) trace->NameRuns(kind, names);
      {
        const Span span(ProcessTrack(trace), nullptr, kind, names);
        try {
          Account(record, job->Execute());
          if (trial == 0) record.first_answer_ms = since_begin.ms();
        } catch (const std::exception& error) {
          fail(*job, error);
          throw;
        }
      }
      if (interrupt.signal() != 0) break;
    }
    interrupt.End();
    record.signal = interrupt.signal();
  }
  if (parameters.source && !parameters.source->random()) record.sources.resize(1);
  record.parameters = parameters.values;
  record.limit_reason = program.LimitReason(parameters.values);

  record.devices_advice = AdviceOfHostDevices(program, graph, session);
  record.value = program.OutputShape(graph, options.parameters.value).name;
  const bool cut = record.signal == 0 && record.statistics.ended == Ended::kMaxRounds;
  const bool verify = options.verify && record.signal == 0 && !cut;
  const bool total =
      program.has_total() && record.value == program.values().front() && record.statistics.converged && record.signal == 0;
  if (!options.output.empty() || verify || total) {
    ErasedValues values;
    {
      const Span span(ProcessTrack(trace), &record.output_ms, kWriteValues);
      phase.Begin(options.output.empty() ? "copying out" : "writing the output");
      values = job->Output();
      if (!options.output.empty())
        WriteValues(options.output, graph, values, {options.output_format, std::string(program.name())});
    }
    if (total) record.total = program.Total(values);
    if (verify) {
      const Span span(ProcessTrack(trace), &record.verify_ms, kVerify);
      phase.Begin("verifying");
      record.verdict = program.Verify(graph, record.parameters, values, &record.statistics, run.vertex_data);
    }
  }

  phase.Finish();
  recording.Write();
  if (!options.json.empty()) WriteJson(options.json, RecordJson(options, program, loaded, session, record));
  // Whatever owns standard output has it alone.
  const bool aside = options.output == "-";
  if (aside || options.json != "-") {
    PrintReport(Summary(options, program, loaded, session, record, /*colours=*/!aside), aside);
  }
  const std::string why = WhyNotFinal(record);
  if (!why.empty() && (record.signal != 0 || !options.output.empty())) {
    PrintReport(fmt::format("chatty: {}{}\n", why, options.verify && record.signal != 0 ? "; not verified" : ""),
                /*aside=*/true);
  }
  if (options.verify && cut) {
    PrintReport("chatty: not verified: --max-rounds ended the run before it converged\n", /*aside=*/true);
  }
  if (record.signal != 0) return -record.signal;
  if (record.verdict && !record.verdict->passed) {
    ReportWrongAnswer(record.verdict->message);
    return kWrongAnswer;
  }
  return kSuccess;
}

}  // namespace

void AddRun(CLI::App& app, Context& context) {
  auto options = std::make_shared<RunCommandOptions>();
  CLI::App* command = app.add_subcommand("run", "Run a program on a graph, time it, verify it, write its results");
  command->add_option("PROGRAM", options->program, "Program to run; `chatty programs` lists them")->required();
  command->add_option("GRAPH", options->graph,
                      "Graph file, or - for standard input, in any format that --format lists; plain, .gz or .zst; left "
                      "out with --ldbc");
  AddLdbcOption(*command, options->ldbc);

  AddParameterOptions(*command, options->parameters, /*runs=*/true);

  const std::string how = "Execution";
  command
      ->add_option("--devices", options->devices,
                   "`N`: so many GPUs, or host devices where there are none; `host:N`: N host devices sharing the cores; "
                   "`cuda:0,1`: these GPUs; `cuda:4@0`: four devices that share GPU 0; `cuda`: all GPUs; `auto` (default): "
                   "GPUs if present, else the host")
      ->type_name("N|DEVICES")
      ->group(how);
  command
      ->add_option("--partition", options->partition,
                   fmt::format("How vertices are divided among devices: {} (default: edge-balanced), or the path, with a / "
                               "or a . in it, of a part file of METIS or `chatty partition`",
                               fmt::join(PartitionerNames(), ", ")))
      ->type_name("NAME|FILE")
      ->group(how);
  AddFallbackOption(*command, options->partition_fallback)->group(how);
  command
      ->add_option("--direction", options->direction,
                   "`push` along out-edges of what changed, `pull` along in-edges of what may change, or `auto` (default): "
                   "whichever looks at fewer edges, round by round")
      ->type_name("auto|push|pull")
      ->check(OneOf({"auto", "push", "pull"}))
      ->group(how);
  command
      ->add_option(
          "--execution", options->execution,
          "Who drives the run: `bsp`, in rounds; `async`, each device at its own pace, for programs that `chatty programs` "
          "calls monotone; `auto` (default): bsp")
      ->type_name("NAME")
      ->group(how);
  command
      ->add_option(
          "--comm,--transport", options->transport,
          fmt::format("What carries messages between devices: {}; or data=NAME,state=NAME (default: auto, the fastest "
                      "by this machine's costs, message by message; `chatty topology --measure` measures them)",
                      fmt::join(CommNames(), ", ")))
      ->type_name("NAME")
      ->group(how);
  command
      ->add_option("--links", options->links,
                   "Links between devices that may be used: `all` (default), `none`, or `pairs {0,1}{2,3}`: those within a "
                   "group; others go through host memory")
      ->type_name("all|none|pairs")
      ->group(how);
  command
      ->add_option(
          "--bind", options->bind,
          "`auto` (default): a device's threads run on the CPUs of its NUMA node, or of one node a host device, unless "
          "OMP_PROC_BIND or OMP_PLACES says where; `off`: wherever the system has them")
      ->type_name("auto|off")
      ->check(OneOf({"auto", "off"}))
      ->group(how);
  command->add_option("--max-rounds", options->max_rounds, "Stop after so many rounds (default: when the program is done)")
      ->type_name("N")
      ->check(Unnamed(CLI::Range(std::uint32_t{1}, std::numeric_limits<std::uint32_t>::max())))
      ->group(how);
  command
      ->add_option("--timeout", options->timeout_s,
                   "Longest wait for another device before the run fails, 0.001 to 1000000 (default: none)")
      ->type_name("SECONDS")
      ->check(SecondsBetween(0.001, 1e6))
      ->group(how);
  command->add_option("--seed", options->seed, "Seed of partitions random and metis and of `--source random` (default: 1)")
      ->type_name("N")
      ->check(WholeNumber())
      ->group(how);

  command
      ->add_option(
          "--remote-atomics", options->remote_atomics,
          "Messages of sparse push rounds go by atomics into the state of their vertices' owners, and in no buffer, where "
          "devices reach each other's memory: `auto` (default), where that is predicted to be faster; "
          "programs that are active in every round, or written on operators, and execution async have no such rounds")
      ->type_name("auto|never|always")
      ->check(OneOf({"auto", "never", "always"}))
      ->group(how);
  command
      ->add_option("--tiles", options->tiles,
                   "Rows of programs that are active in every round, such as pagerank, are prepared for the caches: host "
                   "devices cut them into tiles, GPUs order what sources share and keep that of hubs in shared memory; it "
                   "takes the time of some rounds, in `prepare`: `auto` (default), where what vertices share does not fit, "
                   "or there are hubs")
      ->type_name("auto|never|always")
      ->check(OneOf({"auto", "never", "always"}))
      ->group(how);
  command
      ->add_option("--delta", options->delta,
                   "Programs with a priority, such as sssp, go through vertices in buckets so wide, nearest first: `auto` "
                   "(default), as weights and degrees suggest, and adapted as the run goes; `off`, whatever changed goes in "
                   "the next round; or a width, say 25, in what the program counts. Execution async has no buckets")
      ->type_name("auto|off|X")
      ->check(Unnamed(CLI::Validator(
          [](const std::string& text) {
            try {
              ParseDelta(text);
            } catch (const UsageError& error) {
              return std::string(error.what());
            }
            return std::string();
          },
          "")))
      ->group(how);
  command
      ->add_flag("--explain", options->explain,
                 "Tell of each message of the last trial which path it took, what time was predicted and what it took; "
                 "slows the run "
                 "down. On GPUs the first trial pays for what is used first: add --trials 2")
      ->group(how);

  AddBytesOption(*command, "--memory-limit", options->memory_limit,
                 "Memory that each device may hold, say 500M, 2G or 1.5GiB (default: what it has free)")
      ->group(how);

  const std::string what = "Measurement and results";
  command->add_option("--trials", options->trials, "Run so often; the results are the last trial's (default: 1)")
      ->type_name("N")
      ->check(Unnamed(CLI::Range(1, 1000000)))
      ->group(what);
  command
      ->add_flag("--verify", options->verify,
                 "Check the last trial's answer, unless the run was ended early; exit with 3 if it is wrong")
      ->group(what);
  command->add_option("-o,--output", options->output, "Write the results, as said below; - for standard output")
      ->type_name("FILE|-")
      ->check(NotEmpty())
      ->group(what);
  AddValueFormOption(*command, options->output_format)->group(what);
  AddJsonOption(*command, options->json)->group(what);
  command
      ->add_option("--trace", options->trace,
                   "Write what ran when, a track a device, for https://ui.perfetto.dev; compressed if the name ends in .gz")
      ->type_name("FILE")
      ->check(NotEmpty())
      ->group(what);
  AddLoadOptions(*command, options->load, "--format", /*uses=*/true);

  command->footer(
      "Examples:\n"
      "  chatty run bfs road.chatty --source 500500 --verify --output levels.txt\n"
      "  chatty run bfs road.chatty --source 500500 --value parent --output parents.npy\n"
      "  chatty run sssp USA-road-d.NY.gr.zst --devices host:4 --source random:7 --trials 16 --verify\n"
      "  chatty run pagerank web.mtx.gz --devices cuda:0,1 --damping 0.9 --tolerance 1e-6 --json record.json\n"
      "  chatty run bfs road.chatty --devices host:4 --trace timeline.json\n"
      "  chatty run pr --ldbc datagen-7_5-fb.properties --output ranks.txt\n"
      "  chatty run cc social.el --symmetrise --direction push --partition random --json -\n"
      "\n" +
      std::string(kResultsHelp) +
      "\n"
      "`cc` is weak connectivity: a component is called by its least id. `sssp` takes weight 1 where the graph has "
      "none.\n"
      "Unique answers are the same bytes on any devices, partition and direction.\n"
      "\n"
      "The time is that of the run alone, from initialising the vertices to convergence, with all launches and\n"
      "read-backs; loading, partition, upload and copying out are told apart.\n"
      "\n"
      "What cannot fit is refused before it is loaded, by the counts in the graph's header, or at the latest before\n"
      "anything is allocated on a device; the error says what is needed and on how many devices it may fit.\n"
      "`chatty info` tells beforehand.\n"
      "\n"
      "The first SIGINT (Ctrl-C) or SIGTERM during the trials ends the run after its round: the summary, --json (with\n"
      "`\"ended\": \"interrupt\"`) and --output tell what it had, --verify is left out, and standard error says that the\n"
      "values are not final; the process then ends by the signal, which is 130 (SIGINT) or 143 (SIGTERM) in a shell.\n"
      "The next one, or one before or after the trials, ends the process at once: files that are complete by then\n"
      "stay, unfinished ones are removed. Within 200 ms of the first it counts as the same, as `timeout` sends it twice.\n"
      "\n"
      "Exit codes: 0 success, also if --max-rounds ended the run, which is then not verified; 1 the run failed, or a "
      "device\n"
      "that was asked for is not there; 2 wrong usage or input; 3 verification failed.");
  command->callback([&context, options] {
    context.action = [&context, options] {
      const int code = Run(context.registry, *options, context.command_line);
      if (code < 0) EndBySignal(-code);  // all that the run held has been given back
      return code;
    };
  });
}

}  // namespace chatty::cli
