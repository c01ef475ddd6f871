/// \file
/// The table of steps of one program on a GPU: kernel launches on the device's stream.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "chatty/core/cuda.h"
#include "chatty/core/launch.cuh"
#include "chatty/framework/fused/cuda/engine.cuh"
#include "chatty/framework/fused/cuda/rounds_engine.cuh"
#include "chatty/framework/fused/cuda/rounds_team_engine.cuh"
#include "chatty/framework/fused/cuda/wide_rounds_engine.cuh"
#include "chatty/framework/program_state.h"
#include "chatty/framework/step_set.h"
#include "chatty/framework/steps/cuda/kernels.cuh"
#include "chatty/framework/steps/cuda/pull_all.cuh"
#include "chatty/framework/steps/cuda/unpack_stream.h"

namespace chatty::steps::cuda {

template <class P>
class CudaSteps final : public StepSet {
 public:
  CudaSteps(const DeviceGraph& graph, const P& program, RowOptions rows)
      : device_(graph.device()),
        state_((graph.device().MakeCurrent(), graph), program),
        max_blocks_(static_cast<unsigned>(device_.info().multiprocessors) * kBlocksPerSm),
        overlaps_(MayOverlap(kernels::Init<P>)),
        report_(device_, 1),
        tickets_(device_, 1) {
    CheckParameters(kernels::Init<P>, device_.label());  // has what all steps get
    report_[0].ticket = 0;
    device_.Fill(tickets_.data(), 0, tickets_.bytes(), device_.stream());
    for (const auto& vertices : graph.subgraph().border) border_ += vertices.size();
    if constexpr (Traits<P>::kHasMeasure) {
      partials_ = Buffer<GlobalOf<P>>(device_, max_blocks_);
      partials_host_ = Pinned<GlobalOf<P>>(device_, max_blocks_);
    }
    if constexpr (kHasCandidates<P>) {
      const std::size_t words = bits::Words(s().graph.owned);
      rows_with_edges_ = Buffer<std::uint32_t>(device_, words);
      if constexpr (Traits<P>::kHasFilter) candidates_ = Buffer<std::uint32_t>(device_, words);
      state_.SetCandidates(Traits<P>::kHasFilter ? candidates_.data() : rows_with_edges_.data(), rows_with_edges_.data());
      Launch("FindRows", kernels::FindRows<P>, Blocks(s().graph.owned), s(), rows_with_edges_.data());
      gather_blocks_ = ResidentBlocks(kernels::Gather<P>);
    }
    if constexpr (!Traits<P>::kCounts) apply_blocks_ = ResidentBlocks(kernels::Apply<P>);
    if constexpr (kPullsAll<P>) {
      if (graph.subgraph().reverse) PrepareToPullAll(graph, rows.tiling);
    }
    if constexpr (fused::kRelaxes<P>) {
      const bool fuses = s().graph.parts == 1 ? rows.fuses : rows.together && fused::kRelaxesTogether<P>;
      if (fuses && graph.subgraph().forward) fused_.emplace(device_, state_, graph, rows);
    } else if constexpr (fused::cuda::kRunsRounds<P>) {
      if (s().graph.parts == 1 && graph.subgraph().forward) fused_.emplace(device_, state_);
    }
    if constexpr (fused::cuda::kRunsRoundsTogether<P>) {
      if (fused::cuda::TakesRoundsTogether<P>(s().graph.parts, rows) && graph.subgraph().forward) {
        rounds_together_.emplace(device_, state_);
      }
    }
    if constexpr (fused::cuda::kRunsWideRounds<P>) {
      const auto& forward = graph.subgraph().forward;
      if (fused::cuda::TakesWideRounds<P>(s().graph.parts, rows) && forward) {
        wide_rounds_.emplace(device_, state_, forward->neighbours.size());
      }
    }
  }

