// The algorithm, on each device's thread (asynchronous Pregel; Groute, PPoPP 2017):
//
//   Init: the first values and the first frontier; Advance from it
//   until nobody works, nothing is on the way and no vertex is pending:
//     send the halo's messages to the peers that have a free slot
//     receive what has come, into inboxes; on a GPU also while a push runs, on a stream of its own
//     Apply messages; Advance from the changed vertices
//     without work: sleep until another device wakes it
//
// With buckets, a changed vertex beyond the limit waits as pending. A device that takes a new limit releases its pending
// vertices below it. WorkSignals finds when the limit may rise, and when the run is over.

#include "chatty/framework/engines/async.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "chatty/comm/channel.h"
#include "chatty/framework/engines/drive.h"
#include "chatty/framework/engines/message_log.h"
#include "chatty/framework/engines/work_signals.h"
#include "chatty/framework/spans.h"

namespace chatty {
namespace {

/// A buffer's header.
struct AsyncHeader {
  std::uint32_t count = 0;
  Encoding encoding = Encoding::kSparse;
  std::uint8_t path = 0;
};

/// What one device sends to another. Message i of a channel is epoch i of the transports.
using AsyncChannel = MessageChannel<AsyncHeader>;

/// Slots of all channels: each message may take any path, so as many as every path has buffers of a pair.
std::uint32_t SlotsOf(const TransportSelector* paths) {
  std::uint32_t slots = kMaxSlots;
  for (std::size_t p = 0; paths != nullptr && p < paths->size(); ++p) slots = std::min(slots, (*paths)[p].slots());
  return slots;
}

/// Messages of halo vertices for one peer that were not sent.
enum class Unsent : std::uint8_t {
  kNothing,
  kQueued,  ///< perhaps of the last push, and then in the queue
  kOlder,   ///< perhaps of earlier pushes, too: the queue does not have them all
};

struct AsyncShared {
  explicit AsyncShared(const EngineRun& run)
      : control(run.control), team(run.team), signals(run.devices.size(), run.plan.buckets) {
    const std::uint32_t slots = SlotsOf(run.paths);
    for (std::size_t i = 0; i < signals.size() * signals.size(); ++i) channels.emplace_back(slots);
  }

  AsyncChannel& ChannelOf(PartId from, PartId to) { return channels[from * signals.size() + to]; }
  /// The first reason counts.
  void End(Ended why) noexcept {
    Ended expected = Ended::kFailed;
    ended.compare_exchange_strong(expected, why);
    signals.WakeAll();
  }
  void Fail(std::exception_ptr error) noexcept {
    control.Fail(std::move(error));
    if (team != nullptr) team->Abort();
    signals.WakeAll();
  }

  ThreadControlPlanes& control;
  fused::Team* const team;
  std::deque<AsyncChannel> channels;  // neither copied nor moved
  WorkSignals signals;
  std::atomic<Ended> ended{Ended::kFailed};  // still running
};

/// A device's aggregate at the end of the run.
struct FinalValue {
  alignas(16) std::byte global[64] = {};
};

class AsyncRun {
 public:
  AsyncRun(const DeviceRun& run, AsyncShared& shared)
      : run_(run),
        program_(run.program),
        traits_(run.program.traits()),
        steps_(*run.me.steps),
        options_(run.options),
        wait_(run.control.wait()),
        track_(run.track),
        rank_(run.rank),
        parts_(run.parts),
        owned_(run.me.graph->ref().owned),
        shared_(shared),
        signals_(shared.signals),
        log_(run) {}

