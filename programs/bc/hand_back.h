/// \file
/// Brandes' backward pass: dependencies, from the last level to the first. If few edges of a level lead to the next, a host
/// device finds these by the next level's in-edges, and reads no other numbers. Small levels are processed together in one
/// launch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "chatty/core/bitmap.h"
#include "chatty/core/graph_ref.h"
#include "chatty/programs/bc/marked_rows.h"
#include "chatty/programs/bc/search.h"

namespace chatty::brandes {

/// Marks a level, and clears the `seen` bits of its in-neighbours. This may clear bits of later levels, too, which are not
/// read any more.
template <class Number>
struct MarkLeading {
  Search<Number> search;  ///< the search
  std::size_t begin;      ///< position in the order of the level's first vertex
  std::size_t end;        ///< position after the level's last vertex
  /// Does it for the c-th chunk.
  template <class ThreadGroup>
  CHATTY_FN void operator()(std::size_t c, const ThreadGroup& group) const {
    const AdjacencyRef& rows = search.graph.reverse;
    const std::size_t first = begin + c * kChunk, last = first + kChunk < end ? first + kChunk : end;
    const auto item = [&](std::size_t i) { return NextOf(search.order, i, last, rows); };
    const auto leading = [&](LocalId, EdgeIndex e, EdgeIndex row_end, unsigned stride) {
      for (; e < row_end; e += stride) bits::Clear<true>(search.seen, rows.neighbours[e]);
      return Found{};
    };
    const auto mark = [&](std::size_t, LocalId u, const Found&) { bits::Set<true>(search.marks, u); };
    WalkRows<Found>(group, rows, first, last, item, leading, AddNumbers{}, mark);
  }
};
/// Sums dependencies. For each vertex of a level it adds the successors' shares, which are (1 + dependency) / paths, and
/// multiplies the sum by the vertex's own number of paths.
template <class Number>
struct HandBackLevel {
  Search<Number> search;  ///< its values are shares
  std::size_t begin;      ///< position in the order of the level's first vertex
  std::size_t end;        ///< position after the level's last vertex
  double scale;           ///< of the next level, relative to this one
  double* out;            ///< by owned vertices; the result is added
  /// Does it for the c-th chunk.
  template <class ThreadGroup>
  CHATTY_FN void operator()(std::size_t c, const ThreadGroup& group) const {
    const AdjacencyRef& rows = search.graph.forward;
    constexpr std::size_t kSize = kChunkOf<ThreadGroup>;
    const std::size_t first = begin + c * kSize, last = first + kSize < end ? first + kSize : end;
    WalkRows<Number>(
        group, rows, first, last, [&](std::size_t i) { return NextOf(search.order, i, last, rows); },
        [&](LocalId, EdgeIndex e, EdgeIndex row_end, unsigned stride) {
          return SumOfRow(search.values, rows.neighbours, e, row_end, stride);
        },
        AddNumbers{}, [&](std::size_t i, LocalId v, const Number& shares) { Take(i, v, shares); });
  }
  /// Adds the dependency of v, the i-th of the order, from the sum of its successors' shares.
  CHATTY_FN void Take(std::size_t i, LocalId v, const Number& shares) const {
    const Number paths = search.at[i];
    const double dependency = paths.On(scale).Times(shares);  // in this order no intermediate result is out of range
    out[v] += dependency;
    search.at.Set(i, paths.Divide(1 + dependency));
  }
};
/// The same on a host device, after MarkLeading of the next level.
template <class Number>
struct HandBackMarked {
  HandBackLevel<Number> level;  ///< which
  /// Does it for the c-th chunk.
  template <class ThreadGroup>
  CHATTY_FN void operator()(std::size_t c, const ThreadGroup&) const {
    const Search<Number>& search = level.search;
    const std::size_t first = level.begin + c * kChunk, last = first + kChunk < level.end ? first + kChunk : level.end;
    const auto take = [&](std::size_t i, LocalId v, const Number& shares) { level.Take(i, v, shares); };
    MarkedRows<Number> marked(search.values, search.marks, search.graph.forward);
    for (std::size_t i = first; i < last; ++i) {
      const LocalId v = search.order[i];
      if (bits::Test(search.seen, v)) {
        search.at.Set(i, search.at[i].Divide(1));
      } else {
        marked.Add(i, v, take);
      }
    }
    marked.Flush(take);
  }
};
/// The same for the last level, whose dependencies are 0.
template <class Number>
struct HandBackNothing {
  Search<Number> search;  ///< the search
  std::size_t begin;      ///< of the level, in the order
  /// Does it for the i-th.
  CHATTY_FN void operator()(std::size_t i) const { search.at.Set(begin + i, search.at[begin + i].Divide(1)); }
};

/// The backward pass through several levels, the last of them first, in one launch of groups with two barriers per level.
template <class Number>
struct HandBackSeveral {
  Search<Number> search;             ///< its values are shares
  double* out;                       ///< by owned vertices; the result is added
  std::uint32_t count;               ///< of levels
  bool from_last;                    ///< the first level processed is the last of the search
  bool to_source;                    ///< the last level processed follows the source: its values are not read
  std::size_t begins[kSeveral + 1];  ///< begins of levels in the order, in reverse; the first entry is the last level's end
  double scales[kSeveral];           ///< of the level after each, relative to it

  /// Does it: all threads of all groups call it.
  template <class ThreadGroup, class Grid>
  CHATTY_FN void operator()(const ThreadGroup& threads, const Grid& grid) const {
    const RowsOfFew<ThreadGroup> group(threads);
    constexpr std::size_t kSize = kChunkOf<RowsOfFew<ThreadGroup>>;
    const std::size_t rank = grid.rank() * threads.threads() + threads.thread(), all = grid.size() * threads.threads();
    for (std::uint32_t k = 0; k < count; ++k) {
      const std::size_t begin = begins[k + 1], end = begins[k];
      if (k == 0 && from_last) {
        const HandBackNothing<Number> step{search, begin};
        for (std::size_t i = rank; i < end - begin; i += all) step(i);
      } else {
        const HandBackLevel<Number> step{search, begin, end, scales[k], out};
        for (std::size_t c = grid.rank(); c * kSize < end - begin; c += grid.size()) step(c, group);
      }
      if (k + 1 == count && to_source) return;
      grid.Sync();
      for (std::size_t i = rank; i < end - begin; i += all) Commit<Number>{search, begin}(i);
      grid.Sync();
    }
  }
};
}  // namespace chatty::brandes
