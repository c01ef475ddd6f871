/// \file
/// A transport decorator that makes broadcasts of messages to each receiver, for transports that have none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "chatty/comm/transport.h"
#include "chatty/core/device.h"

namespace chatty {

/// Forwards all calls for pairs to another transport. A broadcast is packed once, into the outbox for one receiver, copied
/// into the outboxes for the others on the sender's stream, and posted to each. A device either broadcasts in an epoch or
/// posts to pairs.
class PairwiseBroadcasts final : public Transport {
 public:
  /// Decorates `inner`, which joins `devices` with at least the capacities of CapacitiesFor. The devices must outlive it.
  PairwiseBroadcasts(std::unique_ptr<Transport> inner, std::span<Device* const> devices)
      : inner_(std::move(inner)), devices_(devices.begin(), devices.end()) {}
  /// The capacities that `inner` needs: a sender's broadcast has to fit into its buffer for each other device.
  static PairBytesTable CapacitiesFor(PairBytesTable capacities, std::span<const std::size_t> broadcast);

  std::string_view name() const override { return inner_->name(); }
  std::uint32_t slots() const override { return inner_->slots(); }
  std::byte* Outbox(PartId from, PartId to, std::uint64_t epoch) override { return inner_->Outbox(from, to, epoch); }
  void Post(PartId from, PartId to, std::size_t bytes, std::uint64_t epoch) override {
    inner_->Post(from, to, bytes, epoch);
  }
  void BeginCollective(PartId at, std::span<const std::size_t> incoming, std::span<const std::size_t> broadcast,
                       std::uint64_t epoch) override;
  const std::byte* Receive(PartId at, PartId from, std::size_t bytes, std::uint64_t epoch) override {
    return inner_->Receive(at, from, bytes, epoch);
  }
  bool receives_on_streams() const override { return inner_->receives_on_streams(); }
  const std::byte* ReceiveOn(Stream& stream, PartId at, PartId from, std::size_t bytes, std::uint64_t epoch) override {
    return inner_->ReceiveOn(stream, at, from, bytes, epoch);
  }
  bool has_broadcasts() const override { return true; }
  std::byte* BroadcastOutbox(PartId from, std::uint64_t epoch) override;
  void Broadcast(PartId from, std::size_t bytes, std::uint64_t epoch) override;
  const std::byte* ReceiveBroadcast(PartId at, PartId from, std::size_t bytes, std::uint64_t epoch) override {
    return inner_->Receive(at, from, bytes, epoch);
  }
  /// A broadcast is copied, so it is never read where it was packed.
  bool IsZeroCopyReceive(PartId from, PartId to) const override { return from != to && inner_->IsZeroCopyReceive(from, to); }
  void Abort() noexcept override { inner_->Abort(); }
  bool reusable() const override { return inner_->reusable(); }

 private:
  /// The receiver for which a broadcast is packed.
  PartId FirstReceiver(PartId from) const { return from == 0 ? 1 : 0; }

  std::unique_ptr<Transport> inner_;
  std::vector<Device*> devices_;
};

}  // namespace chatty
