#include "chatty/framework/engines/bsp.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "chatty/framework/buckets.h"
#include "chatty/framework/direction.h"
#include "chatty/framework/engines/drive.h"
#include "chatty/framework/spans.h"

namespace chatty {
namespace {

/// What each device sends all others after a round.
struct Summary {
  std::uint64_t active_vertices = 0, active_edges = 0, edges_touched = 0;
  std::int64_t candidate_edges = 0, pending_vertices = 0;
  std::uint64_t first_pending = 0, fresh_edges = 0;  ///< as in Control
  bool stop = false;                                 ///< requested; first device checks
  alignas(16) std::byte global[64] = {};
};

static_assert(sizeof(Summary) == kRoundWords * sizeof(std::uint64_t));

/// A device's report.
struct BspReport {
  RoundState round;
  bool initialised = false;
  Ended ended = Ended::kFailed;
  std::uint64_t edges_touched = 0, vertices_updated = 0;
  std::uint32_t push_rounds = 0, pull_rounds = 0, phases = 1;
  std::vector<PairStatistics> pairs;
  std::vector<BufferRecord> buffers;
};

using BufferCounts = std::array<std::uint32_t, kMaxDevices>;
using Encodings = std::array<Encoding, kMaxDevices>;

/// What each sender sends to its receivers. Entry q describes the buffer for part q; its own entry, the broadcast.
struct ExchangeHeader {
  bool for_all = false;   ///< a broadcast, and no other buffer
  bool labelled = false;  ///< buffers contain their own headers; count and form are expectations
  BufferCounts count{};
  Encodings form{};
  std::array<std::uint8_t, kMaxDevices> path{};
  /// @{
  /// Contents of labelled buffers, once all agree on a round.
  BufferCounts packed{};
  Encodings packed_form{};
  /// @}
  // If buffers are recorded:
  std::array<std::uint64_t, kMaxDevices> expected{};  // bytes for which the path was chosen
  Clock::time_point begun{};                          // packing
  double pack_us = 0;                                 // packing time, if the host waits
  Clock::time_point posted{};                         // end of packing
};

/// What an exchange moves.
enum class Traffic : std::uint8_t {
  kMessages,  ///< combined, from halo copies to owners
  kShared,    ///< changed, from owners to halos
};

/// The first device's decision for all.
struct Decision {
  Next next = Next::kContinue;
  RoundState round;
};

struct BspShared {
  explicit BspShared(int devices) : summaries(devices), headers(devices), decisions(devices) {}
  AbortToken abort;
  AllGatherBarrier<Summary> summaries;
  NeighbourExchange<ExchangeHeader> headers;
  AllGatherBarrier<Decision> decisions;
  void Fail(std::exception_ptr error) noexcept {
    abort.Fail(std::move(error));
    summaries.Poison();
    headers.Poison();
    decisions.Poison();
  }
};

class BspRun {
 public:
  BspRun(const ErasedProgram& program, std::span<const DeviceContext> participants, PartId rank, Selector* paths,
         BuiltDirections built, const BucketPlan& buckets, const RunOptions& options, BspShared& shared,
         DeviceStatistics& account, TraceTrack* track)
      : program_(program),
        traits_(program.traits()),
        participants_(participants),
        me_(participants[rank]),
        steps_(*me_.steps),
        rank_(rank),
        parts_(static_cast<PartId>(participants.size())),
        selector_(paths),
        options_(options),
        shared_(shared),
        wait_{&shared.abort, options.timeout},
        account_(account),
        track_(track),
        chooser_({traits_.can_push && built.push, built.pull, traits_.first_suffices, traits_.every_round,
                  buckets.width < kInfinity<double>, options.direction}),
        ends_unwanted_(traits_.has_wants && built.pull && !traits_.every_round && !traits_.has_measure &&
                       !traits_.has_end_round && !traits_.orders),
        buckets_(buckets),
        pairs_(parts_),
        owned_(me_.graph->ref().owned),
        on_gpu_(me_.device->kind() == DeviceKind::kCuda) {}

  void Run() {
    round_.vertices = me_.graph->ref().vertices;
    round_.fresh = parts_ == 1 && options_.direction != Direction::kPush && steps_.AllowsGaussSeidel();
    program_.ResetGlobal(round_.global);
    Span phase(track_, nullptr, spans::kPhase);
    {
      Span span = Timed(spans::kInit, {owned_});
      path_of_atomics_ = PathOfAtomics();
      steps_.ClearControl();
      steps_.SetLimit(buckets_.limit());
      steps_.Init(me_.prior);
      span.Next(spans::kActivate);
      steps_.Activate(round_);
    }
    BeginPhase();
    for (bool ask = IsTerminated();; ask = true) {
      if (ask) {
        const Next next = BroadcastDecision();
        if (next == Next::kStop) break;
        if (next == Next::kLimit) {
          ended_ = Ended::kLimit;
          return;
        }
        if (next == Next::kNextPhase) {
          ++phases_;
          phase.Next(spans::kPhase, {round_.phase});
          NextPhase();
          if (IsTerminated() && !total_.stop) {  // no vertex starts this phase: it ends, and the program decides again
            if (++empty_phases_ > kMaxEmptyPhases) {
              Throw<UsageError>("EndRound returned kNextPhase {} times in a row, but no vertex was active", empty_phases_);
            }
            continue;
          }
          empty_phases_ = 0;
        } else if (IsTerminated()) {
          break;
        }
      }
      if (options_.max_rounds != 0 && round_.index >= options_.max_rounds) {
        ended_ = Ended::kMaxRounds;
        return;
      }
      if (total_.stop) {
        ended_ = Ended::kStopped;
        return;
      }
      if (RunFused()) continue;
      Step();
      if (buckets_.on()) Raise();
    }
    ended_ = Ended::kConverged;
  }

