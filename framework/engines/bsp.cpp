// The algorithm, on each device's thread (bulk-synchronous parallel: Valiant, CACM 33, 1990; Pregel, SIGMOD 2010):
//
//   Init: the first values and the first frontier
//   until no vertex is active on any device:
//     choose push or pull, by the edges that each would read (Beamer, SC 2012)
//     push: Advance from the frontier into inboxes; exchange messages from halo copies to their owners
//     pull: Publish the frontier's values; exchange values from owners to halos; Gather into candidates
//     Apply messages: changed vertices are the next frontier
//     all-reduce of the counters: all devices get the same sums, and so choose the same
//
// With buckets, a changed vertex beyond the limit of the priorities waits as pending; Raise moves the limit on
// (delta-stepping: Meyer and Sanders, 2003). HaloExchange moves the data of a round, Agreement makes the sums and decisions.

#include "chatty/framework/engines/bsp.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "chatty/framework/buckets.h"
#include "chatty/framework/direction.h"
#include "chatty/framework/engines/agreement.h"
#include "chatty/framework/engines/drive.h"
#include "chatty/framework/engines/halo_exchange.h"
#include "chatty/framework/engines/message_log.h"
#include "chatty/framework/frontier_policy.h"
#include "chatty/framework/spans.h"

namespace chatty {
namespace {

/// A device's report.
struct BspReport : DeviceReport {
  Ended ended = Ended::kFailed;
  std::uint32_t push_rounds = 0, pull_rounds = 0, wide_rounds = 0, phases = 1;
};

class BspRun {
 public:
  explicit BspRun(const DeviceRun& run)
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
        frontier_(run.plan.frontier),
        chooser_({run.plan.directions.push, run.plan.directions.pull, traits_.first_suffices, traits_.every_round,
                  run.plan.buckets.width < kInfinity<double>, run.options.direction, frontier_.push_cost}),
        asynchronous_(run.plan.engine == EngineKind::kAsync),
        skips_last_round_(traits_.has_filter && run.plan.directions.pull && !traits_.every_round && !traits_.has_measure &&
                          !traits_.has_end_round && !traits_.orders),
        buckets_(run.plan.buckets),
        log_(run),
        exchange_(run, log_),
        agreement_(run) {}

