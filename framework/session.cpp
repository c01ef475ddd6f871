#include "chatty/framework/session.h"

#include <algorithm>
#include <cstring>
#include <future>
#include <map>
#include <set>
#include <system_error>

#include "chatty/comm/calibration.h"
#include "chatty/comm/placement.h"
#include "chatty/core/affinity.h"
#include "chatty/core/bytes.h"
#include "chatty/core/config.h"
#include "chatty/core/host_memory.h"
#include "chatty/core/parallel.h"
#include "chatty/framework/engines/agreement.h"
#include "chatty/framework/engines/async.h"
#include "chatty/framework/engines/bsp.h"
#include "chatty/framework/spans.h"

namespace chatty {

Session::Session(const Graph& graph, std::string_view devices, const SessionOptions& options)
    : Session(graph, OpenDevices(ParseDevices(devices), options.threads), options) {}

Session::Session(const Graph& graph, std::vector<std::unique_ptr<Device>> devices, const SessionOptions& options) try
    : graph_(&graph), options_(options), devices_(std::move(devices)) {
  if (devices_.empty() || devices_.size() > kMaxDevices) {
    Throw<UsageError>("a session takes 1 to {} devices, not {}", kMaxDevices, devices_.size());
  }
  for (const auto& device : devices_) {
    if (device->kind() != devices_[0]->kind()) {
      throw UsageError("a session's devices are all host devices or all GPUs; a mixture is not supported");
    }
    pointers_.push_back(device.get());
    if (options_.memory_limit > 0) {
      limits_.push_back(std::make_unique<LimitingMemory>(device->memory(), options_.memory_limit, device->label()));
      device->set_memory(limits_.back().get());
    }
  }
  if (options_.bind && !OpenMpPlacesThreads()) {
    const std::vector<CpuPlacement> places = PlaceDevices(pointers_, AllowedCpus());
    for (std::size_t d = 0; d < devices_.size(); ++d) devices_[d]->Place(places[d]);
  }
  if (options_.on_phase) options_.on_phase("partitioning");
  const Span span(ProcessTrack(options_.trace), &partition_ms_, spans::kPartition, {devices_.size()});
  PartitionOptions divide;
  divide.parts = static_cast<PartId>(devices_.size());
  divide.seed = options_.seed;
  divide.threads = options_.threads;
  divide.allow_fallback = options_.partition_fallback;
  if (const std::uint64_t room = options_.host_memory_limit > 0 ? options_.host_memory_limit : AvailableHostMemory();
      room > 0) {
    const std::uint64_t held = options_.host_memory_limit > 0 ? graph.bytes() : 0;
    divide.memory_limit = room > held ? room - held : 1;
  }
  const auto partitioner = options_.partitioner ? options_.partitioner : MakePartitioner(options_.partition);
  partition_ = partitioner->Divide(graph, divide);
} catch (const std::bad_alloc&) {
  ThrowOutOfHostMemory("dividing a graph among devices");
}

PreparedGraphs& Session::Divide(Edges edges, WeightKind weights, bool forward, bool reverse, bool own_begins) try {
  if (graph_->symmetric()) {  // one adjacency serves every need
    edges = Edges::kOut;
    forward = reverse = true;
  }
  const std::tuple key{edges, weights, forward, reverse};
  if (const auto found = graphs_.find(key); found != graphs_.end()) {
    PreparedGraphs& prepared = *found->second;
    if (own_begins && !prepared.own_begins) {
      const Span span(ProcessTrack(options_.trace), &partition_ms_, spans::kSubgraphs, {devices_.size()});
      AddOwnBegins(prepared.subgraphs, options_.threads);
      prepared.own_begins = true;
    }
    return prepared;
  }
  auto fresh = std::make_unique<PreparedGraphs>();
  if (options_.on_phase) options_.on_phase("partitioning");
  const Span span(ProcessTrack(options_.trace), &partition_ms_, spans::kSubgraphs, {devices_.size()});
  SubgraphOptions options;
  options.edges = edges;
  options.weights = weights;
  options.forward = forward;
  options.reverse = reverse;
  options.own_begins = fresh->own_begins = own_begins;
  options.rename = devices_[0]->kind() == DeviceKind::kHost;  // a GPU renames neighbours when it copies the graph
  options.threads = options_.threads;
  fresh->subgraphs = BuildSubgraphs(*graph_, partition_, options);
  return *graphs_.emplace(key, std::move(fresh)).first->second;
} catch (const std::bad_alloc&) {
  ThrowOutOfHostMemory("building the devices' parts of a graph");
}

const PreparedGraphs& Session::Graphs(Edges edges, WeightKind weights, bool forward, bool reverse, bool own_begins) try {
  PreparedGraphs& prepared = Divide(edges, weights, forward, reverse, own_begins);
  if (!prepared.devices.empty()) {
    for (std::size_t d = 0; own_begins && d < devices_.size(); ++d) {
      if (!prepared.devices[d]->LacksOwnBegins()) continue;
      const Span span(ProcessTrack(options_.trace), &upload_ms_, spans::kUpload);
      const BoundTo near_device(devices_[d]->placement().cpus);
      prepared.devices[d]->UpdateOwnBegins();
    }
    return prepared;
  }
  if (options_.on_phase) options_.on_phase("uploading");
  const Span span(ProcessTrack(options_.trace), &upload_ms_, spans::kUpload);
  std::vector<std::unique_ptr<DeviceGraph>> uploaded(devices_.size());
  const auto upload = [&](std::size_t d, int threads) {
    const BoundTo near_device(devices_[d]->placement().cpus);  // the first thread to touch a page determines its node
    uploaded[d] = std::make_unique<DeviceGraph>(*devices_[d], prepared.subgraphs[d], threads);
  };
  if (devices_.size() == 1 || devices_[0]->kind() == DeviceKind::kHost) {
    for (std::size_t d = 0; d < devices_.size(); ++d) upload(d, options_.threads);
  } else {  // each GPU has its own link
    const int each = std::max(1, ThreadCount(options_.threads) / static_cast<int>(devices_.size()));
    std::vector<std::future<void>> uploads;
    for (std::size_t d = 0; d < devices_.size(); ++d) uploads.push_back(std::async(std::launch::async, upload, d, each));
    for (std::future<void>& done : uploads) done.wait();
    for (std::future<void>& done : uploads) done.get();
  }
  prepared.devices = std::move(uploaded);
  if (options_.on_phase) options_.on_phase("preparing");
  return prepared;
} catch (const std::system_error& error) {
  Throw<DeviceError>("no thread could be started to copy a graph to a GPU: {}", error.what());
} catch (const std::bad_alloc&) {
  ThrowOutOfHostMemory("copying a graph to the devices");
}

const CostModel& Session::Costs(const LinkMask& links) {
  const std::string name = links.CanonicalText(devices_.size());
  const auto found = costs_.find(name);
  if (found != costs_.end()) return found->second;
  return costs_.emplace(name, KnownCosts(DiscoverTopology(SelectionOf(pointers_), options_.threads), links)).first->second;
}

std::vector<DeviceMemory> Session::CheckMemory(std::span<const ProgramMemory> programs, const RunOptions& options) try {
  const GraphCounts counts = CountsOf(*graph_);
  const DeviceKind kind = devices_[0]->kind();
  if (graphs_.empty()) {  // an early check, before subgraphs take host memory
    const std::string words = fmt::format("a graph of {} vertices and {} edges (in memory)", counts.vertices, counts.edges);
    CheckBounds({counts, counts, words, graph_->bytes(), /*text=*/false}, programs, pointers_, options.comm,
                {options_.memory_limit, options_.host_memory_limit});
  }
  std::vector<std::span<const Subgraph>> subgraphs;
  std::vector<bool> counted;
  std::set<const PreparedGraphs*> seen, lacking;  // graphs on the devices that still lack own_begins
  std::uint64_t output = 0, data = 0;
  for (const ProgramMemory& program : programs) {
    const PreparedGraphs& graphs =
        Divide(program.edges, program.weights, program.forward, program.reverse, program.own_begins);
    subgraphs.emplace_back(graphs.subgraphs);
    counted.push_back(graphs.devices.empty() && seen.insert(&graphs).second);
    if (program.own_begins) lacking.insert(&graphs);
    output = std::max(output, std::uint64_t{counts.vertices} * program.output_bytes);
    data = std::max(data, std::uint64_t{counts.vertices} * program.data_bytes);
  }
  std::vector<DeviceMemory> needed = MeasureMemory(programs, subgraphs, counted, kind, ThreadsOf(pointers_), options,
                                                   device_count() > 1 ? Costs(options.links) : CostModel());
  for (const PreparedGraphs* graphs : lacking) {
    for (std::size_t d = 0; d < graphs->devices.size(); ++d) needed[d].graph += graphs->devices[d]->OwnBeginsBytes();
  }

  std::uint64_t all = std::max(output, data);  // data are freed before results exist
  std::map<int, std::uint64_t> claimed;        // parts of a GPU's free memory that earlier devices on it need
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    const std::uint64_t total = needed[d].total();
    if (kind == DeviceKind::kHost) all += total;
    std::string_view who = "only", what = " is free";
    std::uint64_t room = 0;
    if (!limits_.empty()) {
      who = "its memory limit leaves only", what = "";
      room = limits_[d]->limit() - std::min(limits_[d]->limit(), limits_[d]->used());
    } else if (kind != DeviceKind::kHost) {
      room = devices_[d]->free_memory();
      if (room == 0) continue;  // unknown
      const std::uint64_t kept = std::min(room, devices_[d]->kept_memory());
      std::uint64_t& before = claimed[devices_[d]->index()];
      if (before > 0) who = "the devices before it on its GPU leave only", what = "";
      room = kept + (room - kept) - std::min(room - kept, before);
      before += total - std::min(total, kept);
    } else {
      continue;  // host devices share one memory
    }
    if (total <= room) continue;
    GraphCounts known = counts;
    for (VertexId v = 0; v < graph_->vertices(); ++v) {
      known.max_degree =
          std::max({known.max_degree, std::uint64_t{graph_->out_degree(v)}, std::uint64_t{graph_->in_degree(v)}});
    }
    Throw<OutOfMemoryError>(
        "{}: out of memory (nothing was allocated): needs {}, but {} {}{}: {}", devices_[d]->label(), Describe(needed[d]),
        who, ExactBytes(room), what,
        devices_[d]->share() != Device::kAlone
            ? "use more GPUs, or a smaller graph"
            : AdviceOnDevices(known, known, programs, kind, static_cast<PartId>(devices_.size()), options.comm, room));
  }
  std::uint64_t room = options_.host_memory_limit;
  if (room > 0) {
    all += graph_->bytes();
  } else {
    room = AvailableHostMemory();
  }
  if (room > 0 && all > room) {
    Throw<OutOfMemoryError>(
        "out of host memory (nothing was allocated on the devices): {}results{} need at least {}, but {}: use a smaller "
        "graph or a machine with more memory",
        options_.host_memory_limit > 0 ? "the graph, " : "",
        kind == DeviceKind::kHost ? fmt::format(" and {} host devices", devices_.size()) : "", ExactBytes(all),
        options_.host_memory_limit > 0 ? fmt::format("the host's limit allows only {}", ExactBytes(room))
                                       : fmt::format("only {} is available", ExactBytes(room)));
  }
  return needed;
} catch (const std::bad_alloc&) {
  ThrowOutOfHostMemory("estimating the memory of a run");
}

