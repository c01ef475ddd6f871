/// \file
/// What happens to the vertices of a device, without a look at their edges: first values, activation, updates, the release
/// of pending vertices, aggregates and results.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "chatty/framework/steps/host/group.h"

namespace chatty::steps::host {

template <class P>
void Init(Group& group, const StateRef<P>& s, const InputOf<P>* prior) {
  group.Sweep(s.graph.local, kVertexGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto v = static_cast<LocalId>(i);
      if (v < s.graph.owned) s.values[v] = InitialValue(s, prior, v);
      if (s.inbox != nullptr && KeepsMessages(s)) {
        Slot<MessageOf<P>> empty{};
        empty.message = IdentityOf<P>();
        s.inbox[v] = empty;
      }
    }
    for (std::size_t w = begin / 32; w < bits::Words(end); ++w) s.touched[w] = s.active[w] = 0;
    if constexpr (Traits<P>::kSendsOnce) {  // local vertices are at least as many as the halo's
      for (std::size_t w = begin / 32; w < std::min(s.SentWords(), bits::Words(end)); ++w) s.sent[w] = 0;
    }
    if constexpr (Traits<P>::kOrders) {
      const std::size_t last = std::min<std::size_t>(end, s.graph.owned);
      for (std::size_t w = begin / 32; w < bits::Words(last); ++w) s.order.pending[w] = s.order.seen[w] = 0;
      constexpr std::size_t kWord = 32 * kPendingGroup;  // vertices of a word, which is for whoever has the first of them
      for (std::size_t w = (begin + kWord - 1) / kWord; w * kWord < last; ++w) s.order.groups[w] = 0;
    }
  });
}

template <class P>
void Activate(Group& group, const StateRef<P>& s, const RoundOf<P>& round) {
  Counters tally;
  group.Sweep(s.graph.owned, kVertexGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t w = begin / 32; w < bits::Words(end); ++w) {
      std::uint32_t active = 0, candidates = 0;
      for (std::size_t i = w * 32; i < std::min(end, w * 32 + 32); ++i) {
        const auto v = static_cast<LocalId>(i);
        active |= std::uint32_t{StartsActive(s, v, s.values[v], round)} << (i & 31);
        candidates |= std::uint32_t{IsCandidate(s, v)} << (i & 31);
      }
      s.active[w] = active;
      if (std::has_single_bit(active)) {  // right if no other is active at all
        atomics::Store(s.frontier, static_cast<LocalId>(w * 32 + static_cast<unsigned>(std::countr_zero(active))));
      }
      tally.vertices += static_cast<unsigned>(__builtin_popcount(active));
      tally.edges += detail::EdgesOf(s.graph.forward, w, active, end);
      tally.candidate_edges += static_cast<std::int64_t>(detail::EdgesOf(s.graph.reverse, w, candidates, end));
    }
  });
  detail::AddTally(s, tally);
}

template <class P>
void Apply(Group& group, const StateRef<P>& s, const RoundOf<P>& round, Form form, std::size_t count) {
  Counters tally;
  if (form == Form::kQueue) {
    detail::Appender<LocalId> next(s.next, &s.control->next_count, group.size() > 1);
    detail::ByConcurrency(group, [&](auto concurrent) {
      group.Sweep(count, kQueueGrain * 4, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
          const LocalId v = s.touched_queue[i];
          atomics::And<decltype(concurrent)::value>(s.touched + (v >> 5), ~(1u << (v & 31)));
          if (ApplyOne(s, v, round, &tally)) next.Push(v);
        }
      });
    });
  } else {
    group.Sweep(count, kVertexGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t w = begin / 32; w < bits::Words(end); ++w) {
        std::uint32_t word = form == Form::kAll ? ~0u : s.touched[w];
        std::uint32_t active = 0;
        for (word &= bits::Mask(w, end); word != 0; word &= word - 1) {
          const auto bit = static_cast<unsigned>(__builtin_ctz(word));
          if (ApplyOne(s, static_cast<LocalId>(w * 32 + bit), round, &tally)) active |= 1u << bit;
        }
        s.active[w] = active;
        s.touched[w] = 0;
      }
    });
  }
  detail::AddTally(s, tally);
}

