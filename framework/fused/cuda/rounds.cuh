/// \file
/// Rounds in one resident kernel: bulk-synchronous push rounds with few active vertices, for programs whose rounds are exact
/// (counts of shortest paths, peeling, whatever reads Round::index). The CPU-Free model's persistent kernel.
///
/// A round has two halves, each ended by a barrier of the grid. In the first, warps follow the frontier's edges and combine
/// messages in inboxes; who delivers a vertex's first message lists the vertex. In the second, blocks update the vertices
/// that they listed, and list those that become active, with where their rows begin: the next round waits for one access
/// less. The number of active vertices and their edges come with the barrier. What bounds a round is the chain of accesses.
///
/// Lists cannot overflow: the kernel returns before a round with more edges than a list has room for, and so before rows
/// that one warp would follow for long.
#pragma once

#include <cooperative_groups.h>

#include <cstdint>

#include "chatty/framework/fused/cuda/rounds_memory.h"
#include "chatty/framework/steps/cuda/block.cuh"
#include "chatty/framework/steps/vertex_ops.h"

namespace chatty::fused::cuda {

/// Threads of a block, one a multiprocessor; vertices that a block lists in shared memory.
inline constexpr unsigned kRoundThreads = 256, kRoundWarps = kRoundThreads / 32, kListed = 2048;

/// Counters of one round. Three take turns: one is read, one is counted in, one is cleared.
struct RoundCounts {
  std::uint32_t active = 0;  ///< vertices of the next frontier
  std::uint32_t wide = 0;    ///< one of them has a long row
  unsigned long long edges = 0;
  long long candidates = 0;   ///< change of reverse edges of vertices that Filter accepts
  std::uint32_t touched = 0;  ///< vertices with a message for which a block's list had no room
  std::uint32_t stop = 0;
};

/// What the kernel reports.
struct RoundTotals {
  std::uint32_t rounds = 0, list = 0;
  unsigned long long active = 0, edges = 0;  ///< of the frontier that is left
  unsigned long long edges_touched = 0, updated = 0;
  long long candidates = 0;
};

/// The kernel's input.
template <class P>
struct RoundsRef {
  ActiveVertex* active[2] = {};   ///< kRoundEdges each
  LocalId* touched = nullptr;     ///< kRoundEdges
  RoundCounts* counts = nullptr;  ///< three
  RoundTotals* totals = nullptr;
  volatile std::uint32_t* host = nullptr;  ///< mapped: whether to stop; the round, by which the host sees progress
  std::uint32_t most_rounds = 0;
  StateRef<P> s;
};

namespace detail {

/// What a block shares.
struct RoundShared {
  LocalId listed[kListed];
  unsigned count;
};

/// Adds the lanes' numbers.
__device__ inline void AddFromWarp(unsigned long long* sum, unsigned long long mine) {
  if (!__any_sync(steps::cuda::kFull, mine != 0)) return;
  for (unsigned d = 16; d > 0; d /= 2) mine += __shfl_xor_sync(steps::cuda::kFull, mine, d);
  if (steps::cuda::Lane() == 0) atomicAdd(sum, mine);
}

/// Lists a vertex that got its first message. All lanes of the warp call it.
template <class P>
__device__ __forceinline__ void List(const RoundsRef<P>& a, RoundShared& shared, std::uint32_t* touched, LocalId target,
                                     bool first) {
  using steps::cuda::kFull;
  const unsigned mask = __ballot_sync(kFull, first);
  if (mask == 0) return;
  const unsigned below = __popc(mask & ((1u << steps::cuda::Lane()) - 1)), leader = __ffs(mask) - 1;
  unsigned at = 0;
  if (steps::cuda::Lane() == leader) at = atomicAdd(&shared.count, __popc(mask));
  at = __shfl_sync(kFull, at, leader) + below;
  if (first && at < kListed) shared.listed[at] = target;
  steps::cuda::Append(a.touched, touched, target, first && at >= kListed);
}

/// Lanes of a vertex, and a warp's vertices in a turn.
inline constexpr unsigned kRowLanes = 4, kTurnVertices = 32 / kRowLanes;

/// What a lane loads for a turn: a vertex of the frontier, in the vertex's first lane the value that it shares, and the
/// target of its lane's edge, if the row is short.
template <class P>
struct FrontierTurn {
  ActiveVertex item{};
  SharedOf<P> value{};
  LocalId target = 0;
};
/// The place in the frontier of a warp's first vertex of its first turn.
__device__ inline std::uint32_t FirstTurn() { return (steps::cuda::Warp() * gridDim.x + blockIdx.x) * kTurnVertices; }
/// Value and target are on the way together. A program that consumes its value does so when the turn begins.
template <class P>
__device__ __forceinline__ FrontierTurn<P> LoadTurn(const RoundsRef<P>& a, const ActiveVertex* list, std::uint32_t count,
                                                    std::uint32_t base) {
  const std::uint32_t i = base + steps::cuda::Lane() / kRowLanes;
  const unsigned j = steps::cuda::Lane() % kRowLanes;
  FrontierTurn<P> turn;
  if (i < count) {
    turn.item = steps::cuda::FromWords<ActiveVertex>(__ldcg(reinterpret_cast<const uint4*>(list + i)));
    if (j < turn.item.degree && turn.item.degree <= kRowLanes) {
      turn.target = a.s.graph.forward.neighbours[turn.item.begin + j];
    }
    if constexpr (!Traits<P>::kHasConsume) {
      if (j == 0) turn.value = steps::TakeShared(a.s, turn.item.vertex);
    }
  }
  return turn;
}

/// The edges of a frontier, four lanes a vertex, or all of a warp one after the other for longer rows: deliver(valid,
/// source, its shared value, edge, target), by all lanes of a warp. `turn`: of FirstTurn.
template <class P, class DeliverEdge>
__device__ __forceinline__ void FollowEdges(const RoundsRef<P>& a, const ActiveVertex* list, std::uint32_t count,
                                            FrontierTurn<P> turn, const DeliverEdge& deliver) {
  using steps::cuda::kFull;
  using steps::cuda::Lane;
  const unsigned stride = gridDim.x * kRoundWarps * kTurnVertices, j = Lane() % kRowLanes;
  for (std::uint32_t base = FirstTurn(); base < count;) {
    if constexpr (Traits<P>::kHasConsume) {
      if (j == 0 && base + Lane() / kRowLanes < count) turn.value = steps::TakeShared(a.s, turn.item.vertex);  // once
    }
    turn.value = steps::cuda::Shuffle(turn.value, Lane() & ~(kRowLanes - 1));
    const bool is_long = turn.item.degree > kRowLanes;
    const steps::cuda::WarpRows rows(is_long && j == 0 ? turn.item.degree : 0);
    // First the short rows, then turns of the long ones: one call of `deliver`, so that it is inlined.
    for (unsigned k = 0; k < 32 + rows.total(); k += 32) {
      unsigned place = j, owner = Lane();
      bool valid = j < turn.item.degree && !is_long;
      if (k != 0) {
        owner = rows.Owner(k - 32 + Lane(), &place);
        valid = k - 32 + Lane() < rows.total();
      }
      const LocalId source = __shfl_sync(kFull, turn.item.vertex, owner);
      const EdgeIndex edge = steps::cuda::Shuffle(turn.item.begin, owner) + place;
      LocalId target = turn.target;
      if (k != 0 && valid) target = a.s.graph.forward.neighbours[edge];
      deliver(valid, source, steps::cuda::Shuffle(turn.value, owner), edge, target);
    }
    base += stride;
    if (base < count) turn = LoadTurn(a, list, count, base);
  }
}

/// The second half of a round, for vertex v of each lane with `valid`. All lanes of the warp call it.
template <class P>
__device__ __forceinline__ void Update(const RoundsRef<P>& a, RoundCounts* out, ActiveVertex* next, bool valid, LocalId v,
                                       const RoundOf<P>& round, steps::Counters* tally) {
  bool active = false;
  ActiveVertex item{};
  if (valid) {
    atomics::And<true>(a.s.touched + (v >> 5), ~(1u << (v & 31)));
    const EdgeIndex begin = a.s.graph.forward.offsets[v], end = a.s.graph.forward.offsets[v + 1];
    active = steps::ApplyOne(a.s, v, round, tally);
    item = {v, static_cast<std::uint32_t>(end - begin), begin};
    if (active && end - begin >= kRoundRow) atomics::Store(&out->wide, 1u);
  }
  steps::cuda::Append(next, &out->active, item, active);
}

/// The second half of a round: the vertices that this block has listed, and its share of those for which lists had no room.
template <class P>
__device__ __forceinline__ void UpdateListed(const RoundsRef<P>& a, const RoundShared& shared, RoundCounts& out,
                                             ActiveVertex* next, const RoundOf<P>& round, steps::Counters* tally) {
  const unsigned listed = min(shared.count, kListed), own = (listed + kRoundThreads - 1) / kRoundThreads;
  const std::uint32_t more = static_cast<volatile std::uint32_t&>(out.touched);
  const unsigned others = (more + gridDim.x * kRoundThreads - 1) / (gridDim.x * kRoundThreads);
  for (unsigned turn = 0; turn < own + others; ++turn) {  // one call of Update, so that it is inlined
    const bool is_own = turn < own;
    const std::uint32_t i =
        is_own ? turn * kRoundThreads + threadIdx.x : ((turn - own) * gridDim.x + blockIdx.x) * kRoundThreads + threadIdx.x;
    const bool valid = i < (is_own ? listed : more);
    LocalId v = 0;
    if (valid) v = is_own ? shared.listed[i] : __ldcg(a.touched + i);
    Update(a, &out, next, valid, v, round, tally);
  }
}

}  // namespace detail

/// The kernel: a cooperative launch. Ends before a round that is wide, after most_rounds, after a stop, or when no vertex is
/// active.
template <class P>
__global__ void __launch_bounds__(kRoundThreads, 1) Rounds(const __grid_constant__ RoundsRef<P> a, RoundOf<P> round) {
  using steps::Counters;
  __shared__ detail::RoundShared shared;
  const auto grid = cooperative_groups::this_grid();
  const bool first_thread = blockIdx.x == 0 && threadIdx.x == 0;
  const std::uint32_t first_index = round.index;
  unsigned long long edges_touched = 0, updated = 0;
  long long candidates = 0;
  std::uint32_t step = 0;
  for (;; ++step) {
    const volatile RoundCounts& in = a.counts[step % 3];
    const std::uint32_t active = in.active;
    const unsigned long long edges = in.edges;
    if (step != 0) {
      updated += active;
      candidates += in.candidates;
    }
    if (active == 0 || in.stop != 0 || in.wide != 0 || edges > kRoundEdges || step == a.most_rounds) {
      if (first_thread) *a.totals = {step, step & 1, active, edges, edges_touched, updated, candidates};
      return;
    }
    edges_touched += edges;
    round.index = first_index + step;
    round.active = active;
    RoundCounts& out = a.counts[(step + 1) % 3];
    std::uint32_t stop = 0;
    if (first_thread) {
      a.counts[(step + 2) % 3] = RoundCounts{};
      stop = a.host[0];  // arrives meanwhile
      a.host[1] = step + 1;
    }
    if (threadIdx.x == 0) shared.count = 0;
    __syncthreads();
    const ActiveVertex* const list = a.active[step & 1];
    detail::FollowEdges(a, list, active, detail::LoadTurn(a, list, active, detail::FirstTurn()),
                        [&](bool valid, LocalId source, const SharedOf<P>& value, EdgeIndex edge, LocalId target) {
                          bool first = false;
                          if (valid) {
                            const MessageOf<P> message =
                                steps::Scatter(a.s, value, source, target, a.s.graph.forward, edge, round);
                            first = steps::Deliver<P, true>(a.s, target, message) == steps::Delivery::kFirst;
                          }
                          detail::List(a, shared, &out.touched, target, first);
                        });
    grid.sync();
    Counters tally;
    detail::UpdateListed(a, shared, out, a.active[(step + 1) & 1], round, &tally);
    detail::AddFromWarp(&out.edges, tally.edges);
    if constexpr (Traits<P>::kHasFilter) {
      detail::AddFromWarp(reinterpret_cast<unsigned long long*>(&out.candidates),
                          static_cast<unsigned long long>(tally.candidate_edges));
    }
    if (first_thread && stop != 0) out.stop = 1;
    grid.sync();
  }
}

/// Makes the first list from a frontier, which has at most kRoundEdges vertices, and empties the bitmap.
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
      if (item.degree >= kRoundRow) atomics::Store(&a.counts[0].wide, 1u);
      atomicAdd(&a.counts[0].edges, static_cast<unsigned long long>(item.degree));
    }
    steps::cuda::Append(a.active[0], &a.counts[0].active, item, take);
  }
}

/// Puts the frontier that is left into the bitmap.
template <class P>
__global__ void __launch_bounds__(kRoundThreads) LeaveActive(const __grid_constant__ RoundsRef<P> a) {
  const RoundTotals& t = *a.totals;
  const std::size_t stride = std::size_t{gridDim.x} * kRoundThreads;
  for (std::size_t i = std::size_t{blockIdx.x} * kRoundThreads + threadIdx.x; i < t.active; i += stride) {
    bits::Set<true>(a.s.active, a.active[t.list][i].vertex);
  }
}

}  // namespace chatty::fused::cuda