  void Run() {
    round_.vertices = run_.me.graph->ref().vertices;
    program_.ResetGlobal(round_.global);
    {
      Span span = Timed(spans::kInit, {owned_});
      steps_.SetAsynchronous(true);
      steps_.ClearControl();
      steps_.SetLimit(signals_.limit().value);  // of the first bucket: nobody raises it before all have taken it
      steps_.Init(run_.me.input, round_);
      span.Next(spans::kReadCounters);
      Count(steps_.Read(wait_, /*clear=*/true));
      work_ = {};  // the first frontier is of no bucket
      initialised_ = true;
    }
    if (run_.team != nullptr && options_.max_rounds == 0) RunFused();  // which has no rounds to limit
    if (parts_ > 1) reader_ = steps_.ReceiveStream();
    if (active_ > 0) Push(Form::kBitmap, owned_);
    while (shared_.ended.load() == Ended::kFailed) {
      wait_.abort->ThrowIfAborted("the other devices");
      if (parts_ > 1) {
        Send();
        Receive();
      }
      if (bound_ > 0 || signals_.limit().bucket != bucket_) {
        Update();
        if (signals_.ordered()) Release();
        if (active_ > 0) {
          if (options_.max_rounds != 0 && round_.index >= options_.max_rounds) {
            shared_.End(Ended::kMaxRounds);
            break;
          }
          Push(Form::kQueue, frontier_);
        }
      } else {
        WaitForWork();
      }
    }
    Conclude();
  }

  /// After a run or a failure.
  DeviceReport TakeReport() noexcept {
    DeviceReport report;
    report.round = round_;
    report.initialised = initialised_;
    report.fused_steps = fused_steps_;
    report.edges_touched = edges_touched_;
    report.vertices_updated = vertices_updated_;
    report.items = items_;
    log_.MoveInto(report);
    return report;
  }

 private:
  Span Timed(const SpanKind& kind, const SpanArguments& arguments = {}) const { return run_.Timed(kind, arguments); }
  /// Entries in the numbering of a buffer from one device to another.
  std::size_t Entries(PartId from, PartId to) const { return run_.peers.Entries(Traffic::kMessages, from, to); }

  /// Adds the counters since the last call. `released`: active vertices join those of the last update.
  void Count(const Control& control, bool released = false) {
    active_ = control.active_vertices + (released ? active_ : 0);
    edges_ = control.active_edges + (released ? edges_ : 0);
    edges_touched_ += control.edges_touched;
    work_.pending += control.pending_vertices;
    work_.first_pending = released ? control.first_pending : std::max(work_.first_pending, control.first_pending);
    work_.added_edges += control.active_edges;
    work_.first_edges += control.first_edges;
    log_.CountRaw(control);
  }

  /// Lets the fused engines of all devices run together. If they leave active vertices, the run continues from these.
  void RunFused() {
    {
      const Span span = Timed(spans::kAllReduce);
      run_.control.AllReduce(FinalValue{}, "all devices to begin", [](PartId, const FinalValue&) {});
    }
    const fused::TeamRef team = run_.team->ref(rank_);
    FusedRun job;
    job.stop = &options_.stop;
    job.list_items = run_.plan.rows.list_items;
    job.asynchronous = true;
    job.team = &team;
    job.sharing = run_.team->SharingWith(rank_);
    job.round = round_;
    job.buckets = Buckets(run_.plan.buckets);
    job.active_vertices = active_;
    job.ahead.active_edges = edges_;
    {
      const Span span = Timed(spans::kAdvance, {active_, edges_});
      try {
        if (!steps_.fused()->Run(job, wait_)) return;
      } catch (const TimeoutError&) {
        std::rethrow_exception(run_.team->FailureOf(rank_));
      }
      steps_.FusedHasRun();
    }
    round_ = job.round;
    active_ = job.active_vertices;
    edges_ = job.ahead.active_edges;
    fused_steps_ = job.steps;
    edges_touched_ += job.edges_touched;
    vertices_updated_ += job.vertices_updated;
    items_ += job.items.value_or(0);
    const std::vector<std::uint64_t> sent = run_.team->Sent(rank_);
    for (PartId q = 0; q < parts_; ++q) {
      if (sent[q] > 0) log_.CountSent(q, sent[q], /*before=*/sent[q], sent[q] * sizeof(symmetric::RingEntry));
    }
    if (options_.stop.stop_requested()) shared_.End(Ended::kStopped);
  }

  /// Tells the other devices of a run with an order what is ahead.
  void Report(std::uint64_t edges) {
    if (!signals_.ordered()) return;
    work_.edges = edges;
    signals_.Report(rank_, bucket_, work_);
    work_.added_edges = work_.first_edges = 0;
    work_.sweeps = 0;
  }

