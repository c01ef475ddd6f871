/// \file
/// Rounds in resident kernels of several GPUs, each of which has a part of the graph: see fused/rounds_team.h for the
/// algorithm and its memory orders. Within a GPU, lists, deliveries and updates are those of rounds.cuh, and what comes next
/// is loaded while the GPUs wait for each other.
///
/// The kernel returns before a round with more edges on all GPUs than a list has room for, before one with a long row, after
/// max_rounds, after a stop, and when no vertex is active: on all GPUs before the same round. If the run fails on a device,
/// it returns at the next look at the abort word, and what it leaves is of no use.
#pragma once

#include <cstdint>
#include <cstring>
#include <cuda/atomic>
#include <type_traits>

#include "chatty/comm/symmetric/access.h"
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
  RoundShared lists;
  std::uint64_t words[kMaxDevices];     ///< of the last barrier
  std::uint64_t own_word;               ///< this GPU's of the last barrier that carries frontiers
  LocalId halo_begin[kMaxDevices + 1];  ///< as GraphRef has them
  unsigned long long crossed[kMaxDevices];
  bool met, met_at_home;
};

/// An entry of a list in a word: a number of a vertex, and the message's bytes.
template <class P>
using TeamEntry = std::conditional_t<TeamEntryBytes(sizeof(Slot<MessageOf<P>>)) == 8, std::uint64_t, uint4>;

template <class P>
__device__ __forceinline__ TeamEntry<P> PackEntry(std::uint32_t index, const MessageOf<P>& message) {
  Slot<MessageOf<P>> slot{};
  slot.message = message;
  std::uint32_t words[sizeof(slot) / 4];
  memcpy(words, &slot, sizeof(slot));
  if constexpr (sizeof(slot) == 4) {
    return index | std::uint64_t{words[0]} << 32;
  } else {
    return make_uint4(index, 0, words[0], words[1]);
  }
}
template <class P>
__device__ __forceinline__ std::uint32_t IndexIn(const TeamEntry<P>& entry) {
  if constexpr (std::is_same_v<TeamEntry<P>, uint4>) {
    return entry.x;
  } else {
    return static_cast<std::uint32_t>(entry);
  }
}
template <class P>
__device__ __forceinline__ MessageOf<P> MessageIn(const TeamEntry<P>& entry) {
  Slot<MessageOf<P>> slot;
  if constexpr (std::is_same_v<TeamEntry<P>, uint4>) {
    const std::uint32_t words[2] = {entry.z, entry.w};
    memcpy(&slot, words, sizeof(slot));
  } else {
    const auto word = static_cast<std::uint32_t>(entry >> 32);
    memcpy(&slot, &word, sizeof(slot));
  }
  return slot.message;
}

/// Whether the run has failed on a device. The GPU's first block reads the abort word, by one of its warps.
template <class P>
__device__ __forceinline__ bool HasFailed(const TeamRoundsRef<P>& a) {
  std::uint32_t* const aborted = &a.counters->aborted;
  if (blockIdx.x == 0 && chatty::detail::LoadRelaxed(a.team.heap.abort) != 0) atomicExch(aborted, 1u);
  return atomics::Load(aborted) != 0;
}
/// Looks between two of HasFailed.
inline constexpr unsigned kLooks = 256;

/// The warp that waits for others: the one that has work last.
inline constexpr unsigned kMeetWarp = kRoundWarps - 1;

/// The block arrives at a barrier over all GPUs. count() counts what the block has done, called by one thread when all have
/// come. word_to(device) is the word for a device, called by a lane of the last block, which has seen what all blocks of the
/// GPU did. All threads call it.
template <class P, class Count, class WordTo>
__device__ __forceinline__ void Arrive(const TeamRoundsRef<P>& a, std::uint32_t epoch, const Count& count,
                                       const WordTo& word_to) {
  using steps::cuda::Lane;
  __syncthreads();
  if (steps::cuda::Warp() != kMeetWarp) return;
  unsigned is_last = 0;
  if (Lane() == 0) {
    count();
    std::uint32_t* const arrived = &a.counters->arrived;
    is_last = chatty::detail::CountArrival(arrived) + 1 == gridDim.x ? 1 : 0;
    if (is_last != 0) {
      ::cuda::atomic_ref<std::uint32_t, ::cuda::thread_scope_device>(*arrived).store(0, ::cuda::memory_order_relaxed);
    }
  }
  is_last = __shfl_sync(steps::cuda::kFull, is_last, 0);
  __syncwarp();  // what the first lane has acquired comes before the others' loads
  if (is_last == 0) return;
  for (std::uint32_t device = Lane(); device < a.team.heap.size; device += 32) {
    const std::uint64_t word = word_to(device);
    chatty::detail::FenceAcqRel();
    chatty::detail::StoreRelaxed(a.team.Word(epoch, a.team.heap.me, device), word);
  }
}