  /// After a run or a failure.
  BspReport TakeReport() noexcept {
    return {round_,       initialised_, ended_,  edges_touched_,    vertices_updated_,
            push_rounds_, pull_rounds_, phases_, std::move(pairs_), std::move(buffers_)};
  }

 private:
  /// A span of this device's time, counted by its kind.
  Span Timed(const SpanKind& kind, const SpanArguments& arguments = {}) {
    double* const account = kind.category == SpanCategory::kCompute         ? &account_.compute_ms
                            : kind.category == SpanCategory::kCommunication ? &account_.communication_ms
                                                                            : &account_.waiting_ms;
    return Span(track_, account, kind, arguments);
  }

  bool IsTerminated() const { return total_.active_vertices == 0 && !traits_.every_round; }

  /// Counters after Init or a phase's Activate. The frontier is a bitmap; a pull's work is counted anew.
  void BeginPhase() {
    const Control* control;
    {
      const Span span = Timed(spans::kReadCounters);
      control = &steps_.Read(wait_, /*clear=*/true);
    }
    wanting_ = 0;
    form_ = traits_.every_round ? Form::kAll : Form::kBitmap;
    queues_ = false;
    AllReduce(*control);
    initialised_ = true;
    changed_only_ = false;
  }

  void NextPhase() {
    {
      const Span span = Timed(spans::kActivate, {round_.phase});
      steps_.ClearControl();
      steps_.Activate(round_);
    }
    BeginPhase();
  }

  /// One round: send, exchange, update and all-reduce.
  void Step() {
    const bool pull = traits_.collects || chooser_.UsePull(AheadOf(total_), round_.vertices);
    const Summary before = total_;
    const Span round(
        track_, nullptr, pull ? spans::kPullRound : spans::kPushRound,
        {round_.index, total_.active_vertices,
         pull ? static_cast<std::uint64_t>(std::max<std::int64_t>(before.candidate_edges, 0)) : total_.active_edges});
    if (ends_unwanted_ && before.candidate_edges == 0) return SkipLastRound(pull);
    if (pull) {
      Pull();
    } else {
      Push();
    }
    const Control* control;
    {
      const Span span = Timed(spans::kReadCounters);
      control = &steps_.Read(wait_, /*clear=*/true);
      if (form_ == Form::kQueue) {
        steps_.SwapFrontier();
        frontier_count_ = control->next_count;
      }
    }
    if (ExchangeHeader* const mine = std::exchange(labelled_, nullptr); mine != nullptr) {
      std::copy_n(control->buffer_count, parts_, mine->packed.begin());
      for (PartId q = 0; q < parts_; ++q) mine->packed_form[q] = static_cast<Encoding>(control->buffer_encoding[q]);
      CountSent(sent_, *mine, mine->packed, mine->packed_form, *control);
    }
    for (PartId q = 0; q < parts_; ++q) pairs_[q].messages_before += control->raw_messages[q];
    AllReduce(*control);
    if (!received_.empty()) [[unlikely]]
      TellReceived();
    ++(pull ? pull_rounds_ : push_rounds_);
    edges_touched_ += total_.edges_touched;
    vertices_updated_ += total_.active_vertices;
    if (rank_ == 0 && options_.on_round) [[unlikely]]
      options_.on_round({round_.index + 1, round_.active, program_.ChangeOf(round_)});
    if (pull) chooser_.Learn(AheadOf(before), round_.vertices, total_.edges_touched);
    changed_only_ = pull;
    round_.index += 1;
    if (track_ != nullptr) [[unlikely]]
      CountBytes(round.part_start());
  }

  /// A round without wanted messages, as all devices know: the last round, without work.
  void SkipLastRound(bool pull) {
    ++(pull ? pull_rounds_ : push_rounds_);
    round_.index += 1;
    round_.active = 0;
    total_ = mine_ = Summary{};
  }

  /// Between two rounds with few active vertices: activates pending vertices, bucket by bucket.
  void Raise() {
    buckets_.Note(total_.active_edges, total_.fresh_edges);
    // Once, unless no vertex becomes active: limits must not outrun growing frontiers.
    bool due = buckets_.Due(total_.active_vertices, total_.active_edges);
    for (; due && total_.pending_vertices > 0; due = total_.active_vertices == 0) {
      buckets_.Raise(PriorityOfKey(first_pending_));
      const Summary before = total_;
      const Control* control;
      {
        const Span span = Timed(spans::kRelease, {static_cast<std::uint64_t>(mine_.pending_vertices)});
        steps_.SetLimit(buckets_.limit());
        steps_.Release(form_, frontier_count_);
        control = &steps_.Read(wait_, /*clear=*/true);
        if (form_ == Form::kQueue) frontier_count_ += control->next_count;
      }
      AllReduce(*control, /*released=*/true);
      buckets_.NoteReleased(total_.active_edges - before.active_edges, total_.fresh_edges);
      vertices_updated_ += total_.active_vertices - before.active_vertices;
    }
  }

  static Ahead AheadOf(const Summary& summary) { return {summary.active_edges, summary.candidate_edges}; }

