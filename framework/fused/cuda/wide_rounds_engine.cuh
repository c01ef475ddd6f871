/// \file
/// Rounds of any width in one resident kernel a GPU, on a GPU that has the whole graph or on several that have a part each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "chatty/comm/symmetric/access.h"
#include "chatty/core/cuda.h"
#include "chatty/framework/fused/cuda/resident.cuh"
#include "chatty/framework/fused/cuda/wide_rounds.cuh"
#include "chatty/framework/fused/fused_engine.h"
#include "chatty/framework/fused/team.h"
#include "chatty/framework/program_state.h"

namespace chatty::fused::cuda {

/// Runs P's rounds on a GPU, from the first values on if the run begins. The device and the state must outlive it.
template <class P>
class WideRoundsEngine final : public FusedEngine {
 public:
  /// Allocates the kernel's counters. `edges`: of the GPU's part. Throws OutOfMemoryError, and CapabilityError where a
  /// kernel cannot stay resident.
  WideRoundsEngine(Device& device, ProgramState<P>& state, std::uint64_t edges)
      : device_(device),
        state_(state),
        kernel_(device),
        controls_(device, kWideControls),
        barrier_(device, 1),
        report_(device, 1),
        most_(Several() ? kernel_.MaxBlocks(&WideRoundsTogether<P>, steps::cuda::kBlock, 0)
                        : kernel_.MaxBlocks(&WideRounds<P>, steps::cuda::kBlock, 0)),
        wanted_(WantedBlocks(edges)) {
    report_[0].ticket = 0;
    if (!Several()) return;
    words_ = Buffer<WideTeamWords>(device, 1);
    traffic_.emplace(device, state.ref().graph.parts);
    // Loading a kernel may wait for another device's that runs on the same GPU, and waits for this one.
    cudaFuncAttributes attributes = {};
    CHATTY_CUDA(cudaFuncGetAttributes(&attributes, WideRoundsTogether<P>));
  }

  /// Several devices have the same sums, and make the same rounds.
  bool Run(FusedRun& run, const WaitContext& context) override {
    if (!Several()) {
      WideRoundsRef<P> a = InputOf(run);
      Launch(&WideRounds<P>, blocks(1), /*beside=*/false, run, a, context);
    } else {
      RunTogether(run, context);
    }
    run.begins = false;
    clear_ = true;
    barriers_ = report_[0].barriers;
    TakeProgress(run, report_[0].progress);
    if (Several()) {
      const WideShare& share = report_[0].share;
      run.active_vertices = share.active_vertices;
      run.ahead = {share.active_edges, share.candidate_edges};
    }
    return true;
  }

 private:
  bool Several() const { return state_.ref().graph.parts > 1; }

  void RunTogether(FusedRun& run, const WaitContext& context) try {
    WideTeamRoundsRef<P> a{InputOf(run), {}};
    a.team.team = *run.rounds_team;
    a.team.peers = run.halo_bits;
    a.team.words = words_.data();
    a.team.report = traffic_->data();
    a.team.epoch = run.epoch;
    a.team.stops = run.stop->stop_requested();
    a.team.share.active_vertices = run.own_active_vertices;
    a.team.share.active_edges = run.own_active_edges;
    Launch(&WideRoundsTogether<P>, blocks(run.sharing), run.sharing > 1, run, a, context);
    run.begins = run.begins && report_[0].failed && kernel_.words()[1] == 0;  // as in Launch
    if (report_[0].failed) ThrowAborted(context, "rounds of all devices together");
    // The rounds' messages are checked afterwards, without their active vertices: a wrong one fails the run.
    if (a.begins) state_.ForgetRoundMessages();
    RoundOf<P> round = run.round.As<GlobalOf<P>>();
    const WideProgress& made = report_[0].progress;
    const std::uint32_t rounds = made.push_rounds + made.pull_rounds - (report_[0].share.skips ? 1 : 0);
    for (std::uint32_t i = 0; i < rounds; ++i, ++round.index) state_.CheckRoundMessage(round);
    run.epoch = report_[0].epoch;
    std::copy_n(traffic_->data(), run.traffic.size(), run.traffic.begin());
  } catch (...) {
    chatty::detail::StoreRelaxed(run.rounds_team->heap.abort, 1u);  // nobody may wait for this device
    throw;
  }

