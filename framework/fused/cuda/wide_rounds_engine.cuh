/// \file
/// Rounds of any width on a GPU that has the whole graph, in one resident kernel.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "chatty/core/cuda.h"
#include "chatty/framework/fused/cuda/resident.cuh"
#include "chatty/framework/fused/cuda/wide_rounds.cuh"
#include "chatty/framework/fused/fused_engine.h"
#include "chatty/framework/program_state.h"

namespace chatty::fused::cuda {

/// Runs P's rounds on one GPU, from the first values on if the run begins. The device and the state must outlive it.
template <class P>
class WideRoundsEngine final : public FusedEngine {
 public:
  /// Allocates the kernel's counters. `edges`: of the graph. Throws OutOfMemoryError, and CapabilityError where a kernel
  /// cannot stay resident.
  WideRoundsEngine(Device& device, const ProgramState<P>& state, std::uint64_t edges)
      : device_(device),
        state_(state),
        kernel_(device),
        controls_(device, kWideControls),
        barrier_(device, 1),
        report_(device, 1),
        blocks_(Blocks(edges, kernel_.MaxBlocks(&WideRounds<P>, steps::cuda::kBlock, 0))) {
    report_[0].ticket = 0;
  }

  bool Run(FusedRun& run, const WaitContext& context) override {
    WideRoundsRef<P> a;
    a.controls = controls_.data();
    a.barrier = barrier_.data();
    a.report = report_.data();
    a.ticket = ++ticket_;
    a.host = kernel_.words();
    a.input = reinterpret_cast<const InputOf<P>*>(run.input);
    a.begins = run.begins;
    a.skips_last_round = run.skips_last_round;
    a.max_rounds = run.max_rounds;
    a.narrow_rounds = run.hand_over.narrow_rounds;
    a.narrow_edges = run.hand_over.narrow_edges;
    a.progress.chooser = run.chooser;
    a.progress.ahead = run.ahead;
    a.progress.active_vertices = run.active_vertices;
    a.progress.form = run.form;
    a.progress.count = run.count;
    a.progress.narrow_rounds = run.narrow_rounds;
    StateRef<P> state = state_.ref();
    RoundOf<P> round = run.round.As<GlobalOf<P>>();
    if (!clear_) {
      device_.Fill(controls_.data(), 0, controls_.bytes(), device_.stream());
      device_.Fill(barrier_.data(), 0, barrier_.bytes(), device_.stream());
      barriers_ = 0;
    }
    clear_ = false;
    a.barriers = barriers_;
    kernel_.Launch(&WideRounds<P>, blocks_, steps::cuda::kBlock, 0, state, round, a);
    try {
      kernel_.AwaitWord(&report_[0].ticket, ticket_, run.stop, context);
    } catch (...) {
      run.begins = run.begins && kernel_.words()[1] == 0;  // a round has begun behind the first values
      throw;
    }
    run.begins = false;
    clear_ = true;
    barriers_ = report_[0].barriers;
    const WideProgress& p = report_[0].progress;
    run.chooser = p.chooser;
    run.ahead = p.ahead;
    run.active_vertices = p.active_vertices;
    run.form = Form::kBitmap;
    run.narrow_rounds = p.narrow_rounds;
    run.push_rounds += p.push_rounds;
    run.pull_rounds += p.pull_rounds;
    run.edges_touched += p.edges_touched;
    run.vertices_updated += p.vertices_updated;
    run.round.index += p.push_rounds + p.pull_rounds;
    run.round.active = p.active_vertices;
    return true;
  }

 private:
  /// A thread for each vertex and for 32 edges at most: barriers of fewer blocks are faster.
  unsigned Blocks(std::uint64_t edges, unsigned most) const {
    const std::uint64_t threads = std::max<std::uint64_t>(state_.ref().graph.owned, edges / 32);
    const auto least = static_cast<unsigned>(device_.info().multiprocessors);
    return static_cast<unsigned>(std::clamp<std::uint64_t>(threads / steps::cuda::kBlock, least, most));
  }

  Device& device_;
  const ProgramState<P>& state_;
  ResidentKernel kernel_;
  Buffer<WideControl> controls_;
  Buffer<PlainBarrierWords> barrier_;
  Pinned<WideReport> report_;
  const unsigned blocks_;
  std::uint32_t ticket_ = 0;
  std::uint64_t barriers_ = 0;
  bool clear_ = false;  // counters and words: not before the first run, nor after a failed one
};

}  // namespace chatty::fused::cuda