  /// Runs the rest without the engine between rounds, if the device supports that. Not with a trace, which shows each round
  /// separately.
  bool RunFused() {
    if (parts_ > 1 || form_ != Form::kBitmap || track_ != nullptr) return false;
    FusedRun job;
    job.most_rounds = options_.max_rounds == 0 ? ~0u : options_.max_rounds - round_.index;
    job.stop = &options_.stop;
    job.round = round_;
    job.buckets = buckets_;
    job.chooser = chooser_;
    job.active_vertices = total_.active_vertices;
    job.ahead = AheadOf(total_);
    job.first_pending = first_pending_;
    job.pending_vertices = total_.pending_vertices;
    {
      const Span span = Timed(spans::kAdvance, {total_.active_vertices, total_.active_edges});
      if (!steps_.RunFused(job)) return false;
    }
    round_ = job.round;
    buckets_ = job.buckets;
    chooser_ = job.chooser;
    total_ = Summary{};
    total_.active_vertices = job.active_vertices;
    total_.active_edges = job.ahead.active_edges;
    total_.candidate_edges = wanting_ = job.ahead.candidate_edges;
    total_.pending_vertices = job.pending_vertices;
    total_.stop = job.stop->stop_requested();
    mine_ = total_;
    first_pending_ = job.first_pending;
    edges_touched_ += job.edges_touched;
    vertices_updated_ += job.vertices_updated;
    push_rounds_ += job.push_rounds;
    pull_rounds_ += job.pull_rounds;
    if (options_.on_round) options_.on_round({round_.index, total_.active_vertices, program_.ChangeOf(round_)});
    return true;
  }

  void Push() {
    bool queue_out, atomics = false;
    {
      const bool convert =
          form_ == Form::kBitmap && mine_.active_vertices < owned_ / (on_gpu_ ? kGpuFrontier : kHostFrontier);
      Span span = Timed(convert ? spans::kConvertFrontier : spans::kAdvance, {mine_.active_vertices, mine_.active_edges});
      if (convert) {
        steps_.BitmapToQueue();
        steps_.SwapFrontier();
        steps_.ClearControl();  // its queue is now the frontier; Apply starts another
        form_ = Form::kQueue;
        frontier_count_ = static_cast<std::size_t>(mine_.active_vertices);
        span.Next(spans::kAdvance, {mine_.active_vertices, mine_.active_edges});
      }
      // A queue costs an append per target and random updates; a bitmap, a sweep over all vertices.
      queue_out = !traits_.every_round &&
                  total_.active_edges < std::uint64_t{round_.vertices} / (on_gpu_ ? kGpuTargets : kHostTargets);
      // A device with a bitmap frontier may still clear the counters that others would increment.
      atomics = queue_out && queues_ && path_of_atomics_ != kNoPath &&
                (options_.remote_atomics == RemoteAtomics::kAlways || selector_->AtomicsPay(total_.active_edges));
      const std::size_t count = form_ == Form::kQueue ? frontier_count_ : owned_;
      if (count > 0) steps_.Advance(round_, form_, count, mine_.active_edges, queue_out, atomics);
    }
    std::size_t touched = static_cast<std::size_t>(std::min<std::uint64_t>(owned_, mine_.active_edges));
    if (parts_ > 1) touched += atomics ? Deliver() : Exchange(Traffic::kMessages, queue_out);
    queues_ = queue_out;
    const Span span = Timed(spans::kApply, {queue_out ? std::min<std::size_t>(touched, owned_) : owned_});
    if (queue_out) {
      form_ = Form::kQueue;
      steps_.Apply(round_, Form::kQueue, std::min<std::size_t>(touched, owned_));
    } else {
      form_ = traits_.every_round ? Form::kAll : Form::kBitmap;
      steps_.Apply(round_, form_, owned_);
    }
  }

  void Pull() {
    queues_ = false;
    {
      Span span = Timed(form_ == Form::kQueue ? spans::kConvertFrontier : spans::kPublish, {mine_.active_vertices});
      if (form_ == Form::kQueue) {
        steps_.QueueToBitmap(frontier_count_);
        form_ = Form::kBitmap;
        span.Next(spans::kPublish, {mine_.active_vertices});
      }
      steps_.Publish(form_);
    }
    if (parts_ > 1) {
      steps_.ClearHaloActive();
      Exchange(Traffic::kShared, /*queue_out=*/false);
    }
    Span span = Timed(traits_.collects ? spans::kCollect : spans::kGather,
                      {static_cast<std::uint64_t>(std::max<std::int64_t>(mine_.candidate_edges, 0))});
    if (traits_.collects) {
      steps_.Collect(round_, traits_.every_round);
    } else {
      steps_.Gather(round_, traits_.every_round);
      span.Next(spans::kApply, {owned_});
      steps_.Apply(round_, form_, owned_);
    }
  }

  /// Entries in the numbering of a buffer between two parts; from a part to itself: of its broadcast.
  std::size_t Entries(Traffic traffic, PartId from, PartId to) const {
    const Subgraph& sender = participants_[from].graph->subgraph();
    if (from == to) return traffic == Traffic::kMessages ? sender.local - sender.owned : sender.border_union.size();
    return traffic == Traffic::kMessages ? sender.halo_count(to) : sender.border[to].size();
  }

  /// Expected entries of a buffer, before packing. Assumes that active vertices are on the border as often as other
  /// vertices, and that their edges cross it as often as in the last round.
  std::size_t Expected(Traffic traffic, PartId to, std::size_t entries) const {
    double share = 1;
    if (traffic == Traffic::kShared) {
      if (!SharesAll())
        share = static_cast<double>(mine_.active_vertices) / static_cast<double>(std::max<std::size_t>(1, owned_));
    } else if (last_edges_ > 0 && last_sent_[to] > 0) {
      share = static_cast<double>(last_sent_[to]) / static_cast<double>(entries) * static_cast<double>(mine_.active_edges) /
              static_cast<double>(last_edges_);
    } else {
      share = static_cast<double>(mine_.active_edges) / static_cast<double>(std::max<std::size_t>(1, owned_));
    }
    return static_cast<std::size_t>(std::min(1.0, share) * static_cast<double>(entries));
  }
  /// Whether all border values travel, not only changed ones.
  bool SharesAll() const { return traits_.every_round && (!changed_only_ || traits_.consumes); }

