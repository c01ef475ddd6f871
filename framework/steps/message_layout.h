/// \file
/// The layout of message buffers (framework/state.h), the same for both backends: payloads and records in words, the buffers
/// that a device packs, the encoding of each, and headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "chatty/framework/steps/vertex_ops.h"

namespace chatty::steps {

/// Words of a payload on the wire: none for an empty message or value, whose arrival suffices.
template <class Payload>
inline constexpr int kWireWords = static_cast<int>(kWireBytes<Payload> / 4);

/// Consecutive words in a buffer whose records or payloads begin at a multiple of 16 bytes. The alignment allows the fewest
/// accesses for their number: scattered words of a GPU's lanes would cross a link one by one.
template <int kWords>
struct alignas(kWords % 4 == 0   ? 16
               : kWords % 2 == 0 ? 8
                                 : 4) WireRecord {
  std::uint32_t words[kWords];
};

/// Writes payload `i` of the array `values`.
template <class Payload>
CHATTY_FN void StorePayload(std::byte* values, std::size_t i, const Payload& payload) {
  if constexpr (kWireWords<Payload> == 1) {  // compilers merge words for several i, but not structs
    std::uint32_t word;
    memcpy(&word, &payload, sizeof(word));
    reinterpret_cast<std::uint32_t*>(values)[i] = word;
  } else if constexpr (kWireWords < Payload >> 1) {
    WireRecord<kWireWords<Payload>> record;
    memcpy(record.words, &payload, sizeof(record.words));
    reinterpret_cast<WireRecord<kWireWords<Payload>>*>(values)[i] = record;
  }
}
template <class Payload>
CHATTY_FN void LoadPayload(const std::byte* values, std::size_t i, Payload* payload) {
  if constexpr (kWireWords < Payload >> 0) {
    const auto record = reinterpret_cast<const WireRecord<kWireWords<Payload>>*>(values)[i];
    memcpy(payload, record.words, sizeof(record.words));
  }
}

/// Writes record `i` of a sparse buffer: the index, and the words of the payload.
template <class Payload>
CHATTY_FN void StoreRecord(std::byte* buffer, std::uint32_t i, std::uint32_t index, const Payload& payload) {
  WireRecord<1 + kWireWords<Payload>> record;
  record.words[0] = index;
  if constexpr (kWireWords < Payload >> 0) memcpy(record.words + 1, &payload, kWireBytes<Payload>);
  reinterpret_cast<WireRecord<1 + kWireWords<Payload>>*>(buffer)[i] = record;
}
template <class Payload>
CHATTY_FN std::uint32_t LoadRecord(const std::byte* buffer, std::uint32_t i, Payload* payload) {
  const auto record = reinterpret_cast<const WireRecord<1 + kWireWords<Payload>>*>(buffer)[i];
  if constexpr (kWireWords < Payload >> 0) memcpy(payload, record.words + 1, kWireBytes<Payload>);
  return record.words[0];
}

/// Bytes of a message on the wire.
template <class P>
CHATTY_FN std::size_t MessageWireBytes(const StateRef<P>& s) {
  return KeepsMessages(s) ? kWireBytes<Slot<MessageOf<P>>> : 0;
}
/// Calls body(Payload) with the wire type of messages.
template <class P, class Body>
CHATTY_FN void WithMessagePayload(const StateRef<P>& s, Body&& body) {
  if constexpr (Traits<P>::kHasRoundMessage) {
    if (!KeepsMessages(s)) return body(Slot<None>{});
  }
  body(Slot<MessageOf<P>>{});
}
/// The message of a payload, or an empty one if its arrival suffices.
template <class P, class Payload>
CHATTY_FN MessageOf<P> MessageIn(const Payload& payload) {
  if constexpr (std::is_same_v<Payload, Slot<MessageOf<P>>>) {
    return payload.message;
  } else {
    return MessageOf<P>{};
  }
}

/// The encoding of a message buffer for `owner`: the shortest for its count.
template <class P>
CHATTY_FN Encoding MessageEncoding(const StateRef<P>& s, std::uint32_t owner) {
  return ShortestEncoding(s.graph.halo_begin[owner + 1] - s.graph.halo_begin[owner],
                          atomics::Load(&s.control->halo_count[owner]), MessageWireBytes(s));
}

/// Whether messages for `owner` are to be packed now.
CHATTY_FN bool PacksFor(const OutboxRef& outbox, std::uint32_t owner) {
  return outbox.for_all != nullptr || outbox.buffer[owner] != nullptr;
}

/// Calls visit(index in Control, buffer, first halo vertex, entries, encoding) for each buffer of messages to pack.
template <class P, class Visit>
CHATTY_FN void ForEachMessageBuffer(const StateRef<P>& s, const OutboxRef& outbox, Visit&& visit) {
  if (outbox.for_all != nullptr) {
    const LocalId halo = s.graph.local - s.graph.owned;
    std::size_t count = 0;
    for (std::uint32_t owner = 0; owner < s.graph.parts; ++owner) count += atomics::Load(&s.control->halo_count[owner]);
    visit(s.graph.part, outbox.for_all, s.graph.owned, halo, ShortestEncoding(halo, count, MessageWireBytes(s)));
    return;
  }
  for (std::uint32_t owner = 0; owner < s.graph.parts; ++owner) {
    const LocalId first = s.graph.halo_begin[owner], size = s.graph.halo_begin[owner + 1] - first;
    if (size > 0 && PacksFor(outbox, owner)) visit(owner, outbox.buffer[owner], first, size, MessageEncoding(s, owner));
  }
}

/// Calls visit(index in Control, buffer, its vertices, entries, encoding) for each buffer of shared values to pack.
template <class P, class Visit>
CHATTY_FN void ForEachSharedBuffer(const StateRef<P>& s, const OutboxRef& outbox, const SharedPlan& plan, Visit&& visit) {
  if (outbox.for_all != nullptr) {
    visit(s.graph.part, outbox.for_all, plan.union_vertices, plan.union_size, plan.encoding[s.graph.part]);
    return;
  }
  for (std::uint32_t peer = 0; peer < s.graph.parts; ++peer) {
    const LocalId first = s.border.begin[peer], size = s.border.begin[peer + 1] - first;
    if (size > 0) visit(peer, outbox.buffer[peer], s.border.vertices + first, size, plan.encoding[peer]);
  }
}

/// Writes the header of a packed buffer of `size` entries from the counters.
CHATTY_FN void WriteHeader(std::byte* buffer, std::size_t size, std::size_t payload, const Control& control,
                           std::uint32_t buffer_index) {
  *reinterpret_cast<BufferHeader*>(buffer + HeaderOffset(size, payload)) = {
      atomics::Load(&control.buffer_count[buffer_index]),
      static_cast<Encoding>(atomics::Load(&control.buffer_encoding[buffer_index]))};
}
/// An inbox with its header's values, if any.
CHATTY_FN InboxRef ReadHeader(InboxRef inbox, std::size_t payload) {
  if (!inbox.has_header) return inbox;
  const BufferHeader header = *reinterpret_cast<const BufferHeader*>(inbox.buffer + HeaderOffset(inbox.size, payload));
  inbox.encoding = header.encoding;
  inbox.count = header.count;
  return inbox;
}

}  // namespace chatty::steps