  /// Pushes along all edges of the frontier, into the inboxes of owned vertices and halo copies.
  void Push(Form form, std::size_t count) {
    const Span span = Timed(spans::kAdvance, {active_, edges_});
    vertices_updated_ += active_;
    items_ += active_;
    steps_.Advance(round_, form, count, edges_, /*queue_out=*/true);
    round_.index += 1;
    work_.sweeps += 1;
    bound_ += std::min<std::uint64_t>(owned_, edges_);
    pushes_ = reader_ != nullptr && edges_ > 0;
    if (edges_ == 0) return;
    for (PartId q = 0; q < parts_; ++q) {
      if (q != rank_ && Entries(rank_, q) > 0 && unsent_[q] == Unsent::kNothing) unsent_[q] = Unsent::kQueued;
    }
  }

  /// Updates vertices with messages; changed ones are the frontier.
  void Update() {
    if (pushes_) AwaitPush();  // where no slot was free: behind Apply, arrivals would wait for the push
    Span span = Timed(spans::kApply, {std::min<std::uint64_t>(bound_, owned_)});
    steps_.Apply(round_, Form::kQueue, static_cast<std::size_t>(std::min<std::uint64_t>(bound_, owned_)));
    span.Next(spans::kReadCounters);
    const Control& control = steps_.Read(wait_, /*clear=*/true);
    Count(control);
    frontier_ = control.next_count;
    steps_.SwapFrontier();
    bound_ = 0;
    for (Unsent& unsent : unsent_) {
      if (unsent == Unsent::kQueued) unsent = Unsent::kOlder;  // the queue was cleared with the counters
    }
    if (track_ != nullptr) [[unlikely]] {
      track_->AddCounter(spans::kActiveVertices, Clock::now(), active_);
      CountOnTheWay();
    }
  }

  /// After an update: raises the limit if little is active on all devices, and takes the limit if it has risen. Pending
  /// vertices below it join the frontier.
  void Release() {
    Report(edges_);
    signals_.RaiseEarly(bucket_);
    const WorkSignals::Limit limit = signals_.limit();
    if (limit.bucket == bucket_) return;
    bucket_ = limit.bucket;
    {
      const Span span = Timed(spans::kRelease, {static_cast<std::uint64_t>(work_.pending)});
      steps_.SetLimit(limit.value);
      steps_.Release(Form::kQueue, frontier_);
      const Control& control = steps_.Read(wait_, /*clear=*/true);
      Count(control, /*released=*/true);
      frontier_ += control.next_count;
    }
    Report(edges_);
  }

  /// Whether there are messages for a peer whose channel has a free slot.
  bool MaySend(PartId q) { return unsent_[q] != Unsent::kNothing && shared_.ChannelOf(rank_, q).HasCredit(); }
  bool HasUnsent() const {
    return std::any_of(unsent_.begin(), unsent_.begin() + parts_, [](Unsent unsent) { return unsent != Unsent::kNothing; });
  }
  bool MaySendAny() {
    for (PartId q = 0; q < parts_; ++q) {
      if (MaySend(q)) return true;
    }
    return false;
  }