  /// The exchange in a round: messages to owners, or shared values to halos. Returns the number of arrived entries; for
  /// labelled buffers, an estimate of the maximum.
  std::size_t Exchange(Traffic traffic, bool queue_out) {
    // A device with an empty frontier sends nothing, as all know from the last AllReduce. Devices that share no vertex
    // exchange nothing. No device waits for an empty sender, which need not pack. Where a broadcast is possible, all listen.
    const bool all_listen = selector_->broadcasts() == Broadcasts::kAlways ||
                            (selector_->broadcasts() == Broadcasts::kChosen && traffic == Traffic::kShared);
    const auto talks = [&](PartId from, PartId to) {
      return from != to && sends_[from] && (all_listen || Entries(traffic, from, to) != 0);
    };
    const auto rank = static_cast<int>(rank_);
    const ExchangeHeader* mine = nullptr;
    if (sends_[rank_]) {
      mine = &Send(traffic, queue_out, all_listen);
      for (PartId q = 0; q < parts_; ++q) {
        if (talks(rank_, q)) shared_.headers.Signal(static_cast<int>(q));
      }
    }
    {
      const Span span = Timed(spans::kMeet);
      int senders = 0;
      for (PartId q = 0; q < parts_; ++q) senders += talks(q, rank_);
      shared_.headers.Wait(rank, senders, wait_, "all neighbours to pack");
    }
    Span span = Timed(spans::kReceiveAll);
    if (selector_->collective()) BeginCollective(traffic, mine, talks);
    std::size_t arrived = 0;
    for (PartId i = 1; i < parts_; ++i) {
      const PartId from = (rank_ + i) % parts_;  // devices start at different senders
      if (!talks(from, rank_)) continue;
      const ExchangeHeader& header = shared_.headers.Incoming(static_cast<int>(from), epoch_);
      const PartId place = header.for_all ? from : rank_;
      const std::uint32_t count = header.count[place];
      if (header.labelled ? Entries(traffic, from, place) == 0 : count == 0) continue;
      // A labelled buffer's size is unknown.
      const std::size_t bytes =
          header.labelled ? Room(traffic, from, place) : Bytes(traffic, from, place, header.form, header.count);
      span.Next(spans::kReceive,
                header.labelled ? SpanArguments{from, kToBeTold, kToBeTold} : SpanArguments{from, bytes, count});
      Transport& path = (*selector_)[header.path[place]];
      InboxRef inbox;
      inbox.form = header.form[place];
      inbox.count = count;
      inbox.labelled = header.labelled;
      inbox.size = static_cast<std::uint32_t>(Entries(traffic, from, place));
      inbox.last = inbox.size;
      if (header.for_all && traffic == Traffic::kMessages) {  // this device's range of the sender's halo
        const Subgraph& sender = participants_[from].graph->subgraph();
        inbox.first = sender.halo_begin[rank_] - sender.owned;
        inbox.last = sender.halo_begin[rank_ + 1] - sender.owned;
      }
      inbox.buffer =
          header.for_all ? path.ReceiveBroadcast(rank_, from, bytes, epoch_) : path.Receive(rank_, from, bytes, epoch_);
      span.Next(spans::kUnpack, {from, header.labelled ? kToBeTold : count});
      if (traffic == Traffic::kMessages) {
        steps_.UnpackMessages(inbox, from, queue_out);
      } else {
        steps_.UnpackShared(inbox, from, header.for_all ? me_.unions->to_halo(from) : nullptr);
      }
      if (options_.explain || (track_ != nullptr && header.labelled)) [[unlikely]]
        received_.push_back({traffic, from, place, &header, Senders(), options_.explain ? MeasuredUs(header, mine) : 0});
      arrived +=
          header.labelled ? std::min<std::size_t>(inbox.last - inbox.first, 2 * std::size_t{count} + kHeadroom) : count;
    }
    ++epoch_;
    return arrived;
  }

  /// The path with remote atomics between all communicating pairs, if atomics are allowed; else kNoPath. All devices find
  /// the same path.
  std::size_t PathOfAtomics() const {
    if (parts_ < 2 || !MayUseRemoteAtomics(traits_, options_)) return kNoPath;
    for (std::size_t path = 0; path < selector_->size(); ++path) {
      bool all = true;
      for (PartId from = 0; from < parts_; ++from) {
        for (PartId to = 0; to < parts_; ++to) {
          const bool talk = from != to && Entries(Traffic::kMessages, from, to) != 0;
          all = all && (!talk || (*selector_)[path].SupportsRemoteAtomics(from, to));
        }
      }
      if (all) return path;
    }
    return kNoPath;
  }

