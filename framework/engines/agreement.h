/// \file
/// How the devices of `bsp` agree at the end of a round: the same sums on all, and the first device's decision.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "chatty/framework/engines/engine.h"

namespace chatty {

/// A device's counters of a round; or their sums over all devices.
struct Summary {
  std::uint64_t active_vertices = 0, active_edges = 0, edges_touched = 0;
  std::int64_t candidate_edges = 0, pending_vertices = 0;
  std::uint64_t first_pending = 0, first_edges = 0;  ///< as in Control
  bool stop = false;                                 ///< requested; first device checks
  alignas(16) std::byte global[64] = {};             ///< the program's aggregate
};

/// 64-bit words of the counters that each device sends to others after a round.
inline constexpr std::size_t kRoundWords = sizeof(Summary) / sizeof(std::uint64_t);
static_assert(sizeof(Summary) % sizeof(std::uint64_t) == 0);

/// The all-reduce and the broadcast at a round's end, of one device. All devices call each function together.
class Agreement {
 public:
  /// `run` must outlive it.
  explicit Agreement(const DeviceRun& run) : run_(run), traits_(run.program.traits()) {}

  /// Completes this device's counters by its aggregate (StepSet::MeasureInto) and, on the first device, by a stop request.
  void Measure(const RoundState& round, Summary& mine) const;
  /// The sums over all devices. Devices add in device order, so all have the same bits.
  Summary AllReduce(const Summary& mine);
  /// Which devices have active vertices since the last AllReduce, and so send in the next round.
  const std::array<bool, kMaxDevices>& senders() const { return senders_; }
  /// The first device calls EndRound and decides for all; `round` gets its changes.
  Next Decide(RoundState& round) const;

 private:
  const DeviceRun& run_;
  const ProgramTraits& traits_;
  std::array<bool, kMaxDevices> senders_{};
};

}  // namespace chatty
