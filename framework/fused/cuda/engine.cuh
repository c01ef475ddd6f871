/// \file
/// Fused runs on a GPU that has the whole graph, or together with others that have the rest of it: one resident kernel, with
/// the host as its watchdog.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <vector>

#include "chatty/core/cuda.h"
#include "chatty/framework/frontier_policy.h"
#include "chatty/framework/fused/cuda/frontier.cuh"
#include "chatty/framework/fused/cuda/relax.cuh"
#include "chatty/framework/fused/cuda/relax_team.cuh"
#include "chatty/framework/fused/cuda/resident.cuh"
#include "chatty/framework/fused/fused_engine.h"
#include "chatty/framework/program_state.h"
#include "chatty/framework/spans.h"

namespace chatty::fused::cuda {

/// Runs P on one GPU. The device and the state must outlive it.
template <class P>
class Engine final : public FusedEngine {
  static constexpr bool kOrders = Traits<P>::kOrders;

 public:
  /// Allocates what RelaxBytes says. Throws OutOfMemoryError, and CapabilityError where a kernel cannot stay resident.
  Engine(Device& device, const ProgramState<P>& state, const DeviceGraph& graph, RowOptions rows)
      : device_(device),
        state_(state),
        capacity_(ListItems(graph.ref().owned, rows.list_items)),
        carries_(CarriesValues(state.ref().program)),
        hubs_(device, kHubItems),
        counts_(device, 3),
        totals_(device, 1),
        report_(device, 1),
        control_(device, 1),
        windows_(device, 1),
        window_(device, 1),
        trace_(device, kTraceSteps),
        kernel_(device) {
    if (RowRecords::Pay(ShapeOf(graph.subgraph()), rows.records))
      records_ = RowRecords(graph, !std::is_same_v<WeightOf<P>, None>);
    for (int i = 0; i < 2; ++i) {
      near_[i] = Buffer<ItemOf<P>>(device, capacity_);
      if constexpr (kOrders) far_[i] = Buffer<ItemOf<P>>(device, capacity_);
    }
    if constexpr (kRelaxesTogether<P>) {
      begun_ = Buffer<TeamStep>(device, 1);
      if (graph.ref().parts > 1) {
        blocks_ = kernel_.Blocks(&RelaxTogether<P>, kThreads, kSharedBytes<P>);
        // Loading a kernel may wait for another device's that runs on the same GPU, and waits for this one.
        cudaFuncAttributes attributes = {};
        CHATTY_CUDA(cudaFuncGetAttributes(&attributes, TakeFrontier<P>));
        CHATTY_CUDA(cudaFuncGetAttributes(&attributes, LeaveFrontier<P>));
        CHATTY_CUDA(cudaFuncGetAttributes(&attributes, CountFrontier<P>));
        if constexpr (kOrders) {
          CHATTY_CUDA(cudaFuncGetAttributes(&attributes, MakePending<P>));
          CHATTY_CUDA(cudaFuncGetAttributes(&attributes, LeavePending<P>));
        }
      }
    }
    if (graph.ref().parts == 1) {
      relax_ = records_.data() != nullptr ? &Relax<P, Rows::kRecords> : &Relax<P, Rows::kPlain>;
      blocks_ = kernel_.Blocks(relax_, kThreads, kSharedBytes<P>);
    }
    donations_ = Buffer<ItemOf<P>>(device, std::size_t{blocks_} * kWarps * kDonation);
  }

  FusedTerms terms() const override {
    return {.narrow_rounds = kRelaxPolicy.narrow_rounds, .narrow_edges = kRelaxPolicy.narrow_edges};
  }

