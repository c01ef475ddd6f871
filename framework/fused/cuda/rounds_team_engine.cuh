/// \file
/// Rounds of few vertices on several GPUs together, in a resident kernel on each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "chatty/comm/symmetric/access.h"
#include "chatty/core/cuda.h"
#include "chatty/framework/fused/cuda/rounds_engine_base.cuh"
#include "chatty/framework/fused/cuda/rounds_team.cuh"
#include "chatty/framework/fused/team.h"

namespace chatty::fused::cuda {

/// Runs P's rounds on one of several GPUs. The device and the state must outlive it.
template <class P>
class TeamRoundsEngine final : public RoundsEngineBase<P> {
  using Base = RoundsEngineBase<P>;

 public:
  /// Allocates what RoundsBytes says, but for the team's memory. Throws OutOfMemoryError, and CapabilityError where a kernel
  /// cannot stay resident.
  TeamRoundsEngine(Device& device, ProgramState<P>& state)
      : Base(device, state, &RoundsTogether<P>), counters_(device, 1), traffic_(device, 1) {
    // Loading a kernel may wait for another device's that runs on the same GPU, and waits for this one.
    cudaFuncAttributes attributes = {};
    CHATTY_CUDA(cudaFuncGetAttributes(&attributes, RoundsTogether<P>));
    CHATTY_CUDA(cudaFuncGetAttributes(&attributes, TakeActive<P>));
  }

  void Forget() override { this->ForgetIdleCalls(); }

  /// The devices have the same sums, and so all run or none.
  bool Run(FusedRun& run, const WaitContext& context) override {
    if (run.rounds_team == nullptr || this->state_.ref().asynchronous || !Base::Suits(run, run.rounds_team->max_edges)) {
      return false;
    }
    RunTogether(run, context);
    return true;
  }

 private:
  void RunTogether(FusedRun& run, const WaitContext& context) try {
    TeamRoundsRef<P> a;
    a.team = *run.rounds_team;
    a.max_edges = run.rounds_team->max_edges;
    a.counters = counters_.data();
    a.epoch = run.epoch;
    this->Clear(counters_.data(), counters_.bytes());
    this->Begin(a, run);
    RoundOf<P> round = run.round.As<GlobalOf<P>>();
    const unsigned blocks = std::max(1u, this->blocks() / static_cast<unsigned>(run.sharing));
    if (run.sharing > 1) {
      this->kernel_.LaunchBeside(&RoundsTogether<P>, blocks, kRoundThreads, 0, a, round);
    } else {
      this->kernel_.Launch(&RoundsTogether<P>, blocks, kRoundThreads, 0, a, round);
    }
    this->CopyReport();
    this->device_.CopyOut(traffic_.data(), counters_.data(), sizeof(TeamRoundCounters), this->device_.stream());
    this->kernel_.Await(run.stop, context);
    if (chatty::detail::LoadRelaxed(a.team.heap.abort) != 0) ThrowAborted(context, "rounds of all devices together");
    const RoundTotals& t = this->TakeReport(run);
    // The rounds' messages are checked afterwards: a wrong one fails the run.
    for (std::uint32_t i = 0; i < t.rounds; ++i, ++round.index) this->state_.CheckRoundMessage(round);
    run.epoch += 2 * t.rounds + 1;
    run.ahead.candidate_edges = t.candidates;
    for (std::size_t q = 0; q < run.traffic.size(); ++q) {
      run.traffic[q] = {traffic_[0].sent[q], traffic_[0].crossed[q], traffic_[0].sent[q] * kTeamEntryBytes};
    }
  } catch (...) {
    chatty::detail::StoreRelaxed(run.rounds_team->heap.abort, 1u);  // nobody may wait for this device
    throw;
  }

  Buffer<TeamRoundCounters> counters_;
  Pinned<TeamRoundCounters> traffic_;
};

}  // namespace chatty::fused::cuda
