/// \file
/// Packing on CPU threads: messages of halo vertices, and values of border vertices, into message buffers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "chatty/framework/steps/host/group.h"
#include "chatty/framework/steps/message_layout.h"

namespace chatty::steps::host {

namespace detail {

/// Bitmap encoding: bits, and the payloads of those that are set, a segment's together.
template <class Payload, class Bit, class Value>
void PackBitmap(Group& group, std::byte* buffer, std::uint32_t* count, std::size_t size, Bit&& bit, Value&& value) {
  static_assert(kVertexGrain % kBufferSegment == 0);
  auto* const words = reinterpret_cast<std::uint32_t*>(buffer);
  auto* const segments = reinterpret_cast<std::uint32_t*>(buffer + SegmentsOffset(size));
  std::byte* const values = buffer + BitmapValuesOffset(size);
  group.Sweep(size, kVertexGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t from = begin; from < end; from += kBufferSegment) {
      const std::size_t to = std::min(from + kBufferSegment, end);
      std::uint32_t set = 0;
      for (std::size_t w = from / 32; w < bits::Words(to); ++w) {
        std::uint32_t word = 0;
        for (std::size_t i = w * 32; i < std::min(to, w * 32 + 32); ++i) word |= std::uint32_t{bit(i)} << (i & 31);
        words[w] = word;
        set += static_cast<std::uint32_t>(__builtin_popcount(word));
      }
      std::uint32_t position = set == 0 ? 0 : atomics::Add<true>(count, set);
      if constexpr (kWireBytes < Payload >> 0) segments[from / kBufferSegment] = position;
      for (std::size_t w = from / 32; w < bits::Words(to); ++w) {
        for (std::uint32_t word = words[w]; word != 0; word &= word - 1) {
          StorePayload(values, position++, value(w * 32 + static_cast<std::size_t>(__builtin_ctz(word))));
        }
      }
    }
  });
}

/// Dense encoding: a payload for every entry.
template <class Payload, class Value>
void PackDense(Group& group, std::byte* buffer, std::uint32_t* count, std::size_t size, Value&& value) {
  if (group.rank() == 0) *count = static_cast<std::uint32_t>(size);
  group.Sweep(size, kVertexGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) StorePayload(buffer, i, value(i));
  });
}

template <class Payload>
void PackRecord(std::uint32_t* count, std::byte* buffer, std::uint32_t index, const Payload& payload) {
  StoreRecord(buffer, atomics::Add<true>(count, 1u), index, payload);
}

}  // namespace detail

namespace detail {

/// PackMessages, of messages that look like that on the wire.
template <class P, class Payload>
void PackMessagesAs(Group& group, const StateRef<P>& s, const OutboxRef& outbox, bool queued) {
  const bool for_all = outbox.for_all != nullptr;
  const auto take = [&](LocalId h) {
    Payload payload{};
    if constexpr (std::is_same_v<Payload, Slot<MessageOf<P>>>) payload = s.inbox[h];
    ReleaseHalo<P, true>(s, h);
    return payload;
  };
  bool pairs = false;
  ForEachMessageBuffer(
      s, outbox, [&](std::uint32_t buffer_index, std::byte* buffer, LocalId first, LocalId size, Encoding encoding) {
        if (group.rank() == 0) s.control->buffer_encoding[buffer_index] = static_cast<std::uint32_t>(encoding);
        std::uint32_t* const count = &s.control->buffer_count[buffer_index];
        const auto value = [&](std::size_t i) { return take(first + static_cast<LocalId>(i)); };
        if (encoding == Encoding::kSparse) {
          pairs = true;
          return;
        }
        if (encoding == Encoding::kDense) {
          detail::PackDense<Payload>(group, buffer, count, size, value);
        } else {
          detail::PackBitmap<Payload>(
              group, buffer, count, size,
              [&](std::size_t i) { return detail::TestShared(s.touched, first + static_cast<LocalId>(i)); }, value);
        }
        group.sync();
      });
  if (!pairs) return;
  const auto pack = [&](LocalId h) {
    const std::uint32_t owner = s.graph.HaloOwner(h);
    if (for_all) {
      detail::PackRecord(&s.control->buffer_count[s.graph.part], outbox.for_all, h - s.graph.owned, take(h));
    } else if (outbox.buffer[owner] != nullptr && MessageEncoding(s, owner) == Encoding::kSparse) {
      detail::PackRecord(&s.control->buffer_count[owner], outbox.buffer[owner], h - s.graph.halo_begin[owner], take(h));
    }
  };
  const std::size_t halo = s.graph.local - s.graph.owned;
  group.Sweep(queued ? atomics::Load(&s.control->touched_halo_count) : halo, kVertexGrain,
              [&](std::size_t begin, std::size_t end) {
                for (std::size_t i = begin; i < end; ++i) {
                  if (queued) {
                    pack(s.touched_halo[i]);
                  } else if (const auto h = static_cast<LocalId>(s.graph.owned + i); detail::TestShared(s.touched, h)) {
                    pack(h);
                  }
                }
              });
}

}  // namespace detail

template <class P>
void PackMessages(Group& group, const StateRef<P>& s, const OutboxRef& outbox, bool queued) {
  WithMessagePayload(s, [&](auto payload) { detail::PackMessagesAs<P, decltype(payload)>(group, s, outbox, queued); });
}

template <class P>
void PackShared(Group& group, const StateRef<P>& s, const OutboxRef& outbox, const SharedPlan& plan) {
  using Payload = SharedSlot<P>;
  ForEachSharedBuffer(
      s, outbox, plan,
      [&](std::uint32_t buffer_index, std::byte* buffer, const LocalId* vertices, LocalId size, Encoding encoding) {
        std::uint32_t* const count = &s.control->buffer_count[buffer_index];
        if (group.rank() == 0) s.control->buffer_encoding[buffer_index] = static_cast<std::uint32_t>(encoding);
        const auto active = [&](std::size_t i) { return plan.all || bits::Test(s.active, vertices[i]); };
        const auto value = [&](std::size_t i) { return LoadShared(s, vertices[i]); };
        if (encoding == Encoding::kBitmap) {
          detail::PackBitmap<Payload>(group, buffer, count, size, active, value);
        } else if (encoding == Encoding::kDense) {
          detail::PackDense<Payload>(group, buffer, count, size, value);
        } else {
          group.Sweep(size, kVertexGrain, [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
              if (active(i)) detail::PackRecord(count, buffer, static_cast<std::uint32_t>(i), value(i));
            }
          });
        }
        group.sync();
      });
}

}  // namespace chatty::steps::host
