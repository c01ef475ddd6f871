/// \file
/// Fused runs on CPU threads that have the whole graph, or a part of it together with other devices: rounds within one job
/// of the team, in buckets or by levels, and label correcting while frontiers are narrow.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "chatty/framework/fused/fused_engine.h"
#include "chatty/framework/fused/host/buckets.h"
#include "chatty/framework/fused/host/levels.h"
#include "chatty/framework/fused/host/relax.h"
#include "chatty/framework/fused/host/relax_team.h"
#include "chatty/framework/program_state.h"

namespace chatty::fused::host {

/// Whether P's rounds may be parts of one job.
template <class P>
inline constexpr bool kHasRounds = kRunsBuckets<P> || kRunsInPlace<P>;
/// Whether there is an engine for P.
template <class P>
inline constexpr bool kFuses = kHasRounds<P> || kRelaxes<P>;

/// Runs P on one host device. The device and the state must outlive it.
template <class P>
class Engine final : public FusedEngine {
 public:
  Engine(Device& device, const ProgramState<P>& state) : device_(device), state_(state) {}

  FusedTerms terms() const override {
    FusedTerms terms;
    terms.narrow_edges = kHostRelaxPolicy.narrow_edges;
    if (!kHasRounds<P>) terms.narrow_rounds = kHostRelaxPolicy.narrow_rounds;
    return terms;
  }
  bool Run(FusedRun& run, [[maybe_unused]] const WaitContext& context) override {
    const RelaxTerms relaxes = TermsOf(run);
    if (run.team != nullptr) {
      if constexpr (kRelaxesTogether<P>) {
        if (!(relaxes.width > 0)) return false;
        RunTogether(run, relaxes, context);
        return true;
      }
      return false;
    }
    bool narrow = run.narrow_rounds > kHostRelaxPolicy.narrow_rounds, any = false;
    if (run.asynchronous) narrow = run.ahead.active_edges < kHostRelaxPolicy.narrow_edges || !kHasRounds<P>;
    do {
      if (narrow && relaxes.width > 0) {
        if constexpr (kRelaxes<P>) {
          const StateRef<P>& s = state_.ref();
          RelaxShared<ItemOf<P>> shared(device_.team()->size());
          RunJob(s.graph.owned + s.graph.forward.offsets[s.graph.owned], run,
                 [&](Group& g) { return Relax(g, s, shared, relaxes, run); });
        }
        narrow = false;
      } else {
        if (!RunRounds(run, relaxes.width > 0)) break;
        narrow = true;
      }
      any = true;
    } while (IsUnfinished(run));
    leaves_inboxes_empty_ = any && !IsUnfinished(run);  // else separate steps go on
    return any;
  }
  /// Whether a run has ended since the last call. Runs leave inboxes as they were, and those of a device that has the whole
  /// graph were empty.
  bool TakeInboxesEmpty() { return std::exchange(leaves_inboxes_empty_, false); }

 private:
  /// The width of a bucket shrinks to one part in so many.
  static constexpr double kShrinks = 16;
  /// Work items below which a second thread costs more than it brings, and a count that is surely above.
  static constexpr std::size_t kSmall = 4096;
  static constexpr std::size_t kParallel = ~std::size_t{0};

  static bool IsUnfinished(const FusedRun& run) {
    return (run.active_vertices > 0 || run.pending_vertices > 0) && !run.stop->stop_requested() &&
           run.push_rounds + run.pull_rounds < run.max_rounds;
  }