  /// Replaces an exchange of messages: each device's atomics write its messages into the owners' state. Returns an upper
  /// bound of arrived messages.
  std::size_t Deliver() {
    const auto talks = [&](PartId from, PartId to) {
      return from != to && sends_[from] && Entries(Traffic::kMessages, from, to) != 0;
    };
    const ExchangeHeader* mine = nullptr;
    if (sends_[rank_]) {
      ExchangeHeader& header = shared_.headers.Outgoing(static_cast<int>(rank_), epoch_);
      mine = &header;
      header.for_all = header.labelled = false;
      if (options_.explain) [[unlikely]] {
        me_.device->stream().Synchronize(wait_);
        header.begun = Clock::now();
      }
      for (PartId q = 0; q < parts_; ++q) {
        const std::size_t entries = q == rank_ ? 0 : Entries(Traffic::kMessages, rank_, q);
        const std::size_t expected = entries == 0 ? 0 : Expected(Traffic::kMessages, q, entries);
        header.expected[q] = PairBytes(expected, Payload(Traffic::kMessages));
      }
      Span span = Timed(spans::kDeliver);
      steps_.Deliver();
      span.Next(spans::kReadLengths);
      const Control& control = steps_.Read(wait_, /*clear=*/false);  // after it, the messages are there
      for (PartId q = 0; q < parts_; ++q) {
        header.count[q] = control.buffer_count[q];
        header.form[q] = Encoding::kAtomics;
        header.path[q] = static_cast<std::uint8_t>(path_of_atomics_);
        const std::size_t bytes = Bytes(Traffic::kMessages, rank_, q, header.form, header.count);
        if (header.count[q] != 0) span.Next(spans::kPost, {q, bytes, header.count[q]});  // done; for the record only
        pairs_[q].messages += header.count[q];
        pairs_[q].bytes += bytes;
      }
      last_edges_ = mine_.active_edges;
      last_sent_ = header.count;
      if (options_.explain) [[unlikely]] {
        header.posted = Clock::now();
        header.pack_us = std::chrono::duration<double, std::micro>(header.posted - header.begun).count();
      }
      for (PartId q = 0; q < parts_; ++q) {
        if (talks(rank_, q)) shared_.headers.Signal(static_cast<int>(q));
      }
    }
    {
      const Span span = Timed(spans::kMeet);
      int senders = 0;
      for (PartId q = 0; q < parts_; ++q) senders += talks(q, rank_);
      shared_.headers.Wait(static_cast<int>(rank_), senders, wait_, "all neighbours to deliver");
    }
    Span span = Timed(spans::kReceiveAll);
    std::size_t arrived = 0;
    for (PartId from = 0; from < parts_; ++from) {
      if (!talks(from, rank_)) continue;
      const ExchangeHeader& header = shared_.headers.Incoming(static_cast<int>(from), epoch_);
      if (header.count[rank_] == 0) continue;
      span.Next(spans::kReceive,
                {from, Bytes(Traffic::kMessages, from, rank_, header.form, header.count), header.count[rank_]});
      if (options_.explain) [[unlikely]]
        received_.push_back({Traffic::kMessages, from, rank_, &header, Senders(), MeasuredUs(header, mine)});
      arrived += header.count[rank_];
    }
    ++epoch_;
    return arrived;
  }

  /// Packs this device's data for others and posts it, each buffer on the path with the least expected time. Sends one
  /// broadcast if all devices listen and it is expected to be faster than separate buffers, or is the only choice.
  const ExchangeHeader& Send(Traffic traffic, bool queue_out, bool all_listen) {
    ExchangeHeader& mine = shared_.headers.Outgoing(static_cast<int>(rank_), epoch_);
    OutboxRef outbox;
    SharedPlan plan;
    plan.all = SharesAll();
    const std::size_t payload = Payload(traffic);
    const auto expect = [&](PartId to) {
      const std::size_t entries = Entries(traffic, rank_, to), expected = Expected(traffic, to, entries);
      plan.form[to] = plan.all              ? ShortestForm(entries, entries, payload)
                      : expected == entries ? Encoding::kBitmap  // perhaps all entries, perhaps fewer
                                            : ShortestForm(entries, expected, payload);
      mine.expected[to] = BufferBytes(plan.form[to], entries, expected, payload);
      mine.form[to] = plan.form[to];
      mine.count[to] = static_cast<std::uint32_t>(expected);
      return expected;
    };
    mine.count.fill(0);
    const std::uint32_t senders = Senders();
    const bool always = selector_->broadcasts() == Broadcasts::kAlways;
    std::array<PartId, kMaxDevices> receivers{};
    std::array<BufferShape, kMaxDevices> shapes{};
    std::array<Selector::Choice, kMaxDevices> choices{};
    std::size_t buffers = 0;
    for (PartId q = 0; q < parts_ && !always; ++q) {
      if (q == rank_ || Entries(traffic, rank_, q) == 0) continue;
      const std::size_t expected = expect(q);
      shapes[buffers] = Shape(traffic, q, plan.form[q], mine.expected[q], expected);
      receivers[buffers++] = q;
    }
    selector_->ChooseAll(rank_, {receivers.data(), buffers}, {shapes.data(), buffers}, senders, choices);
    double of_pairs = 0;
    for (std::size_t i = 0; i < buffers; ++i) {
      mine.path[receivers[i]] = choices[i].path;
      of_pairs = std::max(of_pairs, choices[i].us);
    }
    bool& for_all = mine.for_all = always;
    if (all_listen && Entries(traffic, rank_, rank_) != 0) {
      const std::size_t expected = expect(rank_);
      const Selector::Choice choice = selector_->ChooseBroadcast(
          rank_, Shape(traffic, rank_, plan.form[rank_], mine.expected[rank_], expected), senders);
      mine.path[rank_] = choice.path;
      for_all = always || choice.us < of_pairs;
    }
    if (for_all && Entries(traffic, rank_, rank_) == 0) return mine;
    // Without copies, no device waits for lengths: buffers contain headers.
    mine.labelled = AllInPlace(traffic, mine);
    if (for_all) {
      outbox.for_all = (*selector_)[mine.path[rank_]].BroadcastOutbox(rank_, epoch_);
      plan.union_vertices = me_.unions->vertices();
      plan.union_size = me_.unions->size();
    } else {
      for (PartId q = 0; q < parts_; ++q) {
        if (q == rank_ || Entries(traffic, rank_, q) == 0) continue;
        outbox.buffer[q] = (*selector_)[mine.path[q]].Outbox(rank_, q, epoch_);
      }
    }
    outbox.labelled = mine.labelled;
    if (options_.explain) [[unlikely]] {
      me_.device->stream().Synchronize(wait_);
      mine.begun = Clock::now();
    }
    Span span = Timed(spans::kPack);
    if (traffic == Traffic::kMessages) {
      steps_.PackMessages(outbox, queue_out, static_cast<std::size_t>(mine_.active_edges));
    } else {
      steps_.PackShared(outbox, plan);
    }
    if (mine.labelled) {
      labelled_ = &mine;
      sent_ = traffic;
    } else {
      if (options_.explain) [[unlikely]] {
        me_.device->stream().Synchronize(wait_);
        mine.pack_us = std::chrono::duration<double, std::micro>(Clock::now() - mine.begun).count();
      }
      span.Next(spans::kReadLengths);
      const Control& control = steps_.Read(wait_, /*clear=*/false);
      std::copy_n(control.buffer_count, parts_, mine.count.begin());
      for (PartId q = 0; q < parts_; ++q) mine.form[q] = static_cast<Encoding>(control.buffer_encoding[q]);
      CountSent(traffic, mine, mine.count, mine.form, control);
      if (options_.explain) [[unlikely]]
        mine.posted = Clock::now();
    }
    for (PartId q = 0; q < parts_; ++q) {
      if ((q == rank_) != for_all) continue;
      if (mine.labelled ? Entries(traffic, rank_, q) == 0 : mine.count[q] == 0) continue;
      const std::size_t bytes = mine.labelled ? Room(traffic, rank_, q) : Bytes(traffic, rank_, q, mine.form, mine.count);
      if (mine.labelled) {
        span.Next(spans::kPost, {q, kToBeTold, kToBeTold});
      } else {
        span.Next(spans::kPost, {q, bytes, mine.count[q]});
      }
      Transport& path = (*selector_)[mine.path[q]];
      if (for_all) {
        path.Broadcast(rank_, bytes, epoch_);
      } else {
        path.Post(rank_, q, bytes, epoch_);
      }
    }
    return mine;
  }

