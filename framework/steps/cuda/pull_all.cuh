/// \file
/// A whole round of a program in which every vertex takes part, in two kernels. They gather rows, update vertices, publish
/// what the next round gathers, and measure the aggregate. Between these steps only the pieces of long rows and the measures
/// go through memory. Two arrays of published values take turns, because other blocks still gather from the one.
#pragma once

#include <cuda_pipeline.h>

#include "chatty/framework/steps/cuda/block.cuh"
#include "chatty/framework/steps/cuda/packed_rows.h"

namespace chatty::steps::cuda {

/// What the two kernels share, besides the state.
template <class P>
struct PullAllRef {
  PackedRef rows;
  const SharedOf<P>* published = nullptr;  ///< by position: what this round gathers
  SharedOf<P>* next = nullptr;             ///< by position: what the next one will
  MessageOf<P>* pieces = nullptr;          ///< what a piece of a long row comes to
  GlobalOf<P>* measures = nullptr;         ///< an entry a chunk, then one a block of FinishAll
  GlobalOf<P>* measure = nullptr;          ///< of all owned vertices, in memory that the host sees
  BlockTickets* finished = nullptr;        ///< blocks of FinishAll that are done
  std::uint32_t chunks = 0;                ///< ranges of vertices
  std::uint32_t chunk_words = 1;           ///< words of the active bitmap in each
  bool degrees_from_rows = false;          ///< the degrees of a vertex are the length of its row
};

namespace detail {

template <class T>
__device__ T ShuffleXor(const T& value, unsigned mask) {
  constexpr int kWords = (sizeof(T) + 3) / 4;
  unsigned words[kWords] = {};
  memcpy(words, &value, sizeof(T));
  for (int w = 0; w < kWords; ++w) words[w] = __shfl_xor_sync(kFull, words[w], mask);
  T result;
  memcpy(&result, words, sizeof(T));
  return result;
}

/// Messages along the edges of one target's row.
template <class P, bool kOrdered>
class AllSources {
 public:
  using Message = MessageOf<P>;
  static constexpr unsigned kInFlight = 4;  ///< edges whose loads a lane has in flight
  static constexpr unsigned kTeam = 8;      ///< lanes of a team
  using Positions = LocalId[kInFlight];

  __device__ AllSources(const StateRef<P>& s, const RoundOf<P>& round, const PullAllRef<P>& all, const SharedOf<P>* hubs)
      : s_(s), round_(round), all_(all), hubs_(hubs) {}

  /// A lane's share of a row: edges `from`, `from + step`, … of the `degree` that begin at `row`.
  __device__ Message Walk(LocalId target, EdgeIndex row, unsigned degree, unsigned from, unsigned step) const {
    Message sum = IdentityOf<P>();
    for (unsigned k = from; k < degree; k += kInFlight * step) {
      Positions positions;
      LookUp(row, degree, k, step, positions);
      Add(
          target, row, degree, k, step, positions, [] {}, &sum);
    }
    return sum;
  }

  /// A row by one lane, from how far its sources are from `target`.
  __device__ Message WalkNear(LocalId target, EdgeIndex row, unsigned degree, const std::int16_t* near) const {
    Message sum = IdentityOf<P>();
    for (unsigned k = 0; k < degree; k += kInFlight) {
      SharedOf<P> published[kInFlight];
      Positions sources;
#pragma unroll
      for (unsigned u = 0; u < kInFlight; ++u) {
        if (k + u >= degree) continue;  // whoever has nothing to ask for does not
        sources[u] = target + static_cast<LocalId>(near[k + u]);
        published[u] = all_.published[sources[u]];
      }
#pragma unroll
      for (unsigned u = 0; u < kInFlight; ++u) {
        if (k + u < degree) Combine(target, row + k + u, sources[u], published[u], &sum);
      }
    }
    return sum;
  }

