/// \file
/// Operator programs: written on operators alone, without messages, for every backend at once.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "chatty/framework/operators/host_operators.h"
#include "chatty/framework/run_lifecycle.h"
#include "chatty/framework/session.h"
#include "chatty/framework/typed_program.h"
#if CHATTY_CUDA_COMPILER
#include "chatty/framework/operators/cuda_operators.cuh"
#endif

namespace chatty {

/// A program with `using Output = …;` and `template <class Operators> void Run(Operators& ops, Output* out) const`. All
/// devices run it at once, each on its part of the graph; it fills `out`, device memory with one entry per owned vertex.
/// Optional: `kEdges` (default kOut) and `Weight` (default None), as in a vertex program. `static constexpr bool kReverse =
/// true` adds `graph().reverse`, the reverse edges. `kOwnBegins` adds `graph().own_begins`, for symmetric graphs whose parts
/// are ranges. Two more let a run be refused before it begins. `static std::uint64_t WorkBytes(const PartShape&)`: the bytes
/// that Run allocates at once on a device with this part. If more than the shape matters, WorkBytes is the maximum and
/// `LeastWorkBytes`, of the same form, the minimum. `static std::size_t ExchangeBytes(const PartShape&, PartId from, PartId
/// to)`: bytes of the largest object in an exchange between two devices; buffers have this size from the beginning.
template <class P>
concept OperatorProgram = requires(const P p, HostOperators& ops, typename P::Output* out) {
  p.Run(ops, out);
};

/// The memory facts of an operator program.
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
  constexpr auto kBesides = [](DeviceKind kind,
                               const PartShape& part) -> std::uint64_t {  // memory that Run does not allocate
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
  /// Allocates, by `plan` of this session, or by one of its own. Throws UsageError for options without meaning here, and
  /// what PlanRun throws.
  OperatorJob(Session& session, const P& program, const RunOptions& options, std::optional<ProgramPlan> plan = {}) try
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
    if (!plan) {
      plan = std::move(PlanRun(session, options, [](const RunOptions& run, std::size_t) {
                         return std::vector<ProgramOfRun>{{"", nullptr, OperatorMemory<P>(), run}};
                       }).programs[0]);
    }
    const ProgramMemory memory = OperatorMemory<P>();
    graphs_ = &session.Graphs(memory.edges, memory.weights, memory.forward, memory.reverse, memory.own_begins);
    if (memory.exchange && session.device_count() > 1) group_.Reserve(std::move(plan->comm.capacities));
    lifecycle_ = RunLifecycle(session.devices(), graphs_->subgraphs, trace_, timeout_);
    lifecycle_.ForEachDevice(
        [&](std::size_t d) { outputs_.emplace_back(session_->device(d), graphs_->devices[d]->ref().owned); });
  } catch (const std::bad_alloc&) {
    ThrowOutOfHostMemory("preparing an operator program");
  }

  /// Runs the program on all devices. Throws what the devices or the program throw; the job may execute again.
  RunStatistics Execute() try {
    lifecycle_.EndFailedWork(statistics_);
    executed_ = true;
    RunStatistics& statistics = statistics_;
    statistics.converged = false;
    statistics.ended = Ended::kFailed;  // also if the run fails to begin
    std::vector<DeviceOperators::Traffic> traffic(session_->device_count());
    group_.Reset();
    lifecycle_.Run(
        "operators", group_.transport_name(), &statistics,
        [&](int d, DeviceStatistics& account, TraceTrack* track, const auto&) {
          traffic[d] = RunOn(*graphs_->devices[d], account, track, outputs_[d].data());
        },
        [&](const std::exception_ptr& error) { group_.Fail(error); });
    statistics.transport = group_.transport_name();  // it may have changed with the buffers
    group_.RethrowFirst();
    statistics.rounds = 1;
    statistics.ended = group_.stopped() ? Ended::kStopped : Ended::kConverged;
    statistics.converged = statistics.ended == Ended::kConverged;
    for (const DeviceOperators::Traffic& device : traffic) {
      statistics.pairs.insert(statistics.pairs.end(), device.pairs.begin(), device.pairs.end());
      statistics.buffers.insert(statistics.buffers.end(), device.buffers.begin(), device.buffers.end());
    }
    return statistics;
  } catch (const TimeoutError& error) {
    RunLifecycle::ThrowTimeout(error, group_.LastOperation());
  } catch (const std::bad_alloc&) {
    ThrowOutOfHostMemory("running an operator program");
  }

  /// Sets the next run's program: the same type, other parameters.
  void SetProgram(const P& program) { program_ = program; }
  /// Of the last run; if it threw, of its part until then.
  const RunStatistics& statistics() const { return statistics_; }
  /// Results of the last run, one per vertex in id order. Throws UsageError if it failed or there was none.
  void CopyOutput(std::byte* out) const {
    const Span span(ProcessTrack(trace_), nullptr, spans::kOutput);
    CheckResults();
    lifecycle_.CopyScattered(out, sizeof(typename P::Output), [&](std::size_t d, std::byte* to) {
      CopyResults(session_->device(d), to, reinterpret_cast<const std::byte*>(outputs_[d].data()), outputs_[d].bytes(),
                  {nullptr, timeout_});
    });
  }
  /// As Job::PlaceOutput.
  void PlaceOutput(Device& target, std::byte* out) const {
    const Span span(ProcessTrack(trace_), nullptr, spans::kOutput);
    CheckResults();
    lifecycle_.PlaceScattered(target, out, sizeof(typename P::Output), [&](std::size_t d, std::byte* to) {
      Device& device = session_->device(d);
      device.CopyWithin(to, outputs_[d].data(), outputs_[d].bytes(), device.stream());
    });
  }

 private:
  /// Throws UsageError if the last run left no results.
  void CheckResults() const {
    if (!executed_ || statistics_.ended == Ended::kFailed) {
      throw UsageError("there are no results: the job has not been executed, or its last run failed");
    }
  }
  /// Runs one device's share of the program; returns its traffic.
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
        graph.device().stream().Synchronize(group_.wait());
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
  RunLifecycle lifecycle_;
  std::vector<Buffer<typename P::Output>> outputs_;
  std::chrono::milliseconds timeout_;
  RunStatistics statistics_;
  bool executed_ = false;
};

/// Results of an operator program, in vertex id order.
template <class P>
struct OperatorResult {
  /// Entry v is vertex v's.
  Array<typename P::Output> values;
  /// Times and traffic.
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
