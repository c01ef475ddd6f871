/// \file
/// What a run tells of itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chatty/core/types.h"

namespace chatty {

/// Why a run ended.
enum class Ended : std::uint8_t {
  kConverged,  ///< the program was done
  kLimit,      ///< a limit of the program's own (Next::kLimit): values are those of the last round
  kMaxRounds,  ///< RunOptions::max_rounds: values are those of the last round, and not final
  kStopped,    ///< RunOptions::stop: likewise
  kFailed,     ///< by an exception: figures are those of the rounds that all devices finished
};

/// Traffic from one device to another.
struct PairStatistics {
  /// @{
  /// Sender and receiver.
  PartId from = 0, to = 0;
  /// @}
  std::uint64_t messages_before = 0;  ///< edges that sent across (messages), or values that changed (shared values)
  std::uint64_t messages = 0;         ///< what travelled, after combining: at most one a halo vertex and round
  /// What travelled, headers and bitmaps included.
  std::uint64_t bytes = 0;
};

/// Where one device's host thread spent its time, in milliseconds. On a GPU compute includes waiting for its kernels.
struct DeviceStatistics {
  /// Its label, "host:0" or "cuda:1".
  std::string device;
  /// Vertices that it owns.
  VertexId vertices = 0;
  /// @{
  /// Running steps; packing, moving and unpacking; waiting for other devices.
  double compute_ms = 0, communication_ms = 0, waiting_ms = 0;
  /// @}
};

/// What a run did, over all devices.
struct RunStatistics {
  /// Who drove the run: "bsp", or "operators".
  std::string execution = "bsp";
  std::string transport;  ///< "none" on one device
  /// Rounds, over all phases.
  std::uint32_t rounds = 0;
  /// 1 and the kNextPhase of EndRound.
  std::uint32_t phases = 1;
  /// @{
  /// How many rounds went which way.
  std::uint32_t push_rounds = 0, pull_rounds = 0;
  /// @}
  std::uint64_t edges_touched = 0;     ///< edges that any round looked at
  std::uint64_t vertices_updated = 0;  ///< vertices that an update changed, summed over rounds
  bool converged = true;               ///< whether `ended` is kConverged
  /// Why it ended.
  Ended ended = Ended::kConverged;
  double time_ms = 0;  ///< InitVertex to convergence, launches and read-backs included
  /// One a device, in order.
  std::vector<DeviceStatistics> devices;
  std::vector<PairStatistics> pairs;  ///< pairs that talked

  /// A sequence of programs, as one, which ended as the first that did not converge.
  RunStatistics& operator+=(const RunStatistics& next);
};

}  // namespace chatty
