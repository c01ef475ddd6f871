/// \file
/// The table of steps of one program on a GPU: kernel launches on the device's stream.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "chatty/core/cuda.h"
#include "chatty/framework/program_state.h"
#include "chatty/framework/step_set.h"
#include "chatty/framework/steps/cuda/kernels.cuh"

namespace chatty::steps::cuda {

template <class P>
class CudaSteps final : public StepSet {
 public:
  CudaSteps(const DeviceGraph& graph, const P& program)
      : device_(graph.device()),
        state_((graph.device().MakeCurrent(), graph), program),
        max_blocks_(static_cast<unsigned>(device_.info().multiprocessors) * kBlocksPerSm),
        report_(device_, 1) {
    report_[0].ticket = 0;
    if constexpr (Traits<P>::kHasMeasure) {
      partials_ = Buffer<GlobalOf<P>>(device_, max_blocks_);
      partials_host_ = Pinned<GlobalOf<P>>(device_, max_blocks_);
    }
  }

  void Init(const std::byte* prior) override {
    kernels::Init<P><<<Blocks(s().graph.local), kBlock, 0, stream()>>>(s(), reinterpret_cast<const PriorOf<P>*>(prior));
    Check("Init");
  }
  void Activate(const RoundState& round) override {
    kernels::Activate<P><<<Blocks(s().graph.owned), kBlock, 0, stream()>>>(s(), As(round));
    Check("Activate");
  }
  void Advance(const RoundState& round, Form form, std::size_t count, std::uint64_t edges, bool queue_out,
               bool peers_deliver) override {
    if constexpr (Traits<P>::kCanPush) {
      StateRef<P> state = s();
      state.peers_deliver = peers_deliver;
      // Enough warps for a vertex each, but none for fewer than 32 edges.
      const std::size_t warps = std::min<std::size_t>(count, form == Form::kQueue ? edges / 32 + 1 : count);
      kernels::Advance<P><<<Blocks(warps * 32), kBlock, 0, stream()>>>(state, As(round), form, count, queue_out);
      Check("Advance");
      // `edges` are those of changed vertices; of kAll the others send too.
      if (s().graph.forward.max_degree >= kHubDegree && (form == Form::kAll || edges >= kHubDegree)) {
        kernels::AdvanceSlices<P><<<max_blocks_, kBlock, 0, stream()>>>(state, As(round), queue_out);
        Check("AdvanceSlices");
      }
    } else {
      throw InternalError("this program is pulled: it collects all messages or its messages are wider than an atomic");
    }
  }
  void Publish(Form form) override {
    if constexpr (Traits<P>::kSharesSeparately) {
      kernels::Publish<P><<<Blocks(s().graph.owned), kBlock, 0, stream()>>>(s(), form);
      Check("Publish");
    }
  }
  void Gather(const RoundState& round, bool all_active) override {
    if constexpr (!Traits<P>::kCollects) {
      kernels::Gather<P><<<Blocks(s().graph.owned), kBlock, 0, stream()>>>(s(), As(round), all_active);
      Check("Gather");
      if (Traits<P>::kCanPush && s().graph.reverse.max_degree >= kHubDegree) {
        kernels::GatherSlices<P><<<max_blocks_, kBlock, 0, stream()>>>(s(), As(round), all_active);
        Check("GatherSlices");
      }
    }
  }
  void Apply(const RoundState& round, Form form, std::size_t count) override {
    if constexpr (!Traits<P>::kCollects) {
      kernels::Apply<P><<<Blocks(count), kBlock, 0, stream()>>>(s(), As(round), form, count);
      Check("Apply");
    }
  }
  void Collect(const RoundState& round, bool all_active) override {
    if constexpr (Traits<P>::kCollects) {
      kernels::Collect<P><<<Blocks(s().graph.owned * std::size_t{32}), kBlock, 0, stream()>>>(s(), As(round), all_active);
      Check("Collect");
      kernels::CommitCollected<P><<<Blocks(s().graph.owned), kBlock, 0, stream()>>>(s());
      Check("CommitCollected");
    }
  }
  void QueueToBitmap(std::size_t count) override {
    kernels::ClearActive<P><<<Blocks(bits::Words(s().graph.local)), kBlock, 0, stream()>>>(s(), false);
    Check("ClearActive");
    kernels::QueueToBitmap<P><<<Blocks(count), kBlock, 0, stream()>>>(s(), count);
    Check("QueueToBitmap");
  }
  void BitmapToQueue() override {
    kernels::BitmapToQueue<P><<<Blocks(s().graph.owned), kBlock, 0, stream()>>>(s());
    Check("BitmapToQueue");
  }
  void SwapFrontier() override { state_.SwapFrontier(); }
  void ClearHaloActive() override {
    kernels::ClearActive<P><<<Blocks((s().graph.local - s().graph.owned) / 32 + 1), kBlock, 0, stream()>>>(s(), true);
    Check("ClearActive");
  }
  void PackMessages(const OutboxRef& outbox, bool queued) override {
    if constexpr (Traits<P>::kCanPush) {
      kernels::PackMessages<P><<<Blocks(s().graph.local - s().graph.owned), kBlock, 0, stream()>>>(s(), outbox, queued);
      Check("PackMessages");
    }
  }
  void Deliver() override {
    if constexpr (Traits<P>::kCanPush) {
      // The queue's length is known on the device alone; rounds in which this is called are sparse.
      const std::size_t most = std::min<std::size_t>(s().graph.local - s().graph.owned, 64 * kBlock);
      kernels::DeliverMessages<P><<<Blocks(most), kBlock, 0, stream()>>>(s(), parts_.data());
      Check("DeliverMessages");
    }
  }
  void Connect(std::span<StepSet* const> parts, const WaitContext& context) override {
    if constexpr (Traits<P>::kCanPush) {
      std::vector<StateRef<P>> refs;
      for (const StepSet* part : parts) refs.push_back(static_cast<const CudaSteps*>(part)->s());
      if (parts_.size() < refs.size()) parts_ = Buffer<StateRef<P>>(device_, refs.size());
      device_.CopyIn(parts_.data(), refs.data(), refs.size() * sizeof(StateRef<P>), device_.stream());
      device_.stream().Synchronize(context);  // before `refs` goes
    }
  }
  void PackShared(const OutboxRef& outbox, const SharedPlan& plan) override {
    kernels::PackShared<P><<<Blocks(s().graph.owned), kBlock, 0, stream()>>>(s(), outbox, plan);
    Check("PackShared");
  }
  void UnpackMessages(const InboxRef& inbox, std::uint32_t peer, bool queue_out) override {
    if constexpr (Traits<P>::kCanPush) {
      kernels::UnpackMessages<P><<<Blocks(Entries(inbox)), kBlock, 0, stream()>>>(s(), inbox, peer, queue_out);
      Check("UnpackMessages");
    }
  }
  void UnpackShared(const InboxRef& inbox, std::uint32_t peer, const LocalId* to_halo) override {
    kernels::UnpackShared<P><<<Blocks(Entries(inbox)), kBlock, 0, stream()>>>(s(), inbox, peer, to_halo);
    Check("UnpackShared");
  }

