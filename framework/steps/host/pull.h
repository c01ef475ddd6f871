/// \file
/// Pull on CPU threads: vertices that still take messages look for active neighbours along their reverse edges.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "chatty/core/prefetch.h"
#include "chatty/framework/steps/host/group.h"

namespace chatty::steps::host {

template <class P>
void Publish(Group& group, const StateRef<P>& s, Form form) {
  if constexpr (Traits<P>::kSharesSeparately) {
    group.Sweep(s.graph.owned, kVertexGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const auto v = static_cast<LocalId>(i);
        if (form == Form::kAll || bits::Test(s.active, v)) s.shared[v] = TakeShared(s, v);
      }
    });
  }
}

namespace detail {

/// Whether a pull of all sources may combine messages in any order, several at a time: what keeps a core busy while it waits
/// for each sum.
template <class P>
inline constexpr bool kCombinesApart = std::is_arithmetic_v<MessageOf<P>> && !Traits<P>::kAnyMessageSuffices &&
                                       !Traits<P>::kHasFilterMessage && !Traits<P>::kCounts;

/// Pulls along edges [begin, end) of `target`'s row.
template <class P>
bool PullEdges(const StateRef<P>& s, const RoundOf<P>& round, bool all_active, LocalId target, EdgeIndex begin,
               EdgeIndex end, MessageOf<P>* message, std::uint64_t* scanned) {
  bool have = false;
  // Rows are in the order of local ids, which is that of ids where they are the same; of edges both ways they are two,
  // merged.
  const bool first = Traits<P>::kAnyMessageSuffices ||
                     (Traits<P>::kFirstInRowSuffices && Traits<P>::kEdges != Edges::kBoth && s.graph.global_ids == nullptr);
  EdgeIndex e = begin;
  if constexpr (kCombinesApart<P>) {
    constexpr EdgeIndex kApart = 4;
    if (all_active && end - begin >= kApart) {
      MessageOf<P> parts[kApart];
      for (EdgeIndex i = 0; i < kApart; ++i, ++e) {
        GatherEdge(s, s.graph.reverse.neighbours[e], target, e, true, round, false, &parts[i]);
      }
      for (; end - e >= kApart; e += kApart) {
        for (EdgeIndex i = 0; i < kApart; ++i) {
          GatherEdge(s, s.graph.reverse.neighbours[e + i], target, e + i, true, round, true, &parts[i]);
        }
      }
      *message = Reduce<P>(s.program, Reduce<P>(s.program, parts[0], parts[1]), Reduce<P>(s.program, parts[2], parts[3]));
      have = true;
    }
  }
  while (e < end) {
    have = GatherEdge(s, s.graph.reverse.neighbours[e], target, e, all_active, round, have, message) || have;
    ++e;
    if (first && have) break;
  }
  *scanned += e - begin;
  return have;
}

/// Puts the only message of owned vertex v into its inbox.
template <class P>
void PutMessage(const StateRef<P>& s, LocalId v, const MessageOf<P>& message) {
  if (!KeepsMessages(s)) return;
  Slot<MessageOf<P>> slot{};  // padding bytes are zero, so that equal messages are equal words
  slot.message = message;
  s.inbox[v] = slot;
}

/// Pulls for those of word w's vertices that are in `candidates`, each from its first active source. Returns who has one.
/// `rows` and `active` by value: what stores cannot change stays in registers.
template <class P>
std::uint32_t PullFirst(const StateRef<P>& s, const RoundOf<P>& round, const AdjacencyRef rows,
                        const std::uint32_t* const active, std::size_t w, std::uint32_t candidates, std::uint64_t* scanned) {
  EdgeIndex first[32];
  std::uint32_t found = 0;
  std::uint64_t looks = 0;
  for (; candidates != 0; candidates &= candidates - 1) {
    const auto bit = static_cast<unsigned>(__builtin_ctz(candidates));
    const auto v = static_cast<LocalId>(w * 32 + bit);
    const EdgeIndex begin = rows.offsets[v], end = rows.offsets[v + 1];
    EdgeIndex e = begin;
    while (e < end && !bits::Test(active, rows.neighbours[e])) ++e;
    first[bit] = e;
    found |= std::uint32_t{e < end} << bit;
    looks += e - begin;
  }
  *scanned += looks + static_cast<unsigned>(__builtin_popcount(found));
  if (!KeepsMessages(s)) return found;
  for (std::uint32_t rest = found; rest != 0;
       rest &= rest - 1) {  // apart, so that what sources share comes for many at once
    const auto bit = static_cast<unsigned>(__builtin_ctz(rest));
    const auto v = static_cast<LocalId>(w * 32 + bit);
    const LocalId source = rows.neighbours[first[bit]];
    PutMessage(s, v, Scatter(s, s.shared[source], source, v, rows, first[bit], round));
  }
  return found;
}

/// The bits of word w's vertices below `end` that Filter accepts; of all without a Filter. With one, prefetches the begins
/// of their rows: they come from memory while the rows of another word are walked.
template <class P>
std::uint32_t Candidates(const StateRef<P>& s, std::size_t w, std::size_t end) {
  std::uint32_t word = bits::Mask(w, end);
  if constexpr (Traits<P>::kHasFilter) {
    std::uint32_t candidates = 0;
    for (std::size_t i = w * 32; i < std::min(end, w * 32 + 32); ++i) {
      candidates |= std::uint32_t{s.program.Filter(s.values[i])} << (i & 31);
    }
    word = candidates;
    for (; candidates != 0; candidates &= candidates - 1) {
      const auto v = static_cast<LocalId>(w * 32 + static_cast<std::size_t>(__builtin_ctz(candidates)));
      Prefetch(s.graph.reverse.neighbours + s.graph.reverse.offsets[v]);
    }
  }
  return word;
}

}  // namespace detail

