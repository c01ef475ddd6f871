/// \file
/// Rounds of few vertices on several GPUs together, in a resident kernel on each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "chatty/comm/symmetric/access.h"
#include "chatty/core/bitmap.h"
#include "chatty/core/cuda.h"
#include "chatty/framework/fused/cuda/resident.cuh"
#include "chatty/framework/fused/cuda/rounds_memory.h"
#include "chatty/framework/fused/cuda/rounds_team.cuh"
#include "chatty/framework/fused/fused_engine.h"
#include "chatty/framework/fused/team.h"
#include "chatty/framework/program_state.h"

namespace chatty::fused::cuda {

/// Runs P's rounds on one of several GPUs. The device and the state must outlive it.
template <class P>
class TeamRoundsEngine final : public FusedEngine {
 public:
  /// Allocates what RoundsBytes says, but for the team's memory. Throws OutOfMemoryError, and CapabilityError where a kernel
  /// cannot stay resident.
  TeamRoundsEngine(Device& device, ProgramState<P>& state)
      : device_(device),
        state_(state),
        kernel_(device),
        spilled_(device, kRoundItems),
        touched_(device, kRoundItems),
        counts_(device, 3),
        totals_(device, 1),
        report_(device, 1),
        counters_(device, 1),
        traffic_(device, 1),
        blocks_(std::min(kernel_.Blocks(&RoundsTogether<P>, kRoundThreads, 0), BlockSums::kMaxBlocks)) {
    // Loading a kernel may wait for another device's that runs on the same GPU, and waits for this one.
    cudaFuncAttributes attributes = {};
    CHATTY_CUDA(cudaFuncGetAttributes(&attributes, RoundsTogether<P>));
    CHATTY_CUDA(cudaFuncGetAttributes(&attributes, TakeActive<P>));
  }

  FusedTerms terms() const override {
    FusedTerms terms;
    terms.narrow_rounds = kRoundsPolicy.narrow_rounds << idle_calls_;
    terms.narrow_edges = kRoundsPolicy.narrow_edges;
    return terms;
  }

  void Forget() override { idle_calls_ = 0; }

  /// The devices have the same sums, and so all run or none.
  bool Run(FusedRun& run, const WaitContext& context) override {
    if (run.rounds_team == nullptr || run.form == Form::kAll || run.asynchronous || state_.ref().asynchronous ||
        run.active_vertices > run.rounds_team->max_edges || run.max_rounds == 0 ||
        run.ahead.active_edges > run.rounds_team->max_edges || run.chooser.UsePull(run.ahead, run.round.vertices)) {
      return false;
    }
    RunTogether(run, context);
    return true;
  }

 private:
  /// A call without rounds, because of a long row, doubles the rounds before the next, so many times at most.
  static constexpr unsigned kMaxIdleCalls = 6;

  void RunTogether(FusedRun& run, const WaitContext& context) try {
    TeamRoundsRef<P> a;
    a.s = state_.ref();
    a.spilled = spilled_.data();
    a.touched = touched_.data();
    a.counts = counts_.data();
    a.totals = totals_.data();
    a.host = kernel_.words();
    a.max_rounds = run.max_rounds;
    if (run.list_items != 0) a.room = run.list_items;
    a.team = *run.rounds_team;
    a.max_edges = run.rounds_team->max_edges;
    a.counters = counters_.data();
    a.epoch = run.epoch;
    RoundOf<P> round = run.round.As<GlobalOf<P>>();
    Clear(counts_.data(), counts_.bytes());
    Clear(totals_.data(), totals_.bytes());
    Clear(counters_.data(), counters_.bytes());
    if (run.form == Form::kQueue) {  // the bitmap, which takes what is left, is of an earlier round
      Clear(a.s.active, bits::Words(a.s.graph.local) * sizeof(std::uint32_t));
    }
    TakeActive<P><<<Blocks(run.form == Form::kQueue ? run.count : a.s.graph.owned), kRoundThreads, 0, stream()>>>(
        a, run.form, run.count);
    Check();
    const unsigned blocks = std::max(1u, blocks_ / static_cast<unsigned>(run.sharing));
    if (run.sharing > 1) {
      kernel_.LaunchBeside(&RoundsTogether<P>, blocks, kRoundThreads, 0, a, round);
    } else {
      kernel_.Launch(&RoundsTogether<P>, blocks, kRoundThreads, 0, a, round);
    }
    device_.CopyOut(report_.data(), totals_.data(), sizeof(RoundTotals), device_.stream());
    device_.CopyOut(traffic_.data(), counters_.data(), sizeof(TeamRoundCounters), device_.stream());
    kernel_.Await(run.stop, context);
    if (chatty::detail::LoadRelaxed(a.team.heap.abort) != 0) ThrowAborted(context, "rounds of all devices together");
    const RoundTotals& t = report_[0];
    // The rounds' messages are checked afterwards: a wrong one fails the run.
    for (std::uint32_t i = 0; i < t.rounds; ++i, ++round.index) state_.CheckRoundMessage(round);
    idle_calls_ = t.rounds > 0 ? 0 : std::min(idle_calls_ + 1, kMaxIdleCalls);
    run.epoch += 2 * t.rounds + 1;
    run.form = Form::kBitmap;
    run.push_rounds += t.rounds;
    run.steps += t.rounds;
    run.edges_touched += t.edges_touched;
    run.vertices_updated += t.updated;
    run.active_vertices = t.active;
    run.ahead.active_edges = t.edges;
    run.ahead.candidate_edges = t.candidates;
    run.round.index += t.rounds;
    for (std::size_t q = 0; q < run.traffic.size(); ++q) {
      run.traffic[q] = {traffic_[0].sent[q], traffic_[0].crossed[q], traffic_[0].sent[q] * kTeamEntryBytes};
    }
  } catch (...) {
    chatty::detail::StoreRelaxed(run.rounds_team->heap.abort, 1u);  // nobody may wait for this device
    throw;
  }

  cudaStream_t stream() const { return static_cast<cudaStream_t>(device_.stream().native()); }
  unsigned Blocks(std::size_t items) const {
    return static_cast<unsigned>(
        std::clamp<std::size_t>((items + kRoundThreads - 1) / kRoundThreads, 1, std::size_t{blocks_} * 8));
  }
  void Clear(void* memory, std::size_t bytes) { device_.Fill(memory, 0, bytes, device_.stream()); }
  void Check() const {
    if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) {
      chatty::detail::ThrowCudaWork(error, device_.label(), "launching a kernel of resident rounds (or a step before it)");
    }
  }

  Device& device_;
  ProgramState<P>& state_;
  ResidentKernel kernel_;
  Buffer<ActiveVertex> spilled_;
  Buffer<LocalId> touched_;
  Buffer<RoundCounts> counts_;
  Buffer<RoundTotals> totals_;
  Pinned<RoundTotals> report_;
  Buffer<TeamRoundCounters> counters_;
  Pinned<TeamRoundCounters> traffic_;
  const unsigned blocks_;
  unsigned idle_calls_ = 0;
};

}  // namespace chatty::fused::cuda
