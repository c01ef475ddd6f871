/// \file
/// The exchange of `bsp` within a round: messages from halo copies to their owners, or values from owners to halos.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "chatty/comm/selector.h"
#include "chatty/framework/engines/engine.h"
#include "chatty/framework/engines/message_log.h"

namespace chatty {

/// What a sender states of its buffer to one receiver.
struct ExchangeHeader {
  bool for_all = false;     ///< a broadcast, and no other buffer
  bool has_header = false;  ///< the buffer contains its own header; count and encoding are expectations
  Encoding encoding{};
  std::uint8_t path = 0;
  std::uint32_t count = 0;  ///< entries; 0: no buffer
  /// @{
  /// If buffers are recorded. Times are nanoseconds of the sender's clock.
  std::uint32_t contending = 0;      ///< buffers of its sender that the prediction assumes
  std::uint64_t expected_bytes = 0;  ///< for which the path was chosen
  std::int64_t begun_ns = 0;         ///< begin of packing
  std::int64_t posted_ns = 0;        ///< end of packing
  double pack_us = 0;                ///< packing time, if the host waits
  /// @}
};

/// What an exchange must know of its round, on one device.
struct ExchangeRound {
  std::uint64_t active_vertices = 0;  ///< of this device: its frontier
  std::uint64_t active_edges = 0;     ///< and the frontier's forward edges
  /// Devices with active vertices. No other device sends.
  const std::array<bool, kMaxDevices>& senders;
  bool changed_only = false;  ///< halos hold all shared values of the last round but the changed ones
};

/// One device's exchanges of a run, one a round. The other devices call the same functions together.
class HaloExchange {
 public:
  /// `run` and `log` must outlive it. A single device makes no exchanges.
  HaloExchange(const DeviceRun& run, MessageLog& log);

  /// Packs and posts this device's buffers, receives the other devices' buffers and unpacks them. `queue_out`: targets of
  /// messages go to a queue. Returns the number of arrived entries; for buffers with headers, an estimate of the maximum.
  std::size_t Exchange(Traffic traffic, const ExchangeRound& round, bool queue_out);
  /// Counts what this device sent in buffers with headers, from the round's counters, and puts the contents for the
  /// receivers' reports. Before the round's AllReduce.
  void CountBuffersWithHeaders(const Control& control);

 private:
  /// Extra entries of a buffer with a header beyond the expected ones, for which updates get threads.
  static constexpr std::size_t kHeadroom = 8192;

  using Counts = std::array<std::uint32_t, kMaxDevices>;
  using Encodings = std::array<Encoding, kMaxDevices>;
  /// This device's buffers of an exchange. Entry q is of the buffer for part q; its own entry, of the broadcast.
  struct Sent {
    Traffic traffic{};
    std::uint64_t active_edges = 0;
    bool for_all = false, has_header = false;
    Counts count{};
    Encodings encoding{};
    std::array<std::uint8_t, kMaxDevices> path{};
    std::array<std::uint64_t, kMaxDevices> expected_bytes{};
    Counts contending{};
    std::int64_t begun_ns = 0, posted_ns = 0;
    double pack_us = 0;
  };

  /// Whether `from` sends `to` a header in this exchange. Neighbours of the two parts have the same answer.
  bool Talks(const ExchangeRound& round, PartId from, PartId to) const {
    return from != to && round.senders[from] && (all_listen_ || Entries(from, to) != 0);
  }
  /// Entries in the numbering of a buffer of this exchange.
  std::size_t Entries(PartId from, PartId to) const { return run_.peers.Entries(sent_.traffic, from, to); }
  /// Whether entry q of Sent is a buffer of this exchange.
  bool Sends(PartId q) const { return (q == run_.rank) == sent_.for_all && Entries(run_.rank, q) != 0; }
  std::size_t Payload() const {
    return sent_.traffic == Traffic::kMessages ? traits_.message_payload : traits_.shared_payload;
  }
  /// Length of a buffer with this encoding and count.
  std::size_t Bytes(PartId from, PartId to, Encoding encoding, std::uint32_t count) const {
    return BufferBytes(encoding, Entries(from, to), count, Payload());
  }
  /// Capacity of a buffer.
  std::size_t Capacity(PartId from, PartId to) const { return BufferCapacity(Entries(from, to), Payload()); }
  bool SharesAll(const ExchangeRound& round) const;
  std::size_t Expected(const ExchangeRound& round, PartId to, std::size_t entries) const;
  std::uint32_t Senders(const ExchangeRound& round) const;

  void Begin(Traffic traffic, const ExchangeRound& round);
  void Send(const ExchangeRound& round, bool queue_out);
  void Choose(const ExchangeRound& round, SharedPlan& plan);
  bool AllInPlace() const;
  void Post(Span& span);
  void CountSent(const Control& control);
  void SignalNeighbours(const ExchangeRound& round) const;
  void AwaitNeighbours(const ExchangeRound& round, std::string_view what);
  void BeginCollective(const ExchangeRound& round) const;
  InboxRef Receive(PartId from, std::size_t bytes) const;
  void LogReceived(const ExchangeRound& round, PartId from);
  double MeasuredUs(const ExchangeRound& round, const ExchangeHeader& header) const;

  const DeviceRun& run_;
  const ProgramTraits& traits_;
  StepSet& steps_;
  MessageLog& log_;
  std::uint64_t epoch_ = 0;
  bool all_listen_ = false;  // all devices are neighbours in this exchange: a broadcast is possible
  Sent sent_;
  bool uncounted_ = false;                             // sent_ has headers, and its contents have not been read
  std::array<ExchangeHeader, kMaxDevices> headers_{};  // of this exchange's senders
  std::uint64_t last_edges_ = 0;                       // of the last pushed frontier
  Counts last_sent_{};                                 // messages from it
};

}  // namespace chatty
