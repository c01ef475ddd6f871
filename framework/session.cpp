#include "chatty/framework/session.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "chatty/core/parallel.h"
#include "chatty/framework/spans.h"

namespace chatty {

PairBytesTable BoxCapacities(std::span<const Subgraph> subgraphs, std::size_t message_payload, std::size_t shared_payload) {
  const std::size_t parts = subgraphs.size();
  PairBytesTable capacities(parts, std::vector<std::size_t>(parts, 0));
  const auto capacity = [](std::size_t subset, std::size_t payload) -> std::size_t {
    return subset == 0 || payload == 0 ? 0 : std::max(PairBytes(subset, payload), DenseBytes(subset, payload));
  };
  for (std::size_t from = 0; from < parts; ++from) {
    for (std::size_t to = 0; to < parts; ++to) {
      if (from == to) continue;
      const std::size_t messages = subgraphs[from].halo_count(static_cast<PartId>(to));
      const std::size_t values = subgraphs[to].halo_count(static_cast<PartId>(from));
      capacities[from][to] = std::max(capacity(messages, message_payload), capacity(values, shared_payload));
    }
  }
  return capacities;
}

void CheckExecution(std::string_view execution, const ProgramTraits* traits) {
  if (execution == "auto" || execution == "bsp") return;
  if (execution != "async") Throw<UsageError>("there is no execution '{}'; choose auto or bsp", execution);
  if (traits == nullptr) {
    throw UsageError(
        "execution async: this program is written on operators, which have no messages to run ahead of; use auto");
  }
  if (!traits->asynchronous) {
    Throw<UsageError>(
        "execution async: this program {}, so it cannot run asynchronously; use auto or bsp. If its values move one way and "
        "late or repeated messages do no harm, declare kSafety = kMonotone; if Consume takes each residual exactly once, "
        "kAccumulative",
        traits->safety == Safety::kSynchronous ? "is kSynchronous"
        : traits->every_round                  ? "is active in every round"
                                               : "is kMonotone and sums its messages");
  }
  throw UsageError(
      "execution async: this program may run asynchronously, but there is no asynchronous engine in this version; use auto "
      "or "
      "bsp");
}

Session::Session(const Graph& graph, std::string_view devices, const SessionOptions& options)
    : Session(graph, OpenDevices(ParseDevices(devices), options.threads), options) {}

Session::Session(const Graph& graph, std::vector<std::unique_ptr<Device>> devices, const SessionOptions& options)
    : graph_(&graph), options_(options), devices_(std::move(devices)) {
  if (devices_.empty() || devices_.size() > kMaxDevices) {
    Throw<UsageError>("a session takes 1 to {} devices, not {}", kMaxDevices, devices_.size());
  }
  for (const auto& device : devices_) {
    if (device->kind() != devices_[0]->kind()) {
      throw UsageError("a session's devices are all host devices or all GPUs; a mixture is not supported");
    }
    pointers_.push_back(device.get());
  }
  const Span span(ProcessLane(options_.trace), &partition_ms_, spans::kPartition, {devices_.size()});
  PartitionOptions divide;
  divide.parts = static_cast<PartId>(devices_.size());
  divide.seed = options_.seed;
  divide.threads = options_.threads;
  divide.allow_fallback = options_.partition_fallback;
  const auto partitioner = options_.partitioner ? options_.partitioner : MakePartitioner(options_.partition);
  partition_ = partitioner->Divide(graph, divide);
}

const PreparedGraphs& Session::Graphs(Edges edges, WeightKind weights, bool forward, bool reverse) {
  if (graph_->symmetric()) {  // one adjacency serves every need
    edges = Edges::kOut;
    forward = reverse = true;
  }
  auto& prepared = graphs_[{edges, weights, forward, reverse}];
  if (prepared) return *prepared;
  auto fresh = std::make_unique<PreparedGraphs>();
  Span span(ProcessLane(options_.trace), &partition_ms_, spans::kSubgraphs, {devices_.size()});
  SubgraphOptions options;
  options.edges = edges;
  options.weights = weights;
  options.forward = forward;
  options.reverse = reverse;
  options.threads = options_.threads;
  fresh->subgraphs = BuildSubgraphs(*graph_, partition_, options);
  span.Next(&upload_ms_, spans::kUpload);
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    fresh->devices.push_back(std::make_unique<DeviceGraph>(*devices_[d], fresh->subgraphs[d]));
  }
  prepared = std::move(fresh);
  return *prepared;
}

