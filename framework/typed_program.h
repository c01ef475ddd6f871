/// \file
/// From a program's type to the erased form that engines take.
#pragma once

#include <cstring>
#include <limits>

#include "chatty/framework/backends.h"
#include "chatty/framework/fused/cuda/relax_memory.h"
#include "chatty/framework/fused/cuda/rounds_memory.h"
#include "chatty/framework/fused/cuda/wide_rounds_memory.h"
#include "chatty/framework/step_set.h"
#include "chatty/framework/steps/cuda/packed_rows.h"
#include "chatty/framework/steps/host/step_set.h"
#include "chatty/framework/vertex_data.h"
#if CHATTY_CUDA_COMPILER
#include "chatty/framework/steps/cuda/step_set.cuh"
#endif

namespace chatty {

/// Refuses parameters that the program itself refuses, by its CheckInput(): before any graph is there. Throws what that
/// throws, UsageError as a rule.
template <class P>
void CheckParameters([[maybe_unused]] const P& program) {
  if constexpr (requires { program.CheckInput(); }) program.CheckInput();
}

/// Refuses parameters that make no sense on this graph, and graphs that the program itself refuses, by its
/// CheckInput(graph). Throws what that throws, and UsageError for a source that is no vertex.
template <class P>
void CheckProgramInput([[maybe_unused]] const Graph& graph, const P& program) {
  CheckParameters(program);
  if constexpr (requires { program.source; }) {
    if (program.source >= graph.vertices()) {
      Throw<UsageError>("source {} is not a vertex: the graph has {} vertices", program.source, graph.vertices());
    }
  }
  if constexpr (requires { program.CheckInput(graph); }) program.CheckInput(graph);
}

namespace detail {

/// ProgramTraits::host_fused.
template <class P>
constexpr std::optional<FusedTraits> HostFusedTraits() {
  if constexpr (!fused::host::kFuses<P>) return std::nullopt;
  FusedTraits traits;
  traits.needs_buckets = fused::host::kRunsBuckets<P>;
  traits.keeps_rounds = fused::host::kHasRounds<P>;
  traits.any_order = fused::kRelaxes<P>;
  traits.together = fused::kRelaxesTogether<P>;
  return traits;
}
/// ProgramTraits::gpu_fused.
template <class P>
constexpr std::optional<FusedTraits> GpuFusedTraits() {
  if constexpr (!fused::kRelaxes<P> && !fused::cuda::kRunsRoundsTogether<P>) return std::nullopt;
  FusedTraits traits;
  traits.keeps_rounds = !fused::kRelaxes<P>;
  traits.any_order = fused::kRelaxes<P>;
  traits.together = fused::kRelaxesTogether<P>;
  traits.rounds_together = fused::cuda::kRunsRoundsTogether<P>;
  traits.wide_rounds = fused::cuda::kRunsWideRounds<P>;
  traits.asynchronous = traits.traces = fused::kRelaxes<P>;
  return traits;
}

}  // namespace detail

/// What engines may know of P.
template <class P>
constexpr ProgramTraits MakeTraits() {
  using T = Traits<P>;
  ProgramTraits t;
  t.reduction = T::kReduction;
  t.safety = T::kSafety;
  t.edges = T::kEdges;
  t.weights = WeightKindOf<WeightOf<P>>();
  t.every_round = T::kEveryRound;
  t.can_push = T::kCanPush;
  t.collects = T::kCounts;
  t.shares_separately = T::kSharesSeparately;
  t.consumes = T::kHasConsume;
  t.has_measure = T::kHasMeasure;
  t.measures_when_quiet = T::kMeasureWhenQuiet;
  t.continues_while_active = T::kContinuesWhileActive;
  t.has_end_round = T::kHasEndRound;
  t.has_is_active = T::kHasIsActive;
  t.has_filter = T::kHasFilter;
  t.has_input = T::kHasInput;
  t.first_suffices = T::kAnyMessageSuffices || fused::host::kRunsInPlace<P>;
  t.orders = T::kOrders;
  t.asynchronous = AsynchronousProgram<P>;
  t.host_fused = detail::HostFusedTraits<P>();
  t.gpu_fused = detail::GpuFusedTraits<P>();
  t.value_bytes = sizeof(ValueOf<P>);
  t.input_bytes = sizeof(InputOf<P>);
  t.data_bytes = T::kHasData ? sizeof(DataOf<P>) : 0;
  t.output_bytes = sizeof(OutputOf<P>);
  t.global_bytes = std::is_same_v<GlobalOf<P>, None> ? 0 : sizeof(GlobalOf<P>);
  t.late_payload = T::kCounts ? 0 : kWireBytes<Slot<MessageOf<P>>>;
  t.message_payload = T::kHasRoundMessage ? 0 : t.late_payload;
  t.shared_payload = kWireBytes<steps::SharedSlot<P>>;
  return t;
}

/// ErasedProgram of a P.
template <class P, class Backends = CompiledBackends>
class TypedProgram final : public ErasedProgram {
  static constexpr bool kFits = CheckProgram<P>();  // a wrong program gets one error, and is compiled no further

 public:
  /// A copy of `program`, parameters and all.
  explicit TypedProgram(const P& program) : program_(program) {
    if constexpr (kFits) {
      traits_.carries = fused::CarriesValues(program);
      if constexpr (AsynchronousProgram<P>) traits_.reads_round = fused::ReadsRound(program);
      traits_.output_reads_round = Traits<P>::kOutputTakesRound;
    }
  }

