/// \file
/// The steps on a GPU: device functions over a cooperative group, so that a kernel launched for one step and a resident
/// kernel that loops over all of them run the same code. Kernel wrappers are in kernels.cuh.
///
/// Between two steps that depend on each other the caller puts a barrier of the group (or a kernel boundary).
#pragma once

#include "chatty/framework/steps/cuda/block.cuh"

namespace chatty::steps::cuda {

/// First values, empty inboxes, empty bitmaps.
template <class P, class Group>
__device__ void Init(const Group& group, const StateRef<P>& s, const PriorOf<P>* prior) {
  const unsigned stride = BlockCount(group) * kBlock, first = BlockRank(group) * kBlock + threadIdx.x;
  for (std::size_t i = first; i < s.graph.local; i += stride) {
    const auto v = static_cast<LocalId>(i);
    if (v < s.graph.owned) s.values[v] = InitialValue(s, prior, v);
    if (s.inbox != nullptr && KeepsMessages(s)) {
      Slot<MessageOf<P>> empty{};
      empty.message = IdentityOf<P>();
      s.inbox[v] = empty;
    }
  }
  for (std::size_t w = first; w < bits::Words(s.graph.local); w += stride) s.touched[w] = s.active[w] = 0;
  if constexpr (Traits<P>::kTellsOnce) {
    for (std::size_t w = first; w < s.ToldWords(); w += stride) s.told[w] = 0;
  }
  if constexpr (Traits<P>::kOrders) {
    for (std::size_t w = first; w < bits::Words(s.graph.owned); w += stride) s.order.pending[w] = s.order.seen[w] = 0;
  }
}

/// Chooses the vertices that start a phase, as a bitmap, and counts them and their work.
template <class P, class Group>
__device__ void Activate(const Group& group, const StateRef<P>& s, const RoundOf<P>& round) {
  Counters tally;
  std::int64_t wanting = 0;
  for (std::size_t base = BlockRank(group) * kBlock; base < s.graph.owned; base += BlockCount(group) * kBlock) {
    const std::size_t i = base + threadIdx.x;
    const auto v = static_cast<LocalId>(i);
    const bool active = i < s.graph.owned && (Traits<P>::kEveryRound || StartsActive(s, v, round));
    if (active) {
      tally.vertices += 1;
      tally.edges += s.graph.forward.degree(v);
    }
    if (i < s.graph.owned && IsCandidate(s, v)) wanting += static_cast<std::int64_t>(s.graph.reverse.degree(v));
    const unsigned word = __ballot_sync(kFull, active);
    if (Lane() == 0 && i < s.graph.owned) s.active[i / 32] = word;
  }
  AddFromBlock(&s.control->active_vertices, tally.vertices);
  AddFromBlock(&s.control->active_edges, tally.edges);
  AddFromBlock(&s.control->candidate_edges, wanting);
}

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
/// How many edges lead to which part's halo vertices. Parts are told by where theirs begin, a ballot each, for lanes that
/// looked up an owner each would wait for as many loads, and then for each other.
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
    const Delivery delivery = s.peers_deliver ? Deliver<P, true, atomics::Scope::kSystem>(s, target, message, queue_out)
                                              : Deliver<P, true>(s, target, message, queue_out);
    const bool first = delivery == Delivery::kFirst;
    owned_first = first && target < s.graph.owned;
    first_in_halo = first && target >= s.graph.owned;
  }
  if (s.graph.parts > 1) CountEdges(s, temp_storage, target, valid, __ballot_sync(kFull, first_in_halo));
  if (queue_out) {
    Append(s.touched_queue, &s.control->touched_count, target, owned_first, s.peers_deliver);
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
      unsigned place;
      const unsigned owner = Warp() * 32 + rows.Owner(k + Lane(), &place);
      const bool valid = k + Lane() < rows.total();
      detail::PushStrip(s, temp_storage, round, valid, temp_storage.vertex[owner], temp_storage.shared[owner],
                        temp_storage.begin[owner] + place, queue_out);
    }
  }
  detail::FlushCount(s, temp_storage);
  AddFromBlock(&s.control->edges_touched, scanned);
}

