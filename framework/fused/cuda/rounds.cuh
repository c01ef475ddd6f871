/// \file
/// Rounds in one resident kernel: bulk-synchronous push rounds with few active vertices, for programs whose rounds are exact
/// (counts of shortest paths, peeling, whatever reads Round::index). The CPU-Free model's persistent kernel.
///
/// A round has two halves, each ended by a barrier of the grid. In the first, warps follow the frontier's edges and combine
/// messages in inboxes; who delivers a vertex's first message lists the vertex, in the block's shared memory. In the second,
/// blocks update the vertices that they listed, and keep those that become active, in shared memory too. A block that finds
/// far more than the mean keeps the mean, so that it does not find as many again in the next round, and spills the rest into
/// a list of all blocks. Long rows go there, too. The next round deals that list out in equal shares.
///
/// What bounds a round is the chain of accesses. Barriers carry the sums (grid_barrier.cuh), and what comes next is loaded
/// between their halves: before a round its vertices' values and neighbours, and into the L2 what deliveries and updates
/// will read of the neighbours; before updates where the rows of listed vertices are. A Filter of values is asked before an
/// update rather than before a delivery, unless a round has many edges. That leaves, one after the other: an atomic
/// operation with its answer (inbox, or bit), a barrier, the inbox (L2), a barrier.
///
/// Lists cannot overflow: the kernel returns before a round with more than max_edges, and so before rows
/// that one warp would follow for long.
#pragma once

#include <cstdint>
#include <type_traits>

#include "chatty/framework/fused/cuda/grid_barrier.cuh"
#include "chatty/framework/fused/cuda/rounds_memory.h"
#include "chatty/framework/fused/cuda/values.cuh"
#include "chatty/framework/steps/cuda/block.cuh"
#include "chatty/framework/steps/vertex_ops.h"

