/// \file
/// Frontiers as lists of a thread each, for rounds that are parts of one job of a team.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <span>
#include <vector>

#include "chatty/core/types.h"

namespace chatty::steps::host {

/// A list of vertices a member, twice: while the next round's are filled, the last one's are taken from, by their owners
/// first and then by whoever has nothing left. Whoever fills a list touches vertices whose lines it has in its cache, and is
/// the first to visit them.
class MemberLists {
 public:
  explicit MemberLists(int members) : lists_{std::vector<List>(members), std::vector<List>(members)} {}

  /// What member `rank` has found.
  std::vector<LocalId>& of(std::size_t which, std::size_t rank) { return lists_[which][rank].vertices; }
  /// Empties it, once nobody takes from it any more.
  std::vector<LocalId>& Clear(std::size_t which, std::size_t rank) {
    List& list = lists_[which][rank];
    list.vertices.clear();
    list.taken.store(0, std::memory_order_relaxed);
    return list.vertices;
  }
  /// Calls visit(vertices) on stretches of all lists until all have been taken.
  template <class Visit>
  void Take(std::size_t which, std::size_t rank, Visit&& visit) {
    const std::size_t members = lists_[which].size();
    for (std::size_t i = 0; i < members; ++i) {
      List& list = lists_[which][(rank + i) % members];
      const std::size_t size = list.vertices.size();
      while (list.taken.load(std::memory_order_relaxed) < size) {
        const std::size_t begin = list.taken.fetch_add(kTakeGrain, std::memory_order_relaxed);
        const std::size_t end = std::min(begin + kTakeGrain, size);
        if (begin < end) visit(std::span<const LocalId>(list.vertices.data() + begin, end - begin));
      }
    }
  }

 private:
  static constexpr std::size_t kTakeGrain = 64;
  struct alignas(64) List {
    std::vector<LocalId> vertices;
    std::atomic<std::size_t> taken{0};  // from here on nobody has taken it
  };
  std::vector<List> lists_[2];
};

namespace detail {

/// Rows whose begins are called from memory before the first is walked.
inline constexpr std::size_t kRowsAhead = 16;

/// Where a thread stores one thing and loads another, and the other thread the other way round, one must see what the other
/// has stored. Atomic updates order loads that follow them on x86 already.
inline void OrderUpdateBeforeLoad() {
#if !defined(__x86_64__)
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

/// A member's stretch of words is the same each time, and so what it has in its cache.
inline std::size_t Stretch(std::size_t words, std::size_t rank, std::size_t members) { return words * rank / members; }

}  // namespace detail

}  // namespace chatty::steps::host