  bool Run(FusedRun& run, const WaitContext& context) override {
    const StateRef<P>& s = state_.ref();
    const std::uint64_t items =
        run.active_vertices + static_cast<std::uint64_t>(std::max<std::int64_t>(run.pending_vertices, 0));
    const bool together = run.team != nullptr;
    if (run.form == Form::kAll || (!together && !kOrders && items > capacity_ / 4 * 3)) return false;
    if (run.max_rounds != FusedRun::kAllRounds) return false;  // a full list would leave a frontier of several rounds
    if (ReadsRound(s.program)) return false;
    RelaxRef<P> a;
    a.s = s;
    a.s.asynchronous = true;
    a.index = run.round.index;
    a.phase = run.round.phase;
    a.active = run.round.active;
    a.records = records_.data();
    for (int i = 0; i < 2; ++i) {
      a.near[i] = near_[i].data();
      a.far[i] = far_[i].data();
    }
    a.hubs = hubs_.data();
    a.donations = donations_.data();
    a.capacity = capacity_;
    a.hub_capacity = kHubItems;
    a.counts = counts_.data();
    a.totals = totals_.data();
    a.trace = run.track != nullptr ? trace_.data() : nullptr;
    a.host = kernel_.words();
    a.natively = UpdatesNatively(s.program);
    if constexpr (kOrders) {
      const BucketPlan& plan = run.buckets.plan();
      if (!(plan.fused_width < kInfinity<double>)) return false;
      a.limit = -kInfinity<double>;
      a.width = plan.fused_width;
      a.adapts = plan.fused_adapts;
      a.min_width = carries_ ? a.width : a.width / kShrinks;
      if (carries_) a.patience = kPatience;  // a step has no end of its own: a value may be carried to all vertices
      a.max_width = plan.fused_max_width;
    } else {
      a.width = kRelaxPolicy.hops;
      a.adapts = true;
      a.min_width = a.width / kShrinks;
      a.max_width = kRelaxPolicy.max_hops;
    }
    if (together) {
      if constexpr (kRelaxesTogether<P>) RunTogether(a, run, items > capacity_ / 4 * 3, context);
      run.round.active = run.active_vertices;
      return true;
    }
    if (!run.asynchronous && !carries_) a.wide = kOrders ? kRelaxPolicy.wide_step : kRelaxPolicy.wide;

    bool windows = false;
    if constexpr (kOrders) {
      windows = items > capacity_ / 4 * 3;
      if (windows) RunWindows(a, run, context);
    }
    if (!windows) {
      ClearCounts();
      TakeFrontier<P><<<Blocks(a.s.graph.owned), kThreads, 0, stream()>>>(a, run.form, run.count);
      Check();
      Clear(a.s.active, bits::Words(a.s.graph.local) * sizeof(std::uint32_t));
      if constexpr (kOrders) Clear(a.s.order.pending, bits::Words(a.s.graph.owned) * sizeof(std::uint32_t));
      Launch(a);
      Finish(a, run, context);
    }
    run.round.active = run.active_vertices;
    return true;
  }

 private:
  /// Clocks of a step where values are carried: some 250 us, sixty times what the blocks' meeting costs.
  static constexpr std::uint32_t kPatience = 480000;
  /// A width shrinks to one part in so many.
  static constexpr double kShrinks = 16;

  cudaStream_t stream() const { return static_cast<cudaStream_t>(device_.stream().native()); }
  unsigned Blocks(std::size_t items) const {
    return static_cast<unsigned>(std::clamp<std::size_t>((items + kThreads - 1) / kThreads, 1, std::size_t{blocks_} * 8));
  }
  void Clear(void* memory, std::size_t bytes) { device_.Fill(memory, 0, bytes, device_.stream()); }

  void ClearCounts() {
    Clear(counts_.data(), counts_.bytes());
    Clear(totals_.data(), totals_.bytes());
  }
  void Launch(RelaxRef<P>& a) {
    kernel_.Launch(relax_, blocks_, kThreads, kSharedBytes<P>, a);
    device_.CopyOut(report_.data(), totals_.data(), sizeof(RelaxTotals), device_.stream());
  }
  /// Waits for the kernel and adds its work to the run's. Returns whether items are left.
  bool Finish(const RelaxRef<P>& a, FusedRun& run, const WaitContext& context) {
    const Clock::time_point start = Clock::now();
    kernel_.Await(run.stop, context);
    const RelaxTotals& t = report_[0];
    const bool left = t.end != End::kDone;
    if (run.track != nullptr) Trace(*run.track, start, run.steps);
    run.push_rounds += kOrders ? t.steps : t.hops;
    run.round.index += kOrders ? t.steps : t.hops;
    run.steps += t.steps;
    run.edges_touched += t.edges;
    run.vertices_updated += t.improved;
    run.items = run.items.value_or(0) + t.done;
    run.mixed = left && !kOrders && (t.below != 0 || t.end == End::kOverflow || t.end == End::kStopped);
    run.form = Form::kBitmap;
    run.active_vertices = 0;
    run.pending_vertices = 0;
    run.first_pending = 0;
    run.ahead = {};
    if (left) Leave(a, run, context);
    return left;
  }