  /// Rows that a whole warp walks, of the lanes in `owners`: each lane knows its own. Where the next edges lead is looked up
  /// while these are gathered, from one row to the next as well. done(owner, message) is called by all lanes.
  template <class Done>
  __device__ void WalkRows(unsigned owners, LocalId targets, EdgeIndex own_row, unsigned own_degree, Done&& done) const {
    constexpr unsigned kStride = kInFlight * 32;
    if (owners == 0) return;
    unsigned next = __ffs(owners) - 1, next_k = 0;
    EdgeIndex next_row = __shfl_sync(kFull, own_row, next);
    unsigned next_degree = __shfl_sync(kFull, own_degree, next);
    Positions positions;
    LookUp(next_row, next_degree, Lane(), 32, positions);
    Message sum = IdentityOf<P>();
    while (owners != 0) {
      const unsigned owner = next, k = next_k, degree = next_degree;
      const EdgeIndex row = next_row;
      next_k += kStride;
      const bool last = next_k >= degree;
      if (last) {
        owners &= owners - 1;
        if (owners != 0) {
          next = __ffs(owners) - 1;
          next_k = 0;
          next_row = __shfl_sync(kFull, own_row, next);
          next_degree = __shfl_sync(kFull, own_degree, next);
        }
      }
      Add(
          targets + owner, row, degree, k + Lane(), 32, positions,
          [&] {
            if (owners != 0) LookUp(next_row, next_degree, next_k + Lane(), 32, positions);
          },
          &sum);
      if (last) {
        done(owner, Together(sum, 32));
        sum = IdentityOf<P>();
      }
    }
  }

  /// As WalkRows, by teams of kTeam lanes: rows of the `count` lanes that `owners` lists. done(first, message) is called by
  /// all lanes: a team has the message for the owner that is listed its own number after `first`.
  template <class Done>
  __device__ void WalkByTeams(const unsigned char* owners, unsigned count, LocalId targets, EdgeIndex own_row,
                              unsigned own_degree, Done&& done) const {
    constexpr unsigned kTeams = 32 / kTeam, kStride = kInFlight * kTeam;
    const unsigned lane = Lane() % kTeam;
    struct Row {
      unsigned owner, degree;
      EdgeIndex begin;
    };
    const auto row_at = [&](unsigned first) {
      const unsigned which = first + Lane() / kTeam;
      const unsigned owner = owners[which < count ? which : first];
      const unsigned degree = __shfl_sync(kFull, own_degree, owner);
      return Row{owner, which < count ? degree : 1, __shfl_sync(kFull, own_row, owner)};  // an idle team gathers in vain
    };
    Row next = row_at(0);
    Positions positions;
    LookUp(next.begin, next.degree, lane, kTeam, positions);
    for (unsigned first = 0; first < count; first += kTeams) {
      const Row row = next;
      const unsigned most = __reduce_max_sync(kFull, row.degree);
      Message sum = IdentityOf<P>();
      for (unsigned k = 0; k < most; k += kStride) {
        Add(
            targets + row.owner, row.begin, row.degree, k + lane, kTeam, positions,
            [&] {
              if (k + kStride < most) {
                LookUp(row.begin, row.degree, k + kStride + lane, kTeam, positions);
              } else if (first + kTeams < count) {
                next = row_at(first + kTeams);
                LookUp(next.begin, next.degree, lane, kTeam, positions);
              }
            },
            &sum);
      }
      done(first, Together(sum, kTeam));
    }
  }

  /// Combines the messages of `width` lanes that follow each other; all of these get the result.
  __device__ Message Together(Message message, unsigned width) const {
    for (unsigned d = width / 2; d > 0; d /= 2) message = Reduce<P>(s_.program, message, ShuffleXor(message, d));
    return message;
  }

