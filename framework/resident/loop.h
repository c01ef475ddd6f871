/// \file
/// A whole traversal without a coordinator: one loop that every thread of a group runs from InitVertex to the last round.
/// The group is a GPU's grid inside one resident kernel (the CPU-Free model's and Groute's fused worker's shape), a single
/// block, or a host's worker team. It calls the very steps that the host-driven engine launches one by one.
#pragma once

#include <cstdint>

#include "chatty/framework/direction.h"
#include "chatty/framework/state.h"

namespace chatty::resident {

/// How a resident run ended; written by one thread.
struct Outcome {
  std::uint32_t rounds = 0, push_rounds = 0, pull_rounds = 0;
  std::uint64_t edges_touched = 0;
};

/// Runs P on one device until nothing is active. `controls` are two zeroed Controls, used in turn: while one counts a round,
/// the other is cleared for the next, which saves a barrier a round. P is on-message and has no Measure or EndRound.
#if CHATTY_CUDA_COMPILER
#pragma nv_exec_check_disable
#endif
template <class P, class Group>
CHATTY_HD void Loop(Group& group, StateRef<P> s, Control* controls, Outcome* outcome) {
  RoundOf<P> round;
  round.vertices = s.graph.vertices;
  const auto use = [&](std::uint32_t which) { s.control = controls + (which & 1); };
  const auto swap_queues = [&] {
    LocalId* const queue = s.frontier;
    s.frontier = s.next;
    s.next = queue;
  };

  use(0);
  Init(group, s, static_cast<const PriorOf<P>*>(nullptr));
  group.sync();
  Activate(group, s, round);
  group.sync();
  Form form = Form::kBitmap;
  std::uint64_t vertices = s.control->active_vertices, edges = s.control->active_edges;
  std::int64_t wanting = s.control->candidate_edges;
  std::size_t count = s.graph.owned;
  Outcome mine;

  while (vertices > 0) {
    // All threads take the same turns: they read the same counters, after a barrier.
    const bool pull = PullLooks(Traits<P>::kFirstSuffices, static_cast<double>(wanting), static_cast<double>(edges),
                                static_cast<double>(s.graph.vertices)) < kPushCost * static_cast<double>(edges);
    if (pull && form == Form::kQueue) {
      ClearActive(group, s, false);
      group.sync();
      QueueToBitmap(group, s, count);
      form = Form::kBitmap;
    } else if (!pull && form == Form::kBitmap && vertices < s.graph.owned / 32) {
      group.sync();
      if (IsFirst(group)) s.control->next_count = 0;
      group.sync();
      BitmapToQueue(group, s);
      swap_queues();
      form = Form::kQueue;
      count = vertices;
    }
    group.sync();  // everybody has read the last round's counters
    if (IsFirst(group)) *s.control = Control{};
    use(mine.rounds + 1);
    const bool queue_out = !pull && edges < s.graph.owned / 8;
    if (pull) {
      Gather(group, s, round, false);
      group.sync();
      if (s.graph.reverse.max_degree >= kHubDegree) {
        GatherSlices(group, s, round, false);
        group.sync();
      }
      mine.pull_rounds += 1;
    } else {
      Advance(group, s, round, form, form == Form::kQueue ? count : s.graph.owned, queue_out);
      group.sync();
      if (s.graph.forward.max_degree >= kHubDegree) {
        AdvanceSlices(group, s, round, queue_out);
        group.sync();
      }
      mine.push_rounds += 1;
    }
    form = queue_out ? Form::kQueue : Form::kBitmap;
    Apply(group, s, round, form, queue_out ? s.control->touched_count : s.graph.owned);
    group.sync();
    if (form == Form::kQueue) swap_queues();
    count = s.control->next_count;
    vertices = s.control->active_vertices;
    edges = s.control->active_edges;
    wanting += s.control->candidate_edges;
    mine.edges_touched += s.control->edges_touched;
    mine.rounds += 1;
    round.index = mine.rounds;
    round.active = vertices;
  }
  if (IsFirst(group)) *outcome = mine;
}

}  // namespace chatty::resident
