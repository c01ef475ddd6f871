/// \file
/// The table of steps of one program on a host device.
#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "chatty/framework/fused/host/engine.h"
#include "chatty/framework/program_state.h"
#include "chatty/framework/step_set.h"
#include "chatty/framework/steps/host/apply.h"
#include "chatty/framework/steps/host/frontier.h"
#include "chatty/framework/steps/host/gather_all.h"
#include "chatty/framework/steps/host/group.h"
#include "chatty/framework/steps/host/pack.h"
#include "chatty/framework/steps/host/pull.h"
#include "chatty/framework/steps/host/push.h"
#include "chatty/framework/steps/host/tiled_rows.h"
#include "chatty/framework/steps/host/unpack.h"
#include "chatty/framework/steps/message_layout.h"

namespace chatty::steps::host {

template <class P>
class HostSteps final : public StepSet {
 public:
  HostSteps(const DeviceGraph& graph, const P& program, Tiling tiling)
      : device_(graph.device()),
        state_(graph, program),
        partials_((graph.ref().owned + kMeasureGrain - 1) / kMeasureGrain),
        fused_(MakeFused()) {
    if (MakesTiles(ShapeOf(graph.subgraph()), tiling)) tiles_ = TiledRows(graph);
    if (EndsByStripe()) stripes_ = std::make_unique<StripeBoard<MessageOf<P>>>(device_, tiles_.stripes());
  }

  /// Bytes of the tiles that steps for such a part make, and of what so many threads sum in where rounds end by them.
  static std::uint64_t TileBytes(const PartShape& part, int threads, Tiling tiling) {
    if (!MakesTiles(part, tiling)) return 0;
    return TiledRows::Bytes(part) + (kEndsByStripe<P> && part.parts == 1 ? StripeBoard<MessageOf<P>>::Bytes(threads) : 0);
  }

