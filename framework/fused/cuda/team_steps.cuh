/// \file
/// How GPUs go from step to step by the protocol of fused/team.h, and how a warp reserves slots in rings and claims their
/// entries. The kernel that relaxes edges on several GPUs and the kernel of worklists call these functions.
#pragma once

#include <cstdint>
#include <cstring>
#include <cuda/atomic>

#include "chatty/core/atomics.h"
#include "chatty/framework/fused/step_limits.h"
#include "chatty/framework/fused/team.h"
#include "chatty/framework/steps/cuda/block.cuh"

namespace chatty::fused::cuda {

using steps::cuda::kFull;
using steps::cuda::Lane;
using steps::cuda::Shuffle;
using steps::cuda::Warp;

/// The step that a GPU's workers may begin, in its memory.
struct TeamStep {
  std::uint64_t step = 0;  ///< written last
  StepOrder order;
  std::uint32_t aborted = 0;  ///< the run has failed on a device, which a worker has read in host memory
};

namespace detail {

/// Whether no GPU is busy in `step` and no message is on the way. All lanes call it.
__device__ inline bool HasEnded(const TeamRef& team, std::uint64_t step) {
  const std::uint32_t size = team.heap.size;
  bool idle = team.StateOf(team.heap.me).active() == 0;  // looks at home first
  if (!__all_sync(kFull, idle)) return false;
  unsigned long long received = 0, sent = 0;
  for (std::uint32_t d = Lane(); d < size; d += 32) {
    const TeamState state = team.StateOf(d);
    idle = idle && state.active() == 0 && state.step() == (step & 0xff);
    received += state.received();
  }
  if (!__all_sync(kFull, idle)) return false;
  __syncwarp();  // what all lanes have acquired comes before
  for (std::uint32_t i = Lane(); i < size * size; i += 32) sent += team.SentTo(i / size, i % size);
  for (unsigned d = 16; d > 0; d /= 2) {
    received += __shfl_xor_sync(kFull, received, d);
    sent += __shfl_xor_sync(kFull, sent, d);
  }
  return TeamState::AllReceived(sent, received);
}

/// The sum of all GPUs' counts of a step that has ended, by one thread.
__device__ inline StepCounts SumCounts(const TeamRef& team, std::uint64_t step) {
  constexpr unsigned kWords = sizeof(StepCounts) / 8;
  static_assert(sizeof(StepCounts) % 8 == 0);
  StepCounts sum;
  for (std::uint32_t d = 0; d < team.heap.size; ++d) {
    const auto* const from = reinterpret_cast<const std::uint64_t*>(team.heap.At(team.counts, d) + step % 3);
    std::uint64_t words[kWords];
#pragma unroll
    for (unsigned i = 0; i < kWords; ++i) words[i] = chatty::detail::LoadRelaxed(from + i);
    StepCounts one;
    memcpy(&one, words, sizeof(one));
    sum.Add(one);
  }
  return sum;
}

/// The sum of what all GPUs counted in the last window, by one thread.
__device__ inline WindowCounts SumWindows(const TeamRef& team) {
  static_assert(sizeof(WindowCounts) == 16);
  WindowCounts sum;
  for (std::uint32_t d = 0; d < team.heap.size; ++d) {
    const auto* const from = reinterpret_cast<const std::uint64_t*>(team.heap.At(team.windows, d));
    const std::uint64_t words[2] = {chatty::detail::LoadRelaxed(from), chatty::detail::LoadRelaxed(from + 1)};
    WindowCounts one;
    memcpy(&one, words, sizeof(one));
    sum.Add(one);
  }
  return sum;
}

/// One poll by a GPU's first warp, which is idle in `step`. A warp with a `leader` decides for all GPUs. If the next step's
/// order has come, the warp lets this GPU begin that step with so many busy `workers`. `reset`(order) clears what the step
/// counts in, by one lane. `host`: ResidentKernel::words. All lanes call it.
template <bool kOrders, class Reset>
__device__ __forceinline__ void LeadSteps(const TeamRef& team, std::uint64_t step, StepLeader<kOrders>* leader,
                                          volatile std::uint32_t* host, TeamStep* begun, unsigned workers, Reset&& reset) {
  if (leader != nullptr && HasEnded(team, step)) {
    if (Lane() == 0) {
      StepCounts sum = SumCounts(team, step);
      sum.stop |= host[0];
      team.GiveOrder(step + 1, leader->Next(sum, leader->IsOut(sum) ? SumWindows(team) : WindowCounts{}));
    }
    __syncwarp();
  }
  if (Lane() != 0) return;
  StepOrder order;
  if (!team.TakeOrder(step + 1, &order)) return;
  team.heap.Own(team.counts)[(step + 2) % 3] = StepCounts{};
  if (order.takes_window) *team.heap.Own(team.windows) = WindowCounts{};
  reset(order);
  team.BeginStep(workers);
  host[1] = static_cast<std::uint32_t>(step + 1);
  begun->order = order;
  ::cuda::atomic_ref<std::uint64_t, ::cuda::thread_scope_device>(begun->step).store(step + 1, ::cuda::memory_order_release);
}

/// Whether this GPU has begun `step`; its order may then be read. By one lane.
__device__ inline bool HasBegun(TeamStep* begun, std::uint64_t step) {
  return ::cuda::atomic_ref<std::uint64_t, ::cuda::thread_scope_device>(begun->step).load(::cuda::memory_order_acquire) ==
         step;
}

/// Whether the run has failed on a device, by one lane. Who `reads_host` reads the abort word in host memory and lets the
/// other warps of this GPU know: where a thousand warps read host memory, each waits for milliseconds.
__device__ inline bool IsAborted(const TeamRef& team, TeamStep* begun, bool reads_host) {
  if (reads_host && team.IsAborted()) atomics::Store(&begun->aborted, 1u);
  return atomics::Load(&begun->aborted) != 0;
}
/// The same for all lanes, which call it together.
__device__ inline bool IsAbortedForWarp(const TeamRef& team, TeamStep* begun, bool reads_host) {
  bool aborted = false;
  if (Lane() == 0) aborted = IsAborted(team, begun, reads_host);
  return __shfl_sync(kFull, aborted, 0);
}

/// Reserves slots ahead in the rings to devices `to`, for lanes with `send` set: one addition for each device. Returns a
/// lane's position. All lanes call it.
__device__ inline std::uint64_t ReserveForLanes(const TeamRef& team, bool send, std::uint32_t to) {
  std::uint64_t mine = 0;
  for (unsigned rest = __ballot_sync(kFull, send); rest != 0;) {
    const std::uint32_t device = __shfl_sync(kFull, to, __ffs(rest) - 1);
    const unsigned group = __ballot_sync(kFull, send && to == device);
    rest &= ~group;
    unsigned long long position = 0;
    if (Lane() == 0) position = symmetric::ReserveAheadInRing(team.heap, team.rings, device, __popc(group));
    position = __shfl_sync(kFull, position, 0);
    if ((group >> Lane() & 1) != 0) mine = position + __popc(group & ((1u << Lane()) - 1));
  }
  return mine;
}

/// One warp's looks at the rings of its device.
class RingReader {
 public:
  /// Claims entries of this step, some from each device at once: a few lanes look at each ring. Returns whether this lane
  /// has one, and `from` which device. `*claimed`: of all lanes. `was_idle`: as TeamRef::CountReceived. All lanes call it.
  __device__ bool Claim(const TeamRef& team, std::uint64_t step, bool was_idle, unsigned* claimed, std::uint32_t* from,
                        symmetric::RingEntry* entry) {
    const std::uint32_t devices = team.heap.size;
    const unsigned peers = devices - 1, rings = min(peers, 32u), lanes = 32 / rings, ring = Lane() / lanes;
    const unsigned index = Lane() % lanes, first = ring * lanes;
    const bool looks = ring < rings;
    *from = (team.heap.me + 1 + (turn_ + ring) % peers) % devices;
    if (peers > 32) turn_ += 32;
    // The entry is where the last look saw the end of what was claimed: both loads are on the way together.
    *entry = {};
    std::uint64_t known = known_;
    if (peers > 32) {  // another ring each time
      if (looks) known = symmetric::ClaimedOfRing(team.heap, team.rings, *from);
      known = __shfl_sync(kFull, known, min(first, 31u));
    }
    const bool there =
        looks && symmetric::ReadFromRing(team.heap, team.rings, *from, known + index, entry) && TeamRef::IsOf(*entry, step);
    std::uint64_t now = known;
    if (looks) now = symmetric::ClaimedOfRing(team.heap, team.rings, *from);
    now = __shfl_sync(kFull, now, min(first, 31u));  // lanes of a ring have to agree, and may have seen different values
    known_ = now;
    const unsigned group = (lanes == 32 ? kFull : ((1u << lanes) - 1)) << first;
    const unsigned missing = ~__ballot_sync(kFull, there && now == known) & group;
    unsigned count = looks ? (missing == 0 ? lanes : __ffs(missing) - 1 - first) : 0;
    if (!__any_sync(kFull, count != 0)) {
      *claimed = 0;
      return false;
    }
    __syncwarp();  // a claim releases all lanes' reads
    bool mine = false;
    if (count != 0 && index == 0) mine = symmetric::ClaimFromRing(team.heap, team.rings, *from, known, count);
    mine = __shfl_sync(kFull, mine, min(first, 31u)) && index < count && looks;
    *claimed = __popc(__ballot_sync(kFull, mine));
    if (*claimed != 0 && Lane() == 0) team.CountReceived(*claimed, was_idle);
    return mine;
  }

 private:
  std::uint64_t known_ = 0;  // what the last look saw of the claims of the lane's ring
  unsigned turn_ = 0;        // with more rings than lanes, which ones are looked at
};

}  // namespace detail

}  // namespace chatty::fused::cuda