  /// Sends the halo's messages to all peers with a free slot. Those for other peers stay and continue to combine.
  void Send() {
    if (!MaySendAny()) return;
    Span span = Timed(spans::kPack);
    OutboxRef outbox;
    std::array<bool, kMaxDevices> packs{};  // a credit may return meanwhile
    std::uint8_t path[kMaxDevices] = {};
    std::size_t expected_bytes[kMaxDevices] = {};
    bool queued = true;
    for (PartId q = 0; q < parts_; ++q) {
      packs[q] = MaySend(q);
      if (!packs[q]) continue;
      queued = queued && unsent_[q] == Unsent::kQueued;
      const std::size_t subset = Entries(rank_, q);
      // Expects the last count: frontiers change gradually.
      const std::size_t expected = std::min<std::size_t>(subset, last_sent_[q]);
      const Encoding encoding = ShortestEncoding(subset, expected, traits_.late_payload);
      const BufferShape shape =
          BufferShapeOf(encoding, BufferBytes(encoding, subset, expected, traits_.late_payload), expected, subset);
      path[q] = run_.paths->Choose(rank_, q, shape, {}).path;
      expected_bytes[q] = shape.bytes;
      outbox.buffer[q] = (*run_.paths)[path[q]].Outbox(rank_, q, *shared_.ChannelOf(rank_, q).Acquire());
    }
    steps_.PackMessages(outbox, queued, run_.me.graph->ref().local);
    span.Next(spans::kReadLengths);
    const Control& control = ReadReceiving(span);
    for (PartId q = 0; q < parts_; ++q) {
      if (!packs[q]) {
        // The last push may have had nothing for a peer; then nothing waits for its slot.
        if (unsent_[q] == Unsent::kQueued && control.halo_count[q] == 0) unsent_[q] = Unsent::kNothing;
        continue;
      }
      unsent_[q] = Unsent::kNothing;
      const std::uint32_t count = control.buffer_count[q];
      last_sent_[q] = count;
      if (count == 0) continue;
      const auto encoding = static_cast<Encoding>(control.buffer_encoding[q]);
      const std::size_t bytes = BufferBytes(encoding, Entries(rank_, q), count, traits_.late_payload);
      span.Next(spans::kPost, {q, bytes, count});
      AsyncChannel& channel = shared_.ChannelOf(rank_, q);
      (*run_.paths)[path[q]].Post(rank_, q, bytes, *channel.Acquire());
      signals_.CountSent(rank_);
      channel.Commit({count, encoding, path[q]});
      signals_.Wake(q);
      log_.CountSent(q, count, /*before=*/0, bytes);
      if (log_.explains()) [[unlikely]] {
        log_.Record(round_.index - 1,  // the sweep already counted
                    {.from = rank_,
                     .to = q,
                     .size = Entries(rank_, q),
                     .payload = traits_.late_payload,
                     .path = path[q],
                     .encoding = encoding,
                     .count = count,
                     .expected_bytes = expected_bytes[q]});
      }
    }
    if (track_ != nullptr) [[unlikely]] {
      log_.CountBytes(span.part_start());
      CountOnTheWay();
    }
  }

  /// Waits for a push that nothing is sent after.
  void AwaitPush() {
    Span span = Timed(spans::kReadLengths);
    ReadReceiving(span);
  }
  /// The counters so far, once the push and what follows it have run. Where these take time, unpacks what arrives meanwhile,
  /// in parts of the caller's span.
  const Control& ReadReceiving(Span& span) {
    const std::uint64_t before = bound_;
    const Control& control = steps_.ReadBeside(wait_, [&] {
      if (UnpackArrivals(&span)) span.Next(spans::kReadLengths);
      ReturnCredits(/*waits=*/false);
    });
    bound_ = control.touched_count + (bound_ - before);  // exact, but for what has arrived meanwhile
    pushes_ = false;
    return control;
  }

  /// The counter of buffers that this device sent and the receivers have not taken yet.
  void CountOnTheWay() {
    std::uint64_t buffers = 0;
    for (PartId q = 0; q < parts_; ++q) {
      if (q != rank_) buffers += shared_.ChannelOf(rank_, q).InFlight();
    }
    track_->AddCounter(spans::kInFlight, Clock::now(), buffers);
  }

  /// Receives all buffers that have arrived, and waits until they are unpacked.
  void Receive() {
    UnpackArrivals(nullptr);
    ReturnCredits(/*waits=*/true);
  }