namespace chatty::fused::cuda {

/// Threads of a block, one a multiprocessor; vertices with messages, and active ones, in its shared memory.
inline constexpr unsigned kRoundThreads = 512, kRoundWarps = kRoundThreads / 32, kListed = 2048, kKept = 1024;
/// A block spills if it finds more than so many vertices, and than so many times the mean; it keeps the mean, or so many if
/// that is less. It spills rows of so many edges.
inline constexpr unsigned kFewKept = 64, kMeansKept = 3, kMinKept = 8, kDealtRow = 128;
/// In a round of more edges, a delivery asks Filter first: vertices that want no message are then not listed.
inline constexpr unsigned kAskedEdges = 1u << 14;
/// Rounds between two looks at the host's word, which is far: a barrier waits for the load. They restart the deadline.
inline constexpr std::uint32_t kRoundsPerStopCheck = 64;

/// Counters of one round. Three take turns: one is read, one is counted in, one is cleared.
struct RoundCounts {
  std::uint32_t spilled = 0;  ///< active vertices in the list of all blocks
  std::uint32_t touched = 0;  ///< vertices with a message for which a block's list had no room
};

/// What the kernel reports, and what it gets of the first frontier. Zero at first.
struct RoundTotals {
  std::uint32_t first_wide = 0;        ///< a vertex of the first frontier has a long row
  unsigned long long first_edges = 0;  ///< of the first frontier
  std::uint32_t rounds = 0;
  unsigned long long active = 0, edges = 0;  ///< of the frontier that is left
  unsigned long long edges_touched = 0, updated = 0;
  long long candidates = 0;  ///< change of reverse edges of vertices that Filter accepts
};

/// The kernel's input.
template <class P>
struct RoundsRef {
  ActiveVertex* spilled = nullptr;      ///< kRoundItems: active vertices that no block keeps
  LocalId* touched = nullptr;           ///< kRoundItems
  RoundCounts* counts = nullptr;        ///< three
  GridBarrierWords* barrier = nullptr;  ///< of one GPU's blocks
  RoundTotals* totals = nullptr;
  volatile std::uint32_t* host = nullptr;  ///< mapped: whether to stop; the round, by which the host sees progress
  std::uint32_t max_rounds = 0;
  std::uint32_t max_edges = kRoundEdges;  ///< of a round; the kernel returns before one with more
  std::uint32_t room = kListed;           ///< entries of a block's lists that are used at most: tests shorten them
  StateRef<P> s;
};

/// Whether the answer of the inbox's own atomic operation tells a round's first message, before which it has the identity:
/// what it has later differs. Such programs need no bit.
template <class P>
inline constexpr bool kFirstByInbox = (P::kReduction == Reduction::kMin || P::kReduction == Reduction::kMax ||
                                       P::kReduction == Reduction::kOr) &&
                                      std::is_integral_v<MessageOf<P>> &&
                                      (sizeof(MessageOf<P>) == 4 || sizeof(MessageOf<P>) == 8) &&
                                      !Traits<P>::kHasRoundMessage && !Traits<P>::kAnyMessageSuffices;

/// Whether the owner can ask Filter, before an update: values stay as they are while a round's messages are under way.
template <class P>
inline constexpr bool kOwnerAsks = Traits<P>::kHasFilter && !Traits<P>::kHasFilterMessage && !Traits<P>::kHasConsume;

namespace detail {

/// What a block shares. Barriers are between what reads and what writes plain members.
struct RoundShared {
  ActiveVertex kept[kKept];
  LocalId listed[kListed];
  // FrontierOf reads these four, by one load of 16 bytes, while EmptyListed writes `count`.
  unsigned places;  ///< active vertices that have asked for a place of `kept`
  unsigned dealt;   ///< active vertices that have not
  unsigned edges;   ///< of active vertices: at least WideEdges if a row is long
  unsigned stop;    ///< the host has asked for a stop
  unsigned count;   ///< vertices listed, and those for which there was no room
  GridBarrier<kRoundThreads>::Shared barrier;
};
/// Edges that say that a round of at most so many is wide, of one block: a unit more.
CHATTY_FN constexpr unsigned WideEdges(unsigned max_edges) { return max_edges + BlockSums::kEdgeUnit; }
static_assert(std::uint64_t{BlockSums::ToUnits(WideEdges(kRoundEdges))} * BlockSums::kMaxBlocks <
              1ull << BlockSums::kEdgeBits);
static_assert(kRoundItems < 1u << BlockSums::kVertexBits);

/// Adds the lanes' numbers.
__device__ inline void AddFromWarp(unsigned long long* sum, unsigned long long mine) {
  if (!__any_sync(steps::cuda::kFull, mine != 0)) return;
  for (unsigned d = 16; d > 0; d /= 2) mine += __shfl_xor_sync(steps::cuda::kFull, mine, d);
  if (steps::cuda::Lane() == 0) atomicAdd(sum, mine);
}

/// Sets v's bit without a look at it before, which would be one more access in the chain. Returns whether it was clear.
__device__ inline bool SetAtOnce(std::uint32_t* words, LocalId v) {
  const std::uint32_t bit = 1u << (v & 31);
  return (atomics::Or<true>(words + (v >> 5), bit) & bit) == 0;
}

/// steps::Deliver to an owned vertex, by one access whose answer is awaited. `ask`: whether the vertex wants the message,
/// also if the owner asks later. Returns whether the message is the round's first.
template <class P>
__device__ __forceinline__ bool DeliverAtOnce(const StateRef<P>& s, LocalId target, const MessageOf<P>& message, bool ask) {
  if (!kOwnerAsks<P> || ask) {
    if (!steps::PassesFilter(s, target, message)) return false;
  }
  if constexpr (Traits<P>::kHasRoundMessage) {
    if (!steps::KeepsMessages(s)) {
      if ((!kOwnerAsks<P> || ask) && !steps::IsCandidate(s, target)) return false;
      return SetAtOnce(s.touched, target);
    }
  }
  if constexpr (Traits<P>::kAnyMessageSuffices) {
    if (!SetAtOnce(s.touched, target)) return false;
    s.inbox[target].message = message;
    return true;
  } else if constexpr (kFirstByInbox<P>) {
    const MessageOf<P> before = UpdateNatively<P>(&s.inbox[target].message, message);
    if (before != IdentityOf<P>()) return false;
    if constexpr (P::kReduction == Reduction::kMin) {
      return message < before;
    } else if constexpr (P::kReduction == Reduction::kMax) {
      return before < message;
    } else {
      return (before | message) != before;
    }
  } else {
    return steps::ReduceInto<P, true>(s.program, &s.inbox[target], message) && SetAtOnce(s.touched, target);
  }
}

/// Lists a vertex that got its first message. All lanes of the warp call it.
template <class P>
__device__ __forceinline__ void List(const RoundsRef<P>& a, RoundShared& shared, std::uint32_t* touched, LocalId target,
                                     bool first) {
  using steps::cuda::kFull;
  const unsigned mask = __ballot_sync(kFull, first);
  if (mask == 0) return;
  const unsigned below = __popc(mask & ((1u << steps::cuda::Lane()) - 1)), leader = __ffs(mask) - 1;
  const unsigned room = min(a.room, kListed);
  unsigned at = 0;
  if (steps::cuda::Lane() == leader) at = atomicAdd(&shared.count, __popc(mask));
  at = __shfl_sync(kFull, at, leader) + below;
  if (first && at < room) shared.listed[at] = target;
  steps::cuda::Append(a.touched, touched, target, first && at >= room);
}
/// The vertices that the block has listed itself, when all have come to a barrier.
template <class P>
__device__ unsigned Listed(const RoundsRef<P>& a, const RoundShared& shared) {
  return min(shared.count, min(a.room, kListed));
}
/// Brings where the rows of listed vertices are, and the rows' begin, near: while a barrier waits.
template <class P>
__device__ __forceinline__ void PrefetchListed(const RoundsRef<P>& a, const RoundShared& shared, unsigned listed) {
  const AdjacencyRef& rows = a.s.graph.forward;
#pragma unroll 1
  for (unsigned i = threadIdx.x; i < listed; i += kRoundThreads) {
    const LocalId v = shared.listed[i];
    const EdgeIndex begin = rows.offsets[v];
    if (begin == rows.offsets[v + 1]) continue;
    PrefetchToL2(rows.neighbours + begin);
    if constexpr (!std::is_same_v<WeightOf<P>, None>) {
      PrefetchToL2(static_cast<const WeightOf<P>*>(rows.weights) + begin);
    }
  }
}

/// Active vertices that a block keeps at most, which has listed so many, after a round of `active` of all blocks. `ask`: of
/// the round's deliveries; else about half of the listed vertices do not want their messages.
template <class P>
__device__ unsigned RoomToKeep(const RoundsRef<P>& a, std::uint32_t active, unsigned listed, bool ask) {
  const unsigned mean = (active + gridDim.x - 1) / gridDim.x, found = kOwnerAsks<P> && !ask ? listed / 2 : listed;
  return min(found <= max(kFewKept, kMeansKept * mean) ? kKept : max(mean, kMinKept), min(a.room, kKept));
}

/// Lanes of a vertex, and a warp's vertices in a turn.
inline constexpr unsigned kRowLanes = 4, kTurnVertices = 32 / kRowLanes;

/// What a lane loads for a turn: a vertex of the frontier, the value that it shares, and the target of its lane's edge, if
/// the row is short.
template <class P>
struct FrontierTurn {
  ActiveVertex item{};
  SharedOf<P> value{};
  LocalId target = 0;
  bool has_long = false;  ///< a lane's row is not
};
/// The value of a vertex's first lane for its others.
template <class Shared>
__device__ __forceinline__ Shared ShareInRow(const Shared& value) {
  return steps::cuda::Shuffle(value, steps::cuda::Lane() & ~(kRowLanes - 1));
}
/// Brings what a delivery to a target and its update read into the L2.
template <class P>
__device__ __forceinline__ void PrefetchTarget(const RoundsRef<P>& a, LocalId target) {
  if (target >= a.s.graph.owned) return;
  const OffsetsRef& offsets = a.s.graph.forward.offsets;
  PrefetchToL2(a.s.values + target);
  if (steps::KeepsMessages(a.s)) PrefetchToL2(a.s.inbox + target);
  PrefetchToL2(offsets.narrow != nullptr ? static_cast<const void*>(offsets.narrow + target)
                                         : static_cast<const void*>(offsets.wide + target));
}
/// Value and target of a lane's vertex are on the way together. A program that consumes its value does so when the turn
/// begins. `ahead`: PrefetchTarget, or the next lines of a long row. All lanes of the warp call it.
template <class P>
__device__ __forceinline__ FrontierTurn<P> LoadTurn(const RoundsRef<P>& a, const RoundShared& shared, bool own,
                                                    std::uint32_t count, std::uint32_t base, bool ahead = false) {
  const std::uint32_t i = base + steps::cuda::Lane() / kRowLanes;
  const unsigned j = steps::cuda::Lane() % kRowLanes;
  const AdjacencyRef& rows = a.s.graph.forward;
  FrontierTurn<P> turn;
  if (base >= count) return turn;
  if (i < count) {
    turn.item =
        own ? shared.kept[i] : steps::cuda::FromWords<ActiveVertex>(__ldcg(reinterpret_cast<const uint4*>(a.spilled + i)));
    const bool is_short = turn.item.degree <= kRowLanes, there = j < turn.item.degree;
    if (there && is_short) turn.target = rows.neighbours[turn.item.begin + j];
    if constexpr (!Traits<P>::kHasConsume) {
      if (j == 0) turn.value = steps::TakeShared(a.s, turn.item.vertex);
    }
    if (ahead && there) {
      if (is_short) {
        PrefetchTarget(a, turn.target);
      } else if (32 * j < turn.item.degree) {
        PrefetchToL2(rows.neighbours + turn.item.begin + 32 * j);
      }
    }
  }
  turn.has_long = __any_sync(steps::cuda::kFull, turn.item.degree > kRowLanes);
  if constexpr (!Traits<P>::kHasConsume) turn.value = ShareInRow(turn.value);
  return turn;
}
/// The first turn of a warp among the vertices that its block keeps. Before, the targets of what the block has spilled: the
/// block that gets it would wait for memory at each step of the chain.
template <class P>
__device__ __forceinline__ FrontierTurn<P> LoadOwnTurn(const RoundsRef<P>& a, const RoundShared& shared, unsigned kept) {
#pragma unroll 1
  for (unsigned i = kept + threadIdx.x / kRowLanes; i < min(shared.places, kKept); i += kRoundThreads / kRowLanes) {
    const ActiveVertex item = shared.kept[i];
    const unsigned j = threadIdx.x % kRowLanes;
    if (j == 0) PrefetchToL2(a.s.values + item.vertex);
    if (j < item.degree && item.degree <= kRowLanes) PrefetchTarget(a, a.s.graph.forward.neighbours[item.begin + j]);
  }
  return LoadTurn(a, shared, /*own=*/true, kept, steps::cuda::Warp() * kTurnVertices, /*ahead=*/true);
}

/// The edges of the vertices that the block keeps, and of its share of those that no block keeps: four lanes a vertex, or
/// all of a warp one after the other for longer rows. deliver(valid, source, its shared value, edge, target), by all lanes
/// of a warp. `turn`: of LoadOwnTurn. Which block gets which share changes with `step`.
template <class P, class DeliverEdge>
__device__ __forceinline__ void FollowEdges(const RoundsRef<P>& a, const RoundShared& shared, unsigned kept,
                                            std::uint32_t spilled, std::uint32_t step, FrontierTurn<P> turn,
                                            const DeliverEdge& deliver) {
  using steps::cuda::kFull;
  using steps::cuda::Lane;
  const unsigned j = Lane() % kRowLanes;
  bool own = true;
  std::uint32_t base = steps::cuda::Warp() * kTurnVertices, count = kept;
  while (true) {
    if (base >= count) {
      if (!own || spilled == 0) break;
      own = false;
      const std::uint32_t share = (blockIdx.x + step) % gridDim.x;
      base = spilled * share / gridDim.x + steps::cuda::Warp() * kTurnVertices;
      count = spilled * (share + 1) / gridDim.x;
      if (base >= count) break;
      turn = LoadTurn(a, shared, own, count, base);
    }
    if constexpr (Traits<P>::kHasConsume) {
      if (j == 0 && base + Lane() / kRowLanes < count) turn.value = steps::TakeShared(a.s, turn.item.vertex);  // once
      turn.value = ShareInRow(turn.value);
    }
    const bool is_long = turn.item.degree > kRowLanes;
    const steps::cuda::WarpRows rows =
        turn.has_long ? steps::cuda::WarpRows(is_long && j == 0 ? turn.item.degree : 0) : steps::cuda::WarpRows();
    // First the short rows, then turns of the long ones: one call of `deliver`, so that it is inlined.
    for (unsigned k = 0; k < 32 + rows.total(); k += 32) {
      bool valid = j < turn.item.degree && !is_long;
      LocalId source = turn.item.vertex, target = turn.target;
      EdgeIndex edge = turn.item.begin + j;
      SharedOf<P> value = turn.value;
      if (k != 0) {
        unsigned place;
        const unsigned owner = rows.Owner(k - 32 + Lane(), &place);
        valid = k - 32 + Lane() < rows.total();
        source = __shfl_sync(kFull, source, owner);
        edge = steps::cuda::Shuffle(turn.item.begin, owner) + place;
        value = steps::cuda::Shuffle(value, owner);
        if (valid) target = a.s.graph.forward.neighbours[edge];
      }
      deliver(valid, source, value, edge, target);
    }
    base += kRoundWarps * kTurnVertices;
    if (base < count) turn = LoadTurn(a, shared, own, count, base);
  }
}

/// steps::ApplyOne, if v's owner asks whether v wants its message.
template <class P>
__device__ __forceinline__ bool ApplyIfWanted(const StateRef<P>& s, LocalId v, const RoundOf<P>& round,
                                              steps::Counters* tally) {
  const MessageOf<P> message = s.inbox[v].message;
  const Vertex vertex = s.At(v);
  const bool active = steps::Updated(s, v, tally, [&](ValueOf<P>& value) -> bool {
    return (s.asynchronous || s.program.Filter(value)) && steps::UpdateValue(s, v, value, message, vertex, round);
  });
  Slot<MessageOf<P>> empty{};
  empty.message = IdentityOf<P>();
  s.inbox[v] = empty;
  return active;
}

/// The second half of a round, for vertex v of each lane with `valid`. `room`: of RoomToKeep. All lanes of the warp call it.
template <class P>
__device__ __forceinline__ void Update(const RoundsRef<P>& a, RoundShared& shared, unsigned room, RoundCounts& out,
                                       bool valid, LocalId v, const RoundOf<P>& round, steps::Counters* tally) {
  using steps::cuda::kFull;
  bool active = false;
  ActiveVertex item{};
  if (valid) {
    if constexpr (!kFirstByInbox<P>) atomics::And<true>(a.s.touched + (v >> 5), ~(1u << (v & 31)));
    const EdgeIndex begin = a.s.graph.forward.offsets[v], end = a.s.graph.forward.offsets[v + 1];
    if constexpr (kOwnerAsks<P> && !Traits<P>::kHasRoundMessage) {
      active = ApplyIfWanted(a.s, v, round, tally);
    } else {
      active = steps::ApplyOne(a.s, v, round, tally);
    }
    item = {v, static_cast<std::uint32_t>(min(end - begin, EdgeIndex{~0u})), begin};
  }
  const bool asks = active && item.degree < kDealtRow;
  const unsigned all = __ballot_sync(kFull, active), mask = __ballot_sync(kFull, asks);
  if (all == 0) return;
  const unsigned wide = WideEdges(a.max_edges);
  const unsigned edges = __reduce_add_sync(kFull, !active ? 0 : item.degree < kRoundRow ? item.degree : wide);
  unsigned at = 0;
  if (steps::cuda::Lane() == 0) {
    if (mask != 0) at = atomicAdd(&shared.places, __popc(mask));
    if (mask != all) atomicAdd(&shared.dealt, __popc(all & ~mask));
    atomicAdd(&shared.edges, min(edges, wide));
  }
  at = __shfl_sync(kFull, at, 0) + __popc(mask & ((1u << steps::cuda::Lane()) - 1));
  const bool kept = asks && at < room;
  if (asks && at < kKept) shared.kept[at] = item;  // also what is spilled, for LoadOwnTurn
  steps::cuda::Append(a.spilled, &out.spilled, item, active && !kept);
}

/// The second half of a round: the vertices that this block has listed, and its share of those for which lists had no room.
template <class P>
__device__ __forceinline__ void UpdateListed(const RoundsRef<P>& a, RoundShared& shared, unsigned listed, std::uint32_t more,
                                             unsigned room, RoundCounts& out, const RoundOf<P>& round,
                                             steps::Counters* tally) {
  const unsigned own = (listed + kRoundThreads - 1) / kRoundThreads;
  const unsigned others = more == 0 ? 0 : (more + gridDim.x * kRoundThreads - 1) / (gridDim.x * kRoundThreads);
  for (unsigned turn = 0; turn < own + others; ++turn) {  // one call of Update, so that it is inlined
    const bool is_own = turn < own;
    const std::uint32_t i =
        is_own ? turn * kRoundThreads + threadIdx.x : ((turn - own) * gridDim.x + blockIdx.x) * kRoundThreads + threadIdx.x;
    const bool valid = i < (is_own ? listed : more);
    if (!__any_sync(steps::cuda::kFull, valid)) continue;
    LocalId v = 0;
    if (valid) v = is_own ? shared.listed[i] : __ldcg(a.touched + i);
    Update(a, shared, room, out, valid, v, round, tally);
  }
}

/// Before the first round: the frontier is in the list of all blocks, and its sums are the first block's.
template <class P>
__device__ __forceinline__ void Begin(const RoundsRef<P>& a, RoundShared& shared, steps::Counters* tally) {
  if (threadIdx.x != 0) return;
  shared.count = shared.places = shared.dealt = shared.edges = shared.stop = 0;
  if (blockIdx.x != 0) return;
  const unsigned long long edges = a.totals->first_edges;
  shared.dealt = a.counts[0].spilled;
  shared.edges = a.totals->first_wide != 0 || edges > a.max_edges ? WideEdges(a.max_edges) : static_cast<unsigned>(edges);
  tally->edges = edges;
}
/// The active vertices that this block keeps, when it has come to a barrier.
__device__ inline unsigned Kept(const RoundShared& shared, unsigned room) { return min(shared.places, room); }
/// The next frontier's share of this block, likewise.
__device__ inline BlockSums FrontierOf(const RoundShared& shared, unsigned room, unsigned max_edges) {
  BlockSums sums;
  sums.vertices = shared.places + shared.dealt;
  sums.edges = BlockSums::ToUnits(min(shared.edges, WideEdges(max_edges)));
  sums.spills = sums.vertices != Kept(shared, room);
  sums.stop = shared.stop != 0;
  return sums;
}
/// Between updates of the listed vertices and deliveries, with a barrier before and after.
__device__ inline void EmptyListed(RoundShared& shared) {
  if (threadIdx.x == 0) shared.count = 0;
}
/// Behind the barrier that has carried FrontierOf. Updates come behind another barrier.
__device__ inline void EmptyFrontier(RoundShared& shared) {
  if (threadIdx.x == 0) shared.places = shared.dealt = shared.edges = 0;
}

/// Puts what is left into the frontier's bitmap.
template <class P>
__device__ void Leave(const RoundsRef<P>& a, const RoundShared& shared, unsigned kept, std::uint32_t spilled) {
  for (unsigned i = threadIdx.x; i < kept; i += kRoundThreads) bits::Set<true>(a.s.active, shared.kept[i].vertex);
  for (std::size_t i = std::size_t{blockIdx.x} * kRoundThreads + threadIdx.x; i < spilled; i += gridDim.x * kRoundThreads) {
    bits::Set<true>(a.s.active, __ldcg(reinterpret_cast<const uint4*>(a.spilled + i)).x);
  }
}

}  // namespace detail

/// The kernel: a cooperative launch of at most BlockSums::kMaxBlocks blocks. Ends before a round that is wide, after
/// max_rounds, after a stop, or when no vertex is active.
template <class P>
__global__ void __launch_bounds__(kRoundThreads, 1) Rounds(const __grid_constant__ RoundsRef<P> a, RoundOf<P> round) {
  __shared__ detail::RoundShared shared;
  GridBarrier<kRoundThreads> barrier(a.barrier, &shared.barrier);
  const std::uint32_t first_index = round.index;
  steps::Counters tally;
  unsigned long long updated = 0, edges_before = 0;
  unsigned room = 0;
  detail::Begin(a, shared, &tally);
  for (std::uint32_t step = 0;; ++step) {
    barrier.Arrive([&] { return detail::FrontierOf(shared, room, a.max_edges); });
    detail::EmptyListed(shared);
    const unsigned kept = detail::Kept(shared, room);
    const detail::FrontierTurn<P> turn = detail::LoadOwnTurn(a, shared, kept);
    std::uint32_t spilled;
    const BlockSums sums = barrier.Await(&a.counts[step % 3].spilled, &spilled);
    if (step != 0) updated += sums.vertices;
    const unsigned edges = sums.edges * BlockSums::kEdgeUnit;
    if (sums.vertices == 0 || sums.stop || edges > a.max_edges || step == a.max_rounds) {
      detail::Leave(a, shared, kept, spilled);
      if (blockIdx.x == 0 && threadIdx.x == 0) {
        a.totals->rounds = step;
        a.totals->active = sums.vertices;
        a.totals->updated = updated;
      }
      detail::AddFromWarp(&a.totals->edges, tally.edges - edges_before);
      detail::AddFromWarp(&a.totals->edges_touched, edges_before);
      detail::AddFromWarp(reinterpret_cast<unsigned long long*>(&a.totals->candidates),
                          static_cast<unsigned long long>(tally.candidate_edges));
      return;
    }
    edges_before = tally.edges;
    round.index = first_index + step;
    round.active = sums.vertices;
    RoundCounts& out = a.counts[(step + 1) % 3];
    detail::EmptyFrontier(shared);
    if (blockIdx.x == 0 && threadIdx.x == 32) {
      a.counts[(step + 2) % 3] = RoundCounts{};
      if (step % kRoundsPerStopCheck == 0) {
        shared.stop = a.host[0];
        a.host[1] = step + 1;
      }
    }
    const bool ask = edges > kAskedEdges;
    detail::FollowEdges(a, shared, kept, spilled, step, turn,
                        [&](bool valid, LocalId source, const SharedOf<P>& value, EdgeIndex edge, LocalId target) {
                          bool first = false;
                          if (valid) {
                            first = detail::DeliverAtOnce(
                                a.s, target, steps::Scatter(a.s, value, source, target, a.s.graph.forward, edge, round),
                                ask);
                          }
                          detail::List(a, shared, &out.touched, target, first);
                        });
    barrier.Arrive([&] {
      BlockSums sums;
      sums.spills = shared.count > detail::Listed(a, shared);
      return sums;
    });
    const unsigned listed = detail::Listed(a, shared);
    detail::PrefetchListed(a, shared, listed);
    room = detail::RoomToKeep(a, round.active, listed, ask);
    std::uint32_t more;
    barrier.Await(&out.touched, &more);
    detail::UpdateListed(a, shared, listed, more, room, out, round, &tally);
  }
}

/// Makes the first list from a frontier, which has at most max_edges vertices, and empties the bitmap.
template <class P>
__global__ void __launch_bounds__(kRoundThreads)
    TakeActive(const __grid_constant__ RoundsRef<P> a, Form form, std::size_t count) {
  const std::size_t stride = std::size_t{gridDim.x} * kRoundThreads, all = form == Form::kQueue ? count : a.s.graph.owned;
  for (std::size_t base = (std::size_t{blockIdx.x} * kRoundThreads + threadIdx.x) / 32 * 32; base < all; base += stride) {
    const std::size_t i = base + steps::cuda::Lane();
    LocalId v = 0;
    bool take = false;
    if (form == Form::kQueue) {
      take = i < all;
      if (take) v = a.s.frontier[i];
    } else {
      const std::uint32_t word = a.s.active[base / 32];
      if (word == 0) continue;
      v = static_cast<LocalId>(i);
      take = (word >> steps::cuda::Lane() & 1) != 0 && i < all;
      __syncwarp();
      if (steps::cuda::Lane() == 0) a.s.active[base / 32] = 0;
    }
    ActiveVertex item{};
    if (take) {
      const EdgeIndex begin = a.s.graph.forward.offsets[v];
      item = {v, static_cast<std::uint32_t>(a.s.graph.forward.offsets[v + 1] - begin), begin};
      if (item.degree >= kRoundRow) atomics::Store(&a.totals->first_wide, 1u);
      atomicAdd(&a.totals->first_edges, static_cast<unsigned long long>(item.degree));
    }
    steps::cuda::Append(a.spilled, &a.counts[0].spilled, item, take);
  }
}

}  // namespace chatty::fused::cuda
