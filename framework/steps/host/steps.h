/// \file
/// The steps on CPU threads: the same names and meanings as steps/cuda, over the members of a worker team.
///
/// Every member of the team calls every step; between two steps that depend on each other the caller puts a barrier of the
/// team (or the end of a job). Work is handed out in chunks, so that a thread that loses its core loses one chunk's time.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <vector>

#include "chatty/core/prefetch.h"
#include "chatty/core/team.h"
#include "chatty/framework/steps/host/count.h"
#include "chatty/framework/steps/vertex_ops.h"

namespace chatty::steps::host {

/// Cursors that hand out chunks of work to the members of a team.
class Cursors {
 private:
  friend class Group;
  struct alignas(64) Cursor {
    std::atomic<std::size_t> next{0};
  };
  Cursor cursors_[4];

 public:
  /// Ready for sweep 0 again, after a job that ended in an exception and left them anywhere. Only while no job runs.
  void Reset() noexcept {
    for (Cursor& cursor : cursors_) cursor.next.store(0, std::memory_order_relaxed);
  }
};

/// One member's handle on the team's work: what a cooperative group is to a GPU step.
class Group {
 public:
  /// `sweeps` is how many sweeps have run on these cursors so far: the same for all members of a job.
  Group(TeamMember& member, Cursors& cursors, std::uint32_t sweeps) : member_(member), cursors_(cursors), sweeps_(sweeps) {}

  int rank() const { return member_.rank(); }
  int size() const { return member_.size(); }
  void sync() { member_.sync(); }
  void sync_soon() { member_.sync_soon(); }         ///< see TeamMember
  std::uint32_t sweeps() const { return sweeps_; }  ///< where the next job continues

  /// Calls body(begin, end) on chunks of [0, count) of `grain` items. There is no barrier in it: a member may run ahead into
  /// the next sweep. Between a sweep and the next but one there must be a barrier, or a cursor is reset while in use.
  template <class Body>
  void Sweep(std::size_t count, std::size_t grain, Body&& body) {
    if (size() == 1) {
      if (count > 0) body(std::size_t{0}, count);
      return;
    }
    std::atomic<std::size_t>& cursor = cursors_.cursors_[sweeps_ & 3].next;
    if (rank() == 0) cursors_.cursors_[(sweeps_ + 2) & 3].next.store(0, std::memory_order_relaxed);
    ++sweeps_;
    for (std::size_t begin; (begin = cursor.fetch_add(grain, std::memory_order_relaxed)) < count;) {
      body(begin, std::min(begin + grain, count));
    }
  }

 private:
  TeamMember& member_;
  Cursors& cursors_;
  std::uint32_t sweeps_;
};

inline bool IsFirst(const Group& group) { return group.rank() == 0; }

/// Vertices a chunk: a multiple of 32, so that a chunk owns its bitmap words.
inline constexpr std::size_t kVertexGrain = 1024;
inline constexpr std::size_t kQueueGrain = 64;

namespace detail {

/// Appends to a shared queue through a buffer of the thread's own.
template <class T>
class Appender {
 public:
  Appender(T* queue, std::uint32_t* count, bool concurrent) : queue_(queue), count_(count), concurrent_(concurrent) {}
  ~Appender() { Flush(); }
  Appender(const Appender&) = delete;
  Appender& operator=(const Appender&) = delete;
  void Push(const T& item) {
    if (!concurrent_) {
      queue_[(*count_)++] = item;
      return;
    }
    buffer_[size_++] = item;
    if (size_ == kBuffer) Flush();
  }

