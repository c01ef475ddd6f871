/// \file
/// Packing on a GPU: messages of halo vertices, and values of border vertices, into message buffers.
#pragma once

#include "chatty/framework/steps/cuda/block.cuh"
#include "chatty/framework/steps/cuda/message_format.cuh"

namespace chatty::steps::cuda {

namespace detail {

/// Puts one record of every lane with `keep` into the lane's buffer, whose index in Control is `buffer_index`. All lanes
/// call it.
template <class Payload>
__device__ void PackRecord(Control* control, std::byte* buffer, std::uint32_t buffer_index, std::uint32_t index,
                           const Payload& payload, bool keep) {
  const unsigned keepers = __ballot_sync(kFull, keep);
  if (keepers == 0) return;
  const unsigned same = __match_any_sync(kFull, keep ? buffer_index : kMaxDevices);
  if (!keep) return;
  const unsigned leader = __ffs(same) - 1;
  unsigned base = 0;
  if (Lane() == leader) base = atomicAdd(&control->buffer_count[buffer_index], __popc(same));
  base = __shfl_sync(same, base, leader);
  StoreRecord(buffer, base + __popc(same & ((1u << Lane()) - 1)), index, payload);
}

/// What a block has of a buffer, to be written line by line: the buffer may be on another device, to which each store that
/// is not a whole line is as long.
struct PackTempStorage {
  static constexpr unsigned kMaxListed = kBlock * 32;
  static_assert(kMaxListed <= 1u << 16, "entries are listed in 16 bits");
  std::uint16_t list[kMaxListed];  ///< entries that are set
  unsigned begin_of[kWarps + 1];   ///< in the list, the entries of each warp; and their number
  unsigned begin;                  ///< in the buffer
};

/// @{
/// Entries of a buffer to pack. Words(i, n): per lane, a 32-bit mask of the entries from i + 32 * lane on; 0 beyond the last
/// entry, and from lane n on. The n words are whole segments. All lanes of a warp call Words. Release(i, word): clears the
/// bits of those of the 32 entries from i on that are set in `word`. Active bits stay.
///
/// Halo vertices from `first` on that have a message.
struct TouchedHalo {
  std::uint32_t* touched;
  LocalId first, size;
  __device__ std::uint32_t Word(std::size_t i) const {
    if (i >= size) return 0;
    const auto h = static_cast<LocalId>(first + i);
    const std::uint32_t* const from = touched + (h >> 5);
    const std::uint32_t next = h % 32 + size - i > 32 ? atomics::Load(from + 1) : 0;
    return __funnelshift_r(atomics::Load(from), next, h & 31) & bits::Mask(0, size - i);
  }
  __device__ std::uint32_t Words(std::size_t i, unsigned words) const { return Lane() < words ? Word(i + Lane() * 32) : 0; }
  __device__ void Release(std::size_t i, std::uint32_t word) const {
    const auto h = static_cast<LocalId>(first + i), shift = h & 31;
    atomics::And<true>(touched + (h >> 5), ~(word << shift));
    if (shift != 0 && word >> (32 - shift) != 0) atomics::And<true>(touched + (h >> 5) + 1, ~(word >> (32 - shift)));
  }
};
/// Border vertices that are active, or all of them.
struct ActiveBorder {
  const std::uint32_t* active;
  const LocalId* vertices;
  LocalId size;
  bool all;
  __device__ std::uint32_t Words(std::size_t i, unsigned words) const {
    std::uint32_t mine = 0;
    for (unsigned w = 0; w < words && i + w * 32 < size; w += kSegmentWords) {
      const std::uint32_t of_segment = Segment(i + w * 32);
      const std::uint32_t word = __shfl_sync(kFull, of_segment, Lane() % kSegmentWords);
      if (Lane() / kSegmentWords == w / kSegmentWords) mine = word;
    }
    return mine;
  }
  /// The words of one segment: the kth lane's the kth, and others none.
  __device__ std::uint32_t Segment(std::size_t i) const {
    const SegmentRange range(vertices, i, size);
    std::uint32_t mine = 0;
    if (!all && __all_sync(kFull, range.whole)) {
      const std::uint32_t* const from = active + range.first / 32;
      const std::size_t begin = i + Lane() * 32;
      if (Lane() < kSegmentWords && begin < size) {
        const std::uint32_t next = range.first % 32 + size - begin > 32 && range.first % 32 != 0 ? from[1] : 0;
        mine = __funnelshift_r(*from, next, range.first & 31) & bits::Mask(0, size - begin);
      }
      return mine;
    }
    LocalId v[kSegmentWords];
    LoadSegment(vertices, i, size, v);
    bool is_set[kSegmentWords];
#pragma unroll
    for (unsigned k = 0; k < kSegmentWords; ++k) is_set[k] = bits::Test(active, v[k]);
#pragma unroll
    for (unsigned k = 0; k < kSegmentWords; ++k) {
      const std::uint32_t word = __ballot_sync(kFull, (all || is_set[k]) && i + k * 32 + Lane() < size);
      if (Lane() == k) mine = word;
    }
    return mine;
  }
  __device__ void Release(std::size_t, std::uint32_t) const {}
};
/// @}

/// Bitmap encoding: bits, and the payloads of the entries that are set. `kSparse`: sparse encoding of the same entries.
/// Warps have up to 32 words each. A block reserves room for all of its entries with one addition: additions to one counter
/// are serial. `entries`: a TouchedHalo or an ActiveBorder. `value(i)` returns the payload of entry i; `done(i)` is called
/// once that has been read.
template <class Payload, bool kSparse = false, class Group, class Entries, class Value, class Done>
__device__ void PackBitmap(const Group& group, PackTempStorage& temp_storage, std::byte* buffer, std::uint32_t* count,
                           const Entries& entries, Value&& value, Done&& done) {
  constexpr bool kPayload = kWireBytes < Payload >> 0;
  static_assert(kPayload || kSparse, "where bits say all, PackBits is quicker");
  constexpr unsigned kInFlight = kEntriesInFlight<Payload>;
  const std::size_t size = entries.size;
  auto* const words = reinterpret_cast<std::uint32_t*>(buffer);
  auto* const segments = reinterpret_cast<std::uint32_t*>(buffer + SegmentsOffset(size));
  // A small buffer is spread over all blocks, fewer words a warp; over a quarter of them where little is set, for additions
  // to the count then take longer than all else.
  const std::size_t blocks = kSparse ? (BlockCount(group) + 3) / 4 : BlockCount(group);
  unsigned lanes = 32;
  while (lanes > kSegmentWords && size <= blocks * kWarps * (lanes / 2) * 32) lanes /= 2;
  const std::size_t chunk = std::size_t{kWarps} * lanes * 32;
  for (std::size_t base = BlockRank(group) * chunk; base < size; base += BlockCount(group) * chunk) {
    const std::size_t first = base + std::size_t{Warp()} * lanes * 32, entry = first + Lane() * 32;
    const std::uint32_t mine = first < size ? entries.Words(first, lanes) : 0;
    if (mine != 0) entries.Release(entry, mine);
    const auto set = static_cast<unsigned>(__popc(mine));
    const unsigned in_warp = __reduce_add_sync(kFull, set);
    if (Lane() == 0) temp_storage.begin_of[Warp() + 1] = in_warp;
    __syncthreads();
    if (threadIdx.x == 0) {
      temp_storage.begin_of[0] = 0;
      for (unsigned w = 0; w < kWarps; ++w) temp_storage.begin_of[w + 1] += temp_storage.begin_of[w];
      const unsigned in_block = temp_storage.begin_of[kWarps];
      temp_storage.begin = in_block == 0 ? 0 : atomicAdd(count, in_block);
    }
    __syncthreads();
    const unsigned in_list = temp_storage.begin_of[Warp()];
    ListSet(mine, lanes, Warp() * lanes * 32, temp_storage.list + in_list);
    if constexpr (!kSparse) {
      const unsigned before = in_list + InclusiveSumOfWarp(set) - set;
      if (Lane() < lanes && entry < size) {
        words[entry / 32] = mine;
        if (Lane() % kSegmentWords == 0) segments[entry / kBufferSegment] = temp_storage.begin + before;
      }
    }
    __syncthreads();
    std::byte* const values = kSparse ? buffer : buffer + BitmapValuesOffset(size);
    const unsigned begin = temp_storage.begin, listed = temp_storage.begin_of[kWarps];
    for (unsigned from = threadIdx.x; from < listed; from += kInFlight * kBlock) {
      std::uint32_t index[kInFlight];
      Payload payload[kInFlight];
#pragma unroll
      for (unsigned k = 0; k < kInFlight; ++k) {
        if (from + k * kBlock >= listed) continue;
        index[k] = static_cast<std::uint32_t>(base) + temp_storage.list[from + k * kBlock];
        payload[k] = value(index[k]);
      }
#pragma unroll
      for (unsigned k = 0; k < kInFlight; ++k) {
        const unsigned at = from + k * kBlock;
        if (at >= listed) continue;
        done(index[k]);
        if constexpr (kSparse) {
          StoreRecord(values, begin + at, index[k], payload[k]);
        } else {
          StorePayload(values, begin + at, payload[k]);
        }
      }
    }
    __syncthreads();  // before the temp_storage is used again
  }
}

/// Bitmap encoding where bits say all: a thread has a word at a time.
template <class Group>
__device__ void PackBits(const Group& group, std::byte* buffer, std::uint32_t* count, const TouchedHalo& entries) {
  const std::size_t stride = std::size_t{BlockCount(group)} * kBlock;
  std::uint32_t set = 0;
  for (std::size_t w = std::size_t{BlockRank(group)} * kBlock + threadIdx.x; w < bits::Words(entries.size); w += stride) {
    const std::uint32_t word = entries.Word(w * 32);
    reinterpret_cast<std::uint32_t*>(buffer)[w] = word;
    if (word != 0) entries.Release(w * 32, word);
    set += static_cast<std::uint32_t>(__popc(word));
  }
  AddFromBlock(count, set);
}
/// Or a warp has a segment.
template <class Group>
__device__ void PackBits(const Group& group, std::byte* buffer, std::uint32_t* count, const ActiveBorder& entries) {
  const std::size_t all = bits::Words(entries.size), warps = std::size_t{BlockCount(group)} * kWarps;
  std::uint32_t set = 0;
  for (std::size_t first = (std::size_t{BlockRank(group)} * kWarps + Warp()) * kSegmentWords; first < all;
       first += warps * kSegmentWords) {
    const std::uint32_t mine = entries.Segment(first * 32);
    if (Lane() < kSegmentWords && first + Lane() < all) reinterpret_cast<std::uint32_t*>(buffer)[first + Lane()] = mine;
    set += static_cast<std::uint32_t>(__popc(mine));
  }
  AddFromBlock(count, set);
}

/// Dense encoding: a payload for every entry. `value` and `done`: as of PackBitmap.
template <class Payload, class Group, class Value, class Done>
__device__ void PackDense(const Group& group, std::byte* buffer, std::uint32_t* count, std::size_t size, Value&& value,
                          Done&& done) {
  constexpr unsigned kInFlight = kEntriesInFlight<Payload>;
  if (BlockRank(group) == 0 && threadIdx.x == 0) *count = static_cast<std::uint32_t>(size);
  const std::size_t stride = std::size_t{BlockCount(group)} * kBlock;
  for (std::size_t from = std::size_t{BlockRank(group)} * kBlock + threadIdx.x; from < size; from += kInFlight * stride) {
    Payload payload[kInFlight];
#pragma unroll
    for (unsigned k = 0; k < kInFlight; ++k) {
      const std::size_t i = from + k * stride;
      if (i < size) payload[k] = value(static_cast<std::uint32_t>(i));
    }
#pragma unroll
    for (unsigned k = 0; k < kInFlight; ++k) {
      const std::size_t i = from + k * stride;
      if (i >= size) continue;
      done(static_cast<std::uint32_t>(i));
      StorePayload(buffer, i, payload[k]);
    }
  }
}

/// The last block of a grid that has packed writes the buffers' headers: for_each(write) calls write(index in Control,
/// buffer, its entries) for each buffer. All threads call it.
template <class Group, class ForEachBuffer>
__device__ void WriteHeaders(const Group& group, Control* control, std::size_t payload, ForEachBuffer&& for_each) {
  if (!IsLastBlock(group, &control->packed)) return;
  for_each([&](std::uint32_t buffer_index, std::byte* buffer, std::size_t size) {
    if (threadIdx.x == buffer_index) WriteHeader(buffer, size, payload, *control, buffer_index);
  });
}

/// PackMessages, of messages that look like that on the wire.
template <class P, class Payload, class Group>
__device__ void PackMessagesAs(const Group& group, const StateRef<P>& s, const OutboxRef& outbox, bool queued,
                               PackTempStorage& temp_storage) {
  const bool for_all = outbox.for_all != nullptr;
  const auto touched = [&](LocalId h) { return ((atomics::Load(s.touched + (h >> 5)) >> (h & 31)) & 1) != 0; };
  constexpr bool kKept = std::is_same_v<Payload, Slot<MessageOf<P>>>;
  const auto look = [&]([[maybe_unused]] LocalId h) {
    if constexpr (kKept) {
      return Payload{s.inbox[h]};
    } else {
      return Payload{};
    }
  };
  const auto empty = [&]([[maybe_unused]] LocalId h) {
    if constexpr (kKept) EmptyHalo<P>(s, h);
  };
  const auto clear = [&](LocalId h) { atomics::And<true>(s.touched + (h >> 5), ~(1u << (h & 31))); };
  // Warps that take from a queue wait for each other at the buffers' counters, some 12 ns each. A sweep over the bitmap is
  // at memory's rate, and its blocks count as one.
  constexpr std::size_t kFew = 512;
  const std::size_t in_queue = queued ? atomics::Load(&s.control->touched_halo_count) : 0;
  const bool few = queued && in_queue < (s.graph.local - s.graph.owned) / kFew + kBlock;
  bool pairs = false;
  ForEachMessageBuffer(
      s, outbox, [&](std::uint32_t buffer_index, std::byte* buffer, LocalId first, LocalId size, Encoding encoding) {
        std::uint32_t* const count = &s.control->buffer_count[buffer_index];
        if (BlockRank(group) == 0 && threadIdx.x == 0)
          s.control->buffer_encoding[buffer_index] = static_cast<std::uint32_t>(encoding);
        const TouchedHalo entries{s.touched, first, size};
        const auto value = [&](std::uint32_t i) { return look(first + LocalId{i}); };
        const auto done = [&](std::uint32_t i) { empty(first + LocalId{i}); };
        if (encoding == Encoding::kDense) {
          detail::PackDense<Payload>(group, buffer, count, size, value, [&](std::uint32_t i) {
            clear(first + LocalId{i});
            done(i);
          });
        } else if (encoding == Encoding::kSparse) {
          pairs = true;
          if (!few) detail::PackBitmap<Payload, /*kSparse=*/true>(group, temp_storage, buffer, count, entries, value, done);
        } else if constexpr (kWireBytes < Payload >> 0) {
          detail::PackBitmap<Payload>(group, temp_storage, buffer, count, entries, value, done);
        } else {
          detail::PackBits(group, buffer, count, entries);
        }
      });
  if (!pairs || !few) return;
  for (std::size_t base = std::size_t{BlockRank(group)} * kBlock; base < in_queue;
       base += std::size_t{BlockCount(group)} * kBlock) {
    const std::size_t i = base + threadIdx.x;
    LocalId h = kNoLocal;
    if (i < in_queue) h = s.touched_halo[i];
    Payload payload{};
    std::uint32_t buffer_index = 0;
    bool keep = false;
    if (h != kNoLocal) {
      const std::uint32_t owner = s.graph.HaloOwner(h);
      buffer_index = for_all ? s.graph.part : owner;
      keep = (for_all || (outbox.buffer[owner] != nullptr && MessageEncoding(s, owner) == Encoding::kSparse)) && touched(h);
      if (keep) {
        clear(h);
        payload = look(h);
        empty(h);
      }
    }
    const LocalId first = for_all ? s.graph.owned : s.graph.halo_begin[buffer_index];
    detail::PackRecord(s.control, for_all ? outbox.for_all : outbox.buffer[buffer_index], buffer_index, keep ? h - first : 0,
                       payload, keep);
  }
}

}  // namespace detail

/// Packs the combined messages of touched halo vertices for their owners, each owner's in the encoding that is shortest, and
/// releases them: a buffer an owner, or one for all, numbered as the halo. Messages for owners without a buffer stay.
template <class P, class Group>
__device__ void PackMessages(const Group& group, const StateRef<P>& s, const OutboxRef& outbox, bool queued) {
  __shared__ detail::PackTempStorage temp_storage;
  WithMessagePayload(
      s, [&](auto payload) { detail::PackMessagesAs<P, decltype(payload)>(group, s, outbox, queued, temp_storage); });
  if (!outbox.has_header) return;
  detail::WriteHeaders(group, s.control, MessageWireBytes(s), [&](auto&& write) {
    ForEachMessageBuffer(s, outbox, [&](std::uint32_t buffer_index, std::byte* buffer, LocalId, LocalId size, Encoding) {
      write(buffer_index, buffer, size);
    });
  });
}

/// Packs the shared values of active border vertices for those who hold them in their halo. The caller chooses the forms.
template <class P, class Group>
__device__ void PackShared(const Group& group, const StateRef<P>& s, const OutboxRef& outbox, const SharedPlan& plan) {
  using Payload = SharedSlot<P>;
  __shared__ detail::PackTempStorage temp_storage;
  ForEachSharedBuffer(
      s, outbox, plan,
      [&](std::uint32_t buffer_index, std::byte* buffer, const LocalId* vertices, LocalId size, Encoding encoding) {
        std::uint32_t* const count = &s.control->buffer_count[buffer_index];
        if (BlockRank(group) == 0 && threadIdx.x == 0)
          s.control->buffer_encoding[buffer_index] = static_cast<std::uint32_t>(encoding);
        const detail::ActiveBorder entries{s.active, vertices, size, plan.all};
        const auto value = [&](std::size_t i) { return LoadShared(s, vertices[i]); };
        const auto done = [](std::uint32_t) {};
        if (encoding == Encoding::kBitmap) {
          if constexpr (kWireBytes < Payload >> 0) {
            return detail::PackBitmap<Payload>(group, temp_storage, buffer, count, entries, value, done);
          } else {
            return detail::PackBits(group, buffer, count, entries);
          }
        }
        if (encoding == Encoding::kDense) return detail::PackDense<Payload>(group, buffer, count, size, value, done);
        detail::PackBitmap<Payload, /*kSparse=*/true>(group, temp_storage, buffer, count, entries, value, done);
      });
  if (!outbox.has_header) return;
  detail::WriteHeaders(group, s.control, kWireBytes<Payload>, [&](auto&& write) {
    ForEachSharedBuffer(s, outbox, plan,
                        [&](std::uint32_t buffer_index, std::byte* buffer, const LocalId*, LocalId size, Encoding) {
                          write(buffer_index, buffer, size);
                        });
  });
}
}  // namespace chatty::steps::cuda
