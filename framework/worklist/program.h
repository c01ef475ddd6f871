/// \file
/// What a program on a distributed worklist is: the type of its items, and the functions that Groute calls its callbacks
/// (Ben-Nun et al., PPoPP'17). They are called on host threads, and in kernels if they are CHATTY_FN.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stop_token>
#include <type_traits>

#include "chatty/comm/symmetric/ring.h"
#include "chatty/core/macros.h"
#include "chatty/core/types.h"
#include "chatty/framework/fused/team.h"

namespace chatty {

/// What Process gets besides its item: the worklists of all devices, as one worker sees them. Engines have types of their
/// own with these members, so Process is a template.
template <class Item>
struct WorklistContext {
  /// Adds an item to this device's worklist.
  CHATTY_FN void Push(const Item& item);
  /// Sends an item to `device`. One for another device goes through OnSend, Pack, Unpack and OnReceive, one for this device
  /// through OnReceive. While the other device's ring is full, the worker takes messages: OnReceive may be called within. On
  /// a GPU, Pack comes later, and so does that wait: a warp sends what its lanes have when all have ended Process.
  CHATTY_FN void Send(std::uint32_t device, const Item& item);
  CHATTY_FN std::uint32_t device() const;   ///< this one's number
  CHATTY_FN std::uint32_t devices() const;  ///< of the run
};

/// Most bytes of a WorklistProgram's Message: what an entry of a ring has beside its own bits and the step.
inline constexpr std::size_t kMaxWorklistMessage = 14;

/// A program on a distributed worklist: work is a set of items, any of which may make others on any device, until there are
/// none. Each device has a copy of the program, whose members say where its data is. Many workers of a device call its
/// functions at once, so they change data by atomic operations (core/atomics.h). For GPUs the functions are CHATTY_FN, and
/// the program is trivially copyable.
///
/// - `Item`: work of a device; `Message`: an item on its way, of at most kMaxWorklistMessage bytes. Both trivially copyable,
///   and made without arguments.
/// - `void Process(const Item&, Context&) const`: does an item's work. Context is as WorklistContext.
/// - `double Priority(const Item&) const`: items of a lower number go first, softly: see WorklistOptions::width. It may
///   depend on the program's data, and is asked again while the item waits.
/// - `bool OnSend(const Item&, std::uint32_t device) const`: on the sender; returns whether the item is to be sent. It may
///   filter, or combine the item with others that wait.
/// - `Message Pack(const Item&) const`: on the sender, once there is room for the message.
/// - `Item Unpack(const Message&) const`: on the receiver.
/// - `bool OnReceive(Item&) const`: on the receiver; applies the item to the device's data, and returns whether it is work.
///   It may change the item to what waits and is processed; a program that does not takes a `const Item&`.
template <class P>
concept WorklistProgram = std::is_trivially_copyable_v<typename P::Item> && std::default_initializable<typename P::Item> &&
                          std::is_trivially_copyable_v<typename P::Message> &&
                          std::default_initializable<typename P::Message> &&
                          sizeof(typename P::Message) <= kMaxWorklistMessage&& std::copy_constructible<P>&& requires(
                                                             const P program, const typename P::Item item,
                                                             typename P::Item received, const typename P::Message message,
                                                             std::uint32_t device,
                                                             WorklistContext<typename P::Item> context) {
  program.Process(item, context);
  { program.Priority(item) } -> std::convertible_to<double>;
  { program.OnSend(item, device) } -> std::same_as<bool>;
  { program.Pack(item) } -> std::same_as<typename P::Message>;
  { program.Unpack(message) } -> std::same_as<typename P::Item>;
  { program.OnReceive(received) } -> std::same_as<bool>;
};

}  // namespace chatty

namespace chatty::worklist {

/// An item's priority. NaN: last.
template <class P>
CHATTY_FN double PriorityOf(const P& program, const typename P::Item& item) {
  const auto priority = static_cast<double>(program.Priority(item));
  return priority == priority ? priority : kInfinity<double>;
}

/// How a device runs.
struct RunTerms {
  double width = 0;                      ///< of priorities
  std::uint32_t list_items = 0;          ///< WorklistOptions::list_items
  std::uint32_t waiting_items = 0;       ///< WorklistOptions::waiting_items
  std::stop_token stop;                  ///< checked after each step
  std::chrono::milliseconds timeout{0};  ///< longest wait for a step of all devices; 0: none
};

/// What a run did on one device.
struct DeviceResult {
  std::uint64_t processed = 0;  ///< items
  std::uint32_t steps = 0;      ///< of the run
  bool stopped = false;         ///< by a stop request, with items left
};

/// A message as an entry of a ring, with the step that it belongs to where fused::TeamRef::IsOf looks for it.
template <class Message>
CHATTY_FN symmetric::RingEntry EntryOf(const Message& message, std::uint64_t step) {
  symmetric::RingEntry entry = {{0, 0}};
  constexpr std::size_t kLow = sizeof(Message) < 8 ? sizeof(Message) : 8;
  memcpy(&entry.words[1], &message, kLow);
  if constexpr (sizeof(Message) > 8) {
    memcpy(&entry.words[0], reinterpret_cast<const unsigned char*>(&message) + 8, sizeof(Message) - 8);
  }
  entry.words[0] |= (step & 3) << (32 + fused::TeamRef::kHopBits);
  return entry;
}

/// The message of an entry.
template <class Message>
CHATTY_FN Message MessageIn(const symmetric::RingEntry& entry) {
  Message message;
  constexpr std::size_t kLow = sizeof(Message) < 8 ? sizeof(Message) : 8;
  memcpy(&message, &entry.words[1], kLow);
  if constexpr (sizeof(Message) > 8) {
    memcpy(reinterpret_cast<unsigned char*>(&message) + 8, &entry.words[0], sizeof(Message) - 8);
  }
  return message;
}

}  // namespace chatty::worklist