  /// Begins to unpack all buffers that have arrived. Returns whether any had. `within`: the span that goes on with parts for
  /// each buffer; null: each buffer has a span of its own.
  bool UnpackArrivals(Span* within) {
    bool any = false;
    for (PartId i = 1; i < parts_; ++i) {
      const PartId from = (rank_ + i) % parts_;  // devices start at different senders
      AsyncChannel& channel = shared_.ChannelOf(from, rank_);
      while (const auto message = channel.Poll()) {
        const AsyncHeader& header = message->header;
        const std::size_t subset = Entries(from, rank_);
        const std::size_t bytes = BufferBytes(header.encoding, subset, header.count, traits_.late_payload);
        const SpanArguments arguments{from, bytes, header.count};
        std::optional<Span> own;
        if (within == nullptr) own.emplace(track_, &run_.account.communication_ms, spans::kReceive, arguments);
        if (within != nullptr) within->Next(spans::kReceive, arguments);
        Span& span = within != nullptr ? *within : *own;
        InboxRef inbox;
        inbox.buffer = Arrived((*run_.paths)[header.path], from, bytes, message->number);
        inbox.encoding = header.encoding;
        inbox.count = header.count;
        inbox.size = inbox.last = static_cast<std::uint32_t>(subset);
        span.Next(spans::kUnpack, {from, header.count});
        steps_.UnpackArrived(inbox, from);
        bound_ += header.count;
        any = unpacks_ = true;
      }
    }
    return any;
  }

  /// The bytes of a message, for whose arrival the stream that unpacks waits. A path that makes only the main stream wait
  /// has the arrival behind a push on it.
  const std::byte* Arrived(Transport& path, PartId from, std::size_t bytes, std::uint64_t number) {
    if (reader_ != nullptr && path.receives_on_streams()) return path.ReceiveOn(*reader_, rank_, from, bytes, number);
    const std::byte* const buffer = path.Receive(rank_, from, bytes, number);
    if (reader_ == nullptr) return buffer;
    if (arrived_ == nullptr) arrived_ = run_.me.device->NewEvent();
    arrived_->Record(run_.me.device->stream());
    arrived_->MakeWait(*reader_);
    return buffer;
  }

  /// Gives the senders the slots of unpacked buffers back. A sender may reuse a buffer only after this device has read it,
  /// not when the read is enqueued. Without `waits`, does nothing until all reads have run.
  void ReturnCredits(bool waits) {
    if (!unpacks_) return;
    if (reader_ != nullptr && waits) {
      const Span span = Timed(spans::kReceiveAll);
      reader_->Synchronize(wait_);
    } else if (reader_ != nullptr && !reader_->IsIdle()) {
      return;
    }
    unpacks_ = false;
    for (PartId from = 0; from < parts_; ++from) {
      AsyncChannel& channel = shared_.ChannelOf(from, rank_);
      if (from == rank_ || channel.Unreleased() == 0) continue;
      signals_.CountReceived(rank_, channel.Unreleased());
      channel.Release();
      // Either this sees that the sender sleeps, or the sender sees the credit: both are sequentially consistent.
      if (signals_.WaitsForCredit(from)) signals_.Wake(from);
    }
  }

  bool HasMessages() {
    for (PartId q = 0; q < parts_; ++q) {
      if (q != rank_ && shared_.ChannelOf(q, rank_).HasMessage()) return true;
    }
    return false;
  }

  /// No work except perhaps messages for peers without a free slot: raises the limit, ends the run, or sleeps until woken.
  void WaitForWork() {
    const std::uint32_t seen = signals_.WakeCount(rank_);
    if (HasMessages() || signals_.limit().bucket != bucket_) return;
    if (signals_.ordered()) {
      Report(0);
      if (signals_.RaiseEarly(bucket_)) return;
    }
    if (HasUnsent()) {
      signals_.SetWaitsForCredit(rank_, true);
      if (MaySendAny()) {
        signals_.SetWaitsForCredit(rank_, false);
        return;
      }
    } else {
      signals_.SetIdle(rank_, bucket_);
      const WorkSignals::Termination termination = signals_.CheckTermination(bucket_);
      if (termination == WorkSignals::Termination::kDone) {
        shared_.End(Ended::kConverged);
        return;
      }
      if (termination == WorkSignals::Termination::kNext) signals_.Raise(bucket_);
    }
    if (shared_.ended.load() == Ended::kFailed) {
      const Span span = Timed(spans::kIdle);
      signals_.Wait(rank_, seen, wait_);
    }
    signals_.ClearIdle(rank_);  // before any receive
    signals_.SetWaitsForCredit(rank_, false);
  }

