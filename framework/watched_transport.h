/// \file
/// The transport of a run as its engine sees it: one that remembers what each device asked of it, so that a failure can say
/// who was where.
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

/// Passes everything on to another transport. What that one throws and what is no Error of this library, it throws as a
/// DeviceError that names the transport, the pair and the bytes; Errors do so by themselves.
class WatchedTransport final : public Transport {
 public:
  /// Between `devices`.
  WatchedTransport(std::unique_ptr<Transport> inner, std::span<Device* const> devices);

  std::string_view name() const override { return inner_->name(); }
  std::byte* Outbox(PartId from, PartId to, std::uint64_t epoch) override { return inner_->Outbox(from, to, epoch); }
  void Post(PartId from, PartId to, std::size_t bytes, std::uint64_t epoch) override;
  void BeginCollective(PartId at, std::span<const std::size_t> incoming, std::span<const std::size_t> broadcast,
                       std::uint64_t epoch) override;
  const std::byte* Receive(PartId at, PartId from, std::size_t bytes, std::uint64_t epoch) override;
  std::byte* BroadcastOutbox(PartId from, std::uint64_t epoch) override { return inner_->BroadcastOutbox(from, epoch); }
  void Broadcast(PartId from, std::size_t bytes, std::uint64_t epoch) override;
  const std::byte* ReceiveBroadcast(PartId at, PartId from, std::size_t bytes, std::uint64_t epoch) override;
  /// The first call since Begin remembers who is where, and is passed on.
  void Abort() noexcept override;
  bool SupportsRemoteAtomics(PartId from, PartId to) const override { return inner_->SupportsRemoteAtomics(from, to); }
  bool IsZeroCopyReceive(PartId from, PartId to) const override { return inner_->IsZeroCopyReceive(from, to); }
  bool reusable() const override { return inner_->reusable(); }

  /// A run begins. Not while another goes on.
  void Begin() noexcept;
  /// What devices were at when the run was aborted: those that were within a call, with pair and bytes, or, if none was,
  /// what each asked for last. Empty if the transport was not aborted, or never used.
  std::string LastOperation() const;

 private:
  enum class Call : std::uint8_t { kNone, kPost, kMeet, kReceive, kBroadcast, kReceiveBroadcast };
  /// One device's last call, in one word, so that others may read it at any time.
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

/// The transport `name`, or the one that the options' factory makes in its place, watched. Throws what MakeTransport throws,
/// or what the factory does.
std::unique_ptr<WatchedTransport> OpenTransport(const RunOptions& options, std::string_view name,
                                                std::span<Device* const> devices, const PairBytesTable& capacities,
                                                const TransportOptions& transport);

}  // namespace chatty
