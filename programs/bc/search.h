/// \file
/// Brandes' algorithm (J. Mathematical Sociology 25, 2001) from one source, on each device. The forward pass is a search by
/// levels that counts shortest paths. The backward pass visits the levels in reverse order and sums dependencies. This file
/// has the state of a search and what both passes use; count_paths.h has the forward pass, and hand_back.h the backward
/// pass.
///
/// - Both passes sum neighbours' values into memory that no other thread writes: they pull, or one thread pushes alone. Only
///   AddPaths adds whole numbers by atomics, whose order has no effect.
/// - The numbers of a level become visible to neighbours when all of them are complete. A neighbour outside of the previous
///   level has the value 0, so levels are never compared.
/// - Each level has a scale of its own, so that doubles can count more paths than a double holds.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "chatty/core/atomics.h"
#include "chatty/core/bitmap.h"
#include "chatty/core/graph_ref.h"
#include "chatty/core/prefetch.h"
#include "chatty/programs/bc/path_numbers.h"

namespace chatty::brandes {

/// A double holds every whole number below this exactly, and sums below it are exact.
inline constexpr double kWhole = 0x1p53;
/// Vertices of an order that a group takes at a time.
inline constexpr std::size_t kChunk = 256;
/// The same of a group that spreads a short row over several threads.
template <class ThreadGroup>
inline constexpr std::size_t kChunkOf = kChunk / ThreadGroup::kRowThreads;
/// Vertices by id that a group takes at a time; whole words of a bitmap.
inline constexpr std::size_t kPullChunk = 1024;
/// Rows from here on are a warp's; shorter ones a thread's.
inline constexpr EdgeIndex kWarpRow = 24;
/// Rows from here on are a group's.
inline constexpr EdgeIndex kGroupRow = 2048;
/// How many rows ahead a CPU prefetches the offset of a row.
inline constexpr std::size_t kOffsetAhead = 16;
/// And the row itself.
inline constexpr std::size_t kRowAhead = 8;

/// What a device has counted so far in a search.
struct Counters {
  std::uint64_t reached;    ///< its vertices that were reached
  std::uint64_t out_edges;  ///< of these, as far as their paths have been counted
  std::uint64_t in_edges;   ///< of these, as far as their paths have been counted
  double most;              ///< largest number of paths to a vertex of the level counted last
  double least;             ///< smallest one
};
/// Sums and extremes over vertices that were reached.
struct Found {
  std::uint64_t out_edges = 0;  ///< as in Counters
  std::uint64_t in_edges = 0;   ///< as in Counters
  double most = 0;              ///< as in Counters
  double least = kNoLeast;      ///< as in Counters

  static constexpr double kNoLeast = 1e308;  ///< without vertices, or if all numbers are infinite
  /// For one vertex.
  template <class Number>
  CHATTY_FN static Found Of(const GraphRef& graph, LocalId v, const Number& paths) {
    const EdgeIndex out = graph.forward.degree(v), in = graph.symmetric ? out : graph.reverse.degree(v);
    if constexpr (Number::kScales) {
      return {out, in, paths.value, paths.value};
    } else {
      return {out, in, 0, kNoLeast};
    }
  }
  /// Adds those of other vertices.
  CHATTY_FN void Add(const Found& other) {
    out_edges += other.out_edges;
    in_edges += other.in_edges;
    most = most < other.most ? other.most : most;
    least = other.least < least ? other.least : least;
  }
};

/// A device's part of a search, all in its own memory.
template <class Number>
struct Search {
  GraphRef graph;          ///< the device's part
  LocalId* order;          ///< vertices that were reached, level by level; room for all owned vertices
  Numbers<Number> at;      ///< by place in the order: number of paths; in the backward pass, shares
  Numbers<Number> values;  ///< by local vertex: the same; 0 until its level is complete
  std::uint32_t* seen;     ///< a bitmap of local vertices: reached, or without in-edges; MarkLeading clears some bits
  std::uint32_t* marks;    ///< a bitmap of local vertices; all clear except while a level is processed
  Counters* tally;         ///< of owned vertices
  VertexId* claims;        ///< other devices' vertices reached from here, by owner; room for the halo
  VertexId* claim_counts;  ///< number of claims, by owner
  const LocalId* locals;   ///< local ids of vertices of the whole graph; null where they are the same
  double scale = 1;        ///< of the level that is counted, relative to the one before
};

/// A group that spreads each short row over several threads: for levels with fewer vertices than the device has threads.
/// Their time is the latency of the accesses of one row.
template <class ThreadGroup>
class RowsOfFew : public ThreadGroup {
 public:
  static constexpr unsigned kRowThreads = ThreadGroup::kMany ? 4 : 1;  ///< threads a row

