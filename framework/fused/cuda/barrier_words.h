/// \file
/// The words of barriers of a grid's blocks (grid_barrier.cuh), each on a cache line of its own, and what they carry.
#pragma once

#include <cstdint>

#include "chatty/core/macros.h"

namespace chatty::fused::cuda {

/// What one block adds to the word of a barrier, or what all have added. Additions are of the whole word, so the difference
/// of two words is what has been added between, whatever was there before.
struct BlockSums {
  static constexpr unsigned kBlockBits = 8;                           ///< of arrivals, and of blocks that spill
  static constexpr unsigned kVertexBits = 21;                         ///< of `vertices`
  static constexpr unsigned kEdgeBits = 24;                           ///< of `edges`
  static constexpr unsigned kMaxBlocks = (1u << kBlockBits) - 1;      ///< of a grid
  static constexpr unsigned kEdgeUnit = 16;                           ///< edges of a unit of ToUnits
  static constexpr unsigned kUnitError = kMaxBlocks * kEdgeUnit / 2;  ///< edges that all blocks' units miss at most
  std::uint32_t vertices = 0;                                         ///< of all blocks, fewer than 2^21
  std::uint32_t edges = 0;                                            ///< of all blocks, fewer than 2^24: edges, or units
  bool spills = false;                                                ///< a block has put items into the list of all
  bool stop = false;                                                  ///< by one block

  /// The nearest number of units, for counts whose sum over all blocks may be 2^24 or more.
  CHATTY_FN static constexpr std::uint32_t ToUnits(std::uint32_t edges) { return (edges + kEdgeUnit / 2) / kEdgeUnit; }

  CHATTY_FN constexpr unsigned long long Pack() const {
    return 1ull | std::uint64_t{spills} << kBlockBits | std::uint64_t{vertices} << (2 * kBlockBits) |
           std::uint64_t{edges} << (2 * kBlockBits + kVertexBits) |
           std::uint64_t{stop} << (2 * kBlockBits + kVertexBits + kEdgeBits);
  }
  CHATTY_FN static constexpr BlockSums Of(unsigned long long word) {
    BlockSums sums;
    sums.spills = (word >> kBlockBits & kMaxBlocks) != 0;
    sums.vertices = static_cast<std::uint32_t>(word >> (2 * kBlockBits)) & ((1u << kVertexBits) - 1);
    sums.edges = static_cast<std::uint32_t>(word >> (2 * kBlockBits + kVertexBits)) & ((1u << kEdgeBits) - 1);
    sums.stop = (word >> (2 * kBlockBits + kVertexBits + kEdgeBits) & 1) != 0;
    return sums;
  }
  CHATTY_FN static constexpr unsigned Arrived(unsigned long long word) { return static_cast<unsigned>(word) & kMaxBlocks; }
};
static_assert(2 * BlockSums::kBlockBits + BlockSums::kVertexBits + BlockSums::kEdgeBits + 1 <= 64);

/// The words of a GridBarrier, in a GPU's memory: zero at first.
struct GridBarrierWords {
  struct alignas(128) Word {
    unsigned long long sums = 0;
  };
  Word words[3];
};

/// The words of a PlainGridBarrier, in a GPU's memory: zero at first. They only grow.
struct PlainBarrierWords {
  static constexpr unsigned kWords = 16;
  struct alignas(128) Word {
    unsigned long long arrived = 0;
  };
  Word words[kWords];
};

}  // namespace chatty::fused::cuda