  void Init(const std::byte* prior, const RoundState& round) override {
    Forget();
    state_.ForgetRoundMessages();
    BeginCandidates();
    Launch("Init", kernels::Init<P>, Blocks(s().graph.local), s(), reinterpret_cast<const InputOf<P>*>(prior), As(round),
           tickets_.data(), report_.data(), ++ticket_);
    reported_ = true;
  }
  void Activate(const RoundState& round) override {
    Forget();
    BeginCandidates();
    Launch("Activate", kernels::Activate<P>, Blocks(s().graph.owned), s(), As(round));
  }
  void Advance(const RoundState& round, Form form, std::size_t count, std::uint64_t edges, bool queue_out) override {
    if constexpr (Traits<P>::kCanPush) {
      state_.CheckRoundMessage(As(round));
      const BesideUnpacking beside(*this);
      StateRef<P> state = s();
      if (!AdvancesHub(round, form, count, edges, queue_out)) {
        // Enough warps for a vertex each, but none for fewer than 32 edges.
        const std::size_t warps = std::min<std::size_t>(count, form == Form::kQueue ? edges / 32 + 1 : count);
        Launch("Advance", kernels::Advance<P>, AdvanceBlocks(warps * 32, count), state, As(round), form, count, queue_out);
        // `edges` are those of changed vertices; of kAll the others send too.
        if (s().graph.forward.max_degree >= kHubDegree && (form == Form::kAll || edges >= kHubDegree)) {
          Launch("AdvanceSlices", kernels::AdvanceSlices<P>, max_blocks_, state, As(round), queue_out);
        }
      }
      if constexpr (Traits<P>::kHasRoundMessage) {
        if (!queue_out && !KeepsMessages(state) && s().graph.parts > 1) {
          Launch("SettleHalo", kernels::SettleHalo<P>, Blocks(s().SentWords()), s());
        }
      }
    } else {
      throw InternalError("this program is pulled: it collects all messages or its messages are wider than an atomic");
    }
  }
  void Publish(Form form) override {
    if (applied_ && form == Form::kAll) return;  // PullRound has published
    if constexpr (Traits<P>::kSharesSeparately) {
      Launch("Publish", kernels::Publish<P>, Blocks(s().graph.owned), s(), form);
    }
  }
  bool HasPullRound() const override {
    if constexpr (kPullsAll<P>) {
      return pull_all_.published != nullptr;
    } else {
      return false;
    }
  }
  void PullRound(const RoundState& round) override {
    if constexpr (kPullsAll<P>) {
      // Of owned vertices the last PullRound has published, unless something has changed since.
      const LocalId first = applied_ ? s().graph.owned : 0, last = s().graph.local;
      if (first < last) {
        kernels::PublishByOrder<P>
            <<<Blocks(last - first), kBlock, 0, stream()>>>(s(), pull_all_.rows, published_.data(), first, last);
        Check("PublishByOrder");
      }
      PullAll(round);
    }
  }
  void Gather(const RoundState& round, bool all_active) override {
    state_.CheckRoundMessage(As(round));
    if constexpr (!Traits<P>::kCounts) {
      RefreshCandidates();
      Launch("Gather", kernels::Gather<P>, std::min(gather_blocks_, Blocks(s().graph.owned)), s(), As(round), all_active);
      const bool may_have_hubs = !candidate_edges_ || *candidate_edges_ >= static_cast<std::int64_t>(kHubDegree);
      if (Traits<P>::kCanPush && s().graph.reverse.max_degree >= kHubDegree && may_have_hubs) {
        Launch("GatherSlices", kernels::GatherSlices<P>, max_blocks_ / 4, s(), As(round), all_active);
      }
    }
  }
  void Apply(const RoundState& round, Form form, std::size_t count) override {
    Forget();
    if constexpr (!Traits<P>::kCounts) {
      const unsigned blocks = std::min(apply_blocks_, Blocks(count));
      Launch("Apply", kernels::Apply<P>, blocks, s(), As(round), form, count, partials_.data(), tickets_.data(),
             report_.data(), ++ticket_);
      reported_ = true;
      if constexpr (Traits<P>::kMeasuresChange) {
        partial_count_ = count == 0 ? 0 : blocks;
        partials_of_ = round.index;
      }
    }
  }
  void Collect(const RoundState& round, bool all_active) override {
    if constexpr (Traits<P>::kCounts) {
      Launch("Collect", kernels::Collect<P>, Blocks(s().graph.owned * std::size_t{32}), s(), As(round), all_active);
      Launch("CommitCollected", kernels::CommitCollected<P>, Blocks(s().graph.owned), s());
    }
  }
  void QueueToBitmap(std::size_t count) override {
    Launch("ClearActive", kernels::ClearActive<P>, Blocks(bits::Words(s().graph.local)), s(), false);
    Launch("QueueToBitmap", kernels::QueueToBitmap<P>, Blocks(count), s(), count);
  }
  void BitmapToQueue() override {
    const bool clear = clear_;
    Launch("BitmapToQueue", kernels::BitmapToQueue<P>, Blocks(bits::Words(s().graph.owned)), s(), tickets_.data());
    clear_ = clear;
  }
  void SwapFrontier() override { state_.SwapFrontier(); }
  void SetLimit(double limit) override { state_.SetLimit(limit); }
  void Release(Form form, std::size_t count) override {
    if constexpr (Traits<P>::kOrders) {
      Launch("Release", kernels::Release<P>, Blocks(s().graph.owned), s(), form, count);
    }
  }
  void ClearHaloActive() override {
    Launch("ClearActive", kernels::ClearActive<P>, Blocks((s().graph.local - s().graph.owned) / 32 + 1), s(), true);
  }
  void PackMessages(const OutboxRef& outbox, bool queued, std::size_t at_most) override {
    if constexpr (Traits<P>::kCanPush) {
      const BesideUnpacking beside(*this);
      // Of few messages the queue is looked at, and of more the halo's bits, by fewer blocks where they are not many.
      std::size_t threads = s().graph.local - s().graph.owned;
      if (queued && at_most < threads / 4) threads = at_most * 4;
      Launch("PackMessages", kernels::PackMessages<P>, Blocks(threads), s(), outbox, queued);
    }
  }
  void PackShared(const OutboxRef& outbox, const SharedPlan& plan) override {
    const std::size_t entries = outbox.for_all != nullptr ? plan.union_size : border_;
    StateRef<P> state = s();
    if constexpr (kPullsAll<P> && Traits<P>::kHasShare) {
      if (applied_ && pull_all_.rows.positions == nullptr) state.shared = published_.data();
    }
    Launch("PackShared", kernels::PackShared<P>, Blocks(entries), state, outbox, plan);
  }
  void UnpackMessages(const InboxRef& inbox, std::uint32_t peer, bool queue_out) override {
    if constexpr (Traits<P>::kCanPush) {
      Launch("UnpackMessages", kernels::UnpackMessages<P>, Blocks(Entries(inbox)), s(), inbox, peer, queue_out);
    }
  }
  Stream* ReceiveStream() override {
    if (!receive_) receive_.emplace(device_);
    return &receive_->stream();
  }
  void UnpackArrived(const InboxRef& inbox, std::uint32_t peer) override {
    if constexpr (Traits<P>::kCanPush) {
      auto* const stream = static_cast<cudaStream_t>(ReceiveStream()->native());
      const BesideUnpacking beside(*this);  // which Check would end
      receive_->BeginUnpacking();
      // Events order the kernel, so it is launched as usual: no kernel of its stream has to end first.
      LaunchOverlapped(/*overlaps=*/false, kernels::UnpackMessages<P>, Blocks(Entries(inbox)), kBlock, stream, s(), inbox,
                       peer, /*queue_out=*/true);
      Check("UnpackMessages");
      receive_->EndUnpacking();
    }
  }
  void UnpackShared(const InboxRef& inbox, std::uint32_t peer, const LocalId* to_halo) override {
    Launch("UnpackShared", kernels::UnpackShared<P>, Blocks(Entries(inbox)), s(), inbox, peer, to_halo);
  }