 private:
  static constexpr std::uint32_t kBuffer = 512;
  void Flush() {
    if (size_ == 0) return;
    const std::uint32_t at = atomics::Add<true>(count_, size_);
    std::copy(buffer_, buffer_ + size_, queue_ + at);
    size_ = 0;
  }
  T* queue_;
  std::uint32_t* count_;
  bool concurrent_;
  std::uint32_t size_ = 0;
  T buffer_[kBuffer];
};

template <class P>
void AddTally(const StateRef<P>& s, const Counters& tally) {
  atomics::Add<true>(&s.control->active_vertices, tally.vertices);
  atomics::Add<true>(&s.control->active_edges, tally.edges);
  if (tally.wanting != 0) atomics::Add<true>(&s.control->candidate_edges, tally.wanting);
  if constexpr (Traits<P>::kOrders) {
    if (tally.pending != 0) atomics::Add<true>(&s.control->pending_vertices, tally.pending);
    if (tally.fresh != 0) atomics::Add<true>(&s.control->fresh_edges, tally.fresh);
    atomics::Max<true>(&s.control->first_pending, tally.first_pending);
  }
}

/// Calls body(std::bool_constant<concurrent>) so that a lone thread runs without atomics, unless `others` write, too.
template <class Body>
void ByConcurrency(const Group& group, Body&& body, bool others = false) {
  if (group.size() > 1 || others) {
    body(std::true_type{});
  } else {
    body(std::false_type{});
  }
}

inline bool TestShared(const std::uint32_t* words, LocalId i) { return (atomics::Load(words + (i >> 5)) >> (i & 31)) & 1u; }

/// The edges of those of word w's vertices that are in `word`, none of them at or beyond `end`.
inline std::uint64_t EdgesOf(const AdjacencyRef& rows, std::size_t w, std::uint32_t word, std::size_t end) {
  const std::uint32_t all = bits::Mask(w, end);
  const bool most = 2 * __builtin_popcount(word) > __builtin_popcount(all);
  std::uint64_t counted = 0;
  for (std::uint32_t rest = most ? all & ~word : word; rest != 0; rest &= rest - 1) {
    counted += rows.degree(static_cast<LocalId>(w * 32 + static_cast<std::size_t>(__builtin_ctz(rest))));
  }
  if (!most) return counted;
  const std::size_t last = std::min(end, w * 32 + 32);
  return rows.offsets[static_cast<LocalId>(last)] - rows.offsets[static_cast<LocalId>(w * 32)] - counted;
}

}  // namespace detail

template <class P>
void Init(Group& group, const StateRef<P>& s, const PriorOf<P>* prior) {
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
    if constexpr (Traits<P>::kTellsOnce) {  // local vertices are at least as many as the halo's
      for (std::size_t w = begin / 32; w < std::min(s.ToldWords(), bits::Words(end)); ++w) s.told[w] = 0;
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
      std::uint32_t active = 0, wanting = 0;
      for (std::size_t i = w * 32; i < std::min(end, w * 32 + 32); ++i) {
        const auto v = static_cast<LocalId>(i);
        active |= std::uint32_t{Traits<P>::kEveryRound || StartsActive(s, v, round)} << (i & 31);
        wanting |= std::uint32_t{IsCandidate(s, v)} << (i & 31);
      }
      s.active[w] = active;
      tally.vertices += static_cast<unsigned>(__builtin_popcount(active));
      tally.edges += detail::EdgesOf(s.graph.forward, w, active, end);
      tally.wanting += static_cast<std::int64_t>(detail::EdgesOf(s.graph.reverse, w, wanting, end));
    }
  });
  detail::AddTally(s, tally);
}

