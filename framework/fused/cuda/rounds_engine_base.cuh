/// \file
/// What the engines of narrow rounds share, on a GPU that has the whole graph and on several that have a part each: the
/// lists of a resident kernel, what comes before its launch, and what its report says of the run.
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

/// The base of RoundsEngine and TeamRoundsEngine. The device and the state must outlive it.
template <class P>
class RoundsEngineBase : public FusedEngine {
 public:
  FusedTerms terms() const final {
    FusedTerms terms;
    terms.narrow_rounds = kRoundsPolicy.narrow_rounds << idle_calls_;
    terms.narrow_edges = kRoundsPolicy.narrow_edges;
    return terms;
  }

 protected:
  /// `kernel` makes the rounds. Throws OutOfMemoryError, and CapabilityError where it cannot stay resident.
  template <class Kernel>
  RoundsEngineBase(Device& device, ProgramState<P>& state, Kernel* kernel)
      : device_(device),
        state_(state),
        kernel_(device),
        spilled_(device, kRoundItems),
        touched_(device, kRoundItems),
        counts_(device, 3),
        totals_(device, 1),
        report_(device, 1),
        blocks_(std::min(kernel_.Blocks(kernel, kRoundThreads, 0), BlockSums::kMaxBlocks)) {}

  /// Whether the run may go on in rounds of at most so many edges.
  static bool Suits(const FusedRun& run, std::uint64_t max_edges) {
    return run.form != Form::kAll && !run.asynchronous && run.max_rounds != 0 && run.active_vertices <= max_edges &&
           run.ahead.active_edges <= max_edges && !run.chooser.UsePull(run.ahead, run.round.vertices);
  }
  /// The kernel's input, and on the stream all that comes before its launch.
  void Begin(RoundsRef<P>& a, const FusedRun& run) {
    a.s = state_.ref();
    a.spilled = spilled_.data();
    a.touched = touched_.data();
    a.counts = counts_.data();
    a.totals = totals_.data();
    a.host = kernel_.words();
    a.max_rounds = run.max_rounds;
    if (run.list_items != 0) a.room = run.list_items;
    Clear(counts_.data(), counts_.bytes());
    Clear(totals_.data(), totals_.bytes());
    if (run.form == Form::kQueue) {  // the bitmap, which takes what is left, is of an earlier round
      Clear(a.s.active, bits::Words(a.s.graph.local) * sizeof(std::uint32_t));
    }
    TakeActive<P><<<Blocks(run.form == Form::kQueue ? run.count : a.s.graph.owned), kRoundThreads, 0, stream()>>>(
        a, run.form, run.count);
    Check();
  }
  /// Behind the kernel's launch: its report comes to the host.
  void CopyReport() { device_.CopyOut(report_.data(), totals_.data(), sizeof(RoundTotals), device_.stream()); }
  /// After the kernel: adds its rounds to the run's, but for candidate edges, which it counts as the caller knows.
  const RoundTotals& TakeReport(FusedRun& run) {
    const RoundTotals& t = report_[0];
    idle_calls_ = t.rounds > 0 ? 0 : std::min(idle_calls_ + 1, kMaxIdleCalls);
    run.form = Form::kBitmap;
    run.push_rounds += t.rounds;
    run.steps += t.rounds;
    run.edges_touched += t.edges_touched;
    run.vertices_updated += t.updated;
    run.active_vertices = t.active;
    run.ahead.active_edges = t.edges;
    run.round.index += t.rounds;
    return t;
  }
  /// Blocks of the kernel where no other device shares the GPU.
  unsigned blocks() const { return blocks_; }
  void ForgetIdleCalls() { idle_calls_ = 0; }
  void Clear(void* memory, std::size_t bytes) { device_.Fill(memory, 0, bytes, device_.stream()); }

  Device& device_;
  ProgramState<P>& state_;
  ResidentKernel kernel_;

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

  Buffer<ActiveVertex> spilled_;
  Buffer<LocalId> touched_;
  Buffer<RoundCounts> counts_;
  Buffer<RoundTotals> totals_;
  Pinned<RoundTotals> report_;
  const unsigned blocks_;
  unsigned idle_calls_ = 0;
};

}  // namespace chatty::fused::cuda
