/// \file
/// What a run tells of itself.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
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

/// One buffer that travelled: what the model predicted and what it took. See RunOptions::explain.
struct BufferRecord {
  std::uint32_t round = 0;           ///< in which round; without rounds, the sender's sweep; of operators, the exchange
  PartId from = 0;                   ///< the sender
  PartId to = 0;                     ///< the receiver; of a broadcast, the one that took it
  bool broadcast = false;            ///< it was told to all
  std::string_view path;             ///< the transport that took it; valid as long as the program runs
  std::string_view encoding;         ///< "sparse", "bitmap", "dense" or "atomics"; of operators, "payload"
  std::uint64_t entries = 0;         ///< messages or values in it
  std::uint64_t bytes = 0;           ///< its length
  std::uint64_t expected_bytes = 0;  ///< the length for which the path was chosen, before anything was packed
  double predicted_us = 0;           ///< by the model, for its length on that path; infinite where the model knows nothing
  /// From the begin of packing until it was unpacked; negative: unknown. Of a payload until it was there, and those from
  /// other devices that came before it were taken in.
  double measured_us = -1;
};

/// Where one device's host thread spent its time, in milliseconds. On a GPU compute includes waiting for its kernels, those
/// that pack and unpack buffers that are read in place among them, for which nobody waits apart (docs/transports.md).
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
  /// Who drove the run: "bsp", "async" or "operators".
  std::string execution = "bsp";
  std::string transport;  ///< what carried messages, several joined by plus signs; "none" on one device
  /// Rounds, over all phases.
  std::uint32_t rounds = 0;
  /// 1 and the kNextPhase of EndRound.
  std::uint32_t phases = 1;
  /// @{
  /// How many rounds went which way.
  std::uint32_t push_rounds = 0, pull_rounds = 0;
  /// @}
  std::uint32_t gauss_seidel_rounds = 0;  ///< rounds whose messages came from what sources had become in them: Round::fresh
  std::uint64_t edges_touched = 0;        ///< edges that any round looked at
  /// Vertices that an update changed, summed over rounds; of buckets on one host device, without a trace, each time that a
  /// message changed one.
  std::uint64_t vertices_updated = 0;
  bool converged = true;  ///< whether `ended` is kConverged
  /// Why it ended.
  Ended ended = Ended::kConverged;
  double time_ms = 0;  ///< InitVertex to convergence, launches and read-backs included
  /// One a device, in order.
  std::vector<DeviceStatistics> devices;
  std::vector<PairStatistics> pairs;  ///< pairs that talked
  std::vector<BufferRecord> buffers;  ///< all buffers, by receiver; only with RunOptions::explain

  /// A sequence of programs, as one, which ended as the first that did not converge.
  RunStatistics& operator+=(const RunStatistics& next);
};

}  // namespace chatty
