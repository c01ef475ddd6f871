/// \file
/// Programs that are not a message: written on the operators alone, for every backend at once.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "chatty/core/affinity.h"
#include "chatty/framework/engines/device_threads.h"
#include "chatty/framework/operators/host_operators.h"
#include "chatty/framework/session.h"
#include "chatty/framework/typed_program.h"
#if CHATTY_CUDA_COMPILER
#include "chatty/framework/operators/cuda_operators.cuh"
#endif

namespace chatty {

/// A program with `using Output = …;` and `template <class Operators> void Run(Operators& ops, Output* out) const`, which
/// every device runs at the same time on its own part of the graph and which fills `out`, device memory of one entry an
/// owned vertex. Optional: `kEdges` (default kOut) and `Weight` (default None), as in a vertex program; `static constexpr
/// bool kReverse = true`, for `graph().reverse` to be there, too, the edges against their direction, and `kOwnBegins` for
/// `graph().own_begins`, of symmetric graphs whose parts are ranges; and what lets a run be refused before it begins:
/// `static std::uint64_t WorkBytes(const PartShape&)`, the bytes that Run allocates at once on a device with such a part,
/// with `LeastWorkBytes` of the same form where that depends on more than the part's shape, of which WorkBytes is then the
/// most; and `static std::size_t ExchangeBytes(const PartShape&, PartId from, PartId to)`, those of the largest object that
/// it may exchange between two devices, for which buffers are then made from the beginning.
template <class P>
concept OperatorProgram = requires(const P p, HostOperators& ops, typename P::Output* out) {
  p.Run(ops, out);
};

/// What memory depends on in an operator program.
template <class P>
ProgramMemory OperatorMemory() {
  ProgramMemory memory;
  if constexpr (requires { P::kEdges; }) memory.edges = P::kEdges;
  if constexpr (requires { typename P::Weight; }) memory.weights = WeightKindOf<typename P::Weight>();
  memory.forward = true;
  memory.reverse = requires { requires P::kReverse; };
  memory.own_begins = requires { requires P::kOwnBegins; };
  memory.output_bytes = sizeof(typename P::Output);
  constexpr bool kSays = requires(const PartShape& part) { P::WorkBytes(part); };
  memory.complete = kSays;
  constexpr auto kBesides = [](DeviceKind kind, const PartShape& part) -> std::uint64_t {  // what Run does not allocate
    std::uint64_t bytes = part.owned * sizeof(typename P::Output);
    if (kind == DeviceKind::kCuda) bytes += SliceBound(part.forward.edges, part.forward.max_degree) * sizeof(Slice);
    return bytes;
  };
  memory.state = [kBesides](DeviceKind kind, int, const PartShape& part) {
    std::uint64_t bytes = kBesides(kind, part);
    if constexpr (kSays) bytes += P::WorkBytes(part);
    return bytes;
  };
  if constexpr (requires(const PartShape& part) { P::LeastWorkBytes(part); }) {
    memory.least_state = [kBesides](DeviceKind kind, int, const PartShape& part) {
      return kBesides(kind, part) + P::LeastWorkBytes(part);
    };
  }
  if constexpr (requires(const PartShape& part, PartId p) { P::ExchangeBytes(part, p, p); })
    memory.exchange = P::ExchangeBytes;
  return memory;
}

/// An operator program prepared on a session; see Job.
template <class P, class Backends = CompiledBackends>
class OperatorJob {
 public:
  /// Allocates. Throws UsageError for options that have no meaning here, OutOfMemoryError.
  OperatorJob(Session& session, const P& program, const RunOptions& options) try
      : session_(&session),
        program_(program),
        group_(session.devices(), options, session.device_count() > 1 ? session.Costs(options.links) : CostModel()),
        trace_(options.trace),
        timeout_(options.timeout) {
    static_assert(
        !requires { P::kVertexData; }, "a program on operators takes no vertex data: kVertexData is for vertex programs");
    const Span span(ProcessTrack(trace_), nullptr, spans::kPrepare);
    if (!options.vertex_data.empty()) {
      Throw<UsageError>("vertex data '{}': a program on operators takes none", options.vertex_data.begin()->first);
    }
    CheckExecution(options.execution, nullptr);
    CheckRunOptions(options, SelectionOf(session.devices()));
    const ProgramMemory memory = OperatorMemory<P>();
    session.CheckMemory({&memory, 1}, options);
    graphs_ = &session.Graphs(memory.edges, memory.weights, memory.forward, memory.reverse, memory.own_begins);
    if (memory.exchange) {
      const auto parts = static_cast<PartId>(graphs_->subgraphs.size());
      PairBytesTable buffers(parts, std::vector<std::size_t>(parts, 0));
      for (PartId from = 0; from < parts; ++from) {
        const PartShape shape = ShapeOf(graphs_->subgraphs[from]);
        for (PartId to = 0; to < parts; ++to) buffers[from][to] = to == from ? 0 : memory.exchange(shape, from, to);
      }
      group_.Reserve(std::move(buffers));
    }
    for (const auto& graph : graphs_->devices) {
      const BoundTo near_device(graph->device().placement().cpus);
      graph->device().MakeCurrent();
      outputs_.emplace_back(graph->device(), graph->ref().owned);
    }
  } catch (const std::bad_alloc&) {
    ThrowOutOfHostMemory("preparing an operator program");
  }