  /// @{
  /// As ErasedProgram has it.
  const ProgramTraits& traits() const override { return traits_; }
  void ResetGlobal(std::byte* global) const override {
    if constexpr (kHasGlobal) {
      const GlobalOf<P> identity{};
      std::memcpy(global, &identity, sizeof(identity));
    }
  }
  void CombineGlobal(std::byte* into, const std::byte* from) const override {
    if constexpr (kHasGlobal) {
      GlobalOf<P> a, b;
      std::memcpy(&a, into, sizeof(a));
      std::memcpy(&b, from, sizeof(b));
      a = chatty::CombineGlobal<P>(a, b);
      std::memcpy(into, &a, sizeof(a));
    }
  }
  Next EndRound(RoundState& state) const override {
    if constexpr (kHasEndRound) {
      RoundOf<P> round = state.As<GlobalOf<P>>();
      const Next next = program_.EndRound(round);
      state.phase = round.phase;
      state.kept = round.kept;
      if constexpr (kHasGlobal) std::memcpy(state.global, &round.global, sizeof(round.global));
      return next;
    } else {
      return Next::kContinue;
    }
  }
  double ChangeOf([[maybe_unused]] const RoundState& round) const override {
    if constexpr (requires(const GlobalOf<P> global) { static_cast<double>(global.change); }) {
      return static_cast<double>(round.As<GlobalOf<P>>().global.change) / static_cast<double>(round.vertices);
    } else {
      return std::numeric_limits<double>::quiet_NaN();
    }
  }
  std::unique_ptr<StepSet> MakeSteps(const DeviceGraph& graph, RowOptions rows) const override;
  Array<std::byte> AssembleData(const Graph& graph, const VertexData& given) const override {
    Array<std::byte> bytes;
    if constexpr (kHasData) {
      CheckProgramInput(graph, program_);  // PrepareData may rely on it
      static_assert(alignof(DataOf<P>) <= 64, "Data is aligned to at most 64 bytes, as memory for it is");
      bytes = Array<std::byte>(graph.vertices() * sizeof(DataOf<P>));
      detail::FillVertexData<P>(graph, program_, given, {reinterpret_cast<DataOf<P>*>(bytes.data()), graph.vertices()});
    } else {
      detail::CheckDataNames(given, {});
    }
    return bytes;
  }
  void Reparametrise(StepSet& steps) const override { steps.SetProgram(&program_); }
  std::uint64_t StateBytes(DeviceKind kind, int threads, const PartShape& part, RowOptions rows) const override {
    std::uint64_t bytes = 0;
    if constexpr (kFits) {
      bytes = ProgramState<P>::Bytes(part);
      if (fused::kRelaxesTogether<P> && rows.together && part.parts > 1)
        bytes += fused::Team::Bytes(part.parts, rows.list_items);
      if (kind == DeviceKind::kHost) bytes += steps::host::HostSteps<P>::TileBytes(part, threads, rows.tiling);
      if (kind == DeviceKind::kCuda) {
        bytes += part.owned * sizeof(OutputOf<P>);  // Job::CopyOutput's
        bytes += sizeof(BlockTickets);
        bytes += steps::cuda::PullAllBytes<P>(part, rows.tiling) + steps::cuda::CandidateBytes<P>(part);
        bytes += fused::cuda::RelaxBytes<P>(part, rows) + fused::cuda::RoundsBytes<P>(part, rows) +
                 fused::cuda::WideRoundsBytes<P>(part, rows);
        if (Traits<P>::kHasMeasure)
          bytes += 2048 * sizeof(GlobalOf<P>);  // one a block: 8 a multiprocessor, some 150 of those
      }
    }
    return bytes;
  }
  /// @}

 private:
  static constexpr bool kHasGlobal = kFits && !std::is_same_v<GlobalOf<P>, None>;
  static constexpr bool kHasData = [] {
    if constexpr (kFits) {
      return Traits<P>::kHasData;
    } else {
      return false;
    }
  }();
  static constexpr bool kHasEndRound = [] {
    if constexpr (kFits) {
      return Traits<P>::kHasEndRound;
    } else {
      return false;
    }
  }();
  ProgramTraits traits_ = [] {
    if constexpr (kFits) {
      return MakeTraits<P>();
    } else {
      return ProgramTraits{};
    }
  }();
  P program_;
};

// Not in the class, and so not inline: where `extern template` says that another source has it, a compiler leaves it alone,
// and with it all steps and kernels.
template <class P, class Backends>
std::unique_ptr<StepSet> TypedProgram<P, Backends>::MakeSteps(const DeviceGraph& graph, RowOptions rows) const {
  if constexpr (kFits && kHasHost<Backends>) {
    if (graph.device().kind() == DeviceKind::kHost)
      return std::make_unique<steps::host::HostSteps<P>>(graph, program_, rows.tiling);
  }
#if CHATTY_CUDA_COMPILER
  if constexpr (kFits && kHasCuda<Backends>) {
    if (graph.device().kind() == DeviceKind::kCuda) {
      return std::make_unique<steps::cuda::CudaSteps<P>>(graph, program_, rows);
    }
  }
#endif
  detail::ThrowNotCompiled(graph.device());
}

}  // namespace chatty
