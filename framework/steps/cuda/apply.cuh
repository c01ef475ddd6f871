/// \file
/// What happens to the vertices of a device, without a look at their edges: first values, activation, updates, the release
/// of pending vertices, aggregates and results.
///
/// Device functions over a cooperative group, so that a kernel launched for one step and a resident kernel that loops over
/// all steps run the same code. This holds for all files of steps here; the kernels of single steps are in kernels.cuh.
/// Between two steps that depend on each other the caller puts a barrier of the group (or a kernel boundary).
#pragma once

#include "chatty/framework/steps/cuda/block.cuh"

namespace chatty::steps::cuda {

/// First values, empty inboxes, empty bitmaps.
template <class P, class Group>
__device__ void Init(const Group& group, const StateRef<P>& s, const InputOf<P>* prior) {
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
  if constexpr (Traits<P>::kSendsOnce) {
    for (std::size_t w = first; w < s.SentWords(); w += stride) s.sent[w] = 0;
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
  if constexpr (Traits<P>::kHasFilter) AddFromBlock(&s.control->candidate_edges, tally.wanting);
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
}  // namespace chatty::steps::cuda
