/// \file
/// A transport decorator that checks the order of calls which Transport requires. For tests of engines and of transports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chatty/comm/transport.h"

namespace chatty {

/// Forwards all calls to another transport, and throws InternalError for a call that breaks the contract of Transport. It
/// checks of each pair, and likewise of each broadcast:
/// - Outbox: no slot is written before all receivers have asked for its last message: Receive of epoch e comes before Outbox
///   of epoch e + slots().
/// - Post: Outbox of the same epoch comes before, Post is called once, and the bytes fit the capacity.
/// - BeginCollective: only if the transport was made for collectives, with the bytes that were posted for copies. Where
///   devices call it at all, each calls it before it receives.
/// - Receive and ReceiveOn: Post of the same epoch comes before, with the same number of bytes unless the receive is
///   zero-copy.
///
/// A message of 0 bytes is none. An epoch below a pair's last one, or equal to it after its Post, begins another run, in
/// which nothing is on the way. Whether a receiver has read a message when its slot is written again is not visible here.
class CheckedTransport final : public Transport {
 public:
  /// Decorates `inner`, which was made for `capacities` and `options`.
  CheckedTransport(std::unique_ptr<Transport> inner, PairBytesTable capacities, TransportOptions options);

  std::string_view name() const override { return inner_->name(); }
  std::uint32_t slots() const override { return inner_->slots(); }
  bool has_broadcasts() const override { return inner_->has_broadcasts(); }
  std::byte* Outbox(PartId from, PartId to, std::uint64_t epoch) override;
  void Post(PartId from, PartId to, std::size_t bytes, std::uint64_t epoch) override;
  void BeginCollective(PartId at, std::span<const std::size_t> incoming, std::span<const std::size_t> broadcast,
                       std::uint64_t epoch) override;
  const std::byte* Receive(PartId at, PartId from, std::size_t bytes, std::uint64_t epoch) override;
  bool receives_on_streams() const override { return inner_->receives_on_streams(); }
  const std::byte* ReceiveOn(Stream& stream, PartId at, PartId from, std::size_t bytes, std::uint64_t epoch) override;
  std::byte* BroadcastOutbox(PartId from, std::uint64_t epoch) override;
  void Broadcast(PartId from, std::size_t bytes, std::uint64_t epoch) override;
  const std::byte* ReceiveBroadcast(PartId at, PartId from, std::size_t bytes, std::uint64_t epoch) override;
  bool IsZeroCopyReceive(PartId from, PartId to) const override { return inner_->IsZeroCopyReceive(from, to); }
  void Abort() noexcept override { inner_->Abort(); }
  bool reusable() const override { return inner_->reusable(); }

 private:
  /// The last message of a slot.
  struct Message {
    std::uint64_t epoch = 0;
    std::size_t bytes = 0;
    bool packed = false, posted = false;
    std::vector<bool> received;  // by receiver, after Post
    std::size_t awaited = 0;     // receivers that have not asked for it
  };
  /// The messages of a pair, or of a sender's broadcasts: entry [from * parts + to], or [from * parts + from].
  struct Sender {
    std::uint64_t last = 0;  // epoch
    std::vector<Message> slots;
  };

  Sender& Of(PartId from, PartId to);
  void CheckPart(std::string_view call, PartId part) const;
  static std::string Receiver(PartId from, PartId to);
  std::size_t Capacity(PartId from, PartId to) const;
  void CheckOutbox(PartId from, PartId to, std::uint64_t epoch);
  void CheckPost(PartId from, PartId to, std::size_t bytes, std::uint64_t epoch);
  /// Of a message to `at` alone.
  void CheckReceive(PartId at, PartId from, std::size_t bytes, std::uint64_t epoch);
  void CheckReceive(PartId at, PartId from, PartId to, std::size_t bytes, std::uint64_t epoch);
  void CheckCount(PartId at, PartId from, PartId to, std::size_t bytes, std::uint64_t epoch);

  std::unique_ptr<Transport> inner_;
  const PairBytesTable capacities_;
  const TransportOptions options_;
  const std::size_t parts_;
  std::mutex mutex_;
  std::vector<Sender> senders_;
  bool begins_collectives_ = false;
  std::vector<std::uint64_t> collectives_;  // by device: the epoch after that of its last collective; 0: none
};

}  // namespace chatty
