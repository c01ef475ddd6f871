/// \file
/// Label correcting on host devices that have a part of the graph each: see fused/team.h. Within a device, the items, lists
/// and workers are those of relax.h.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "chatty/core/sync.h"
#include "chatty/framework/fused/host/idle_wait.h"
#include "chatty/framework/fused/host/messages.h"
#include "chatty/framework/fused/host/relax.h"
#include "chatty/framework/fused/team.h"

namespace chatty::fused::host {

/// What the members of one device of a team share, besides RelaxShared.
struct TeamShared {
  alignas(64) std::atomic<std::uint64_t> step{0};  ///< that members may begin
  StepOrder order;                                 ///< of that step
};

namespace detail {

/// Whether no device is busy in `step` and no message is on the way: see fused/team.h. `step` has then ended everywhere.
inline bool HasEnded(const TeamRef& team, std::uint64_t step) {
  std::uint64_t received = 0, sent = 0;
  for (std::uint32_t d = 0; d < team.heap.size; ++d) {
    const TeamState state = team.StateOf(d);
    if (state.active() != 0 || state.step() != (step & 0xff)) return false;
    received += state.received();
  }
  for (std::uint32_t from = 0; from < team.heap.size; ++from) {
    for (std::uint32_t to = 0; to < team.heap.size; ++to) sent += team.SentTo(from, to);
  }
  return TeamState::AllReceived(sent, received);
}

/// The sum of all devices' counts of a step that has ended.
inline StepCounts SumCounts(const TeamRef& team, std::uint64_t step) {
  StepCounts sum;
  for (std::uint32_t d = 0; d < team.heap.size; ++d) sum.Add(team.heap.At(team.counts, d)[step % 3]);
  return sum;
}

/// Adds what a member has counted to the counts of its device.
template <class Count>
void Report(const Count& mine, std::uint64_t near, std::uint64_t far, bool stop, StepCounts* counts) {
  const auto add = [](std::uint32_t* to, std::uint64_t what) {
    if (what != 0) atomics::Add<true>(to, static_cast<std::uint32_t>(what));
  };
  add(&counts->near, near);
  add(&counts->below, mine.below);
  add(&counts->far, far);
  add(&counts->stop, stop ? 1 : 0);
  atomics::Add<true>(&counts->done, (mine.first << 32 | mine.done) + 0ull);
  atomics::Max<true>(&counts->far_first, static_cast<unsigned long long>(mine.first_far));
}

}  // namespace detail

/// As Relax, on one device of a team. Every member of every device calls it with its device's `job`; those of one device
/// return the same. Throws AbortedError where the run has ended on another device.
template <class P>
FusedRun RelaxTogether(Group& group, const StateRef<P>& state, RelaxShared<ItemOf<P>>& shared, TeamShared& together,
                       const RelaxTerms& terms, FusedRun job, const WaitContext& context) try {
  constexpr bool kOrders = Traits<P>::kOrders;
  const auto rank = static_cast<std::size_t>(group.rank()), members = static_cast<std::size_t>(group.size());
  const TeamRef& team = *job.team;
  StateRef<P> s = state;
  s.asynchronous = true;
  std::vector<ItemOf<P>>& far = shared.far[rank];
  const Messages<P> messages(team, state, context);
  const bool concurrent = members > 1;
  detail::RelaxWorker<P, Messages<P>> worker(s, job.round.As<GlobalOf<P>>(), terms, concurrent, &far, &shared.hubs[rank],
                                             messages);
  StepLeader<kOrders> leader(detail::kHostWidths, static_cast<unsigned>(members * team.heap.size), terms.width, terms.least,
                             terms.most);
  std::size_t which = 0, reported_near = 0, reported_far = 0;
  std::uint64_t step = 1;
  typename RelaxShared<ItemOf<P>>::Count all;
  StepOrder order;
  IdleWait wait;

  // What the member did since it last became busy is reported before it becomes idle.
  const auto rest = [&](std::size_t list) {
    const std::size_t near = shared.near.of(list, rank).size();
    typename RelaxShared<ItemOf<P>>::Count& mine = worker.count;
    const bool stop = rank == 0 && job.stop != nullptr && job.stop->stop_requested();
    detail::Report(mine, near - reported_near, far.size() - reported_far, stop, team.heap.Own(team.counts) + step % 3);
    reported_near = near;
    reported_far = far.size();
    all.done += mine.done;
    all.edges += mine.edges;
    all.improved += mine.improved;
    all.hops = std::max(all.hops, mine.hops);
    mine = {};
    team.BecomeIdle();
  };
  // Idle until the next step's order: takes messages, and leads.
  const auto await_order = [&](std::size_t list) {
    for (wait.Begin();;) {
      if (worker.WorkOnMessages(/*was_idle=*/true)) {
        while (worker.WorkOnMessages(/*was_idle=*/false)) {
        }
        rest(list);
        wait.Begin();
        continue;
      }
      if (rank == 0) {
        if (team.IsLeader() && detail::HasEnded(team, step))
          team.GiveOrder(step + 1, leader.Next(detail::SumCounts(team, step)));
        if (team.TakeOrder(step + 1, &together.order)) {
          team.heap.Own(team.counts)[(step + 2) % 3] = StepCounts{};
          team.BeginStep(members);
          together.step.store(step + 1, std::memory_order_release);
        }
      }
      if (together.step.load(std::memory_order_acquire) == step + 1) break;
      if (wait.Pause()) messages.CheckWait(wait.begin());
    }
    order = together.order;
    step += 1;
  };

  // Step 1 has the frontiers as its only result. A device that has not begun it has no step 1 in its state.
  if (rank == 0) team.BeginStep(members);
  group.sync_soon();
  detail::TakeFrontier(group, s, job, kOrders ? &far : &shared.near.of(which, rank), &worker.count.first_far);
  rest(which);
  await_order(which);
  std::uint32_t steps = 0;
  while (!order.ends) {
    if constexpr (kOrders) {
      if (order.takes_far) {
        worker.TakeFar(order.limit, &shared.near.of(which, rank));
        if (concurrent) group.sync_soon();
      }
    }
    reported_far = order.takes_far ? 0 : far.size();
    reported_near = 0;
    worker.Begin(&shared.near.Clear(which ^ 1, rank), order.limit, order.width, order.hop_limit, step);
    const std::size_t grain = detail::kMinSlice;
    shared.near.Take(
        which, rank, members,
        [&](std::span<const ItemOf<P>> slice, std::size_t) {
          worker.Work(slice);
          worker.WorkOnMessages(/*was_idle=*/false);
        },
        grain);
    which ^= 1;
    rest(which);
    await_order(which);
    steps += 1;
  }
  job.steps += steps;
  // The members' sums.
  shared.counts[0][rank] = all;
  group.sync_soon();
  std::uint32_t hops = 0;
  std::uint64_t followed = 0;
  for (const auto& one : shared.counts[0]) {
    followed += one.done;
    job.edges_touched += one.edges;
    job.vertices_updated += one.improved;
    hops = std::max(hops, one.hops);
  }
  job.items = job.items.value_or(0) + followed;
  job.push_rounds += kOrders ? steps : hops;
  job.round.index += kOrders ? steps : hops;
  job.form = Form::kBitmap;
  job.mixed = false;
  job.active_vertices = job.first_pending = 0;
  job.pending_vertices = 0;
  job.ahead = {};
  if (order.end != End::kDone) detail::Leave(group, state, shared, which, &job);
  job.round.active = job.active_vertices;
  return job;
} catch (...) {
  chatty::detail::StoreRelaxed(job.team->heap.abort, 1u);  // nobody may wait for this device
  throw;
}

}  // namespace chatty::fused::host
