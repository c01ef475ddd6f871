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

namespace detail {

/// Writes and counts the first frontier and the candidates of a pull, for the first `end` vertices; halo vertices are
/// neither. `value_at(v)` gives the value of vertex v; all lanes call it, also for v past the end. A warp takes up to 32
/// consecutive words of the bitmaps, a lane each, so that accesses to them coalesce.
template <class P, class Group, class ValueAt>
__device__ void ActivateVertices(const Group& group, const StateRef<P>& s, const RoundOf<P>& round, std::size_t end,
                                 ValueAt&& value_at) {
  Counters tally;
  const auto words = static_cast<std::uint32_t>(bits::Words(end));
  const auto owned_words = static_cast<std::uint32_t>(bits::Words(s.graph.owned));
  const unsigned together = WordsOfWarp(group, words);
  const unsigned stride = BlockCount(group) * kWarps * together;
  for (unsigned base = (BlockRank(group) * kWarps + Warp()) * together; base < words; base += stride) {
    const unsigned w = base + Lane();
    const bool has_word = Lane() < together && w < words;
    std::uint32_t rows = kFull, active_word = 0, candidate_word = 0;
    if (Traits<P>::kHasFilter && s.rows != nullptr && has_word && w < owned_words) rows = s.rows[w];
    for (unsigned j = 0; j < together && base + j < words; ++j) {
      const LocalId v = (base + j) * 32 + Lane();  // fits: base + j < words
      const ValueOf<P> value = value_at(v);
      const bool owned = v < s.graph.owned, active = owned && StartsActive(s, v, value, round);
      if (active) {
        tally.vertices += 1;
        tally.edges += s.graph.forward.degree(v);
      }
      const unsigned all_active = __ballot_sync(kFull, active);
      if (Lane() == j) active_word = all_active;
      if (active && all_active == 1u << Lane()) atomics::Store(s.frontier, v);  // right if no other is active at all
      if constexpr (Traits<P>::kHasFilter) {
        // Most vertices are candidates at first. So the reverse edges of the others are subtracted from all.
        const bool candidate = owned && IsCandidateWith(s, value);
        const std::uint32_t with_rows = __shfl_sync(kFull, rows, j);
        if (owned && !candidate && (with_rows >> Lane() & 1) != 0) {
          tally.candidate_edges -= static_cast<std::int64_t>(s.graph.reverse.degree(v));
        }
        const unsigned candidates = __ballot_sync(kFull, candidate) & with_rows;
        if (Lane() == j) candidate_word = candidates;
      }
    }
    if (!has_word) continue;
    s.active[w] = active_word;
    if (Traits<P>::kHasFilter && s.candidates != nullptr && w < owned_words) s.candidates[w] = candidate_word;
  }
  if (IsFirst(group) && s.graph.owned > 0) {
    tally.candidate_edges += static_cast<std::int64_t>(s.graph.reverse.offsets[s.graph.owned] - s.graph.reverse.offsets[0]);
  }
  AddFromBlock(&s.control->active_vertices, tally.vertices);
  AddFromBlock(&s.control->active_edges, tally.edges);
  AddFromBlock(&s.control->candidate_edges, tally.candidate_edges);
}

}  // namespace detail

/// A run begins: first values, empty inboxes, empty bitmaps, and what Activate does, in one sweep.
template <class P, class Group>
__device__ void Init(const Group& group, const StateRef<P>& s, const InputOf<P>* prior, const RoundOf<P>& round) {
  const unsigned stride = BlockCount(group) * kBlock, first = BlockRank(group) * kBlock + threadIdx.x;
  detail::ActivateVertices(group, s, round, s.graph.local, [&](LocalId v) {
    ValueOf<P> value{};
    if (v < s.graph.owned) s.values[v] = value = InitialValue(s, prior, v);
    if (v < s.graph.local && s.inbox != nullptr && KeepsMessages(s)) {
      Slot<MessageOf<P>> empty{};
      empty.message = IdentityOf<P>();
      s.inbox[v] = empty;
    }
    return value;
  });
  for (std::size_t w = first; w < bits::Words(s.graph.local); w += stride) s.touched[w] = 0;
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
  detail::ActivateVertices(group, s, round, s.graph.owned,
                           [&](LocalId v) { return v < s.graph.owned ? s.values[v] : ValueOf<P>{}; });
}

/// Finds the candidates from the current values.
template <class P, class Group>
__device__ void FindCandidates(const Group& group, const StateRef<P>& s) {
  for (std::size_t base = std::size_t{BlockRank(group)} * kBlock; base < s.graph.owned;
       base += std::size_t{BlockCount(group)} * kBlock) {
    const std::size_t i = base + threadIdx.x;
    const unsigned word = __ballot_sync(kFull, i < s.graph.owned && IsCandidate(s, static_cast<LocalId>(i)));
    if (Lane() == 0 && i < s.graph.owned) s.candidates[i / 32] = word & s.rows[i / 32];
  }
}

