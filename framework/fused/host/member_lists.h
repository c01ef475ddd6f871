/// \file
/// Frontiers as lists of a thread each, for rounds and steps that are parts of one job of a team.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "chatty/core/types.h"

namespace chatty::fused::host {

/// One list of items, say vertices, for each member, twice: one is filled while the other is visited. Members share all
/// lists equally, in the order of the lists, so a member mostly visits vertices that its cache holds. A member that is done
/// takes from the ends of others' shares, unless few items are left there.
template <class T>
class MemberListsOf {
 public:
  explicit MemberListsOf(int members) : lists_{std::vector<List>(members), std::vector<List>(members)} {}

  /// The list of member `rank`.
  std::vector<T>& of(std::size_t which, std::size_t rank) { return lists_[which][rank].items; }
  /// Empties it. No member may take from it any more.
  std::vector<T>& Clear(std::size_t which, std::size_t rank) {
    List& list = lists_[which][rank];
    list.items.clear();
    list.taken.store(0, std::memory_order_relaxed);
    return list.items;
  }
  /// Calls visit(items) with each list whole, by one member for all.
  template <class Visit>
  void TakeAll(std::size_t which, Visit&& visit) {
    for (const List& list : lists_[which]) visit(std::span<const T>(list.items));
  }
  /// Calls visit(items, following) on ranges of all lists until all have been taken. `following` entries follow the items
  /// in memory and may be taken next. Each of `members` members calls it; there may be fewer than lists. A member takes
  /// `grain` entries of its own share at once.
  template <class Visit>
  void Take(std::size_t which, std::size_t rank, std::size_t members, Visit&& visit, std::size_t grain = kTakeGrain) {
    std::vector<List>& lists = lists_[which];
    std::size_t total = 0;
    for (const List& list : lists) total += list.items.size();
    const auto begin_of = [&](std::size_t share) { return total * share / members; };
    for (std::size_t i = 0; i < members;) {
      const std::size_t share = (rank + i) % members, first = begin_of(share), size = begin_of(share + 1) - first;
      const Range taken = i == 0 ? TakeFront(lists[share].taken, size, grain) : TakeBack(lists[share].taken, size);
      if (taken.begin == taken.end) {
        ++i;
        continue;
      }
      std::size_t begin = first + taken.begin, end = first + taken.end;
      for (const List& list : lists) {  // the parts of it that are in each
        const std::size_t here = list.items.size();
        if (begin < here) {
          const std::size_t some = std::min(end, here) - begin;
          visit(std::span<const T>(list.items.data() + begin, some), here - begin - some);
          begin += some;
          if (begin == end) break;
        }
        begin -= here;
        end -= here;
      }
    }
  }

 private:
  static constexpr std::size_t kTakeGrain = 1024;       ///< that a member takes of its own at once
  static constexpr std::size_t kMax = 4096;             ///< that it takes of another's, half of what is left
  static constexpr std::size_t kFew = 64, kMany = 512;  ///< less than an eighth is left to the other, between these
  struct Range {
    std::size_t begin, end;
  };
  struct alignas(64) List {
    std::vector<T> items;
    /// What has been taken of the share of the same number: from the front, and in the upper half from the back.
    std::atomic<std::uint64_t> taken{0};
  };

  /// Takes from the front of a share of that size; nothing once all has been taken.
  static Range TakeFront(std::atomic<std::uint64_t>& taken, std::size_t size, std::size_t grain) {
    std::uint64_t now = taken.load(std::memory_order_relaxed);
    while (true) {
      const std::size_t begin = static_cast<std::uint32_t>(now), end = std::min(begin + grain, size - (now >> 32));
      if (begin == end || taken.compare_exchange_weak(now, now + (end - begin), std::memory_order_relaxed))
        return {begin, end};
    }
  }
  /// Takes from the back, unless few are left.
  static Range TakeBack(std::atomic<std::uint64_t>& taken, std::size_t size) {
    const std::size_t least = std::clamp(size / 8, kFew, kMany);
    std::uint64_t now = taken.load(std::memory_order_relaxed);
    while (true) {
      const std::size_t end = size - (now >> 32), rest = end - static_cast<std::uint32_t>(now);
      if (rest < least) return {end, end};
      const std::size_t some = std::min(rest / 2, kMax);
      const std::uint64_t then = now + (std::uint64_t{some} << 32);
      if (taken.compare_exchange_weak(now, then, std::memory_order_relaxed)) return {end - some, end};
    }
  }

  std::vector<List> lists_[2];
};
using MemberLists = MemberListsOf<LocalId>;  ///< of vertices

namespace detail {

/// Visits vertices of a list. The row of each is prefetched first, and then the values of the row's targets, so that a visit
/// waits for neither: its updates let no later load begin before they end.
class PrefetchPipeline {
 public:
  /// Calls prefetch_row(v), prefetch_targets(v) and visit(v) for each of the vertices, in their order, with many visits
  /// between these calls; the first two also for the vertices that follow.
  template <class PrefetchRow, class PrefetchTargets, class Visit>
  [[gnu::always_inline]] void Walk(std::span<const LocalId> vertices, std::size_t following, PrefetchRow&& prefetch_row,
                                   PrefetchTargets&& prefetch_targets, Visit&& visit) {
    const LocalId* const at = vertices.data();
    const std::size_t size = vertices.size(), known = size + following;
    if (prefetched_ != at + std::min(kTargets, known)) {  // another list, or further on in this one
      for (std::size_t i = 0; i < std::min(2 * kTargets, known); ++i) prefetch_row(at[i]);
      for (std::size_t i = 0; i < std::min(kTargets, known); ++i) prefetch_targets(at[i]);
    }
    for (std::size_t i = 0; i < size; ++i) {
      if (i + 2 * kTargets < known) prefetch_row(at[i + 2 * kTargets]);
      if (i + kTargets < known) prefetch_targets(at[i + kTargets]);
      visit(at[i]);
    }
    prefetched_ = at + std::min(size + kTargets, known);
  }

 private:
  static constexpr std::size_t kTargets = 16;  ///< visits ahead by which targets are prefetched; rows twice as many
  const LocalId* prefetched_ = nullptr;        // end of the targets prefetched, in a list
};
/// Targets of a row that are prefetched.
inline constexpr EdgeIndex kTargetsOfARow = 8;

/// Where a thread stores one thing and loads another, and the other thread the other way round, one must see what the other
/// has stored. Atomic updates order loads that follow them on x86 already.
inline void OrderUpdateBeforeLoad() {
#if !defined(__x86_64__)
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

/// Where a member's share of `count` words begins. It is the same each time, and so stays in the member's cache.
inline std::size_t ShareBegin(std::size_t count, std::size_t rank, std::size_t members) { return count * rank / members; }

}  // namespace detail

}  // namespace chatty::fused::host
