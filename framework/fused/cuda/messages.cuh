/// \file
/// Messages between the devices of a team, as a warp sends and takes them: see fused/team.h.
#pragma once

#include <cstdint>

#include "chatty/framework/fused/cuda/relax_ref.cuh"
#include "chatty/framework/fused/cuda/team_steps.cuh"
#include "chatty/framework/fused/team.h"

namespace chatty::fused::cuda {

/// One warp's access to the rings of its device. All lanes call every function.
template <class P>
class Messages {
 public:
  /// `begun`: the step that the GPU has begun.
  __device__ Messages(const TeamRef& team, TeamStep* begun, const StateRef<P>& s) : team_(team), begun_(begun), s_(s) {}

  __device__ const TeamRef& team() const { return team_; }
  __device__ std::uint32_t devices() const { return team_.heap.size; }
  /// Whether the run has failed on a device: a read of host memory.
  __device__ bool IsAborted() const { return detail::IsAbortedForWarp(team_, begun_, /*reads_host=*/true); }

  /// Reserves slots in the rings of the owners of halo vertices `v`, for lanes with `send` set. Returns a lane's position.
  __device__ std::uint64_t Reserve(bool send, LocalId v, std::uint32_t* owner) const {
    *owner = send ? s_.graph.HaloOwner(v) : 0;
    return detail::ReserveForLanes(team_, send, *owner);
  }
  /// Writes a lane's message at its reserved position, if there is room. `looks`: as HasRoomInRing.
  __device__ bool Write(std::uint32_t owner, std::uint64_t position, LocalId v, std::uint32_t hops, std::uint64_t step,
                        const MessageOf<P>& message, bool looks) const {
    if (!symmetric::HasRoomInRing(team_.heap, team_.rings, owner, position, looks)) return false;
    symmetric::WriteToRing(team_.heap, team_.rings, owner, position,
                           TeamRef::Pack(v - s_.graph.halo_begin[owner], hops, step,
                                         atomics::BitCast<atomics::Word<sizeof(MessageOf<P>)>>(message)));
    return true;
  }

  /// Claims messages of this step: see RingReader::Claim. Returns whether this lane has one.
  __device__ bool Claim(std::uint64_t step, bool was_idle, unsigned* claimed, LocalId* v, std::uint32_t* hops,
                        MessageOf<P>* message) {
    std::uint32_t from = 0;
    symmetric::RingEntry entry = {};
    const bool mine = reader_.Claim(team_, step, was_idle, claimed, &from, &entry);
    if (mine) {
      *v = s_.border.vertices[s_.border.begin[from] + TeamRef::IndexIn(entry)];
      *hops = TeamRef::HopsIn(entry);
      *message = atomics::BitCast<MessageOf<P>>(static_cast<atomics::Word<sizeof(MessageOf<P>)>>(entry.words[1]));
    }
    return mine;
  }

 private:
  const TeamRef& team_;
  TeamStep* const begun_;
  const StateRef<P>& s_;
  detail::RingReader reader_;
};

}  // namespace chatty::fused::cuda
