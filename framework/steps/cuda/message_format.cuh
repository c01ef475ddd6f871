/// \file
/// What packing and unpacking of message buffers share on a GPU: segments of a buffer, and how a warp reads the vertices and
/// the bits of one. The layout of a buffer is that of both backends (framework/steps/message_layout.h).
#pragma once

#include "chatty/framework/steps/cuda/block.cuh"
#include "chatty/framework/steps/message_layout.h"

namespace chatty::steps::cuda {

namespace detail {

/// Words of a segment of a buffer. A warp issues its loads for all of them together.
inline constexpr unsigned kSegmentWords = kBufferSegment / 32;

/// Entries of a buffer that a thread loads before it uses any of them: as many as it has registers for.
template <class Payload>
inline constexpr unsigned kEntriesInFlight = sizeof(Payload) <= 8    ? 4
                                             : sizeof(Payload) <= 32 ? 2
                                                                     : 1;

/// Writes to `list`, in order and counted from `base`, which entries of `words` words are set: lane k has the kth word. So
/// each lane can then take an entry of the list, however few are set. Returns how many are set. All lanes of a warp call it,
/// and synchronise before they read.
__device__ inline unsigned ListSet(std::uint32_t mine, unsigned words, unsigned base, std::uint16_t* list) {
  unsigned count = 0;
  for (unsigned k = 0; k < words; ++k) {
    const std::uint32_t word = __shfl_sync(kFull, mine, k);
    if (word == 0) continue;
    if ((word >> Lane() & 1) != 0) {
      list[count + __popc(word & ((1u << Lane()) - 1))] = static_cast<std::uint16_t>(base + k * 32 + Lane());
    }
    count += __popc(word);
  }
  return count;
}

/// A segment of a list of vertices, from entry i on; vertices ascend without repeats. Lane k has the kth 32 of them, fewer
/// at the end of the list: the first vertex, and whether the others follow it without a gap, as in borders that hold nearly
/// all vertices. Then their bits are contiguous, too, and need not be read one by one.
struct SegmentRange {
  LocalId first = 0;
  bool whole = true;
  __device__ SegmentRange(const LocalId* vertices, std::size_t i, std::size_t size) {
    const std::size_t begin = i + Lane() * 32;
    if (Lane() >= kSegmentWords || begin >= size) return;
    const auto more = static_cast<LocalId>(size - begin < 32 ? size - begin - 1 : 31);
    first = vertices[begin];
    whole = vertices[begin + more] - first == more;
  }
};
/// All vertices of a segment, word after word, an entry a lane. Past the last of `size` entries, which is not 0: the last.
__device__ inline void LoadSegment(const LocalId* vertices, std::size_t i, std::size_t size, LocalId (&v)[kSegmentWords]) {
#pragma unroll
  for (unsigned k = 0; k < kSegmentWords; ++k) {
    const std::size_t at = i + k * 32 + Lane();
    v[k] = vertices[at < size ? at : size - 1];
  }
}

}  // namespace detail

}  // namespace chatty::steps::cuda
