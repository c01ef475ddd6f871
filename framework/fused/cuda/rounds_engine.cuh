/// \file
/// Rounds of few vertices on a GPU that has the whole graph, in one resident kernel.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "chatty/core/bitmap.h"
#include "chatty/core/cuda.h"
#include "chatty/framework/fused/cuda/resident.cuh"
#include "chatty/framework/fused/cuda/rounds.cuh"
#include "chatty/framework/fused/cuda/rounds_memory.h"
#include "chatty/framework/fused/fused_engine.h"
#include "chatty/framework/program_state.h"

namespace chatty::fused::cuda {

/// Runs P's rounds on one GPU. The device and the state must outlive it.
template <class P>
class RoundsEngine final : public FusedEngine {
 public:
  /// Allocates what RoundsBytes says. Throws OutOfMemoryError, and CapabilityError where a kernel cannot stay resident.
  RoundsEngine(Device& device, const ProgramState<P>& state)
      : device_(device),
        state_(state),
        kernel_(device),
        spilled_(device, kRoundItems),
        touched_(device, kRoundItems),
        counts_(device, 3),
        barrier_(device, 1),
        totals_(device, 1),
        report_(device, 1),
        blocks_(std::min(kernel_.Blocks(&Rounds<P>, kRoundThreads, 0), BlockSums::kMaxBlocks)) {}

  FusedTerms terms() const override {
    FusedTerms terms;
    terms.narrow_rounds = kRoundsPolicy.narrow_rounds << idle_calls_;
    terms.narrow_edges = kRoundsPolicy.narrow_edges;
    return terms;
  }

  bool Run(FusedRun& run, const WaitContext& context) override {
    if (run.form == Form::kAll || run.asynchronous || run.active_vertices > kRoundEdges || run.max_rounds == 0 ||
        run.ahead.active_edges > kRoundEdges || run.chooser.UsePull(run.ahead, run.round.vertices)) {
      return false;
    }
    RoundsRef<P> a;
    a.s = state_.ref();
    a.spilled = spilled_.data();
    a.touched = touched_.data();
    a.counts = counts_.data();
    a.barrier = barrier_.data();
    a.totals = totals_.data();
    a.host = kernel_.words();
    a.max_rounds = run.max_rounds;
    if (run.list_items != 0) a.room = run.list_items;
    RoundOf<P> round = run.round.As<GlobalOf<P>>();
    device_.Fill(counts_.data(), 0, counts_.bytes(), device_.stream());
    device_.Fill(barrier_.data(), 0, barrier_.bytes(), device_.stream());
    device_.Fill(totals_.data(), 0, totals_.bytes(), device_.stream());
    if (run.form == Form::kQueue) {  // the bitmap, which takes what is left, is of an earlier round
      device_.Fill(a.s.active, 0, bits::Words(a.s.graph.local) * sizeof(std::uint32_t), device_.stream());
    }
    TakeActive<P><<<Blocks(run.form == Form::kQueue ? run.count : a.s.graph.owned), kRoundThreads, 0, stream()>>>(
        a, run.form, run.count);
    Check();
    kernel_.Launch(&Rounds<P>, blocks_, kRoundThreads, 0, a, round);
    device_.CopyOut(report_.data(), totals_.data(), sizeof(RoundTotals), device_.stream());
    kernel_.Await(run.stop, context);
    const RoundTotals& t = report_[0];
    idle_calls_ = t.rounds > 0 ? 0 : std::min(idle_calls_ + 1, kMaxIdleCalls);
    run.form = Form::kBitmap;
    run.push_rounds += t.rounds;
    run.steps += t.rounds;
    run.edges_touched += t.edges_touched;
    run.vertices_updated += t.updated;
    run.active_vertices = t.active;
    run.ahead.active_edges = t.edges;
    run.ahead.candidate_edges += static_cast<decltype(run.ahead.candidate_edges)>(t.candidates);
    run.round.index += t.rounds;
    run.round.active = t.active;
    return true;
  }

 private:
  /// A call without rounds, because of a long row, doubles the rounds before the next, so many times at most.
  static constexpr unsigned kMaxIdleCalls = 6;

  cudaStream_t stream() const { return static_cast<cudaStream_t>(device_.stream().native()); }
  unsigned Blocks(std::size_t items) const {
    return static_cast<unsigned>(
        std::clamp<std::size_t>((items + kRoundThreads - 1) / kRoundThreads, 1, std::size_t{blocks_} * 8));
  }
  void Check() const {
    if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) {
      chatty::detail::ThrowCudaWork(error, device_.label(), "launching a kernel of resident rounds (or a step before it)");
    }
  }

  Device& device_;
  const ProgramState<P>& state_;
  ResidentKernel kernel_;
  Buffer<ActiveVertex> spilled_;
  Buffer<LocalId> touched_;
  Buffer<RoundCounts> counts_;
  Buffer<GridBarrierWords> barrier_;
  Buffer<RoundTotals> totals_;
  Pinned<RoundTotals> report_;
  const unsigned blocks_;
  unsigned idle_calls_ = 0;
};

}  // namespace chatty::fused::cuda
