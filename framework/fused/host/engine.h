/// \file
/// Fused runs on CPU threads that have the whole graph: one job of the team, in buckets or by levels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "chatty/framework/fused/fused_engine.h"
#include "chatty/framework/fused/host/buckets.h"
#include "chatty/framework/fused/host/levels.h"
#include "chatty/framework/program_state.h"

namespace chatty::fused::host {

/// Whether there is an engine for P.
template <class P>
inline constexpr bool kFuses = kUpdatesAtOnce<P> || kRunsInPlace<P>;

/// Runs P on one host device. The device and the state must outlive it.
template <class P>
class Engine final : public FusedEngine {
 public:
  Engine(Device& device, const ProgramState<P>& state) : device_(device), state_(state) {}

  bool Run(FusedRun& run, const WaitContext&) override {
    if (run.form != Form::kBitmap) return false;
    const StateRef<P>& s = state_.ref();
    WorkerTeam& team = *device_.team();
    if constexpr (kUpdatesAtOnce<P>) {
      if (!run.buckets.on() || run.chooser.UsePull(run.ahead, run.round.vertices)) return false;
      BucketBoard board(team.size());
      RunJob(kParallel, run, [&](Group& g) { return RunBuckets(g, s, board, run); });
    } else {
      if (kTakesFirstInRow<P> && s.graph.global_ids != nullptr) return false;  // rows are in another order
      const LocalId owned = s.graph.owned;
      InPlaceShared board(team.size(), owned);
      RunJob(owned + s.graph.forward.offsets[owned], run, [&](Group& g) { return RunInPlace(g, s, board, run); });
    }
    leaves_inboxes_empty_ = true;
    return true;
  }
  /// Whether a run has ended since the last call. Runs leave inboxes as they were, and those of a device that has the whole
  /// graph were empty.
  bool TakeInboxesEmpty() { return std::exchange(leaves_inboxes_empty_, false); }

 private:
  /// Work items below which a second thread costs more than it brings, and a count that is surely above.
  static constexpr std::size_t kSmall = 4096;
  static constexpr std::size_t kParallel = ~std::size_t{0};

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
