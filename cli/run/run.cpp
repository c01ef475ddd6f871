#include "chatty/cli/run/run.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <ctime>
#include <future>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
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

/// `--devices auto` with several GPUs: gives back those that ChooseDevices does not take. Returns why, or nothing where all
/// are kept.
std::string KeepWhatPays(const RunCommandOptions& options, const RegisteredProgram& program, const Graph& graph,
                         const RunOptions& run, std::vector<std::unique_ptr<Device>>& devices) {
  const std::size_t all = devices.size();
  if (options.devices != "auto" || all < 2) return {};
  const auto memory = program.Memory(&graph, options.parameters.value, run);
  const MemoryPlan plan =
      BoundMemory(CountsOf(graph), memory.at(0), devices[0]->kind(), 1, run.comm, Bound::kMax, /*text=*/false);
  const std::uint64_t room = options.memory_limit > 0 ? options.memory_limit : devices[0]->free_memory();
  const DeviceAdvice advice = ChooseDevices(
      graph,
      {.devices = all, .traverses = program.traverses(), .needed_on_one = plan.devices[0].total(), .free_on_one = room});
  if (advice.devices == all) return {};
  devices.resize(advice.devices);
  return fmt::format("{} of {}: {}; --devices cuda takes all", advice.devices, all, advice.why);
}

/// What a run on several host devices should know of one; nothing where several are as good, or no level has an exchange.
std::string AdviceOfHostDevices(const RegisteredProgram& program, const Graph& graph, const Session& session,
                                const RunPlan& plan) {
  if (session.device(0).kind() != DeviceKind::kHost || session.device_count() < 2 || !program.traverses()) return {};
  if (plan.programs.front().engine != EngineKind::kBsp) return {};
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
  RunOptions least = run;
  if (least.records == Records::kAuto) least.records = Records::kNever;        // left out where memory is short, as are
  if (least.execution == Execution::kAuto) least.execution = Execution::kBsp;  // fused runs
  const auto alternatives = program.Memory(nullptr, options.parameters.value, least, devices.size());
  for (std::size_t i = 0; i < alternatives.size(); ++i) {  // one that fits will do: which it is depends on the graph
    try {
      const std::uint64_t host = mapped ? std::numeric_limits<std::uint64_t>::max() : options.load.host_memory_limit;
      CheckBounds(graph, alternatives[i], pointers, run.comm, {options.memory_limit, host});
      return;
    } catch (const OutOfMemoryError&) {
      if (i + 1 == alternatives.size()) throw;
    }
  }
}

/// A trial's time counts if the trial was finished, or if there is no other.
void Account(RunResults& results, const RunStatistics& statistics) {
  results.statistics = statistics;
  const bool whole = statistics.ended != Ended::kStopped && statistics.ended != Ended::kFailed;
  if (whole || results.trials_ms.empty()) results.trials_ms.push_back(statistics.time_ms);
}

/// Refuses a file that the run would write, and that is another one, too.
void RefuseOutputs(const RunCommandOptions& options, std::string_view other_option, const std::string& other) {
  RefuseSameFile("--output", options.output, other_option, other);
  RefuseSameFile("--json", options.json, other_option, other);
  RefuseSameFile("--trace", options.trace, other_option, other);
}

/// One call of `chatty run`. Each phase leaves to the later ones what it made.
class RunCall {
 public:
  RunCall(const Registry& registry, const RunCommandOptions& options, const std::string& command_line)
      : registry_(registry), options_(options), command_line_(command_line) {}

  /// Returns an ExitCode, or minus the signal that interrupted the trials.
  int Do() {
    Parse();
    Check();
    Load();
    OpenSession();
    if (options_.plan) return ShowPlan();
    Execute();
    return Report();
  }

 private:
  // -------------------------------------------------------------------- parse ----

  /// What the options mean together, whatever the names among them mean.
  void Parse() {
    if (!options_.ldbc.empty()) {
      if (!options_.graph.empty()) {
        Throw<UsageError>("GRAPH {} and --ldbc {}: give one of the two", options_.graph, options_.ldbc);
      }
      options_.graph = options_.ldbc;
      const bool by_name = HasResultSuffix(options_.output, ".npy") || HasResultSuffix(options_.output, ".json");
      if (options_.output_format.empty() && !by_name) options_.output_format = "ldbc";
    }
    if (options_.graph.empty()) throw UsageError("GRAPH is required; see `chatty run --help`");
    if (options_.output == "-" && options_.json == "-") {
      throw UsageError("--output and --json cannot both go to standard output");
    }
    if (options_.plan && (!options_.output.empty() || !options_.trace.empty() || options_.verify)) {
      throw UsageError("--plan runs nothing; leave out --output, --trace and --verify");
    }
    run_ = ParseRunOptions(options_);
    results_.started = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  }