/// Waits for the words of `count` devices from `first` on, and puts them into `words`, in shared memory, which no thread
/// reads since Arrive. All blocks of a GPU have arrived once its own word is there. `met`: of the block. Returns false if
/// the run has failed. All threads call it.
template <class P>
__device__ __forceinline__ bool Await(const TeamRoundsRef<P>& a, std::uint32_t epoch, std::uint32_t first,
                                      std::uint32_t count, std::uint64_t* words, bool* met) {
  if (steps::cuda::Warp() == kMeetWarp) {
    bool there = true;
    for (std::uint32_t i = steps::cuda::Lane(); i < count; i += 32) {
      std::uint64_t word = 0;
      for (unsigned tries = 1; there; ++tries) {
        word = chatty::detail::LoadAcquire(a.team.Word(epoch, first + i, a.team.heap.me));
        if (IsOfBarrier(word, epoch)) break;
        if (tries % kLooks == 0) there = !HasFailed(a);
      }
      words[i] = word;
    }
    there = __all_sync(steps::cuda::kFull, there) != 0;
    if (steps::cuda::Lane() == 0) *met = there;
  }
  __syncthreads();
  return *met;
}

/// The barrier of this GPU's blocks, the `number`th of the kernel from 1. Returns false if the run has failed: a block that
/// has left does not come. All threads call it.
template <class P>
__device__ __forceinline__ bool MeetAtHome(const TeamRoundsRef<P>& a, TeamRoundShared& shared, std::uint32_t number) {
  __syncthreads();
  if (threadIdx.x == kMeetWarp * 32) {
    const ::cuda::atomic_ref<std::uint32_t, ::cuda::thread_scope_device> passed(a.counters->passed);
    const std::uint32_t all = number * gridDim.x;
    bool met = true;
    passed.fetch_add(1, ::cuda::memory_order_acq_rel);
    for (unsigned tries = 1; met && static_cast<std::int32_t>(passed.load(::cuda::memory_order_acquire) - all) < 0;
         ++tries) {
      if (tries % kLooks == 0) met = !HasFailed(a);
    }
    shared.met_at_home = met;
  }
  __syncthreads();
  return shared.met_at_home;
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
__device__ __forceinline__ void SendOut(const TeamRoundsRef<P>& a, TeamRoundShared& shared, bool crosses, LocalId h,
                                        const MessageOf<P>& message) {
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
      if (sent != 0) place = atomicAdd(&a.counters->listed[to], static_cast<std::uint32_t>(__popc(sent)));
    }
    place = __shfl_sync(kFull, place, 0) + __popc(sent & ((1u << Lane()) - 1));
    if ((sent >> Lane() & 1) != 0) {
      auto* const list = reinterpret_cast<TeamEntry<P>*>(a.team.List(a.team.heap.me, to));
      chatty::detail::StorePast(list + place, PackEntry<P>(h - shared.halo_begin[to], message));
    }
  }
}

/// Delivers the messages that other GPUs have sent, whose numbers are in the words of the last barrier. `ask`: as of
/// DeliverAtOnce.
template <class P>
__device__ __forceinline__ void Receive(const TeamRoundsRef<P>& a, TeamRoundShared& shared, std::uint32_t* touched,
                                        bool ask) {
  const SymmetricRef& heap = a.team.heap;
  const unsigned warps = gridDim.x * kRoundWarps, warp = steps::cuda::Warp() * gridDim.x + blockIdx.x;
  unsigned before = 0;  // warps that earlier senders' messages take
  for (std::uint32_t from = 0; from < heap.size; ++from) {
    const std::uint32_t count = TeamListLength::In(shared.words[from]), groups = (count + 31) / 32;
    const auto* const list = reinterpret_cast<const TeamEntry<P>*>(a.team.List(from, heap.me));
    for (unsigned group = (warp + warps - before % warps) % warps; group < groups; group += warps) {
      const unsigned i = group * 32 + steps::cuda::Lane();
      LocalId v = 0;
      bool first = false;
      if (i < count) {
        const TeamEntry<P> entry = chatty::detail::LoadPast(list + i);
        v = a.s.border.vertices[a.s.border.begin[from] + IndexIn<P>(entry)];
        first = DeliverAtOnce(a.s, v, MessageIn<P>(entry), ask);
      }
      List(a, shared.lists, touched, v, first);
    }
    before += groups;
  }
}

}  // namespace detail

