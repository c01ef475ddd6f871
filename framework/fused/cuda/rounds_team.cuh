/// \file
/// Rounds in resident kernels of several GPUs, each of which has a part of the graph: see fused/rounds_team.h for the
/// algorithm and its memory orders. Within a GPU, lists, deliveries and updates are those of rounds.cuh, and what comes next
/// is loaded while the GPUs wait for each other.
///
/// The kernel returns before a round with more than max_edges on all GPUs, before one with a long row, after max_rounds,
/// after a stop, and when no vertex is active: on all GPUs before the same round. If the run fails on a device, it returns
/// at the next look at the abort word, and what it leaves is of no use.
#pragma once

#include <cstdint>
#include <cstring>

#include "chatty/comm/symmetric/access.h"
#include "chatty/comm/symmetric/wait.h"
#include "chatty/framework/fused/cuda/rounds.cuh"
#include "chatty/framework/fused/rounds_team.h"

namespace chatty::fused::cuda {

/// The kernel's input.
template <class P>
struct TeamRoundsRef : RoundsRef<P> {
  RoundsTeamRef team;
  TeamRoundCounters* counters = nullptr;  ///< of this GPU; zero at first
  std::uint32_t epoch = 0;                ///< barriers that the GPUs have passed
};

namespace detail {

/// What a block of the kernel shares.
struct TeamRoundShared {
  /// What all blocks of a GPU have added to the word of a barrier.
  struct Sums {
    unsigned vertices;  ///< active ones, or entries of the list from that GPU
    unsigned edges;     ///< of these vertices
    unsigned spilled;   ///< of the own GPU: items in the list of all blocks
    bool stop;          ///< the host has asked for a stop
  };
  RoundShared lists;
  Sums sums[kMaxDevices];                       ///< of the last barrier
  unsigned long long seen[2][kMaxDevices];      ///< words of the last two barriers
  unsigned blocks[kMaxDevices];                 ///< of each GPU
  LocalId halo_begin[kMaxDevices + 1];          ///< as GraphRef has them
  unsigned followed;                            ///< edges of this round
  unsigned sent[kMaxDevices];                   ///< entries of this round's lists, by owner
  unsigned long long sent_in_all[kMaxDevices];  ///< of earlier rounds
  unsigned long long crossed[kMaxDevices];      ///< edges of all rounds, by owner
};
/// The warp that arrives at barriers and polls: the one that has work last.
inline constexpr unsigned kBarrierWarp = kRoundWarps - 1;

/// Adds to a word of another GPU, over a link that executes atomics. Orders nothing.
__device__ inline void AddAtPeer(unsigned long long* word, unsigned long long value) {
  asm volatile("red.relaxed.sys.global.add.u64 [%0], %1;" ::"l"(__cvta_generic_to_global(word)), "l"(value) : "memory");
}

/// Stores an entry of a list: the number of the vertex in the border of its owner, the barrier, and the message's bytes. It
/// is one store, so whoever sees the barrier's number sees the rest.
template <class P>
__device__ __forceinline__ void StoreEntry(std::byte* entry, std::uint32_t index, std::uint32_t epoch,
                                           const MessageOf<P>& message) {
  Slot<MessageOf<P>> slot{};
  slot.message = message;
  std::uint64_t bytes = 0;
  static_assert(sizeof(slot) <= sizeof(bytes));
  memcpy(&bytes, &slot, sizeof(slot));
  chatty::detail::StorePair(entry, index | std::uint64_t{epoch} << 32, bytes);
}
/// Loads an entry. Returns whether it is of this barrier.
template <class P>
__device__ __forceinline__ bool LoadEntry(const std::byte* entry, std::uint32_t epoch, std::uint32_t* index,
                                          MessageOf<P>* message) {
  const ulonglong2 words = chatty::detail::LoadPair(entry);
  *index = static_cast<std::uint32_t>(words.x);
  Slot<MessageOf<P>> slot;
  memcpy(&slot, &words.y, sizeof(slot));
  *message = slot.message;
  return static_cast<std::uint32_t>(words.x >> 32) == epoch;
}

/// Whether the run has failed on a device. The GPU's first block reads the abort word, and tells the others.
template <class P>
__device__ __forceinline__ bool HasFailed(const TeamRoundsRef<P>& a) {
  std::uint32_t* const aborted = &a.counters->aborted;
  if (blockIdx.x == 0 && chatty::detail::LoadRelaxed(a.team.heap.abort) != 0) atomicExch(aborted, 1u);
  return atomics::Load(aborted) != 0;
}

/// Polls until arrived() is true of all lanes of the warp. Returns false if the run has failed: a block that has left does
/// not arrive. All lanes call it.
template <class P, class Arrived>
__device__ __forceinline__ bool Poll(const TeamRoundsRef<P>& a, const Arrived& arrived) {
  for (unsigned tries = 1; !__all_sync(steps::cuda::kFull, arrived()); ++tries) {
    if (tries % symmetric::kTurnsPerAbortCheck == 0 &&
        __any_sync(steps::cuda::kFull, steps::cuda::Lane() == 0 && HasFailed(a))) {
      return false;
    }
  }
  return true;
}

/// The block arrives at a barrier over all GPUs. sums_for(device): what it adds to the word there, called once for each
/// device when all threads have come. All threads call it.
template <class P, class SumsFor>
__device__ __forceinline__ void Arrive(const TeamRoundsRef<P>& a, std::uint32_t epoch, const SumsFor& sums_for) {
  const SymmetricRef& heap = a.team.heap;
  __syncthreads();
  if (steps::cuda::Warp() != kBarrierWarp) return;
  for (std::uint32_t device = steps::cuda::Lane(); device < heap.size; device += 32) {
    const BlockSums sums = sums_for(device);
    if (device == heap.me) {
      AddRelease(a.team.Word(epoch, device, device), sums.Pack());
    } else {
      AddAtPeer(a.team.Word(epoch, heap.me, device), sums.Pack());
    }
  }
}

/// Learns how many blocks each GPU has. Returns false if the run has failed. All threads call it.
template <class P>
__device__ __forceinline__ bool LearnBlocks(const TeamRoundsRef<P>& a, TeamRoundShared& shared) {
  const SymmetricRef& heap = a.team.heap;
  bool there = true;
  if (steps::cuda::Warp() == kBarrierWarp) {
    for (std::uint32_t base = 0; there && base < heap.size; base += 32) {
      const std::uint32_t device = base + steps::cuda::Lane();
      there = Poll(a, [&] {
        if (device >= heap.size) return true;
        const std::uint64_t word = chatty::detail::LoadRelaxed(a.team.Blocks(device, heap.me));
        shared.blocks[device] = static_cast<unsigned>(word);
        return word >> 32 == a.epoch + 1;
      });
    }
  }
  return __syncthreads_and(there) != 0;
}

/// Waits until all blocks of all GPUs have arrived; shared.sums is then what they have added. `spilled`: the length of the
/// list of all blocks, which is read if a block spills. Returns false if the run has failed. All threads call it.
template <class P>
__device__ __forceinline__ bool Await(const TeamRoundsRef<P>& a, TeamRoundShared& shared, std::uint32_t epoch,
                                      const std::uint32_t* spilled) {
  const SymmetricRef& heap = a.team.heap;
  bool there = true;
  if (steps::cuda::Warp() == kBarrierWarp) {
    for (std::uint32_t base = 0; there && base < heap.size; base += 32) {
      const std::uint32_t device = base + steps::cuda::Lane();
      unsigned long long word = 0, added = 0;
      there = Poll(a, [&] {
        if (device >= heap.size) return true;
        word = chatty::detail::LoadAcquire(a.team.Word(epoch, device, heap.me));
        added = word - shared.seen[epoch & 1][device];
        return BlockSums::Arrived(added) == shared.blocks[device];
      });
      if (device < heap.size) {
        const BlockSums sums = BlockSums::Of(added);
        shared.seen[epoch & 1][device] = word;
        shared.sums[device] = {sums.vertices, sums.edges,
                               sums.spills ? *static_cast<const volatile std::uint32_t*>(spilled) : 0, sums.stop};
      }
    }
  }
  return __syncthreads_and(there) != 0;
}

/// The barrier of this GPU's blocks, the `number`th of the kernel from 1. Returns false if the run has failed. All threads
/// call it.
template <class P>
__device__ __forceinline__ bool SyncOwnGrid(const TeamRoundsRef<P>& a, std::uint32_t number) {
  __syncthreads();
  bool there = true;
  if (steps::cuda::Warp() == kBarrierWarp) {
    if (steps::cuda::Lane() == 0) AddRelease(&a.counters->passed, 1);
    const unsigned long long all = static_cast<unsigned long long>(number) * gridDim.x;
    there = Poll(a, [&] { return LoadAcquire(&a.counters->passed) >= all; });
  }
  return __syncthreads_and(there) != 0;
}

/// Whether a message to halo vertex h is sent. As a copy of a round of many launches, a monotone program's halo keeps the
/// best message that was ever sent, or a bit if there is one message a round.
template <class P>
__device__ __forceinline__ bool GoesOut(const StateRef<P>& s, LocalId h, const MessageOf<P>& message) {
  if constexpr (Traits<P>::kHasRoundMessage) {
    if (!steps::KeepsMessages(s)) {
      if constexpr (Traits<P>::kSendsOnce) return bits::Set<true>(s.sent, static_cast<LocalId>(h - s.SentWord() * 32));
      return true;
    }
  }
  if constexpr (P::kSafety == Safety::kMonotone && Traits<P>::kIdempotent) {
    return steps::ReduceInto<P, true>(s.program, &s.inbox[h], message);
  } else {
    return true;
  }
}

/// Sends the messages of lanes whose edge `crosses` to halo vertex h, if it is to be sent. All lanes of the warp call it.
template <class P>
__device__ __forceinline__ void SendOut(const TeamRoundsRef<P>& a, TeamRoundShared& shared, std::uint32_t epoch,
                                        bool crosses, LocalId h, const MessageOf<P>& message) {
  using steps::cuda::kFull;
  using steps::cuda::Lane;
  unsigned rest = __ballot_sync(kFull, crosses);
  if (rest == 0) return;
  std::uint32_t owner = 0;
  bool goes = false;
  if (crosses) {
    while (shared.halo_begin[owner + 1] <= h) ++owner;
    goes = GoesOut(a.s, h, message);
  }
  while (rest != 0) {
    const std::uint32_t to = __shfl_sync(kFull, owner, __ffs(rest) - 1);
    const unsigned all = __ballot_sync(kFull, crosses && owner == to), sent = __ballot_sync(kFull, goes && owner == to);
    rest &= ~all;
    std::uint32_t place = 0;
    if (Lane() == 0) {
      atomicAdd(&shared.crossed[to], static_cast<unsigned long long>(__popc(all)));
      if (sent != 0) {
        place = atomicAdd(&a.counters->listed[to], static_cast<std::uint32_t>(__popc(sent)));
        atomicAdd(&shared.sent[to], static_cast<unsigned>(__popc(sent)));
      }
    }
    place = __shfl_sync(kFull, place, 0) + __popc(sent & ((1u << Lane()) - 1));
    if ((sent >> Lane() & 1) != 0) {
      StoreEntry<P>(a.team.List(a.team.heap.me, to) + std::size_t{place} * kTeamEntryBytes, h - shared.halo_begin[to], epoch,
                    message);
    }
  }
}

/// Delivers the messages that other GPUs have sent before barrier `epoch`. `ask`: as of DeliverAtOnce. Returns false if the
/// run has failed.
template <class P>
__device__ __forceinline__ bool Receive(const TeamRoundsRef<P>& a, TeamRoundShared& shared, std::uint32_t epoch,
                                        std::uint32_t* touched, bool ask) {
  const SymmetricRef& heap = a.team.heap;
  const unsigned warps = gridDim.x * kRoundWarps, warp = steps::cuda::Warp() * gridDim.x + blockIdx.x;
  unsigned before = 0;  // warps that earlier senders' messages take
  for (std::uint32_t from = 0; from < heap.size; ++from) {
    const std::uint32_t count = shared.sums[from].vertices, groups = (count + 31) / 32;
    const std::byte* const list = a.team.List(from, heap.me);
    for (unsigned group = (warp + warps - before % warps) % warps; group < groups; group += warps) {
      const unsigned i = group * 32 + steps::cuda::Lane();
      std::uint32_t index = 0;
      MessageOf<P> message{};
      const bool there = Poll(
          a, [&] { return i >= count || LoadEntry<P>(list + std::size_t{i} * kTeamEntryBytes, epoch, &index, &message); });
      if (!there) return false;
      LocalId v = 0;
      bool first = false;
      if (i < count) {
        v = a.s.border.vertices[a.s.border.begin[from] + index];
        first = DeliverAtOnce(a.s, v, message, ask);
      }
      List(a, shared.lists, touched, v, first);
    }
    before += groups;
  }
  return true;
}

}  // namespace detail

/// The kernel: as many blocks on each GPU as are resident at once, at most BlockSums::kMaxBlocks.
template <class P>
__global__ void __launch_bounds__(kRoundThreads, 1)
    RoundsTogether(const __grid_constant__ TeamRoundsRef<P> a, RoundOf<P> round) {
  __shared__ detail::TeamRoundShared shared;
  const SymmetricRef& heap = a.team.heap;
  const bool first_thread = blockIdx.x == 0 && threadIdx.x == 0;
  for (unsigned i = threadIdx.x; i <= heap.size; i += kRoundThreads) shared.halo_begin[i] = a.s.graph.halo_begin[i];
  for (unsigned i = threadIdx.x; i < heap.size; i += kRoundThreads) {
    for (unsigned parity = 0; parity < 2; ++parity) shared.seen[parity][i] = *a.team.Seen(parity, i);
    shared.sent[i] = 0;
    shared.sent_in_all[i] = shared.crossed[i] = 0;
    if (blockIdx.x == 0) {
      chatty::detail::StoreRelaxed(a.team.Blocks(heap.me, i), std::uint64_t{a.epoch + 1} << 32 | gridDim.x);
    }
  }
  const std::uint32_t first_index = round.index;
  steps::Counters tally;
  unsigned long long edges_touched = 0, updated = 0, edges_before = 0;
  std::uint32_t epoch = a.epoch, own_barriers = 0;
  unsigned room = 0;
  detail::Begin(a, shared.lists, &tally);
  for (std::uint32_t step = 0;; ++step) {
    ++epoch;
    detail::Arrive(a, epoch, [&](std::uint32_t) { return detail::FrontierOf(shared.lists, room, a.max_edges); });
    detail::EmptyListed(shared.lists);
    // What a block keeps is loaded meanwhile.
    const unsigned kept = detail::Kept(shared.lists, room);
    const detail::FrontierTurn<P> turn = detail::LoadOwnTurn(a, shared.lists, kept);
    if (step == 0 && !detail::LearnBlocks(a, shared)) return;
    if (!detail::Await(a, shared, epoch, &a.counts[step % 3].spilled)) return;
    const std::uint32_t spilled = shared.sums[heap.me].spilled, own_active = shared.sums[heap.me].vertices;
    std::uint32_t active = 0;
    std::uint64_t edges = 0;
    bool stop = false;
    for (std::uint32_t device = 0; device < heap.size; ++device) {
      active += shared.sums[device].vertices;
      edges += std::uint64_t{shared.sums[device].edges} * BlockSums::kEdgeUnit;
      stop = stop || shared.sums[device].stop;
    }
    if (step != 0) updated += active;
    if (active == 0 || stop || edges > a.max_edges || step == a.max_rounds) {
      detail::Leave(a, shared.lists, kept, spilled);
      if (first_thread) {
        a.totals->rounds = step;
        a.totals->active = own_active;
        a.totals->edges_touched = edges_touched;
        a.totals->updated = updated;
      }
      detail::AddFromWarp(&a.totals->edges, tally.edges - edges_before);
      detail::AddFromWarp(reinterpret_cast<unsigned long long*>(&a.totals->candidates),
                          static_cast<unsigned long long>(tally.candidate_edges));
      for (unsigned i = threadIdx.x; i < heap.size; i += kRoundThreads) {
        if (shared.crossed[i] != 0) atomicAdd(&a.counters->crossed[i], shared.crossed[i]);
        if (shared.sent_in_all[i] != 0) atomicAdd(&a.counters->sent[i], shared.sent_in_all[i]);
        if (blockIdx.x == 0) {
          for (unsigned parity = 0; parity < 2; ++parity) *a.team.Seen(parity, i) = shared.seen[parity][i];
        }
      }
      return;
    }
    edges_before = tally.edges;
    round.index = first_index + step;
    round.active = active;
    RoundCounts& out = a.counts[(step + 1) % 3];
    if (threadIdx.x == 0) shared.followed = shared.lists.edges;
    detail::EmptyFrontier(shared.lists);
    if (blockIdx.x == 0 && threadIdx.x == 32) {
      a.counts[(step + 2) % 3] = RoundCounts{};
      if (step % kRoundsPerStopCheck == 0) {
        shared.lists.stop = a.host[0];
        a.host[1] = step + 1;
      }
    }
    const bool ask = edges > kAskedEdges;
    ++epoch;
    detail::FollowEdges(a, shared.lists, kept, spilled, step, turn,
                        [&](bool valid, LocalId source, const SharedOf<P>& value, EdgeIndex edge, LocalId target) {
                          MessageOf<P> message{};
                          bool first = false, crosses = false;
                          if (valid) {
                            message = steps::Scatter(a.s, value, source, target, a.s.graph.forward, edge, round);
                            crosses = target >= a.s.graph.owned;
                            first = !crosses && detail::DeliverAtOnce(a.s, target, message, ask);
                          }
                          detail::List(a, shared.lists, &out.touched, target, first);
                          detail::SendOut(a, shared, epoch, crosses, target, message);
                        });
    detail::Arrive(a, epoch, [&](std::uint32_t device) {
      BlockSums sums;
      sums.vertices = shared.sent[device];
      sums.edges = shared.followed;
      sums.spills = device == heap.me && shared.lists.count > detail::Listed(a, shared.lists);
      shared.sent_in_all[device] += shared.sent[device];
      shared.sent[device] = 0;
      return sums;
    });
    detail::PrefetchListed(a, shared.lists, detail::Listed(a, shared.lists));
    if (!detail::Await(a, shared, epoch, &out.touched)) return;
    // All blocks of the GPU have their places in the lists, and take others behind the next barrier.
    if (blockIdx.x == 0) {
      for (unsigned i = threadIdx.x; i < heap.size; i += kRoundThreads) atomics::Store(&a.counters->listed[i], 0u);
    }
    std::uint32_t received = 0, more = shared.sums[heap.me].spilled;
    for (std::uint32_t device = 0; device < heap.size; ++device) {
      received += shared.sums[device].vertices;
      edges_touched += shared.sums[device].edges;
    }
    if (received != 0) {  // the same for all blocks of the GPU
      if (!__syncthreads_and(detail::Receive(a, shared, epoch, &out.touched, ask))) return;
      if (!detail::SyncOwnGrid(a, ++own_barriers)) return;
      more = static_cast<const volatile RoundCounts&>(out).touched;
      // The loads of entries come before the next barrier, behind which their senders overwrite them.
      if (blockIdx.x == 0 && steps::cuda::Warp() == detail::kBarrierWarp) chatty::detail::FenceAcqRel();
    }
    const unsigned listed = detail::Listed(a, shared.lists);
    room = detail::RoomToKeep(a, own_active, listed, ask);
    detail::UpdateListed(a, shared.lists, listed, more, room, out, round, &tally);
  }
}

}  // namespace chatty::fused::cuda