  void ClearControl() override {
    if (clear_) return;  // the last report has done it
    if (receive_) receive_->set_beside(false);
    device_.Fill(s().control, 0, sizeof(Control), device_.stream());
    clear_ = true;
  }
  const Control& Read(const WaitContext& context, bool clear) override {
    return ReadWhile(context, clear, [] {});
  }
  const Control& ReadBeside(const WaitContext& context, const std::function<void()>& meanwhile) override {
    return ReadWhile(context, /*clear=*/false, meanwhile);
  }
  void MeasureInto(const RoundState& round, std::byte* global, const WaitContext& context) override {
    if constexpr (Traits<P>::kHasMeasure) {
      if (measured_ == round.index) {  // and the host has waited since
        std::memcpy(global, partials_host_.data(), sizeof(GlobalOf<P>));
        return;
      }
      if (partials_of_ != round.index) {
        partial_count_ = Blocks(s().graph.owned);
        Launch("Measure", kernels::Measure<P>, partial_count_, s(), As(round), partials_.data());
      }
      device_.CopyOut(partials_host_.data(), partials_.data(), partial_count_ * sizeof(GlobalOf<P>), device_.stream());
      device_.stream().Synchronize(context);
      GlobalOf<P> sum{};
      for (unsigned b = 0; b < partial_count_; ++b) sum = CombineGlobal<P>(sum, partials_host_[b]);
      std::memcpy(global, &sum, sizeof(sum));
    }
  }
  void WriteOutput(const RoundState& round, std::byte* out) override {
    Launch("Output", kernels::Output<P>, Blocks(s().graph.owned), s(), As(round), reinterpret_cast<OutputOf<P>*>(out));
  }
  void CopyValues(std::byte* host, const WaitContext& context) override {
    device_.stream().Synchronize(context);  // a copy to pageable memory itself waits without a deadline
    device_.CopyOut(host, s().values, s().graph.owned * sizeof(ValueOf<P>), device_.stream());
    device_.stream().Synchronize(context);
  }
  const std::byte* DeviceValues() const override { return reinterpret_cast<const std::byte*>(s().values); }
  void SetData(const std::byte* data, const WaitContext& context) override { state_.SetData(device_, data, context); }
  void SetAsynchronous(bool on) override { state_.SetAsynchronous(on); }
  FusedEngine* fused() override {
    if constexpr (fused::cuda::kRunsRoundsTogether<P>) {
      if (rounds_together_) return &*rounds_together_;
    }
    if constexpr (fused::kRelaxes<P> || fused::cuda::kRunsRounds<P>) {
      if (fused_) return &*fused_;
    }
    return nullptr;
  }
  FusedEngine* wide_rounds() override {
    if constexpr (fused::cuda::kRunsWideRounds<P>) {
      if (wide_rounds_) return &*wide_rounds_;
    }
    return nullptr;
  }
  void RefreshCandidates() override {
    if constexpr (kHasCandidates<P> && Traits<P>::kHasFilter) {
      if (!candidates_current_) Launch("FindCandidates", kernels::FindCandidates<P>, Blocks(s().graph.owned), s());
      candidates_current_ = true;
    }
  }
  void FusedHasRun() override {
    Forget();
    if (receive_) receive_->set_beside(false);
    candidates_current_ = counts_candidates_ = false;
    candidate_edges_.reset();
  }
  void SetProgram(const void* program) override {
    state_.SetProgram(*static_cast<const P*>(program));
    Forget();
  }