  /// Runs the program on all devices. Throws what the devices or the program throw; the job may be executed again.
  RunStatistics Execute() try {
    const int devices = static_cast<int>(session_->device_count());
    if (executed_ && statistics_.ended == Ended::kFailed) {  // what it has enqueued must not meet what this run will
      for (Device* device : session_->devices()) {
        device->MakeCurrent();
        device->stream().Synchronize({nullptr, timeout_});
      }
    }
    executed_ = true;
    statistics_ = {};
    RunStatistics& statistics = statistics_;
    statistics.converged = false;
    statistics.ended = Ended::kFailed;
    statistics.execution = "operators";
    statistics.devices.resize(devices);
    std::vector<DeviceOperators::Traffic> traffic(devices);
    group_.Reset();
    const TracedDevices traced(trace_, session_->devices(), timeout_);
    const Clock::time_point start = Clock::now();
    RunOnDevices(devices, [&](int d) {
      TraceTrack* const track = traced.track(d);
      try {
        DeviceStatistics& account = statistics.devices[d];
        const DeviceGraph& graph = *graphs_->devices[d];
        const BoundTo near_device(graph.device().placement().cpus);
        account.device = graph.device().label();
        account.vertices = graph.ref().owned;
        graph.device().MakeCurrent();
        const RunSpan run(track, start, devices == 1, account);
        traffic[d] = RunOn(graph, account, track, outputs_[d].data());
      } catch (...) {
        if (track != nullptr) track->AddInstant(spans::kFailed, Clock::now());
        group_.Fail(std::current_exception());
      }
    });
    statistics.time_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    statistics.transport = group_.transport_name();
    group_.abort.RethrowFirst();
    statistics.rounds = 1;
    statistics.ended = group_.stopped() ? Ended::kStopped : Ended::kConverged;
    statistics.converged = statistics.ended == Ended::kConverged;
    for (const DeviceOperators::Traffic& told : traffic) {
      statistics.pairs.insert(statistics.pairs.end(), told.pairs.begin(), told.pairs.end());
      statistics.buffers.insert(statistics.buffers.end(), told.buffers.begin(), told.buffers.end());
    }
    return statistics;
  } catch (const TimeoutError& error) {
    const std::string where = group_.Whereabouts();
    if (where.empty()) throw;
    Throw<TimeoutError>("{}; {}", error.what(), where);
  } catch (const std::bad_alloc&) {
    ThrowOutOfHostMemory("running an operator program");
  }

  /// The next run is this program's: the same type, other parameters.
  void SetProgram(const P& program) { program_ = program; }
  /// Of the last run; of one that threw, what it did until then.
  const RunStatistics& statistics() const { return statistics_; }
  /// Results of the last run, one a vertex in id order. Throws UsageError if it failed, or if there was none.
  void CopyOutput(std::byte* out) const {
    const Span span(ProcessTrack(trace_), nullptr, spans::kOutput);
    using Output = typename P::Output;
    if (!executed_ || statistics_.ended == Ended::kFailed) {
      throw UsageError("there are no results: the job has not been executed, or its last run failed");
    }
    for (std::size_t d = 0; d < outputs_.size(); ++d) {
      Device& device = session_->device(d);
      device.MakeCurrent();
      const Subgraph& subgraph = graphs_->subgraphs[d];
      Array<Output> local(subgraph.owned);
      device.stream().Synchronize({nullptr, timeout_});  // a copy to pageable memory itself waits without a deadline
      device.CopyOut(local.data(), outputs_[d].data(), local.bytes(), device.stream());
      device.stream().Synchronize({nullptr, timeout_});
      auto* const all = reinterpret_cast<Output*>(out);
      for (LocalId v = 0; v < subgraph.owned; ++v) all[subgraph.Global(v)] = local[v];
    }
  }

 private:
  /// Runs the program's share of one device; returns what it sent and received.
  DeviceOperators::Traffic RunOn(const DeviceGraph& graph, DeviceStatistics& account, TraceTrack* track,
                                 typename P::Output* out) {
    if constexpr (kHasHost<Backends>) {
      if (graph.device().kind() == DeviceKind::kHost) {
        HostOperators operators(group_, graph, account, track);
        program_.Run(operators, out);
        return operators.TakeTraffic();
      }
    }
#if CHATTY_CUDA_COMPILER
    if constexpr (kHasCuda<Backends>) {
      if (graph.device().kind() == DeviceKind::kCuda) {
        CudaOperators operators(group_, graph, account, track);
        program_.Run(operators, out);
        graph.device().stream().Synchronize({&group_.abort, timeout_});
        return operators.TakeTraffic();
      }
    }
#endif
    detail::ThrowNotCompiled(graph.device());
  }

  Session* session_;
  P program_;
  OperatorGroup group_;
  Trace* trace_;
  const PreparedGraphs* graphs_;
  std::vector<Buffer<typename P::Output>> outputs_;
  std::chrono::milliseconds timeout_;
  RunStatistics statistics_;
  bool executed_ = false;
};

/// Results of an operator program, one a vertex in id order.
template <class P>
struct OperatorResult {
  /// Entry v is vertex v's.
  Array<typename P::Output> values;
  /// What the run took.
  RunStatistics statistics;
};

/// Runs an operator program on the session's devices; the counterpart of Run for vertex programs.
template <OperatorProgram P, class Backends = CompiledBackends>
OperatorResult<P> Run(Session& session, const P& program, const RunOptions& options = {}) try {
  OperatorJob<P, Backends> job(session, program, options);
  OperatorResult<P> result;
  result.statistics = job.Execute();
  result.values = Array<typename P::Output>(session.graph().vertices());
  job.CopyOutput(reinterpret_cast<std::byte*>(result.values.data()));
  return result;
} catch (const std::bad_alloc&) {
  ThrowOutOfHostMemory("running an operator program");
}

}  // namespace chatty