  /// The steps of label correcting; of no width where it does not suit the run.
  RelaxTerms TermsOf(const FusedRun& run) const {
    RelaxTerms terms;
    if constexpr (kRelaxes<P>) {
      const P& program = state_.ref().program;
      const bool rounds_asked = !run.any_order || run.max_rounds != FusedRun::kAllRounds;
      if (rounds_asked || ReadsRound(program) || CarriesValues(program)) return terms;
      terms.stores = UpdatesNatively(program);
      if (run.list_items != 0) terms.queue = run.list_items;
      if (!run.asynchronous || kHasRounds<P>) {
        if constexpr (Traits<P>::kOrders) {  // the more threads, the more items a step should have
          const double items = 4.0 * detail::kHostWidths.few * device_.team()->size();
          terms.wide = run.list_items != 0 ? run.list_items : std::max<double>(kHostRelaxPolicy.wide_step, items);
        } else {
          terms.wide = run.list_items != 0 ? run.list_items / kHostRelaxPolicy.hops : kHostRelaxPolicy.wide;
        }
      }
      if constexpr (Traits<P>::kOrders) {
        const BucketPlan& plan = run.buckets.plan();
        if (!(plan.fused_width < kInfinity<double>)) return terms;
        terms.width = terms.least = terms.most = plan.fused_width;
        if (plan.fused_adapts) {
          // Rounds have found a width that suits the density of priorities here.
          if (run.buckets.on()) terms.width = std::min(terms.width, run.buckets.width());
          terms.least = terms.width / kShrinks;
          terms.most = plan.fused_max_width;
        }
      } else {
        terms.width = kHostRelaxPolicy.hops;
        terms.least = 1;
        terms.most = kHostRelaxPolicy.max_hops;
      }
    }
    return terms;
  }

  /// Rounds as one job, until frontiers have been narrow for long if the run then `relaxes`. Returns false without any work
  /// if the rounds of separate steps suit it better.
  bool RunRounds(FusedRun& run, bool relaxes) {
    if (run.form != Form::kBitmap) return false;
    const StateRef<P>& s = state_.ref();
    WorkerTeam& team = *device_.team();
    if constexpr (kRunsBuckets<P>) {
      if (!run.buckets.on() || run.chooser.UsePull(run.ahead, run.round.vertices)) return false;
      BucketsShared shared(team.size());
      RunJob(kParallel, run, [&](Group& g) { return RunBuckets(g, s, shared, relaxes, run); });
      return true;
    } else if constexpr (kRunsInPlace<P>) {
      if (kTakesFirstInRow<P> && s.graph.global_ids != nullptr) return false;  // rows are in another order
      const LocalId owned = s.graph.owned;
      InPlaceShared shared(team.size(), owned);
      RunJob(owned + s.graph.forward.offsets[owned], run, [&](Group& g) { return RunInPlace(g, s, shared, relaxes, run); });
      return true;
    } else {
      return false;
    }
  }

  /// This device's share of a run of all devices of a team.
  void RunTogether(FusedRun& run, const RelaxTerms& relaxes, const WaitContext& context) try {
    const StateRef<P>& s = state_.ref();
    RelaxShared<ItemOf<P>> shared(device_.team()->size());
    TeamShared together;
    RunJob(s.graph.owned + s.graph.forward.offsets[s.graph.owned], run,
           [&](Group& g) { return RelaxTogether(g, s, shared, together, relaxes, run, context); });
  } catch (const AbortedError&) {
    if (context.abort != nullptr) ThrowAborted(context, "the other devices");
    throw;
  } catch (const TimeoutError& error) {
    Throw<TimeoutError>("{}: {}", device_.label(), error.what());
  }

  /// The members return equal results; the first one's becomes `run`.
  template <class Body>
  void RunJob(std::size_t work, FusedRun& run, Body&& body) {
    WorkerTeam& team = *device_.team();
    Cursors cursors;
    FusedRun after;
    team.Run(work < kSmall ? 1 : team.size(), [&](TeamMember& member) {
      Group group(member, cursors, 0);
      const FusedRun mine = body(group);
      if (group.rank() == 0) after = mine;
    });
    run = after;
  }

  Device& device_;
  const ProgramState<P>& state_;
  bool leaves_inboxes_empty_ = false;
};

}  // namespace chatty::fused::host
