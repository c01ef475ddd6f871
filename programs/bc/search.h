/// \file
/// Brandes' algorithm (J. Mathematical Sociology 25, 2001) from one source, on each device: a search by levels that counts
/// shortest paths, and its way back, which hands shares of paths from each level to the one before. This file has the state
/// of a search and what both halves use; count_paths.h is the way there, and hand_back.h the way back.
///
/// Both halves add up what neighbours have (pull), into memory that no other thread writes, but where whole numbers are
/// added by atomics (AddPaths); a level's numbers are put where neighbours see them once all of the level are there. So no
/// level is ever compared: a neighbour that is not of the level before has 0. A level has a scale of its own, so that
/// doubles count the paths of graphs that have more of them than a double holds.
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

/// Whole numbers below it are numbers that a double has, and so are their sums.
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
inline constexpr EdgeIndex kGangRow = 2048;
/// How many rows ahead a CPU asks for where a row begins.
inline constexpr std::size_t kOffsetAhead = 16;
/// And for the row itself.
inline constexpr std::size_t kRowAhead = 8;

/// What a device has found so far of a search.
struct Counters {
  std::uint64_t reached;    ///< its vertices
  std::uint64_t out_edges;  ///< of these, as far as their paths have been counted
  std::uint64_t in_edges;   ///< likewise
  double most;              ///< paths to one of the level counted last
  double least;             ///< likewise
};
/// What there is to say of vertices that were found.
struct Found {
  std::uint64_t out_edges = 0;  ///< as in Counters
  std::uint64_t in_edges = 0;   ///< likewise
  double most = 0;              ///< likewise
  double least = kNoLeast;      ///< likewise

  static constexpr double kNoLeast = 1e308;  ///< of no vertices, and of such that are infinite
  /// Of one.
  template <class Number>
  CHATTY_FN static Found Of(const GraphRef& graph, LocalId v, const Number& paths) {
    const EdgeIndex out = graph.forward.degree(v), in = graph.symmetric ? out : graph.reverse.degree(v);
    if constexpr (Number::kScales) {
      return {out, in, paths.value, paths.value};
    } else {
      return {out, in, 0, kNoLeast};
    }
  }
  /// Adds another's.
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
  LocalId* order;          ///< vertices that were reached, level by level; there is room for all that it owns
  Numbers<Number> at;      ///< by place in the order: paths that lead there, and afterwards shares
  Numbers<Number> values;  ///< by local vertex: the same, 0 until a level has been counted whole
  std::uint32_t* seen;     ///< a bitmap of local vertices: reached, or, but for what MarkLeading did, of no use to look at
  std::uint32_t* marks;    ///< a bitmap of local vertices; all clear but while a level is looked at
  Counters* tally;         ///< of the vertices that it owns
  VertexId* claims;        ///< vertices of others that were reached from here, by owner; as many as its halo has
  VertexId* claim_counts;  ///< how many, by owner
  const LocalId* locals;   ///< local ids of vertices of the whole graph; null where they are the same
  double scale = 1;        ///< of the level that is counted, against the one before
};

/// A group whose short rows have several threads each: for levels with fewer vertices than the device has threads, whose
/// time is the chain of a row's accesses.
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
/// Before the first search: no vertex has been seen, but for owned ones without in-edges, which need no look.
template <class Number>
struct Clear {
  Search<Number> search;  ///< of which
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
/// Begins a search: at a source that the device owns, or at none.
template <class Number>
struct Begin {
  Search<Number> search;  ///< of which
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

/// Hands every row of the vertices item(i), i in [begin, end), to kRowThreads threads, a warp or a whole group, as long rows
/// need, and calls work(sum of threads, row begin, row end, stride) there; then take(i, vertex, sum) once. item says
/// kNoLocal of what is to be left out. T is what is summed by `add`.
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
      if (row_end - row < kWarpRow || row_end - row >= kGangRow) continue;
      const T sum = group.SumOfWarp(work(v, row + group.lane(), row_end, group.lanes()), add);
      if (group.lane() == 0) take(i, v, sum);
    }
    if (rows.max_degree < kGangRow) return;
    group.Sync();
    for (std::size_t i = begin; i < end; ++i) {
      const LocalId v = item(i);
      if (v == kNoLocal) continue;
      const EdgeIndex row = rows.offsets[v], row_end = rows.offsets[v + 1];
      if (row_end - row < kGangRow) continue;
      const T sum = group.Sum(work(v, row + group.thread(), row_end, group.threads()), add);
      if (group.thread() == 0) take(i, v, sum);
      group.Sync();
    }
  }
}
/// Adds what all threads of a group have found to the device's tally.
template <class ThreadGroup>
CHATTY_FN void Record(const ThreadGroup& group, const Found& found, Counters* tally) {
  const Found all = group.Sum(found, AddNumbers{});
  if (group.thread() != 0) return;
  if (all.out_edges > 0) atomics::Add<true>(&tally->out_edges, all.out_edges);
  if (all.in_edges > 0) atomics::Add<true>(&tally->in_edges, all.in_edges);
  atomics::Max<true>(&tally->most, all.most);
  atomics::Min<true>(&tally->least, all.least);
}
/// The i-th vertex of an order, having asked for later rows.
CHATTY_FN LocalId NextOf(const LocalId* order, std::size_t i, std::size_t end, const AdjacencyRef& rows) {
#if !CHATTY_DEVICE_CODE
  if (i + kOffsetAhead < end) rows.offsets.Prefetch(order[i + kOffsetAhead]);
  if (i + kRowAhead < end) Prefetch(rows.neighbours + rows.offsets[order[i + kRowAhead]]);
#endif
  return order[i];
}