 private:
  /// The positions of the sources of edges k, k + step, … Past the end it is the last's, so that no branch delays the loads.
  __device__ void LookUp(EdgeIndex row, unsigned degree, unsigned k, unsigned step, Positions& positions) const {
    const LocalId* const sources = all_.rows.sources + row;
#pragma unroll
    for (unsigned u = 0; u < kInFlight; ++u) {
      const unsigned i = k + u * step;
      positions[u] = __ldcs(sources + (i < degree ? i : degree - 1));
    }
  }
  /// Gathers the values there and combines them into *sum; `meanwhile` is called once the positions have been copied.
  template <class Meanwhile>
  __device__ void Add(LocalId target, EdgeIndex row, unsigned degree, unsigned k, unsigned step, const Positions& positions,
                      Meanwhile&& meanwhile, Message* sum) const {
    SharedOf<P> published[kInFlight];
    Positions taken;
#pragma unroll
    for (unsigned u = 0; u < kInFlight; ++u) {
      taken[u] = positions[u];
      if constexpr (kOrdered) {
        published[u] = taken[u] < all_.rows.hubs ? hubs_[taken[u]] : LoadPastL1(all_.published, taken[u]);
      } else {
        published[u] = all_.published[taken[u]];
      }
    }
    meanwhile();
#pragma unroll
    for (unsigned u = 0; u < kInFlight; ++u) {
      const unsigned i = k + u * step;
      if (i < degree) Combine(target, row + i, taken[u], published[u], sum);
    }
  }
  /// Combines into *sum the message along edge e, whose source is at `position` and has published `published`.
  __device__ void Combine(LocalId target, EdgeIndex e, LocalId position, const SharedOf<P>& published, Message* sum) const {
    const LocalId source = kOrdered ? all_.rows.ids[position] : position;
    const Edge<WeightOf<P>> edge{s_.graph.Global(source), s_.graph.Global(target),
                                 s_.graph.reverse.template weight<WeightOf<P>>(e)};
    *sum = Reduce<P>(s_.program, *sum, CallComputeScatter(s_.program, published, edge, round_));
  }

  const StateRef<P>& s_;
  const RoundOf<P>& round_;
  const PullAllRef<P>& all_;
  const SharedOf<P>* const hubs_;
};

/// PackedRef::near of the rows of a word of vertices, which are contiguous in memory. A warp copies those of the next word
/// to shared memory while it works on those of this one. So it waits for one of two memory latencies, and no register holds
/// what has not arrived.
class StagedRows {
 public:
  static constexpr unsigned kUnits = PackedRows::kNearEdges / 2 + 1;  ///< pairs, in which they are copied
  using Memory = std::uint32_t[2][kUnits];                            ///< of a warp

  __device__ StagedRows(Memory& memory, const std::int16_t* near)
      : memory_(memory), near_(reinterpret_cast<const std::uint32_t*>(near)) {}

  /// Begins to copy those of edges [begin, end), as many as there is room for. Words are copied in turn, and each is waited
  /// for once the copy of the next has begun.
  __device__ void Call(unsigned word, std::uint32_t begin, std::uint32_t end) {
    __syncwarp();  // all have read what is overwritten
    const std::uint32_t units = begin == end ? 0 : (end - 1) / 2 - begin / 2 + 1;
    std::uint32_t* const to = memory_[word % 2];
    const std::uint32_t* const from = near_ + begin / 2;
#pragma unroll
    for (unsigned k = 0; k < kUnits; k += 32) {
      const unsigned i = k + Lane();
      if (i < units && i < kUnits) __pipeline_memcpy_async(to + i, from + i, sizeof(*to));
    }
    __pipeline_commit();
  }
  /// Those of the word whose copy began before the last, from edge `begin` on.
  __device__ const std::int16_t* Wait(unsigned word, std::uint32_t begin) {
    __pipeline_wait_prior(1);
    __syncwarp();
    return reinterpret_cast<const std::int16_t*>(memory_[word % 2]) + begin % 2;
  }

