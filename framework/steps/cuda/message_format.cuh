/// \file
/// What packing and unpacking of message buffers share on a GPU: segments of a buffer, and how a warp reads the vertices and
/// the bits of one. The layout of a buffer is that of both backends (message buffers in framework/state.h).
#pragma once

#include "chatty/framework/steps/cuda/block.cuh"
#include "chatty/framework/steps/message_layout.h"

namespace chatty::steps::cuda {

namespace detail {

/// Words of a segment of a buffer: what a warp asks memory for it asks for all of them together.
inline constexpr unsigned kSegmentWords = kBufferSegment / 32;

/// Entries of a buffer that a thread has on their way at once: as many as it has registers for.
template <class Payload>
inline constexpr unsigned kEntriesAtOnce = sizeof(Payload) <= 8    ? 4
                                           : sizeof(Payload) <= 32 ? 2
                                                                   : 1;

/// Writes which places of `words` words are set to `list`, in order and counted from `base`: lane k has the kth word. Lanes
/// that then have an entry of the list each are all at work, however few places are set. Returns how many are. All lanes of
/// a warp call it, and synchronise before they read.
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

/// Of a segment of a list of vertices that ascend without repeats, from place i on, lane k has the kth 32, as far as there
/// are so many: the first one, and whether the others follow it without a gap, as in borders that hold nearly all. Then
/// their bits follow each other, too, and nobody has to look at them one by one.
struct Stretch {
  LocalId first = 0;
  bool whole = true;
  __device__ Stretch(const LocalId* vertices, std::size_t i, std::size_t size) {
    const std::size_t begin = i + Lane() * 32;
    if (Lane() >= kSegmentWords || begin >= size) return;
    const auto more = static_cast<LocalId>(size - begin < 32 ? size - begin - 1 : 31);
    first = vertices[begin];
    whole = vertices[begin + more] - first == more;
  }
};
/// All vertices of a segment, a place a lane, word after word; past the last of `size`, which is not 0, the last.
__device__ inline void LoadSegment(const LocalId* vertices, std::size_t i, std::size_t size, LocalId (&v)[kSegmentWords]) {
#pragma unroll
  for (unsigned k = 0; k < kSegmentWords; ++k) {
    const std::size_t at = i + k * 32 + Lane();
    v[k] = vertices[at < size ? at : size - 1];
  }
}

}  // namespace detail

}  // namespace chatty::steps::cuda