/// Writes a bitmap of the owned vertices that have reverse edges.
template <class P, class Group>
__device__ void FindRows(const Group& group, const StateRef<P>& s, std::uint32_t* rows) {
  for (std::size_t base = std::size_t{BlockRank(group)} * kBlock; base < s.graph.owned;
       base += std::size_t{BlockCount(group)} * kBlock) {
    const std::size_t i = base + threadIdx.x;
    const unsigned word = __ballot_sync(kFull, i < s.graph.owned && s.graph.reverse.degree(static_cast<LocalId>(i)) != 0);
    if (Lane() == 0 && i < s.graph.owned) rows[i / 32] = word;
  }
}

namespace detail {

/// Adds a thread's share of what programs that order count. All threads of the block call it.
template <class P>
__device__ void AddOrder(const StateRef<P>& s, const Counters& tally) {
  AddFromBlock(&s.control->pending_vertices, tally.pending);
  AddFromBlock(&s.control->first_edges, tally.first_edges);
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
/// touched vertices comes a queue of active ones; from a bitmap, a bitmap. The candidates of a pull follow the values: a
/// vertex that Filter takes on or leaves out changes its bit. Where updates are measured, a partial aggregate a block, as of
/// Measure.
template <class P, class Group>
__device__ void Apply(const Group& group, const StateRef<P>& s, const RoundOf<P>& round, Form form, std::size_t count,
                      [[maybe_unused]] GlobalOf<P>* partials = nullptr) {
  if (std::size_t{BlockRank(group)} * kBlock >= count) return;
  Counters tally;
  [[maybe_unused]] GlobalOf<P> measure{};
  // Updates owned vertex v of each lane with `mine`. Returns whether it becomes active; `moved`: whether its bit among the
  // candidates changes, as by its edges.
  const auto update = [&](LocalId v, bool mine, bool* moved) {
    [[maybe_unused]] ValueOf<P> before{};
    if constexpr (Traits<P>::kMeasuresChange) {
      if (mine) before = s.values[v];
    }
    const std::int64_t candidate_edges = tally.candidate_edges;
    const bool active = mine && ApplyOne(s, v, round, &tally);
    *moved = tally.candidate_edges != candidate_edges;
    if constexpr (Traits<P>::kMeasuresChange) {
      if (mine) measure = CombineGlobal<P>(measure, MeasureOf<P>(s.program, before, s.values[v], s.At(v), round));
    }
    return active;
  };
  const bool moves = Traits<P>::kHasFilter && s.candidates != nullptr;
  if (form == Form::kBitmap) {
    // A warp takes some words. If those that are not zero have eight messages or more on average, it visits these words one
    // by one. Otherwise each lane takes a vertex with a message.
    __shared__ std::uint32_t active_words[kBlock], moved_words[kBlock];
    const auto words = static_cast<std::uint32_t>(bits::Words(count));
    const unsigned together = WordsOfWarp(group, words);
    const unsigned stride = BlockCount(group) * kWarps * together;
    for (unsigned base = (BlockRank(group) * kWarps + Warp()) * together; base < words; base += stride) {
      const unsigned w = base + Lane();
      const bool has_word = Lane() < together && w < words;
      const std::uint32_t word = has_word ? s.touched[w] : 0, touched = word & bits::Mask(w, count);
      const WarpBits all(touched);
      unsigned left = __ballot_sync(kFull, touched != 0);
      const bool dense = all.total() >= 8 * bits::Count(left);
      std::uint32_t active_word = 0, moved_word = 0;
      active_words[threadIdx.x] = moved_words[threadIdx.x] = 0;
      __syncwarp();
      for (unsigned k = 0; dense ? left != 0 : k < all.total(); k += 32) {
        unsigned owner, bit = Lane();
        bool mine;
        if (dense) {
          owner = __ffs(left) - 1;
          left &= left - 1;
          mine = (__shfl_sync(kFull, touched, owner) >> bit & 1) != 0;
        } else {
          mine = k + Lane() < all.total();
          owner = all.Owner(mine ? k + Lane() : all.total() - 1, &bit);
        }
        bool moved = false;
        const bool active = update((base + owner) * 32 + bit, mine, &moved);
        if (dense) {
          const unsigned all_active = __ballot_sync(kFull, active), all_moved = __ballot_sync(kFull, moved);
          if (Lane() == owner) {
            active_word = all_active;
            moved_word = all_moved;
          }
        } else {
          SetBits(active_words + Warp() * 32, owner, bit, active);
          if (moves) SetBits(moved_words + Warp() * 32, owner, bit, moved);
        }
      }
      if (!dense) {
        active_word = active_words[threadIdx.x];
        moved_word = moved_words[threadIdx.x];
      }
      __syncwarp();
      if (!has_word) continue;
      s.active[w] = active_word;
      if (word != 0) s.touched[w] = 0;
      if (moves && moved_word != 0) s.candidates[w] ^= moved_word;
    }
  }
  for (std::size_t base = std::size_t{BlockRank(group)} * kBlock; form != Form::kBitmap && base < count;
       base += std::size_t{BlockCount(group)} * kBlock) {
    const std::size_t i = base + threadIdx.x;
    auto v = static_cast<LocalId>(i);
    if (form == Form::kQueue && i < count) {
      v = s.touched_queue[i];
      atomics::And<true>(s.touched + (v >> 5), ~(1u << (v & 31)));
    }
    bool moved = false;
    const bool active = update(v, i < count, &moved);
    if (form == Form::kQueue) {
      if (moves && moved) atomicXor(s.candidates + (v >> 5), 1u << (v & 31));
      Append(s.next, &s.control->next_count, v, active);
    } else {
      const unsigned word = __ballot_sync(kFull, active), all_moved = __ballot_sync(kFull, moved);
      if (Lane() == 0 && i < count) {
        s.active[i / 32] = word;
        s.touched[i / 32] = 0;
        if (moves && all_moved != 0) s.candidates[i / 32] ^= all_moved;
      }
    }
  }
  AddFromBlock(&s.control->active_vertices, tally.vertices);
  AddFromBlock(&s.control->active_edges, tally.edges);
  if constexpr (Traits<P>::kHasFilter) AddFromBlock(&s.control->candidate_edges, tally.candidate_edges);
  if constexpr (Traits<P>::kOrders) {
    if (s.order.limit != kInfinity<double>) detail::AddOrder(s, tally);
  }
  if constexpr (Traits<P>::kMeasuresChange) detail::StorePartial<P>(group, measure, partials);
}

/// Pending vertices below the limit join the frontier: a bitmap, or a queue of `count`. A warp takes some words of the
/// bitmap of pending vertices, and each lane one of their vertices: what bounds it is how often a warp waits for values.
template <class P, class Group>
__device__ void Release(const Group& group, const StateRef<P>& s, Form form, std::size_t count) {
  if constexpr (Traits<P>::kOrders) {
    __shared__ std::uint32_t going_words[kBlock];
    Counters tally;
    const auto words = static_cast<std::uint32_t>(bits::Words(s.graph.owned));
    const unsigned together = WordsOfWarp(group, words);
    const unsigned stride = BlockCount(group) * kWarps * together;
    for (unsigned base = (BlockRank(group) * kWarps + Warp()) * together; base < words; base += stride) {
      const unsigned w = base + Lane();
      const std::uint32_t pending = Lane() < together && w < words ? s.order.pending[w] : 0;
      const WarpBits all(pending);
      if (all.total() == 0) continue;
      const std::uint32_t seen = pending != 0 ? s.order.seen[w] : 0;
      going_words[threadIdx.x] = 0;
      __syncwarp();
      for (unsigned k = 0; k < all.total(); k += 32) {
        const bool mine = k + Lane() < all.total();
        unsigned bit;
        const unsigned owner = all.Owner(mine ? k + Lane() : all.total() - 1, &bit);
        const bool again = (__shfl_sync(kFull, seen, owner) >> bit & 1) != 0;
        const LocalId v = (base + owner) * 32 + bit;
        bool goes = false;
        if (mine) {
          const double priority = PriorityOf(s.program, s.values[v]);
          goes = GoesNow(priority, s.order.limit);
          if (goes) {
            const EdgeIndex degree = s.graph.forward.degree(v);
            tally.vertices += 1;
            tally.edges += degree;
            if (!again) tally.first_edges += degree;
          } else {
            const std::uint64_t key = PriorityKey(priority);
            if (key > tally.first_pending) tally.first_pending = key;
          }
        }
        SetBits(going_words + Warp() * 32, owner, bit, goes);
        if (form == Form::kQueue) Append(s.frontier + count, &s.control->next_count, v, goes);
      }
      const std::uint32_t going = going_words[threadIdx.x];
      __syncwarp();
      if (going == 0) continue;
      s.order.pending[w] = pending & ~going;
      s.order.seen[w] = seen | going;
      if (form == Form::kBitmap) s.active[w] |= going;
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
