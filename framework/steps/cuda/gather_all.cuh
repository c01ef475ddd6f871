/// \file
/// Programs that see all messages to a vertex, counted (kCount): a warp or a block counts them in a table in shared memory,
/// or, where they do not fit, sorts them by a bitonic network.
#pragma once

#include "chatty/framework/steps/cuda/block.cuh"

namespace chatty::steps::cuda {

namespace detail {

/// Sorts data[0 .. size) with the threads [rank, rank + width) of a group: a bitonic network whose last step mirrors, so
/// that any size works as if padded with the largest value. `sync` is the group's barrier.
template <class T, class Sync>
__device__ void SortTogether(T* data, std::uint64_t size, unsigned rank, unsigned width, Sync&& sync) {
  for (std::uint64_t run = 2; run / 2 < size; run *= 2) {
    for (std::uint64_t span = run; span >= 2; span /= 2) {
      const std::uint64_t flip = span == run ? span - 1 : span / 2;
      for (std::uint64_t i = rank; i < size; i += width) {
        const std::uint64_t j = i ^ flip;
        if (j > i && j < size && data[j] < data[i]) {
          const T swap = data[i];
          data[i] = data[j];
          data[j] = swap;
        }
      }
      sync();
    }
  }
}

/// The threads that have a row to themselves: a warp,
struct WarpTeam {
  static constexpr unsigned kWidth = 32;
  __device__ static unsigned rank() { return Lane(); }
  __device__ static void sync() { __syncwarp(); }
  __device__ static bool any(bool mine) { return __any_sync(kFull, mine) != 0; }
};
/// or a block.
struct BlockTeam {
  static constexpr unsigned kWidth = kBlock;
  __device__ static unsigned rank() { return threadIdx.x; }
  __device__ static void sync() { __syncthreads(); }
  __device__ static bool any(bool mine) { return __syncthreads_or(mine) != 0; }
};

/// Where a block counts equal messages: a table for each warp, or one for all.
template <class Message>
struct CountTempStorage {
  /// Of a warp's table. One more is for messages that equal the value of a free slot.
  static constexpr unsigned kSlots = 2048 / sizeof(Message);
  Message values[kWarps * (kSlots + 1)];
  std::uint32_t counts[kWarps * (kSlots + 1)];
};

/// Counts the messages to v in a table of at most `capacity` slots, a power of two, and one more. Returns whether all found
/// a slot; then the first *runs slots are taken, and no others. *size is the number of messages.
template <class P, class Team>
__device__ bool CountTogether(const StateRef<P>& s, LocalId v, const RoundOf<P>& round, bool all_active,
                              MessageOf<P>* values, std::uint32_t* counts, unsigned capacity, std::uint32_t* size,
                              std::uint32_t* runs) {
  using Message = MessageOf<P>;
  using Word = std::conditional_t<sizeof(Message) == 4, unsigned, unsigned long long>;
  constexpr unsigned kProbes = 64;
  constexpr auto kFree = static_cast<Message>(~Word{0});
  const EdgeIndex begin = s.graph.reverse.offsets[v], end = s.graph.reverse.offsets[v + 1];
  unsigned slots = 64;  // no more than the row needs, for all are looked at
  while (slots < capacity && slots < 2 * (end - begin)) slots *= 2;
  for (unsigned i = Team::rank(); i <= slots; i += Team::kWidth) {
    values[i] = kFree;
    counts[i] = 0;
  }
  if (Team::rank() == 0) *size = 0;
  Team::sync();
  bool fits = true;
  std::uint32_t mine = 0;
  for (EdgeIndex e = begin + Team::rank(); e < end && fits; e += Team::kWidth) {
    Message message;
    if (!GatherEdge(s, s.graph.reverse.neighbours[e], v, e, all_active, round, false, &message)) continue;
    mine += 1;
    if (message == kFree) {
      atomicAdd(counts + slots, 1u);
      continue;
    }
    unsigned at = static_cast<unsigned>((static_cast<std::uint64_t>(message) * 0x9e3779b97f4a7c15ull) >> 40);
    fits = false;
    for (unsigned probe = 0; probe < kProbes && !fits; ++probe, ++at) {
      at &= slots - 1;
      const auto held = static_cast<Message>(
          atomicCAS(reinterpret_cast<Word*>(values + at), static_cast<Word>(kFree), static_cast<Word>(message)));
      if (held != kFree && held != message) continue;
      atomicAdd(counts + at, 1u);
      fits = true;
    }
  }
  if (mine != 0) atomicAdd(size, mine);
  if (Team::any(!fits)) return false;
  Team::sync();
  // One thread will walk the runs, so they move together first: never beyond where others are still to be read.
  if (Team::rank() < 32) {
    unsigned taken = 0;
    for (unsigned base = 0; base <= slots; base += 32) {
      const unsigned i = base + Lane();
      const std::uint32_t count = i <= slots ? counts[i] : 0;
      const Message value = i <= slots ? values[i] : Message{};
      const unsigned have = __ballot_sync(kFull, count != 0);
      __syncwarp();
      if (count != 0) {
        const unsigned to = taken + __popc(have & ((1u << Lane()) - 1));
        values[to] = value;
        counts[to] = count;
      }
      taken += __popc(have);
      __syncwarp();
    }
    if (Lane() == 0) *runs = taken;
  }
  Team::sync();
  return true;
}

/// The same for a row of at most 32 edges, without a table: lanes look for their like.
template <class P>
__device__ void CountInWarp(const StateRef<P>& s, LocalId v, const RoundOf<P>& round, bool all_active, MessageOf<P>* values,
                            std::uint32_t* counts, std::uint32_t* size, std::uint32_t* runs) {
  const EdgeIndex e = s.graph.reverse.offsets[v] + Lane();
  MessageOf<P> message{};
  const bool have = e < s.graph.reverse.offsets[v + 1] &&
                    GatherEdge(s, s.graph.reverse.neighbours[e], v, e, all_active, round, false, &message);
  const unsigned all = __ballot_sync(kFull, have);
  unsigned alike = 0;
  if (have) alike = __match_any_sync(all, message);
  const bool first = have && (alike & ((1u << Lane()) - 1)) == 0;
  const unsigned firsts = __ballot_sync(kFull, first);
  if (first) {
    const unsigned to = __popc(firsts & ((1u << Lane()) - 1));
    values[to] = message;
    counts[to] = __popc(alike);
  }
  if (Lane() == 0) {
    *size = __popc(all);
    *runs = __popc(firsts);
  }
  __syncwarp();
}

}  // namespace detail

/// kCount: every candidate sees all messages of its active in-neighbours, counted. A block a vertex for long rows, a lane
/// for short ones, a warp otherwise. New values are set aside; CommitCollected makes them current, a barrier later.
template <class P, class Group>
__device__ void Collect(const Group& group, const StateRef<P>& s, const RoundOf<P>& round, bool all_active) {
  if constexpr (Traits<P>::kCounts) {
    using Message = MessageOf<P>;
    using Memory = detail::CountTempStorage<Message>;
    all_active |= Traits<P>::kEveryRound;
    Counters tally;
    std::uint64_t scanned = 0;
    __shared__ std::uint32_t kept[kWarps], runs_kept[kWarps];
    __shared__ Memory temp_storage;
    const auto update = [&](LocalId v, const auto& messages) {
      ValueOf<P> value = s.values[v];
      bool active = false;
      if (Traits<P>::kEveryRound || (!messages.empty() && IsCandidate(s, v))) {
        active = UpdateValue(s, v, value, messages, s.At(v), round);
        active = Changed<P>(active, s.values[v], value);
      }
      s.next_values[v] = value;
      if (active) {
        bits::Set<true>(s.touched, v);
        tally.vertices += 1;
        tally.edges += s.graph.forward.degree(v);
      }
    };
    const auto one = [&](LocalId v, auto team, unsigned table) {
      using Team = decltype(team);
      const EdgeIndex begin = s.graph.reverse.offsets[v], end = s.graph.reverse.offsets[v + 1];
      if constexpr (Traits<P>::kStationary) {
        if (begin < end && !Team::any(MaySeeOthers(s, begin + Team::rank(), end, Team::kWidth))) {
          if (Team::rank() == 0) s.next_values[v] = s.values[v];
          return;
        }
      }
      if (Team::rank() == 0) scanned += end - begin;
      std::uint32_t* const size = &kept[table];
      constexpr bool kWarp = std::is_same_v<Team, detail::WarpTeam>;
      constexpr unsigned kSlots = Memory::kSlots;
      Message* const values = temp_storage.values + table * (kSlots + 1);
      std::uint32_t *const counts = temp_storage.counts + table * (kSlots + 1), *const runs = &runs_kept[table];
      bool counted = true;
      if (kWarp && end - begin <= 32) {
        detail::CountInWarp(s, v, round, all_active, values, counts, size, runs);
      } else {
        counted = detail::CountTogether<P, Team>(s, v, round, all_active, values, counts, kWarp ? kSlots : kWarps * kSlots,
                                                 size, runs);
      }
      if (counted) {
        if (Team::rank() == 0) update(v, Counts<Message>(values, counts, *runs, *size));
        Team::sync();
        return;
      }
      Team::sync();
      if (Team::rank() == 0) *size = 0;
      Team::sync();
      for (EdgeIndex e = begin + Team::rank(); e < end; e += Team::kWidth) {
        Message message;
        if (GatherEdge(s, s.graph.reverse.neighbours[e], v, e, all_active, round, false, &message)) {
          s.collected[begin + atomicAdd(size, 1u)] = message;
        }
      }
      Team::sync();
      const std::uint32_t messages = *size;
      detail::SortTogether(s.collected + begin, messages, Team::rank(), Team::kWidth, [] { Team::sync(); });
      if (Team::rank() == 0) update(v, Counts<Message>(s.collected + begin, messages));
      Team::sync();
    };
    // Each lane with a row of its own, where there are few messages to compare.
    constexpr unsigned kLaneRow = 8;
    const auto alone = [&](LocalId v, EdgeIndex begin, EdgeIndex end) {
      if (Traits<P>::kStationary && begin < end && !MaySeeOthers(s, begin, end, 1)) {
        s.next_values[v] = s.values[v];
        return;
      }
      scanned += end - begin;
      Message values[kLaneRow];
      std::uint32_t counts[kLaneRow], size = 0;
      for (EdgeIndex e = begin; e < end; ++e) {
        if (GatherEdge(s, s.graph.reverse.neighbours[e], v, e, all_active, round, false, &values[size])) counts[size++] = 1;
      }
      for (unsigned i = 1; i < size; ++i) {
        unsigned first = 0;
        while (values[first] != values[i]) ++first;
        if (first == i) continue;
        counts[first] += 1;
        counts[i] = 0;
      }
      update(v, Counts<Message>(values, counts, size, size));
    };
    const std::size_t owned = s.graph.owned;
    const std::size_t warps = std::size_t{BlockCount(group)} * kWarps;
    unsigned lanes = 32;  // a small graph is spread over all warps, fewer rows each
    while (lanes > 1 && owned <= warps * (lanes / 2)) lanes /= 2;
    for (std::size_t base = (std::size_t{BlockRank(group)} * kWarps + Warp()) * lanes; base < owned; base += warps * lanes) {
      const std::size_t i = base + Lane();
      const auto v = static_cast<LocalId>(i);
      const bool mine = Lane() < lanes && i < owned;
      EdgeIndex begin = 0, end = 0;
      if (mine) {
        begin = s.graph.reverse.offsets[v];
        end = s.graph.reverse.offsets[v + 1];
      }
      bool wide = mine && end - begin < kBlockDegree;
      if (wide && end - begin <= kLaneRow) {
        alone(v, begin, end);
        wide = false;
      }
      for (unsigned left = __ballot_sync(kFull, wide); left != 0; left &= left - 1) {
        one(static_cast<LocalId>(base + __ffs(left) - 1), detail::WarpTeam{}, Warp());
      }
    }
    __syncthreads();
    for (std::size_t v = BlockRank(group); v < owned; v += BlockCount(group)) {
      if (s.graph.reverse.degree(static_cast<LocalId>(v)) < kBlockDegree) continue;
      one(static_cast<LocalId>(v), detail::BlockTeam{}, 0);
    }
    AddFromBlock(&s.control->active_vertices, tally.vertices);
    AddFromBlock(&s.control->active_edges, tally.edges);
    AddFromBlock(&s.control->edges_touched, scanned);
  }
}
template <class P, class Group>
__device__ void CommitCollected(const Group& group, const StateRef<P>& s) {
  if constexpr (Traits<P>::kCounts) {
    for (std::size_t base = std::size_t{BlockRank(group)} * kBlock; base < s.graph.owned;
         base += std::size_t{BlockCount(group)} * kBlock) {
      const std::size_t i = base + threadIdx.x;
      if (i >= s.graph.owned) continue;
      s.values[i] = s.next_values[i];
      if (i % 32 == 0) {
        s.active[i / 32] = s.touched[i / 32] & bits::Mask(i / 32, s.graph.owned);
        s.touched[i / 32] = 0;
      }
    }
  }
}
}  // namespace chatty::steps::cuda
