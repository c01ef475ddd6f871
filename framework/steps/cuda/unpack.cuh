/// \file
/// Unpacking on a GPU: the entries of a message buffer, into inboxes or into values of the halo.
#pragma once

#include "chatty/framework/steps/cuda/block.cuh"
#include "chatty/framework/steps/cuda/message_format.cuh"

namespace chatty::steps::cuda {

namespace detail {

/// A buffer with the values of its header. One thread of the block reads the header for all: it may be in another device's
/// memory.
__device__ inline InboxRef OpenBuffer(const InboxRef& closed, std::size_t payload) {
  if (!closed.has_header) return closed;
  __shared__ std::uint32_t count;
  __shared__ Encoding encoding;
  if (threadIdx.x == 0) {
    const InboxRef open = ReadHeader(closed, payload);
    count = open.count;
    encoding = open.encoding;
  }
  __syncthreads();
  InboxRef inbox = closed;
  inbox.count = count;
  inbox.encoding = encoding;
  return inbox;
}

/// Some entries of a buffer, asked for together: each lane of a warp has as many.
template <class Payload, unsigned kEntries>
struct EntryBatch {
  static constexpr unsigned kCount = kEntries;
  bool present[kEntries];  ///< or there is none, and the payload means nothing
  std::uint32_t index[kEntries];
  Payload payload[kEntries];
};

/// @{
/// Call body(batch) for the entries of a buffer that are this device's, indexes counted from inbox.first. All lanes of a
/// warp call it together.
///
/// Of a buffer of pairs.
template <class Payload, class Group, class Body>
__device__ void ForEachPair(const Group& group, const InboxRef& inbox, Body&& body) {
  EntryBatch<Payload, kEntriesInFlight<Payload>> batch;
  constexpr unsigned kInFlight = batch.kCount;
  const std::size_t stride = std::size_t{BlockCount(group)} * kBlock;
  for (std::size_t base = std::size_t{BlockRank(group)} * kBlock; base < inbox.count; base += kInFlight * stride) {
#pragma unroll
    for (unsigned k = 0; k < kInFlight; ++k) {
      const std::size_t i = base + k * stride + threadIdx.x;
      std::uint32_t index = inbox.last;
      batch.payload[k] = Payload{};
      if (i < inbox.count) index = LoadRecord(inbox.buffer, static_cast<std::uint32_t>(i), &batch.payload[k]);
      batch.present[k] = index >= inbox.first && index < inbox.last;
      batch.index[k] = index - inbox.first;
    }
    body(batch);
  }
}
/// Of another, a lane an index: the nth entries of a warp's batches have indexes that follow each other.
template <class Payload, class Group, class Body>
__device__ void ForEachIndex(const Group& group, const InboxRef& inbox, Body&& body) {
  constexpr unsigned kInFlight = sizeof(Payload) <= 8 ? kSegmentWords : 2;
  EntryBatch<Payload, kInFlight> batch;
  const auto* const words = reinterpret_cast<const std::uint32_t*>(inbox.buffer);
  const auto* const segments = reinterpret_cast<const std::uint32_t*>(inbox.buffer + SegmentsOffset(inbox.size));
  const std::size_t begin = inbox.first / kBufferSegment, end = (inbox.last + kBufferSegment - 1) / kBufferSegment;
  const std::size_t warps = std::size_t{BlockCount(group)} * kWarps;
  for (std::size_t segment = begin + std::size_t{BlockRank(group)} * kWarps + Warp(); segment < end; segment += warps) {
    const std::size_t first = segment * kBufferSegment;
    unsigned set = kFull, position = 0;
    if (inbox.encoding == Encoding::kBitmap) {
      const std::size_t w = first / 32 + Lane();
      set = Lane() < kSegmentWords && w * 32 < inbox.size ? words[w] : 0;
      if constexpr (kWireBytes < Payload >> 0) position = segments[segment];
    }
#pragma unroll
    for (unsigned from = 0; from < kSegmentWords; from += kInFlight) {
#pragma unroll
      for (unsigned k = 0; k < kInFlight; ++k) {
        const std::size_t i = first + (from + k) * 32 + Lane();
        const unsigned word = __shfl_sync(kFull, set, from + k);
        batch.present[k] = i >= inbox.first && i < inbox.last && ((word >> Lane()) & 1) != 0;
        batch.index[k] = static_cast<std::uint32_t>(i - inbox.first);
        batch.payload[k] = Payload{};
        if (batch.present[k]) {
          const std::size_t at = inbox.encoding == Encoding::kBitmap ? position + __popc(word & ((1u << Lane()) - 1)) : i;
          LoadPayload(inbox.buffer + (inbox.encoding == Encoding::kBitmap ? BitmapValuesOffset(inbox.size) : 0), at,
                      &batch.payload[k]);
        }
        position += __popc(word);
      }
      body(batch);
    }
  }
}
/// Of another, a lane an entry, for bodies that have lanes wait: where few entries are set, no more of them do than it
/// takes. `lists`: shared memory of the block.
template <class Payload, class Group, class Body>
__device__ void ForEachSet(const Group& group, const InboxRef& inbox, std::uint16_t (&lists)[kWarps][kBufferSegment],
                           Body&& body) {
  EntryBatch<Payload, kEntriesInFlight<Payload>> batch;
  constexpr unsigned kInFlight = batch.kCount;
  const bool bitmap = inbox.encoding == Encoding::kBitmap;
  const auto* const words = reinterpret_cast<const std::uint32_t*>(inbox.buffer);
  const auto* const segments = reinterpret_cast<const std::uint32_t*>(inbox.buffer + SegmentsOffset(inbox.size));
  const std::byte* const values = inbox.buffer + (bitmap ? BitmapValuesOffset(inbox.size) : 0);
  std::uint16_t* const list = lists[Warp()];
  const std::size_t begin = inbox.first / kBufferSegment, end = (inbox.last + kBufferSegment - 1) / kBufferSegment;
  const std::size_t warps = std::size_t{BlockCount(group)} * kWarps;
  for (std::size_t segment = begin + std::size_t{BlockRank(group)} * kWarps + Warp(); segment < end; segment += warps) {
    const std::size_t first = segment * kBufferSegment;
    std::size_t position = first;
    unsigned set = inbox.last - first < kBufferSegment ? static_cast<unsigned>(inbox.last - first) : kBufferSegment;
    if (bitmap) {
      const std::size_t w = first / 32 + Lane();
      const std::uint32_t mine = Lane() < kSegmentWords && w * 32 < inbox.size ? words[w] : 0;
      if constexpr (kWireBytes < Payload >> 0) position = segments[segment];
      __syncwarp();  // all have read the list of the segment before
      set = ListSet(mine, kSegmentWords, 0, list);
      __syncwarp();
    }
    for (unsigned from = 0; from < set; from += kInFlight * 32) {
#pragma unroll
      for (unsigned k = 0; k < kInFlight; ++k) {
        const unsigned at = from + k * 32 + Lane();
        const std::size_t i = first + (at >= set ? 0 : bitmap ? list[at] : at);
        batch.present[k] = at < set && i >= inbox.first && i < inbox.last;
        batch.index[k] = static_cast<std::uint32_t>(i - inbox.first);
        batch.payload[k] = Payload{};
        if (batch.present[k]) LoadPayload(values, position + at, &batch.payload[k]);
      }
      body(batch);
    }
  }
}
/// @}

}  // namespace detail

namespace detail {

/// UnpackMessages, of messages that look like that on the wire.
template <class P, class Payload, class Group>
__device__ void UnpackMessagesAs(const Group& group, const StateRef<P>& s, const InboxRef& inbox, std::uint32_t peer,
                                 bool queue_out, std::uint16_t (&lists)[kWarps][kBufferSegment]) {
  const LocalId* const vertices = s.border.vertices + s.border.begin[peer];
  const auto take_in = [&](const auto& batch) {
    constexpr unsigned kCount = std::decay_t<decltype(batch)>::kCount;
    LocalId v[kCount];
    bool accepted[kCount];
#pragma unroll
    for (unsigned k = 0; k < kCount; ++k) v[k] = batch.present[k] ? vertices[batch.index[k]] : 0;
#pragma unroll
    for (unsigned k = 0; k < kCount; ++k) {
      accepted[k] = batch.present[k] && PassesFilter(s, v[k], MessageIn<P>(batch.payload[k]));
    }
    unsigned first[kCount], all = 0;
#pragma unroll
    for (unsigned k = 0; k < kCount; ++k) {
      const bool mine =
          accepted[k] && DeliverAccepted<P, true>(s, v[k], MessageIn<P>(batch.payload[k]), queue_out) == Delivery::kFirst;
      first[k] = __ballot_sync(kFull, mine);
      all += __popc(first[k]);
    }
    if (!queue_out || all == 0) return;
    unsigned at = 0;
    if (Lane() == 0) at = atomics::Add<true>(&s.control->touched_count, all);
    at = __shfl_sync(kFull, at, 0);
#pragma unroll
    for (unsigned k = 0; k < kCount; ++k) {
      if ((first[k] >> Lane() & 1) != 0) s.touched_queue[at + __popc(first[k] & ((1u << Lane()) - 1))] = v[k];
      at += __popc(first[k]);
    }
  };
  if (inbox.encoding == Encoding::kSparse) return detail::ForEachPair<Payload>(group, inbox, take_in);
  detail::ForEachSet<Payload>(group, inbox, lists, take_in);
}

}  // namespace detail

namespace detail {

/// Sets bit v of every lane with `present`, whose v ascend: one atomic for those of each of the first two words, which are
/// all where vertices are dense. All lanes call it.
__device__ inline void SetAscending(std::uint32_t* words, LocalId v, bool present) {
  unsigned rest = __ballot_sync(kFull, present);
  for (unsigned turn = 0; turn < 2 && rest != 0; ++turn) {
    const unsigned leader = __ffs(rest) - 1;
    const std::uint32_t at = __shfl_sync(kFull, v >> 5, leader);
    const bool mine = present && v >> 5 == at;
    const unsigned all = __reduce_or_sync(kFull, mine ? 1u << (v & 31) : 0);
    if (Lane() == leader) atomics::Or<true>(words + at, all);
    rest &= ~__ballot_sync(kFull, mine);
  }
  if ((rest >> Lane() & 1) != 0) atomics::Or<true>(words + (v >> 5), 1u << (v & 31));
}

/// Where bits say all, and nobody is to be queued: sets bit vertices[i] of `to` for each entry i that is set in a buffer.
/// Warps have a segment each, and look up the vertices of its entries together, where they are not consecutive. kClears: the
/// buffer's words become zero.
template <bool kClears = false, class Group>
__device__ void ScatterBits(const Group& group, const InboxRef& inbox, const LocalId* vertices, std::uint32_t* to) {
  const auto* const words = reinterpret_cast<const std::uint32_t*>(inbox.buffer);
  const std::size_t begin = inbox.first / kBufferSegment, end = (inbox.last + kBufferSegment - 1) / kBufferSegment;
  const std::size_t warps = std::size_t{BlockCount(group)} * kWarps;
  for (std::size_t segment = begin + std::size_t{BlockRank(group)} * kWarps + Warp(); segment < end; segment += warps) {
    const std::size_t w = segment * kSegmentWords + Lane();
    std::uint32_t mine = 0;
    if (Lane() < kSegmentWords && w * 32 < inbox.last) {
      mine = words[w] & bits::Mask(w, inbox.last) & ~bits::Mask(w, inbox.first);
      if constexpr (kClears) {
        if (mine != 0) const_cast<std::uint32_t*>(words)[w] = 0;
      }
    }
    if (!__any_sync(kFull, mine != 0)) continue;
    if (segment * kBufferSegment < inbox.first) {  // the list begins within the segment, once a buffer
      for (unsigned k = 0; k < kSegmentWords; ++k) {
        const std::size_t i = segment * kBufferSegment + k * 32 + Lane();
        if ((__shfl_sync(kFull, mine, k) >> Lane() & 1) == 0) continue;
        const LocalId v = vertices[i - inbox.first];
        atomics::Or<true>(to + (v >> 5), 1u << (v & 31));
      }
      continue;
    }
    const std::size_t i = segment * kBufferSegment - inbox.first, size = inbox.last - inbox.first;
    const SegmentRange range(vertices, i, size);
    if (range.whole && mine != 0) {
      std::uint32_t* const at = to + range.first / 32;
      const unsigned shift = range.first & 31;
      if (mine << shift != 0) atomics::Or<true>(at, mine << shift);
      if (shift != 0 && mine >> (32 - shift) != 0) atomics::Or<true>(at + 1, mine >> (32 - shift));
    }
    const unsigned apart = __ballot_sync(kFull, !range.whole && mine != 0);
    if (apart == 0) continue;
    LocalId v[kSegmentWords];
    LoadSegment(vertices, i, size, v);
#pragma unroll
    for (unsigned k = 0; k < kSegmentWords; ++k) {
      const std::uint32_t word = __shfl_sync(kFull, mine, k);
      if ((apart >> k & 1) != 0) SetAscending(to, v[k], (word >> Lane() & 1) != 0);
    }
  }
}

}  // namespace detail

/// Takes in one peer's messages, as if its edges had been ours.
template <class P, class Group>
__device__ void UnpackMessages(const Group& group, const StateRef<P>& s, const InboxRef& buffer, std::uint32_t peer,
                               bool queue_out) {
  __shared__ std::uint16_t lists[kWarps][kBufferSegment];
  const InboxRef inbox = detail::OpenBuffer(buffer, MessageWireBytes(s));
  if constexpr (Traits<P>::kHasRoundMessage) {
    // Bits alone: nobody is asked or queued, and there are no entries to look at one by one.
    if (!queue_out && inbox.encoding == Encoding::kBitmap && !KeepsMessages(s)) {
      return detail::ScatterBits(group, inbox, s.border.vertices + s.border.begin[peer], s.touched);
    }
  }
  WithMessagePayload(
      s, [&](auto payload) { detail::UnpackMessagesAs<P, decltype(payload)>(group, s, inbox, peer, queue_out, lists); });
}

namespace detail {

/// The bits of a buffer become those of `to` from bit `first` on, which are clear. A thread has a word of `to` at a time.
template <class Group>
__device__ void JoinBits(const Group& group, const InboxRef& inbox, std::uint32_t* to, LocalId first) {
  const auto* const words = reinterpret_cast<const std::uint32_t*>(inbox.buffer);
  const std::size_t size = inbox.last, all = bits::Words(size), end = first + size, base = first / 32;
  const auto word = [&](std::size_t w) { return w < all ? words[w] & bits::Mask(w, size) : 0; };
  const std::size_t stride = std::size_t{BlockCount(group)} * kBlock;
  for (std::size_t k = std::size_t{BlockRank(group)} * kBlock + threadIdx.x; base + k < bits::Words(end); k += stride) {
    const std::uint32_t bits = __funnelshift_l(k == 0 ? 0 : word(k - 1), word(k), first & 31);
    const std::size_t w = base + k;
    if (w * 32 >= first && w * 32 + 32 <= end) {
      to[w] = bits;
    } else if (bits != 0) {  // others' are in it
      atomics::Or<true>(to + w, bits);
    }
  }
}

}  // namespace detail

/// Takes in one peer's shared values. The halo's active bits have been cleared. `to_halo`: where entries of the peer's
/// border_union are in this device's halo, or null for entries of this device's subset.
template <class P, class Group>
__device__ void UnpackShared(const Group& group, const StateRef<P>& s, const InboxRef& buffer, std::uint32_t peer,
                             const LocalId* to_halo) {
  using Payload = SharedSlot<P>;
  const InboxRef inbox = detail::OpenBuffer(buffer, kWireBytes<Payload>);
  const LocalId halo = s.graph.halo_begin[peer];
  const bool in_order = to_halo == nullptr && inbox.encoding != Encoding::kSparse && inbox.first == 0;
  if constexpr (kWireBytes<Payload> == 0) {
    if (in_order && inbox.encoding == Encoding::kBitmap) return detail::JoinBits(group, inbox, s.active, halo);
  }
  const auto take_in = [&](const auto& batch) {
#pragma unroll
    for (unsigned k = 0; k < std::decay_t<decltype(batch)>::kCount; ++k) {
      if (!in_order) {
        if (batch.present[k]) ReceiveShared<P, true>(s, peer, batch.index[k], to_halo, batch.payload[k]);
        continue;
      }
      if (batch.present[k]) StoreShared(s, halo + batch.index[k], batch.payload[k]);
      const unsigned word = __ballot_sync(kFull, batch.present[k]);  // their bits, of two words
      const LocalId begin = halo + batch.index[k] - Lane(), shift = begin & 31;
      if (Lane() == 0 && word << shift != 0) atomics::Or<true>(s.active + (begin >> 5), word << shift);
      if (Lane() == 1 && shift != 0 && word >> (32 - shift) != 0) {
        atomics::Or<true>(s.active + (begin >> 5) + 1, word >> (32 - shift));
      }
    }
  };
  if (inbox.encoding == Encoding::kSparse) return detail::ForEachPair<Payload>(group, inbox, take_in);
  detail::ForEachIndex<Payload>(group, inbox, take_in);
}
}  // namespace chatty::steps::cuda
