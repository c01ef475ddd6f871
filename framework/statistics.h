/// \file
/// The statistics of a run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chatty/core/types.h"

namespace chatty {

/// Why a run ended.
enum class Ended : std::uint8_t {
  kConverged,  ///< the program finished
  kLimit,      ///< a limit of the program (Next::kLimit): values are those of the last round
  kMaxRounds,  ///< RunOptions::max_rounds: values are those of the last round, not final
  kStopped,    ///< RunOptions::stop: the same
  kFailed,     ///< by an exception: figures cover the rounds that all devices finished
};

/// Traffic from one device to another.
struct PairStatistics {
  /// @{
  /// Sender and receiver.
  PartId from = 0, to = 0;
  /// @}
  std::uint64_t messages_before = 0;  ///< edges that sent across (messages), or changed values (shared values)
  std::uint64_t messages = 0;         ///< sent entries after combining: at most one per halo vertex and round
  /// Sent bytes, headers and bitmaps included.
  std::uint64_t bytes = 0;
};

/// One sent buffer: the model's prediction and the measured time. See RunOptions::explain.
struct BufferRecord {
  std::uint32_t round = 0;           ///< its round; without rounds, the sender's sweep; of operators, the exchange
  PartId from = 0;                   ///< the sender
  PartId to = 0;                     ///< the receiver; of a broadcast, one receiver
  bool broadcast = false;            ///< sent to all
  std::string_view path;             ///< the transport; valid until the process ends
  std::string_view encoding;         ///< "sparse", "bitmap" or "dense"; of operators, "payload"
  std::uint64_t entries = 0;         ///< messages or values in it
  std::uint64_t bytes = 0;           ///< its length
  std::uint64_t expected_bytes = 0;  ///< the length before packing, for which the path was chosen
  double predicted_us = 0;           ///< by the model, for its length on that path; infinite if the model has no data
  /// From the begin of packing to the end of unpacking; negative: unknown. Of a payload: to its arrival, after the receipt
  /// of earlier payloads from other devices.
  double measured_us = -1;
};

/// Time of one device's host thread, in milliseconds. On a GPU, compute includes waits for kernels, also for those that pack
/// and unpack buffers read in place: the host does not wait separately for them (docs/transports.md).
struct DeviceStatistics {
  /// Its label, "host:0" or "cuda:1".
  std::string device;
  /// Its owned vertices.
  VertexId vertices = 0;
  /// @{
  /// Steps; packing, moving and unpacking; waiting for other devices.
  double compute_ms = 0, communication_ms = 0, waiting_ms = 0;
  /// @}
};

/// The work of a run.
struct RunStatistics {
  /// The engine: "bsp", "async" or "operators".
  std::string execution = "bsp";
  /// The transports of messages, joined by plus signs; "none" on one device. A fused run of all devices together sends
  /// nothing through them: its messages go through rings, and `pairs` has them.
  std::string transport;
  /// Rounds, over all phases.
  std::uint32_t rounds = 0;
  /// 1 plus kNextPhase results.
  std::uint32_t phases = 1;
  /// @{
  /// Rounds per direction.
  std::uint32_t push_rounds = 0, pull_rounds = 0;
  /// @}
  std::uint32_t gauss_seidel_rounds = 0;  ///< rounds whose messages used values of the same round: Round::gauss_seidel
  /// Steps of fused runs that relax edges in any order: buckets or tens of levels each. Where there are any, `rounds` counts
  /// the levels that these steps followed, perhaps a few more than the answer has; with a Priority, it counts the steps.
  /// Exact rounds of few vertices in a resident kernel are a step each.
  std::uint32_t fused_steps = 0;
  std::uint32_t wide_rounds = 0;    ///< rounds that kernels of GPUs made whatever their width: see RowOptions::wide_rounds
  std::uint64_t edges_touched = 0;  ///< edges that any round read
  /// Vertices that an update changed, summed over rounds. Of fused runs, and with buckets on one host device without a
  /// trace: changes of a vertex by a message.
  std::uint64_t vertices_updated = 0;
  /// Work items, as Groute counts them: vertices active at the begin of a round, summed over rounds. Of fused runs that
  /// relax edges in any order or in buckets: vertices whose edges were followed, each time. Items whose vertex has got a
  /// better value meanwhile are skipped and not counted.
  std::uint64_t items = 0;
  bool converged = true;  ///< whether `ended` is kConverged
  /// The reason.
  Ended ended = Ended::kConverged;
  double time_ms = 0;  ///< InitVertex to convergence, with launches and read-backs
  /// In device order.
  std::vector<DeviceStatistics> devices;
  std::vector<PairStatistics> pairs;  ///< with traffic
  std::vector<BufferRecord> buffers;  ///< all buffers, by receiver; only with RunOptions::explain

  /// Adds the next program. The sum ended as the first that did not converge.
  RunStatistics& operator+=(const RunStatistics& next);
};

}  // namespace chatty