  const StateRef<P>& s() const { return state_.ref(); }

 private:
  static constexpr unsigned kBlocksPerSm = 8;  // 2048 threads: all that an SM holds
  using PullKernel = void (*)(StateRef<P>, RoundOf<P>, PullAllRef<P>);

  void PrepareToPullAll(const DeviceGraph& graph, Tiling tiling) {
    rows_ = PackedRows(graph, tiling, sizeof(SharedOf<P>));
    const std::size_t owned = s().graph.owned;
    published_ = Buffer<SharedOf<P>>(device_, s().graph.local);
    published_next_ = Buffer<SharedOf<P>>(device_, s().graph.local);
    pieces_ = Buffer<MessageOf<P>>(device_, rows_.ref().pieces);
    pull_all_.rows = rows_.ref();
    pull_all_.published = published_.data();
    pull_all_.pieces = pieces_.data();
    pull_all_.chunk_words = static_cast<std::uint32_t>(ChunkWords(owned));
    pull_all_.chunks = static_cast<std::uint32_t>(Chunks(owned));
    pull_all_.degrees_from_rows = s().graph.symmetric;  // an owned vertex has its whole row
    if constexpr (Traits<P>::kHasMeasure) {
      measures_ = Buffer<GlobalOf<P>>(device_, Chunks(owned) + kFinishBlocks);
      finished_ = Buffer<BlockTickets>(device_, 1);
      device_.Fill(finished_.data(), 0, finished_.bytes(), device_.stream());
      pull_all_.measures = measures_.data();
      pull_all_.measure = partials_host_.data();
      pull_all_.finished = finished_.data();
    }
    if (pull_all_.rows.positions != nullptr) {
      CHATTY_CUDA(cudaFuncSetAttribute(kernels::PullAll<P, true>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       static_cast<int>(PackedRows::HubBytes(device_))));
      PrepareLaunch<true>(kernels::PullAll<P, true>);
    } else if (pull_all_.rows.near != nullptr) {
      PrepareLaunch<false>(kernels::PullShort<P>);
    } else {
      PrepareLaunch<false>(kernels::PullAll<P, false>);
    }
  }
  /// How many blocks of a kernel the GPU holds at once. Blocks of a second wave would wait for the first.
  template <class Kernel>
  unsigned ResidentBlocks(Kernel kernel) {
    int blocks = 0;
    CHATTY_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, kBlock, 0));
    return static_cast<unsigned>(std::max(1, blocks) * device_.info().multiprocessors);
  }
  template <bool kOrdered>
  void PrepareLaunch(PullKernel kernel) {
    int blocks = 0;
    CHATTY_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, kernels::kPullThreads<kOrdered>, HubBytes()));
    pull_all_kernel_ = kernel;
    pull_all_blocks_ = static_cast<unsigned>(std::max(1, blocks) * device_.info().multiprocessors);
  }
  std::size_t HubBytes() const { return std::size_t{pull_all_.rows.hubs} * sizeof(SharedOf<P>); }

  /// Gather, Apply, Measure and the next round's Publish.
  void PullAll(const RoundState& round) {
    pull_all_.published = published_.data();
    pull_all_.next = published_next_.data();
    if (pull_all_.rows.positions != nullptr) {
      LaunchPullAll<true>(round);
    } else {
      LaunchPullAll<false>(round);
    }
    std::swap(published_, published_next_);
    applied_ = round.index;
  }

  template <bool kOrdered>
  void LaunchPullAll(const RoundState& round) {
    pull_all_kernel_<<<pull_all_blocks_, kernels::kPullThreads<kOrdered>, HubBytes(), stream()>>>(s(), As(round), pull_all_);
    Check("PullAll");
    const std::size_t work = std::max<std::size_t>(std::size_t{pull_all_.rows.long_row_count} * kernels::kFinishLanes,
                                                   Traits<P>::kHasMeasure ? pull_all_.chunks : 1);
    kernels::FinishAll<P, kOrdered>
        <<<std::min(kFinishBlocks, Blocks(work)), kBlock, 0, stream()>>>(s(), As(round), pull_all_);
    Check("FinishAll");
  }

  /// A copy and a stream synchronisation would cost 11 us; a kernel of one block that stores to mapped host memory, where
  /// this thread waits for it, costs about half. Calls meanwhile() each time that it has looked in vain.
  template <class Meanwhile>
  const Control& ReadWhile(const WaitContext& context, bool clear, Meanwhile&& meanwhile) {
    if (reported_ && !clear) throw InternalError("counters that a step has reported and cleared are read without clearing");
    if (!reported_) {
      const char* const before = last_;
      ++ticket_;
      LaunchReport(clear);
      last_ = before;  // what errors should name is the program's step
    }
    reported_ = false;
    clear_ = clear;
    measured_ = applied_;
    const Clock::time_point start = Clock::now();
    const auto* const arrived = &report_[0].ticket;
    for (std::uint32_t polls = 1; __atomic_load_n(arrived, __ATOMIC_ACQUIRE) != ticket_; ++polls) {
      meanwhile();
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
    if (clear && std::exchange(counts_candidates_, false)) candidate_edges_ = 0;
    if (clear && candidate_edges_) *candidate_edges_ += report_[0].control.candidate_edges;
    return report_[0].control;
  }
  void LaunchReport(bool clear) {
    std::optional<BesideUnpacking> beside;
    if (!clear) beside.emplace(*this);
    Launch("ReportControl", kernels::ReportControl<P>, 1, s().control, report_.data(), ticket_, clear);
  }

  void BeginCandidates() {
    candidates_current_ = true;
    candidate_edges_.reset();  // until Read knows what this step counts
    counts_candidates_ = true;
  }

  /// What the last PullAll has measured and published holds no more.
  void Forget() {
    applied_.reset();
    measured_.reset();
    partials_of_.reset();
  }

  /// Entries of a buffer that are read, and up to a segment before them. Of a sparse buffer whose header nobody has read:
  /// twice the expected entries, or those of a few blocks. Fewer threads than entries take several each.
  std::size_t Entries(const InboxRef& inbox) const {
    const std::size_t entries = inbox.last - inbox.first + kBufferSegment;
    if (inbox.encoding != Encoding::kSparse) return entries;
    if (!inbox.has_header) return inbox.count;
    constexpr std::size_t kMin = 32 * kBlock;
    return std::min(entries, std::max(std::size_t{2} * inbox.count, kMin));
  }
  static RoundOf<P> As(const RoundState& round) { return round.As<GlobalOf<P>>(); }
  cudaStream_t stream() const { return static_cast<cudaStream_t>(device_.stream().native()); }
  unsigned Blocks(std::size_t threads) const {
    return static_cast<unsigned>(std::clamp<std::size_t>((threads + kBlock - 1) / kBlock, 1, max_blocks_));
  }
  /// Pushes from a queue of one hub alone. Returns whether it was that.
  bool AdvancesHub(const RoundState& round, Form form, std::size_t count, std::uint64_t edges, bool queue_out) {
    if constexpr (!Traits<P>::kHasConsume) {
      if (form != Form::kQueue || count != 1 || edges < kHubDegree) return false;
      Launch("AdvanceHub", kernels::AdvanceHub<P>, Blocks(edges), s(), As(round), queue_out);
      return true;
    } else {
      return false;
    }
  }
  /// Blocks of Advance of `count` vertices. Blocks of UnpackArrived are scheduled before blocks that wait, but not before
  /// those that run. Where each thread has a vertex anyway, a few waves let them in before the end of a long Advance.
  unsigned AdvanceBlocks(std::size_t threads, std::size_t count) const {
    constexpr unsigned kWaves = 4;
    const std::size_t most = std::size_t{max_blocks_} * kWaves;
    if (!receive_ || count < most * kBlock) return Blocks(threads);
    return static_cast<unsigned>(std::clamp<std::size_t>((threads + kBlock - 1) / kBlock, 1, most));
  }
  /// While it lives, a step is launched beside which UnpackArrived may run: see UnpackStream.
  class BesideUnpacking {
   public:
    explicit BesideUnpacking(CudaSteps& steps) : steps_(steps) {
      if (steps_.receive_) steps_.receive_->Settle();
    }
    ~BesideUnpacking() {
      if (steps_.receive_) steps_.receive_->set_beside(true);
    }
    BesideUnpacking(const BesideUnpacking&) = delete;
    BesideUnpacking& operator=(const BesideUnpacking&) = delete;

   private:
    CudaSteps& steps_;
  };
  /// A kernel of kernels.cuh.
  template <class Kernel, class... Arguments>
  void Launch(const char* step, Kernel kernel, unsigned blocks, Arguments&&... arguments) {
    LaunchOverlapped(overlaps_, kernel, blocks, kBlock, stream(), std::forward<Arguments>(arguments)...);
    Check(step);
  }
  void Check(const char* step) {
    clear_ = reported_ = false;  // whatever runs may count
    if (receive_) receive_->set_beside(false);
    const cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess) [[unlikely]] {
      chatty::detail::ThrowCudaWork(error, device_.label(), fmt::format("launching step {} (or one before it)", step));
    }
    last_ = step;
  }

  Device& device_;
  ProgramState<P> state_;
  unsigned max_blocks_;
  bool overlaps_;                                  // launches: see LaunchOverlapped
  unsigned gather_blocks_ = 1, apply_blocks_ = 1;  // as many as are resident at once
  std::size_t border_ = 0;                         // entries of all peers'
  Pinned<kernels::Report> report_;
  std::conditional_t<fused::kRelaxes<P>, std::optional<fused::cuda::Engine<P>>,
                     std::conditional_t<fused::cuda::kRunsRounds<P>, std::optional<fused::cuda::RoundsEngine<P>>, None>>
      fused_;
  std::conditional_t<fused::cuda::kRunsRoundsTogether<P>, std::optional<fused::cuda::TeamRoundsEngine<P>>, None>
      rounds_together_;
  std::conditional_t<fused::cuda::kRunsWideRounds<P>, std::optional<fused::cuda::WideRoundsEngine<P>>, None> wide_rounds_;
  /// @{
  /// StateRef::rows and StateRef::candidates, and whether these are of the values as they are.
  Buffer<std::uint32_t> rows_with_edges_, candidates_;
  bool candidates_current_ = false;
  /// @}
  std::optional<std::int64_t> candidate_edges_;  // reverse edges of candidates, where known
  bool counts_candidates_ = false;               // the next report has all of them
  Buffer<BlockTickets> tickets_;                 // of steps that report
  std::uint32_t ticket_ = 0;
  bool reported_ = false;  // the last step was Init or Apply, which has reported and cleared the counters
  bool clear_ = false;
  std::optional<UnpackStream> receive_;  // of an asynchronous engine between several devices
  const char* last_ = "none";            // step launched, for errors: kernels fail after their launch
  Buffer<GlobalOf<P>> partials_;
  Pinned<GlobalOf<P>> partials_host_;
  unsigned partial_count_ = 0;
  std::optional<std::uint32_t> partials_of_;  // the round whose updates Apply has measured, if nothing has changed since
  // For rounds in which every vertex takes part:
  PackedRows rows_;
  PullAllRef<P> pull_all_;
  Buffer<SharedOf<P>> published_, published_next_;
  Buffer<MessageOf<P>> pieces_;
  Buffer<GlobalOf<P>> measures_;
  Buffer<BlockTickets> finished_;
  unsigned pull_all_blocks_ = 1;
  PullKernel pull_all_kernel_ = nullptr;   // the one that fits the rows
  std::optional<std::uint32_t> applied_;   // the round that PullAll has ended, if nothing has changed since
  std::optional<std::uint32_t> measured_;  // and whose measure the host can see
};

}  // namespace chatty::steps::cuda
