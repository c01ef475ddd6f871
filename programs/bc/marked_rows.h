/// \file
/// Sums over rows of which few neighbours count, on a CPU.
#pragma once

#include <cstddef>

#include "chatty/core/bitmap.h"
#include "chatty/core/graph_ref.h"
#include "chatty/core/macros.h"
#include "chatty/core/types.h"
#include "chatty/programs/bc/path_numbers.h"

namespace chatty::brandes {

/// Adds up the numbers of neighbours, of a whole row or of each `stride`-th from `begin` on. Four sums, as one waits for
/// memory and for the sum before.
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

/// Sums of the numbers of those neighbours that are marked, by one thread, row after row, where all others have nothing. A
/// bitmap is nearer than the numbers. Who is wanted is written down first: without a branch, which would be a guess for each
/// neighbour, and for many rows, so that the loop that waits for memory does nothing else and waits for many at a time.
template <class Number>
class MarkedRows {
 public:
  /// Numbers, the bitmap of whose are wanted, and rows.
  CHATTY_FN MarkedRows(const Numbers<Number>& values, const std::uint32_t* marks, const AdjacencyRef& rows)
      : values_(values), marks_(marks), rows_(rows) {}

  /// take(item, v, sum of v's row), now or later, in the order of calls.
  template <class Take>
  CHATTY_FN void Add(std::size_t item, LocalId v, const Take& take) {
    const EdgeIndex begin = rows_.offsets[v], end = rows_.offsets[v + 1];
    if (count_ == kRows || end - begin > kNear - near_count_) Flush(take);
    if (end - begin > kNear) {
      take(item, v, SumOfLong(begin, end));
      return;
    }
    near_count_ = WriteDown(begin, end, near_count_);
    waiting_[count_++] = {item, v, near_count_};
  }
  /// take(...) of all that is waiting.
  template <class Take>
  CHATTY_FN void Flush(const Take& take) {
    EdgeIndex begin = 0;
    for (unsigned i = 0; i < count_; ++i) {
      const Row& row = waiting_[i];
      take(row.item, row.vertex, SumOfRow(values_, near_, begin, row.end, 1));
      begin = row.end;
    }
    count_ = 0;
    near_count_ = 0;
  }

 private:
  static constexpr unsigned kRows = 128;    ///< that wait
  static constexpr EdgeIndex kNear = 2048;  ///< neighbours, of all of them
  struct Row {
    std::size_t item;
    LocalId vertex;
    EdgeIndex end;  ///< of its neighbours among those that were written down
  };

  CHATTY_FN EdgeIndex WriteDown(EdgeIndex begin, EdgeIndex end, EdgeIndex count) {
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
      const EdgeIndex count = WriteDown(e, end - e < kNear ? end : e + kNear, 0);
      sum.Add(SumOfRow(values_, near_, 0, count, 1));
    }
    return sum;
  }

  const Numbers<Number> values_;
  const std::uint32_t* marks_;
  const AdjacencyRef& rows_;
  EdgeIndex near_count_ = 0;
  unsigned count_ = 0;
  Row waiting_[kRows];
  LocalId near_[kNear];
};

}  // namespace chatty::brandes