/// The kernel: as many blocks on each GPU as are resident at once.
template <class P>
__global__ void __launch_bounds__(kRoundThreads, 1)
    RoundsTogether(const __grid_constant__ TeamRoundsRef<P> a, RoundOf<P> round) {
  __shared__ detail::TeamRoundShared shared;
  const SymmetricRef& heap = a.team.heap;
  const bool first_thread = blockIdx.x == 0 && threadIdx.x == 0;
  for (unsigned i = threadIdx.x; i <= heap.size; i += kRoundThreads) shared.halo_begin[i] = a.s.graph.halo_begin[i];
  for (unsigned i = threadIdx.x; i < heap.size; i += kRoundThreads) shared.crossed[i] = 0;
  const std::uint32_t first_index = round.index;
  steps::Counters tally;
  unsigned long long edges_touched = 0, updated = 0, edges_before = 0;
  std::uint32_t epoch = a.epoch, home_barriers = 0;
  unsigned room = 0;
  detail::Begin(a, shared.lists, &tally);
  for (std::uint32_t step = 0;; ++step) {
    RoundCounts& in = a.counts[step % 3];
    ++epoch;
    detail::Arrive(
        a, epoch,
        [&] {
          const BlockSums mine = detail::FrontierOf(shared.lists, room);
          if (mine.vertices != 0) atomicAdd(&in.active, mine.vertices);
          if (mine.edges != 0) atomicAdd(&in.edges, static_cast<unsigned long long>(mine.edges));
          if (mine.stop) atomicExch(&in.stop, 1u);
        },
        [&](std::uint32_t) {
          const volatile RoundCounts& sums = in;
          TeamFrontier mine;
          mine.active = sums.active;
          mine.edges = sums.edges;
          mine.wide = sums.edges > kRoundEdges;
          mine.stop = sums.stop != 0;
          return mine.Pack(epoch);
        });
    detail::EmptyListed(shared.lists);
    // What a block keeps is loaded meanwhile. The GPU's own blocks meet first: what they have spilled is then known.
    const unsigned kept = detail::Kept(shared.lists, room);
    const detail::FrontierTurn<P> turn = detail::LoadOwnTurn(a, shared.lists, kept);
    if (!detail::Await(a, epoch, heap.me, 1, &shared.own_word, &shared.met_at_home)) return;
    const std::uint32_t spilled = static_cast<const volatile RoundCounts&>(in).spilled;
    const std::uint32_t own_active = TeamFrontier::ActiveIn(shared.own_word);
    if (!detail::Await(a, epoch, 0, heap.size, shared.words, &shared.met)) return;
    TeamFrontier sum;
    for (std::uint32_t device = 0; device < heap.size; ++device) sum.Add(shared.words[device]);
    if (step != 0) updated += sum.active;
    if (sum.active == 0 || sum.stop || sum.wide || sum.edges > a.team.capacity || step == a.max_rounds) {
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
      }
      return;
    }
    edges_touched += sum.edges;
    edges_before = tally.edges;
    round.index = first_index + step;
    round.active = sum.active;
    RoundCounts& out = a.counts[(step + 1) % 3];
    detail::EmptyFrontier(shared.lists);
    if (blockIdx.x == 0 && threadIdx.x == 32) {
      a.counts[(step + 2) % 3] = RoundCounts{};
      if (step % kRoundsPerStopCheck == 0) {
        shared.lists.stop = a.host[0];
        a.host[1] = step + 1;
      }
    }
    const bool ask = sum.edges > kAskedEdges;
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
                          detail::SendOut(a, shared, crosses, target, message);
                        });
    ++epoch;
    detail::Arrive(
        a, epoch, [] {},
        [&](std::uint32_t device) {
          const std::uint32_t entries = atomicExch(&a.counters->listed[device], 0u);
          if (entries != 0) atomicAdd(&a.counters->sent[device], static_cast<unsigned long long>(entries));
          return TeamListLength::Pack(epoch, entries);
        });
    detail::PrefetchListed(a, shared.lists, detail::Listed(a, shared.lists));
    if (!detail::Await(a, epoch, 0, heap.size, shared.words, &shared.met)) return;
    std::uint32_t received = 0;
    for (std::uint32_t device = 0; device < heap.size; ++device) received += TeamListLength::In(shared.words[device]);
    if (received != 0) {  // the same for all blocks of the GPU
      detail::Receive(a, shared, &out.touched, ask);
      if (!detail::MeetAtHome(a, shared, ++home_barriers)) return;
    }
    const unsigned listed = detail::Listed(a, shared.lists);
    const std::uint32_t more = static_cast<const volatile RoundCounts&>(out).touched;
    room = detail::RoomToKeep(a, own_active, listed, ask);
    detail::UpdateListed(a, shared.lists, listed, more, room, out, round, &tally);
  }
}

}  // namespace chatty::fused::cuda