  // -------------------------------------------------------------------- check ----

  /// Everything that can be refused before a long load, and on any number of devices: names, files, and what the program
  /// does not take.
  void Check() {
    partitioner_ = MakePartitioner(options_.partition);
    CheckComm(run_.comm, DeviceKind::kHost, 1);
    CheckFiles();
    selection_ = ParseDevices(options_.devices);
    CheckParts(*partitioner_, static_cast<PartId>(selection_.indices.size()),
               fmt::format("{} devices", selection_.indices.size()));
    program_ = &FindProgram(registry_, options_.program, selection_.kind, options_.parameters.precision);
    if (!options_.ldbc.empty()) {
      results_.ldbc = TakeLdbc(options_.ldbc, *program_, options_.parameters, options_.load);
      RefuseOutputs(options_, "the graph's", results_.ldbc->properties.vertex_path);
      RefuseOutputs(options_, "the graph's", results_.ldbc->properties.edge_path);
    }
    if (const std::optional<int> shared = SharedGpu(selection_)) {
      Log().warn("several devices share cuda:{}: the answer is that of as many GPUs, the time is not", *shared);
    }
    run_.links = LinkMask::Parse(options_.links, selection_.indices.size());
    CheckRunOptions(run_, selection_);
    CheckParameters(*program_, options_.parameters);
    results_.data = VertexDataFiles(*program_, options_.parameters);
    for (const DataFile& file : results_.data) RefuseOutputs(options_, "--vertex-data", file.path);
    program_->CheckOptions(options_.parameters.value, run_, MinDevices());
    if (options_.verify) CheckVerifier(*program_, options_.parameters.value, "run it without --verify");
    recording_.emplace(options_, command_line_);
    run_.trace = recording_->trace();
  }

  /// As few devices as KeepWhatPays may leave.
  std::size_t MinDevices() const { return options_.devices == "auto" ? 1 : selection_.indices.size(); }

  void CheckFiles() const {
    RefuseSameFile("--output", options_.output, "--json", options_.json);
    RefuseSameFile("--trace", options_.trace, "--output", options_.output);
    RefuseSameFile("--trace", options_.trace, "--json", options_.json);
    RefuseOutputs(options_, "the graph", options_.graph);
    if (IsPartFilePath(options_.partition)) RefuseOutputs(options_, "--partition", options_.partition);
    if (options_.trace == "-") throw UsageError("--trace -: a trace goes to a file; name one");
    TakeInterrupts();  // no thread has been started yet
    RefuseOtherSuffix("--output", options_.output,
                      "results are lines of text (.txt), a NumPy array (.npy) or JSON (.json); --output-format chooses one "
                      "whatever the name",
                      {".npy", ".json"}, /*decided=*/!options_.output_format.empty());
    RefuseOtherSuffix("--trace", options_.trace, "a trace is JSON (.json)", {".json"});
    PrepareOutput(options_.output);
    PrepareJson(options_.json);
    PrepareOutput(options_.trace);
  }

  // --------------------------------------------------------------------- load ----

  /// Opens the devices and reads the graph and the program's data. GPUs open while a graph is mapped, which takes as long;
  /// any other graph waits for what is known of its size.
  void Load() {
    const bool gpus = selection_.kind == DeviceKind::kCuda;
    const std::optional<GraphPeek> peek = Peek(options_.graph, options_.load);
    const bool mapped = gpus && peek && peek->format == GraphFormat::kBinary && peek->compression == Compression::kNone &&
                        options_.load.weights == "file" && !options_.load.read.symmetrise;
    options_.load.read.in_place = gpus;
    std::future<std::vector<std::unique_ptr<Device>>> opening =
        std::async(mapped ? std::launch::async : std::launch::deferred, [&] {
          const Stopwatch watch;
          auto opened = OpenDevices(selection_, options_.load.read.threads);
          results_.open_ms = watch.ms();
          return opened;
        });
    const auto open = [&] {
      const Span span(ProcessTrack(run_.trace), nullptr, kOpenDevices);
      devices_ = opening.get();
      RefuseTooLarge(options_, *program_, peek, devices_, run_, mapped);
    };
    if (!mapped) open();
    {
      const Span span(ProcessTrack(run_.trace), nullptr, kLoad);
      loaded_.emplace(cli::Load(options_.graph, options_.load));
    }
    if (mapped) open();
    results_.weighted = UsesWeights(*program_, graph(), options_.parameters.value, run_);
    results_.devices_why = KeepWhatPays(options_, *program_, graph(), run_, devices_);
    parameters_ = ResolveParameters(*program_, graph(), options_.parameters, options_.seed);
    if (parameters_.source) ChooseSource(0);
  }