  /// Whether all receivers read these buffers where they are packed.
  bool AllInPlace(Traffic traffic, const ExchangeHeader& mine) const {
    for (PartId q = 0; q < parts_; ++q) {
      if ((q == rank_) != mine.for_all || Entries(traffic, rank_, q) == 0) continue;
      if (!(*selector_)[mine.path[q]].IsZeroCopyReceive(rank_, q)) return false;
    }
    return true;
  }

  /// Counts the entries of this device's buffers from the counters after packing.
  void CountSent(Traffic traffic, const ExchangeHeader& mine, const BufferCounts& counts, const Encodings& forms,
                 const Control& control) {
    for (PartId q = 0; q < parts_; ++q) {
      if ((q == rank_) != mine.for_all || Entries(traffic, rank_, q) == 0) continue;
      const std::size_t bytes = counts[q] == 0 ? 0 : Bytes(traffic, rank_, q, forms, counts);
      if (mine.labelled && track_ != nullptr) [[unlikely]]
        track_->Tell(spans::kPost, {q, bytes, counts[q]});
      if (counts[q] == 0) continue;
      for (PartId to = mine.for_all ? 0 : q; to < (mine.for_all ? parts_ : q + 1); ++to) {
        if (to == rank_) continue;
        // Of broadcast messages, those for this receiver.
        const std::uint64_t messages = mine.for_all && traffic == Traffic::kMessages ? control.halo_count[to] : counts[q];
        pairs_[to].messages += messages;
        if (traffic == Traffic::kShared) pairs_[to].messages_before += messages;
        pairs_[to].bytes += bytes;
      }
    }
    if (traffic == Traffic::kMessages) {
      last_edges_ = mine_.active_edges;
      last_sent_ = counts;
    }
  }

  /// Gives collective paths the byte counts of all buffers that this device sends or receives.
  template <class Talks>
  void BeginCollective(Traffic traffic, const ExchangeHeader* mine, Talks&& talks) {
    std::array<std::size_t, kMaxDevices> incoming{}, broadcast{};
    std::array<std::uint8_t, kMaxDevices> path{};
    const auto note = [&](PartId from, const ExchangeHeader& header) {
      const PartId place = header.for_all ? from : rank_;
      if (header.count[place] > 0 && !header.labelled) {  // labelled: no collective path
        (header.for_all ? broadcast : incoming)[from] = Bytes(traffic, from, place, header.form, header.count);
      }
      path[from] = header.path[place];
    };
    if (mine != nullptr && mine->for_all) note(rank_, *mine);
    for (PartId from = 0; from < parts_; ++from) {
      if (talks(from, rank_)) note(from, shared_.headers.Incoming(static_cast<int>(from), epoch_));
    }
    const std::span<const std::size_t> to_all(broadcast.data(), selector_->broadcasts() == Broadcasts::kNever ? 0 : parts_);
    selector_->BeginCollective(rank_, {incoming.data(), parts_}, to_all, {path.data(), parts_}, epoch_);
  }

  /// A received buffer, for the report after all devices agree on the round and its sender knows the contents.
  struct Received {
    Traffic traffic;
    PartId from, place;
    const ExchangeHeader* header;
    std::uint32_t senders;
    double measured_us;
  };

  /// Time of a buffer, after unpacking.
  double MeasuredUs(const ExchangeHeader& header, const ExchangeHeader* mine) {
    me_.device->stream().Synchronize(wait_);
    const auto since = [&](const ExchangeHeader& m) { return header.labelled || m.labelled ? m.begun : m.posted; };
    const Clock::time_point begin = mine == nullptr ? since(header) : std::max(since(header), since(*mine));
    const double before = header.labelled ? 0 : header.pack_us;
    return before + std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  }

  void TellReceived() {
    for (const Received& buffer : received_) {
      const ExchangeHeader& header = *buffer.header;
      const BufferCounts& counts = header.labelled ? header.packed : header.count;
      const Encodings& forms = header.labelled ? header.packed_form : header.form;
      const std::size_t count = counts[buffer.place];
      const std::size_t bytes = count == 0 ? 0 : Bytes(buffer.traffic, buffer.from, buffer.place, forms, counts);
      if (header.labelled && track_ != nullptr) {
        track_->Tell(spans::kReceive, {buffer.from, bytes, count});
        track_->Tell(spans::kUnpack, {buffer.from, count});
      }
      if (options_.explain && count != 0) Record(buffer, forms[buffer.place], count, bytes);
    }
    received_.clear();
  }

