/// \file
/// Push on CPU threads: vertices of the frontier send along their forward edges. Slices of the longest rows are shared by
/// all threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "chatty/core/prefetch.h"
#include "chatty/framework/steps/host/group.h"

namespace chatty::steps::host {

namespace detail {

/// What a thread's pushes did to the halo, by owner.
struct HaloTally {
  std::uint64_t raw[kMaxDevices] = {};    ///< edges
  std::uint32_t first[kMaxDevices] = {};  ///< vertices that got their first message
};

/// Edges of [begin, begin + count), at most 32, whose messages Filter may accept, as bits. Targets are read, or prefetched,
/// all together: the atomics of a delivery let no later load begin before they end. `ask`: as DeliverBit has it.
template <class P>
std::uint32_t AcceptedEdges(const StateRef<P>& s, const RoundOf<P>& round, LocalId source, const SharedOf<P>& shared,
                            EdgeIndex begin, unsigned count, [[maybe_unused]] bool ask) {
  std::uint32_t accepted = 0;
  for (unsigned i = 0; i < count; ++i) {
    const LocalId target = s.graph.forward.neighbours[begin + i];
    bool accepts = true;
    if constexpr (Traits<P>::kHasFilter || Traits<P>::kHasFilterMessage) {
      if (target < s.graph.owned && (ask || KeepsMessages(s))) {
        if constexpr (Traits<P>::kHasFilter) accepts = s.asynchronous || s.program.Filter(s.values[target]);
        if constexpr (Traits<P>::kHasFilterMessage) {
          const MessageOf<P> message = Scatter(s, shared, source, target, s.graph.forward, begin + i, round);
          accepts = accepts && s.program.Filter(s.values[target], message);
        }
      }
    }
    accepted |= std::uint32_t{accepts} << i;
    if (accepts) {
      PrefetchToWrite(s.touched + (target >> 5));
      if (KeepsMessages(s)) PrefetchToWrite(s.inbox + target);
    }
  }
  return accepted;
}

/// Pushes along edges [begin, end) of `source`'s row.
template <class P, bool kConcurrent>
void PushEdges(const StateRef<P>& s, const RoundOf<P>& round, LocalId source, const SharedOf<P>& shared, EdgeIndex begin,
               EdgeIndex end, bool queue_out, Appender<LocalId>& owned, Appender<LocalId>& halo, HaloTally* tally) {
  const auto push = [&](EdgeIndex e) {
    const LocalId target = s.graph.forward.neighbours[e];
    const MessageOf<P> message = Scatter(s, shared, source, target, s.graph.forward, e, round);
    const bool first = Deliver<P, kConcurrent>(s, target, message, queue_out) == Delivery::kFirst;
    if (target < s.graph.owned) {
      if (first && queue_out) owned.Push(target);
    } else {
      const std::uint32_t owner = s.graph.HaloOwner(target);
      tally->raw[owner] += 1;
      tally->first[owner] += first;
      if (first && queue_out) halo.Push(target);
    }
  };
  for (; begin < end; begin += 32) {
    const auto count = static_cast<unsigned>(std::min<EdgeIndex>(end - begin, 32));
    for (std::uint32_t accepted = AcceptedEdges(s, round, source, shared, begin, count, queue_out); accepted != 0;
         accepted &= accepted - 1) {
      push(begin + static_cast<unsigned>(__builtin_ctz(accepted)));
    }
  }
}

template <class P>
void FlushPush(const StateRef<P>& s, const HaloTally& tally) {
  for (std::uint32_t p = 0; p < s.graph.parts; ++p) {
    if (tally.raw[p] != 0) atomics::Add<true>(&s.control->raw_messages[p], tally.raw[p]);
    if (tally.first[p] != 0) atomics::Add<true>(&s.control->halo_count[p], tally.first[p]);
  }
}

}  // namespace detail

template <class P>
void Advance(Group& group, const StateRef<P>& s, const RoundOf<P>& round, Form form, std::size_t count, bool queue_out) {
  detail::ByConcurrency(group, [&](auto concurrent) {
    constexpr bool kConcurrent = decltype(concurrent)::value;
    detail::HaloTally tally;
    std::uint64_t scanned = 0;
    {
      detail::Appender<LocalId> owned(s.touched_queue, &s.control->touched_count, kConcurrent);
      detail::Appender<LocalId> halo(s.touched_halo, &s.control->touched_halo_count, kConcurrent);
      const auto vertex = [&](LocalId v) {
        const EdgeIndex begin = s.graph.forward.offsets[v], end = s.graph.forward.offsets[v + 1];
        scanned += end - begin;
        const SharedOf<P> shared = TakeShared(s, v);
        if (group.size() > 1 && end - begin >= kHubDegree) {
          if constexpr (Traits<P>::kSharesSeparately) s.shared[v] = shared;  // Consume has run: slices read it here
          CutIntoSlices(s.slices, &s.control->slice_count, v, end - begin);
          return;
        }
        detail::PushEdges<P, kConcurrent>(s, round, v, shared, begin, end, queue_out, owned, halo, &tally);
      };
      // The begins of some rows are called from memory before the first is walked.
      constexpr unsigned kAhead = 16;
      LocalId ahead[kAhead];
      unsigned held = 0;
      const auto walk = [&] {
        for (unsigned i = 0; i < held; ++i) {
          Prefetch(s.graph.forward.neighbours + s.graph.forward.offsets[ahead[i]]);
        }
        for (unsigned i = 0; i < held; ++i) vertex(ahead[i]);
        held = 0;
      };
      const auto add = [&](LocalId v) {
        ahead[held++] = v;
        if (held == kAhead) walk();
      };
      group.Sweep(count, form == Form::kQueue ? kQueueGrain : kVertexGrain, [&](std::size_t begin, std::size_t end) {
        if (form == Form::kQueue) {
          for (std::size_t i = begin; i < end; ++i) add(s.frontier[i]);
        } else if (form == Form::kAll) {
          for (std::size_t i = begin; i < end; ++i) vertex(static_cast<LocalId>(i));
        } else {
          for (std::size_t w = begin / 32; w < bits::Words(end); ++w) {
            for (std::uint32_t word = s.active[w] & bits::Mask(w, end); word != 0; word &= word - 1) {
              add(static_cast<LocalId>(w * 32 + static_cast<std::size_t>(__builtin_ctz(word))));
            }
          }
        }
      });
      walk();
    }
    detail::FlushPush(s, tally);
    atomics::Add<true>(&s.control->edges_touched, scanned);
  });
}

template <class P>
void AdvanceSlices(Group& group, const StateRef<P>& s, const RoundOf<P>& round, bool queue_out) {
  if (group.size() == 1) return;  // a lone thread has walked its hubs already
  detail::HaloTally tally;
  {
    detail::Appender<LocalId> owned(s.touched_queue, &s.control->touched_count, true);
    detail::Appender<LocalId> halo(s.touched_halo, &s.control->touched_halo_count, true);
    group.Sweep(atomics::Load(&s.control->slice_count), 1, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) {
        const Slice slice = s.slices[i];
        const EdgeIndex begin = s.graph.forward.offsets[slice.vertex] + slice.index * kSliceEdges;
        const EdgeIndex end = std::min(begin + kSliceEdges, s.graph.forward.offsets[slice.vertex + 1]);
        SharedOf<P> shared;
        if constexpr (Traits<P>::kSharesSeparately) {
          shared = s.shared[slice.vertex];
        } else {
          shared = s.values[slice.vertex];
        }
        detail::PushEdges<P, true>(s, round, slice.vertex, shared, begin, end, queue_out, owned, halo, &tally);
      }
    });
  }
  detail::FlushPush(s, tally);
}
}  // namespace chatty::steps::host