FittedMemory Session::FitMemory(RunOptions options,
                                const std::function<std::vector<ProgramMemory>(const RunOptions&)>& programs) {
  const auto fits = [&] {
    try {
      CheckMemory(programs(options), options);
      return true;
    } catch (const OutOfMemoryError&) {
      return false;
    }
  };
  const RowOptions rows = RowsOf(options);
  const bool fuses = devices_[0]->kind() == DeviceKind::kCuda && (devices_.size() == 1 ? rows.fuses : rows.together);
  if (fuses && options.records == Records::kAuto && !fits()) options.records = Records::kNever;
  if (fuses && options.execution == Execution::kAuto && !fits()) options.execution = Execution::kBsp;
  const RowOptions fitted = RowsOf(options);
  const bool rounds_together =
      devices_[0]->kind() == DeviceKind::kCuda && fitted.rounds_together && (devices_.size() > 1 || !fitted.fuses);
  if (rounds_together && !fits()) options.rounds_together = false;
  std::vector<DeviceMemory> needed = CheckMemory(programs(options), options);
  return {std::move(options), std::move(needed)};
}

std::unique_ptr<Job> Session::Prepare(std::shared_ptr<const ErasedProgram> program, const RunOptions& options) try {
  RunPlan plan = PlanRun(*this, program, options);
  const RunOptions fitted = plan.Fitted(options);
  return Prepare(std::move(program), fitted, std::move(plan.programs[0]));
} catch (const std::bad_alloc&) {
  ThrowOutOfHostMemory("preparing a program");
}

