#include "chatty/framework/engines/agreement.h"

#include <algorithm>
#include <cstring>

#include "chatty/core/error.h"
#include "chatty/framework/spans.h"

namespace chatty {
namespace {

/// The first device's decision for all.
struct Decision {
  Next next = Next::kContinue;
  RoundState round;
};

}  // namespace

void Agreement::Measure(const RoundState& round, Summary& mine) const {
  // A measure of quiet rounds needs all devices inactive. A device without active vertices does not know about others.
  if (traits_.has_measure && !(traits_.measures_when_quiet && mine.active_vertices > 0)) {
    const Span span = run_.Timed(spans::kMeasure);
    run_.me.steps->MeasureInto(round, mine.global, run_.control.wait());
  }
  if (run_.rank == 0) mine.stop = run_.options.stop.stop_requested();  // one device checks, or devices could differ
}

Summary Agreement::AllReduce(const Summary& mine) {
  Summary total;
  run_.program.ResetGlobal(total.global);
  const Span span = run_.Timed(spans::kAllReduce);
  run_.control.AllReduce(mine, "all devices to end the round", [&](PartId r, const Summary& summary) {
    senders_[r] = summary.active_vertices > 0 || traits_.every_round;
    total.active_vertices += summary.active_vertices;
    total.active_edges += summary.active_edges;
    total.edges_touched += summary.edges_touched;
    total.candidate_edges += summary.candidate_edges;
    total.pending_vertices += summary.pending_vertices;
    total.first_pending = std::max(total.first_pending, summary.first_pending);
    total.first_edges += summary.first_edges;
    total.stop = total.stop || summary.stop;
    if (traits_.has_measure) run_.program.CombineGlobal(total.global, summary.global);
  });
  if (traits_.measures_when_quiet && total.active_vertices > 0) run_.program.ResetGlobal(total.global);
  return total;
}

Next Agreement::Decide(RoundState& round) const {
  if (!traits_.has_end_round || (traits_.continues_while_active && round.active > 0)) return Next::kContinue;
  Decision decision;
  if (run_.rank == 0) {
    const Span span(run_.track, nullptr, spans::kEndRound);
    decision.round = round;
    decision.next = run_.program.EndRound(decision.round);
    if (decision.next == Next::kNextPhase && !traits_.has_is_active) {
      throw UsageError("EndRound returned kNextPhase, but the program has no IsActive to say who starts the phase");
    }
    if (decision.next == Next::kNextPhase && decision.round.phase == round.phase) decision.round.phase += 1;
  }
  const Span span = run_.Timed(spans::kBroadcastDecision);
  run_.control.Broadcast(decision, "the first device's decision");
  std::memcpy(round.global, decision.round.global, sizeof(round.global));
  round.phase = decision.round.phase;
  round.kept = decision.round.kept;
  return decision.next;
}

}  // namespace chatty
