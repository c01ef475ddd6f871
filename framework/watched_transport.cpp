#include "chatty/framework/watched_transport.h"

#include <algorithm>
#include <new>
#include <utility>

#include "chatty/comm/pairwise_broadcasts.h"
#include "chatty/core/error.h"

namespace chatty {
namespace {

constexpr std::uint64_t kWithin = 1, kPeerShift = 8,
                        kBytesShift = 16;  // bits of the word: within the call, call, peer, bytes

}  // namespace

WatchedTransport::WatchedTransport(std::unique_ptr<Transport> inner, std::span<Device* const> devices)
    : inner_(std::move(inner)), places_(devices.size()) {
  labels_.reserve(devices.size());
  for (const Device* device : devices) labels_.push_back(device->label());
}

std::string WatchedTransport::Words(PartId device, std::uint64_t word) const {
  const auto call = static_cast<Call>((word >> 1) & 0x7f);
  const auto peer = static_cast<PartId>((word >> kPeerShift) & 0xff);
  const std::uint64_t bytes = word >> kBytesShift;
  switch (call) {
    case Call::kPost:
      return fmt::format("{} to send {} bytes to {}", labels_[device], bytes, labels_[peer]);
    case Call::kReceive:
      return fmt::format("{} to receive {} bytes from {}", labels_[device], bytes, labels_[peer]);
    case Call::kCollective:
      return fmt::format("{} to exchange {} bytes with all others", labels_[device], bytes);
    case Call::kBroadcast:
      return fmt::format("{} to send {} bytes to all others", labels_[device], bytes);
    case Call::kReceiveBroadcast:
      return fmt::format("{} to receive the {} bytes that {} sends to all", labels_[device], bytes, labels_[peer]);
    case Call::kNone:
      break;
  }
  return "";
}

template <class Do>
decltype(auto) WatchedTransport::Watch(PartId device, Call call, PartId peer, std::size_t bytes, Do&& act) {
  const std::uint64_t word = static_cast<std::uint64_t>(call) << 1 | std::uint64_t{peer} << kPeerShift |
                             static_cast<std::uint64_t>(bytes) << kBytesShift;
  std::atomic<std::uint64_t>& now = places_[device].now;
  struct Left {
    std::atomic<std::uint64_t>& now;
    const std::uint64_t word;
    ~Left() { now.store(word, std::memory_order_relaxed); }
  };
  now.store(word | kWithin, std::memory_order_relaxed);
  const Left left{now, word};
  try {
    return act();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    Throw<DeviceError>("transport {} failed when asked for {}: {}", name(), Words(device, word), error.what());
  }
}

void WatchedTransport::Post(PartId from, PartId to, std::size_t bytes, std::uint64_t epoch) {
  Watch(from, Call::kPost, to, bytes, [&] { inner_->Post(from, to, bytes, epoch); });
}

void WatchedTransport::BeginCollective(PartId at, std::span<const std::size_t> incoming,
                                       std::span<const std::size_t> broadcast, std::uint64_t epoch) {
  std::size_t bytes = 0;
  for (const std::size_t of_pair : incoming) bytes += of_pair;
  for (const std::size_t of_root : broadcast) bytes += of_root;
  Watch(at, Call::kCollective, at, bytes, [&] { inner_->BeginCollective(at, incoming, broadcast, epoch); });
}

const std::byte* WatchedTransport::Receive(PartId at, PartId from, std::size_t bytes, std::uint64_t epoch) {
  return Watch(at, Call::kReceive, from, bytes, [&] { return inner_->Receive(at, from, bytes, epoch); });
}

const std::byte* WatchedTransport::ReceiveOn(Stream& stream, PartId at, PartId from, std::size_t bytes,
                                             std::uint64_t epoch) {
  return Watch(at, Call::kReceive, from, bytes, [&] { return inner_->ReceiveOn(stream, at, from, bytes, epoch); });
}

void WatchedTransport::Broadcast(PartId from, std::size_t bytes, std::uint64_t epoch) {
  Watch(from, Call::kBroadcast, from, bytes, [&] { inner_->Broadcast(from, bytes, epoch); });
}

const std::byte* WatchedTransport::ReceiveBroadcast(PartId at, PartId from, std::size_t bytes, std::uint64_t epoch) {
  return Watch(at, Call::kReceiveBroadcast, from, bytes, [&] { return inner_->ReceiveBroadcast(at, from, bytes, epoch); });
}

void WatchedTransport::Abort() noexcept {
  if (aborted_.exchange(true)) return;
  for (Place& place : places_) place.at_abort = place.now.load(std::memory_order_relaxed);
  inner_->Abort();
}

void WatchedTransport::Begin() noexcept {
  aborted_ = false;
  for (Place& place : places_) {
    place.now = 0;
    place.at_abort = 0;
  }
}

std::string WatchedTransport::LastOperation() const {
  constexpr std::size_t kMax = 4;  // entries in an error's line
  if (!aborted_) return "";
  const bool within =
      std::any_of(places_.begin(), places_.end(), [](const Place& place) { return (place.at_abort & kWithin) != 0; });
  std::string text;
  std::size_t named = 0;
  for (PartId d = 0; d < places_.size(); ++d) {
    const std::uint64_t word = places_[d].at_abort;
    const std::string words = within && (word & kWithin) == 0 ? "" : Words(d, word);
    if (words.empty()) continue;
    if (++named > kMax) {
      text += " and more";
      break;
    }
    text += named == 1 ? fmt::format("transport {} {} {}", name(), within ? "was asked for" : "was last asked for", words)
                       : ", " + words;
  }
  return within ? text + ", and had not done it" : text;
}

std::unique_ptr<WatchedTransport> OpenTransport(const RunOptions& options, std::string_view name,
                                                std::span<Device* const> devices, const PairBytesTable& capacities,
                                                const TransportOptions& transport) {
  const auto make = [&](const PairBytesTable& of_pairs, const TransportOptions& how) {
    std::unique_ptr<Transport> made = options.transport_factory ? options.transport_factory(devices, of_pairs, how)
                                                                : MakeTransport(name, devices, of_pairs, how);
    if (made == nullptr) throw UsageError("RunOptions::transport_factory made no transport");
    return made;
  };
  std::unique_ptr<Transport> made = make(capacities, transport);
  if (!transport.broadcast.empty() && !made->has_broadcasts()) {
    TransportOptions pairs = transport;
    pairs.broadcast.clear();
    made.reset();  // before the next one allocates
    made = std::make_unique<PairwiseBroadcasts>(
        make(PairwiseBroadcasts::CapacitiesFor(capacities, transport.broadcast), pairs), devices);
  }
  return std::make_unique<WatchedTransport>(std::move(made), devices);
}

}  // namespace chatty