std::unique_ptr<Job> Session::Prepare(std::shared_ptr<const ErasedProgram> program, const RunOptions& options,
                                      ProgramPlan plan) try {
  return std::unique_ptr<Job>(new Job(*this, std::move(program), options, std::move(plan)));
} catch (const std::bad_alloc&) {
  ThrowOutOfHostMemory("preparing a program");
}

Job::Job(Session& session, std::shared_ptr<const ErasedProgram> program, const RunOptions& options, ProgramPlan plan)
    : session_(&session), program_(std::move(program)), options_(options), plan_(std::move(plan)) {
  const Span span(ProcessTrack(options.trace), nullptr, spans::kPrepare);
  const ProgramTraits& traits = program_->traits();
  const Array<std::byte> data = program_->AssembleData(session.graph(), options.vertex_data);
  graphs_ = &session.Graphs(traits.edges, traits.weights, plan_.directions.push, plan_.directions.pull);
  peers_ = PeerTable(std::span<const Subgraph>(graphs_->subgraphs));
  lifecycle_ = RunLifecycle(session.devices(), graphs_->subgraphs, options_.trace, options_.timeout);
  lifecycle_.ForEachDevice([&](std::size_t d) { steps_.push_back(program_->MakeSteps(*graphs_->devices[d], plan_.rows)); });
  for (const auto& steps : steps_) {
    CHATTY_CHECK(plan_.fused == FusedUse::kNone || steps->fused() != nullptr, "a plan has a fused engine, its steps none");
    CHATTY_CHECK(!plan_.rows.wide_rounds || steps->wide_rounds() != nullptr, "a plan has wide rounds, its steps none");
  }
  if (plan_.fused == FusedUse::kTogether) team_ = std::make_unique<fused::Team>(session.devices(), plan_.rows.list_items);
  if (plan_.rows.rounds_together) {
    rounds_team_ = std::make_unique<fused::RoundsTeam>(session.devices());
    if (plan_.rows.wide_rounds && session.device_count() > 1) {
      wide_team_ = std::make_unique<fused::WideTeam>(session.devices(), graphs_->subgraphs);
    }
  }
  PlaceData(data);
  MakePaths();
}