template <class P>
void Gather(Group& group, const StateRef<P>& s, const RoundOf<P>& round, bool all_active) {
  std::uint64_t scanned = 0;
  const bool slice_hubs = group.size() > 1 && Traits<P>::kCanPush && s.graph.reverse.max_degree >= kHubDegree;
  group.Sweep(s.graph.owned, kVertexGrain, [&](std::size_t begin, std::size_t end) {
    std::uint32_t candidates = detail::Candidates(s, begin / 32, end);
    for (std::size_t w = begin / 32; w < bits::Words(end); ++w) {
      const std::uint32_t next = w + 1 < bits::Words(end) ? detail::Candidates(s, w + 1, end) : 0;
      if (slice_hubs) {
        for (std::uint32_t rest = candidates; rest != 0; rest &= rest - 1) {
          const auto v = static_cast<LocalId>(w * 32 + static_cast<std::size_t>(__builtin_ctz(rest)));
          const EdgeIndex degree = s.graph.reverse.degree(v);
          if (degree < kHubDegree) continue;
          candidates ^= rest & (0 - rest);
          CutIntoSlices(s.slices, &s.control->slice_count, v, degree);
        }
      }
      std::uint32_t touched = 0;
      bool first = false;
      if constexpr (Traits<P>::kAnyMessageSuffices && !Traits<P>::kHasFilterMessage) first = !all_active;
      if (first) {
        touched = detail::PullFirst(s, round, s.graph.reverse, s.active, w, candidates, &scanned);
      } else {
        for (; candidates != 0; candidates &= candidates - 1) {
          const auto bit = static_cast<unsigned>(__builtin_ctz(candidates));
          const auto v = static_cast<LocalId>(w * 32 + bit);
          const EdgeIndex row = s.graph.reverse.offsets[v], row_end = s.graph.reverse.offsets[v + 1];
          MessageOf<P> message{};
          if (!detail::PullEdges(s, round, all_active, v, row, row_end, &message, &scanned)) continue;
          detail::PutMessage(s, v, message);
          touched |= 1u << bit;
        }
      }
      s.touched[w] = touched;
      candidates = next;
    }
  });
  atomics::Add<true>(&s.control->edges_touched, scanned);
}

template <class P>
void GatherSlices(Group& group, const StateRef<P>& s, const RoundOf<P>& round, bool all_active) {
  if constexpr (Traits<P>::kCanPush) {
    if (group.size() == 1) return;
    std::uint64_t scanned = 0;
    group.Sweep(atomics::Load(&s.control->slice_count), 1, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) {
        const Slice slice = s.slices[i];
        if (Traits<P>::kAnyMessageSuffices && detail::TestShared(s.touched, slice.vertex)) continue;
        const EdgeIndex begin = s.graph.reverse.offsets[slice.vertex] + slice.index * kSliceEdges;
        const EdgeIndex end = std::min(begin + kSliceEdges, s.graph.reverse.offsets[slice.vertex + 1]);
        MessageOf<P> message{};
        if (!detail::PullEdges(s, round, all_active, slice.vertex, begin, end, &message, &scanned)) continue;
        if (!KeepsMessages(s)) {
          bits::Set<true>(s.touched, slice.vertex);
        } else {
          ReduceInto<P, true>(s.program, &s.inbox[slice.vertex], message);
          bits::Set<true>(s.touched, slice.vertex);
        }
      }
    });
    atomics::Add<true>(&s.control->edges_touched, scanned);
  }
}
}  // namespace chatty::steps::host