  void Init(const std::byte* prior, const RoundState& round) override {
    applied_.reset();
    state_.ForgetRoundMessages();
    StateRef<P> state = s();
    if constexpr (fused::host::kFuses<P>) {
      if (fused_.TakeInboxesEmpty()) state.inbox = nullptr;
    }
    Run(s().graph.local, [&](Group& g) { host::Init(g, state, reinterpret_cast<const InputOf<P>*>(prior)); });
    Activate(round);
  }
  void Activate(const RoundState& round) override {
    applied_.reset();
    Run(s().graph.owned, [&](Group& g) { host::Activate(g, s(), As(round)); });
  }
  void Advance(const RoundState& round, Form form, std::size_t count, std::uint64_t edges, bool queue_out) override {
    if constexpr (Traits<P>::kCanPush) {
      state_.CheckRoundMessage(As(round));
      StateRef<P> state = s();
      Run(edges, [&](Group& g) { host::Advance(g, state, As(round), form, count, queue_out); });
      if (s().control->slice_count > 0) {
        Run(kParallel, [&](Group& g) { host::AdvanceSlices(g, state, As(round), queue_out); });
        s().control->slice_count = 0;
      }
    } else {
      CannotPush();
    }
  }
  bool AllowsGaussSeidel() const override {
    if constexpr (kEndsByStripe<P> && Traits<P>::kHasAllowsGaussSeidel) {
      return EndsByStripe() && s().program.AllowsGaussSeidel();
    } else {
      return false;
    }
  }
  void Publish(Form form) override {
    if (applied_ && form == Form::kAll) return;  // PullRound or Apply has published
    if constexpr (kEndsByStripe<P>) {
      if (EndsByStripe()) {
        published_ = s().shared;
        next_ = reinterpret_cast<SharedOf<P>*>(s().inbox);
        stripes_->Reset();
        rounds_by_stripe_ = 0;
      }
    }
    if constexpr (Traits<P>::kSharesSeparately) Run(s().graph.owned, [&](Group& g) { host::Publish(g, s(), form); });
  }
  bool HasPullRound() const override { return EndsByStripe(); }
  void PullRound(const RoundState& round) override {
    if constexpr (kEndsByStripe<P>) {
      Run(kParallel, [&](Group& g) {
        host::EndByStripe(g, s(), As(round), tiles_, *stripes_, rounds_by_stripe_, published_, next_, partials_.data());
      });
      std::swap(published_, next_);
      rounds_by_stripe_ += 1;
      applied_ = round.index;
    }
  }
  void Gather(const RoundState& round, bool all_active) override {
    if constexpr (kMayTile<P>) {
      if (!tiles_.empty()) {
        Run(kParallel, [&](Group& g) { host::GatherTiles(g, s(), As(round), tiles_); });
        return;
      }
    }
    state_.CheckRoundMessage(As(round));
    if constexpr (!Traits<P>::kCounts) {
      Run(s().graph.owned * std::size_t{4}, [&](Group& g) { host::Gather(g, s(), As(round), all_active); });
      if (s().control->slice_count > 0) {
        Run(kParallel, [&](Group& g) { host::GatherSlices(g, s(), As(round), all_active); });
        s().control->slice_count = 0;
      }
    }
  }
  void Apply(const RoundState& round, Form form, std::size_t count) override {
    if constexpr (!Traits<P>::kCounts) {
      if constexpr (kAppliesAll) {
        if (form == Form::kAll) {
          Run(count, [&](Group& g) { host::ApplyAll(g, s(), As(round), partials_.data()); });
          applied_ = round.index;
          return;
        }
      }
      if (form == Form::kQueue) count = s().control->touched_count;
      Run(count, [&](Group& g) { host::Apply(g, s(), As(round), form, count); });
    }
  }
  void Collect(const RoundState& round, bool all_active) override {
    if constexpr (Traits<P>::kCounts) {
      Run(s().graph.owned * std::size_t{4}, [&](Group& g) { host::Collect(g, s(), As(round), all_active); });
      Run(s().graph.owned, [&](Group& g) { host::CommitCollected(g, s()); });
    }
  }
  void QueueToBitmap(std::size_t count) override {
    Run(s().graph.local / 32, [&](Group& g) { host::ClearActive(g, s(), false); });
    Run(count, [&](Group& g) { host::QueueToBitmap(g, s(), count); });
  }
  void BitmapToQueue() override {
    Run(s().graph.owned / 8, [&](Group& g) { host::BitmapToQueue(g, s()); });
  }
  void SwapFrontier() override { state_.SwapFrontier(); }
  void SetLimit(double limit) override { state_.SetLimit(limit); }
  void Release(Form form, std::size_t count) override {
    if constexpr (Traits<P>::kOrders) Run(s().graph.owned / 64, [&](Group& g) { host::Release(g, s(), form, count); });
  }
  FusedEngine* fused() override {
    if constexpr (fused::host::kFuses<P>) return s().graph.parts == 1 || fused::kRelaxesTogether<P> ? &fused_ : nullptr;
    return nullptr;
  }
  void ClearHaloActive() override {
    Run((s().graph.local - s().graph.owned) / 32, [&](Group& g) { host::ClearActive(g, s(), true); });
  }
  void PackMessages(const OutboxRef& outbox, bool queued, std::size_t) override {
    if constexpr (Traits<P>::kCanPush) {
      std::size_t work = 0;
      for (std::uint32_t p = 0; p < s().graph.parts; ++p) {
        if (PacksFor(outbox, p)) work += s().control->halo_count[p];
      }
      Run(work, [&](Group& g) { host::PackMessages(g, s(), outbox, queued); });
      if (!outbox.has_header) return;
      ForEachMessageBuffer(s(), outbox, [&](std::uint32_t buffer_index, std::byte* buffer, LocalId, LocalId size, Encoding) {
        WriteHeader(buffer, size, MessageWireBytes(s()), *s().control, buffer_index);
      });
    }
  }
  void PackShared(const OutboxRef& outbox, const SharedPlan& plan) override {
    Run(s().border.begin[s().graph.parts], [&](Group& g) { host::PackShared(g, s(), outbox, plan); });
    if (!outbox.has_header) return;
    ForEachSharedBuffer(s(), outbox, plan,
                        [&](std::uint32_t buffer_index, std::byte* buffer, const LocalId*, LocalId size, Encoding) {
                          WriteHeader(buffer, size, kWireBytes<SharedSlot<P>>, *s().control, buffer_index);
                        });
  }
  void UnpackMessages(const InboxRef& buffer, std::uint32_t peer, bool queue_out) override {
    if constexpr (Traits<P>::kCanPush) {
      const InboxRef inbox = ReadHeader(buffer, MessageWireBytes(s()));
      Run(Entries(inbox), [&](Group& g) { host::UnpackMessages(g, s(), inbox, peer, queue_out); });
    }
  }
  void UnpackShared(const InboxRef& buffer, std::uint32_t peer, const LocalId* to_halo) override {
    const InboxRef inbox = ReadHeader(buffer, kWireBytes<SharedSlot<P>>);
    Run(Entries(inbox), [&](Group& g) { host::UnpackShared(g, s(), inbox, peer, to_halo); });
  }

