/// \file
/// Pull on a GPU: vertices that still take messages look for active neighbours along their reverse edges. Lanes, warps and
/// blocks share rows as in a push.
#pragma once

#include "chatty/framework/steps/cuda/block.cuh"

namespace chatty::steps::cuda {

/// Before a pull: stores what each frontier vertex shares with its neighbours, once a vertex. Nothing to do where that is
/// the value.
template <class P, class Group>
__device__ void Publish(const Group& group, const StateRef<P>& s, Form form) {
  if constexpr (Traits<P>::kSharesSeparately) {
    const unsigned stride = BlockCount(group) * kBlock;
    for (std::size_t i = std::size_t{BlockRank(group)} * kBlock + threadIdx.x; i < s.graph.owned; i += stride) {
      const auto v = static_cast<LocalId>(i);
      if (form == Form::kAll || bits::Test(s.active, v)) s.shared[v] = TakeShared(s, v);
    }
  }
}

namespace detail {

template <class P>
struct PullTempStorage {
  SharedArray<MessageOf<P>, kBlock> message;
  bool have[kBlock];
  EdgeIndex begin[kBlock];
  LocalId vertex[kBlock];
};

/// Combines the lanes' messages; lane 0 ends with the result. All lanes call it.
template <class P>
__device__ bool ReduceWarp(const P& program, MessageOf<P>* message, bool have) {
  for (unsigned d = 16; d > 0; d /= 2) {
    const MessageOf<P> other = Shuffle(*message, Lane() + d);
    const bool other_has = __shfl_down_sync(kFull, have, d) && Lane() + d < 32;
    if (other_has) *message = have ? Reduce<P>(program, *message, other) : other;
    have = have || other_has;
  }
  return have;
}

/// A whole warp walks the edges [begin, end) of target's row. Lane 0 ends with the result. All lanes call it.
template <class P>
__device__ bool PullRow(const StateRef<P>& s, const RoundOf<P>& round, bool all_active, LocalId target, EdgeIndex begin,
                        EdgeIndex end, unsigned lanes_from, unsigned lanes, MessageOf<P>* message, std::uint32_t* scanned) {
  bool have = false;
  for (EdgeIndex k = begin + lanes_from; k < end; k += lanes) {
    const EdgeIndex e = k + Lane();
    if (e < end) {
      have = GatherEdge(s, s.graph.reverse.neighbours[e], target, e, all_active, round, have, message) || have;
      *scanned += 1;
    }
    if constexpr (Traits<P>::kAnyMessageSuffices) {
      const unsigned found = __ballot_sync(kFull, have);
      if (found != 0) {
        *message = Shuffle(*message, __ffs(found) - 1);
        return true;
      }
    }
  }
  return ReduceWarp(s.program, message, have);
}

/// A warp pulls for a vertex v of each lane that is a candidate. Returns whether the lane's vertex has got a message, which
/// is then in its inbox. All lanes call it.
template <class P>
__device__ bool GatherVertex(const StateRef<P>& s, const RoundOf<P>& round, bool all_active,
                             PullTempStorage<P>& temp_storage, bool is_candidate, LocalId v, std::uint32_t* scanned) {
  constexpr EdgeIndex kProbe = 16;  // edges that a lane tries alone; most vertices of a frontier's surroundings need few
  [[maybe_unused]] const unsigned t = threadIdx.x;
  EdgeIndex begin = 0, degree = 0;
  if (is_candidate) {
    begin = s.graph.reverse.offsets[v];
    degree = s.graph.reverse.offsets[v + 1] - begin;
  }
  MessageOf<P> message{};
  bool have = false;
  if constexpr (Traits<P>::kAnyMessageSuffices) {
    EdgeIndex probes = degree < kProbe ? degree : kProbe;
    for (EdgeIndex k = 0; k < probes && !have; ++k) {
      have = GatherEdge(s, s.graph.reverse.neighbours[begin + k], v, begin + k, all_active, round, false, &message);
      *scanned += 1;
    }
    if (have) degree = 0;
    begin += probes;
    degree -= degree < probes ? degree : probes;
  }
  if constexpr (Traits<P>::kCanPush) {  // slices combine by atomics, which exist for what can be pushed
    if (degree >= kHubDegree) {
      const EdgeIndex whole = s.graph.reverse.degree(v);
      CutIntoSlices(s.slices, &s.control->slice_count, v, whole);
      degree = 0;
    }
  }
  unsigned wide = __ballot_sync(kFull, degree >= kWarpDegree || (Traits<P>::kAnyMessageSuffices && degree > 0));
  while (wide != 0) {
    const unsigned owner = __ffs(wide) - 1;
    wide &= wide - 1;
    const EdgeIndex row = __shfl_sync(kFull, begin, owner), edges = __shfl_sync(kFull, degree, owner);
    MessageOf<P> found{};
    bool any = PullRow(s, round, all_active, __shfl_sync(kFull, v, owner), row, row + edges, 0, 32, &found, scanned);
    any = __shfl_sync(kFull, any, 0);
    found = Shuffle(found, 0);
    if (Lane() == owner && any) {
      message = found;
      have = true;
    }
  }
  if constexpr (!Traits<P>::kAnyMessageSuffices) {
    const unsigned short_row = degree < kWarpDegree ? static_cast<unsigned>(degree) : 0;
    temp_storage.have[t] = false;
    temp_storage.begin[t] = begin;
    temp_storage.vertex[t] = v;
    *scanned += short_row;
    const WarpRows rows(short_row);
    __syncwarp();
    for (unsigned k = 0; k < rows.total(); k += 32) {
      unsigned position;
      const unsigned owner = rows.Owner(k + Lane(), &position);
      const bool valid = k + Lane() < rows.total();
      MessageOf<P> part{};
      bool has = false;
      if (valid) {
        const EdgeIndex e = temp_storage.begin[Warp() * 32 + owner] + position;
        has = GatherEdge(s, s.graph.reverse.neighbours[e], temp_storage.vertex[Warp() * 32 + owner], e, all_active, round,
                         false, &part);
      }
      for (unsigned d = 1; d < 32;
           d *= 2) {  // segmented inclusive scan: a lane takes from below while the owner is the same
        const MessageOf<P> below = ShuffleUp(part, d);
        const bool below_has = __shfl_up_sync(kFull, has, d);
        const unsigned below_owner = __shfl_up_sync(kFull, owner, d);
        if (Lane() >= d && below_owner == owner && below_has) {
          part = has ? Reduce<P>(s.program, below, part) : below;
          has = true;
        }
      }
      const unsigned above = __shfl_down_sync(kFull, owner, 1);
      const bool last = valid && (Lane() == 31 || above != owner || k + Lane() + 1 == rows.total());
      if (last && has) {
        const unsigned at = Warp() * 32 + owner;
        temp_storage.message[at] = temp_storage.have[at] ? Reduce<P>(s.program, temp_storage.message[at], part) : part;
        temp_storage.have[at] = true;
      }
      __syncwarp();
    }
    if (temp_storage.have[t]) {
      message = temp_storage.message[t];
      have = true;
    }
  }
  if (have && KeepsMessages(s)) {
    Slot<MessageOf<P>> slot{};
    slot.message = message;
    s.inbox[v] = slot;
  }
  return have;
}

}  // namespace detail

/// Pull: every candidate vertex combines the messages of its active in-neighbours into its inbox. A warp takes some words of
/// the candidates and then their vertices, a lane each. Where one message suffices, a lane looks at a few neighbours by
/// itself before its warp helps. Rows of a warp's vertices are laid end to end and reduced by segments; hubs are left to
/// GatherSlices, which must follow unless no candidate has so many edges.
template <class P, class Group>
__device__ void Gather(const Group& group, const StateRef<P>& s, const RoundOf<P>& round, bool all_active) {
  __shared__ detail::PullTempStorage<P> temp_storage;
  __shared__ std::uint32_t found_words[kBlock];
  std::uint32_t scanned = 0;  // by one thread
  const auto words = static_cast<std::uint32_t>(bits::Words(s.graph.owned));
  const unsigned together = WordsOfWarp(group, words);
  const unsigned stride = BlockCount(group) * kWarps * together;
  for (unsigned base = (BlockRank(group) * kWarps + Warp()) * together; base < words; base += stride) {
    const unsigned w = base + Lane();
    const bool has_word = Lane() < together && w < words;
    const WarpBits candidates(has_word ? s.candidates[w] : 0);
    found_words[threadIdx.x] = 0;
    __syncwarp();
    for (unsigned first = 0; first < candidates.total(); first += 32) {
      unsigned bit;
      const bool is_candidate = first + Lane() < candidates.total();
      const unsigned word = candidates.Owner(is_candidate ? first + Lane() : candidates.total() - 1, &bit);
      const LocalId v = (base + word) * 32 + bit;
      const bool have = detail::GatherVertex(s, round, all_active, temp_storage, is_candidate, v, &scanned);
      SetBits(found_words + Warp() * 32, word, bit, have);
    }
    if (has_word) s.touched[w] = found_words[threadIdx.x];
    __syncwarp();
  }
  AddFromBlock(&s.control->edges_touched, std::uint64_t{scanned});
}

/// Pull along the hubs' slices that Gather left: a warp reduces its share and combines it atomically.
template <class P, class Group>
__device__ void GatherSlices(const Group& group, const StateRef<P>& s, const RoundOf<P>& round, bool all_active) {
  std::uint32_t scanned = 0;  // by one thread
  const std::uint32_t slices = atomics::Load(&s.control->slice_count);
  for (std::uint32_t i = BlockRank(group); i < slices; i += BlockCount(group)) {
    const Slice slice = s.slices[i];
    if constexpr (Traits<P>::kAnyMessageSuffices) {  // one answer a warp: another block may set the bit between two lanes'
                                                     // looks
      if (__any_sync(kFull, (atomics::Load(s.touched + (slice.vertex >> 5)) >> (slice.vertex & 31)) & 1)) continue;
    }
    const EdgeIndex row_end = s.graph.reverse.offsets[slice.vertex + 1];
    const EdgeIndex begin = s.graph.reverse.offsets[slice.vertex] + slice.index * kSliceEdges;
    const EdgeIndex end = begin + kSliceEdges < row_end ? begin + kSliceEdges : row_end;
    MessageOf<P> message{};
    const bool have =
        detail::PullRow(s, round, all_active, slice.vertex, begin, end, Warp() * 32, kBlock, &message, &scanned);
    if constexpr (Traits<P>::kCanPush) {
      if (Lane() == 0 && have) {
        if (!KeepsMessages(s)) {
          bits::Set<true>(s.touched, slice.vertex);
        } else {
          ReduceInto<P, true>(s.program, &s.inbox[slice.vertex], message);
          bits::Set<true>(s.touched, slice.vertex);
        }
      }
    }
  }
  AddFromBlock(&s.control->edges_touched, std::uint64_t{scanned});
}
}  // namespace chatty::steps::cuda