void Job::PlaceData(const Array<std::byte>& data) {
  if (data.empty()) return;
  const std::size_t bytes = traits().data_bytes;
  lifecycle_.ForEachDevice([&](std::size_t d) {
    const Subgraph& subgraph = graphs_->subgraphs[d];
    if (subgraph.identity) {
      steps_[d]->SetData(data.data(), {nullptr, options_.timeout});
      return;
    }
    Array<std::byte> local(subgraph.owned * bytes);
    ParallelFor(subgraph.owned, 0, [&](std::size_t v) {
      std::memcpy(local.data() + v * bytes, data.data() + subgraph.Global(static_cast<LocalId>(v)) * bytes, bytes);
    });
    steps_[d]->SetData(local.data(), {nullptr, options_.timeout});
  });
}

void Job::MakePaths() {
  if (session_->device_count() < 2) return;
  if (paths_ && paths_.selector()->reusable() && (sums_ == nullptr || sums_->reusable())) return;
  const std::vector<Subgraph>& subgraphs = graphs_->subgraphs;
  const CostModel& costs = session_->Costs(options_.links);
  const CommPlan& plan = plan_.comm;
  sums_.reset();
  paths_ = {};  // frees memory for new paths
  if (plan.broadcasts != Broadcasts::kNever && unions_.empty()) {
    for (std::size_t d = 0; d < subgraphs.size(); ++d) unions_.emplace_back(session_->device(d), subgraphs[d]);
  }
  RunPaths paths(options_, plan, session_->devices(), costs);
#if CHATTY_WITH_NCCL
  if (options_.comm.state == StatePath::kNccl && plan.options.collectives) {
    sums_ = MakeNcclState(session_->devices(), session_->device_count() * kRoundWords, plan.options);
  }
#endif
  paths_ = std::move(paths);
}

void Job::SetProgram(std::shared_ptr<const ErasedProgram> program) {
  PlaceData(program->AssembleData(session_->graph(), options_.vertex_data));
  program_ = std::move(program);
  for (const auto& steps : steps_) program_->Reparametrise(*steps);
}

