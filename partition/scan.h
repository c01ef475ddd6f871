/// \file
/// What building subgraphs shares: the sizes of chunks, parallel prefix sums and maxima, and sets of vertices.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "chatty/core/array.h"
#include "chatty/core/parallel.h"
#include "chatty/core/types.h"

namespace chatty::detail {

// Chunks are large compared with the cost of a parallel region (about twenty regions per part), and small compared with a
// hub's row.
inline constexpr std::size_t kEdgeGrain = std::size_t{1} << 16;
inline constexpr std::size_t kVertexGrain = std::size_t{1} << 15;

/// Chunk size for passes with data for each chunk: several chunks per thread, so that one slow chunk does not delay the
/// others.
inline std::size_t CoarseGrain(std::size_t n, int threads, std::size_t least) {
  return std::max(least, n / (static_cast<std::size_t>(threads) * 8) + 1);
}

/// Exclusive prefix sums, and the largest value.
struct Scan {
  Array<EdgeIndex> sums;  ///< n + 1 entries
  EdgeIndex largest = 0;
};

/// The largest of value(i), i below n; 0 without any.
template <class Value>
EdgeIndex Largest(std::size_t n, int threads, Value&& value) {
  std::atomic<EdgeIndex> largest{0};
  ParallelChunks(n, threads, CoarseGrain(n, threads, kVertexGrain), [&](std::size_t begin, std::size_t end) {
    EdgeIndex mine = 0;
    for (std::size_t i = begin; i < end; ++i) mine = std::max(mine, EdgeIndex{value(i)});
    EdgeIndex seen = largest.load(std::memory_order_relaxed);
    while (seen < mine && !largest.compare_exchange_weak(seen, mine, std::memory_order_relaxed)) {
    }
  });
  return largest.load();
}

/// The sums of value(j) over j < i, for each i from 0 to n.
template <class Value>
Scan ExclusiveScan(std::size_t n, int threads, Value&& value) {
  struct ChunkTotal {
    EdgeIndex sum = 0, largest = 0;
  };
  const std::size_t grain = CoarseGrain(n, threads, kVertexGrain);
  std::vector<ChunkTotal> totals((n + grain - 1) / grain);
  ParallelChunks(totals.size(), threads, 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t c = first; c < last; ++c) {
      ChunkTotal total;
      for (std::size_t i = c * grain, end = std::min(n, i + grain); i < end; ++i) {
        const EdgeIndex x = value(i);
        total.sum += x;
        total.largest = std::max(total.largest, x);
      }
      totals[c] = total;
    }
  });
  Scan scan{Array<EdgeIndex>(n + 1), 0};
  EdgeIndex sum = 0;
  for (ChunkTotal& total : totals) {
    scan.largest = std::max(scan.largest, total.largest);
    sum += std::exchange(total.sum, sum);
  }
  scan.sums[n] = sum;
  ParallelChunks(totals.size(), threads, 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t c = first; c < last; ++c) {
      EdgeIndex next = totals[c].sum;
      for (std::size_t i = c * grain, end = std::min(n, i + grain); i < end; ++i) {
        scan.sums[i] = next;
        next += value(i);
      }
    }
  });
  return scan;
}

/// A set of small integers with concurrent insertion. Iteration is in ascending order.
class MarkSet {
 public:
  /// Empty, for integers below `size`.
  explicit MarkSet(std::size_t size, int threads) : words_((size + 63) / 64) { Clear(words_.size() * 64, threads); }

  /// Inserts i; concurrent with other insertions.
  void Add(std::size_t i) {
    std::atomic_ref<std::uint64_t> word(words_[i / 64]);
    const std::uint64_t bit = std::uint64_t{1} << (i % 64);
    // Most insertions are repeats. The load first keeps the cache line shared among cores.
    if ((word.load(std::memory_order_relaxed) & bit) == 0) word.fetch_or(bit, std::memory_order_relaxed);
  }

  /// Sets all members in word w. Not concurrent with other calls for this word.
  void Set(std::size_t w, std::uint64_t members) { words_[w] = members; }
  /// Number of words for the integers below `size`.
  static std::size_t Words(std::size_t size) { return (size + 63) / 64; }
  std::uint64_t word(std::size_t w) const { return words_[w]; }  ///< a bit for each member of word w

  /// Calls body(i) for every member of words [begin, end), ascending.
  template <class Body>
  void ForEach(std::size_t begin, std::size_t end, Body&& body) const {
    for (std::size_t w = begin; w < end; ++w) {
      for (std::uint64_t bits = words_[w]; bits != 0; bits &= bits - 1) {
        body(w * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
      }
    }
  }

  /// Removes the members below `size`.
  void Clear(std::size_t size, int threads) {
    ParallelChunks(Words(size), threads, 1 << 16,
                   [&](std::size_t begin, std::size_t end) { std::fill(words_.begin() + begin, words_.begin() + end, 0); });
  }

 private:
  Array<std::uint64_t> words_;
};

}  // namespace chatty::detail