  void Run() {
    round_.vertices = run_.me.graph->ref().vertices;
    round_.gauss_seidel = parts_ == 1 && options_.direction != Direction::kPush && steps_.AllowsGaussSeidel();
    const bool is_anew = run_.rounds_team != nullptr && run_.rounds_team->epoch(rank_) == 0;
    if (is_anew) steps_.fused()->Forget();
    program_.ResetGlobal(round_.global);
    Span phase(track_, nullptr, spans::kPhase);
    if (!RunWide(/*begins=*/true)) {
      {
        const Span span = Timed(spans::kInit, {owned_});
        steps_.SetAsynchronous(false);
        if (asynchronous_) RunLaterRoundsAsynchronously();
        steps_.ClearControl();
        steps_.SetLimit(buckets_.limit());
        steps_.Init(run_.me.input, round_);
      }
      BeginPhase();
    }
    // EndRound decides after each round; before the first one only if no vertex is active.
    for (bool ask = IsTerminated();; ask = true) {
      if (ask) {
        const Next next = agreement_.Decide(round_);
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
      if (RunFused() || RunWide(/*begins=*/false)) continue;
      Step();
      if (buckets_.on()) Raise();
    }
    ended_ = Ended::kConverged;
  }

  /// After a run or a failure.
  BspReport TakeReport() noexcept {
    BspReport report;
    report.round = round_;
    report.initialised = initialised_;
    report.edges_touched = edges_touched_;
    report.vertices_updated = vertices_updated_;
    report.items = items_;
    log_.MoveInto(report);
    report.ended = ended_;
    report.push_rounds = push_rounds_;
    report.pull_rounds = pull_rounds_;
    report.fused_steps = fused_steps_;
    report.wide_rounds = wide_rounds_;
    report.phases = phases_;
    return report;
  }

 private:
  Span Timed(const SpanKind& kind, const SpanArguments& arguments = {}) const { return run_.Timed(kind, arguments); }

  /// Whether no vertex is active or pending on any device, of a program whose vertices are not all active in every round. A
  /// stopped fused run may leave pending vertices only.
  bool IsTerminated() const { return total_.active_vertices == 0 && total_.pending_vertices == 0 && !traits_.every_round; }

  /// Reads the counters after Init or Activate. The frontier is a bitmap, or all vertices; candidate edges are counted from
  /// zero.
  void BeginPhase() {
    const Control* control;
    {
      const Span span = Timed(spans::kReadCounters);
      control = &steps_.Read(wait_, /*clear=*/true);
    }
    candidate_edges_ = 0;
    is_first_frontier_ = true;
    form_ = traits_.every_round ? Form::kAll : Form::kBitmap;
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
    items_ += traits_.every_round ? round_.vertices : before.active_vertices;
    if (skips_last_round_ && before.candidate_edges == 0) return SkipLastRound(pull);
    if (pull) {
      Pull();
    } else {
      Push();
    }
    is_first_frontier_ = false;
    const Control* control;
    {
      const Span span = Timed(spans::kReadCounters);
      control = &steps_.Read(wait_, /*clear=*/true);
      if (form_ == Form::kQueue) {
        steps_.SwapFrontier();
        frontier_count_ = control->next_count;
      }
    }
    exchange_.CountBuffersWithHeaders(*control);
    log_.CountRaw(*control);
    AllReduce(*control);
    log_.ReportReceived(round_.index);
    ++(pull ? pull_rounds_ : push_rounds_);
    edges_touched_ += total_.edges_touched;
    vertices_updated_ += total_.active_vertices;
    if (rank_ == 0 && options_.on_round) [[unlikely]]
      options_.on_round({round_.index + 1, round_.active, program_.ChangeOf(round_)});
    if (pull) chooser_.Learn(AheadOf(before), round_.vertices, total_.edges_touched);
    changed_only_ = pull;
    round_.index += 1;
    if (track_ != nullptr) [[unlikely]]
      log_.CountBytes(round.part_start());
  }

  /// No vertex takes messages, as all devices know from the sums: counts the last round without making it.
  void SkipLastRound(bool pull) {
    ++(pull ? pull_rounds_ : push_rounds_);
    round_.index += 1;
    round_.active = 0;
    total_ = mine_ = Summary{};
  }

  /// Between two rounds with few active vertices: activates pending vertices, bucket by bucket.
  void Raise() {
    buckets_.Record(total_.active_edges, total_.first_edges);
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
      buckets_.RecordReleased(total_.active_edges - before.active_edges, total_.first_edges);
      vertices_updated_ += total_.active_vertices - before.active_vertices;
    }
  }

  static Ahead AheadOf(const Summary& summary) { return {summary.active_edges, summary.candidate_edges}; }

  /// Lets the fused engine continue, of this device or of all together, if the plan has one and rounds have been narrow for
  /// long enough.
  bool RunFused() {
    if (run_.plan.fused == FusedUse::kNone) return false;
    FusedEngine* const engine = steps_.fused();
    if (!FusedTermsMet(engine->terms())) return false;
    FusedRun job = HandOver();
    const std::uint64_t active = total_.active_vertices;
    const bool together = run_.rounds_team != nullptr;
    TeamShare share;
    if (together) Join(job, share);
    {
      const Span span = Timed(spans::kAdvance, {total_.active_vertices, total_.active_edges});
      try {
        if (!engine->Run(job, wait_)) return false;
      } catch (const TimeoutError& error) {
        if (run_.rounds_team == nullptr) throw;
        Throw<TimeoutError>("{}; {}", error.what(), run_.rounds_team->DescribeWait(rank_));
      }
      steps_.FusedHasRun();
    }
    narrow_rounds_ = 0;
    TakeBack(job, together);
    if (job.mixed) RunLaterRoundsAsynchronously();
    if (together) Leave(job);
    if (traits_.has_measure || together) TakeSums();
    CountItems(job, active);
    if (rank_ == 0 && options_.on_round && job.push_rounds + job.pull_rounds > 0)
      options_.on_round({round_.index, total_.active_vertices, program_.ChangeOf(round_)});
    return true;
  }