 private:
  Memory& memory_;
  const std::uint32_t* const near_;
};

/// Updates owned vertex v by all its messages. Returns whether it changed.
template <class P, bool kOrdered>
__device__ bool FinishVertex(const StateRef<P>& s, const RoundOf<P>& round, const PullAllRef<P>& all, LocalId v,
                             EdgeIndex degree, const ValueOf<P> before, const MessageOf<P>& message, Counters* tally,
                             GlobalOf<P>* measure) {
  const Vertex vertex = all.degrees_from_rows ? Vertex{s.graph.Global(v), degree, degree, degree} : s.At(v);
  ValueOf<P> value = before;
  const bool active = Changed<P>(UpdateValue(s, v, value, message, vertex, round), before, value);
  kOrdered ? StoreOnce(s.values, v, value) : void(s.values[v] = value);
  SharedOf<P> published;
  if constexpr (Traits<P>::kHasShare) {
    published = s.program.Share(value, vertex);
    if (kOrdered && s.graph.parts > 1) s.shared[v] = published;  // for PackShared, which else reads `next`
  } else {
    published = value;
  }
  all.next[kOrdered ? LoadOnce(all.rows.positions, v) : v] = published;
  if constexpr (Traits<P>::kHasMeasure) {
    *measure = CombineGlobal<P>(*measure, MeasureOf<P>(s.program, before, value, vertex, round));
  }
  if (active) {
    tally->vertices += 1;
    tally->edges += all.degrees_from_rows ? degree : s.graph.forward.degree(v);
  }
  return active;
}

/// What a piece of a long row comes to, by a warp.
template <class P, class Sources>
__device__ void GatherPiece(const StateRef<P>& s, const PullAllRef<P>& all, const Sources& sources, unsigned piece) {
  const LongRow row = all.rows.long_rows[all.rows.long_row_of[piece]];
  const EdgeIndex begin = s.graph.reverse.offsets[row.vertex] + (piece - row.first) * PackedRows::kLongRow;
  const EdgeIndex left = s.graph.reverse.offsets[row.vertex + 1] - begin;
  const auto degree = static_cast<unsigned>(left < PackedRows::kLongRow ? left : PackedRows::kLongRow);
  sources.WalkRows(1, row.vertex, begin, degree, [&](unsigned, const MessageOf<P>& message) {
    if (Lane() == 0) all.pieces[piece] = message;
  });
}

/// Leaves what a warp measured of a chunk for FinishAll.
template <class P>
__device__ void PutMeasure(const PullAllRef<P>& all, std::size_t chunk, GlobalOf<P> measure) {
  if constexpr (Traits<P>::kHasMeasure) {
    for (unsigned d = 16; d > 0; d /= 2) measure = CombineGlobal<P>(measure, ShuffleXor(measure, d));
    if (Lane() == 0) all.measures[chunk] = measure;
  }
}

/// Adds up what a block's warps counted. All of its threads call it, once.
template <class P>
__device__ void PutTally(const StateRef<P>& s, const PullAllRef<P>& all, Counters tally) {
  __shared__ unsigned long long active_vertices, active_edges;
  if (threadIdx.x == 0) active_vertices = active_edges = 0;
  __syncthreads();
  for (unsigned d = 16; d > 0; d /= 2) {
    tally.vertices += __shfl_down_sync(kFull, tally.vertices, d);
    tally.edges += __shfl_down_sync(kFull, tally.edges, d);
  }
  if (Lane() == 0 && tally.vertices != 0) {
    atomicAdd(&active_vertices, tally.vertices);
    atomicAdd(&active_edges, tally.edges);
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (active_vertices != 0) {
    atomics::Add<true>(&s.control->active_vertices, std::uint64_t{active_vertices});
    atomics::Add<true>(&s.control->active_edges, std::uint64_t{active_edges});
  }
  if (blockIdx.x == 0) atomics::Add<true>(&s.control->edges_touched, std::uint64_t{all.rows.edges});
}

}  // namespace detail

namespace kernels {

static_assert(kFinishBlocks <= kBlock);

/// Publishes the shared values of local vertices [first, last), in the order of the rows' sources.
template <class P>
__global__ void __launch_bounds__(kBlock)
    PublishByOrder(StateRef<P> s, PackedRef rows, SharedOf<P>* published, LocalId first, LocalId last) {
  for (std::size_t v = first + std::size_t{blockIdx.x} * kBlock + threadIdx.x; v < last;
       v += std::size_t{gridDim.x} * kBlock) {
    published[rows.Position(static_cast<LocalId>(v))] = s.shared[v];
  }
}

/// Threads of a block of PullAll: where hubs stand in shared memory an SM has one block, and otherwise several.
template <bool kOrdered>
inline constexpr unsigned kPullThreads = kOrdered ? 1024 : 256;

/// Pieces of long rows come to a message each; other rows are gathered and their vertices updated. Warps take what is next.
/// Any number of blocks; shared memory for the hubs' share.
template <class P, bool kOrdered>
__global__ void __launch_bounds__(kPullThreads<kOrdered>, kOrdered ? 1 : 6)
    PullAll(StateRef<P> s, RoundOf<P> round, PullAllRef<P> all) {
  constexpr unsigned kAlone = 8;  // the longest row that a lane walks alone,
  constexpr unsigned kSome = 64;  // and one that a team of lanes does
  extern __shared__ __align__(16) unsigned char hub_bytes[];
  __shared__ unsigned char owners[kPullThreads<kOrdered>];  // of the rows that teams walk
  auto* const hubs = reinterpret_cast<SharedOf<P>*>(hub_bytes);
  if constexpr (kOrdered) {
    for (LocalId i = threadIdx.x; i < all.rows.hubs; i += blockDim.x) hubs[i] = all.published[i];
  }
  __syncthreads();
  using Sources = detail::AllSources<P, kOrdered>;
  constexpr unsigned kTeam = Sources::kTeam, kTeams = 32 / kTeam;
  const Sources sources(s, round, all, hubs);
  unsigned char* const my_owners = owners + Warp() * 32;
  const auto claim = [&] {
    unsigned item = 0;
    if (Lane() == 0) item = atomicAdd(all.rows.claimed, 1u);
    return item;
  };
  Counters tally;
  const unsigned items = all.rows.pieces + all.chunks;
  unsigned claimed = claim();
  for (unsigned item; (item = __shfl_sync(kFull, claimed, 0)) < items;) {
    claimed = claim();  // its answer is not waited for yet
    if (item < all.rows.pieces) {
      detail::GatherPiece(s, all, sources, item);
      continue;
    }
    const std::size_t chunk = item - all.rows.pieces;
    const std::size_t first = chunk * all.chunk_words * 32 + Lane();
    [[maybe_unused]] GlobalOf<P> measure{};
    // Where rows begin is looked up two words ahead, and tells where the ones before end: whose rows come next is known when
    // they do.
    const auto begin_at = [&](std::size_t i) {
      return s.graph.reverse.offsets[static_cast<LocalId>(i < s.graph.owned ? i : s.graph.owned)];
    };
    EdgeIndex begin = begin_at(first), next = begin_at(first + 32);
    for (unsigned w = 0; w < all.chunk_words; ++w) {
      const std::size_t i = first + std::size_t{w} * 32;
      const auto base = static_cast<LocalId>(i - Lane());
      if (i - Lane() >= s.graph.owned) break;
      const auto v = static_cast<LocalId>(i);
      const EdgeIndex row = begin, below = __shfl_down_sync(kFull, begin, 1), end = __shfl_sync(kFull, next, 0);
      const EdgeIndex whole = (Lane() == 31 ? end : below) - row;
      const bool mine = i < s.graph.owned && whole < PackedRows::kLongRow;
      ValueOf<P> before{};
      if (mine) before = kOrdered ? LoadOnce(s.values, v) : s.values[v];
      begin = next;
      next = begin_at(i + 64);
      const unsigned degree = mine ? static_cast<unsigned>(whole) : 0;
      MessageOf<P> message = IdentityOf<P>();
      if (degree <= kAlone) message = sources.Walk(v, row, degree, 0, 1);
      const bool is_some = degree > kAlone && degree <= kSome;
      const unsigned some = __ballot_sync(kFull, is_some);
      if (some != 0) {
        const unsigned rank = __popc(some & ((1u << Lane()) - 1));
        if (is_some) my_owners[rank] = static_cast<unsigned char>(Lane());
        __syncwarp();
        const unsigned count = __popc(some);
        const auto done = [&](unsigned first_owner, const MessageOf<P>& found) {
          const MessageOf<P> own = Shuffle(found, (rank - first_owner) % kTeams * kTeam);
          if (is_some && rank - first_owner < kTeams) message = own;
        };
        if constexpr (kOrdered) {
          sources.WalkByTeams(my_owners, count, base, row, degree, done);
        } else {  // more warps hide more than looking ahead, which takes registers
          for (unsigned k = 0; k < count; k += kTeams) {
            const unsigned which = k + Lane() / kTeam, owner = my_owners[which < count ? which : k];
            const EdgeIndex begin_of = __shfl_sync(kFull, row, owner);
            const unsigned edges = __shfl_sync(kFull, degree, owner);
            done(k, sources.Together(sources.Walk(base + owner, begin_of, which < count ? edges : 0, Lane() % kTeam, kTeam),
                                     kTeam));
          }
        }
        __syncwarp();
      }
      sources.WalkRows(__ballot_sync(kFull, degree > kSome), base, row, degree,
                       [&](unsigned owner, const MessageOf<P>& found) {
                         if (Lane() == owner) message = found;
                       });
      const bool active =
          mine && detail::FinishVertex<P, kOrdered>(s, round, all, v, whole, before, message, &tally, &measure);
      const unsigned word = __ballot_sync(kFull, active);
      if (Lane() == 0) s.active[base / 32] = word;
    }
    detail::PutMeasure<P>(all, chunk, measure);
  }
  detail::PutTally(s, all, tally);
}

/// PullAll where rows are a few edges nearly throughout (PackedRef::near).
template <class P>
__global__ void __launch_bounds__(kPullThreads<false>, 5) PullShort(StateRef<P> s, RoundOf<P> round, PullAllRef<P> all) {
  constexpr unsigned kAlone = 8;  // the longest row that a lane walks alone
  __shared__ typename detail::StagedRows::Memory memory[kPullThreads<false> / 32];
  detail::StagedRows staged(memory[Warp()], all.rows.near);
  const detail::AllSources<P, false> sources(s, round, all, nullptr);
  const LocalId owned = s.graph.owned;
  const auto begin_at = [&](LocalId v) { return s.graph.reverse.offsets.narrow[v < owned ? v : owned]; };
  const auto claim = [&] {
    unsigned item = 0;
    if (Lane() == 0) item = atomicAdd(all.rows.claimed, 1u);
    return item;
  };
  Counters tally;
  const unsigned items = all.rows.pieces + all.chunks;
  unsigned claimed = claim();
  for (unsigned item; (item = __shfl_sync(kFull, claimed, 0)) < items;) {
    claimed = claim();  // its answer is not waited for yet
    if (item < all.rows.pieces) {
      detail::GatherPiece(s, all, sources, item);
      continue;
    }
    const unsigned chunk = item - all.rows.pieces;
    LocalId v = chunk * all.chunk_words * 32 + Lane();
    [[maybe_unused]] GlobalOf<P> measure{};
    // Where three words' rows begin: of this one, whose edges are there, of the next, which are called for, and of the one
    // after that, which says how many these are.
    std::uint32_t begin = begin_at(v), next = begin_at(v + 32), after = begin_at(v + 64);
    staged.Call(0, __shfl_sync(kFull, begin, 0), __shfl_sync(kFull, next, 0));
    for (unsigned w = 0; w < all.chunk_words && v - Lane() < owned; ++w, v += 32) {
      const std::uint32_t row = begin, first = __shfl_sync(kFull, begin, 0), end = __shfl_sync(kFull, next, 0);
      const std::uint32_t below = __shfl_down_sync(kFull, begin, 1), behind = __shfl_sync(kFull, after, 0);
      staged.Call(w + 1, end, w + 1 < all.chunk_words ? behind : end);
      begin = next;
      next = after;
      after = begin_at(v + 96);
      const std::uint32_t whole = (Lane() == 31 ? end : below) - row;
      const bool mine = v < owned && whole < PackedRows::kLongRow;
      ValueOf<P> before{};
      if (mine) before = s.values[v];
      const bool far = bits::Test(all.rows.far, v / 32);
      const std::int16_t* const near = staged.Wait(w, first) + (row - first);
      MessageOf<P> message = IdentityOf<P>();
      if (end - first <= PackedRows::kNearEdges && !far) {
        message = sources.WalkNear(v, row, whole, near);
      } else {
        const unsigned degree = mine ? whole : 0;
        if (degree <= kAlone) message = sources.Walk(v, row, degree, 0, 1);
        for (unsigned wide = __ballot_sync(kFull, degree > kAlone); wide != 0; wide &= wide - 1) {
          const unsigned owner = __ffs(wide) - 1, edges = __shfl_sync(kFull, degree, owner);
          const std::uint32_t row_of = __shfl_sync(kFull, row, owner);
          const MessageOf<P> found = sources.Together(sources.Walk(v - Lane() + owner, row_of, edges, Lane(), 32), 32);
          if (Lane() == owner) message = found;
        }
      }
      const bool active = mine && detail::FinishVertex<P, false>(s, round, all, v, whole, before, message, &tally, &measure);
      const unsigned word = __ballot_sync(kFull, active);
      if (Lane() == 0) s.active[v / 32] = word;
    }
    detail::PutMeasure<P>(all, chunk, measure);
  }
  detail::PutTally(s, all, tally);
}

/// Lanes that add the pieces of a long row.
inline constexpr unsigned kFinishLanes = 8;

/// Vertices with long rows are updated by the sum of their pieces, and the measures are combined, always in the same order:
/// a run repeats itself bit for bit. At most kFinishBlocks blocks.
template <class P, bool kOrdered>
__global__ void __launch_bounds__(kBlock) FinishAll(StateRef<P> s, RoundOf<P> round, PullAllRef<P> all) {
  Counters tally;
  [[maybe_unused]] GlobalOf<P> measure{};
  const unsigned first = blockIdx.x * kBlock + threadIdx.x, stride = gridDim.x * kBlock;
  const unsigned lane = threadIdx.x % kFinishLanes;
  // All lanes of a warp go round equally often, for they exchange.
  for (unsigned base = blockIdx.x * (kBlock / kFinishLanes); base < all.rows.long_row_count;
       base += gridDim.x * (kBlock / kFinishLanes)) {
    const unsigned i = base + threadIdx.x / kFinishLanes;
    const bool there = i < all.rows.long_row_count;
    const LongRow row = there ? all.rows.long_rows[i] : LongRow{};
    MessageOf<P> message = IdentityOf<P>();
    for (unsigned p = lane; p < row.pieces; p += kFinishLanes)
      message = Reduce<P>(s.program, message, all.pieces[row.first + p]);
    for (unsigned d = kFinishLanes / 2; d > 0; d /= 2)
      message = Reduce<P>(s.program, message, detail::ShuffleXor(message, d));
    if (there && lane == 0 &&
        detail::FinishVertex<P, kOrdered>(s, round, all, row.vertex, s.graph.reverse.degree(row.vertex),
                                          s.values[row.vertex], message, &tally, &measure)) {
      bits::Set<true>(s.active, row.vertex);
    }
  }
  AddFromBlock(&s.control->active_vertices, tally.vertices);
  AddFromBlock(&s.control->active_edges, tally.edges);
  if (first == 0) *all.rows.claimed = 0;
  if constexpr (Traits<P>::kHasMeasure) {
    __shared__ SharedArray<GlobalOf<P>, kBlock> temp_storage;
    const auto combine = [&] {
      for (unsigned d = kBlock / 2; d > 0; d /= 2) {
        __syncthreads();
        if (threadIdx.x < d)
          temp_storage[threadIdx.x] = CombineGlobal<P>(temp_storage[threadIdx.x], temp_storage[threadIdx.x + d]);
      }
    };
    for (unsigned c = first; c < all.chunks; c += stride) measure = CombineGlobal<P>(measure, all.measures[c]);
    temp_storage[threadIdx.x] = measure;
    combine();
    GlobalOf<P>* const of_blocks = all.measures + all.chunks;
    if (threadIdx.x == 0) of_blocks[blockIdx.x] = temp_storage[0];
    if (!IsLastBlock(Grid{}, all.finished)) return;
    temp_storage[threadIdx.x] = threadIdx.x < gridDim.x ? of_blocks[threadIdx.x] : GlobalOf<P>{};
    combine();
    if (threadIdx.x == 0) *all.measure = temp_storage[0];
  }
}

}  // namespace kernels

}  // namespace chatty::steps::cuda
