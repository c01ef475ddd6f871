/// \file
/// The visits of a round that pushes along a frontier in lists. Searches in place and rounds in buckets share it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "chatty/framework/fused/host/member_lists.h"
#include "chatty/framework/steps/host/group.h"

namespace chatty::fused::host::detail {

/// Visits each vertex of the frontier in lists `which`, and then the slices of long rows. Every member calls it, with a
/// worker of its own, an InPlaceWorker or a BucketWorker. The lists of the round before become the next round's, as no
/// member takes from them any more. Returns this member's list of the next round.
template <class P, class Worker, class PrefetchRow>
[[gnu::always_inline]] inline std::vector<LocalId>& VisitFrontier(steps::host::Group& group, const StateRef<P>& s,
                                                                  MemberLists& lists, std::size_t which, Worker& worker,
                                                                  const PrefetchRow& prefetch_row) {
  const auto rank = static_cast<std::size_t>(group.rank()), members = static_cast<std::size_t>(group.size());
  std::vector<LocalId>& next = lists.Clear(which ^ 1, rank);
  Worker mine = worker;  // no other thread sees its counts, so they stay in registers
  PrefetchPipeline ahead;
  lists.Take(which, rank, members, [&](std::span<const LocalId> vertices, std::size_t following) {
    ahead.Walk(
        vertices, following, prefetch_row, [&](LocalId v) { mine.PrefetchTargets(v); },
        [&](LocalId v) { mine.Visit(v, &next); });
  });
  worker.count = mine.count;
  if (members == 1 || s.graph.forward.max_degree < kHubDegree) return next;
  group.sync_soon();
  const std::uint32_t slices = atomics::Load(&s.control->slice_count);
  if (slices == 0) return next;
  group.Sweep(slices, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) worker.VisitSlice(s.slices[i], &next);
  });
  group.sync_soon();  // all have read their number
  if (rank == 0) s.control->slice_count = 0;
  return next;
}

}  // namespace chatty::fused::host::detail