  void ClearControl() override { *s().control = Control{}; }
  const Control& Read(const WaitContext& context, bool clear) override {
    device_.stream().Synchronize(context);
    // By words: where others deliver, they count on.
    static_assert(sizeof(Control) % sizeof(std::uint64_t) == 0);
    const auto* const words = reinterpret_cast<const std::uint64_t*>(s().control);
    for (std::size_t i = 0; i < sizeof(Control) / sizeof(*words); ++i) {
      const std::uint64_t word = atomics::Load(words + i);
      std::memcpy(reinterpret_cast<std::byte*>(&read_) + i * sizeof(word), &word, sizeof(word));
    }
    if (clear) ClearControl();
    return read_;
  }
  void MeasureInto(const RoundState& round, std::byte* global, const WaitContext&) override {
    if constexpr (Traits<P>::kHasMeasure) {
      if (applied_ != round.index)
        Run(s().graph.owned, [&](Group& g) { host::Measure(g, s(), As(round), partials_.data()); });
      GlobalOf<P> sum{};
      for (const GlobalOf<P>& part : partials_) sum = CombineGlobal<P>(sum, part);
      std::memcpy(global, &sum, sizeof(sum));
    }
  }
  void WriteOutput(const RoundState& round, std::byte* out) override {
    Run(s().graph.owned, [&](Group& g) { host::Output(g, s(), As(round), reinterpret_cast<OutputOf<P>*>(out)); });
  }
  void CopyValues(std::byte* host, const WaitContext& context) override {
    device_.CopyOut(host, s().values, s().graph.owned * sizeof(ValueOf<P>), device_.stream());
    device_.stream().Synchronize(context);
  }
  const std::byte* DeviceValues() const override { return reinterpret_cast<const std::byte*>(s().values); }
  void SetData(const std::byte* data, const WaitContext& context) override { state_.SetData(device_, data, context); }
  void SetAsynchronous(bool on) override { state_.SetAsynchronous(on); }
  void SetProgram(const void* program) override {
    state_.SetProgram(*static_cast<const P*>(program));
    applied_.reset();
  }

  const StateRef<P>& s() const { return state_.ref(); }

 private:
  /// Work items below which a second thread costs more than it brings, and a count that is surely above.
  static constexpr std::size_t kSmall = 4096;
  static constexpr std::size_t kParallel = ~std::size_t{0};

  /// Whether rounds end with ApplyAll. Consume takes the residual, so what a vertex shares cannot be computed again.
  static constexpr bool kAppliesAll = Traits<P>::kEveryRound && !Traits<P>::kCounts && !Traits<P>::kHasConsume;

  auto MakeFused() {
    if constexpr (fused::host::kFuses<P>) {
      return fused::host::Engine<P>(device_, state_);
    } else {
      return None{};
    }
  }
  static bool MakesTiles(const PartShape& part, Tiling tiling) {
    return kMayTile<P> && part.reverse.built && TiledRows::Pay(tiling, part, sizeof(SharedOf<P>));
  }
  /// Whether rounds end stripe by stripe: no other device reads what vertices share.
  bool EndsByStripe() const { return kEndsByStripe<P> && !tiles_.empty() && s().graph.parts == 1; }
  static RoundOf<P> As(const RoundState& round) { return round.As<GlobalOf<P>>(); }
  /// Entries of a buffer that are read.
  static std::size_t Entries(const InboxRef& inbox) {
    return inbox.encoding == Encoding::kSparse ? inbox.count : inbox.last - inbox.first;
  }
  [[noreturn]] static void CannotPush() {
    throw InternalError("this program is pulled: it collects all messages or its messages are wider than an atomic");
  }

  template <class Body>
  void Run(std::size_t work, Body&& body) {
    WorkerTeam& team = *device_.team();
    std::uint32_t after = sweeps_;
    try {
      team.Run(work < kSmall ? 1 : team.size(), [&](TeamMember& member) {
        Group group(member, cursors_, sweeps_);
        body(group);
        if (group.rank() == 0) after = group.sweeps();
      });
    } catch (...) {
      cursors_.Reset();
      sweeps_ = 0;
      throw;
    }
    sweeps_ = after;
  }

  Device& device_;
  ProgramState<P> state_;
  std::vector<GlobalOf<P>> partials_;
  Control read_;
  TiledRows tiles_;
  std::unique_ptr<StripeBoard<MessageOf<P>>> stripes_;
  SharedOf<P>* published_ = nullptr;      // in rounds that end stripe by stripe: what vertices share,
  SharedOf<P>* next_ = nullptr;           // and what they share next, in the memory of the inboxes
  std::uint32_t rounds_by_stripe_ = 0;    // since published_ was filled
  std::optional<std::uint32_t> applied_;  // the round whose end has measured and published, if nothing has changed since
  [[no_unique_address]] std::conditional_t<fused::host::kFuses<P>, fused::host::Engine<P>, None> fused_;
  Cursors cursors_;
  std::uint32_t sweeps_ = 0;
};

}  // namespace chatty::steps::host