  /// Counts the next round among narrow ones, or none. Returns whether there are enough for the fused engine's terms.
  bool FusedTermsMet(const FusedTerms& terms) {
    narrow_rounds_ = total_.active_edges < terms.narrow_edges ? narrow_rounds_ + 1 : 0;
    return asynchronous_ || run_.plan.fused_at_once || terms.narrow_rounds == 0 || narrow_rounds_ > terms.narrow_rounds;
  }

  /// What a job refers to where all devices make rounds together.
  struct TeamShare {
    fused::RoundsTeamRef team;
    std::vector<fused::TeamTraffic> traffic;
  };
  /// The job becomes one of all devices. `share` must outlive it.
  void Join(FusedRun& job, TeamShare& share) const {
    share.team = run_.rounds_team->ref(rank_);
    share.traffic.resize(parts_);
    job.rounds_team = &share.team;
    job.sharing = run_.rounds_team->SharingWith(rank_);
    job.epoch = run_.rounds_team->epoch(rank_);
    job.traffic = share.traffic;
    job.own_active_vertices = mine_.active_vertices;
    job.own_active_edges = mine_.active_edges;
    if (run_.wide_team != nullptr) job.halo_bits = run_.wide_team->peers(rank_);
  }
  /// After the job. Counts what this device's kernel has sent to each other device.
  void Leave(const FusedRun& job) {
    run_.rounds_team->SetEpoch(rank_, job.epoch);
    for (PartId q = 0; q < parts_; ++q) {
      if (q == rank_) continue;
      const fused::TeamTraffic& sent = job.traffic[q];
      log_.CountSent(q, sent.messages, sent.before, sent.bytes);
    }
  }

  /// Lets the device make rounds without the host, from the first values on if the run begins, until the fused engine should
  /// have the run or no vertex is active.
  bool RunWide(bool begins) {
    FusedEngine* const engine = run_.plan.rows.wide_rounds && !mixed_ ? steps_.wide_rounds() : nullptr;
    const bool together = parts_ > 1;  // then all devices do the same, and each of them sees a stop at another time
    if (engine == nullptr || (!together && options_.stop.stop_requested())) return false;
    FusedRun job = HandOver();
    const std::uint64_t active = total_.active_vertices;
    TeamShare share;
    if (together) Join(job, share);
    job.begins = begins;
    job.input = run_.me.input;
    job.skips_last_round = skips_last_round_;
    if (run_.plan.fused != FusedUse::kNone) {
      job.hand_over = steps_.fused()->terms();
      // RunFused has counted the next round already. If it has declined one that is narrow enough, the host makes it.
      if (narrow_rounds_ > job.hand_over.narrow_rounds) return false;
      if (job.narrow_rounds > 0) --job.narrow_rounds;
    }
    if (begins) {
      steps_.SetAsynchronous(false);
      steps_.ClearControl();
    } else {
      steps_.RefreshCandidates();
    }
    try {
      if (!engine->Run(job, wait_)) return false;
    } catch (const TimeoutError& error) {
      initialised_ = initialised_ || !job.begins;
      if (!together) throw;
      Throw<TimeoutError>("{}; {}", error.what(), run_.rounds_team->DescribeWideWait(rank_));
    } catch (...) {
      initialised_ = initialised_ || !job.begins;
      throw;
    }
    steps_.FusedHasRun();
    initialised_ = true;
    wide_rounds_ += job.push_rounds + job.pull_rounds;
    narrow_rounds_ = job.narrow_rounds;
    TakeBack(job, together);
    if (together) {
      Leave(job);
      TakeSums();
    }
    CountItems(job, begins ? job.first_active : active);
    return true;
  }