namespace detail {

/// What a thread's pushes did to the halo, by owner.
struct HaloTally {
  std::uint64_t raw[kMaxDevices] = {};    ///< edges
  std::uint32_t first[kMaxDevices] = {};  ///< vertices that got their first message
};

/// Edges of [begin, begin + count), at most 32, whose messages may be wanted, as bits. Targets are looked at, or called from
/// memory, all together: the atomics of a delivery let no later load begin before they end. `ask`: as DeliverBit has it.
template <class P>
std::uint32_t WantedEdges(const StateRef<P>& s, const RoundOf<P>& round, LocalId source, const SharedOf<P>& shared,
                          EdgeIndex begin, unsigned count, [[maybe_unused]] bool ask) {
  std::uint32_t wanted = 0;
  for (unsigned i = 0; i < count; ++i) {
    const LocalId target = s.graph.forward.neighbours[begin + i];
    bool wants = true;
    if constexpr (Traits<P>::kHasWants || Traits<P>::kHasWantsMessage) {
      if (target < s.graph.owned && (ask || KeepsMessages(s))) {
        if constexpr (Traits<P>::kHasWants) wants = s.asynchronous || s.program.Wants(s.values[target]);
        if constexpr (Traits<P>::kHasWantsMessage) {
          const MessageOf<P> message = Scatter(s, shared, source, target, s.graph.forward, begin + i, round);
          wants = wants && s.program.Wants(s.values[target], message);
        }
      }
    }
    wanted |= std::uint32_t{wants} << i;
    if (wants) {
      PrefetchToWrite(s.touched + (target >> 5));
      if (KeepsMessages(s)) PrefetchToWrite(s.inbox + target);
    }
  }
  return wanted;
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
    for (std::uint32_t wanted = WantedEdges(s, round, source, shared, begin, count, queue_out); wanted != 0;
         wanted &= wanted - 1) {
      push(begin + static_cast<unsigned>(__builtin_ctz(wanted)));
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
  detail::ByConcurrency(
      group,
      [&](auto concurrent) {
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
              const auto pieces = static_cast<std::uint32_t>((end - begin + kSliceEdges - 1) / kSliceEdges);
              const std::uint32_t at = atomics::Add<true>(&s.control->slice_count, pieces);
              for (std::uint32_t i = 0; i < pieces; ++i) s.slices[at + i] = {v, i};
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
      },
      s.peers_deliver);
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
inline constexpr bool kCombinesApart = std::is_arithmetic_v<MessageOf<P>> && !Traits<P>::kFirstSuffices &&
                                       !Traits<P>::kHasWantsMessage && !Traits<P>::kCollects;

/// Pulls along edges [begin, end) of `target`'s row.
template <class P>
bool PullEdges(const StateRef<P>& s, const RoundOf<P>& round, bool all_active, LocalId target, EdgeIndex begin,
               EdgeIndex end, MessageOf<P>* message, std::uint64_t* scanned) {
  bool have = false;
  // Rows are in the order of local ids, which is that of ids where they are the same; of edges both ways they are two,
  // merged.
  const bool first = Traits<P>::kFirstSuffices ||
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

/// Of word w's vertices below `end` those that may want messages. Where they are a choice, the begins of their rows are
/// fetched: the next ones' come from memory while these are walked.
template <class P>
std::uint32_t Candidates(const StateRef<P>& s, std::size_t w, std::size_t end) {
  std::uint32_t word = bits::Mask(w, end);
  if constexpr (Traits<P>::kHasWants) {
    std::uint32_t wanting = 0;
    for (std::size_t i = w * 32; i < std::min(end, w * 32 + 32); ++i) {
      wanting |= std::uint32_t{s.program.Wants(s.values[i])} << (i & 31);
    }
    word = wanting;
    for (; wanting != 0; wanting &= wanting - 1) {
      const auto v = static_cast<LocalId>(w * 32 + static_cast<std::size_t>(__builtin_ctz(wanting)));
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
          const auto pieces = static_cast<std::uint32_t>((degree + kSliceEdges - 1) / kSliceEdges);
          const std::uint32_t at = atomics::Add<true>(&s.control->slice_count, pieces);
          for (std::uint32_t p = 0; p < pieces; ++p) s.slices[at + p] = {v, p};
        }
      }
      std::uint32_t touched = 0;
      bool first = false;
      if constexpr (Traits<P>::kFirstSuffices && !Traits<P>::kHasWantsMessage) first = !all_active;
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
        if (Traits<P>::kFirstSuffices && detail::TestShared(s.touched, slice.vertex)) continue;
        const EdgeIndex begin = s.graph.reverse.offsets[slice.vertex] + slice.index * kSliceEdges;
        const EdgeIndex end = std::min(begin + kSliceEdges, s.graph.reverse.offsets[slice.vertex + 1]);
        MessageOf<P> message{};
        if (!detail::PullEdges(s, round, all_active, slice.vertex, begin, end, &message, &scanned)) continue;
        if (!KeepsMessages(s)) {
          bits::Set<true>(s.touched, slice.vertex);
        } else if constexpr (P::kReduction == Reduction::kAny) {
          if (bits::Set<true>(s.touched, slice.vertex)) s.inbox[slice.vertex].message = message;
        } else {
          ReduceInto<P, true>(s.program, &s.inbox[slice.vertex], message);
          bits::Set<true>(s.touched, slice.vertex);
        }
      }
    });
    atomics::Add<true>(&s.control->edges_touched, scanned);
  }
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

template <class P>
void QueueToBitmap(Group& group, const StateRef<P>& s, std::size_t count) {
  group.Sweep(count, kVertexGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) bits::Set<true>(s.active, s.frontier[i]);
  });
}

