#include "chatty/comm/checked_transport.h"

#include <fmt/format.h>

#include <utility>

#include "chatty/core/error.h"

namespace chatty {

CheckedTransport::CheckedTransport(std::unique_ptr<Transport> inner, PairBytesTable capacities, TransportOptions options)
    : inner_(std::move(inner)),
      capacities_(std::move(capacities)),
      options_(std::move(options)),
      parts_(capacities_.size()),
      senders_(parts_ * parts_),
      collectives_(parts_, 0) {
  const std::uint32_t slots = inner_->slots();
  CHATTY_CHECK(slots >= kMinTransportSlots && slots <= kMaxSlots, "transport {} has {} slots", name(), slots);
  for (Sender& sender : senders_) sender.slots.resize(slots);
}

CheckedTransport::Sender& CheckedTransport::Of(PartId from, PartId to) { return senders_[from * parts_ + to]; }

void CheckedTransport::CheckPart(std::string_view call, PartId part) const {
  CHATTY_CHECK(part < parts_, "transport {}: {} names device {}, and there are {}", name(), call, part, parts_);
}

std::string CheckedTransport::Receiver(PartId from, PartId to) {
  return from == to ? std::string("all") : fmt::format("device {}", to);
}

std::size_t CheckedTransport::Capacity(PartId from, PartId to) const {
  if (from != to) return capacities_[from][to];
  return from < options_.broadcast.size() ? options_.broadcast[from] : 0;
}

void CheckedTransport::CheckOutbox(PartId from, PartId to, std::uint64_t epoch) {
  Sender& sender = Of(from, to);
  Message& message = sender.slots[SlotOf(epoch, slots())];
  if (epoch < sender.last || (message.posted && message.epoch == epoch)) {  // another run
    for (Message& any : sender.slots) any = Message{};
  }
  sender.last = epoch;
  CHATTY_CHECK(
      !message.posted || message.awaited == 0,
      "transport {}: device {} writes the slot of epoch {} to {} in epoch {}, and {} of its receivers have not asked "
      "for it",
      name(), from, message.epoch, Receiver(from, to), epoch, message.awaited);
  if (message.epoch != epoch) message = Message{};
  message.epoch = epoch;
  message.packed = true;
}

void CheckedTransport::CheckPost(PartId from, PartId to, std::size_t bytes, std::uint64_t epoch) {
  Message& message = Of(from, to).slots[SlotOf(epoch, slots())];
  CHATTY_CHECK(bytes <= Capacity(from, to), "transport {}: device {} posts {} bytes to {} in epoch {}; the capacity is {}",
               name(), from, bytes, Receiver(from, to), epoch, Capacity(from, to));
  if (bytes == 0) return;  // no message
  CHATTY_CHECK(message.packed && message.epoch == epoch,
               "transport {}: device {} posts {} bytes to {} in epoch {}, and has not asked where to pack them", name(),
               from, bytes, Receiver(from, to), epoch);
  CHATTY_CHECK(!message.posted, "transport {}: device {} posts twice to {} in epoch {}", name(), from, Receiver(from, to),
               epoch);
  message.bytes = bytes;
  message.posted = true;
  message.awaited = from == to ? parts_ - 1 : 1;
  message.received.assign(parts_, false);
}

void CheckedTransport::CheckReceive(PartId at, PartId from, PartId to, std::size_t bytes, std::uint64_t epoch) {
  if (bytes == 0) return;
  Message& message = Of(from, to).slots[SlotOf(epoch, slots())];
  CHATTY_CHECK(at != from, "transport {}: device {} receives from itself", name(), at);
  CHATTY_CHECK(message.posted && message.epoch == epoch,
               "transport {}: device {} receives {} bytes from {} in epoch {}, which were not posted", name(), at, bytes,
               from, epoch);
  CHATTY_CHECK(message.bytes == bytes || IsZeroCopyReceive(from, to),
               "transport {}: device {} receives {} bytes from {} in epoch {}, and {} were posted", name(), at, bytes, from,
               epoch, message.bytes);
  CHATTY_CHECK(!begins_collectives_ || collectives_[at] == epoch + 1,
               "transport {}: device {} receives from {} in epoch {} before its BeginCollective", name(), at, from, epoch);
  if (message.received[at]) return;
  message.received[at] = true;
  message.awaited -= 1;
}

void CheckedTransport::CheckCount(PartId at, PartId from, PartId to, std::size_t bytes, std::uint64_t epoch) {
  if (IsZeroCopyReceive(from, to)) return;
  const Message& message = Of(from, to).slots[SlotOf(epoch, slots())];
  const std::size_t posted = message.posted && message.epoch == epoch ? message.bytes : 0;
  CHATTY_CHECK(bytes == posted,
               "transport {}: BeginCollective of device {} in epoch {} states {} bytes from {}; {} were posted", name(), at,
               epoch, bytes, from, posted);
}

std::byte* CheckedTransport::Outbox(PartId from, PartId to, std::uint64_t epoch) {
  {
    const std::lock_guard lock(mutex_);
    CheckPart("Outbox", from);
    CheckPart("Outbox", to);
    CHATTY_CHECK(from != to, "transport {}: device {} packs for itself", name(), from);
    CheckOutbox(from, to, epoch);
  }
  return inner_->Outbox(from, to, epoch);
}

void CheckedTransport::Post(PartId from, PartId to, std::size_t bytes, std::uint64_t epoch) {
  {
    const std::lock_guard lock(mutex_);
    CheckPart("Post", from);
    CheckPart("Post", to);
    CHATTY_CHECK(from != to, "transport {}: device {} posts to itself", name(), from);
    CheckPost(from, to, bytes, epoch);
  }
  inner_->Post(from, to, bytes, epoch);
}

void CheckedTransport::BeginCollective(PartId at, std::span<const std::size_t> incoming,
                                       std::span<const std::size_t> broadcast, std::uint64_t epoch) {
  {
    const std::lock_guard lock(mutex_);
    CheckPart("BeginCollective", at);
    CHATTY_CHECK(options_.collectives, "transport {}: BeginCollective, and it was made without collectives", name());
    CHATTY_CHECK(incoming.size() == parts_ && (broadcast.empty() || broadcast.size() == parts_),
                 "transport {}: BeginCollective with counts of {} and {} devices, and there are {}", name(), incoming.size(),
                 broadcast.size(), parts_);
    for (PartId from = 0; from < parts_; ++from) {
      if (from != at) CheckCount(at, from, at, incoming[from], epoch);
      if (!broadcast.empty()) CheckCount(at, from, from, broadcast[from], epoch);
    }
    begins_collectives_ = true;
    collectives_[at] = epoch + 1;
  }
  inner_->BeginCollective(at, incoming, broadcast, epoch);
}

void CheckedTransport::CheckReceive(PartId at, PartId from, std::size_t bytes, std::uint64_t epoch) {
  const std::lock_guard lock(mutex_);
  CheckPart("Receive", at);
  CheckPart("Receive", from);
  CheckReceive(at, from, at, bytes, epoch);
}

const std::byte* CheckedTransport::Receive(PartId at, PartId from, std::size_t bytes, std::uint64_t epoch) {
  CheckReceive(at, from, bytes, epoch);
  return inner_->Receive(at, from, bytes, epoch);
}

const std::byte* CheckedTransport::ReceiveOn(Stream& stream, PartId at, PartId from, std::size_t bytes,
                                             std::uint64_t epoch) {
  CheckReceive(at, from, bytes, epoch);
  return inner_->ReceiveOn(stream, at, from, bytes, epoch);
}

std::byte* CheckedTransport::BroadcastOutbox(PartId from, std::uint64_t epoch) {
  {
    const std::lock_guard lock(mutex_);
    CheckPart("BroadcastOutbox", from);
    CheckOutbox(from, from, epoch);
  }
  return inner_->BroadcastOutbox(from, epoch);
}

void CheckedTransport::Broadcast(PartId from, std::size_t bytes, std::uint64_t epoch) {
  {
    const std::lock_guard lock(mutex_);
    CheckPart("Broadcast", from);
    CheckPost(from, from, bytes, epoch);
  }
  inner_->Broadcast(from, bytes, epoch);
}

const std::byte* CheckedTransport::ReceiveBroadcast(PartId at, PartId from, std::size_t bytes, std::uint64_t epoch) {
  {
    const std::lock_guard lock(mutex_);
    CheckPart("ReceiveBroadcast", at);
    CheckPart("ReceiveBroadcast", from);
    CheckReceive(at, from, from, bytes, epoch);
  }
  return inner_->ReceiveBroadcast(at, from, bytes, epoch);
}

}  // namespace chatty