  /// Counts the items of an engine's job, at whose begin `active` vertices were active. An engine of rounds has followed
  /// these and all that it has updated, but for those that are active now.
  void CountItems(const FusedRun& job, std::uint64_t active) {
    items_ += job.items ? *job.items : active + job.vertices_updated - total_.active_vertices;
  }

  /// The run, as it is handed over to an engine.
  FusedRun HandOver() const {
    FusedRun job;
    if (options_.max_rounds != 0) job.max_rounds = options_.max_rounds - round_.index;
    job.stop = &options_.stop;
    job.track = track_;
    job.narrow_rounds = narrow_rounds_;
    job.any_order = run_.plan.rows.fuses;
    job.list_items = run_.plan.rows.list_items;
    job.asynchronous = asynchronous_;
    job.round = round_;
    job.form = form_;
    job.count = frontier_count_;
    job.buckets = buckets_;
    job.chooser = chooser_;
    job.active_vertices = total_.active_vertices;
    job.ahead = AheadOf(total_);
    job.first_pending = first_pending_;
    job.pending_vertices = total_.pending_vertices;
    return job;
  }

  /// Takes the run back from an engine. `together`: the engine's `candidate_edges` is this device's change, and an
  /// all-reduce follows.
  void TakeBack(const FusedRun& job, bool together) {
    form_ = Form::kBitmap;
    is_first_frontier_ = false;
    round_ = job.round;
    buckets_ = job.buckets;
    chooser_ = job.chooser;
    candidate_edges_ = job.ahead.candidate_edges + (together ? candidate_edges_ : 0);
    mine_ = Summary{};
    mine_.active_vertices = job.active_vertices;
    mine_.active_edges = job.ahead.active_edges;
    mine_.candidate_edges = candidate_edges_;
    mine_.pending_vertices = job.pending_vertices;
    mine_.stop = !together && job.stop->stop_requested();
    total_ = mine_;
    first_pending_ = job.first_pending;
    edges_touched_ += job.edges_touched;
    vertices_updated_ += job.vertices_updated;
    push_rounds_ += job.push_rounds;
    pull_rounds_ += job.pull_rounds;
    fused_steps_ += job.steps;
  }

  /// From now on, active vertices are of several rounds: messages come from values, every message may improve a value, and
  /// a pull could not end at the first active source.
  void RunLaterRoundsAsynchronously() {
    mixed_ = true;
    steps_.SetAsynchronous(true);
    chooser_.OnlyPush();
    skips_last_round_ = false;
  }

  void Push() {
    bool queue_out;
    {
      const bool convert = form_ == Form::kBitmap && PushesQueue(frontier_, mine_.active_vertices, owned_);
      Span span = Timed(convert ? spans::kConvertFrontier : spans::kAdvance, {mine_.active_vertices, mine_.active_edges});
      if (convert) {
        if (!is_first_frontier_ || mine_.active_vertices > 1) {
          steps_.BitmapToQueue();
          steps_.SwapFrontier();
          steps_.ClearControl();  // its queue is now the frontier; Apply starts another
        }
        form_ = Form::kQueue;
        frontier_count_ = static_cast<std::size_t>(mine_.active_vertices);
        span.Next(spans::kAdvance, {mine_.active_vertices, mine_.active_edges});
      }
      queue_out = !traits_.every_round && QueuesTargets(frontier_, total_.active_edges, round_.vertices);
      const std::size_t count = form_ == Form::kQueue ? frontier_count_ : owned_;
      if (count > 0) steps_.Advance(round_, form_, count, mine_.active_edges, queue_out);
    }
    std::size_t touched = static_cast<std::size_t>(std::min<std::uint64_t>(owned_, mine_.active_edges));
    if (parts_ > 1) touched += exchange_.Exchange(Traffic::kMessages, ThisRound(), queue_out);
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
      exchange_.Exchange(Traffic::kShared, ThisRound(), /*queue_out=*/false);
    }
    Span span = Timed(traits_.collects ? spans::kCollect : spans::kGather,
                      {static_cast<std::uint64_t>(std::max<std::int64_t>(mine_.candidate_edges, 0))});
    if (traits_.collects) {
      steps_.Collect(round_, traits_.every_round);
    } else if (steps_.HasPullRound()) {
      span.Next(spans::kApply, {owned_});
      steps_.PullRound(round_);
    } else {
      steps_.Gather(round_, traits_.every_round);
      span.Next(spans::kApply, {owned_});
      steps_.Apply(round_, form_, owned_);
    }
  }