template <class P>
void BitmapToQueue(Group& group, const StateRef<P>& s) {
  detail::Appender<LocalId> next(s.next, &s.control->next_count, group.size() > 1);
  group.Sweep(s.graph.owned, kVertexGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t w = begin / 32; w < bits::Words(end); ++w) {
      for (std::uint32_t word = s.active[w] & bits::Mask(w, end); word != 0; word &= word - 1) {
        next.Push(static_cast<LocalId>(w * 32 + static_cast<std::size_t>(__builtin_ctz(word))));
      }
    }
  });
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
          if ((s.order.seen[w] & bit) == 0) tally.fresh += degree;
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

template <class P>
void ClearActive(Group& group, const StateRef<P>& s, bool halo_only) {
  const LocalId first = halo_only ? s.graph.owned : 0;
  const std::size_t base = first / 32;
  group.Sweep(bits::Words(s.graph.local) - base, kVertexGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t w = base + begin; w < base + end; ++w) s.active[w] = w == base ? s.active[w] & bits::Mask(w, first) : 0;
  });
}

namespace detail {

/// Bitmap form: bits, and the payloads of those that are set, a segment's together.
template <class Payload, class Bit, class Value>
void PackBitmap(Group& group, std::byte* buffer, std::uint32_t* count, std::size_t size, Bit&& bit, Value&& value) {
  static_assert(kVertexGrain % kBufferSegment == 0);
  auto* const words = reinterpret_cast<std::uint32_t*>(buffer);
  auto* const segments = reinterpret_cast<std::uint32_t*>(buffer + SegmentsOffset(size));
  std::byte* const values = buffer + BitmapValuesOffset(size);
  group.Sweep(size, kVertexGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t from = begin; from < end; from += kBufferSegment) {
      const std::size_t to = std::min(from + kBufferSegment, end);
      std::uint32_t set = 0;
      for (std::size_t w = from / 32; w < bits::Words(to); ++w) {
        std::uint32_t word = 0;
        for (std::size_t i = w * 32; i < std::min(to, w * 32 + 32); ++i) word |= std::uint32_t{bit(i)} << (i & 31);
        words[w] = word;
        set += static_cast<std::uint32_t>(__builtin_popcount(word));
      }
      std::uint32_t place = set == 0 ? 0 : atomics::Add<true>(count, set);
      if constexpr (kWireBytes < Payload >> 0) segments[from / kBufferSegment] = place;
      for (std::size_t w = from / 32; w < bits::Words(to); ++w) {
        for (std::uint32_t word = words[w]; word != 0; word &= word - 1) {
          StorePayload(values, place++, value(w * 32 + static_cast<std::size_t>(__builtin_ctz(word))));
        }
      }
    }
  });
}