  /// The same threads.
  CHATTY_FN explicit RowsOfFew(const ThreadGroup& group) : ThreadGroup(group) {}
};

/// Adds numbers, for groups.
struct AddNumbers {
  /// Does it.
  template <class Number>
  CHATTY_FN void operator()(Number& sum, const Number& other) const {
    sum.Add(other);
  }
};
/// Before the first search: clears the bits of all vertices but owned ones without in-edges, which no search reaches by an
/// edge.
template <class Number>
struct Clear {
  Search<Number> search;  ///< the search
  /// Does it for word w of the bitmap.
  CHATTY_FN void operator()(std::size_t w) const {
    const GraphRef& graph = search.graph;
    const std::size_t begin = w * 32, end = begin + 32 < graph.local ? begin + 32 : graph.local;
    std::uint32_t word = 0;
    for (std::size_t v = begin; v < end; ++v) {
      if (v < graph.owned && graph.reverse.degree(static_cast<LocalId>(v)) == 0) word |= 1u << (v - begin);
    }
    search.seen[w] = word;
  }
};
/// Starts a search at a source that the device owns, or without one.
template <class Number>
struct Begin {
  Search<Number> search;  ///< the search
  LocalId source;         ///< kNoLocal: another device's
  /// Does it, whatever the index.
  CHATTY_FN void operator()(std::size_t) const {
    *search.tally = {0, 0, 0, 0, Found::kNoLeast};
    if (source == kNoLocal) return;
    search.order[0] = source;
    search.at.Set(0, Number::Of(1));
    search.values.Set(source, Number::Of(1));
    bits::Set<false>(search.seen, source);
    *search.tally = {1, search.graph.forward.degree(source), search.graph.reverse.degree(source), 1, 1};
  }
};

/// Distributes the rows of the vertices item(i), i in [begin, end): a short row to kRowThreads threads, a longer one to a
/// warp, the longest to the whole group. There it calls work(v, row begin, row end, stride) and sums the results of the
/// threads by `add`; T is their type. Then it calls take(i, vertex, sum) once. item(i) is kNoLocal for vertices to skip.
template <class T, class ThreadGroup, class Item, class Work, class Add, class Take>
CHATTY_FN void WalkRows(const ThreadGroup& group, const AdjacencyRef& rows, std::size_t begin, std::size_t end,
                        const Item& item, const Work& work, const Add& add, const Take& take) {
  constexpr unsigned kThreads = ThreadGroup::kRowThreads;
  const unsigned at = group.thread() % kThreads;
  for (std::size_t i = begin + group.thread() / kThreads; i < end; i += group.threads() / kThreads) {
    const LocalId v = item(i);
    if (v == kNoLocal) continue;
    const EdgeIndex row = rows.offsets[v], row_end = rows.offsets[v + 1];
    if (ThreadGroup::kMany && row_end - row >= kWarpRow) continue;
    const T sum = group.template SumOfLanes<kThreads>(work(v, row + at, row_end, kThreads), add);
    if (at == 0) take(i, v, sum);
  }
  if constexpr (ThreadGroup::kMany) {
    if (rows.max_degree < kWarpRow) return;
    for (std::size_t i = begin + group.warp(); i < end; i += group.warps()) {
      const LocalId v = item(i);
      if (v == kNoLocal) continue;
      const EdgeIndex row = rows.offsets[v], row_end = rows.offsets[v + 1];
      if (row_end - row < kWarpRow || row_end - row >= kGroupRow) continue;
      const T sum = group.SumOfWarp(work(v, row + group.lane(), row_end, group.lanes()), add);
      if (group.lane() == 0) take(i, v, sum);
    }
    if (rows.max_degree < kGroupRow) return;
    group.Sync();
    for (std::size_t i = begin; i < end; ++i) {
      const LocalId v = item(i);
      if (v == kNoLocal) continue;
      const EdgeIndex row = rows.offsets[v], row_end = rows.offsets[v + 1];
      if (row_end - row < kGroupRow) continue;
      const T sum = group.Sum(work(v, row + group.thread(), row_end, group.threads()), add);
      if (group.thread() == 0) take(i, v, sum);
      group.Sync();
    }
  }
}
/// Adds the results of all threads of a group to the device's tally.
template <class ThreadGroup>
CHATTY_FN void Record(const ThreadGroup& group, const Found& found, Counters* tally) {
  const Found all = group.Sum(found, AddNumbers{});
  if (group.thread() != 0) return;
  if (all.out_edges > 0) atomics::Add<true>(&tally->out_edges, all.out_edges);
  if (all.in_edges > 0) atomics::Add<true>(&tally->in_edges, all.in_edges);
  atomics::Max<true>(&tally->most, all.most);
  atomics::Min<true>(&tally->least, all.least);
}
/// The i-th vertex of an order; prefetches later rows.
CHATTY_FN LocalId NextOf(const LocalId* order, std::size_t i, std::size_t end, const AdjacencyRef& rows) {
#if !CHATTY_DEVICE_CODE
  if (i + kOffsetAhead < end) rows.offsets.Prefetch(order[i + kOffsetAhead]);
  if (i + kRowAhead < end) Prefetch(rows.neighbours + rows.offsets[order[i + kRowAhead]]);
#endif
  return order[i];
}

/// Chooses the factor for the next level's path counts, so that they stay between 2^`low` and 2^`high`. Those of the level
/// before are between `least` and `most`. The factor is 1 while these are ordinary numbers. Returns false if no factor is
/// sufficient.
CHATTY_FN bool ScaleNext(double most, double least, double low, double high, double* scale) {
  constexpr double kFar = 0x1p400;
  *scale = 1;
  if (most <= kFar && least >= 1 / kFar) return true;
  const double most_log = std::log2(most), least_log = std::log2(least);
  if (!(most_log - least_log <= high - low)) return false;  // also false if any is infinite
  *scale = std::exp2(std::round((high + low) / 2 - (most_log + least_log) / 2));
  return true;
}

/// Makes the numbers of a level visible to neighbours.
template <class Number>
struct Commit {
  Search<Number> search;  ///< the search
  std::size_t begin;      ///< of the level, in the order
  /// Does it for the i-th.
  CHATTY_FN void operator()(std::size_t i) const { search.values.Set(search.order[begin + i], search.at[begin + i]); }
};

/// Marks a level.
template <class Number>
struct Mark {
  Search<Number> search;  ///< the search
  std::size_t begin;      ///< of the level, in the order
  /// Does it for the i-th.
  CHATTY_FN void operator()(std::size_t i) const { bits::Set<true>(search.marks, search.order[begin + i]); }
};

/// Before a level is counted: resets its extremes.
struct ClearRange {
  Counters* tally;  ///< the device's
  /// Does it, whatever the index.
  CHATTY_FN void operator()(std::size_t) const {
    tally->most = 0;
    tally->least = Found::kNoLeast;
  }
};
/// Maximum number of levels in one launch.
inline constexpr std::size_t kSeveral = 128;
/// A level of a search.
struct Level {
  std::size_t begin;        ///< in this device's order; the next level's begin is its end
  double scale;             ///< of its paths, relative to those of the level before
  std::uint64_t out_edges;  ///< of its vertices on this device
  std::uint64_t in_edges;   ///< of its vertices on this device
};
/// Levels that one launch has found.
struct Progress {
  Counters tally;            ///< the device's; first, because Search::tally points to it
  Counters before;           ///< the tally before the last of the levels
  std::uint64_t count;       ///< of levels
  Level levels[kSeveral];    ///< each
  Counters found[kSeveral];  ///< of each level alone, during the launch
};

/// Sets the visible number of a local vertex to 0.
template <class Number>
struct Forget {
  Search<Number> search;  ///< the search
  /// Does it for local vertex v.
  CHATTY_FN void operator()(std::size_t v) const { search.values.Set(v, Number{}); }
};
/// Sets the visible numbers of owned vertices that were reached to 0, and clears their bits if `unsee`. The time is
/// proportional to the vertices reached.
template <class Number>
struct ForgetReached {
  Search<Number> search;  ///< the search
  bool unsee;             ///< the search is over
  /// Does it for the i-th of the order.
  CHATTY_FN void operator()(std::size_t i) const {
    const LocalId v = search.order[i];
    search.values.Set(v, Number{});
    if (unsee && search.graph.reverse.degree(v) > 0) bits::Clear<true>(search.seen, v);
  }
};
/// The same for vertices of the halo.
template <class Number>
struct ForgetHalo {
  Search<Number> search;  ///< the search
  bool unsee;             ///< the search is over
  /// Does it for the i-th of the halo.
  CHATTY_FN void operator()(std::size_t i) const {
    const auto v = static_cast<LocalId>(search.graph.owned + i);
    search.values.Set(v, Number{});
    if (unsee) bits::Clear<true>(search.seen, v);
  }
};
/// Sets to zero.
template <class T>
struct SetZero {
  T* values;  ///< whichever
  /// Does it for the i-th.
  CHATTY_FN void operator()(std::size_t i) const { values[i] = T{}; }
};
}  // namespace chatty::brandes