/// Push along the hubs' slices that Advance left: a block takes one slice at a time.
template <class P, class Group>
__device__ void AdvanceSlices(const Group& group, const StateRef<P>& s, const RoundOf<P>& round, bool queue_out) {
  __shared__ detail::PushTempStorage<P> temp_storage;
  detail::StartCount(s, temp_storage);
  __syncthreads();
  const std::uint32_t slices = atomics::Load(&s.control->slice_count);
  for (std::uint32_t i = BlockRank(group); i < slices; i += BlockCount(group)) {
    const Slice slice = s.slices[i];
    const EdgeIndex row_end = s.graph.forward.offsets[slice.vertex + 1];
    const EdgeIndex begin = s.graph.forward.offsets[slice.vertex] + slice.index * kSliceEdges;
    const EdgeIndex end = begin + kSliceEdges < row_end ? begin + kSliceEdges : row_end;
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

/// After a push whose messages are bits and leave no queue: halo vertices whose owners have been told are left out, and
/// those that are left are counted. What DeliverBit does for one vertex is done for a word of them.
template <class P, class Group>
__device__ void SettleHalo(const Group& group, const StateRef<P>& s) {
  __shared__ unsigned count[kMaxDevices];
  if (threadIdx.x < kMaxDevices) count[threadIdx.x] = 0;
  __syncthreads();
  const std::size_t begin = s.ToldWord(), words = bits::Words(s.graph.local);
  for (std::size_t base = begin + std::size_t{BlockRank(group)} * kBlock; base < words;
       base += std::size_t{BlockCount(group)} * kBlock) {
    const std::size_t w = base + threadIdx.x;
    std::uint32_t left = 0;
    if (w < words) {
      const std::uint32_t word = s.touched[w], halo = ~bits::Mask(w, s.graph.owned);
      left = word & halo;
      if constexpr (Traits<P>::kTellsOnce) {
        const std::uint32_t told = s.told[w - begin];
        if ((left & told) != 0) s.touched[w] = word & ~(halo & told);
        left &= ~told;
        if (left != 0) s.told[w - begin] = told | left;
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

/// Before a pull: what each frontier vertex shows its neighbours, once a vertex. Nothing to do where that is the value.
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
                        EdgeIndex end, unsigned lanes_from, unsigned lanes, MessageOf<P>* message, std::uint64_t* scanned) {
  bool have = false;
  for (EdgeIndex k = begin + lanes_from; k < end; k += lanes) {
    const EdgeIndex e = k + Lane();
    if (e < end) {
      have = GatherEdge(s, s.graph.reverse.neighbours[e], target, e, all_active, round, have, message) || have;
      *scanned += 1;
    }
    if constexpr (Traits<P>::kFirstSuffices) {
      const unsigned found = __ballot_sync(kFull, have);
      if (found != 0) {
        *message = Shuffle(*message, __ffs(found) - 1);
        return true;
      }
    }
  }
  return ReduceWarp(s.program, message, have);
}

}  // namespace detail

/// Pull: every candidate vertex combines the messages of its active in-neighbours into its inbox. Where one message
/// suffices, a lane looks at a few neighbours by itself before its warp helps. Rows of a warp's vertices are laid end to end
/// and reduced by segments; hubs are left to GatherSlices, which must follow.
template <class P, class Group>
__device__ void Gather(const Group& group, const StateRef<P>& s, const RoundOf<P>& round, bool all_active) {
  constexpr EdgeIndex kProbe = 16;  // edges that a lane tries alone; most vertices of a frontier's surroundings need few
  __shared__ detail::PullTempStorage<P> temp_storage;
  const unsigned t = threadIdx.x;
  std::uint64_t scanned = 0;
  for (std::size_t base = std::size_t{BlockRank(group)} * kBlock + Warp() * 32; base < s.graph.owned;
       base += std::size_t{BlockCount(group)} * kBlock) {
    const std::size_t i = base + Lane();
    const auto v = static_cast<LocalId>(i);
    EdgeIndex begin = 0, degree = 0;
    if (i < s.graph.owned && IsCandidate(s, v)) {
      begin = s.graph.reverse.offsets[v];
      degree = s.graph.reverse.offsets[v + 1] - begin;
    }
    MessageOf<P> message{};
    bool have = false;
    if constexpr (Traits<P>::kFirstSuffices) {
      EdgeIndex probes = degree < kProbe ? degree : kProbe;
      for (EdgeIndex k = 0; k < probes && !have; ++k) {
        have = GatherEdge(s, s.graph.reverse.neighbours[begin + k], v, begin + k, all_active, round, false, &message);
        scanned += 1;
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
    unsigned wide = __ballot_sync(kFull, degree >= kWarpDegree || (Traits<P>::kFirstSuffices && degree > 0));
    while (wide != 0) {
      const unsigned owner = __ffs(wide) - 1;
      wide &= wide - 1;
      const EdgeIndex row = __shfl_sync(kFull, begin, owner), edges = __shfl_sync(kFull, degree, owner);
      MessageOf<P> found{};
      bool any = detail::PullRow(s, round, all_active, static_cast<LocalId>(base + owner), row, row + edges, 0, 32, &found,
                                 &scanned);
      any = __shfl_sync(kFull, any, 0);
      found = Shuffle(found, 0);
      if (Lane() == owner && any) {
        message = found;
        have = true;
      }
    }
    if constexpr (!Traits<P>::kFirstSuffices) {
      const unsigned short_row = degree < kWarpDegree ? static_cast<unsigned>(degree) : 0;
      temp_storage.have[t] = false;
      temp_storage.begin[t] = begin;
      scanned += short_row;
      const WarpRows rows(short_row);
      __syncwarp();
      for (unsigned k = 0; k < rows.total(); k += 32) {
        unsigned place;
        const unsigned owner = rows.Owner(k + Lane(), &place);
        const bool valid = k + Lane() < rows.total();
        MessageOf<P> part{};
        bool has = false;
        if (valid) {
          const EdgeIndex e = temp_storage.begin[Warp() * 32 + owner] + place;
          has = GatherEdge(s, s.graph.reverse.neighbours[e], static_cast<LocalId>(base + owner), e, all_active, round, false,
                           &part);
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
    const unsigned word = __ballot_sync(kFull, have);
    if (Lane() == 0) s.touched[base / 32] = word;
  }
  AddFromBlock(&s.control->edges_touched, scanned);
}

/// Pull along the hubs' slices that Gather left: a warp reduces its share and combines it atomically.
template <class P, class Group>
__device__ void GatherSlices(const Group& group, const StateRef<P>& s, const RoundOf<P>& round, bool all_active) {
  std::uint64_t scanned = 0;
  const std::uint32_t slices = atomics::Load(&s.control->slice_count);
  for (std::uint32_t i = BlockRank(group); i < slices; i += BlockCount(group)) {
    const Slice slice = s.slices[i];
    if constexpr (Traits<P>::kFirstSuffices) {  // one answer a warp: another block may set the bit between two lanes' looks
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
        } else if constexpr (P::kReduction == Reduction::kAny) {
          if (bits::Set<true>(s.touched, slice.vertex)) s.inbox[slice.vertex].message = message;
        } else {
          ReduceInto<P, true>(s.program, &s.inbox[slice.vertex], message);
          bits::Set<true>(s.touched, slice.vertex);
        }
      }
    }
  }
  AddFromBlock(&s.control->edges_touched, scanned);
}

namespace detail {

/// Adds a thread's share of what programs that order count. All threads of the block call it.
template <class P>
__device__ void AddOrder(const StateRef<P>& s, const Counters& tally) {
  AddFromBlock(&s.control->pending_vertices, tally.pending);
  AddFromBlock(&s.control->fresh_edges, tally.fresh);
  MaxFromWarp(&s.control->first_pending, tally.first_pending);
}

}  // namespace detail

namespace detail {

/// What a block's threads have measured becomes its partial aggregate.
template <class P, class Group>
__device__ void StorePartial(const Group& group, const GlobalOf<P>& mine, GlobalOf<P>* partials) {
  __shared__ SharedArray<GlobalOf<P>, kBlock> temp_storage;
  temp_storage[threadIdx.x] = mine;
  for (unsigned d = kBlock / 2; d > 0; d /= 2) {
    __syncthreads();
    if (threadIdx.x < d)
      temp_storage[threadIdx.x] = CombineGlobal<P>(temp_storage[threadIdx.x], temp_storage[threadIdx.x + d]);
  }
  if (threadIdx.x == 0) partials[BlockRank(group)] = temp_storage[0];
  __syncthreads();
}

}  // namespace detail

/// Updates every vertex with a message (all vertices of a kEveryRound program) and empties its inbox. From a queue of
/// touched vertices comes a queue of active ones; from a bitmap, a bitmap. Where updates are measured, a partial aggregate a
/// block, as of Measure.
template <class P, class Group>
__device__ void Apply(const Group& group, const StateRef<P>& s, const RoundOf<P>& round, Form form, std::size_t count,
                      [[maybe_unused]] GlobalOf<P>* partials = nullptr) {
  if (std::size_t{BlockRank(group)} * kBlock >= count) return;
  Counters tally;
  [[maybe_unused]] GlobalOf<P> measure{};
  for (std::size_t base = std::size_t{BlockRank(group)} * kBlock; base < count;
       base += std::size_t{BlockCount(group)} * kBlock) {
    const std::size_t i = base + threadIdx.x;
    if (form == Form::kQueue) {
      bool active = false;
      LocalId v = 0;
      if (i < count) {
        v = s.touched_queue[i];
        atomics::And<true>(s.touched + (v >> 5), ~(1u << (v & 31)));
        active = ApplyOne(s, v, round, &tally);
      }
      Append(s.next, &s.control->next_count, v, active);
    } else {
      const auto v = static_cast<LocalId>(i);
      const bool mine = i < count && (form == Form::kAll || bits::Test(s.touched, v));
      [[maybe_unused]] ValueOf<P> before{};
      if constexpr (Traits<P>::kMeasuresChange) {
        if (mine) before = s.values[v];
      }
      const bool active = mine && ApplyOne(s, v, round, &tally);
      if constexpr (Traits<P>::kMeasuresChange) {
        if (mine) measure = CombineGlobal<P>(measure, MeasureOf<P>(s.program, before, s.values[v], s.At(v), round));
      }
      const unsigned word = __ballot_sync(kFull, active);  // every lane has read its bit before lane 0 clears the word
      if (Lane() == 0 && i < count) {
        s.active[i / 32] = word;
        s.touched[i / 32] = 0;
      }
    }
  }
  AddFromBlock(&s.control->active_vertices, tally.vertices);
  AddFromBlock(&s.control->active_edges, tally.edges);
  if constexpr (Traits<P>::kHasWants) AddFromBlock(&s.control->candidate_edges, tally.wanting);
  if constexpr (Traits<P>::kOrders) {
    if (s.order.limit != kInfinity<double>) detail::AddOrder(s, tally);
  }
  if constexpr (Traits<P>::kMeasuresChange) detail::StorePartial<P>(group, measure, partials);
}

/// Pending vertices below the limit join the frontier: a bitmap, or a queue of `count`. A warp looks at some words of the
/// bitmap, a lane each, and then at the vertices of those that are not empty, a lane each.
template <class P, class Group>
__device__ void Release(const Group& group, const StateRef<P>& s, Form form, std::size_t count) {
  if constexpr (Traits<P>::kOrders) {
    Counters tally;
    const std::size_t words = bits::Words(s.graph.owned);
    const std::size_t warps = std::size_t{BlockCount(group)} * kWarps;
    unsigned lanes = 32;  // a small graph is spread over all warps, fewer words each
    while (lanes > 1 && words <= warps * (lanes / 2)) lanes /= 2;
    for (std::size_t base = (std::size_t{BlockRank(group)} * kWarps + Warp()) * lanes; base < words; base += warps * lanes) {
      const std::uint32_t mine = Lane() < lanes && base + Lane() < words ? s.order.pending[base + Lane()] : 0;
      for (unsigned full = __ballot_sync(kFull, mine != 0); full != 0; full &= full - 1) {
        const unsigned from = __ffs(full) - 1;
        const std::size_t w = base + from;
        const std::uint32_t word = __shfl_sync(kFull, mine, from), seen = s.order.seen[w];
        const auto v = static_cast<LocalId>(w * 32 + Lane());
        bool goes = false;
        if ((word >> Lane()) & 1) {
          const double priority = PriorityOf(s.program, s.values[v]);
          goes = GoesNow(priority, s.order.limit);
          if (goes) {
            const EdgeIndex degree = s.graph.forward.degree(v);
            tally.vertices += 1;
            tally.edges += degree;
            if (((seen >> Lane()) & 1) == 0) tally.fresh += degree;
          } else {
            const std::uint64_t key = PriorityKey(priority);
            if (key > tally.first_pending) tally.first_pending = key;
          }
        }
        const unsigned going = __ballot_sync(kFull, goes);
        if (going == 0) continue;
        if (Lane() == 0) {
          s.order.pending[w] = word & ~going;
          s.order.seen[w] = seen | going;
          if (form == Form::kBitmap) s.active[w] |= going;
        }
        if (form == Form::kQueue) Append(s.frontier + count, &s.control->next_count, v, goes);
      }
    }
    tally.pending = -static_cast<std::int64_t>(tally.vertices);
    AddFromBlock(&s.control->active_vertices, tally.vertices);
    AddFromBlock(&s.control->active_edges, tally.edges);
    detail::AddOrder(s, tally);
  }
}

/// A frontier in one form becomes the other. The bitmap is complete: bits of vertices not in the queue are cleared by
/// ClearActive, which must run before, a barrier between.
template <class P, class Group>
__device__ void QueueToBitmap(const Group& group, const StateRef<P>& s, std::size_t count) {
  const unsigned stride = BlockCount(group) * kBlock;
  for (std::size_t i = std::size_t{BlockRank(group)} * kBlock + threadIdx.x; i < count; i += stride) {
    bits::Set<true>(s.active, s.frontier[i]);
  }
}
template <class P, class Group>
__device__ void BitmapToQueue(const Group& group, const StateRef<P>& s) {
  using Scan = cub::BlockScan<unsigned, kBlock, cub::BLOCK_SCAN_WARP_SCANS>;
  __shared__ typename Scan::TempStorage storage;
  __shared__ unsigned begin;
  const std::size_t words = bits::Words(s.graph.owned);
  for (std::size_t base = std::size_t{BlockRank(group)} * kBlock; base < words;
       base += std::size_t{BlockCount(group)} * kBlock) {
    const std::size_t w = base + threadIdx.x;
    const std::uint32_t word = w < words ? s.active[w] & bits::Mask(w, s.graph.owned) : 0;
    unsigned place, all;
    Scan(storage).ExclusiveSum(static_cast<unsigned>(__popc(word)), place, all);
    if (threadIdx.x == 0 && all != 0) begin = atomics::Add<true>(&s.control->next_count, all);  // one addition a block
    __syncthreads();
    place += all != 0 ? begin : 0;
    for (std::uint32_t rest = word; rest != 0; rest &= rest - 1) {
      s.next[place++] = static_cast<LocalId>(w * 32 + __ffs(rest) - 1);
    }
    __syncthreads();  // before the next words' scan, and their begin
  }
}

namespace detail {

/// Puts one record of every lane with `keep` into the lane's buffer, which is counted at `place`: a buffer a place. All
/// lanes call it.
template <class Payload>
__device__ void PackRecord(Control* control, std::byte* buffer, std::uint32_t place, std::uint32_t index,
                           const Payload& payload, bool keep) {
  const unsigned keepers = __ballot_sync(kFull, keep);
  if (keepers == 0) return;
  const unsigned same = __match_any_sync(kFull, keep ? place : kMaxDevices);
  if (!keep) return;
  const unsigned leader = __ffs(same) - 1;
  unsigned base = 0;
  if (Lane() == leader) base = atomicAdd(&control->buffer_count[place], __popc(same));
  base = __shfl_sync(same, base, leader);
  StoreRecord(buffer, base + __popc(same & ((1u << Lane()) - 1)), index, payload);
}

/// Words of a segment of a buffer: what a warp asks memory for it asks for all of them together.
inline constexpr unsigned kSegmentWords = kBufferSegment / 32;

/// Entries of a buffer that a thread has on their way at once: as many as it has registers for.
template <class Payload>
inline constexpr unsigned kEntriesAtOnce = sizeof(Payload) <= 8    ? 4
                                           : sizeof(Payload) <= 32 ? 2
                                                                   : 1;

/// Writes which places of `words` words are set to `list`, in order and counted from `base`: lane k has the kth word. Lanes
/// that then have an entry of the list each are all at work, however few places are set. Returns how many are. All lanes of
/// a warp call it, and synchronise before they read.
__device__ inline unsigned ListSet(std::uint32_t mine, unsigned words, unsigned base, std::uint16_t* list) {
  unsigned count = 0;
  for (unsigned k = 0; k < words; ++k) {
    const std::uint32_t word = __shfl_sync(kFull, mine, k);
    if (word == 0) continue;
    if ((word >> Lane() & 1) != 0) {
      list[count + __popc(word & ((1u << Lane()) - 1))] = static_cast<std::uint16_t>(base + k * 32 + Lane());
    }
    count += __popc(word);
  }
  return count;
}

/// What a block has of a buffer, to be written line by line: the buffer may be on another device, to which each store that
/// is not a whole line is as long.
struct PackTempStorage {
  static constexpr unsigned kPlaces = kBlock * 32;
  static_assert(kPlaces <= 1u << 16, "places are listed in 16 bits");
  std::uint16_t list[kPlaces];    ///< those that are set
  unsigned begin_of[kWarps + 1];  ///< in the list, the places of each warp; and their number
  unsigned begin;                 ///< in the buffer
};

/// @{
/// Places of a buffer, as packing asks for them. Words tells lanes which of a word's places each are to be packed, none
/// beyond the last, from place i on: of `words` words, whole segments. What is asked for of a segment is asked for together,
/// so nothing there depends on where the buffer ends. All lanes of a warp call it. Release is told what has been taken
/// of 32.
///
/// Halo vertices from `first` on that have a message.
struct TouchedHalo {
  std::uint32_t* touched;
  LocalId first, size;
  __device__ std::uint32_t Word(std::size_t i) const {
    if (i >= size) return 0;
    const auto h = static_cast<LocalId>(first + i);
    const std::uint32_t* const from = touched + (h >> 5);
    const std::uint32_t next = h % 32 + size - i > 32 ? atomics::Load(from + 1) : 0;
    return __funnelshift_r(atomics::Load(from), next, h & 31) & bits::Mask(0, size - i);
  }
  __device__ std::uint32_t Words(std::size_t i, unsigned words) const { return Lane() < words ? Word(i + Lane() * 32) : 0; }
  __device__ void Release(std::size_t i, std::uint32_t word) const {
    const auto h = static_cast<LocalId>(first + i), shift = h & 31;
    atomics::And<true>(touched + (h >> 5), ~(word << shift));
    if (shift != 0 && word >> (32 - shift) != 0) atomics::And<true>(touched + (h >> 5) + 1, ~(word >> (32 - shift)));
  }
};
/// Of a segment of a list of vertices that ascend without repeats, from place i on, lane k has the kth 32, as far as there
/// are so many: the first one, and whether the others follow it without a gap, as in borders that hold nearly all. Then
/// their bits follow each other, too, and nobody has to look at them one by one.
struct Stretch {
  LocalId first = 0;
  bool whole = true;
  __device__ Stretch(const LocalId* vertices, std::size_t i, std::size_t size) {
    const std::size_t begin = i + Lane() * 32;
    if (Lane() >= kSegmentWords || begin >= size) return;
    const auto more = static_cast<LocalId>(size - begin < 32 ? size - begin - 1 : 31);
    first = vertices[begin];
    whole = vertices[begin + more] - first == more;
  }
};
/// All vertices of a segment, a place a lane, word after word; past the last of `size`, which is not 0, the last.
__device__ inline void LoadSegment(const LocalId* vertices, std::size_t i, std::size_t size, LocalId (&v)[kSegmentWords]) {
#pragma unroll
  for (unsigned k = 0; k < kSegmentWords; ++k) {
    const std::size_t at = i + k * 32 + Lane();
    v[k] = vertices[at < size ? at : size - 1];
  }
}
/// Border vertices that are active, or all of them.
struct ActiveBorder {
  const std::uint32_t* active;
  const LocalId* vertices;
  LocalId size;
  bool all;
  __device__ std::uint32_t Words(std::size_t i, unsigned words) const {
    std::uint32_t mine = 0;
    for (unsigned w = 0; w < words && i + w * 32 < size; w += kSegmentWords) {
      const std::uint32_t of_segment = Segment(i + w * 32);
      const std::uint32_t word = __shfl_sync(kFull, of_segment, Lane() % kSegmentWords);
      if (Lane() / kSegmentWords == w / kSegmentWords) mine = word;
    }
    return mine;
  }
  /// The words of one segment: the kth lane's the kth, and others none.
  __device__ std::uint32_t Segment(std::size_t i) const {
    const Stretch stretch(vertices, i, size);
    std::uint32_t mine = 0;
    if (!all && __all_sync(kFull, stretch.whole)) {
      const std::uint32_t* const from = active + stretch.first / 32;
      const std::size_t begin = i + Lane() * 32;
      if (Lane() < kSegmentWords && begin < size) {
        const std::uint32_t next = stretch.first % 32 + size - begin > 32 && stretch.first % 32 != 0 ? from[1] : 0;
        mine = __funnelshift_r(*from, next, stretch.first & 31) & bits::Mask(0, size - begin);
      }
      return mine;
    }
    LocalId v[kSegmentWords];
    LoadSegment(vertices, i, size, v);
    bool is_set[kSegmentWords];
#pragma unroll
    for (unsigned k = 0; k < kSegmentWords; ++k) is_set[k] = bits::Test(active, v[k]);
#pragma unroll
    for (unsigned k = 0; k < kSegmentWords; ++k) {
      const std::uint32_t word = __ballot_sync(kFull, (all || is_set[k]) && i + k * 32 + Lane() < size);
      if (Lane() == k) mine = word;
    }
    return mine;
  }
  __device__ void Release(std::size_t, std::uint32_t) const {}
};
/// @}

/// Bitmap form: bits, and the payloads of those that are set; or, of the same, pairs. Warps have up to 32 words each, and a
/// block reserves room for those of all with one addition: additions to one counter come one after the other. `places`: a
/// TouchedHalo or the like, whose bits are released. `value` tells the payload of a place, and `done` is told once it has
/// been read.
template <class Payload, bool kPairs = false, class Group, class Places, class Value, class Done>
__device__ void PackBitmap(const Group& group, PackTempStorage& temp_storage, std::byte* buffer, std::uint32_t* count,
                           const Places& places, Value&& value, Done&& done) {
  constexpr bool kPayload = kWireBytes < Payload >> 0;
  static_assert(kPayload || kPairs, "where bits say all, PackBits is quicker");
  constexpr unsigned kAtOnce = kEntriesAtOnce<Payload>;
  const std::size_t size = places.size;
  auto* const words = reinterpret_cast<std::uint32_t*>(buffer);
  auto* const segments = reinterpret_cast<std::uint32_t*>(buffer + SegmentsOffset(size));
  // A small buffer is spread over all blocks, fewer words a warp; over a quarter of them where little is set, for additions
  // to the count then take longer than all else.
  const std::size_t blocks = kPairs ? (BlockCount(group) + 3) / 4 : BlockCount(group);
  unsigned lanes = 32;
  while (lanes > kSegmentWords && size <= blocks * kWarps * (lanes / 2) * 32) lanes /= 2;
  const std::size_t chunk = std::size_t{kWarps} * lanes * 32;
  for (std::size_t base = BlockRank(group) * chunk; base < size; base += BlockCount(group) * chunk) {
    const std::size_t first = base + std::size_t{Warp()} * lanes * 32, place = first + Lane() * 32;
    const std::uint32_t mine = first < size ? places.Words(first, lanes) : 0;
    if (mine != 0) places.Release(place, mine);
    const auto set = static_cast<unsigned>(__popc(mine));
    const unsigned in_warp = __reduce_add_sync(kFull, set);
    if (Lane() == 0) temp_storage.begin_of[Warp() + 1] = in_warp;
    __syncthreads();
    if (threadIdx.x == 0) {
      temp_storage.begin_of[0] = 0;
      for (unsigned w = 0; w < kWarps; ++w) temp_storage.begin_of[w + 1] += temp_storage.begin_of[w];
      const unsigned in_block = temp_storage.begin_of[kWarps];
      temp_storage.begin = in_block == 0 ? 0 : atomicAdd(count, in_block);
    }
    __syncthreads();
    const unsigned in_list = temp_storage.begin_of[Warp()];
    ListSet(mine, lanes, Warp() * lanes * 32, temp_storage.list + in_list);
    if constexpr (!kPairs) {
      const unsigned before = in_list + InclusiveSumOfWarp(set) - set;
      if (Lane() < lanes && place < size) {
        words[place / 32] = mine;
        if (Lane() % kSegmentWords == 0) segments[place / kBufferSegment] = temp_storage.begin + before;
      }
    }
    __syncthreads();
    std::byte* const values = kPairs ? buffer : buffer + BitmapValuesOffset(size);
    const unsigned begin = temp_storage.begin, listed = temp_storage.begin_of[kWarps];
    for (unsigned from = threadIdx.x; from < listed; from += kAtOnce * kBlock) {
      std::uint32_t index[kAtOnce];
      Payload payload[kAtOnce];
#pragma unroll
      for (unsigned k = 0; k < kAtOnce; ++k) {
        if (from + k * kBlock >= listed) continue;
        index[k] = static_cast<std::uint32_t>(base) + temp_storage.list[from + k * kBlock];
        payload[k] = value(index[k]);
      }
#pragma unroll
      for (unsigned k = 0; k < kAtOnce; ++k) {
        const unsigned at = from + k * kBlock;
        if (at >= listed) continue;
        done(index[k]);
        if constexpr (kPairs) {
          StoreRecord(values, begin + at, index[k], payload[k]);
        } else {
          StorePayload(values, begin + at, payload[k]);
        }
      }
    }
    __syncthreads();  // before the temp_storage is used again
  }
}

/// Bitmap form where bits say all: a thread has a word at a time.
template <class Group>
__device__ void PackBits(const Group& group, std::byte* buffer, std::uint32_t* count, const TouchedHalo& places) {
  const std::size_t stride = std::size_t{BlockCount(group)} * kBlock;
  std::uint32_t set = 0;
  for (std::size_t w = std::size_t{BlockRank(group)} * kBlock + threadIdx.x; w < bits::Words(places.size); w += stride) {
    const std::uint32_t word = places.Word(w * 32);
    reinterpret_cast<std::uint32_t*>(buffer)[w] = word;
    if (word != 0) places.Release(w * 32, word);
    set += static_cast<std::uint32_t>(__popc(word));
  }
  AddFromBlock(count, set);
}
/// Or a warp has a segment.
template <class Group>
__device__ void PackBits(const Group& group, std::byte* buffer, std::uint32_t* count, const ActiveBorder& places) {
  const std::size_t all = bits::Words(places.size), warps = std::size_t{BlockCount(group)} * kWarps;
  std::uint32_t set = 0;
  for (std::size_t first = (std::size_t{BlockRank(group)} * kWarps + Warp()) * kSegmentWords; first < all;
       first += warps * kSegmentWords) {
    const std::uint32_t mine = places.Segment(first * 32);
    if (Lane() < kSegmentWords && first + Lane() < all) reinterpret_cast<std::uint32_t*>(buffer)[first + Lane()] = mine;
    set += static_cast<std::uint32_t>(__popc(mine));
  }
  AddFromBlock(count, set);
}

/// Whole form: a payload for every place. `value` and `done`: as of PackBitmap.
template <class Payload, class Group, class Value, class Done>
__device__ void PackWhole(const Group& group, std::byte* buffer, std::uint32_t* count, std::size_t size, Value&& value,
                          Done&& done) {
  constexpr unsigned kAtOnce = kEntriesAtOnce<Payload>;
  if (BlockRank(group) == 0 && threadIdx.x == 0) *count = static_cast<std::uint32_t>(size);
  const std::size_t stride = std::size_t{BlockCount(group)} * kBlock;
  for (std::size_t from = std::size_t{BlockRank(group)} * kBlock + threadIdx.x; from < size; from += kAtOnce * stride) {
    Payload payload[kAtOnce];
#pragma unroll
    for (unsigned k = 0; k < kAtOnce; ++k) {
      const std::size_t i = from + k * stride;
      if (i < size) payload[k] = value(static_cast<std::uint32_t>(i));
    }
#pragma unroll
    for (unsigned k = 0; k < kAtOnce; ++k) {
      const std::size_t i = from + k * stride;
      if (i >= size) continue;
      done(static_cast<std::uint32_t>(i));
      StorePayload(buffer, i, payload[k]);
    }
  }
}

/// Has the last block of a grid that is through with packing write the buffers' labels: `for_each` calls what it is given,
/// label(place in Control, buffer, its entries), for each of them. All threads call it.
template <class Group, class ForEachBuffer>
__device__ void WriteHeaders(const Group& group, Control* control, std::size_t payload, ForEachBuffer&& for_each) {
  if (!IsLastBlock(group, &control->packed)) return;
  for_each([&](std::uint32_t place, std::byte* buffer, std::size_t size) {
    if (threadIdx.x == place) WriteHeader(buffer, size, payload, *control, place);
  });
}
/// A buffer as its label says it is, which one thread of the block reads for all: it may be in another device's memory.
__device__ inline InboxRef OpenBuffer(const InboxRef& closed, std::size_t payload) {
  if (!closed.labelled) return closed;
  __shared__ std::uint32_t count;
  __shared__ Encoding form;
  if (threadIdx.x == 0) {
    const InboxRef open = ReadLabel(closed, payload);
    count = open.count;
    form = open.form;
  }
  __syncthreads();
  InboxRef inbox = closed;
  inbox.count = count;
  inbox.form = form;
  return inbox;
}

/// Some entries of a buffer, asked for together: each lane of a warp has as many.
template <class Payload, unsigned kEntries>
struct EntryBatch {
  static constexpr unsigned kCount = kEntries;
  bool present[kEntries];  ///< or there is none, and the payload means nothing
  std::uint32_t index[kEntries];
  Payload payload[kEntries];
};

/// @{
/// Call body(batch) for the entries of a buffer that are this device's, indexes counted from inbox.first. All lanes of a
/// warp call it together.
///
/// Of a buffer of pairs.
template <class Payload, class Group, class Body>
__device__ void ForEachPair(const Group& group, const InboxRef& inbox, Body&& body) {
  EntryBatch<Payload, kEntriesAtOnce<Payload>> batch;
  constexpr unsigned kAtOnce = batch.kCount;
  const std::size_t stride = std::size_t{BlockCount(group)} * kBlock;
  for (std::size_t base = std::size_t{BlockRank(group)} * kBlock; base < inbox.count; base += kAtOnce * stride) {
#pragma unroll
    for (unsigned k = 0; k < kAtOnce; ++k) {
      const std::size_t i = base + k * stride + threadIdx.x;
      std::uint32_t index = inbox.last;
      batch.payload[k] = Payload{};
      if (i < inbox.count) index = LoadRecord(inbox.buffer, static_cast<std::uint32_t>(i), &batch.payload[k]);
      batch.present[k] = index >= inbox.first && index < inbox.last;
      batch.index[k] = index - inbox.first;
    }
    body(batch);
  }
}
/// Of another, a lane a place: the nth entries of a warp's batches have indexes that follow each other.
template <class Payload, class Group, class Body>
__device__ void ForEachPlace(const Group& group, const InboxRef& inbox, Body&& body) {
  constexpr unsigned kAtOnce = sizeof(Payload) <= 8 ? kSegmentWords : 2;
  EntryBatch<Payload, kAtOnce> batch;
  const auto* const words = reinterpret_cast<const std::uint32_t*>(inbox.buffer);
  const auto* const segments = reinterpret_cast<const std::uint32_t*>(inbox.buffer + SegmentsOffset(inbox.size));
  const std::size_t begin = inbox.first / kBufferSegment, end = (inbox.last + kBufferSegment - 1) / kBufferSegment;
  const std::size_t warps = std::size_t{BlockCount(group)} * kWarps;
  for (std::size_t segment = begin + std::size_t{BlockRank(group)} * kWarps + Warp(); segment < end; segment += warps) {
    const std::size_t first = segment * kBufferSegment;
    unsigned set = kFull, place = 0;
    if (inbox.form == Encoding::kBitmap) {
      const std::size_t w = first / 32 + Lane();
      set = Lane() < kSegmentWords && w * 32 < inbox.size ? words[w] : 0;
      if constexpr (kWireBytes < Payload >> 0) place = segments[segment];
    }
#pragma unroll
    for (unsigned from = 0; from < kSegmentWords; from += kAtOnce) {
#pragma unroll
      for (unsigned k = 0; k < kAtOnce; ++k) {
        const std::size_t i = first + (from + k) * 32 + Lane();
        const unsigned word = __shfl_sync(kFull, set, from + k);
        batch.present[k] = i >= inbox.first && i < inbox.last && ((word >> Lane()) & 1) != 0;
        batch.index[k] = static_cast<std::uint32_t>(i - inbox.first);
        batch.payload[k] = Payload{};
        if (batch.present[k]) {
          const std::size_t at = inbox.form == Encoding::kBitmap ? place + __popc(word & ((1u << Lane()) - 1)) : i;
          LoadPayload(inbox.buffer + (inbox.form == Encoding::kBitmap ? BitmapValuesOffset(inbox.size) : 0), at,
                      &batch.payload[k]);
        }
        place += __popc(word);
      }
      body(batch);
    }
  }
}
/// Of another, a lane an entry, for bodies that have lanes wait: where few places are set, no more of them do than it takes.
/// `lists`: shared memory of the block.
template <class Payload, class Group, class Body>
__device__ void ForEachSet(const Group& group, const InboxRef& inbox, std::uint16_t (&lists)[kWarps][kBufferSegment],
                           Body&& body) {
  EntryBatch<Payload, kEntriesAtOnce<Payload>> batch;
  constexpr unsigned kAtOnce = batch.kCount;
  const bool bitmap = inbox.form == Encoding::kBitmap;
  const auto* const words = reinterpret_cast<const std::uint32_t*>(inbox.buffer);
  const auto* const segments = reinterpret_cast<const std::uint32_t*>(inbox.buffer + SegmentsOffset(inbox.size));
  const std::byte* const values = inbox.buffer + (bitmap ? BitmapValuesOffset(inbox.size) : 0);
  std::uint16_t* const list = lists[Warp()];
  const std::size_t begin = inbox.first / kBufferSegment, end = (inbox.last + kBufferSegment - 1) / kBufferSegment;
  const std::size_t warps = std::size_t{BlockCount(group)} * kWarps;
  for (std::size_t segment = begin + std::size_t{BlockRank(group)} * kWarps + Warp(); segment < end; segment += warps) {
    const std::size_t first = segment * kBufferSegment;
    std::size_t place = first;
    unsigned set = inbox.last - first < kBufferSegment ? static_cast<unsigned>(inbox.last - first) : kBufferSegment;
    if (bitmap) {
      const std::size_t w = first / 32 + Lane();
      const std::uint32_t mine = Lane() < kSegmentWords && w * 32 < inbox.size ? words[w] : 0;
      if constexpr (kWireBytes < Payload >> 0) place = segments[segment];
      __syncwarp();  // all have read the list of the segment before
      set = ListSet(mine, kSegmentWords, 0, list);
      __syncwarp();
    }
    for (unsigned from = 0; from < set; from += kAtOnce * 32) {
#pragma unroll
      for (unsigned k = 0; k < kAtOnce; ++k) {
        const unsigned at = from + k * 32 + Lane();
        const std::size_t i = first + (at >= set ? 0 : bitmap ? list[at] : at);
        batch.present[k] = at < set && i >= inbox.first && i < inbox.last;
        batch.index[k] = static_cast<std::uint32_t>(i - inbox.first);
        batch.payload[k] = Payload{};
        if (batch.present[k]) LoadPayload(values, place + at, &batch.payload[k]);
      }
      body(batch);
    }
  }
}
/// @}

/// PackMessages, of messages that look like that on the wire.
template <class P, class Payload, class Group>
__device__ void PackMessagesAs(const Group& group, const StateRef<P>& s, const OutboxRef& outbox, bool queued,
                               PackTempStorage& temp_storage) {
  const bool for_all = outbox.for_all != nullptr;
  const auto touched = [&](LocalId h) { return ((atomics::Load(s.touched + (h >> 5)) >> (h & 31)) & 1) != 0; };
  constexpr bool kKept = std::is_same_v<Payload, Slot<MessageOf<P>>>;
  const auto look = [&]([[maybe_unused]] LocalId h) {
    if constexpr (kKept) {
      return Payload{s.inbox[h]};
    } else {
      return Payload{};
    }
  };
  const auto empty = [&]([[maybe_unused]] LocalId h) {
    if constexpr (kKept) EmptyHalo<P>(s, h);
  };
  const auto clear = [&](LocalId h) { atomics::And<true>(s.touched + (h >> 5), ~(1u << (h & 31))); };
  // Warps that take from a queue wait for each other at the buffers' counters, some 12 ns each. A sweep over the bitmap is
  // at memory's rate, and its blocks count as one.
  constexpr std::size_t kFew = 512;
  const std::size_t in_queue = queued ? atomics::Load(&s.control->touched_halo_count) : 0;
  const bool few = queued && in_queue < (s.graph.local - s.graph.owned) / kFew + kBlock;
  bool pairs = false;
  ForEachMessageBuffer(s, outbox, [&](std::uint32_t place, std::byte* buffer, LocalId first, LocalId size, Encoding form) {
    std::uint32_t* const count = &s.control->buffer_count[place];
    if (BlockRank(group) == 0 && threadIdx.x == 0) s.control->buffer_encoding[place] = static_cast<std::uint32_t>(form);
    const TouchedHalo places{s.touched, first, size};
    const auto value = [&](std::uint32_t i) { return look(first + LocalId{i}); };
    const auto done = [&](std::uint32_t i) { empty(first + LocalId{i}); };
    if (form == Encoding::kDense) {
      detail::PackWhole<Payload>(group, buffer, count, size, value, [&](std::uint32_t i) {
        clear(first + LocalId{i});
        done(i);
      });
    } else if (form == Encoding::kSparse) {
      pairs = true;
      if (!few) detail::PackBitmap<Payload, /*kPairs=*/true>(group, temp_storage, buffer, count, places, value, done);
    } else if constexpr (kWireBytes < Payload >> 0) {
      detail::PackBitmap<Payload>(group, temp_storage, buffer, count, places, value, done);
    } else {
      detail::PackBits(group, buffer, count, places);
    }
  });
  if (!pairs || !few) return;
  for (std::size_t base = std::size_t{BlockRank(group)} * kBlock; base < in_queue;
       base += std::size_t{BlockCount(group)} * kBlock) {
    const std::size_t i = base + threadIdx.x;
    LocalId h = kNoLocal;
    if (i < in_queue) h = s.touched_halo[i];
    Payload payload{};
    std::uint32_t place = 0;
    bool keep = false;
    if (h != kNoLocal) {
      const std::uint32_t owner = s.graph.HaloOwner(h);
      place = for_all ? s.graph.part : owner;
      keep = (for_all || MessageForm(s, owner) == Encoding::kSparse) && touched(h);
      if (keep) {
        clear(h);
        payload = look(h);
        empty(h);
      }
    }
    const LocalId first = for_all ? s.graph.owned : s.graph.halo_begin[place];
    detail::PackRecord(s.control, for_all ? outbox.for_all : outbox.buffer[place], place, keep ? h - first : 0, payload,
                       keep);
  }
}

}  // namespace detail

/// Packs the combined messages of touched halo vertices for their owners, each owner's in the form that is shortest, and
/// releases them: a buffer an owner, or one for all, numbered as the halo.
template <class P, class Group>
__device__ void PackMessages(const Group& group, const StateRef<P>& s, const OutboxRef& outbox, bool queued) {
  __shared__ detail::PackTempStorage temp_storage;
  WithMessagePayload(
      s, [&](auto payload) { detail::PackMessagesAs<P, decltype(payload)>(group, s, outbox, queued, temp_storage); });
  if (!outbox.labelled) return;
  detail::WriteHeaders(group, s.control, MessageWireBytes(s), [&](auto&& label) {
    ForEachMessageBuffer(s, outbox, [&](std::uint32_t place, std::byte* buffer, LocalId, LocalId size, Encoding) {
      label(place, buffer, size);
    });
  });
}

/// In place of PackMessages and the owners' UnpackMessages: every queued message of a halo vertex goes by atomics into the
/// state of its owner, one of `parts`, and the owner's queue grows by one atomic a warp and owner.
template <class P, class Group>
__device__ void DeliverMessages(const Group& group, const StateRef<P>& s, const StateRef<P>* parts) {
  if (BlockRank(group) == 0 && threadIdx.x < s.graph.parts) {
    s.control->buffer_encoding[threadIdx.x] = static_cast<std::uint32_t>(Encoding::kAtomics);
  }
  const std::size_t count = atomics::Load(&s.control->touched_halo_count);
  for (std::size_t base = std::size_t{BlockRank(group)} * kBlock + Warp() * 32; base < count;
       base += std::size_t{BlockCount(group)} * kBlock) {
    const std::size_t i = base + Lane();
    std::uint32_t part = kMaxDevices;  // no lane's
    LocalId v = 0;
    bool first = false;
    if (i < count) {
      const LocalId h = s.touched_halo[i];
      part = s.graph.HaloOwner(h);
      v = AtOwner(s, parts[part], h);
      const MessageOf<P> message = KeepsMessages(s) ? s.inbox[h].message : MessageOf<P>{};
      ReleaseHalo<P, true, atomics::Scope::kSystem>(s, h);
      first = Deliver<P, true, atomics::Scope::kSystem>(parts[part], v, message) == Delivery::kFirst;
    }
    const unsigned same = __match_any_sync(kFull, part), queued = __ballot_sync(kFull, first) & same;
    if (part < kMaxDevices && Lane() == __ffs(same) - 1u) {
      atomics::Add<true>(&s.control->buffer_count[part], static_cast<std::uint32_t>(__popc(same)));
    }
    unsigned at = 0;
    const unsigned leader = queued != 0 ? __ffs(queued) - 1 : Lane();
    if (first && Lane() == leader) {
      at = atomics::Add<true, atomics::Scope::kSystem>(&parts[part].control->touched_count,
                                                       static_cast<std::uint32_t>(__popc(queued)));
    }
    at = __shfl_sync(kFull, at, leader);
    if (first) parts[part].touched_queue[at + __popc(queued & ((1u << Lane()) - 1))] = v;
  }
}

/// Packs the shared values of active border vertices for those who hold them in their halo. The caller chooses the forms.
template <class P, class Group>
__device__ void PackShared(const Group& group, const StateRef<P>& s, const OutboxRef& outbox, const SharedPlan& plan) {
  using Payload = SharedSlot<P>;
  __shared__ detail::PackTempStorage temp_storage;
  ForEachSharedBuffer(
      s, outbox, plan, [&](std::uint32_t place, std::byte* buffer, const LocalId* vertices, LocalId size, Encoding form) {
        std::uint32_t* const count = &s.control->buffer_count[place];
        if (BlockRank(group) == 0 && threadIdx.x == 0) s.control->buffer_encoding[place] = static_cast<std::uint32_t>(form);
        const detail::ActiveBorder places{s.active, vertices, size, plan.all};
        const auto value = [&](std::size_t i) { return LoadShared(s, vertices[i]); };
        const auto done = [](std::uint32_t) {};
        if (form == Encoding::kBitmap) {
          if constexpr (kWireBytes < Payload >> 0) {
            return detail::PackBitmap<Payload>(group, temp_storage, buffer, count, places, value, done);
          } else {
            return detail::PackBits(group, buffer, count, places);
          }
        }
        if (form == Encoding::kDense) return detail::PackWhole<Payload>(group, buffer, count, size, value, done);
        detail::PackBitmap<Payload, /*kPairs=*/true>(group, temp_storage, buffer, count, places, value, done);
      });
  if (!outbox.labelled) return;
  detail::WriteHeaders(group, s.control, kWireBytes<Payload>, [&](auto&& label) {
    ForEachSharedBuffer(
        s, outbox, plan,
        [&](std::uint32_t place, std::byte* buffer, const LocalId*, LocalId size, Encoding) { label(place, buffer, size); });
  });
}

namespace detail {

/// UnpackMessages, of messages that look like that on the wire.
template <class P, class Payload, class Group>
__device__ void UnpackMessagesAs(const Group& group, const StateRef<P>& s, const InboxRef& inbox, std::uint32_t peer,
                                 bool queue_out, std::uint16_t (&lists)[kWarps][kBufferSegment]) {
  const LocalId* const vertices = s.border.vertices + s.border.begin[peer];
  const auto take_in = [&](const auto& batch) {
    constexpr unsigned kCount = std::decay_t<decltype(batch)>::kCount;
    LocalId v[kCount];
    bool wanted[kCount];
#pragma unroll
    for (unsigned k = 0; k < kCount; ++k) v[k] = batch.present[k] ? vertices[batch.index[k]] : 0;
#pragma unroll
    for (unsigned k = 0; k < kCount; ++k) {
      wanted[k] = batch.present[k] && IsWanted(s, v[k], MessageIn<P>(batch.payload[k]));
    }
    unsigned first[kCount], all = 0;
#pragma unroll
    for (unsigned k = 0; k < kCount; ++k) {
      const bool mine =
          wanted[k] && DeliverWanted<P, true>(s, v[k], MessageIn<P>(batch.payload[k]), queue_out) == Delivery::kFirst;
      first[k] = __ballot_sync(kFull, mine);
      all += __popc(first[k]);
    }
    if (!queue_out || all == 0) return;
    unsigned at = 0;
    if (Lane() == 0) at = atomics::Add<true>(&s.control->touched_count, all);
    at = __shfl_sync(kFull, at, 0);
#pragma unroll
    for (unsigned k = 0; k < kCount; ++k) {
      if ((first[k] >> Lane() & 1) != 0) s.touched_queue[at + __popc(first[k] & ((1u << Lane()) - 1))] = v[k];
      at += __popc(first[k]);
    }
  };
  if (inbox.form == Encoding::kSparse) return detail::ForEachPair<Payload>(group, inbox, take_in);
  detail::ForEachSet<Payload>(group, inbox, lists, take_in);
}

}  // namespace detail

namespace detail {

/// Sets bit v of every lane with `present`, whose v ascend: one atomic for those of each of the first two words, which are
/// all where vertices are dense. All lanes call it.
__device__ inline void SetAscending(std::uint32_t* words, LocalId v, bool present) {
  unsigned rest = __ballot_sync(kFull, present);
  for (unsigned turn = 0; turn < 2 && rest != 0; ++turn) {
    const unsigned leader = __ffs(rest) - 1;
    const std::uint32_t at = __shfl_sync(kFull, v >> 5, leader);
    const bool mine = present && v >> 5 == at;
    const unsigned all = __reduce_or_sync(kFull, mine ? 1u << (v & 31) : 0);
    if (Lane() == leader) atomics::Or<true>(words + at, all);
    rest &= ~__ballot_sync(kFull, mine);
  }
  if ((rest >> Lane() & 1) != 0) atomics::Or<true>(words + (v >> 5), 1u << (v & 31));
}

/// Where bits say all, and nobody is to be queued: sets bit vertices[i] of `to` for each place i that is set in a buffer.
/// Warps have a segment each, and look up the vertices of its places together, where they are no stretch.
template <class Group>
__device__ void ScatterBits(const Group& group, const InboxRef& inbox, const LocalId* vertices, std::uint32_t* to) {
  const auto* const words = reinterpret_cast<const std::uint32_t*>(inbox.buffer);
  const std::size_t begin = inbox.first / kBufferSegment, end = (inbox.last + kBufferSegment - 1) / kBufferSegment;
  const std::size_t warps = std::size_t{BlockCount(group)} * kWarps;
  for (std::size_t segment = begin + std::size_t{BlockRank(group)} * kWarps + Warp(); segment < end; segment += warps) {
    const std::size_t w = segment * kSegmentWords + Lane();
    std::uint32_t mine = 0;
    if (Lane() < kSegmentWords && w * 32 < inbox.last) {
      mine = words[w] & bits::Mask(w, inbox.last) & ~bits::Mask(w, inbox.first);
    }
    if (!__any_sync(kFull, mine != 0)) continue;
    if (segment * kBufferSegment < inbox.first) {  // the list begins within the segment, once a buffer
      for (unsigned k = 0; k < kSegmentWords; ++k) {
        const std::size_t i = segment * kBufferSegment + k * 32 + Lane();
        if ((__shfl_sync(kFull, mine, k) >> Lane() & 1) == 0) continue;
        const LocalId v = vertices[i - inbox.first];
        atomics::Or<true>(to + (v >> 5), 1u << (v & 31));
      }
      continue;
    }
    const std::size_t i = segment * kBufferSegment - inbox.first, size = inbox.last - inbox.first;
    const Stretch stretch(vertices, i, size);
    if (stretch.whole && mine != 0) {
      std::uint32_t* const at = to + stretch.first / 32;
      const unsigned shift = stretch.first & 31;
      if (mine << shift != 0) atomics::Or<true>(at, mine << shift);
      if (shift != 0 && mine >> (32 - shift) != 0) atomics::Or<true>(at + 1, mine >> (32 - shift));
    }
    const unsigned apart = __ballot_sync(kFull, !stretch.whole && mine != 0);
    if (apart == 0) continue;
    LocalId v[kSegmentWords];
    LoadSegment(vertices, i, size, v);
#pragma unroll
    for (unsigned k = 0; k < kSegmentWords; ++k) {
      const std::uint32_t word = __shfl_sync(kFull, mine, k);
      if ((apart >> k & 1) != 0) SetAscending(to, v[k], (word >> Lane() & 1) != 0);
    }
  }
}

}  // namespace detail

/// Takes in one peer's messages, as if its edges had been ours.
template <class P, class Group>
__device__ void UnpackMessages(const Group& group, const StateRef<P>& s, const InboxRef& buffer, std::uint32_t peer,
                               bool queue_out) {
  __shared__ std::uint16_t lists[kWarps][kBufferSegment];
  const InboxRef inbox = detail::OpenBuffer(buffer, MessageWireBytes(s));
  if constexpr (Traits<P>::kHasRoundMessage) {
    // Bits alone: nobody is asked or queued, and there are no entries to look at one by one.
    if (!queue_out && inbox.form == Encoding::kBitmap && !KeepsMessages(s)) {
      return detail::ScatterBits(group, inbox, s.border.vertices + s.border.begin[peer], s.touched);
    }
  }
  WithMessagePayload(
      s, [&](auto payload) { detail::UnpackMessagesAs<P, decltype(payload)>(group, s, inbox, peer, queue_out, lists); });
}

namespace detail {

/// The bits of a buffer become those of `to` from bit `first` on, which are clear. A thread has a word of `to` at a time.
template <class Group>
__device__ void JoinBits(const Group& group, const InboxRef& inbox, std::uint32_t* to, LocalId first) {
  const auto* const words = reinterpret_cast<const std::uint32_t*>(inbox.buffer);
  const std::size_t size = inbox.last, all = bits::Words(size), end = first + size, base = first / 32;
  const auto word = [&](std::size_t w) { return w < all ? words[w] & bits::Mask(w, size) : 0; };
  const std::size_t stride = std::size_t{BlockCount(group)} * kBlock;
  for (std::size_t k = std::size_t{BlockRank(group)} * kBlock + threadIdx.x; base + k < bits::Words(end); k += stride) {
    const std::uint32_t bits = __funnelshift_l(k == 0 ? 0 : word(k - 1), word(k), first & 31);
    const std::size_t w = base + k;
    if (w * 32 >= first && w * 32 + 32 <= end) {
      to[w] = bits;
    } else if (bits != 0) {  // others' are in it
      atomics::Or<true>(to + w, bits);
    }
  }
}

}  // namespace detail

/// Takes in one peer's shared values. The halo's active bits have been cleared. `to_halo`: where entries of the peer's
/// border_union are in this device's halo, or null for entries of this device's subset.
template <class P, class Group>
__device__ void UnpackShared(const Group& group, const StateRef<P>& s, const InboxRef& buffer, std::uint32_t peer,
                             const LocalId* to_halo) {
  using Payload = SharedSlot<P>;
  const InboxRef inbox = detail::OpenBuffer(buffer, kWireBytes<Payload>);
  const LocalId halo = s.graph.halo_begin[peer];
  const bool in_order = to_halo == nullptr && inbox.form != Encoding::kSparse && inbox.first == 0;
  if constexpr (kWireBytes<Payload> == 0) {
    if (in_order && inbox.form == Encoding::kBitmap) return detail::JoinBits(group, inbox, s.active, halo);
  }
  const auto take_in = [&](const auto& batch) {
#pragma unroll
    for (unsigned k = 0; k < std::decay_t<decltype(batch)>::kCount; ++k) {
      if (!in_order) {
        if (batch.present[k]) ReceiveShared<P, true>(s, peer, batch.index[k], to_halo, batch.payload[k]);
        continue;
      }
      if (batch.present[k]) StoreShared(s, halo + batch.index[k], batch.payload[k]);
      const unsigned word = __ballot_sync(kFull, batch.present[k]);  // their bits, of two words
      const LocalId begin = halo + batch.index[k] - Lane(), shift = begin & 31;
      if (Lane() == 0 && word << shift != 0) atomics::Or<true>(s.active + (begin >> 5), word << shift);
      if (Lane() == 1 && shift != 0 && word >> (32 - shift) != 0) {
        atomics::Or<true>(s.active + (begin >> 5) + 1, word >> (32 - shift));
      }
    }
  };
  if (inbox.form == Encoding::kSparse) return detail::ForEachPair<Payload>(group, inbox, take_in);
  detail::ForEachPlace<Payload>(group, inbox, take_in);
}

/// Clears active bits: the owned ones, or only the halo's.
template <class P, class Group>
__device__ void ClearActive(const Group& group, const StateRef<P>& s, bool halo_only) {
  const LocalId begin = halo_only ? s.graph.owned : 0;
  const std::size_t words = bits::Words(s.graph.local);
  const unsigned stride = BlockCount(group) * kBlock;
  for (std::size_t w = begin / 32 + std::size_t{BlockRank(group)} * kBlock + threadIdx.x; w < words; w += stride) {
    if (w == begin / 32) {
      s.active[w] &= bits::Mask(w, begin);
    } else {
      s.active[w] = 0;
    }
  }
}

/// One partial aggregate a block; the host combines them in block order, so that a run repeats itself bit for bit.
template <class P, class Group>
__device__ void Measure(const Group& group, const StateRef<P>& s, const RoundOf<P>& round, GlobalOf<P>* partials) {
  if constexpr (Traits<P>::kHasMeasure) {
    GlobalOf<P> mine{};
    const unsigned stride = BlockCount(group) * kBlock;
    for (std::size_t i = std::size_t{BlockRank(group)} * kBlock + threadIdx.x; i < s.graph.owned; i += stride) {
      const auto v = static_cast<LocalId>(i);
      mine = CombineGlobal<P>(mine, MeasureOf<P>(s.program, s.values[v], s.values[v], s.At(v), round));
    }
    detail::StorePartial<P>(group, mine, partials);
  }
}

/// Results, one an owned vertex.
template <class P, class Group>
__device__ void Output(const Group& group, const StateRef<P>& s, const RoundOf<P>& round, OutputOf<P>* out) {
  const unsigned stride = BlockCount(group) * kBlock;
  for (std::size_t i = std::size_t{BlockRank(group)} * kBlock + threadIdx.x; i < s.graph.owned; i += stride) {
    out[i] = chatty::detail::OutputOfValue<P>(s.program, s.values[i], round);
  }
}

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
  /// Of a warp's table. One more is for messages that look like a free place.
  static constexpr unsigned kPlaces = 2048 / sizeof(Message);
  Message values[kWarps * (kPlaces + 1)];
  std::uint32_t counts[kWarps * (kPlaces + 1)];
};

/// Counts the messages to v in a table of at most `capacity` places, a power of two, and one more. Returns whether all found
/// a place; then the first *runs places are taken, and no others. *size is what came.
template <class P, class Team>
__device__ bool CountTogether(const StateRef<P>& s, LocalId v, const RoundOf<P>& round, bool all_active,
                              MessageOf<P>* values, std::uint32_t* counts, unsigned capacity, std::uint32_t* size,
                              std::uint32_t* runs) {
  using Message = MessageOf<P>;
  using Word = std::conditional_t<sizeof(Message) == 4, unsigned, unsigned long long>;
  constexpr unsigned kProbes = 64;
  constexpr auto kFree = static_cast<Message>(~Word{0});
  const EdgeIndex begin = s.graph.reverse.offsets[v], end = s.graph.reverse.offsets[v + 1];
  unsigned places = 64;  // no more than the row needs, for all are looked at
  while (places < capacity && places < 2 * (end - begin)) places *= 2;
  for (unsigned i = Team::rank(); i <= places; i += Team::kWidth) {
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
      atomicAdd(counts + places, 1u);
      continue;
    }
    unsigned at = static_cast<unsigned>((static_cast<std::uint64_t>(message) * 0x9e3779b97f4a7c15ull) >> 40);
    fits = false;
    for (unsigned probe = 0; probe < kProbes && !fits; ++probe, ++at) {
      at &= places - 1;
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
    for (unsigned base = 0; base <= places; base += 32) {
      const unsigned i = base + Lane();
      const std::uint32_t count = i <= places ? counts[i] : 0;
      const Message value = i <= places ? values[i] : Message{};
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

/// kCollect and kCount: every candidate sees all messages of its active in-neighbours, sorted or counted. A block a vertex
/// for long rows, a lane for short ones that are counted, a warp otherwise. New values are set aside; CommitCollected makes
/// them current, a barrier later.
template <class P, class Group>
__device__ void Collect(const Group& group, const StateRef<P>& s, const RoundOf<P>& round, bool all_active) {
  if constexpr (Traits<P>::kCollects) {
    using Message = MessageOf<P>;
    using Memory = std::conditional_t<Traits<P>::kCounts, detail::CountTempStorage<Message>, None>;
    all_active |= Traits<P>::kEveryRound;
    Counters tally;
    std::uint64_t scanned = 0;
    __shared__ std::uint32_t kept[kWarps], runs_kept[kWarps];
    [[maybe_unused]] __shared__ Memory temp_storage;
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
    const auto one = [&](LocalId v, auto team, unsigned place) {
      using Team = decltype(team);
      const EdgeIndex begin = s.graph.reverse.offsets[v], end = s.graph.reverse.offsets[v + 1];
      if constexpr (Traits<P>::kSameAgain) {
        if (begin < end && !Team::any(MaySeeOthers(s, begin + Team::rank(), end, Team::kWidth))) {
          if (Team::rank() == 0) s.next_values[v] = s.values[v];
          return;
        }
      }
      if (Team::rank() == 0) scanned += end - begin;
      std::uint32_t* const size = &kept[place];
      if constexpr (Traits<P>::kCounts) {
        constexpr bool kWarp = std::is_same_v<Team, detail::WarpTeam>;
        constexpr unsigned kPlaces = Memory::kPlaces;
        Message* const values = temp_storage.values + place * (kPlaces + 1);
        std::uint32_t *const counts = temp_storage.counts + place * (kPlaces + 1), *const runs = &runs_kept[place];
        bool counted = true;
        if (kWarp && end - begin <= 32) {
          detail::CountInWarp(s, v, round, all_active, values, counts, size, runs);
        } else {
          counted = detail::CountTogether<P, Team>(s, v, round, all_active, values, counts,
                                                   kWarp ? kPlaces : kWarps * kPlaces, size, runs);
        }
        if (counted) {
          if (Team::rank() == 0) update(v, Counts<Message>(values, counts, *runs, *size));
          Team::sync();
          return;
        }
        Team::sync();
      }
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
      if (Team::rank() == 0) update(v, chatty::detail::UpdateOf<P>(s.collected + begin, messages));
      Team::sync();
    };
    // Each lane with a row of its own, where there are few messages to compare.
    constexpr unsigned kLaneRow = 8;
    const auto alone = [&](LocalId v, EdgeIndex begin, EdgeIndex end) {
      if constexpr (Traits<P>::kCounts) {
        if (Traits<P>::kSameAgain && begin < end && !MaySeeOthers(s, begin, end, 1)) {
          s.next_values[v] = s.values[v];
          return;
        }
        scanned += end - begin;
        Message values[kLaneRow];
        std::uint32_t counts[kLaneRow], size = 0;
        for (EdgeIndex e = begin; e < end; ++e) {
          if (GatherEdge(s, s.graph.reverse.neighbours[e], v, e, all_active, round, false, &values[size]))
            counts[size++] = 1;
        }
        for (unsigned i = 1; i < size; ++i) {
          unsigned first = 0;
          while (values[first] != values[i]) ++first;
          if (first == i) continue;
          counts[first] += 1;
          counts[i] = 0;
        }
        update(v, Counts<Message>(values, counts, size, size));
      }
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
      if constexpr (Traits<P>::kCounts) {
        if (wide && end - begin <= kLaneRow) {
          alone(v, begin, end);
          wide = false;
        }
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
  if constexpr (Traits<P>::kCollects) {
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