/// Whole form: a payload for every place.
template <class Payload, class Value>
void PackWhole(Group& group, std::byte* buffer, std::uint32_t* count, std::size_t size, Value&& value) {
  if (group.rank() == 0) *count = static_cast<std::uint32_t>(size);
  group.Sweep(size, kVertexGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) StorePayload(buffer, i, value(i));
  });
}

template <class Payload>
void PackRecord(std::uint32_t* count, std::byte* buffer, std::uint32_t index, const Payload& payload) {
  StoreRecord(buffer, atomics::Add<true>(count, 1u), index, payload);
}

/// Calls body(index, payload) for the entries of a buffer that are this device's, `index` counted from inbox.first.
template <class Payload, class Body>
void ForEachEntry(Group& group, const InboxRef& inbox, Body&& body) {
  if (inbox.form == Encoding::kSparse) {
    group.Sweep(inbox.count, kVertexGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        Payload payload{};
        const std::uint32_t index = LoadRecord(inbox.buffer, static_cast<std::uint32_t>(i), &payload);
        if (index >= inbox.first && index < inbox.last) body(index - inbox.first, payload);
      }
    });
    return;
  }
  const auto* const words = reinterpret_cast<const std::uint32_t*>(inbox.buffer);
  const auto* const segments = reinterpret_cast<const std::uint32_t*>(inbox.buffer + SegmentsOffset(inbox.size));
  const std::byte* const values = inbox.buffer + BitmapValuesOffset(inbox.size);
  const std::size_t aligned = inbox.first / kBufferSegment * kBufferSegment;
  group.Sweep(inbox.last - aligned, kVertexGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t from = aligned + begin; from < aligned + end; from += kBufferSegment) {
      const std::size_t to = std::min(from + kBufferSegment, aligned + end);
      Payload payload{};
      if (inbox.form == Encoding::kDense) {
        for (std::size_t i = std::max<std::size_t>(from, inbox.first); i < to; ++i) {
          LoadPayload(inbox.buffer, i, &payload);
          body(static_cast<std::uint32_t>(i - inbox.first), payload);
        }
        continue;
      }
      std::uint32_t place = 0;
      if constexpr (kWireBytes < Payload >> 0) place = segments[from / kBufferSegment];
      for (std::size_t w = from / 32; w < bits::Words(to); ++w) {
        for (std::uint32_t word = words[w]; word != 0; word &= word - 1, ++place) {
          const std::size_t i = w * 32 + static_cast<std::size_t>(__builtin_ctz(word));
          if (i < inbox.first || i >= inbox.last) continue;
          LoadPayload(values, place, &payload);
          body(static_cast<std::uint32_t>(i - inbox.first), payload);
        }
      }
    }
  });
}

}  // namespace detail