  /// All devices measure their final values and wait for each other to leave. Otherwise the wait for a device that a
  /// transport blocks would have no deadline.
  void Conclude() {
    {
      const Span span = Timed(spans::kReadCounters);
      Count(steps_.Read(wait_, /*clear=*/true));  // of a last push with no target here
      // Copies to buffers that no device will read must complete before the buffers are freed.
      if (shared_.ended.load() != Ended::kConverged) run_.me.device->stream().Synchronize(wait_);
    }
    if (!traits_.has_measure && parts_ == 1) return;
    FinalValue mine, total;
    if (traits_.has_measure) {
      const Span span = Timed(spans::kMeasure);
      steps_.MeasureInto(round_, mine.global, wait_);
    }
    program_.ResetGlobal(total.global);
    const Span span = Timed(spans::kAllReduce);
    run_.control.AllReduce(mine, "all devices to end the run", [&](PartId, const FinalValue& value) {
      if (traits_.has_measure) program_.CombineGlobal(total.global, value.global);
    });
    if (traits_.has_measure) std::memcpy(round_.global, total.global, sizeof(round_.global));
  }

  const DeviceRun& run_;
  const ErasedProgram& program_;
  const ProgramTraits& traits_;
  StepSet& steps_;
  const RunOptions& options_;
  const WaitContext& wait_;
  TraceTrack* const track_;
  const PartId rank_, parts_;
  const std::size_t owned_;
  AsyncShared& shared_;
  WorkSignals& signals_;
  MessageLog log_;
  Stream* reader_ = nullptr;        // unpacks what arrives, beside a push; null: calls return after the work
  std::unique_ptr<Event> arrived_;  // for paths that make only the main stream wait

  RoundState round_;
  bool initialised_ = false;
  std::uint64_t active_ = 0, edges_ = 0;       // the frontier and its forward edges
  std::size_t frontier_ = 0;                   // entries of its queue
  std::uint64_t bucket_ = 0;                   // whose limit this device has taken
  WorkReport work_;                            // since the last report
  bool pushes_ = false;                        // a push has begun, and nobody has waited for its end
  bool unpacks_ = false;                       // buffers are being unpacked, and their slots are taken
  std::uint64_t bound_ = 0;                    // upper bound of owned vertices with a message; 0: none
  std::array<Unsent, kMaxDevices> unsent_{};   // by peer
  std::uint32_t last_sent_[kMaxDevices] = {};  // entries of the last buffer
  std::uint32_t fused_steps_ = 0;
  std::uint64_t edges_touched_ = 0, vertices_updated_ = 0, items_ = 0;
};

}  // namespace

void RunAsync(const EngineRun& run, RunRecord* record) {
  AsyncShared shared(run);
  const std::stop_callback stop(run.options.stop, [&shared] { shared.End(Ended::kStopped); });
  const auto reports =
      DriveDevices("async", run, shared, record, [&](const DeviceRun& device) { return AsyncRun(device, shared); });
  RunStatistics& statistics = record->statistics;
  record->round = reports[0].round;
  record->initialised = true;
  for (const DeviceReport& report : reports) {
    record->round.index = std::max(record->round.index, report.round.index);
    record->initialised = record->initialised && report.initialised;
    statistics.fused_steps = std::max(statistics.fused_steps, report.fused_steps);
    statistics.edges_touched += report.edges_touched;
    statistics.vertices_updated += report.vertices_updated;
    statistics.items += report.items;
  }
  statistics.rounds = statistics.push_rounds = record->round.index;
  run.control.RethrowFirst();
  // A path that waits for a receiver keeps untaken posts, so no other run may use it.
  const bool left = std::any_of(shared.channels.begin(), shared.channels.end(),
                                [](const AsyncChannel& channel) { return channel.InFlight() != 0; });
  for (std::size_t p = 0; left && p < run.paths->size(); ++p) {
    Transport& path = (*run.paths)[p];
    if (const TransportInfo* const info = FindTransport(path.name()); info != nullptr && info->collective) path.Abort();
  }
  statistics.ended = shared.ended.load();
  statistics.converged = statistics.ended == Ended::kConverged;
}

}  // namespace chatty