/// Pending vertices below the limit join the frontier: a bitmap, or a queue of `count`.
template <class P>
void Release(Group& group, const StateRef<P>& s, Form form, std::size_t count) {
  if constexpr (Traits<P>::kOrders) {
    Counters tally;
    {
      detail::Appender<LocalId> queue(s.frontier + count, &s.control->next_count, group.size() > 1);
      const std::size_t words = bits::Words(s.graph.owned);
      const auto one = [&](std::size_t w) {  // returns whether any is left pending
        const std::uint32_t word = s.order.pending[w];
        std::uint32_t going = 0;
        for (std::uint32_t rest = word; rest != 0; rest &= rest - 1) {
          const auto v = static_cast<LocalId>(w * 32 + static_cast<std::size_t>(__builtin_ctz(rest)));
          const double priority = PriorityOf(s.program, s.values[v]);
          if (!GoesNow(priority, s.order.limit)) {
            tally.first_pending = std::max(tally.first_pending, PriorityKey(priority));
            continue;
          }
          const std::uint32_t bit = rest & (0 - rest);
          const EdgeIndex degree = s.graph.forward.degree(v);
          going |= bit;
          tally.edges += degree;
          if ((s.order.seen[w] & bit) == 0) tally.first_edges += degree;
          if (form == Form::kQueue) queue.Push(v);
        }
        if (going != 0) {
          tally.vertices += static_cast<unsigned>(__builtin_popcount(going));
          s.order.seen[w] |= going;
          s.order.pending[w] = word & ~going;
          if (form == Form::kBitmap) s.active[w] |= going;
        }
        return word != going;
      };
      constexpr std::size_t kGroupWords = kPendingGroup / 32;
      group.Sweep(bits::Words((s.graph.owned + kPendingGroup - 1) / kPendingGroup), 4,
                  [&](std::size_t begin, std::size_t end) {
                    for (std::size_t i = begin; i < end; ++i) {
                      for (std::uint32_t rest = s.order.groups[i]; rest != 0; rest &= rest - 1) {
                        const std::size_t first = (i * 32 + static_cast<std::size_t>(__builtin_ctz(rest))) * kGroupWords;
                        bool left = false;
                        for (std::size_t w = first; w < std::min(first + kGroupWords, words); ++w) {
                          if (s.order.pending[w] != 0) left = one(w) || left;
                        }
                        if (!left) s.order.groups[i] &= ~(rest & (0 - rest));
                      }
                    }
                  });
    }
    tally.pending -= static_cast<std::int64_t>(tally.vertices);
    detail::AddTally(s, tally);
  }
}

namespace detail {

/// ApplyAll of vertices [begin, end). State and round by value: stores to values cannot change them.
template <class P>
GlobalOf<P> ApplyRange(const StateRef<P> s, const RoundOf<P> round, std::size_t begin, std::size_t end, Counters* tally) {
  Counters mine;
  GlobalOf<P> measure{};
  for (std::size_t w = begin / 32; w < bits::Words(end); ++w) {
    std::uint32_t active = 0;
    for (std::size_t i = w * 32; i < std::min(end, w * 32 + 32); ++i) {
      const auto v = static_cast<LocalId>(i);
      [[maybe_unused]] const ValueOf<P> before = s.values[v];
      active |= std::uint32_t{ApplyOne(s, v, round, &mine)} << (i & 31);
      if constexpr (Traits<P>::kHasMeasure) {
        measure = CombineGlobal<P>(measure, MeasureOf<P>(s.program, before, s.values[v], s.At(v), round));
      }
      if constexpr (Traits<P>::kHasShare) s.shared[v] = s.program.Share(s.values[v], s.At(v));
    }
    s.active[w] = active;
    s.touched[w] = 0;
  }
  tally->vertices += mine.vertices;
  tally->edges += mine.edges;
  tally->candidate_edges += mine.candidate_edges;
  return measure;
}

}  // namespace detail

/// What Apply does for Form::kAll, and in the same pass what Measure and Publish would do after it: each of the three would
/// read all values and degrees again.
template <class P>
void ApplyAll(Group& group, const StateRef<P>& s, const RoundOf<P>& round, [[maybe_unused]] GlobalOf<P>* partials) {
  Counters tally;
  const std::size_t chunks = (s.graph.owned + kMeasureGrain - 1) / kMeasureGrain;
  group.Sweep(chunks, 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t c = first; c < last; ++c) {
      const std::size_t end = std::min<std::size_t>((c + 1) * kMeasureGrain, s.graph.owned);
      [[maybe_unused]] const GlobalOf<P> measure = detail::ApplyRange<P>(s, round, c * kMeasureGrain, end, &tally);
      if constexpr (Traits<P>::kHasMeasure) partials[c] = measure;
    }
  });
  detail::AddTally(s, tally);
}

template <class P>
void Measure(Group& group, const StateRef<P>& s, const RoundOf<P>& round, GlobalOf<P>* partials) {
  if constexpr (Traits<P>::kHasMeasure) {
    const std::size_t chunks = (s.graph.owned + kMeasureGrain - 1) / kMeasureGrain;
    group.Sweep(chunks, 1, [&](std::size_t first, std::size_t last) {
      for (std::size_t c = first; c < last; ++c) {
        GlobalOf<P> mine{};
        for (std::size_t i = c * kMeasureGrain; i < std::min<std::size_t>((c + 1) * kMeasureGrain, s.graph.owned); ++i) {
          const auto v = static_cast<LocalId>(i);
          mine = CombineGlobal<P>(mine, MeasureOf<P>(s.program, s.values[v], s.values[v], s.At(v), round));
        }
        partials[c] = mine;
      }
    });
  }
}

template <class P>
void Output(Group& group, const StateRef<P>& s, const RoundOf<P>& round, OutputOf<P>* out) {
  group.Sweep(s.graph.owned, kVertexGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) out[i] = chatty::detail::OutputOfValue<P>(s.program, s.values[i], round);
  });
}
}  // namespace chatty::steps::host