namespace detail {

/// PackMessages, of messages that look like that on the wire.
template <class P, class Payload>
void PackMessagesAs(Group& group, const StateRef<P>& s, const OutboxRef& outbox, bool queued) {
  const bool for_all = outbox.for_all != nullptr;
  const auto take = [&](LocalId h) {
    Payload payload{};
    if constexpr (std::is_same_v<Payload, Slot<MessageOf<P>>>) payload = s.inbox[h];
    ReleaseHalo<P, true>(s, h);
    return payload;
  };
  bool pairs = false;
  ForEachMessageBuffer(s, outbox, [&](std::uint32_t place, std::byte* buffer, LocalId first, LocalId size, Encoding form) {
    if (group.rank() == 0) s.control->buffer_encoding[place] = static_cast<std::uint32_t>(form);
    std::uint32_t* const count = &s.control->buffer_count[place];
    const auto value = [&](std::size_t i) { return take(first + static_cast<LocalId>(i)); };
    if (form == Encoding::kSparse) {
      pairs = true;
      return;
    }
    if (form == Encoding::kDense) {
      detail::PackWhole<Payload>(group, buffer, count, size, value);
    } else {
      detail::PackBitmap<Payload>(
          group, buffer, count, size,
          [&](std::size_t i) { return detail::TestShared(s.touched, first + static_cast<LocalId>(i)); }, value);
    }
    group.sync();
  });
  if (!pairs) return;
  const auto pack = [&](LocalId h) {
    const std::uint32_t owner = s.graph.HaloOwner(h);
    if (for_all) {
      detail::PackRecord(&s.control->buffer_count[s.graph.part], outbox.for_all, h - s.graph.owned, take(h));
    } else if (MessageForm(s, owner) == Encoding::kSparse) {
      detail::PackRecord(&s.control->buffer_count[owner], outbox.buffer[owner], h - s.graph.halo_begin[owner], take(h));
    }
  };
  const std::size_t halo = s.graph.local - s.graph.owned;
  group.Sweep(queued ? atomics::Load(&s.control->touched_halo_count) : halo, kVertexGrain,
              [&](std::size_t begin, std::size_t end) {
                for (std::size_t i = begin; i < end; ++i) {
                  if (queued) {
                    pack(s.touched_halo[i]);
                  } else if (const auto h = static_cast<LocalId>(s.graph.owned + i); detail::TestShared(s.touched, h)) {
                    pack(h);
                  }
                }
              });
}

}  // namespace detail

template <class P>
void PackMessages(Group& group, const StateRef<P>& s, const OutboxRef& outbox, bool queued) {
  WithMessagePayload(s, [&](auto payload) { detail::PackMessagesAs<P, decltype(payload)>(group, s, outbox, queued); });
}

template <class P>
void DeliverMessages(Group& group, const StateRef<P>& s, const StateRef<P>* parts) {
  std::uint32_t sent[kMaxDevices] = {};
  group.Sweep(atomics::Load(&s.control->touched_halo_count), kQueueGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const LocalId h = s.touched_halo[i];
      const StateRef<P>& owner = parts[s.graph.HaloOwner(h)];
      const LocalId v = AtOwner(s, owner, h);
      const MessageOf<P> message = KeepsMessages(s) ? s.inbox[h].message : MessageOf<P>{};
      ReleaseHalo<P, true, atomics::Scope::kSystem>(s, h);
      if (Deliver<P, true, atomics::Scope::kSystem>(owner, v, message) == Delivery::kFirst) {
        owner.touched_queue[atomics::Add<true, atomics::Scope::kSystem>(&owner.control->touched_count, 1u)] = v;
      }
      sent[owner.graph.part] += 1;
    }
  });
  for (std::uint32_t p = 0; p < s.graph.parts; ++p) {
    if (sent[p] != 0) atomics::Add<true>(&s.control->buffer_count[p], sent[p]);
    if (group.rank() == 0) s.control->buffer_encoding[p] = static_cast<std::uint32_t>(Encoding::kAtomics);
  }
}

template <class P>
void PackShared(Group& group, const StateRef<P>& s, const OutboxRef& outbox, const SharedPlan& plan) {
  using Payload = SharedSlot<P>;
  ForEachSharedBuffer(s, outbox, plan,
                      [&](std::uint32_t place, std::byte* buffer, const LocalId* vertices, LocalId size, Encoding form) {
                        std::uint32_t* const count = &s.control->buffer_count[place];
                        if (group.rank() == 0) s.control->buffer_encoding[place] = static_cast<std::uint32_t>(form);
                        const auto active = [&](std::size_t i) { return plan.all || bits::Test(s.active, vertices[i]); };
                        const auto value = [&](std::size_t i) { return LoadShared(s, vertices[i]); };
                        if (form == Encoding::kBitmap) {
                          detail::PackBitmap<Payload>(group, buffer, count, size, active, value);
                        } else if (form == Encoding::kDense) {
                          detail::PackWhole<Payload>(group, buffer, count, size, value);
                        } else {
                          group.Sweep(size, kVertexGrain, [&](std::size_t begin, std::size_t end) {
                            for (std::size_t i = begin; i < end; ++i) {
                              if (active(i)) detail::PackRecord(count, buffer, static_cast<std::uint32_t>(i), value(i));
                            }
                          });
                        }
                        group.sync();
                      });
}

