/// \file
/// A distributed worklist on host devices: the steps of one device's workers.
///
/// A step does all items below its limit and what comes of them, on all devices, in any order. Workers that have none take
/// messages. The devices agree on a step's end, and on the next limit, by the protocol of fused/team.h. The limit rises by
/// the width, or above the first item where nothing is near. As fused/host/relax_team.h, for items of any type.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <thread>
#include <vector>

#include "chatty/core/device.h"
#include "chatty/core/error.h"
#include "chatty/core/sync.h"
#include "chatty/core/team.h"
#include "chatty/framework/fused/host/idle_wait.h"
#include "chatty/framework/fused/host/member_lists.h"
#include "chatty/framework/fused/host/relax_team.h"
#include "chatty/framework/fused/step_limits.h"
#include "chatty/framework/fused/team.h"
#include "chatty/framework/worklist/host/worker.h"

namespace chatty::worklist::host {

/// Items of a list that a worker takes at once.
inline constexpr std::size_t kGrain = 64;

/// What the workers of one device share.
template <class P>
struct DeviceShared {
  explicit DeviceShared(int members) : near(members), far(static_cast<std::size_t>(members)), done(far.size()) {}

  fused::host::MemberListsOf<typename P::Item> near;
  std::vector<std::vector<typename P::Item>> far;  ///< a list a worker
  std::vector<std::uint64_t> done;                 ///< by worker: items processed
  fused::host::TeamShared team;
};

/// One worker's share of the run. Every member of every device calls it with its device's objects; those of one device
/// return the same order, the last. Throws AbortedError where the run has ended on another device.
template <class P>
fused::StepOrder RunMember(TeamMember& member, const P& program, const fused::TeamRef& team,
                           std::span<const typename P::Item> seeds, const RunTerms& terms, DeviceShared<P>& shared) try {
  constexpr std::uint32_t kRoom = 1u << 13;  // items of a worker's local queue
  const auto rank = static_cast<std::size_t>(member.rank()), members = static_cast<std::size_t>(member.size());
  std::vector<typename P::Item>& far = shared.far[rank];
  Worker<P> worker(program, team, &far,
                   terms.list_items == 0 ? kRoom : std::clamp<std::uint32_t>(terms.list_items, 2, kRoom), terms.timeout);
  fused::StepLeader<true> leader({}, static_cast<unsigned>(members * team.heap.size), terms.width, terms.width, terms.width);
  std::size_t which = 0, reported_near = 0, reported_far = 0;
  std::uint64_t step = 1;
  fused::StepOrder order;
  fused::host::IdleWait wait;

  // What the worker did since it last became busy is reported before it becomes idle.
  const auto rest = [&] {
    const std::size_t near = shared.near.of(which, rank).size();
    fused::host::detail::Report(worker.count, near - reported_near, far.size() - reported_far,
                                rank == 0 && terms.stop.stop_requested(), team.heap.Own(team.counts) + step % 3);
    reported_near = near;
    reported_far = far.size();
    shared.done[rank] += worker.count.done;
    worker.count = {};
    team.BecomeIdle();
  };
  // Idle until the next step's order: takes messages, and leads.
  const auto await_order = [&] {
    for (wait.Begin();;) {
      if (worker.WorkOnMessages(/*was_idle=*/true)) {
        while (worker.WorkOnMessages(/*was_idle=*/false)) {
        }
        rest();
        wait.Begin();
        continue;
      }
      if (rank == 0) {
        if (team.IsLeader() && fused::host::detail::HasEnded(team, step)) {
          team.GiveOrder(step + 1, leader.Next(fused::host::detail::SumCounts(team, step)));
        }
        if (team.TakeOrder(step + 1, &shared.team.order)) {
          team.heap.Own(team.counts)[(step + 2) % 3] = fused::StepCounts{};
          team.BeginStep(members);
          shared.team.step.store(step + 1, std::memory_order_release);
        }
      }
      if (shared.team.step.load(std::memory_order_acquire) == step + 1) break;
      if (!wait.Pause()) continue;
      if (team.IsAborted()) Throw<AbortedError>("a worklist has ended on another device");
      if (terms.timeout.count() > 0 && Clock::now() - wait.begin() > terms.timeout) {
        Throw<TimeoutError>("waited {} ms for a step of all devices", terms.timeout.count());
      }
    }
    order = shared.team.order;
    step += 1;
  };

  // Step 1 has the seeds as its only result, which say where the limit begins.
  if (rank == 0) team.BeginStep(members);
  member.sync_soon();
  worker.Begin(&shared.near.of(which, rank), -kInfinity<double>, terms.width, step);
  for (std::size_t i = seeds.size() * rank / members; i < seeds.size() * (rank + 1) / members; ++i) worker.PutFar(seeds[i]);
  rest();
  await_order();
  while (!order.ends) {
    if (order.takes_far) {
      worker.TakeFar(order.limit, &shared.near.of(which, rank));
      member.sync_soon();
    }
    reported_far = order.takes_far ? 0 : far.size();
    reported_near = 0;
    worker.Begin(&shared.near.Clear(which ^ 1, rank), order.limit, order.width, step);
    shared.near.Take(
        which, rank, members,
        [&](std::span<const typename P::Item> slice, std::size_t) {
          worker.Work(slice);
          worker.WorkOnMessages(/*was_idle=*/false);
        },
        kGrain);
    which ^= 1;
    rest();
    await_order();
  }
  return order;
} catch (...) {
  chatty::detail::StoreRelaxed(team.heap.abort, 1u);  // nobody may wait for this device
  throw;
}

/// A run on one host device. The device and all that it is given must outlive it.
template <class P>
class DeviceRun {
 public:
  DeviceRun(Device& device, const P& program, std::span<const typename P::Item> seeds, const RunTerms& terms,
            fused::Team& team, std::size_t index)
      : device_(device),
        program_(program),
        seeds_(seeds),
        terms_(terms),
        team_(team),
        index_(index),
        shared_(device.team()->size()) {}

  /// On the device's own thread, at the same time as those of the other devices. Throws what the program throws,
  /// TimeoutError, and AbortedError where the run has ended on another device.
  DeviceResult Run(const fused::TeamRef& team) try {
    DeviceResult result;
    device_.team()->Run(device_.team()->size(), [&](TeamMember& member) {
      const fused::StepOrder last = RunMember<P>(member, program_, team, seeds_, terms_, shared_);
      if (member.rank() == 0) result.stopped = last.end == fused::End::kStopped;
    });
    result.steps = static_cast<std::uint32_t>(shared_.team.step.load() - 2);  // neither the seeds nor the end
    result.processed = std::accumulate(shared_.done.begin(), shared_.done.end(), std::uint64_t{0});
    return result;
  } catch (const TimeoutError& error) {
    Throw<TimeoutError>("{}: {}; {}", device_.label(), error.what(), team_.DescribeWait(index_));
  }

 private:
  Device& device_;
  const P& program_;
  std::span<const typename P::Item> seeds_;
  const RunTerms& terms_;
  fused::Team& team_;
  const std::size_t index_;
  DeviceShared<P> shared_;
};

}  // namespace chatty::worklist::host