/// Finds out by what the next level's paths are to be multiplied, so that they stay within powers of 2 from `low` to `high`
/// where those of the level before are from `least` to `most`: 1 as long as these are ordinary numbers. False where no
/// factor does that.
CHATTY_FN bool ScaleNext(double most, double least, double low, double high, double* scale) {
  constexpr double kFar = 0x1p400;
  *scale = 1;
  if (most <= kFar && least >= 1 / kFar) return true;
  const double most_log = std::log2(most), least_log = std::log2(least);
  if (!(most_log - least_log <= high - low)) return false;  // not so where any is infinite, either
  *scale = std::exp2(std::round((high + low) / 2 - (most_log + least_log) / 2));
  return true;
}

/// Lets neighbours see what was counted of a level.
template <class Number>
struct Commit {
  Search<Number> search;  ///< of which
  std::size_t begin;      ///< of the level, in the order
  /// Does it for the i-th.
  CHATTY_FN void operator()(std::size_t i) const { search.values.Set(search.order[begin + i], search.at[begin + i]); }
};

/// Marks a level.
template <class Number>
struct Mark {
  Search<Number> search;  ///< of which
  std::size_t begin;      ///< of the level, in the order
  /// Does it for the i-th.
  CHATTY_FN void operator()(std::size_t i) const { bits::Set<true>(search.marks, search.order[begin + i]); }
};

/// Nothing of a level has been counted yet.
struct ClearRange {
  Counters* tally;  ///< the device's
  /// Does it, whatever the index.
  CHATTY_FN void operator()(std::size_t) const {
    tally->most = 0;
    tally->least = Found::kNoLeast;
  }
};
/// How many levels a launch goes through before the host is asked.
inline constexpr std::size_t kSeveral = 128;
/// A level of a search.
struct Level {
  std::size_t begin;        ///< in this device's order; the next one's is its end
  double scale;             ///< of its paths, against those of the level before
  std::uint64_t out_edges;  ///< of its vertices on this device
  std::uint64_t in_edges;   ///< likewise
};
/// Levels that one launch has found.
struct Progress {
  Counters tally;            ///< the device's, first, as others know it
  Counters before;           ///< as it was before the last of the levels
  std::uint64_t count;       ///< of levels
  Level levels[kSeveral];    ///< each
  Counters found[kSeveral];  ///< of each level alone, while the launch counts
};

/// Sets what neighbours see of a local vertex to 0.
template <class Number>
struct Forget {
  Search<Number> search;  ///< of which
  /// Does it for local vertex v.
  CHATTY_FN void operator()(std::size_t v) const { search.values.Set(v, Number{}); }
};
/// Sets what neighbours see to 0 of owned vertices that were reached, and at will that they were: a search costs what it
/// reaches.
template <class Number>
struct ForgetReached {
  Search<Number> search;  ///< of which
  bool unsee;             ///< the search is over
  /// Does it for the i-th of the order.
  CHATTY_FN void operator()(std::size_t i) const {
    const LocalId v = search.order[i];
    search.values.Set(v, Number{});
    if (unsee && search.graph.reverse.degree(v) > 0) bits::Clear<true>(search.seen, v);
  }
};
/// The same of vertices of other devices.
template <class Number>
struct ForgetHalo {
  Search<Number> search;  ///< of which
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
