/// \file
/// The statistics of one device's message buffers: counts for each receiver, records for `--explain`, and arguments of
/// spans.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "chatty/framework/engines/engine.h"
#include "chatty/framework/state.h"

namespace chatty {

/// The shape that a selector uses. A bitmap counts all `size` places, because packing and unpacking visit them.
inline BufferShape BufferShapeOf(Encoding encoding, std::size_t bytes, std::size_t count, std::size_t size) {
  return {encoding, bytes, encoding == Encoding::kSparse ? count : encoding == Encoding::kBitmap ? size : 0};
}

/// A buffer as its sender or receiver knows it.
struct LoggedBuffer {
  PartId from = 0, to = 0;
  bool broadcast = false;
  bool messages = true;     ///< not shared values
  std::size_t size = 0;     ///< entries of its numbering
  std::size_t payload = 0;  ///< bytes of an entry's payload
  std::uint8_t path = 0;
  Encoding encoding{};
  std::size_t count = 0;           ///< its entries
  std::size_t expected_bytes = 0;  ///< for which the path was chosen
  Load load{};                     ///< buffers of its sender on the same way, and senders of its exchange
  double measured_us = -1;         ///< negative: unknown
  bool has_header = false;  ///< encoding and count are not known yet: its sender puts a BufferHeader on the control plane
  std::uint64_t epoch = 0;  ///< of its exchange

  std::size_t bytes() const { return count == 0 ? 0 : BufferBytes(encoding, size, count, payload); }  ///< its length
};

/// What one device sends and receives in a run. Both engines use it.
class MessageLog {
 public:
  /// `run` must outlive it.
  explicit MessageLog(const DeviceRun& run) : run_(run), pairs_(run.parts) {}

  /// Whether buffers must be recorded, so that the host waits for each step of an exchange to time it.
  bool explains() const { return run_.options.explain; }
  /// Whether receivers need the contents of buffers with headers of their own. All devices have the same answer.
  bool needs_contents() const { return run_.options.explain || run_.options.trace != nullptr; }

  /// Counts what was sent to one device; `before`: messages before combining.
  void CountSent(PartId to, std::uint64_t messages, std::uint64_t before, std::uint64_t bytes) {
    pairs_[to].messages += messages;
    pairs_[to].messages_before += before;
    pairs_[to].bytes += bytes;
  }
  /// Counts messages before combining, from the device's counters.
  void CountRaw(const Control& control) {
    for (PartId q = 0; q < run_.parts; ++q) pairs_[q].messages_before += control.raw_messages[q];
  }
  /// Adds the trace's counter of bytes sent since the last call, as of `start`. Only with a trace.
  void CountBytes(Clock::time_point start);

  /// Sets the arguments of a post whose span has ended, in a trace.
  void SetPosted(PartId to, std::size_t bytes, std::size_t count) const;
  /// Keeps a received buffer until ReportReceived.
  void AddReceived(const LoggedBuffer& buffer) { received_.push_back(buffer); }
  /// Reports the received buffers of a round, after an AllReduce has completed what their senders put.
  void ReportReceived(std::uint32_t round) {
    if (!received_.empty()) [[unlikely]]
      ReportKept(round);
  }
  /// Records a buffer with the prediction of its time. Only with RunOptions::explain.
  void Record(std::uint32_t round, const LoggedBuffer& buffer);

  /// Moves the statistics into the device's report.
  void MoveInto(DeviceReport& report) noexcept;

 private:
  void ReportKept(std::uint32_t round);

  const DeviceRun& run_;
  std::vector<PairStatistics> pairs_;
  std::vector<LoggedBuffer> received_;
  std::vector<BufferRecord> records_;
  std::uint64_t counted_bytes_ = 0;
};

}  // namespace chatty
