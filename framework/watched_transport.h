/// \file
/// A transport decorator that records each device's last call. After a failure, the error text states where every device
/// was.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chatty/comm/transport.h"
#include "chatty/core/device.h"
#include "chatty/framework/options.h"

namespace chatty {

/// Forwards all calls to another transport. Exceptions that are not Errors of this library become a DeviceError with the
/// transport, the pair and the bytes; Errors contain these already.
class WatchedTransport final : public Transport {
 public:
  /// Decorates `inner`, which connects `devices`.
  WatchedTransport(std::unique_ptr<Transport> inner, std::span<Device* const> devices);

  std::string_view name() const override { return inner_->name(); }
  std::uint32_t slots() const override { return inner_->slots(); }
  bool has_broadcasts() const override { return inner_->has_broadcasts(); }
  std::byte* Outbox(PartId from, PartId to, std::uint64_t epoch) override { return inner_->Outbox(from, to, epoch); }
  void Post(PartId from, PartId to, std::size_t bytes, std::uint64_t epoch) override;
  void BeginCollective(PartId at, std::span<const std::size_t> incoming, std::span<const std::size_t> broadcast,
                       std::uint64_t epoch) override;
  const std::byte* Receive(PartId at, PartId from, std::size_t bytes, std::uint64_t epoch) override;
  bool receives_on_streams() const override { return inner_->receives_on_streams(); }
  const std::byte* ReceiveOn(Stream& stream, PartId at, PartId from, std::size_t bytes, std::uint64_t epoch) override;
  std::byte* BroadcastOutbox(PartId from, std::uint64_t epoch) override { return inner_->BroadcastOutbox(from, epoch); }
  void Broadcast(PartId from, std::size_t bytes, std::uint64_t epoch) override;
  const std::byte* ReceiveBroadcast(PartId at, PartId from, std::size_t bytes, std::uint64_t epoch) override;
  /// Aborts the inner transport. The first call since Begin records the devices' calls.
  void Abort() noexcept override;
  bool IsZeroCopyReceive(PartId from, PartId to) const override { return inner_->IsZeroCopyReceive(from, to); }
  bool reusable() const override { return inner_->reusable(); }

  /// Starts a run. Not during another one.
  void Begin() noexcept;
  /// The devices' calls when the run was aborted: calls in progress, with pair and bytes; if there were none, each device's
  /// last call. Empty if the transport was not aborted or never used.
  std::string LastOperation() const;

 private:
  enum class Call : std::uint8_t { kNone, kPost, kCollective, kReceive, kBroadcast, kReceiveBroadcast };
  /// One device's last call, in one word, so that other threads can read it at any time.
  struct alignas(64) Place {
    std::atomic<std::uint64_t> now{0};
    std::uint64_t at_abort = 0;
  };
  template <class Do>
  decltype(auto) Watch(PartId device, Call call, PartId peer, std::size_t bytes, Do&& act);
  std::string Words(PartId device, std::uint64_t word) const;

  std::unique_ptr<Transport> inner_;
  std::vector<std::string> labels_;
  std::vector<Place> places_;
  std::atomic<bool> aborted_{false};
};

/// The transport `name`, or the one of the options' factory, as a WatchedTransport. Throws the errors of MakeTransport or of
/// the factory.
std::unique_ptr<WatchedTransport> OpenTransport(const RunOptions& options, std::string_view name,
                                                std::span<Device* const> devices, const PairBytesTable& capacities,
                                                const TransportOptions& transport);

}  // namespace chatty