  void ChooseSource(std::uint32_t trial) {
    const VertexId source = parameters_.source->Pick(graph(), trial);
    parameters_.values["source"] = fmt::format("{}", source);
    results_.sources.push_back(source);
  }

  // --------------------------------------------------------------------- plan ----

  /// Divides the graph among the devices.
  void OpenSession() {
    SessionOptions session;
    session.partitioner = std::move(partitioner_);
    session.partition_fallback = options_.partition_fallback;
    session.seed = options_.seed;
    session.threads = options_.load.read.threads;
    session.bind = options_.bind == "auto";
    session.trace = run_.trace;
    session.memory_limit = options_.memory_limit;
    session.host_memory_limit = options_.load.host_memory_limit;
    phase_.emplace("partitioning");
    session.on_phase = [this](std::string_view begun) { phase_->Begin(begun); };
    session_.emplace(graph(), std::move(devices_), session);
  }

  /// Calls body() for what checks the program on the graph, whose refusals name the files: all else
  /// has been checked, and the graph has, say, negative weights.
  template <class Body>
  auto OnGraph(Body&& body) const {
    try {
      return body();
    } catch (const UsageError& error) {
      std::string data;
      for (const DataFile& file : results_.data) data += fmt::format(" with {}={}", file.info.name, file.path);
      Throw<UsageError>("{}{}: {}", options_.graph, data, error.what());
    }
  }

  /// `--plan`: the run ends before it begins.
  int ShowPlan() {
    run_.vertex_data = ReadVertexData(results_.data, graph());
    const RunPlan plan =
        OnGraph([&] { return program_->Plan(*session_, parameters_.values, options_.parameters.value, run_); });
    phase_->Finish();
    if (!options_.json.empty()) WritePlan(options_, *program_, *loaded_, plan);
    if (options_.json != "-") {
      PrintReport(fmt::format("{} on {}\n{}", program_->name(),
                              DescribeGraph(graph(), results_.weighted ? "" : program_->name()), Describe(plan)),
                  /*aside=*/false);
    }
    return kSuccess;
  }

  // ------------------------------------------------------------------ execute ----

  void Execute() {
    Prepare();
    recording_->Start();
    interrupt_->Begin();
    for (std::uint32_t trial = 0; trial < options_.trials; ++trial) {
      RunTrial(trial);
      if (interrupt_->signal() != 0) break;
    }
    interrupt_->End();
    results_.signal = interrupt_->signal();
    if (parameters_.source && !parameters_.source->random()) results_.sources.resize(1);
    results_.parameters = parameters_.values;
    results_.limit_reason = program_->LimitReason(parameters_.values);
    results_.devices_advice = AdviceOfHostDevices(*program_, graph(), *session_, results_.plan);
    results_.value = program_->OutputShape(graph(), options_.parameters.value).name;
  }

  void Prepare() {
    interrupt_.emplace();
    run_.stop = interrupt_->token();
    const double before_prepare = session_->partition_ms() + session_->upload_ms();
    const Stopwatch prepare_watch;
    phase_->Begin("preparing");
    run_.vertex_data = ReadVertexData(results_.data, graph());
    if (phase_->shown()) {
      run_.on_round = [this](const RoundProgress& round) { phase_->ShowRound(round.rounds, round.active, round.change); };
      run_.reports_each_round = false;  // the plan is the one that --plan prints
    }
    job_ = OnGraph([&] { return program_->Prepare(*session_, parameters_.values, options_.parameters.value, run_); });
    results_.plan = job_->plan();
    results_.prepare_ms =
        std::max(0.0, prepare_watch.ms() - (session_->partition_ms() + session_->upload_ms() - before_prepare));
    results_.partition_ms = session_->partition_ms();
    results_.upload_ms = session_->upload_ms();
  }

  void RunTrial(std::uint32_t trial) {
    if (parameters_.source && trial > 0) {
      ChooseSource(trial);
      if (parameters_.source->random()) job_->Set("source", parameters_.values["source"]);
    }
    phase_->Begin(options_.trials > 1 ? fmt::format("trial {} of {}", trial + 1, options_.trials) : "running");
    const SpanKind& kind = parameters_.source ? kTrialFrom : kTrial;
    const SpanArguments names{trial, parameters_.source ? graph().id(results_.sources.back()) : 0};
    if (run_.trace != nullptr) run_.trace->NameRuns(kind, names);
    const Span span(ProcessTrack(run_.trace), nullptr, kind, names);
    try {
      Account(results_, job_->Execute());
      if (trial == 0) results_.first_answer_ms = since_begin_.ms();
    } catch (const std::exception& error) {
      ReportFailure(error);
      throw;
    }
  }