  /// The kernel's input. Clears the counters, if the last run has not.
  WideRoundsRef<P> InputOf(const FusedRun& run) {
    if (!clear_) {
      device_.Fill(controls_.data(), 0, controls_.bytes(), device_.stream());
      device_.Fill(barrier_.data(), 0, barrier_.bytes(), device_.stream());
      if (Several()) device_.Fill(words_.data(), 0, words_.bytes(), device_.stream());
      barriers_ = 0;
    }
    clear_ = false;
    WideRoundsRef<P> a;
    a.controls = controls_.data();
    a.barrier = barrier_.data();
    a.report = report_.data();
    a.ticket = ++ticket_;
    a.host = kernel_.words();
    a.input = reinterpret_cast<const chatty::InputOf<P>*>(run.input);
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
    a.barriers = barriers_;
    return a;
  }

  /// Launches the kernel and awaits its report.
  template <class Kernel, class Input>
  void Launch(Kernel* kernel, unsigned blocks, bool beside, FusedRun& run, Input& input, const WaitContext& context) {
    StateRef<P> state = state_.ref();
    RoundOf<P> round = run.round.As<GlobalOf<P>>();
    if (beside) {
      kernel_.LaunchBeside(kernel, blocks, steps::cuda::kBlock, 0, state, round, input);
    } else {
      kernel_.Launch(kernel, blocks, steps::cuda::kBlock, 0, state, round, input);
    }
    try {
      kernel_.AwaitWord(&report_[0].ticket, ticket_, run.stop, context);
    } catch (...) {
      run.begins = run.begins && kernel_.words()[1] == 0;  // a round has begun behind the first values
      throw;
    }
  }

  static void TakeProgress(FusedRun& run, const WideProgress& p) {
    run.chooser = p.chooser;
    run.ahead = p.ahead;
    run.active_vertices = p.active_vertices;
    run.first_active = p.first_active;
    run.form = Form::kBitmap;
    run.narrow_rounds = p.narrow_rounds;
    run.push_rounds += p.push_rounds;
    run.pull_rounds += p.pull_rounds;
    run.edges_touched += p.edges_touched;
    run.vertices_updated += p.vertices_updated;
    run.round.index += p.push_rounds + p.pull_rounds;
    run.round.active = p.active_vertices;
  }

  /// A thread for each vertex and for 32 edges at most: barriers of fewer blocks are faster.
  unsigned WantedBlocks(std::uint64_t edges) const {
    const std::uint64_t threads = std::max<std::uint64_t>(state_.ref().graph.owned, edges / 32);
    const auto least = static_cast<unsigned>(device_.info().multiprocessors);
    return static_cast<unsigned>(std::clamp<std::uint64_t>(threads / steps::cuda::kBlock, least, most_));
  }
  /// Of a launch, where so many devices share the GPU.
  unsigned blocks(std::size_t sharing) const {
    return std::max(1u, std::min(wanted_, most_ / static_cast<unsigned>(sharing)));
  }

  Device& device_;
  ProgramState<P>& state_;
  ResidentKernel kernel_;
  Buffer<WideControl> controls_;
  Buffer<PlainBarrierWords> barrier_;
  Pinned<WideReport> report_;
  /// @{
  /// Of several devices.
  Buffer<WideTeamWords> words_;
  std::optional<Pinned<TeamTraffic>> traffic_;
  /// @}
  const unsigned most_, wanted_;  // blocks that are resident at once; and those that the part needs
  std::uint32_t ticket_ = 0;
  std::uint64_t barriers_ = 0;
  bool clear_ = false;  // counters and words: not before the first run, nor after a failed one
};

}  // namespace chatty::fused::cuda
