/// \file
/// Messages between the devices of a team, as a warp sends and takes them: see fused/team.h.
#pragma once

#include <cstdint>

#include "chatty/framework/fused/cuda/relax_ref.cuh"
#include "chatty/framework/fused/team.h"

namespace chatty::fused::cuda {

/// One warp's access to the rings of its device. All lanes call every function.
template <class P>
class Messages {
 public:
  __device__ Messages(const TeamRef& team, const StateRef<P>& s) : team_(team), s_(s) {}

  __device__ const TeamRef& team() const { return team_; }
  __device__ std::uint32_t devices() const { return team_.heap.size; }
  /// A read of host memory.
  __device__ bool IsAborted() const {
    bool aborted = false;
    if (Lane() == 0) aborted = team_.IsAborted();
    return __shfl_sync(kFull, aborted, 0);
  }

  /// Sends the messages of lanes with `send` set to halo vertices `v`, and clears `send`. Returns false if an owner's ring
  /// is full: the lanes for that owner keep theirs.
  __device__ bool Send(bool& send, LocalId v, std::uint32_t hops, std::uint64_t step, const MessageOf<P>& message) const {
    const std::uint32_t owner = send ? s_.graph.HaloOwner(v) : 0;
    bool full = false;
    for (unsigned rest = __ballot_sync(kFull, send); rest != 0;) {
      const std::uint32_t to = __shfl_sync(kFull, owner, __ffs(rest) - 1);
      const unsigned group = __ballot_sync(kFull, send && owner == to);
      rest &= ~group;
      std::uint64_t place = 0;
      if (Lane() == 0) place = symmetric::ReserveInRing(team_.heap, team_.rings, to, __popc(group));
      place = __shfl_sync(kFull, static_cast<unsigned long long>(place), 0);
      if (place == symmetric::Rings::kFull) {
        full = true;
        continue;
      }
      if ((group >> Lane() & 1) != 0) {
        symmetric::WriteToRing(team_.heap, team_.rings, to, place + __popc(group & ((1u << Lane()) - 1)),
                               TeamRef::Pack(v - s_.graph.halo_begin[to], hops, step,
                                             atomics::BitCast<atomics::Word<sizeof(MessageOf<P>)>>(message)));
        send = false;
      }
    }
    return !full;
  }

  /// Whether a message of this step is in a ring.
  __device__ bool AnyOf(std::uint64_t step) const {
    bool any = false;
    for (std::uint32_t from = Lane(); from < devices(); from += 32) {
      symmetric::RingEntry entry;
      if (from == team_.heap.me) continue;
      const std::uint64_t next = symmetric::ClaimedOfRing(team_.heap, team_.rings, from);
      any = any || (symmetric::ReadFromRing(team_.heap, team_.rings, from, next, &entry) && TeamRef::IsOf(entry, step));
    }
    return __any_sync(kFull, any);
  }

  /// Claims up to 32 messages of this step from the `i`th device behind this one. Returns how many: the lanes below have one
  /// each. The warp's block must be busy.
  __device__ unsigned Claim(std::uint32_t i, std::uint64_t step, LocalId* v, std::uint32_t* hops,
                            MessageOf<P>* message) const {
    const std::uint32_t from = (team_.heap.me + i) % devices();
    std::uint64_t next = 0;
    if (Lane() == 0) next = symmetric::ClaimedOfRing(team_.heap, team_.rings, from);
    next = __shfl_sync(kFull, static_cast<unsigned long long>(next), 0);
    symmetric::RingEntry entry = {};
    const bool there = Lane() < team_.rings.capacity &&
                       symmetric::ReadFromRing(team_.heap, team_.rings, from, next + Lane(), &entry) &&
                       TeamRef::IsOf(entry, step);
    const unsigned missing = ~__ballot_sync(kFull, there);
    unsigned count = missing == 0 ? 32 : __ffs(missing) - 1;
    if (count == 0) return 0;
    __syncwarp();  // the claim releases all lanes' reads
    if (Lane() == 0) {
      if (symmetric::ClaimFromRing(team_.heap, team_.rings, from, next, count)) {
        team_.CountReceived(count);
      } else {
        count = 0;
      }
    }
    count = __shfl_sync(kFull, count, 0);
    if (Lane() < count) {
      *v = s_.border.vertices[s_.border.begin[from] + TeamRef::IndexIn(entry)];
      *hops = TeamRef::HopsIn(entry);
      *message = atomics::BitCast<MessageOf<P>>(static_cast<atomics::Word<sizeof(MessageOf<P>)>>(entry.words[1]));
    }
    return count;
  }

 private:
  const TeamRef& team_;
  const StateRef<P>& s_;
};

}  // namespace chatty::fused::cuda