  /// This GPU's share of a run of all devices of a team. `full`: no list has room for the frontier. Its vertices wait for
  /// windows of priorities. Without a Priority the frontier stays as it is, and the run ends at once on all devices.
  void RunTogether(const RelaxRef<P>& terms, FusedRun& run, bool full, const WaitContext& context) try {
    TeamRelaxRef<P> a;
    static_cast<RelaxRef<P>&>(a) = terms;
    a.team = *run.team;
    a.begun = begun_.data();
    a.waits = full && kOrders;
    const std::uint64_t devices = a.team.heap.size;
    a.few = ListItems(a.s.graph.vertices / devices, run.list_items) / 4 * devices;
    a.full = full && !kOrders;
    ClearCounts();
    Clear(begun_.data(), begun_.bytes());
    if (a.waits) {
      if constexpr (kOrders) Wait(terms, run);
    } else if (!full) {
      TakeFrontier<P><<<Blocks(a.s.graph.owned), kThreads, 0, stream()>>>(terms, run.form, run.count);
      Check();
      Clear(a.s.active, bits::Words(a.s.graph.local) * sizeof(std::uint32_t));
      if constexpr (kOrders) Clear(a.s.order.pending, bits::Words(a.s.graph.owned) * sizeof(std::uint32_t));
    }
    const unsigned blocks = std::max(1u, blocks_ / static_cast<unsigned>(run.sharing));
    if (run.sharing > 1) {
      kernel_.LaunchBeside(&RelaxTogether<P>, blocks, kThreads, kSharedBytes<P>, a);
    } else {
      kernel_.Launch(&RelaxTogether<P>, blocks, kThreads, kSharedBytes<P>, a);
    }
    device_.CopyOut(report_.data(), totals_.data(), sizeof(RelaxTotals), device_.stream());
    const bool left = Finish(a, run, context);
    if (chatty::detail::LoadRelaxed(a.team.heap.abort) != 0) ThrowAborted(context, "the other devices");
    if constexpr (kOrders) {
      if (left && a.waits) LeaveWaiting(a, run, context);
    }
  } catch (...) {
    chatty::detail::StoreRelaxed(run.team->heap.abort, 1u);  // nobody may wait for this device
    throw;
  }

  /// The frontier's vertices become pending ones, which wait for their window.
  void Wait(const RelaxRef<P>& a, const FusedRun& run) {
    MakePending<P><<<Blocks(a.s.graph.owned), kThreads, 0, stream()>>>(a, run.form, run.count);
    Check();
    Clear(a.s.active, bits::Words(a.s.graph.local) * sizeof(std::uint32_t));
  }
  /// Vertices that still wait become active.
  void LeaveWaiting(const RelaxRef<P>& a, FusedRun& run, const WaitContext& context) {
    LeavePending<P><<<Blocks(bits::Words(a.s.graph.owned)), kThreads, 0, stream()>>>(a);
    Check();
    Count(a, run, context);
  }
  /// A frontier with more vertices than a list has room for, by windows of priorities: see Windows.
  void RunWindows(RelaxRef<P>& a, FusedRun& run, const WaitContext& context) {
    Wait(a, run);
    Windows window(a.width, capacity_ / 4);
    while (true) {
      ClearCounts();
      Clear(windows_.data(), windows_.bytes());
      TakeWindow<P><<<Blocks(a.s.graph.owned), kThreads, 0, stream()>>>(a, window.from(), window.limit(), windows_.data());
      Check();
      device_.CopyOut(window_.data(), windows_.data(), sizeof(WindowCounts), device_.stream());
      Launch(a);
      const bool left = Finish(a, run, context);
      const WindowCounts& counts = window_[0];
      if (!left && counts.left == 0) return;
      if (left || (run.stop != nullptr && run.stop->stop_requested())) break;
      window.Next(counts, report_[0].done);
      if (a.adapts) a.width = std::min(window.width(), a.max_width);  // of later buckets: else a fixed width
    }
    LeaveWaiting(a, run, context);
  }