std::unique_ptr<Job> Session::Prepare(std::shared_ptr<const ErasedProgram> program, const RunOptions& options) {
  return std::unique_ptr<Job>(new Job(*this, std::move(program), options));
}

Job::Job(Session& session, std::shared_ptr<const ErasedProgram> program, const RunOptions& options)
    : session_(&session), program_(std::move(program)), options_(options) {
  const Span span(ProcessLane(options.trace), nullptr, spans::kPrepare);
  const ProgramTraits& traits = program_->traits();
  CheckExecution(options.execution, &traits);
  const std::vector<std::string_view> transports = TransportNames();  // checked on one device too, where none is needed
  if (std::find(transports.begin(), transports.end(), options.transport) == transports.end()) {
    Throw<UsageError>("there is no transport '{}' in this build; choose one of {}", options.transport,
                      fmt::join(transports, ", "));
  }
  if (options.direction == Direction::kPush && !traits.can_push) {
    throw UsageError(
        "--direction push: this program is pulled, because it collects all messages or its messages are wider than the 8 "
        "bytes that hardware combines atomically; use pull or auto");
  }
  built_.push = traits.can_push && options.direction != Direction::kPull;
  built_.pull = !traits.can_push || options.direction != Direction::kPush;
  // A program active every round is pulled unless told otherwise: its forward edges would never be read.
  if (traits.every_round && options.direction == Direction::kAuto) built_.push = false;
  graphs_ = &session.Graphs(traits.edges, traits.weights, built_.push, built_.pull);
  for (const auto& graph : graphs_->devices) {
    graph->device().MakeCurrent();
    steps_.push_back(program_->MakeSteps(*graph));
  }
  if (session.device_count() > 1) {
    transport_ = MakeTransport(options.transport, session.devices(),
                               BoxCapacities(graphs_->subgraphs, built_.push ? traits.message_payload : 0,
                                             built_.pull ? traits.shared_payload : 0));
  }
}

void Job::SetProgram(std::shared_ptr<const ErasedProgram> program) {
  program_ = std::move(program);
  for (const auto& steps : steps_) program_->Reparametrise(*steps);
}

RunStatistics Job::Execute(const Job* prior) {
  const ProgramTraits& traits = program_->traits();
  if (traits.has_prior &&
      (prior == nullptr || prior->session_ != session_ || prior->traits().value_bytes != traits.prior_bytes)) {
    throw UsageError(
        "this program starts from another's values: run it after a program of the same session whose Value is its Prior");
  }
  std::vector<Participant> participants(steps_.size());
  for (std::size_t d = 0; d < steps_.size(); ++d) {
    participants[d].device = &session_->device(d);
    participants[d].graph = graphs_->devices[d].get();
    participants[d].steps = steps_[d].get();
    if (traits.has_prior) participants[d].prior = prior->steps_[d]->DeviceValues();
  }
  RunStatistics statistics;
  round_ = RunBsp(*program_, participants, transport_.get(), built_, options_, &statistics);
  return statistics;
}

template <class Copy>
void Job::CopyScattered(std::byte* out, std::size_t bytes, Copy&& copy) const {
  for (std::size_t d = 0; d < steps_.size(); ++d) {
    const Subgraph& subgraph = graphs_->subgraphs[d];
    session_->device(d).MakeCurrent();
    if (subgraph.identity) {
      copy(*steps_[d], out);
      continue;
    }
    Array<std::byte> local(subgraph.owned * bytes);
    copy(*steps_[d], local.data());
    ParallelFor(subgraph.owned, 0, [&](std::size_t v) {
      std::memcpy(out + subgraph.Global(static_cast<LocalId>(v)) * bytes, local.data() + v * bytes, bytes);
    });
  }
}

void Job::CopyOutput(std::byte* out) const {
  const Span span(ProcessLane(options_.trace), nullptr, spans::kOutput);
  CopyScattered(out, traits().output_bytes, [&](StepSet& steps, std::byte* to) { steps.CopyOutput(round_, to, {}); });
}

void Job::CopyValues(std::byte* out) const {
  CopyScattered(out, traits().value_bytes, [&](StepSet& steps, std::byte* to) { steps.CopyValues(to, {}); });
}

}  // namespace chatty
