/// \file
/// Label correcting on CPU threads, with soft priority: the same items, limits and rule of widths
/// as the resident kernel of a GPU (cuda/relax.cuh).
///
/// A step takes the items whose priority is below a limit. Each thread takes slices of the list and follows edges on its
/// own: a target that a message improves becomes an item of the thread's local queue, until nothing below the limit is left.
/// What lies beyond goes to the next step's list, or to a list of far items. Then the threads wait at a barrier, and the
/// limit rises. A search by levels finds tens of levels between two barriers (vertical granularity control, as PASGAL by
/// Dong et al., PPoPP'24), and shortest paths fuse buckets (Zhang et al., GraphIt, CGO'20). Every improvement becomes an
/// item, so answers do not depend on the order.
///
/// A value changes by compare-and-swap, or, if it is a minimum or a maximum, by a load and a store: a locked operation lets
/// no later load begin. Such a store may overwrite a better value that another thread has stored since the load. So each
/// thread keeps what it has stored in a step. Behind the step's barrier no store is under way; the thread whose value was
/// the best finds a worse one there, and restores its own by compare-and-swap before a second barrier. It has followed the
/// edges already, or has the item in a list: an item is left only for a better value. The next step then finds at each
/// vertex the best of all that were stored.
///
/// Memory order: values change by relaxed atomics; a local queue is of one thread; lists and values are written before a
/// barrier and read behind it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "chatty/framework/frontier_policy.h"
#include "chatty/framework/fused/fused_engine.h"
#include "chatty/framework/fused/host/member_lists.h"
#include "chatty/framework/fused/host/relax_worker.h"
#include "chatty/framework/fused/relaxes.h"
#include "chatty/framework/steps/host/group.h"

