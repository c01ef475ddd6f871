/// \file
/// The bookkeeping of a channel: a fixed number of slots between one sender and one receiver, with credits and headers.
/// Where the payload of a slot lies is the caller's: a transport has as many buffers.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "chatty/core/error.h"

namespace chatty {

/// Most slots of a channel.
inline constexpr std::uint32_t kMaxSlots = 8;

/// The slot of message `number` in a channel with `slots` slots: messages take the slots in turn.
constexpr std::size_t SlotOf(std::uint64_t number, std::uint32_t slots) { return static_cast<std::size_t>(number % slots); }

/// A credit-based channel of `slots` slots for one sending thread and one receiving thread, which may change between runs.
/// Messages have the numbers 0, 1, ..., and message i is in slot i % slots. A credit is a slot that the sender may write.
/// The sender has all credits at first, spends one with each message, and gets them back in the order of the messages.
///
/// A message's way: the sender calls Acquire, writes the slot's payload and calls Commit with a header. The receiver calls
/// Poll, reads header and payload, and calls Release. Neither end ever waits in a call.
///
/// Memory order, by two counters, each written by one thread alone:
/// - `committed_`: Commit stores with release, Poll loads with acquire. So the receiver sees the header and the payload.
/// - `released_`: Release stores and HasCredit loads, sequentially consistent. This contains release and acquire, so the
///   sender overwrites a slot only after the receiver has read it. The rest is for a sender that sleeps without credit: it
///   stores a mark and then calls HasCredit, while the receiver calls Release and then loads the mark. With sequential
///   consistency for the mark as well, one of the two sees the other's store.
template <class Header>
class MessageChannel {
 public:
  /// A message that has arrived.
  struct Message {
    std::uint64_t number;  ///< counted from 0
    Header header;         ///< a copy
  };

  /// Throws InternalError unless `slots` is 1 to kMaxSlots.
  explicit MessageChannel(std::uint32_t slots) : slots_(slots) {
    CHATTY_CHECK(slots >= 1 && slots <= kMaxSlots, "a channel with {} slots; 1 to {} are possible", slots, kMaxSlots);
  }
  MessageChannel(const MessageChannel&) = delete;
  MessageChannel& operator=(const MessageChannel&) = delete;

  std::uint32_t slots() const { return slots_; }  ///< fixed at construction

  /// @{
  /// For the sender's thread.
  ///
  /// Whether a slot is free.
  bool HasCredit() const { return InFlight() < slots_; }
  /// The number of the next message, if its slot is free. Until Commit, repeated calls return the same number, so a sender
  /// with nothing to send need not commit.
  std::optional<std::uint64_t> Acquire() const {
    if (!HasCredit()) return std::nullopt;
    return committed_.load(std::memory_order_relaxed);
  }
  /// Sends the message that Acquire has numbered. What the thread has written before is visible to the receiver after Poll.
  void Commit(const Header& header) {
    const std::uint64_t number = committed_.load(std::memory_order_relaxed);
    headers_[SlotOf(number, slots_)] = header;
    committed_.store(number + 1, std::memory_order_release);
  }
  /// Messages that were committed and not released.
  std::uint64_t InFlight() const { return committed_.load(std::memory_order_relaxed) - released_.load(); }
  /// @}

  /// @{
  /// For the receiver's thread.
  ///
  /// Whether Poll would return a message.
  bool HasMessage() const { return committed_.load(std::memory_order_acquire) != polled_; }
  /// The next message, if it has arrived. Its slot stays the receiver's until Release; further calls return later messages.
  std::optional<Message> Poll() {
    if (!HasMessage()) return std::nullopt;
    const std::uint64_t number = polled_++;
    return Message{number, headers_[SlotOf(number, slots_)]};
  }
  /// Messages that were polled and not released.
  std::uint64_t Unreleased() const { return polled_ - released_.load(std::memory_order_relaxed); }
  /// Gives the sender the slots of all polled messages back. The thread must have read their payloads.
  void Release() { released_.store(polled_); }
  /// @}

 private:
  const std::uint32_t slots_;
  std::array<Header, kMaxSlots> headers_{};              // written by the sender before Commit's store
  alignas(64) std::atomic<std::uint64_t> committed_{0};  // written by the sender
  alignas(64) std::atomic<std::uint64_t> released_{0};   // written by the receiver
  std::uint64_t polled_ = 0;                             // the receiver's own
};

}  // namespace chatty