  void Record(const Received& buffer, Encoding form, std::size_t count, std::size_t bytes) {
    const ExchangeHeader& header = *buffer.header;
    BufferRecord& record = buffers_.emplace_back();
    record.round = round_.index;
    record.from = buffer.from;
    record.to = rank_;
    record.broadcast = buffer.place == buffer.from;
    record.path = selector_->path_name(header.path[buffer.place]);
    record.encoding = EncodingName(form);
    record.entries = count;
    record.bytes = bytes;
    record.expected_bytes = header.expected[buffer.place];
    const BufferShape shape = BufferShapeOf(me_.device->kind(), form, record.bytes, record.entries,
                                            Entries(buffer.traffic, buffer.from, buffer.place), Payload(buffer.traffic),
                                            buffer.traffic == Traffic::kMessages);
    const std::size_t path = header.path[buffer.place];
    std::array<std::uint8_t, kMaxDevices> beside{};  // the paths of all buffers of its sender
    std::size_t buffers = 0;
    for (PartId q = 0; q < parts_; ++q) {
      if (q != buffer.from && Entries(buffer.traffic, buffer.from, q) != 0) beside[buffers++] = header.path[q];
    }
    const Load load{.buffers = selector_->BuffersBeside(path, {beside.data(), buffers}), .senders = buffer.senders};
    record.predicted_us = record.broadcast ? selector_->PredictBroadcastUs(path, buffer.from, shape, load.senders)
                          : form == Encoding::kAtomics ? selector_->PredictAtomicsUs(path, buffer.from, rank_, shape, load)
                                                       : selector_->PredictUs(path, buffer.from, rank_, shape, load);
    record.measured_us = buffer.measured_us;
  }

  /// This device's buffer as the selector sees it.
  BufferShape Shape(Traffic traffic, PartId to, Encoding form, std::size_t bytes, std::size_t entries) const {
    return BufferShapeOf(me_.device->kind(), form, bytes, entries, Entries(traffic, rank_, to), Payload(traffic),
                         traffic == Traffic::kMessages);
  }
  /// Senders of this exchange.
  std::uint32_t Senders() const {
    return static_cast<std::uint32_t>(std::count(sends_.begin(), sends_.begin() + parts_, true));
  }
  std::size_t Payload(Traffic traffic) const {
    return traffic == Traffic::kMessages ? traits_.message_payload : traits_.shared_payload;
  }
  /// Length of a buffer with this form and count.
  std::size_t Bytes(Traffic traffic, PartId from, PartId place, const Encodings& forms, const BufferCounts& counts) const {
    return BufferBytes(forms[place], Entries(traffic, from, place), counts[place], Payload(traffic));
  }
  /// Capacity of a buffer.
  std::size_t Room(Traffic traffic, PartId from, PartId place) const {
    return BufferCapacity(Entries(traffic, from, place), Payload(traffic));
  }

  /// All devices exchange counts and aggregates, and compute the same sums in the same order. `released`: the counters add
  /// to the previous active vertices.
  void AllReduce(const Control& control, bool released = false) {
    const Summary before = std::exchange(mine_, Summary{});
    mine_.active_vertices = control.active_vertices + (released ? before.active_vertices : 0);
    mine_.active_edges = control.active_edges + (released ? before.active_edges : 0);
    mine_.edges_touched = control.edges_touched;
    mine_.pending_vertices = before.pending_vertices + control.pending_vertices;
    mine_.first_pending = control.first_pending;
    mine_.fresh_edges = control.fresh_edges;
    wanting_ += control.candidate_edges;
    mine_.candidate_edges = wanting_;
    // A measure of quiet rounds needs all devices inactive. A device without active vertices does not know about others.
    if (traits_.has_measure && !(traits_.measures_when_quiet && mine_.active_vertices > 0)) {
      const Span span = Timed(spans::kMeasure);
      steps_.MeasureInto(round_, mine_.global, wait_);
    }
    if (rank_ == 0) mine_.stop = options_.stop.stop_requested();  // one device checks, or devices could differ
    Summary total;
    program_.ResetGlobal(total.global);
    const Span span = Timed(spans::kAgree);
    const auto fold = [&](int r, const Summary& summary) {
      sends_[r] = summary.active_vertices > 0 || traits_.every_round;
      total.active_vertices += summary.active_vertices;
      total.active_edges += summary.active_edges;
      total.edges_touched += summary.edges_touched;
      total.candidate_edges += summary.candidate_edges;
      total.pending_vertices += summary.pending_vertices;
      total.first_pending = std::max(total.first_pending, summary.first_pending);
      total.fresh_edges += summary.fresh_edges;
      total.stop = total.stop || summary.stop;
      if (traits_.has_measure) program_.CombineGlobal(total.global, summary.global);
    };
    if (selector_ != nullptr && selector_->state() != nullptr) {
      // Sums words that are zero except one device's: all devices get all words.
      std::vector<std::uint64_t> words(parts_ * kRoundWords, 0);
      std::memcpy(&words[rank_ * kRoundWords], &mine_, sizeof(mine_));
      selector_->state()->Sum(rank_, words, wait_);
      for (PartId r = 0; r < parts_; ++r) {
        Summary summary;
        std::memcpy(static_cast<void*>(&summary), &words[r * kRoundWords], sizeof(summary));
        fold(static_cast<int>(r), summary);
      }
      ++agreements_;
    } else {
      shared_.summaries.Exchange(static_cast<int>(rank_), agreements_++, mine_, wait_, "all devices to end the round", fold);
    }
    if (traits_.measures_when_quiet && total.active_vertices > 0) program_.ResetGlobal(total.global);
    total_ = total;
    first_pending_ = released ? total.first_pending : std::max(first_pending_, total.first_pending);
    std::memcpy(round_.global, total.global, sizeof(round_.global));
    round_.active = total_.active_vertices;
    if (track_ != nullptr) [[unlikely]]
      track_->AddCounter(spans::kActiveVertices, Clock::now(), mine_.active_vertices);
  }