namespace chatty::fused::host {

namespace detail {

/// A step should last long against a barrier; on a thread, what is followed again costs in full.
inline constexpr WidthRule kHostWidths{
    .few = 4096, .many = ~std::uint64_t{0}, .halve_above = 1.0 / 4, .narrow_above = 1.0 / 8};
/// A member's share of a step's list is so many slices, so that others can take some; their sizes.
inline constexpr std::size_t kSlices = 4, kMinSlice = 64, kMaxSlice = 1024;

/// What is left becomes the frontier, a bitmap: active vertices, or in a run with buckets pending ones.
template <class P>
void Leave(Group& group, const StateRef<P>& s, RelaxShared<ItemOf<P>>& shared, std::size_t which, FusedRun* job) {
  const auto rank = static_cast<std::size_t>(group.rank()), members = static_cast<std::size_t>(group.size());
  typename RelaxShared<ItemOf<P>>::Left& mine = shared.left[rank];
  const bool waits = Traits<P>::kOrders && job->buckets.on();
  const auto leave = [&](const std::vector<ItemOf<P>>& list) {
    for (const ItemOf<P>& item : list) {
      if (!IsLive(s, item)) continue;
      if constexpr (Traits<P>::kOrders) {
        if (waits) {
          bits::Set<true>(s.order.pending, item.vertex);
          bits::Set<true>(s.order.groups, static_cast<LocalId>(item.vertex / kPendingGroup));
          mine.first = std::max(mine.first, PriorityKey(PriorityOf(s.program, s.values[item.vertex])));
          continue;
        }
      }
      bits::Set<true>(s.active, item.vertex);
    }
  };
  leave(shared.near.of(which, rank));
  leave(shared.far[rank]);
  group.sync_soon();
  const std::size_t words = bits::Words(s.graph.owned);
  for (std::size_t w = ShareBegin(words, rank, members); w < ShareBegin(words, rank + 1, members); ++w) {
    for (std::uint32_t rest = s.active[w]; rest != 0; rest &= rest - 1) {
      mine.active += 1;
      mine.edges += s.graph.forward.degree(static_cast<LocalId>(w * 32 + static_cast<std::size_t>(__builtin_ctz(rest))));
    }
    if constexpr (Traits<P>::kOrders) mine.pending += __builtin_popcount(s.order.pending[w]);
    if constexpr (Traits<P>::kHasFilter) {
      if (!s.graph.reverse.offsets.there()) continue;
      for (std::size_t v = w * 32; v < std::min<std::size_t>(w * 32 + 32, s.graph.owned); ++v) {
        if (IsCandidate(s, static_cast<LocalId>(v))) mine.candidates += s.graph.reverse.degree(static_cast<LocalId>(v));
      }
    }
  }
  group.sync_soon();
  for (const typename RelaxShared<ItemOf<P>>::Left& one : shared.left) {
    job->active_vertices += one.active;
    job->pending_vertices += one.pending;
    job->first_pending = std::max(job->first_pending, one.first);
    job->ahead.active_edges += one.edges;
    job->ahead.candidate_edges += one.candidates;
  }
}

/// The frontier becomes a list: of the next step, or with a Priority of far items, whose first, `*first_far`, says where the
/// limit begins.
template <class P>
void TakeFrontier(Group& group, const StateRef<P>& s, const FusedRun& job, std::vector<ItemOf<P>>* list,
                  std::uint64_t* first_far) {
  const auto rank = static_cast<std::size_t>(group.rank()), members = static_cast<std::size_t>(group.size());
  const std::size_t words = bits::Words(s.graph.owned);
  const std::size_t first_word = ShareBegin(words, rank, members), last_word = ShareBegin(words, rank + 1, members);
  const auto take = [&](LocalId v) {
    ItemOf<P> item{};
    item.vertex = v;
    item.value = atomics::Load(WordOf(s, v));
    if constexpr (Traits<P>::kOrders) {
      const auto value = atomics::BitCast<ValueOf<P>>(item.value);
      *first_far = std::max(*first_far, PriorityKey(PriorityOf(s.program, value)));
    }
    list->push_back(item);
  };
  if (job.form == Form::kQueue) {
    for (std::size_t i = ShareBegin(job.count, rank, members); i < ShareBegin(job.count, rank + 1, members); ++i) {
      take(s.frontier[i]);
    }
  }
  for (std::size_t w = first_word; w < last_word; ++w) {
    std::uint32_t rest = job.form == Form::kBitmap ? s.active[w] & bits::Mask(w, s.graph.owned) : 0;
    s.active[w] = 0;
    if constexpr (Traits<P>::kOrders) rest |= std::exchange(s.order.pending[w], 0);
    for (; rest != 0; rest &= rest - 1) {
      take(static_cast<LocalId>(w * 32 + static_cast<std::size_t>(__builtin_ctz(rest))));
    }
  }
  if constexpr (Traits<P>::kOrders) {
    const std::size_t groups = bits::Words((s.graph.owned + kPendingGroup - 1) / kPendingGroup);
    std::fill(s.order.groups + ShareBegin(groups, rank, members), s.order.groups + ShareBegin(groups, rank + 1, members), 0);
  }
}

}  // namespace detail

/// As FusedEngine::Run, by label correcting: runs `job` until nothing is left, it is stopped, or rounds suit the frontier
/// better. Every member calls it with the same `job`, and returns the same.
template <class P>
FusedRun Relax(Group& group, const StateRef<P>& state, RelaxShared<ItemOf<P>>& shared, const RelaxTerms& terms,
               FusedRun job) {
  constexpr bool kOrders = Traits<P>::kOrders;
  using Entry = ItemOf<P>;
  using Count = typename RelaxShared<ItemOf<P>>::Count;
  const auto rank = static_cast<std::size_t>(group.rank()), members = static_cast<std::size_t>(group.size());
  StateRef<P> s = state;
  s.asynchronous = true;
  std::vector<Entry>& far = shared.far[rank];
  const bool concurrent = members > 1;
  detail::RelaxWorker<P> worker(s, job.round.As<GlobalOf<P>>(), terms, concurrent, &far, &shared.hubs[rank]);
  const bool hubs = concurrent && s.graph.forward.max_degree >= kHubDegree;
  std::size_t which = 0, turn = 0;
  Count all;
  std::uint64_t first_far = 0;
  // Each member publishes its counts, waits at a barrier, and sums the counts of all.
  const auto sum_and_wait = [&] {
    Count& mine = worker.count;
    mine.near = shared.near.of(which, rank).size();
    mine.far = far.size();
    mine.stop = rank == 0 && job.stop != nullptr && job.stop->stop_requested();
    shared.counts[turn][rank] = mine;
    worker.count = {};
    group.sync_soon();
    all = {};
    for (const Count& one : shared.counts[turn]) {
      all.near += one.near;
      all.below += one.below;
      all.far += one.far;
      all.first_far = std::max(all.first_far, one.first_far);
      all.done += one.done;
      all.first += one.first;
      all.edges += one.edges;
      all.improved += one.improved;
      all.hops = std::max(all.hops, one.hops);
      all.stop = all.stop || one.stop;
    }
    turn ^= 1;
    first_far = std::max(first_far, all.first_far);
  };

  detail::TakeFrontier(group, s, job, kOrders ? &far : &shared.near.of(which, rank), &worker.count.first_far);
  sum_and_wait();

  double limit = -kInfinity<double>, width = terms.width;
  std::uint32_t hop_limit = 0, hops = 0, steps = 0;
  std::uint64_t followed = 0;
  std::uint64_t done = 0, first_ones = 0;  // since the limit rose
  bool counts_first = false;
  while (all.near + all.far > 0 && !all.stop) {
    // In the order of hops a run ends where the limit rises: the frontier then has vertices of one level.
    if ((kOrders || all.below == 0) && static_cast<double>(done) > terms.wide * (kOrders ? 1.0 : width)) break;
    if (all.below == 0 && done != 0) {
      counts_first = counts_first || first_ones != 0;
      if (terms.least < terms.most) {
        width = detail::kHostWidths.Next(width, done, first_ones, counts_first, static_cast<unsigned>(members), terms.least,
                                         terms.most);
      }
      done = first_ones = 0;
    }
    if constexpr (kOrders) {
      const double first = all.far == 0 ? kInfinity<double> : PriorityOfKey(first_far);
      if (all.near == 0) {
        limit = std::max(std::max(limit, first) + width, std::nextafter(first, kInfinity<double>));
        shared.near.Clear(which, rank);
      } else if (all.below == 0) {
        limit += width;
      }
      if (all.near == 0 || first < limit) {
        worker.TakeFar(limit, &shared.near.of(which, rank));
        first_far = 0;
        sum_and_wait();
        if (all.near == 0) continue;  // all that was below has improved since
      }
    } else if (all.below == 0) {
      hop_limit += static_cast<std::uint32_t>(std::max(width, 1.0));
    }
    // The last step's lists, of which nobody takes any more, become the next one's.
    worker.Begin(&shared.near.Clear(which ^ 1, rank), limit, width, hop_limit);
    const std::size_t grain =
        std::clamp<std::size_t>(all.near / (members * detail::kSlices), detail::kMinSlice, detail::kMaxSlice);
    shared.near.Take(
        which, rank, members, [&](std::span<const Entry> slice, std::size_t) { worker.Work(slice); }, grain);
    if (hubs) {
      group.sync_soon();
      for (const std::vector<Entry>& items : shared.hubs) {
        for (const Entry& item : items) worker.WorkOnHub(item, rank, members);
      }
    }
    which ^= 1;
    sum_and_wait();
    if constexpr (detail::kStoresValues<P>) {
      if (worker.stores()) {
        worker.Restore();
        group.sync_soon();
      }
    }
    shared.hubs[rank].clear();
    steps += 1;
    done += all.done;
    first_ones += all.first;
    hops = std::max(hops, all.hops);
    job.edges_touched += all.edges;
    job.vertices_updated += all.improved;
    followed += all.done;
  }
  job.items = job.items.value_or(0) + followed;
  job.steps += steps;
  job.push_rounds += kOrders ? steps : hops;
  job.round.index += kOrders ? steps : hops;
  job.form = Form::kBitmap;
  const bool left = all.near + all.far > 0;
  job.mixed = left && !kOrders && all.below != 0;
  job.active_vertices = job.first_pending = 0;
  job.pending_vertices = 0;
  job.ahead.active_edges = 0;
  if (Traits<P>::kHasFilter) job.ahead.candidate_edges = 0;  // counted again
  if (left) detail::Leave(group, state, shared, which, &job);
  job.round.active = job.active_vertices;
  return job;
}

}  // namespace chatty::fused::host
