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

  /// Reserves places in the rings of the owners of halo vertices `v`, for lanes with `send` set. Returns a lane's place.
  __device__ std::uint64_t Reserve(bool send, LocalId v, std::uint32_t* owner) const {
    *owner = send ? s_.graph.HaloOwner(v) : 0;
    std::uint64_t mine = 0;
    for (unsigned rest = __ballot_sync(kFull, send); rest != 0;) {
      const std::uint32_t to = __shfl_sync(kFull, *owner, __ffs(rest) - 1);
      const unsigned group = __ballot_sync(kFull, send && *owner == to);
      rest &= ~group;
      unsigned long long place = 0;
      if (Lane() == 0) place = symmetric::ReserveAheadInRing(team_.heap, team_.rings, to, __popc(group));
      place = __shfl_sync(kFull, place, 0);
      if ((group >> Lane() & 1) != 0) mine = place + __popc(group & ((1u << Lane()) - 1));
    }
    return mine;
  }
  /// Writes a lane's message into its reserved place, if there is room. `looks`: as HasRoomInRing.
  __device__ bool Write(std::uint32_t owner, std::uint64_t place, LocalId v, std::uint32_t hops, std::uint64_t step,
                        const MessageOf<P>& message, bool looks) const {
    if (!symmetric::HasRoomInRing(team_.heap, team_.rings, owner, place, looks)) return false;
    symmetric::WriteToRing(team_.heap, team_.rings, owner, place,
                           TeamRef::Pack(v - s_.graph.halo_begin[owner], hops, step,
                                         atomics::BitCast<atomics::Word<sizeof(MessageOf<P>)>>(message)));
    return true;
  }

  /// Claims messages of this step, some from each device at once: a few lanes look at each ring. Returns whether this lane
  /// has one. `*claimed`: of all lanes. `was_idle`: as TeamRef::CountReceived.
  __device__ bool Claim(std::uint64_t step, bool was_idle, unsigned* claimed, LocalId* v, std::uint32_t* hops,
                        MessageOf<P>* message) {
    const unsigned peers = devices() - 1, rings = min(peers, 32u), lanes = 32 / rings, ring = Lane() / lanes;
    const unsigned place = Lane() % lanes, first = ring * lanes;
    const bool looks = ring < rings;
    const std::uint32_t from = (team_.heap.me + 1 + (turn_ + ring) % peers) % devices();
    if (peers > 32) turn_ += 32;
    // The entry is where the last look saw the end of what was claimed: both loads are on the way together.
    symmetric::RingEntry entry = {};
    std::uint64_t known = known_;
    if (peers > 32 && looks) known = symmetric::ClaimedOfRing(team_.heap, team_.rings, from);  // another ring each time
    const bool there =
        looks && symmetric::ReadFromRing(team_.heap, team_.rings, from, known + place, &entry) && TeamRef::IsOf(entry, step);
    std::uint64_t now = known;
    if (looks) now = symmetric::ClaimedOfRing(team_.heap, team_.rings, from);
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
    if (count != 0 && place == 0) mine = symmetric::ClaimFromRing(team_.heap, team_.rings, from, known, count);
    mine = __shfl_sync(kFull, mine, min(first, 31u)) && place < count && looks;
    *claimed = __popc(__ballot_sync(kFull, mine));
    if (*claimed != 0 && Lane() == 0) team_.CountReceived(*claimed, was_idle);
    if (mine) {
      *v = s_.border.vertices[s_.border.begin[from] + TeamRef::IndexIn(entry)];
      *hops = TeamRef::HopsIn(entry);
      *message = atomics::BitCast<MessageOf<P>>(static_cast<atomics::Word<sizeof(MessageOf<P>)>>(entry.words[1]));
    }
    return mine;
  }

 private:
  const TeamRef& team_;
  const StateRef<P>& s_;
  std::uint64_t known_ = 0;  // what the last look saw of the claims of the lane's ring
  unsigned turn_ = 0;        // with more rings than lanes, which ones are looked at
};

}  // namespace chatty::fused::cuda
