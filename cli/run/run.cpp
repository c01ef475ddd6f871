#include "chatty/cli/run/run.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <ctime>
#include <future>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "chatty/cli/app.h"
#include "chatty/cli/interrupt.h"
#include "chatty/cli/ldbc_input.h"
#include "chatty/cli/load.h"
#include "chatty/cli/options.h"
#include "chatty/cli/output_files.h"
#include "chatty/cli/parameters.h"
#include "chatty/cli/run/record.h"
#include "chatty/cli/run/summary.h"
#include "chatty/cli/run/trace_output.h"
#include "chatty/cli/text.h"
#include "chatty/cli/times.h"
#include "chatty/cli/values.h"
#include "chatty/comm/selector.h"
#include "chatty/core/device.h"
#include "chatty/core/error.h"
#include "chatty/core/logging.h"
#include "chatty/core/progress.h"
#include "chatty/core/trace.h"
#include "chatty/framework/advice.h"
#include "chatty/framework/memory_plan.h"
#include "chatty/framework/session.h"
#include "chatty/io/results.h"
#include "chatty/partition/part_file.h"
#include "chatty/partition/partition.h"

namespace chatty::cli {
namespace {

constexpr SpanKind kLoad{"load", SpanCategory::kHost};
constexpr SpanKind kOpenDevices{"open devices", SpanCategory::kHost};
constexpr SpanKind kTrial{"trial #", SpanCategory::kRound, {"trial"}};
constexpr SpanKind kTrialFrom{"trial # (source #)", SpanCategory::kRound, {"trial", "source"}};
constexpr SpanKind kWriteValues{"output", SpanCategory::kHost};
constexpr SpanKind kVerify{"verify", SpanCategory::kHost};

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
void Account(RunResults& results, const RunStatistics& statistics) {
  results.statistics = statistics;
  const bool whole = statistics.ended != Ended::kStopped && statistics.ended != Ended::kFailed;
  if (whole || results.trials_ms.empty()) results.trials_ms.push_back(statistics.time_ms);
}

}  // namespace

int RunCommand(const Registry& registry, const RunCommandOptions& given, const std::string& command_line) {
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
  RunResults results;
  results.started = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
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
    results.ldbc = TakeLdbc(options.ldbc, program, options.parameters, options.load);
    for (const std::string& file : {results.ldbc->properties.vertex_path, results.ldbc->properties.edge_path}) {
      RefuseSameFile("--output", options.output, "the graph's", file);
      RefuseSameFile("--json", options.json, "the graph's", file);
      RefuseSameFile("--trace", options.trace, "the graph's", file);
    }
  }
  if (const std::optional<int> shared = SharedGpu(selection)) {
    Log().warn("several devices share cuda:{}: the answer is that of as many GPUs, the time is not", *shared);
  }
  RunOptions run = ParseRunOptions(options);
  CheckRunOptions(run, selection);
  CheckParameters(program, options.parameters);
  results.data = VertexDataFiles(program, options.parameters);
  for (const DataFile& file : results.data) {
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
        results.open_ms = watch.ms();
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
  results.weighted = UsesWeights(program, graph, options.parameters.value, run);
  results.devices_why = KeepWhatPays(options, program, graph, run, devices);
  ResolvedParameters parameters = ResolveParameters(program, graph, options.parameters, options.seed);
  const auto choose_source = [&](std::uint32_t trial) {
    const VertexId source = parameters.source->Pick(graph, trial);
    parameters.values["source"] = fmt::format("{}", source);
    results.sources.push_back(source);
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
  run.vertex_data = ReadVertexData(results.data, graph);
  const std::unique_ptr<RegisteredJob> job = [&] {
    try {
      return program.Prepare(session, parameters.values, options.parameters.value, run);
    } catch (const UsageError& error) {  // all but the graph has been checked: it has, say, negative weights
      std::string data;
      for (const DataFile& file : results.data) data += fmt::format(" with {}={}", file.info.name, file.path);
      Throw<UsageError>("{}{}: {}", options.graph, data, error.what());
    }
  }();
  results.prepare_ms = std::max(0.0, prepare_watch.ms() - (session.partition_ms() + session.upload_ms() - before_prepare));
  results.partition_ms = session.partition_ms();
  results.upload_ms = session.upload_ms();

  // A run that failed tells what it had, too.
  const auto fail = [&](const RegisteredJob& failed, const std::exception& error) {
    phase.Finish();
    results.error = error.what();
    Account(results, failed.statistics());
    results.parameters = parameters.values;
    results.value = program.OutputShape(graph, options.parameters.value).name;
    try {
      if (!options.json.empty()) WriteRecord(options, program, loaded, session, results);
    } catch (const std::exception& other) {  // what made the run fail is the news
      Log().warn("the results of the failed run was not written: {}", other.what());
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
      const SpanArguments names{trial, parameters.source ? graph.id(results.sources.back()) : 0};
      if (trace != nullptr) trace->NameRuns(kind, names);
      {
        const Span span(ProcessTrack(trace), nullptr, kind, names);
        try {
          Account(results, job->Execute());
          if (trial == 0) results.first_answer_ms = since_begin.ms();
        } catch (const std::exception& error) {
          fail(*job, error);
          throw;
        }
      }
      if (interrupt.signal() != 0) break;
    }
    interrupt.End();
    results.signal = interrupt.signal();
  }
  if (parameters.source && !parameters.source->random()) results.sources.resize(1);
  results.parameters = parameters.values;
  results.limit_reason = program.LimitReason(parameters.values);

  results.devices_advice = AdviceOfHostDevices(program, graph, session);
  results.value = program.OutputShape(graph, options.parameters.value).name;
  const bool cut = results.signal == 0 && results.statistics.ended == Ended::kMaxRounds;
  const bool verify = options.verify && results.signal == 0 && !cut;
  const bool total = program.has_total() && results.value == program.values().front() && results.statistics.converged &&
                     results.signal == 0;
  if (!options.output.empty() || verify || total) {
    ErasedValues values;
    {
      const Span span(ProcessTrack(trace), &results.output_ms, kWriteValues);
      phase.Begin(options.output.empty() ? "copying out" : "writing the output");
      values = job->Output();
      if (!options.output.empty())
        WriteValues(options.output, graph, values, {options.output_format, std::string(program.name())});
    }
    if (total) results.total = program.Total(values);
    if (verify) {
      const Span span(ProcessTrack(trace), &results.verify_ms, kVerify);
      phase.Begin("verifying");
      results.verdict = program.Verify(graph, results.parameters, values, &results.statistics, run.vertex_data);
    }
  }

  phase.Finish();
  recording.Write();
  if (!options.json.empty()) WriteRecord(options, program, loaded, session, results);
  // Whatever owns standard output has it alone.
  const bool aside = options.output == "-";
  if (aside || options.json != "-") {
    PrintReport(RunSummary(options, program, loaded, session, results, /*colours=*/!aside), aside);
  }
  const std::string why = WhyNotFinal(results);
  if (!why.empty() && (results.signal != 0 || !options.output.empty())) {
    PrintReport(fmt::format("chatty: {}{}\n", why, options.verify && results.signal != 0 ? "; not verified" : ""),
                /*aside=*/true);
  }
  if (options.verify && cut) {
    PrintReport("chatty: not verified: --max-rounds ended the run before it converged\n", /*aside=*/true);
  }
  if (results.signal != 0) return -results.signal;
  if (results.verdict && !results.verdict->passed) {
    ReportWrongAnswer(results.verdict->message);
    return kWrongAnswer;
  }
  return kSuccess;
}

}  // namespace chatty::cli