  /// The counter of bytes sent since the last call, as of `start`.
  void CountBytes(Clock::time_point start) {
    std::uint64_t sent = 0;
    for (const PairStatistics& pair : pairs_) sent += pair.bytes;
    track_->AddCounter(spans::kBytesSent, start, sent - counted_bytes_);
    counted_bytes_ = sent;
  }

  /// The first device decides, once, and sends the result.
  Next BroadcastDecision() {
    if (!traits_.has_end_round) return Next::kContinue;
    Decision decision;
    if (rank_ == 0) {
      const Span span(track_, nullptr, spans::kEndRound);
      decision.round = round_;
      decision.next = program_.EndRound(decision.round);
      if (decision.next == Next::kNextPhase && !traits_.has_is_active) {
        throw UsageError("EndRound returned kNextPhase, but the program has no IsActive to say who starts the phase");
      }
      if (decision.next == Next::kNextPhase && decision.round.phase == round_.phase) decision.round.phase += 1;
    }
    const Span span = Timed(spans::kDecide);
    shared_.decisions.Exchange(static_cast<int>(rank_), decided_++, decision, wait_, "the first device's decision",
                               [&](int r, const Decision& d) {
                                 if (r == 0) decision = d;
                               });
    std::memcpy(round_.global, decision.round.global, sizeof(round_.global));
    round_.phase = decision.round.phase;
    round_.kept = decision.round.kept;
    return decision.next;
  }

  static constexpr std::uint32_t kMaxEmptyPhases = 1u << 20;
  /// @{
  /// A push reads its frontier from a queue if less than one vertex in this many is active. It writes targets to a queue if
  /// its edges are less than one in this many. A GPU's warps idle over zero bits, but its sweeps run at memory bandwidth.
  static constexpr std::size_t kHostFrontier = 32, kGpuFrontier = 4, kHostTargets = 8, kGpuTargets = 32;
  /// @}
  /// Extra entries of a labelled buffer beyond the expected ones, for which updates get threads.
  static constexpr std::size_t kHeadroom = 8192;
  static constexpr std::size_t kNoPath = CostModel::kNoPath;

  const ErasedProgram& program_;
  const ProgramTraits& traits_;
  const std::span<const DeviceContext> participants_;
  const DeviceContext me_;
  StepSet& steps_;
  const PartId rank_, parts_;
  Selector* const selector_;
  const RunOptions& options_;
  BspShared& shared_;
  const WaitContext wait_;
  DeviceStatistics& account_;
  TraceTrack* const track_;
  DirectionChooser chooser_;
  const bool ends_unwanted_;  // only values are visible, and they change only where messages are wanted
  Buckets buckets_;
  std::vector<PairStatistics> pairs_;
  const std::size_t owned_;
  const bool on_gpu_;

  RoundState round_;
  Summary mine_, total_;
  std::array<bool, kMaxDevices> sends_{};  // at a round's begin: whether a device has active vertices
  std::int64_t wanting_ = 0;
  std::uint64_t first_pending_ = 0;  // PriorityKey of none later than the first pending vertex
  Form form_ = Form::kBitmap;
  std::size_t frontier_count_ = 0;
  bool queues_ = false;  // all devices' frontiers are queues since the last round
  std::size_t path_of_atomics_ = kNoPath;
  std::uint64_t last_edges_ = 0;        // of the last pushed frontier
  BufferCounts last_sent_{};            // messages from it
  ExchangeHeader* labelled_ = nullptr;  // header of this round's sent buffers, if their counts are still unread
  Traffic sent_ = Traffic::kMessages;
  std::vector<Received> received_;
  std::vector<BufferRecord> buffers_;
  bool changed_only_ = false;  // halos hold all shared values of the last round except changed ones
  bool initialised_ = false;
  Ended ended_ = Ended::kFailed;
  std::uint64_t epoch_ = 0, agreements_ = 0, decided_ = 0;
  std::uint64_t edges_touched_ = 0, vertices_updated_ = 0, counted_bytes_ = 0;
  std::uint32_t push_rounds_ = 0, pull_rounds_ = 0, phases_ = 1, empty_phases_ = 0;
};

}  // namespace

void RunBsp(const ErasedProgram& program, std::span<const DeviceContext> participants, Selector* paths,
            BuiltDirections built, const BucketPlan& buckets, const RunOptions& options, RunRecord* record) {
  BspShared shared(static_cast<int>(participants.size()));
  const auto reports = DriveDevices(
      "bsp", participants, paths, options, shared, record, [&](PartId rank, DeviceStatistics& account, TraceTrack* track) {
        return BspRun(program, participants, rank, paths, built, buckets, options, shared, account, track);
      });
  RunStatistics& statistics = record->statistics;
  // In a failed run, some devices may miss a round's end that others saw.
  const auto last = std::max_element(reports.begin(), reports.end(), [](const BspReport& a, const BspReport& b) {
    return std::pair(a.round.index, a.phases) < std::pair(b.round.index, b.phases);
  });
  record->round = last->round;
  statistics.rounds = last->round.index;
  statistics.phases = last->phases;
  statistics.push_rounds = last->push_rounds;
  statistics.pull_rounds = last->pull_rounds;
  statistics.gauss_seidel_rounds = last->round.fresh ? last->pull_rounds : 0;
  statistics.edges_touched = last->edges_touched;
  statistics.vertices_updated = last->vertices_updated;
  for (const BspReport& report : reports) record->initialised = record->initialised || report.initialised;
  shared.abort.RethrowFirst();
  statistics.ended = last->ended;
  statistics.converged = statistics.ended == Ended::kConverged;
}

}  // namespace chatty
