/// \file
/// Push on a GPU: vertices of the frontier send along their forward edges. A lane, a warp or a block takes a row, by the
/// row's length, and slices of the longest rows are shared by all blocks (Merrill, Garland and Grimshaw, PPoPP'12).
#pragma once

#include "chatty/framework/steps/cuda/block.cuh"

namespace chatty::steps::cuda {

namespace detail {

/// What push steps keep in shared memory.
template <class P>
struct PushTempStorage {
  SharedArray<SharedOf<P>, kBlock> shared;
  EdgeIndex begin[kBlock];
  EdgeIndex degree[kBlock];
  LocalId vertex[kBlock];
  unsigned big[kBlock];  ///< threads whose rows the block walks together
  unsigned big_count;
  LocalId halo_begin[kMaxDevices];  ///< where each part's halo vertices begin
  unsigned raw[kMaxDevices];        ///< edges to halo vertices from there on
  unsigned first[kMaxDevices];      ///< and vertices of these that got their first message
};

/// @{
/// How many edges lead to which part's halo vertices. A ballot for each part compares the lanes' vertices with the part's
/// first halo vertex. Looking up an owner in each lane would take as many loads.
template <class P>
__device__ void StartCount(const StateRef<P>& s, PushTempStorage<P>& temp_storage) {
  if (threadIdx.x >= kMaxDevices) return;
  temp_storage.raw[threadIdx.x] = temp_storage.first[threadIdx.x] = 0;
  temp_storage.halo_begin[threadIdx.x] = threadIdx.x < s.graph.parts ? s.graph.halo_begin[threadIdx.x] : kNoLocal;
}
/// Of 32 edges; `firsts` of them are first messages. All lanes call it.
template <class P>
__device__ void CountEdges(const StateRef<P>& s, PushTempStorage<P>& temp_storage, LocalId target, bool valid,
                           unsigned firsts) {
  for (unsigned base = 0; base < s.graph.parts; base += 32) {
    unsigned mine = 0;
    for (unsigned k = 0; k < 32 && base + k < s.graph.parts; ++k) {
      const unsigned from = __ballot_sync(kFull, valid && target >= temp_storage.halo_begin[base + k]);
      if (from == 0) break;  // nor to any later part's
      if (Lane() == k) mine = from;
    }
    if (mine == 0) continue;
    atomicAdd(&temp_storage.raw[base + Lane()], static_cast<unsigned>(__popc(mine)));
    if ((mine & firsts) != 0) atomicAdd(&temp_storage.first[base + Lane()], static_cast<unsigned>(__popc(mine & firsts)));
  }
}
template <class P>
__device__ void FlushCount(const StateRef<P>& s, PushTempStorage<P>& temp_storage) {
  __syncthreads();
  const unsigned p = threadIdx.x;
  if (p >= s.graph.parts) return;
  const bool last = p + 1 == s.graph.parts;
  const unsigned raw = temp_storage.raw[p] - (last ? 0 : temp_storage.raw[p + 1]);
  const unsigned first = temp_storage.first[p] - (last ? 0 : temp_storage.first[p + 1]);
  if (raw != 0) atomics::Add<true>(&s.control->raw_messages[p], std::uint64_t{raw});
  if (first != 0) atomics::Add<true>(&s.control->halo_count[p], std::uint32_t{first});
}
/// @}

/// One strip of 32 edges of a push: every lane with `valid` delivers along edge e of `source`. All lanes call it.
template <class P>
__device__ void PushStrip(const StateRef<P>& s, PushTempStorage<P>& temp_storage, const RoundOf<P>& round, bool valid,
                          LocalId source, const SharedOf<P>& shared, EdgeIndex e, bool queue_out) {
  LocalId target = 0;
  bool owned_first = false, first_in_halo = false;
  if (valid) {
    target = s.graph.forward.neighbours[e];
    const MessageOf<P> message = Scatter(s, shared, source, target, s.graph.forward, e, round);
    const bool first = Deliver<P, true>(s, target, message, queue_out) == Delivery::kFirst;
    owned_first = first && target < s.graph.owned;
    first_in_halo = first && target >= s.graph.owned;
  }
  if (s.graph.parts > 1) CountEdges(s, temp_storage, target, valid, __ballot_sync(kFull, first_in_halo));
  if (queue_out) {
    Append(s.touched_queue, &s.control->touched_count, target, owned_first);
    if (s.graph.parts > 1) Append(s.touched_halo, &s.control->touched_halo_count, target, first_in_halo);
  }
}

}  // namespace detail

/// Push: every frontier vertex sends along its forward edges. Degree classes: short rows of a warp's vertices are laid end
/// to end, longer ones are walked by a warp, long ones by the block, and hubs are left, in slices, to AdvanceSlices, which
/// must follow. With `queue_out`, targets with a first message are queued; otherwise their bits are all there is.
template <class P, class Group>
__device__ void Advance(const Group& group, const StateRef<P>& s, const RoundOf<P>& round, Form form, std::size_t count,
                        bool queue_out) {
  __shared__ detail::PushTempStorage<P> temp_storage;
  const unsigned t = threadIdx.x;
  detail::StartCount(s, temp_storage);
  std::uint64_t scanned = 0;
  // A small frontier is spread over all warps, fewer vertices each.
  unsigned lanes = 32;
  while (lanes > 1 && count <= std::size_t{BlockCount(group)} * kWarps * (lanes / 2)) lanes /= 2;
  const std::size_t chunk = lanes * kWarps;
  if (BlockRank(group) * chunk >= count) return;  // nothing for this block; no barrier of the group is in here
  for (std::size_t base = BlockRank(group) * chunk; base < count; base += BlockCount(group) * chunk) {
    const std::size_t i = base + Warp() * lanes + Lane();
    LocalId v = kNoLocal;
    if (Lane() < lanes && i < count) {
      if (form == Form::kQueue) {
        v = s.frontier[i];
      } else if (form == Form::kAll || bits::Test(s.active, static_cast<LocalId>(i))) {
        v = static_cast<LocalId>(i);
      }
    }
    EdgeIndex begin = 0, degree = 0;
    __syncthreads();  // the previous chunk's readers are done with the temp_storage
    if (v != kNoLocal) {
      begin = s.graph.forward.offsets[v];
      degree = s.graph.forward.offsets[v + 1] - begin;
      scanned += degree;
      const SharedOf<P> shared = TakeShared(s, v);
      temp_storage.shared[t] = shared;
      if (degree >= kHubDegree) {
        if constexpr (Traits<P>::kSharesSeparately) s.shared[v] = shared;  // Consume has run: slices read it here
        CutIntoSlices(s.slices, &s.control->slice_count, v, degree);
        degree = 0;
      }
      temp_storage.vertex[t] = v;
      temp_storage.begin[t] = begin;
      temp_storage.degree[t] = degree;
    }
    if (__syncthreads_or(degree >= kBlockDegree)) {
      if (t == 0) temp_storage.big_count = 0;
      __syncthreads();
      if (degree >= kBlockDegree) temp_storage.big[atomicAdd(&temp_storage.big_count, 1u)] = t;
      __syncthreads();
      for (unsigned b = 0; b < temp_storage.big_count; ++b) {
        const unsigned owner = temp_storage.big[b];
        const EdgeIndex row = temp_storage.begin[owner], edges = temp_storage.degree[owner];
        for (EdgeIndex k = Warp() * 32; k < edges; k += kBlock) {
          detail::PushStrip(s, temp_storage, round, k + Lane() < edges, temp_storage.vertex[owner],
                            temp_storage.shared[owner], row + k + Lane(), queue_out);
        }
      }
    }
    unsigned wide = __ballot_sync(kFull, degree >= kWarpDegree && degree < kBlockDegree);
    while (wide != 0) {
      const unsigned owner = Warp() * 32 + __ffs(wide) - 1;
      wide &= wide - 1;
      const EdgeIndex row = temp_storage.begin[owner], edges = temp_storage.degree[owner];
      for (EdgeIndex k = 0; k < edges; k += 32) {
        detail::PushStrip(s, temp_storage, round, k + Lane() < edges, temp_storage.vertex[owner], temp_storage.shared[owner],
                          row + k + Lane(), queue_out);
      }
    }
    const WarpRows rows(degree < kWarpDegree ? static_cast<unsigned>(degree) : 0);
    for (unsigned k = 0; k < rows.total(); k += 32) {
      unsigned position;
      const unsigned owner = Warp() * 32 + rows.Owner(k + Lane(), &position);
      const bool valid = k + Lane() < rows.total();
      detail::PushStrip(s, temp_storage, round, valid, temp_storage.vertex[owner], temp_storage.shared[owner],
                        temp_storage.begin[owner] + position, queue_out);
    }
  }
  detail::FlushCount(s, temp_storage);
  AddFromBlock(&s.control->edges_touched, scanned);
}

/// Push along the hubs' slices that Advance left: a block takes a part of one slice at a time.
template <class P, class Group>
__device__ void AdvanceSlices(const Group& group, const StateRef<P>& s, const RoundOf<P>& round, bool queue_out) {
  __shared__ detail::PushTempStorage<P> temp_storage;
  detail::StartCount(s, temp_storage);
  __syncthreads();
  constexpr std::uint32_t kParts = 4;  // one hub's slices are fewer than a GPU's blocks
  constexpr EdgeIndex kPartEdges = kSliceEdges / kParts;
  const std::uint64_t parts = std::uint64_t{atomics::Load(&s.control->slice_count)} * kParts;
  for (std::uint64_t i = BlockRank(group); i < parts; i += BlockCount(group)) {
    const Slice slice = s.slices[i / kParts];
    const EdgeIndex row_end = s.graph.forward.offsets[slice.vertex + 1];
    const EdgeIndex begin = s.graph.forward.offsets[slice.vertex] + slice.index * kSliceEdges + i % kParts * kPartEdges;
    const EdgeIndex end = begin + kPartEdges < row_end ? begin + kPartEdges : row_end;
    SharedOf<P> shared;
    if constexpr (Traits<P>::kSharesSeparately) {
      shared = s.shared[slice.vertex];
    } else {
      shared = s.values[slice.vertex];
    }
    for (EdgeIndex k = begin + Warp() * 32; k < end; k += kBlock) {
      detail::PushStrip(s, temp_storage, round, k + Lane() < end, slice.vertex, shared, k + Lane(), queue_out);
    }
  }
  detail::FlushCount(s, temp_storage);
}

/// Push from a queue of one hub, whose row all blocks share: what Advance and AdvanceSlices do in two kernels. Not for
/// programs whose Consume changes the value.
template <class P, class Group>
__device__ void AdvanceHub(const Group& group, const StateRef<P>& s, const RoundOf<P>& round, bool queue_out) {
  static_assert(!Traits<P>::kHasConsume);
  __shared__ detail::PushTempStorage<P> temp_storage;
  detail::StartCount(s, temp_storage);
  __syncthreads();
  const LocalId v = s.frontier[0];
  const EdgeIndex begin = s.graph.forward.offsets[v], degree = s.graph.forward.offsets[v + 1] - begin;
  const SharedOf<P> shared = TakeShared(s, v);
  const EdgeIndex stride = EdgeIndex{BlockCount(group)} * kBlock;
  for (EdgeIndex k = EdgeIndex{BlockRank(group)} * kBlock + Warp() * 32; k < degree; k += stride) {
    detail::PushStrip(s, temp_storage, round, k + Lane() < degree, v, shared, begin + k + Lane(), queue_out);
  }
  detail::FlushCount(s, temp_storage);
  if (IsFirst(group)) atomics::Add<true>(&s.control->edges_touched, std::uint64_t{degree});
}

/// After a push whose messages are bits and leave no queue: halo vertices whose owners have had a message are left out, and
/// those that are left are counted. What DeliverBit does for one vertex is done for a word of them.
template <class P, class Group>
__device__ void SettleHalo(const Group& group, const StateRef<P>& s) {
  __shared__ unsigned count[kMaxDevices];
  if (threadIdx.x < kMaxDevices) count[threadIdx.x] = 0;
  __syncthreads();
  const std::size_t begin = s.SentWord(), words = bits::Words(s.graph.local);
  for (std::size_t base = begin + std::size_t{BlockRank(group)} * kBlock; base < words;
       base += std::size_t{BlockCount(group)} * kBlock) {
    const std::size_t w = base + threadIdx.x;
    std::uint32_t left = 0;
    if (w < words) {
      const std::uint32_t word = s.touched[w], halo = ~bits::Mask(w, s.graph.owned);
      left = word & halo;
      if constexpr (Traits<P>::kSendsOnce) {
        const std::uint32_t sent = s.sent[w - begin];
        if ((left & sent) != 0) s.touched[w] = word & ~(halo & sent);
        left &= ~sent;
        if (left != 0) s.sent[w - begin] = sent | left;
      }
    }
    for (unsigned some = __ballot_sync(kFull, left != 0); some != 0; some = __ballot_sync(kFull, left != 0)) {
      const std::uint32_t owner = __shfl_sync(
          kFull, left != 0 ? s.graph.HaloOwner(static_cast<LocalId>(w * 32 + __ffs(left) - 1)) : 0, __ffs(some) - 1);
      const std::uint32_t his =
          left & bits::Mask(w, s.graph.halo_begin[owner + 1]) & ~bits::Mask(w, s.graph.halo_begin[owner]);
      const unsigned sum = __reduce_add_sync(kFull, static_cast<unsigned>(__popc(his)));
      if (Lane() == 0) atomicAdd(&count[owner], sum);
      left &= ~his;
    }
  }
  __syncthreads();
  if (threadIdx.x < s.graph.parts && count[threadIdx.x] != 0) {
    atomics::Add<true>(&s.control->halo_count[threadIdx.x], std::uint32_t{count[threadIdx.x]});
  }
}
}  // namespace chatty::steps::cuda
