// The order of the decisions: what the options say of any run, what each program's traits allow, what fits into memory, and
// last what depends on the graph and its parts, which are buckets, fused engines and transports.
#include "chatty/framework/run_plan.h"

#include <fmt/ranges.h>
#include <omp.h>

#include <algorithm>
#include <utility>

#include "chatty/core/bytes.h"
#include "chatty/core/error.h"
#include "chatty/framework/advice.h"
#include "chatty/framework/bucket_plan.h"
#include "chatty/framework/session.h"
#include "chatty/framework/spans.h"

namespace chatty {
namespace {

constexpr NamedEngine kEngines[] = {{EngineKind::kBsp, "bsp", Execution::kBsp},
                                    {EngineKind::kAsync, "async", Execution::kAsync},
                                    {EngineKind::kOperators, "operators", std::nullopt}};

/// Null of a program on operators.
const ProgramTraits* TraitsOf(const ProgramOfRun& program) {
  return program.program != nullptr ? &program.program->traits() : nullptr;
}

/// Throws UsageError with the reason if an asynchronous engine cannot run the program.
void CheckAsynchronous(const ProgramTraits& traits) {
  if (!traits.asynchronous) {
    Throw<UsageError>(
        "execution async: this program {}, so it cannot run asynchronously; use auto or bsp. If its values move one way and "
        "late or repeated messages do no harm, declare kSafety = kMonotone",
        traits.safety == Safety::kSynchronous ? "is kSynchronous"
        : traits.every_round                  ? "is active in every round"
        : traits.has_end_round                ? "decides after each round, by EndRound"
                                              : "is kMonotone and sums its messages");
  }
  if (!traits.can_push) {
    throw UsageError(
        "execution async: messages are pushed, and this program's are wider than the 8 bytes that hardware combines "
        "atomically; use auto or bsp");
  }
}

/// The directions of a program with these traits. Throws UsageError for one that it does not support.
BuiltDirections DirectionsOf(const ProgramTraits& traits, Direction asked, bool async) {
  if (asked == Direction::kPush && !traits.can_push) {
    throw UsageError(
        "--direction push: this program is pulled, because it collects all messages or its messages are wider than the 8 "
        "bytes that hardware combines atomically; use pull or auto");
  }
  if (async && asked == Direction::kPull) {
    throw UsageError("--direction pull: the asynchronous engine pushes; use push or auto, or execution bsp");
  }
  BuiltDirections built;
  built.push = traits.can_push && asked != Direction::kPull;
  built.pull = !traits.can_push || asked != Direction::kPush;
  // By default, a program that is active in every round is pulled: its forward edges would never be read.
  if (traits.every_round && asked == Direction::kAuto) built.push = false;
  if (async) built.pull = false;
  return built;
}

/// Whether each two devices may address each other's memory, over links that may be used.
bool AddressEachOther(const Session& session, const LinkMask& links) {
  for (std::size_t a = 0; a < session.device_count(); ++a) {
    for (std::size_t b = 0; b < session.device_count(); ++b) {
      if (a != b && (!links.Allows(a, b) || !session.device(a).AllowAccessBy(session.device(b)))) return false;
    }
  }
  return true;
}

/// Whether each device's atomic operations reach the memory of each other one. Such links move 16 bytes at once, too.
bool HaveNativeAtomics(const Session& session) {
  for (std::size_t a = 0; a < session.device_count(); ++a) {
    for (std::size_t b = 0; b < session.device_count(); ++b) {
      if (a != b && !session.device(a).HasNativeAtomics(session.device(b))) return false;
    }
  }
  return true;
}

/// Why resident kernels of a session's GPUs do not send each other messages; empty if they do. All have to be resident at
/// once, and an entry of 16 bytes is one store.
std::string_view WhyNotResidentTogether(const Session& session, const LinkMask& links) {
  for (std::size_t a = 0; a < session.device_count(); ++a) {
    std::size_t sharing = 0;
    for (std::size_t b = 0; b < session.device_count(); ++b) {
      sharing += session.device(a).index() == session.device(b).index() ? 1 : 0;
    }
    if (sharing > static_cast<std::size_t>(session.device(a).info().multiprocessors)) {
      return "more devices share a GPU than it has multiprocessors";
    }
  }
  if (!AddressEachOther(session, links)) return "not every two devices address each other's memory";
  if (!HaveNativeAtomics(session)) return "not every link between two devices executes atomics";
  return "";
}

/// Why the devices do not run the program's fused engine together; empty if they do.
std::string_view WhyNotTogether(const Session& session, const ProgramTraits& traits, const RunOptions& options,
                                const ProgramPlan& plan) {
  if (plan.engine != EngineKind::kAsync) return "each device has a part of the graph only";
  const bool gpu = session.device(0).kind() == DeviceKind::kCuda;
  const std::optional<FusedTraits>& engine = gpu ? traits.gpu_fused : traits.host_fused;
  if (!engine || !engine->together) return "the program has no such engine for parts of a graph on this kind of device";
  if (!options.comm.chooses() || options.transport_factory) return "a transport is asked for";
  if (options.trace != nullptr) return "the trace has spans of the host-driven engine";
  if (options.explain) return "the buffers of the host-driven engine are to be explained";
  if (!plan.rows.fuses) return "rounds are asked for, by execution, direction or max_rounds";
  if (traits.reads_round) return "its messages or updates depend on the round";
  if (!gpu && traits.carries) return "values are carried along, which host devices do better driven by the host";
  if (traits.orders && !(plan.buckets.fused_width < kInfinity<double>)) return "there are no buckets";
  if (gpu) {
    if (const std::string_view why = WhyNotResidentTogether(session, options.links); !why.empty()) return why;
  } else if (!AddressEachOther(session, options.links)) {
    return "not every two devices address each other's memory";
  }
  return options.relax_together ? "" : "the graph has few levels, whose messages go in buffers";
}

/// As WhyNotTogether, before a program that `async` runs has a plan.
std::string_view WhyHostDriven(const Session& session, const ProgramTraits& traits, const RunOptions& options) {
  ProgramPlan plan = PlanProgram(&traits, options, session.device_count());
  plan.buckets = PlanBuckets(session.graph(), traits, options, session.device(0).kind(), session.device_count());
  return WhyNotTogether(session, traits, options, plan);
}

/// Whether an `async` program of a run has a fused engine of all devices: else its memory is not needed.
bool HasTogether(const Session& session, const RunOptions& options, const ProgramsOfRun& programs) {
  for (const ProgramOfRun& program : programs(options, session.device_count())) {
    const ProgramTraits* const traits = TraitsOf(program);
    if (traits != nullptr && WhyHostDriven(session, *traits, program.options).empty()) return true;
  }
  return false;
}

/// Why the devices do not make rounds together; empty if they do. `host_driven`: why no fused engine has the whole run.
/// `no_room`: RunOptions::rounds_together is false because memory has no room for such rounds.
std::string_view WhyNotRoundsTogether(const Session& session, const ProgramTraits& traits, const RunOptions& options,
                                      const ProgramPlan& plan, std::string_view host_driven, bool no_room) {
  if (plan.engine != EngineKind::kBsp || session.device(0).kind() != DeviceKind::kCuda) return host_driven;
  if (!traits.gpu_fused || !traits.gpu_fused->rounds_together) return "the program has no such engine for parts of a graph";
  if (!options.comm.chooses() || options.transport_factory) return "a transport is asked for";
  if (options.trace != nullptr) return "the trace has a span for each round";
  if (options.explain) return "the buffers of rounds are to be explained";
  if (!plan.directions.push) return "rounds only pull, and a fused engine needs forward edges";
  if (!options.rounds_together) return no_room ? "memory has no room for such rounds" : "the host is to drive each round";
  return WhyNotResidentTogether(session, options.links);
}

/// Whether a run under `auto` should be `async`: as a fused run of all devices, or on hosts also driven by the host. GPUs
/// with transports between them keep rounds, whose kernels and exchanges are fewer. Programs that start from another's
/// values and need rounds have them either way, and do not decide. Without a reason where there is no choice.
/// RunOptions::on_round makes no difference.
EngineAdvice AdviseRun(Session& session, const RunOptions& options, const ProgramsOfRun& programs) {
  if (options.execution != Execution::kAuto || session.device_count() < 2) return {};
  RunOptions async = options;
  async.execution = Execution::kAsync;
  if (!RowsOf(async).fuses) return {};
  EngineTask task{.kind = session.device(0).kind(), .devices = session.device_count()};
  const std::vector<ProgramOfRun> asked = programs(options, task.devices);
  const ProgramTraits* const first = TraitsOf(asked.at(0));
  if (first == nullptr || !first->asynchronous || !first->can_push) return {};
  std::vector<ProgramOfRun> all;
  try {
    all = programs(async, task.devices);
  } catch (const UsageError&) {  // another program of a sequence has rounds alone
    return {};
  }
  for (const ProgramOfRun& program : all) {
    if (program.options.execution != Execution::kAsync) continue;
    const ProgramTraits& traits = *TraitsOf(program);
    const bool sums_at_end = traits.safety == Safety::kAccumulative && traits.has_measure;  // for Output
    if (traits.has_input || traits.reads_round || (traits.output_reads_round && !sums_at_end)) return {};
    if (traits.orders && options.delta == kInfinity<double>) return {};  // async lives by the order
    if (task.kind == DeviceKind::kCuda) {
      const std::string_view host_driven = WhyHostDriven(session, traits, program.options);
      if (!host_driven.empty()) return {false, fmt::format("the host would drive async: {}", host_driven)};
    }
    RunOptions rounds = program.options;
    rounds.execution = Execution::kBsp;
    const BucketPlan buckets = PlanBuckets(session.graph(), traits, rounds, task.kind, task.devices);
    task.buckets = task.buckets || buckets.width < kInfinity<double>;
    task.carries = task.carries || (traits.carries && traits.weights == WeightKind::kNone);
    task.accumulates = task.accumulates || traits.safety == Safety::kAccumulative;
  }
  return AdviseEngine(session.graph(), session.partition(), task);
}

/// Whether kernels make rounds of any width, if they need not be reported. Those of several GPUs make narrow rounds, too,
/// and decide alike only if they compute alike.
bool MakesWideRounds(const Session& session, const ProgramTraits& traits, const ProgramPlan& plan) {
  const int architecture = session.device(0).info().compute_capability;
  for (std::size_t d = 1; d < session.device_count(); ++d) {
    if (session.device(d).info().compute_capability != architecture) return false;
  }
  return (session.device_count() == 1 || plan.rows.rounds_together) && session.device(0).kind() == DeviceKind::kCuda &&
         traits.gpu_fused && traits.gpu_fused->wide_rounds && plan.engine == EngineKind::kBsp && plan.directions.push;
}

/// Decides FusedUse on several devices: the whole run together, or rounds that they make together. `no_room`: as above.
void PlanFusedOfSeveral(const Session& session, const ProgramTraits& traits, const RunOptions& options, bool no_room,
                        ProgramPlan& plan) {
  const std::string_view host_driven = WhyNotTogether(session, traits, options, plan);
  plan.rows.together = host_driven.empty();
  plan.rows.rounds_together = false;
  if (!plan.rows.together) {
    plan.fused_why = WhyNotRoundsTogether(session, traits, options, plan, host_driven, no_room);
    plan.rows.rounds_together = plan.fused_why.empty();
    if (!plan.rows.rounds_together) return;
  }
  plan.fused = plan.rows.together ? FusedUse::kTogether : FusedUse::kBetweenRounds;
  plan.fused_why = "the devices address each other's memory";
}

/// Decides FusedUse on one device.
void PlanFusedOfOne(const Session& session, const ProgramTraits& traits, const RunOptions& options, bool no_room,
                    ProgramPlan& plan) {
  const auto none = [&](std::string_view why) { plan.fused_why = why; };
  plan.rows.together = plan.rows.rounds_together = false;
  const bool gpu = session.device(0).kind() == DeviceKind::kCuda;
  const std::optional<FusedTraits>& engine = gpu ? traits.gpu_fused : traits.host_fused;
  if (!engine) return none("the program has no such engine on this kind of device");
  if (gpu && !plan.directions.push) return none("rounds only pull, and a fused engine needs forward edges");
  if (!engine->keeps_rounds && !plan.rows.fuses) {
    constexpr std::string_view kAsked = "rounds are asked for, by execution, direction or max_rounds";
    const std::string_view why = WhyNotRoundsTogether(session, traits, options, plan, kAsked, no_room);
    plan.rows.rounds_together = why.empty();
    if (!why.empty()) return none(why);
    plan.fused = FusedUse::kBetweenRounds;
    plan.fused_why = "the device has the whole graph";
    return;
  }
  if (options.trace != nullptr && !engine->traces) return none("the trace has a span for each round");
  const bool any_order =
      engine->any_order && (gpu || !traits.carries) && plan.rows.fuses && plan.buckets.fused_width < kInfinity<double>;
  if (engine->needs_buckets && traits.orders && !(plan.buckets.width < kInfinity<double>)&&!any_order)
    return none("there are no buckets");
  const bool async = plan.engine == EngineKind::kAsync;
  if (async && !engine->asynchronous) return none("it works in rounds");
  plan.fused = async ? FusedUse::kWholeRun : FusedUse::kBetweenRounds;
  plan.fused_why = "the device has the whole graph";
  if (async || !gpu || !traits.carries) return;
  const std::string why = AdviseCarrying(session.graph());
  plan.fused_at_once = !why.empty();
  if (plan.fused_at_once) plan.fused_why += fmt::format("; from the first frontier on: {}", why);
}

/// Decides who makes rounds and which part of the run a fused engine has.
void PlanFused(const Session& session, const ProgramTraits& traits, const RunOptions& options, bool no_room,
               ProgramPlan& plan) {
  if (session.device_count() > 1) {
    PlanFusedOfSeveral(session, traits, options, no_room, plan);
  } else {
    PlanFusedOfOne(session, traits, options, no_room, plan);
  }
  plan.rows.wide_rounds = plan.rows.wide_rounds && MakesWideRounds(session, traits, plan);
}

/// The transports of a program on several devices.
CommPlan PlanPaths(Session& session, const ProgramOfRun& program) {
  const ProgramMemory& needs = program.memory;
  const DeviceKind kind = session.device(0).kind();
  const CostModel& costs = session.Costs(program.options.links);
  const std::span<const Subgraph> parts =
      session.Parts(needs.edges, needs.weights, needs.forward, needs.reverse, needs.own_begins);
  if (program.program != nullptr) return PlanComm(parts, needs, program.options, kind, costs);
  std::vector<PartShape> shapes;
  for (const Subgraph& part : parts) shapes.push_back(ShapeOf(part));
  return PlanExchanges(ExchangeCapacities(needs, shapes), program.options, kind, costs);
}

std::string DescribeDirections(const BuiltDirections& built) {
  return built.push && built.pull ? "push or pull, whichever is predicted to cost less" : built.push ? "push" : "pull";
}

std::string DescribePayload(const std::optional<std::size_t>& bytes) {
  return !bytes ? "none" : *bytes == 0 ? "a bit" : FormatBytes(*bytes);
}

std::string DescribeBuckets(const BucketPlan& buckets, DeviceKind kind) {
  std::string text = buckets.width < kInfinity<double>
                         ? fmt::format("width {:.4g}{}", buckets.width, buckets.adapts ? ", adapted during the run" : "")
                         : std::string("none in rounds");
  if (kind == DeviceKind::kCuda && buckets.fused_width < kInfinity<double>) {
    text += fmt::format("; width {:.4g}{} in a resident kernel", buckets.fused_width,
                        buckets.fused_adapts ? fmt::format(" to {:.4g}", buckets.fused_max_width) : "");
  }
  return text;
}

std::string DescribePaths(const CommPlan& comm) {
  if (comm.paths.empty()) return "none";
  const std::string_view broadcasts = comm.broadcasts == Broadcasts::kAlways ? ", by broadcasts"
                                      : comm.broadcasts == Broadcasts::kChosen
                                          ? ", values by broadcasts where these are faster"
                                          : "";
  return fmt::format("{}{}", fmt::join(comm.paths, ", "), broadcasts);
}

}  // namespace

std::span<const NamedEngine> Engines() { return kEngines; }

std::string_view EngineName(EngineKind engine) {
  for (const NamedEngine& known : kEngines) {
    if (known.kind == engine) return known.name;
  }
  throw InternalError("an unknown engine");
}

std::string_view FusedUseName(FusedUse use) {
  switch (use) {
    case FusedUse::kNone:
      return "none";
    case FusedUse::kBetweenRounds:
      return "between rounds";
    case FusedUse::kWholeRun:
      return "whole run";
    case FusedUse::kTogether:
      return "whole run, together";
  }
  throw InternalError("an unknown use of a fused engine");
}

RunOptions RunPlan::Fitted(RunOptions options) const {
  options.execution = execution;
  options.records = records;
  options.relax_together = options.relax_together && !wide_frontiers;
  options.rounds_together = rounds_together;
  return options;
}

void CheckRunOptions(const RunOptions& options, DeviceKind kind, std::size_t devices) {
  CheckComm(options.comm, kind, devices);
  CheckSlots(options.slots);
  if (!(options.delta >= 0)) {
    Throw<UsageError>("delta {}: the width of buckets is a positive number, kAutoDelta, or infinite for none",
                      options.delta);
  }
  const int threads = omp_get_thread_limit();
  if (devices > 1 && devices > static_cast<std::size_t>(std::max(threads, 0))) {
    Throw<CapabilityError>("{} devices need as many OpenMP threads, but no more than {} are granted; unset OMP_THREAD_LIMIT",
                           devices, threads);
  }
}

void CheckRunOptions(const RunOptions& options, const DeviceSelection& devices) {
  CheckRunOptions(options, devices.kind, devices.indices.size());
  CheckComm(options.comm, devices);
}

ProgramPlan PlanProgram(const ProgramTraits* traits, const RunOptions& options, std::size_t devices) {
  const bool async = options.execution == Execution::kAsync;
  ProgramPlan plan;
  plan.rows = RowsOf(options);
  if (traits == nullptr) {
    if (async) {
      throw UsageError("execution async: this program is written on operators, which have no asynchronous engine; use auto");
    }
    plan.engine = EngineKind::kOperators;
    plan.rows.wide_rounds = false;
    plan.why = "the program is written on operators";
    plan.fused_why = "the program is written on operators";
    return plan;
  }
  if (async) CheckAsynchronous(*traits);
  const bool in_rounds = traits->safety == Safety::kAccumulative && devices == 1;
  plan.engine = async && !in_rounds ? EngineKind::kAsync : EngineKind::kBsp;
  plan.why = async && in_rounds                      ? "on one device an accumulative program runs in rounds"
             : options.execution == Execution::kAuto ? "the default"
                                                     : "asked for";
  const bool runs_async = plan.engine == EngineKind::kAsync;
  plan.directions = DirectionsOf(*traits, options.direction, runs_async);
  if (plan.directions.push) plan.message_payload = runs_async ? traits->late_payload : traits->message_payload;
  if (plan.directions.pull) plan.shared_payload = traits->shared_payload;
  if (runs_async) plan.slots = options.slots;
  return plan;
}

void CheckProgramOptions(const ProgramOfRun& program, std::size_t devices) {
  static_cast<void>(PlanProgram(TraitsOf(program), program.options, devices));
}

RunPlan PlanRun(Session& session, const RunOptions& asked, const ProgramsOfRun& programs) try {
  const Span span(ProcessTrack(asked.trace), nullptr, spans::kPlan);
  CheckRunOptions(asked, SelectionOf(session.devices()));
  const std::size_t devices = session.device_count();
  RunOptions options = asked, unrecorded = asked;
  unrecorded.trace = nullptr;
  unrecorded.explain = false;
  std::vector<std::string_view> recorders;  // that take rounds of the host
  if (asked.explain) recorders.emplace_back("explain records each message of a round");
  if (asked.trace != nullptr) recorders.emplace_back("the trace has a span for each round");
  EngineAdvice advice = AdviseRun(session, unrecorded, programs);
  if (advice.async && !recorders.empty()) {
    advice = {false, fmt::format("{}; auto prefers async otherwise: {}", fmt::join(recorders, ", "), advice.why)};
  }
  if (advice.async) options.execution = Execution::kAsync;
  const bool wide = !advice.async && devices > 1 && RowsOf(asked).together && HasWideFrontiers(session.graph());
  if (wide) options.relax_together = false;
  if (devices > 1 && options.execution == Execution::kAsync && options.relax_together) {
    options.relax_together = HasTogether(session, options, programs);
  }
  for (const ProgramOfRun& program : programs(options, devices)) CheckProgramOptions(program, devices);
  const auto needs_of = [&](const RunOptions& run) {
    std::vector<ProgramMemory> needs;
    for (ProgramOfRun& program : programs(run, devices)) needs.push_back(std::move(program.memory));
    return needs;
  };
  FittedMemory fitted;
  try {
    fitted = session.FitMemory(options, needs_of);
  } catch (const OutOfMemoryError&) {
    if (!advice.async) throw;
    advice = {false, "auto prefers async, which does not fit into memory"};  // rounds may need less
    options = asked;
    fitted = session.FitMemory(options, needs_of);
  }
  RunPlan plan;
  plan.kind = session.device(0).kind();
  plan.wide_frontiers = wide;
  for (Device* const device : session.devices()) plan.devices.push_back(device->label());
  plan.partition = session.partition().name();
  plan.comm = options.comm;
  plan.links = options.links;
  plan.execution = fitted.options.execution;
  plan.records = fitted.options.records;
  plan.rounds_together = fitted.options.rounds_together;
  plan.memory = std::move(fitted.devices);
  for (const ProgramOfRun& program : programs(fitted.options, devices)) {
    const ProgramTraits* const traits = TraitsOf(program);
    ProgramPlan one = PlanProgram(traits, program.options, devices);
    one.name = program.name;
    one.frontier = FrontierOf(plan.kind);
    if (traits != nullptr) {
      one.buckets = PlanBuckets(session.graph(), *traits, program.options, plan.kind, devices);
      PlanFused(session, *traits, program.options, plan.rounds_together != options.rounds_together, one);
      if (!advice.why.empty() && traits->asynchronous) one.why = advice.why;  // of programs that decide
      if (plan.execution != options.execution) {
        one.why = "a fused run does not fit into memory";
        if (one.fused == FusedUse::kNone) one.fused_why = "it does not fit into memory";
      }
    }
    if (devices > 1) one.comm = PlanPaths(session, program);
    plan.programs.push_back(std::move(one));
  }
  return plan;
} catch (const std::bad_alloc&) {
  ThrowOutOfHostMemory("planning a run");
}

RunPlan PlanRun(Session& session, std::shared_ptr<const ErasedProgram> program, const RunOptions& options) {
  return PlanRun(session, options, [&](const RunOptions& run, std::size_t devices) {
    return std::vector<ProgramOfRun>{{"", program, MemoryOf(program, run, devices), run}};
  });
}

std::string Describe(const RunPlan& plan) {
  std::string text = fmt::format("devices     {}, partition {}\n", fmt::join(plan.devices, ", "), plan.partition);
  const auto line = [&](std::string_view name, const std::string& value) {
    text += fmt::format("  {:<10}{}\n", name, value);
  };
  for (const ProgramPlan& program : plan.programs) {
    text += fmt::format("{:<12}{}: {}\n", program.name.empty() ? "program" : program.name, EngineName(program.engine),
                        program.why);
    if (program.engine != EngineKind::kOperators) {
      line("direction", DescribeDirections(program.directions));
      line("frontier", fmt::format("a queue below 1/{} of the vertices; a pushed edge counts as {} pulled ones",
                                   program.frontier.queue_share, program.frontier.push_cost));
      line("buckets", DescribeBuckets(program.buckets, plan.kind));
      line("fused", fmt::format("{}: {}", FusedUseName(program.fused), program.fused_why));
      if (program.rows.wide_rounds) line("rounds", "of any width in a resident kernel");
    }
    if (plan.devices.size() < 2) continue;
    if (program.engine != EngineKind::kOperators) {
      line("payload", fmt::format("{} by push, {} by pull; sparse, bitmap or dense, whichever is shortest",
                                  DescribePayload(program.message_payload), DescribePayload(program.shared_payload)));
    }
    line("transport", fmt::format("{}; {} buffers a pair", DescribePaths(program.comm), program.slots));
  }
  for (std::size_t d = 0; d < plan.memory.size(); ++d) {
    text += fmt::format("{:<12}{}\n", plan.devices[d], Describe(plan.memory[d]));
  }
  return text;
}

}  // namespace chatty
