/// \file
/// Programs that see all messages to a vertex, counted (kCount) in a table of each thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "chatty/core/prefetch.h"
#include "chatty/framework/steps/host/count.h"
#include "chatty/framework/steps/host/group.h"

namespace chatty::steps::host {

namespace detail {

/// Calls update(messages) with all messages to v, which it sorts in memory: for vertices with more than a table takes.
template <class P, class Update>
void Sorted(const StateRef<P>& s, LocalId v, const RoundOf<P>& round, bool all_active, Update&& update) {
  const EdgeIndex begin = s.graph.reverse.offsets[v], end = s.graph.reverse.offsets[v + 1];
  MessageOf<P>* const all = s.collected + begin;
  std::uint64_t messages = 0;
  for (EdgeIndex e = begin; e < end; ++e) {
    MessageOf<P> message;
    if (GatherEdge(s, s.graph.reverse.neighbours[e], v, e, all_active, round, false, &message)) all[messages++] = message;
  }
  std::sort(all, all + messages);
  update(Counts<MessageOf<P>>(all, messages));
}

/// Calls update(messages) with all messages to v, counted.
template <class P, class Update>
void Counted(const StateRef<P>& s, LocalId v, const RoundOf<P>& round, bool all_active,
             MessageCounter<MessageOf<P>>& counter, Update&& update) {
  using Message = MessageOf<P>;
  const EdgeIndex begin = s.graph.reverse.offsets[v], end = s.graph.reverse.offsets[v + 1];
  if (end - begin > 0xffffffffu) return Sorted(s, v, round, all_active, update);
  // Messages are made before they are counted: loads of neighbours' values then wait for no branch of the table's. Those of
  // the rows ahead are called from memory meanwhile.
  constexpr EdgeIndex kAhead = 64;
  const EdgeIndex all = s.graph.reverse.offsets[s.graph.owned];
  constexpr std::size_t kBatch = 256;
  Message some[kBatch];
  std::size_t count = 0;
  bool fits = true;
  if (end - begin > 2) counter.Begin(end - begin);
  for (EdgeIndex e = begin; e < end && fits;) {
    count = 0;
    for (const EdgeIndex last = std::min<EdgeIndex>(end, e + kBatch); e < last; ++e) {
      if (e + kAhead < all) Prefetch(s.shared + s.graph.reverse.neighbours[e + kAhead]);
      if (GatherEdge(s, s.graph.reverse.neighbours[e], v, e, all_active, round, false, &some[count])) ++count;
    }
    if (end - begin > 2) fits = counter.Add(some, count);
  }
  if (!fits) return Sorted(s, v, round, all_active, update);
  if (end - begin > 2) return update(counter.End());
  update(Counts<Message>(some, count));  // up to two, of which equal ones are next to each other
}

}  // namespace detail

template <class P>
void Collect(Group& group, const StateRef<P>& s, const RoundOf<P>& round, bool all_active) {
  if constexpr (Traits<P>::kCounts) {
    Counters tally;
    std::uint64_t scanned = 0;
    MessageCounter<MessageOf<P>> counter;
    group.Sweep(s.graph.owned, kVertexGrain, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) {
        const auto v = static_cast<LocalId>(i);
        const EdgeIndex begin = s.graph.reverse.offsets[v], end = s.graph.reverse.offsets[v + 1];
        if (Traits<P>::kStationary && begin < end && !MaySeeOthers(s, begin, end, 1)) {
          s.next_values[v] = s.values[v];
          continue;
        }
        scanned += end - begin;
        const auto update = [&](const auto& messages) {
          ValueOf<P> value = s.values[v];
          if (Traits<P>::kEveryRound || (!messages.empty() && IsCandidate(s, v))) {
            const bool returned = UpdateValue(s, v, value, messages, s.At(v), round);
            if (Changed<P>(returned, s.values[v], value)) {
              bits::Set<true>(s.touched, v);
              tally.vertices += 1;
              tally.edges += s.graph.forward.degree(v);
            }
          }
          s.next_values[v] = value;
        };
        detail::Counted(s, v, round, Traits<P>::kEveryRound || all_active, counter, update);
      }
    });
    detail::AddTally(s, tally);
    atomics::Add<true>(&s.control->edges_touched, scanned);
  }
}

template <class P>
void CommitCollected(Group& group, const StateRef<P>& s) {
  if constexpr (Traits<P>::kCounts) {
    group.Sweep(s.graph.owned, kVertexGrain, [&](std::size_t begin, std::size_t end) {
      std::copy(s.next_values + begin, s.next_values + end, s.values + begin);
      for (std::size_t w = begin / 32; w < bits::Words(end); ++w) {
        s.active[w] = s.touched[w] & bits::Mask(w, s.graph.owned);
        s.touched[w] = 0;
      }
    });
  }
}
}  // namespace chatty::steps::host