  void ClearControl() override {
    if (clear_) return;  // the last report has done it
    device_.Fill(s().control, 0, sizeof(Control), device_.stream());
    clear_ = true;
  }
  /// A copy and a stream synchronisation would cost 11 us; a kernel of one block that stores to mapped host memory, where
  /// this thread waits for it, costs about half.
  const Control& Read(const WaitContext& context, bool clear) override {
    const char* const before = last_;
    ++ticket_;
    kernels::ReportControl<P><<<1, 128, 0, stream()>>>(s().control, report_.data(), ticket_, clear);
    Check("ReportControl");
    last_ = before;  // what errors should name is the program's step
    clear_ = clear;
    const Clock::time_point start = Clock::now();
    const auto* const arrived = &report_[0].ticket;
    for (std::uint32_t polls = 1; __atomic_load_n(arrived, __ATOMIC_ACQUIRE) != ticket_; ++polls) {
      if (polls % 1024 != 0) continue;
      if (context.abort != nullptr) context.abort->ThrowIfAborted("a step's counters");
      const cudaError_t state = cudaStreamQuery(stream());
      if (state != cudaSuccess && state != cudaErrorNotReady) {
        chatty::detail::ThrowCudaWork(state, device_.label(), fmt::format("one of the steps up to {}", last_));
      }
      if (context.timeout.count() > 0 && Clock::now() - start > context.timeout) {
        Throw<TimeoutError>("{}: waited {} ms for a step's counters; raise --timeout if the work is known to take longer",
                            device_.label(), context.timeout.count());
      }
    }
    return report_[0].control;
  }
  void MeasureInto(const RoundState& round, std::byte* global, const WaitContext& context) override {
    if constexpr (Traits<P>::kHasMeasure) {
      const unsigned blocks = Blocks(s().graph.owned);
      kernels::Measure<P><<<blocks, kBlock, 0, stream()>>>(s(), As(round), partials_.data());
      Check("Measure");
      device_.CopyOut(partials_host_.data(), partials_.data(), blocks * sizeof(GlobalOf<P>), device_.stream());
      device_.stream().Synchronize(context);
      GlobalOf<P> sum{};
      for (unsigned b = 0; b < blocks; ++b) sum = CombineGlobal<P>(sum, partials_host_[b]);
      std::memcpy(global, &sum, sizeof(sum));
    }
  }
  void CopyOutput(const RoundState& round, std::byte* host, const WaitContext& context) override {
    Buffer<OutputOf<P>> out(device_, s().graph.owned);
    kernels::Output<P><<<Blocks(s().graph.owned), kBlock, 0, stream()>>>(s(), As(round), out.data());
    Check("Output");
    device_.stream().Synchronize(context);  // a copy to pageable memory itself waits without a deadline
    device_.CopyOut(host, out.data(), out.bytes(), device_.stream());
    device_.stream().Synchronize(context);
  }
  void CopyValues(std::byte* host, const WaitContext& context) override {
    device_.stream().Synchronize(context);  // as in CopyOutput
    device_.CopyOut(host, s().values, s().graph.owned * sizeof(ValueOf<P>), device_.stream());
    device_.stream().Synchronize(context);
  }
  const std::byte* DeviceValues() const override { return reinterpret_cast<const std::byte*>(s().values); }
  void SetAsynchronous(bool on) override { state_.SetAsynchronous(on); }
  void SetProgram(const void* program) override { state_.SetProgram(*static_cast<const P*>(program)); }