void Job::SetLimits(std::uint32_t max_rounds, std::stop_token stop) {
  options_.max_rounds = max_rounds;
  options_.stop = std::move(stop);
}

void Job::BeginTeams() {
  if (team_ != nullptr) team_->Begin();
  if (rounds_team_ == nullptr || !rounds_team_->Begin() || wide_team_ == nullptr) return;
  try {
    wide_team_->Clear();
  } catch (...) {
    rounds_team_->Abort();  // so that the next run clears all again
    throw;
  }
}

RunStatistics Job::Execute(const Job* prior) try {
  const ProgramTraits& traits = program_->traits();
  if (traits.has_input &&
      (prior == nullptr || prior->session_ != session_ || prior->traits().value_bytes != traits.input_bytes)) {
    throw UsageError(
        "this program starts from another's values: run it after a program of the same session whose Value is its Input");
  }
  if (traits.has_input) prior->CheckValues(/*of_one_round=*/true);
  paths_.Begin();
  lifecycle_.EndFailedWork(last_.statistics);
  MakePaths();  // the failure may have made the transport unusable
  BeginTeams();
  std::vector<DeviceContext> devices(steps_.size());
  for (std::size_t d = 0; d < steps_.size(); ++d) {
    devices[d].device = &session_->device(d);
    devices[d].graph = graphs_->devices[d].get();
    devices[d].steps = steps_[d].get();
    if (traits.has_input) devices[d].input = prior->steps_[d]->DeviceValues();
    if (!unions_.empty()) devices[d].unions = &unions_[d];
  }
  ThreadControlPlanes control(devices.size(), options_.timeout, sums_.get());
  const EngineRun run{*program_,   lifecycle_,         devices,          peers_, control, paths_.selector(),
                      team_.get(), rounds_team_.get(), wide_team_.get(), plan_,  options_};
  if (plan_.engine == EngineKind::kAsync && plan_.fused != FusedUse::kWholeRun) {
    RunAsync(run, &last_);
  } else {
    RunBsp(run, &last_);
  }
  return last_.statistics;
} catch (const TimeoutError& error) {
  RunLifecycle::ThrowTimeout(error, paths_.LastOperation(/*names_unused=*/team_ == nullptr));  // a team has its own rings
} catch (const std::bad_alloc&) {
  ThrowOutOfHostMemory("running a program");
}

void Job::CheckValues(bool of_one_round) const {
  const bool failed = last_.statistics.ended == Ended::kFailed;
  if (!last_.initialised) {
    throw UsageError(failed ? "there are no values: the job's last run failed before all vertices had one; execute it again"
                            : "there are no values: the job has not been executed");
  }
  if (failed && of_one_round) {
    Throw<UsageError>(
        "the job's last run failed after round {}, and what vertices hold is of no one round; execute it again, or take the "
        "values as they are by CopyValues",
        last_.round.index);
  }
}

void Job::CopyOutput(std::byte* out) const {
  const Span span(ProcessTrack(options_.trace), nullptr, spans::kOutput);
  CheckValues(/*of_one_round=*/true);
  lifecycle_.CopyScattered(out, traits().output_bytes, [&](std::size_t d, std::byte* to) {
    Device& device = session_->device(d);
    if (device.kind() == DeviceKind::kHost) {
      steps_[d]->WriteOutput(last_.round, to);
      return;
    }
    const Buffer<std::byte> results(device, graphs_->subgraphs[d].owned * traits().output_bytes);
    steps_[d]->WriteOutput(last_.round, results.data());
    CopyResults(device, to, results.data(), results.bytes(), {nullptr, options_.timeout});
  });
}

void Job::PlaceOutput(Device& target, std::byte* out) const {
  const Span span(ProcessTrack(options_.trace), nullptr, spans::kOutput);
  CheckValues(/*of_one_round=*/true);
  lifecycle_.PlaceScattered(target, out, traits().output_bytes,
                            [&](std::size_t d, std::byte* to) { steps_[d]->WriteOutput(last_.round, to); });
}

void Job::CopyValues(std::byte* out) const {
  CheckValues(/*of_one_round=*/false);
  lifecycle_.CopyScattered(out, traits().value_bytes, [&](std::size_t d, std::byte* to) {
    steps_[d]->CopyValues(to, {nullptr, options_.timeout});
  });
}

}  // namespace chatty