  // ------------------------------------------------------------------- report ----

  /// A run that failed has a record, too.
  void ReportFailure(const std::exception& error) {
    phase_->Finish();
    results_.error = error.what();
    Account(results_, job_->statistics());
    results_.parameters = parameters_.values;
    results_.value = program_->OutputShape(graph(), options_.parameters.value).name;
    try {
      if (!options_.json.empty()) WriteRecord(options_, *program_, *loaded_, *session_, results_);
    } catch (const std::exception& other) {  // what made the run fail is the news
      Log().warn("the record of the failed run was not written: {}", other.what());
    }
    // After a deadline a kernel may hold its GPU for good, and whatever gives back what was allocated there waits for it.
    if (selection_.kind == DeviceKind::kCuda && dynamic_cast<const TimeoutError*>(&error) != nullptr) {
      PrintError(fmt::format("chatty: error: {}\n", error.what()));
      EndAtOnce(kRunFailed);
    }
  }

  /// Whether --max-rounds ended the run, whose values are then not verified.
  bool cut() const { return results_.signal == 0 && results_.statistics.ended == Ended::kMaxRounds; }

  int Report() {
    TakeValues();
    phase_->Finish();
    recording_->Write();
    if (!options_.json.empty()) WriteRecord(options_, *program_, *loaded_, *session_, results_);
    // Whatever owns standard output has it alone.
    const bool aside = options_.output == "-";
    if (aside || options_.json != "-") {
      PrintReport(RunSummary(options_, *program_, *loaded_, *session_, results_, /*colours=*/!aside), aside);
    }
    const std::string why = WhyNotFinal(results_);
    if (!why.empty() && (results_.signal != 0 || !options_.output.empty())) {
      PrintReport(fmt::format("chatty: {}{}\n", why, options_.verify && results_.signal != 0 ? "; not verified" : ""),
                  /*aside=*/true);
    }
    if (options_.verify && cut()) {
      PrintReport("chatty: not verified: --max-rounds ended the run before it converged\n", /*aside=*/true);
    }
    if (results_.signal != 0) return -results_.signal;
    if (results_.verdict && !results_.verdict->passed) {
      ReportWrongAnswer(results_.verdict->message);
      return kWrongAnswer;
    }
    return kSuccess;
  }

  /// Writes and verifies the values of the last trial, where that was asked for, and sums them up.
  void TakeValues() {
    const bool verify = options_.verify && results_.signal == 0 && !cut();
    const bool total = program_->has_total() && results_.value == program_->values().front() &&
                       results_.statistics.converged && results_.signal == 0;
    if (options_.output.empty() && !verify && !total) return;
    ErasedValues values;
    {
      const Span span(ProcessTrack(run_.trace), &results_.output_ms, kWriteValues);
      phase_->Begin(options_.output.empty() ? "copying out" : "writing the output");
      values = job_->Output();
      if (!options_.output.empty()) {
        WriteValues(options_.output, graph(), values, {options_.output_format, std::string(program_->name())});
      }
    }
    if (total) results_.total = program_->Total(values);
    if (verify) {
      const Span span(ProcessTrack(run_.trace), &results_.verify_ms, kVerify);
      phase_->Begin("verifying");
      results_.verdict = program_->Verify(graph(), results_.parameters, values, &results_.statistics, run_.vertex_data);
    }
  }

  const Graph& graph() const { return loaded_->graph; }

  const Stopwatch since_begin_;
  const Registry& registry_;
  RunCommandOptions options_;
  const std::string& command_line_;
  RunResults results_;
  // In the order in which they are made: each may refer to those before it.
  std::shared_ptr<const Partitioner> partitioner_;
  DeviceSelection selection_;
  const RegisteredProgram* program_ = nullptr;
  RunOptions run_;
  std::optional<TraceOutput> recording_;
  std::vector<std::unique_ptr<Device>> devices_;  // until the session has them
  std::optional<LoadedGraph> loaded_;
  ResolvedParameters parameters_;
  std::optional<PhaseLine> phase_;
  std::optional<Session> session_;
  std::optional<StopOnInterrupt> interrupt_;
  std::unique_ptr<RegisteredJob> job_;
};

}  // namespace

int RunCommand(const Registry& registry, const RunCommandOptions& options, const std::string& command_line) {
  return RunCall(registry, options, command_line).Do();
}

}  // namespace chatty::cli