  const StateRef<P>& s() const { return state_.ref(); }

 private:
  static constexpr unsigned kBlocksPerSm = 8;  // 2048 threads: all that an SM holds

  /// Places of a box that are looked at, and up to a segment before them.
  static std::size_t Entries(const InboxRef& inbox) {
    return inbox.form == BoxForm::kPairs ? inbox.count : inbox.last - inbox.first + kBoxSegment;
  }
  static RoundOf<P> As(const RoundState& round) { return round.As<GlobalOf<P>>(); }
  cudaStream_t stream() const { return static_cast<cudaStream_t>(device_.stream().native()); }
  unsigned Blocks(std::size_t threads) const {
    return static_cast<unsigned>(std::clamp<std::size_t>((threads + kBlock - 1) / kBlock, 1, max_blocks_));
  }
  void Check(const char* step) {
    clear_ = false;  // whatever runs may count
    const cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess) [[unlikely]] {
      chatty::detail::ThrowCudaWork(error, device_.label(), fmt::format("launching step {} (or one before it)", step));
    }
    last_ = step;
  }

  Device& device_;
  ProgramState<P> state_;
  unsigned max_blocks_;
  Pinned<kernels::Report> report_;
  Buffer<StateRef<P>> parts_;  // all devices', by part
  std::uint32_t ticket_ = 0;
  bool clear_ = false;
  const char* last_ = "none";  // step launched, for errors: kernels fail after their launch
  Buffer<GlobalOf<P>> partials_;
  Pinned<GlobalOf<P>> partials_host_;
};

}  // namespace chatty::steps::cuda