  /// Reports the kernel's steps as spans. The GPU's clock is shifted so that the kernel ends now.
  void Trace(TraceTrack& track, Clock::time_point start, std::uint32_t before) {
    const std::uint32_t steps = std::min(report_[0].steps, kTraceSteps);
    if (steps == 0) return;
    std::vector<StepRecord> records(steps);
    device_.CopyOut(records.data(), trace_.data(), steps * sizeof(StepRecord), device_.stream());
    device_.stream().Synchronize();
    const Clock::time_point end = Clock::now();
    Clock::time_point begin = start;
    for (std::uint32_t k = 0; k < steps; ++k) {
      const std::chrono::nanoseconds ago(records[steps - 1].end_ns - records[k].end_ns);
      const Clock::time_point at = std::max(begin, end - std::chrono::duration_cast<Clock::duration>(ago));
      track.AddSpan(spans::kFusedStep, begin, at,
                    {before + k, records[k].items, static_cast<std::uint64_t>(std::clamp(records[k].width, 0.0f, 1e18f))});
      begin = at;
    }
  }
  /// What is left becomes the frontier, a bitmap.
  void Leave(const RelaxRef<P>& a, FusedRun& run, const WaitContext& context) {
    LeaveFrontier<P><<<Blocks(capacity_), kThreads, 0, stream()>>>(a);
    Check();
    if constexpr (Traits<P>::kHasRoundMessage) {
      if (run.mixed && !state_.ref().asynchronous) {
        EmptyInboxes<P><<<Blocks(a.s.graph.local), kThreads, 0, stream()>>>(a);
        Check();
      }
    }
    Count(a, run, context);
  }
  /// Counts the frontier.
  void Count(const RelaxRef<P>& a, FusedRun& run, const WaitContext& context) {
    Clear(a.s.control, sizeof(Control));
    CountFrontier<P><<<Blocks(a.s.graph.owned), kThreads, 0, stream()>>>(a);
    Check();
    device_.CopyOut(control_.data(), a.s.control, sizeof(Control), device_.stream());
    Clear(a.s.control, sizeof(Control));
    kernel_.Await(run.stop, context);
    run.active_vertices = control_[0].active_vertices;
    run.ahead.active_edges = control_[0].active_edges;
    run.ahead.candidate_edges = control_[0].candidate_edges;
  }
  void Check() const {
    if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) {
      chatty::detail::ThrowCudaWork(error, device_.label(), "launching a kernel of a fused run (or a step before it)");
    }
  }

  Device& device_;
  const ProgramState<P>& state_;
  const std::uint32_t capacity_;
  const bool carries_;  ///< see CarriesValues
  RowRecords records_;
  void (*relax_)(RelaxRef<P>) = nullptr;  // the kernel of a GPU that has the whole graph, for its rows
  std::array<Buffer<ItemOf<P>>, 2> near_, far_;
  Buffer<ItemOf<P>> hubs_, donations_;
  Buffer<StepCounts> counts_;
  Buffer<RelaxTotals> totals_;
  Pinned<RelaxTotals> report_;
  Pinned<Control> control_;
  Buffer<WindowCounts> windows_;
  Pinned<WindowCounts> window_;
  Buffer<StepRecord> trace_;
  Buffer<TeamStep> begun_;
  ResidentKernel kernel_;
  unsigned blocks_ = 1;
};

}  // namespace chatty::fused::cuda
