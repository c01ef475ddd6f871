/// \file
/// Sums over rows of which few neighbours count, on a CPU: filter, then gather. A bitmap marks the neighbours that count. A
/// CPU has it in its cache, unlike the numbers. The marked neighbours of many rows are first listed without branches, which
/// would be unpredictable. A second loop then loads their numbers and does nothing else, so that many loads are in flight.
#pragma once

#include <cstddef>

#include "chatty/core/bitmap.h"
#include "chatty/core/graph_ref.h"
#include "chatty/core/macros.h"
#include "chatty/core/types.h"
#include "chatty/programs/bc/path_numbers.h"

namespace chatty::brandes {

/// The sum of the numbers of neighbours: of a whole row, or of each `stride`-th from `begin` on. Four partial sums, because
/// an addition waits for memory and for the sum before.
template <class Number>
CHATTY_FN Number SumOfRow(const Numbers<Number>& values, const LocalId* neighbours, EdgeIndex begin, EdgeIndex end,
                          unsigned stride) {
  Number sums[4] = {};
  EdgeIndex e = begin;
  for (; e + 3 * stride < end; e += 4 * stride) {
    for (unsigned k = 0; k < 4; ++k) sums[k].Add(values[neighbours[e + k * stride]]);
  }
  for (; e < end; e += stride) sums[0].Add(values[neighbours[e]]);
  sums[1].Add(sums[2]);
  sums[0].Add(sums[3]);
  sums[0].Add(sums[1]);
  return sums[0];
}

/// Sums of the numbers of marked neighbours, by one thread, row after row; other neighbours have the number 0. Rows are
/// deferred until kRows rows, or kNear neighbours, are listed.
template <class Number>
class MarkedRows {
 public:
  /// Numbers, the bitmap of those that count, and rows.
  CHATTY_FN MarkedRows(const Numbers<Number>& values, const std::uint32_t* marks, const AdjacencyRef& rows)
      : values_(values), marks_(marks), rows_(rows) {}

  /// Calls take(item, v, sum of v's row), now or later, in the order of calls.
  template <class Take>
  CHATTY_FN void Add(std::size_t item, LocalId v, const Take& take) {
    const EdgeIndex begin = rows_.offsets[v], end = rows_.offsets[v + 1];
    if (count_ == kRows || end - begin > kNear - near_count_) Flush(take);
    if (end - begin > kNear) {
      take(item, v, SumOfLong(begin, end));
      return;
    }
    near_count_ = List(begin, end, near_count_);
    pending_[count_++] = {item, v, near_count_};
  }
  /// Calls take for all deferred rows.
  template <class Take>
  CHATTY_FN void Flush(const Take& take) {
    EdgeIndex begin = 0;
    for (unsigned i = 0; i < count_; ++i) {
      const Row& row = pending_[i];
      take(row.item, row.vertex, SumOfRow(values_, near_, begin, row.end, 1));
      begin = row.end;
    }
    count_ = 0;
    near_count_ = 0;
  }

 private:
  static constexpr unsigned kRows = 128;    ///< maximum number of deferred rows
  static constexpr EdgeIndex kNear = 2048;  ///< maximum number of their marked neighbours
  struct Row {
    std::size_t item;
    LocalId vertex;
    EdgeIndex end;  ///< end of its neighbours in the list
  };

  /// Writes the marked neighbours to `near_` from `count` on; returns the new count.
  CHATTY_FN EdgeIndex List(EdgeIndex begin, EdgeIndex end, EdgeIndex count) {
    for (EdgeIndex e = begin; e < end; ++e) {
      const LocalId u = rows_.neighbours[e];
      near_[count] = u;
      count += bits::Test(marks_, u);
    }
    return count;
  }
  CHATTY_FN Number SumOfLong(EdgeIndex begin, EdgeIndex end) {
    Number sum{};
    for (EdgeIndex e = begin; e < end; e += kNear) {
      const EdgeIndex count = List(e, end - e < kNear ? end : e + kNear, 0);
      sum.Add(SumOfRow(values_, near_, 0, count, 1));
    }
    return sum;
  }

  const Numbers<Number> values_;
  const std::uint32_t* marks_;
  const AdjacencyRef& rows_;
  EdgeIndex near_count_ = 0;
  unsigned count_ = 0;
  Row pending_[kRows];
  LocalId near_[kNear];
};

}  // namespace chatty::brandes
