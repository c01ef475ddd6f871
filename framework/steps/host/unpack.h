/// \file
/// Unpacking on CPU threads: the entries of a message buffer, into inboxes or into values of the halo.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "chatty/framework/steps/host/group.h"
#include "chatty/framework/steps/message_layout.h"

namespace chatty::steps::host {

namespace detail {

/// Calls body(index, payload) for the entries of a buffer that are this device's, `index` counted from inbox.first.
template <class Payload, class Body>
void ForEachEntry(Group& group, const InboxRef& inbox, Body&& body) {
  if (inbox.encoding == Encoding::kSparse) {
    group.Sweep(inbox.count, kVertexGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        Payload payload{};
        const std::uint32_t index = LoadRecord(inbox.buffer, static_cast<std::uint32_t>(i), &payload);
        if (index >= inbox.first && index < inbox.last) body(index - inbox.first, payload);
      }
    });
    return;
  }
  const auto* const words = reinterpret_cast<const std::uint32_t*>(inbox.buffer);
  const auto* const segments = reinterpret_cast<const std::uint32_t*>(inbox.buffer + SegmentsOffset(inbox.size));
  const std::byte* const values = inbox.buffer + BitmapValuesOffset(inbox.size);
  const std::size_t aligned = inbox.first / kBufferSegment * kBufferSegment;
  group.Sweep(inbox.last - aligned, kVertexGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t from = aligned + begin; from < aligned + end; from += kBufferSegment) {
      const std::size_t to = std::min(from + kBufferSegment, aligned + end);
      Payload payload{};
      if (inbox.encoding == Encoding::kDense) {
        for (std::size_t i = std::max<std::size_t>(from, inbox.first); i < to; ++i) {
          LoadPayload(inbox.buffer, i, &payload);
          body(static_cast<std::uint32_t>(i - inbox.first), payload);
        }
        continue;
      }
      std::uint32_t position = 0;
      if constexpr (kWireBytes < Payload >> 0) position = segments[from / kBufferSegment];
      for (std::size_t w = from / 32; w < bits::Words(to); ++w) {
        for (std::uint32_t word = words[w]; word != 0; word &= word - 1, ++position) {
          const std::size_t i = w * 32 + static_cast<std::size_t>(__builtin_ctz(word));
          if (i < inbox.first || i >= inbox.last) continue;
          LoadPayload(values, position, &payload);
          body(static_cast<std::uint32_t>(i - inbox.first), payload);
        }
      }
    }
  });
}

}  // namespace detail

template <class P>
void UnpackMessages(Group& group, const StateRef<P>& s, const InboxRef& inbox, std::uint32_t peer, bool queue_out) {
  const LocalId* const vertices = s.border.vertices + s.border.begin[peer];
  WithMessagePayload(s, [&](auto looks_like) {
    using Payload = decltype(looks_like);
    detail::ByConcurrency(group, [&](auto concurrent) {
      detail::Appender<LocalId> queue(s.touched_queue, &s.control->touched_count, group.size() > 1);
      detail::ForEachEntry<Payload>(group, inbox, [&](std::uint32_t index, const Payload& payload) {
        const LocalId v = vertices[index];
        const Delivery delivery = Deliver<P, decltype(concurrent)::value>(s, v, MessageIn<P>(payload), queue_out);
        if (queue_out && delivery == Delivery::kFirst) queue.Push(v);
      });
    });
  });
}

template <class P>
void UnpackShared(Group& group, const StateRef<P>& s, const InboxRef& inbox, std::uint32_t peer, const LocalId* to_halo) {
  using Payload = SharedSlot<P>;
  detail::ForEachEntry<Payload>(group, inbox, [&](std::uint32_t index, const Payload& payload) {
    ReceiveShared<P, true>(s, peer, index, to_halo, payload);
  });
}

}  // namespace chatty::steps::host
