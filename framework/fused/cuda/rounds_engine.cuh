/// \file
/// Rounds of few vertices on a GPU that has the whole graph, in one resident kernel.
#pragma once

#include "chatty/framework/fused/cuda/rounds.cuh"
#include "chatty/framework/fused/cuda/rounds_engine_base.cuh"

namespace chatty::fused::cuda {

/// Runs P's rounds on one GPU. The device and the state must outlive it.
template <class P>
class RoundsEngine final : public RoundsEngineBase<P> {
  using Base = RoundsEngineBase<P>;

 public:
  /// Allocates what RoundsBytes says. Throws OutOfMemoryError, and CapabilityError where a kernel cannot stay resident.
  RoundsEngine(Device& device, ProgramState<P>& state) : Base(device, state, &Rounds<P>), barrier_(device, 1) {}

  bool Run(FusedRun& run, const WaitContext& context) override {
    if (!Base::Suits(run, kRoundEdges)) return false;
    RoundsRef<P> a;
    a.barrier = barrier_.data();
    this->Clear(barrier_.data(), barrier_.bytes());
    this->Begin(a, run);
    RoundOf<P> round = run.round.As<GlobalOf<P>>();
    this->kernel_.Launch(&Rounds<P>, this->blocks(), kRoundThreads, 0, a, round);
    this->CopyReport();
    this->kernel_.Await(run.stop, context);
    const RoundTotals& t = this->TakeReport(run);
    run.ahead.candidate_edges += static_cast<decltype(run.ahead.candidate_edges)>(t.candidates);
    run.round.active = t.active;
    return true;
  }

 private:
  Buffer<GridBarrierWords> barrier_;
};

}  // namespace chatty::fused::cuda