template <class P>
void UnpackMessages(Group& group, const StateRef<P>& s, const InboxRef& inbox, std::uint32_t peer, bool queue_out) {
  const LocalId* const vertices = s.border.vertices + s.border.begin[peer];
  WithMessagePayload(s, [&](auto looks_like) {
    using Payload = decltype(looks_like);
    detail::ByConcurrency(group, [&](auto concurrent) {
      detail::Appender<LocalId> queue(s.touched_queue, &s.control->touched_count, group.size() > 1);
      detail::ForEachEntry<Payload>(group, inbox, [&](std::uint32_t index, const Payload& payload) {
        const LocalId v = vertices[index];
        const Delivery delivery = Deliver<P, decltype(concurrent)::value>(s, v, MessageIn<P>(payload), queue_out);
        if (queue_out && delivery == Delivery::kFirst) queue.Push(v);
      });
    });
  });
}

template <class P>
void UnpackShared(Group& group, const StateRef<P>& s, const InboxRef& inbox, std::uint32_t peer, const LocalId* to_halo) {
  using Payload = SharedSlot<P>;
  detail::ForEachEntry<Payload>(group, inbox, [&](std::uint32_t index, const Payload& payload) {
    ReceiveShared<P, true>(s, peer, index, to_halo, payload);
  });
}

/// One partial aggregate a chunk of fixed size, combined in chunk order by the caller: the same bits at any thread count.
inline constexpr std::size_t kMeasureGrain = 16384;
namespace detail {

/// ApplyAll of vertices [begin, end). State and round by value: stores to values cannot change them.
template <class P>
GlobalOf<P> ApplyStretch(const StateRef<P> s, const RoundOf<P> round, std::size_t begin, std::size_t end, Counters* tally) {
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
  tally->wanting += mine.wanting;
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
      [[maybe_unused]] const GlobalOf<P> measure = detail::ApplyStretch<P>(s, round, c * kMeasureGrain, end, &tally);
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

namespace detail {

/// Calls update(messages) with all messages to v, sorted.
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
  update(chatty::detail::UpdateOf<P>(all, messages));
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
  constexpr std::size_t kAtOnce = 256;
  Message some[kAtOnce];
  std::size_t count = 0;
  bool fits = true;
  if (end - begin > 2) counter.Begin(end - begin);
  for (EdgeIndex e = begin; e < end && fits;) {
    count = 0;
    for (const EdgeIndex last = std::min<EdgeIndex>(end, e + kAtOnce); e < last; ++e) {
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
  if constexpr (Traits<P>::kCollects) {
    Counters tally;
    std::uint64_t scanned = 0;
    [[maybe_unused]] std::conditional_t<Traits<P>::kCounts, MessageCounter<MessageOf<P>>, None> counter;
    group.Sweep(s.graph.owned, kVertexGrain, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) {
        const auto v = static_cast<LocalId>(i);
        const EdgeIndex begin = s.graph.reverse.offsets[v], end = s.graph.reverse.offsets[v + 1];
        if (Traits<P>::kSameAgain && begin < end && !MaySeeOthers(s, begin, end, 1)) {
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
        if constexpr (Traits<P>::kCounts) {
          detail::Counted(s, v, round, Traits<P>::kEveryRound || all_active, counter, update);
        } else {
          detail::Sorted(s, v, round, Traits<P>::kEveryRound || all_active, update);
        }
      }
    });
    detail::AddTally(s, tally);
    atomics::Add<true>(&s.control->edges_touched, scanned);
  }
}

template <class P>
void CommitCollected(Group& group, const StateRef<P>& s) {
  if constexpr (Traits<P>::kCollects) {
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
