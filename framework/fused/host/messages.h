/// \file
/// Messages between the devices of a team, as a thread of a host device sends and takes them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "chatty/core/atomics.h"
#include "chatty/core/error.h"
#include "chatty/core/sync.h"
#include "chatty/framework/fused/team.h"
#include "chatty/framework/state.h"

namespace chatty::fused::host {

/// One thread's access to the rings of its device. The team and the state must outlive it.
template <class P>
class Messages {
 public:
  /// All must outlive it.
  Messages(const TeamRef& team, const StateRef<P>& s, const WaitContext& context) : team_(team), s_(s), context_(context) {}

  const TeamRef& team() const { return team_; }  ///< not owned

  /// Throws AbortedError if the run has failed on another device: for a thread that works, and does not wait.
  void CheckAborted() const {
    if (team_.IsAborted()) throw AbortedError("a fused run has ended on another device");
  }
  /// Within a wait for other devices that began at `begin`: throws AbortedError if the run has failed elsewhere,
  /// TimeoutError after its longest wait.
  void CheckWait(Clock::time_point begin) const {
    CheckAborted();
    if (context_.abort != nullptr) context_.abort->ThrowIfAborted("the other devices");
    if (context_.timeout.count() > 0 && Clock::now() - begin > context_.timeout) {
      Throw<TimeoutError>("waited {} ms for a step of all devices; raise --timeout if the work is known to take longer",
                          context_.timeout.count());
    }
  }

  /// Sends a message to halo vertex `v`. Returns false if the owner's ring is full.
  bool Send(LocalId v, std::uint32_t hops, std::uint64_t step, const MessageOf<P>& message) const {
    const std::uint32_t owner = s_.graph.HaloOwner(v);
    const std::uint64_t position = symmetric::ReserveInRing(team_.heap, team_.rings, owner, 1);
    if (position == symmetric::Rings::kFull) return false;
    symmetric::WriteToRing(team_.heap, team_.rings, owner, position,
                           TeamRef::Pack(v - s_.graph.halo_begin[owner], hops, step,
                                         atomics::BitCast<atomics::Word<sizeof(MessageOf<P>)>>(message)));
    return true;
  }

  /// Claims messages of this step, some from each device, and calls take(vertex, hops, message) for each. Returns whether
  /// there were any. `was_idle`: the thread was idle, and is busy if there were.
  template <class Take>
  bool Claim(std::uint64_t step, bool was_idle, Take&& take) const {
    bool any = false;
    std::array<symmetric::RingEntry, kTogether> entries;
    for (std::uint32_t i = 1; i < team_.heap.size; ++i) {
      const std::uint32_t from = (team_.heap.me + i) % team_.heap.size;
      const std::uint64_t next = symmetric::ClaimedOfRing(team_.heap, team_.rings, from);
      std::uint32_t count = 0;
      while (count < kTogether && symmetric::ReadFromRing(team_.heap, team_.rings, from, next + count, &entries[count]) &&
             TeamRef::IsOf(entries[count], step)) {
        ++count;
      }
      if (count == 0 || !symmetric::ClaimFromRing(team_.heap, team_.rings, from, next, count)) continue;
      team_.CountReceived(count, was_idle && !any);
      any = true;
      const LocalId* const shared = s_.border.vertices + s_.border.begin[from];
      for (std::uint32_t k = 0; k < count; ++k) {
        const auto word = static_cast<atomics::Word<sizeof(MessageOf<P>)>>(entries[k].words[1]);
        take(shared[TeamRef::IndexIn(entries[k])], TeamRef::HopsIn(entries[k]), atomics::BitCast<MessageOf<P>>(word));
      }
    }
    return any;
  }

 private:
  static constexpr std::uint32_t kTogether = 64;

  const TeamRef& team_;
  const StateRef<P>& s_;
  const WaitContext& context_;
};

}  // namespace chatty::fused::host