  ExchangeRound ThisRound() const {
    return {mine_.active_vertices, mine_.active_edges, agreement_.senders(), changed_only_};
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
    mine_.first_edges = control.first_edges;
    candidate_edges_ += control.candidate_edges;
    mine_.candidate_edges = candidate_edges_;
    TakeSums();
    first_pending_ = released ? total_.first_pending : std::max(first_pending_, total_.first_pending);
    if (track_ != nullptr) [[unlikely]]
      track_->AddCounter(spans::kActiveVertices, Clock::now(), mine_.active_vertices);
  }

  /// Completes this device's counters, and takes the sums over all devices, with the program's aggregate.
  void TakeSums() {
    agreement_.Measure(round_, mine_);
    total_ = agreement_.AllReduce(mine_);
    std::memcpy(round_.global, total_.global, sizeof(round_.global));
    round_.active = total_.active_vertices;
  }

  static constexpr std::uint32_t kMaxEmptyPhases = 1u << 20;

  const DeviceRun& run_;
  const ErasedProgram& program_;
  const ProgramTraits& traits_;
  StepSet& steps_;
  const RunOptions& options_;
  const WaitContext& wait_;
  TraceTrack* const track_;
  const PartId rank_, parts_;
  const std::size_t owned_;
  const FrontierPolicy& frontier_;
  DirectionChooser chooser_;
  const bool asynchronous_;  // no rounds: the fused engine runs whenever it can
  bool skips_last_round_;    // only values are visible, and they change only where messages are wanted
  Buckets buckets_;
  MessageLog log_;
  HaloExchange exchange_;
  Agreement agreement_;

  RoundState round_;
  Summary mine_, total_;
  std::int64_t candidate_edges_ = 0;
  std::uint64_t first_pending_ = 0;  // PriorityKey of none later than the first pending vertex
  Form form_ = Form::kBitmap;
  bool is_first_frontier_ = true;  // of a phase: see StepSet::Activate
  std::size_t frontier_count_ = 0;
  bool changed_only_ = false;  // halos hold all shared values of the last round except changed ones
  bool initialised_ = false;
  bool mixed_ = false;  // see RunLaterRoundsAsynchronously
  Ended ended_ = Ended::kFailed;
  std::uint64_t edges_touched_ = 0, vertices_updated_ = 0, items_ = 0;
  std::uint32_t push_rounds_ = 0, pull_rounds_ = 0, phases_ = 1, empty_phases_ = 0;
  std::uint32_t fused_steps_ = 0, wide_rounds_ = 0;
  std::uint32_t narrow_rounds_ = 0;  // in a row, this one included
};

}  // namespace

void RunBsp(const EngineRun& run, RunRecord* record) {
  const auto reports = DriveDevices(EngineName(run.plan.engine), run, run.control, record,
                                    [](const DeviceRun& device) { return BspRun(device); });
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
  statistics.gauss_seidel_rounds = last->round.gauss_seidel ? last->pull_rounds : 0;
  statistics.fused_steps = last->fused_steps;
  statistics.wide_rounds = last->wide_rounds;
  statistics.edges_touched = last->edges_touched;
  statistics.vertices_updated = last->vertices_updated;
  statistics.items = last->items;
  for (const BspReport& report : reports) record->initialised = record->initialised || report.initialised;
  run.control.RethrowFirst();
  statistics.ended = last->ended;
  statistics.converged = statistics.ended == Ended::kConverged;
}

}  // namespace chatty
