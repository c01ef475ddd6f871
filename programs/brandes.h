/// \file
/// One search by levels that counts shortest paths, and its way back: the steps of `bc`, for each device.
///
/// Both halves add up what neighbours have (pull), into memory that no other thread writes, but where whole numbers are
/// added by atomics (AddPaths); a level's numbers are put where neighbours see them once all of the level are there. So no
/// level is ever compared: a neighbour that is not of the level before has 0.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "chatty/core/atomics.h"
#include "chatty/core/bitmap.h"
#include "chatty/core/graph_ref.h"
#include "chatty/core/hash.h"
#include "chatty/core/prefetch.h"
#include "chatty/programs/marked_rows.h"
#include "chatty/programs/path_numbers.h"

namespace chatty::brandes {

/// Whole numbers below it are numbers that a double has, and so are their sums.
inline constexpr double kWhole = 0x1p53;
/// Vertices of an order that a group takes at a time.
inline constexpr std::size_t kChunk = 256;
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

/// Hands every row of the vertices item(i), i in [begin, end), to a thread, a warp or a whole group, as long rows need, and
/// calls work(sum of threads, row begin, row end, stride) there; then take(i, vertex, sum) once. item says kNoLocal of what
/// is to be left out. T is what is summed by `add`.
template <class T, class ThreadGroup, class Item, class Work, class Add, class Take>
CHATTY_FN void WalkRows(const ThreadGroup& group, const AdjacencyRef& rows, std::size_t begin, std::size_t end,
                        const Item& item, const Work& work, const Add& add, const Take& take) {
  for (std::size_t i = begin + group.thread(); i < end; i += group.threads()) {
    const LocalId v = item(i);
    if (v == kNoLocal) continue;
    const EdgeIndex row = rows.offsets[v], row_end = rows.offsets[v + 1];
    if (ThreadGroup::kMany && row_end - row >= kWarpRow) continue;
    take(i, v, work(v, row, row_end, 1));
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

/// Reaches the neighbours of a level's owned vertices that were not reached before.
template <class Number>
struct Push {
  Search<Number> search;  ///< of which
  std::size_t begin;      ///< of the level, in the order
  std::size_t end;        ///< likewise
  /// Does it for the c-th chunk.
  template <class ThreadGroup>
  CHATTY_FN void operator()(std::size_t c, const ThreadGroup& group) const {
    const GraphRef& graph = search.graph;
    const std::size_t first = begin + c * kChunk, last = first + kChunk < end ? first + kChunk : end;
    const auto item = [&](std::size_t i) { return NextOf(search.order, i, last, graph.forward); };
    const auto reach = [&](LocalId, EdgeIndex e, EdgeIndex row_end, unsigned stride) {
      for (; e < row_end; e += stride) {
        const LocalId u = graph.forward.neighbours[e];
        if (!bits::Set<true>(search.seen, u)) continue;
        if (u < graph.owned) {
          search.order[atomics::Add<true>(&search.tally->reached, std::uint64_t{1})] = u;
        } else {
          const std::uint32_t owner = graph.HaloOwner(u);
          const VertexId place = atomics::Add<true>(search.claim_counts + owner, VertexId{1});
          search.claims[graph.halo_begin[owner] - graph.owned + place] = graph.Global(u);
        }
      }
      return Found{};
    };
    WalkRows<Found>(group, graph.forward, first, last, item, reach, AddNumbers{}, [](std::size_t, LocalId, const Found&) {});
  }
};
/// Adds the paths to a level's vertices to those of what they lead to, looking at no other edges. For numbers that are
/// exact, so that it does not matter who adds first. Nobody reads what is not complete: nothing is pulled meanwhile.
struct AddPaths {
  Search<Plain> search;  ///< of which
  std::size_t begin;     ///< of the level, in the order
  std::size_t end;       ///< likewise
  bool lists;            ///< what is reached goes to the order, as it comes; otherwise Pull finds it

  /// How many neighbours ahead a CPU asks for what is added to: an atomic waits for all before it.
  static constexpr EdgeIndex kTargetsAhead = 24;

  /// Does it for the c-th chunk.
  template <class ThreadGroup>
  CHATTY_FN void operator()(std::size_t c, const ThreadGroup& group) const {
    const GraphRef& graph = search.graph;
    const std::size_t first = begin + c * kChunk, last = first + kChunk < end ? first + kChunk : end;
    [[maybe_unused]] LocalId together[ThreadGroup::kMany ? 1 : kChunk];  // a thread alone takes places for many at once
    [[maybe_unused]] std::size_t count = 0;
    const auto put = [&] {
      const std::uint64_t place = atomics::Add<true>(&search.tally->reached, std::uint64_t{count});
      for (std::size_t i = 0; i < count; ++i) search.order[place + i] = together[i];
      count = 0;
    };
    const auto item = [&](std::size_t i) { return NextOf(search.order, i, last, graph.forward); };
    const auto reach = [&](LocalId v, EdgeIndex e, EdgeIndex row_end, unsigned stride) {
      const double paths = search.values[v].value;
      for (; e < row_end; e += stride) {
        if (e + kTargetsAhead < row_end) Prefetch(search.values.values + graph.forward.neighbours[e + kTargetsAhead]);
        const LocalId u = graph.forward.neighbours[e];
        if (bits::Test(search.seen, u)) continue;
        if (atomics::Add<true>(search.values.values + u, paths) != 0 || !lists) continue;  // another was first
        if constexpr (ThreadGroup::kMany) {
          search.order[atomics::Add<true>(&search.tally->reached, std::uint64_t{1})] = u;
        } else {
          together[count++] = u;
          if (count == kChunk) put();
        }
      }
      return Found{};
    };
    WalkRows<Found>(group, graph.forward, first, last, item, reach, AddNumbers{}, [](std::size_t, LocalId, const Found&) {});
    if constexpr (!ThreadGroup::kMany) {
      if (count > 0) put();
    }
  }
};
/// Takes what AddPaths has reached, in the order from `begin` to `end`, as a level.
struct TakeAdded {
  Search<Plain> search;  ///< of which
  std::size_t begin;     ///< in the order
  std::size_t end;       ///< likewise
  /// Does it for the c-th chunk.
  template <class ThreadGroup>
  CHATTY_FN void operator()(std::size_t c, const ThreadGroup& group) const {
    const std::size_t first = begin + c * kChunk, last = first + kChunk < end ? first + kChunk : end;
    Found found;
    for (std::size_t i = first + group.thread(); i < last; i += group.threads()) {
      const LocalId v = search.order[i];
      const Plain paths = search.values[v];
      bits::Set<true>(search.seen, v);
      search.at.Set(i, paths);
      found.Add(Found::Of(search.graph, v, paths));
    }
    Record(group, found, search.tally);
  }
};
/// A whole level by one thread that has the graph to itself, looking at its edges once: a vertex that has not been seen has
/// what has been counted so far, which nobody takes for a level before, as nothing is pulled meanwhile.
template <class Number>
struct PushAlone {
  Search<Number> search;  ///< of which
  std::size_t begin;      ///< of the level, in the order
  std::size_t end;        ///< likewise
  /// Does it, whatever the index.
  CHATTY_FN void operator()(std::size_t) const {
    const GraphRef& graph = search.graph;
    std::size_t reached = end;
    Found found;
    for (std::size_t i = begin; i < end; ++i) {
      const LocalId v = NextOf(search.order, i, end, graph.forward);
      const Number paths = search.at[i].On(search.scale);
      const EdgeIndex row_end = graph.forward.offsets[v + 1];
      for (EdgeIndex e = graph.forward.offsets[v]; e < row_end; ++e) {
        const LocalId u = graph.forward.neighbours[e];
        if (bits::Test(search.seen, u)) continue;
        Number sum = search.values[u];
        if (sum.none()) search.order[reached++] = u;
        sum.Add(paths);
        search.values.Set(u, sum);
      }
    }
    for (std::size_t i = end; i < reached; ++i) {
      const LocalId v = search.order[i];
      bits::Set<false>(search.seen, v);
      const Number paths = search.values[v];
      search.at.Set(i, paths);
      found.Add(Found::Of(graph, v, paths));
    }
    search.tally->reached = reached;
    search.tally->out_edges += found.out_edges;
    search.tally->in_edges += found.in_edges;
    search.tally->most = found.most;
    search.tally->least = found.least;
  }
};
/// Counts the paths to owned vertices that were reached, in the order from `begin` to `end`.
template <class Number>
struct Settle {
  Search<Number> search;  ///< of which
  std::size_t begin;      ///< in the order
  std::size_t end;        ///< likewise
  /// Does it for the c-th chunk.
  template <class ThreadGroup>
  CHATTY_FN void operator()(std::size_t c, const ThreadGroup& group) const {
    const GraphRef& graph = search.graph;
    const std::size_t first = begin + c * kChunk, last = first + kChunk < end ? first + kChunk : end;
    Found found;
    WalkRows<Number>(
        group, graph.reverse, first, last, [&](std::size_t i) { return NextOf(search.order, i, last, graph.reverse); },
        [&](LocalId, EdgeIndex e, EdgeIndex row_end, unsigned stride) {
          return SumOfRow(search.values, graph.reverse.neighbours, e, row_end, stride);
        },
        AddNumbers{},
        [&](std::size_t i, LocalId v, const Number& sum) {
          const Number paths = sum.On(search.scale);
          search.at.Set(i, paths);
          found.Add(Found::Of(graph, v, paths));
        });
    Record(group, found, search.tally);
  }
};
/// Where Pull finds how many paths lead to a vertex.
enum class PathsFrom : std::uint8_t {
  kRows,        ///< a row's neighbours
  kMarkedRows,  ///< those of its neighbours that are marked, which the whole level before is; on host devices
  kAdded,       ///< they have been added up for it (AddPaths); on host devices
};
/// Reaches owned vertices that have a neighbour on the level before, and counts the paths to them.
template <class Number>
struct Pull {
  Search<Number> search;  ///< of which
  PathsFrom from;         ///< what is looked at
  /// Does it for the c-th chunk.
  template <class ThreadGroup>
  CHATTY_FN void operator()(std::size_t c, const ThreadGroup& group) const {
    const GraphRef& graph = search.graph;
    const std::size_t first = c * kPullChunk, last = first + kPullChunk < graph.owned ? first + kPullChunk : graph.owned;
    Found found;
    if constexpr (ThreadGroup::kMany) {
      const auto sum = [&](LocalId, EdgeIndex e, EdgeIndex row_end, unsigned stride) {
        return SumOfRow(search.values, graph.reverse.neighbours, e, row_end, stride);
      };
      WalkRows<Number>(
          group, graph.reverse, first, last,
          [&](std::size_t i) {
            const auto v = static_cast<LocalId>(i);
            return (atomics::Load(search.seen + v / 32) >> (v % 32) & 1u) != 0 ? kNoLocal : v;
          },
          sum, AddNumbers{},
          [&](std::size_t, LocalId v, const Number& of_row) {
            if (of_row.none()) return;
            const Number paths = of_row.On(search.scale);
            bits::Set<true>(search.seen, v);
            const std::uint64_t place = atomics::Add<true>(&search.tally->reached, std::uint64_t{1});
            search.order[place] = v;
            search.at.Set(place, paths);
            found.Add(Found::Of(graph, v, paths));
          });
    } else {  // alone with whole words: what is found goes to the order together
      LocalId vertices[kPullChunk];
      Number paths[kPullChunk];
      std::size_t count = 0;
      const auto take = [&](std::size_t, LocalId v, const Number& to_v) {
        if (to_v.none()) return;
        search.seen[v / 32] |= 1u << (v % 32);
        vertices[count] = v;
        paths[count++] = to_v;
        found.Add(Found::Of(graph, v, to_v));
      };
      const auto each = [&](const auto& look) {
        for (std::size_t w = first / 32; w * 32 < last; ++w) {
          for (std::uint32_t left = ~search.seen[w] & bits::Mask(w, last); left != 0; left &= left - 1) {
            look(static_cast<LocalId>(w * 32 + static_cast<unsigned>(__builtin_ctz(left))));
          }
        }
      };
      const AdjacencyRef& rows = graph.reverse;
      if (from == PathsFrom::kAdded) {
        each([&](LocalId v) { take(0, v, search.values[v]); });
      } else if (from == PathsFrom::kRows) {
        each([&](LocalId v) {
          take(0, v, SumOfRow(search.values, rows.neighbours, rows.offsets[v], rows.offsets[v + 1], 1).On(search.scale));
        });
      } else {
        const auto take_sum = [&](std::size_t i, LocalId v, const Number& sum) { take(i, v, sum.On(search.scale)); };
        MarkedRows<Number> marked(search.values, search.marks, rows);
        each([&](LocalId v) { marked.Add(0, v, take_sum); });
        marked.Flush(take_sum);
      }
      if (count == 0) return;
      const std::uint64_t place = atomics::Add<true>(&search.tally->reached, std::uint64_t{count});
      for (std::size_t i = 0; i < count; ++i) {
        search.order[place + i] = vertices[i];
        search.at.Set(place + i, paths[i]);
      }
    }
    Record(group, found, search.tally);
  }
};
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
/// Marks a level, and takes the bits of what leads to it that say it was seen. Bits of later levels may be taken, too, and
/// nobody asks.
template <class Number>
struct MarkLeading {
  Search<Number> search;  ///< of which
  std::size_t begin;      ///< of the level, in the order
  std::size_t end;        ///< likewise
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
/// Hands back: each vertex of a level has what its successors on paths have, each one and what it has itself, divided among
/// the paths there, for every path that passes it.
template <class Number>
struct HandBackLevel {
  Search<Number> search;  ///< whose values are shares now
  std::size_t begin;      ///< of the level, in the order
  std::size_t end;        ///< likewise
  double scale;           ///< of the next level, against this one
  double* out;            ///< by owned vertices; added to
  /// Does it for the c-th chunk.
  template <class ThreadGroup>
  CHATTY_FN void operator()(std::size_t c, const ThreadGroup& group) const {
    const AdjacencyRef& rows = search.graph.forward;
    const std::size_t first = begin + c * kChunk, last = first + kChunk < end ? first + kChunk : end;
    WalkRows<Number>(
        group, rows, first, last, [&](std::size_t i) { return NextOf(search.order, i, last, rows); },
        [&](LocalId, EdgeIndex e, EdgeIndex row_end, unsigned stride) {
          return SumOfRow(search.values, rows.neighbours, e, row_end, stride);
        },
        AddNumbers{}, [&](std::size_t i, LocalId v, const Number& shares) { Take(i, v, shares); });
  }
  /// Gives the i-th of the order, which is v, its due for what its successors have.
  CHATTY_FN void Take(std::size_t i, LocalId v, const Number& shares) const {
    const Number paths = search.at[i];
    const double dependency = paths.On(scale).Times(shares);  // in this order, as nothing between is out of range
    out[v] += dependency;
    search.at.Set(i, paths.Divide(1 + dependency));
  }
};
/// The same of a host device after MarkLeading of the next level.
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
/// The same for the last level, from which no path goes on.
template <class Number>
struct HandBackNothing {
  Search<Number> search;  ///< of which
  std::size_t begin;      ///< of the level, in the order
  /// Does it for the i-th.
  CHATTY_FN void operator()(std::size_t i) const { search.at.Set(begin + i, search.at[begin + i].Divide(1)); }
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
/// How many levels one group goes through before the host is asked.
inline constexpr std::size_t kSeveral = 128;
/// A level of a search.
struct Level {
  std::size_t begin;        ///< in this device's order; the next one's is its end
  double scale;             ///< of its paths, against those of the level before
  std::uint64_t out_edges;  ///< of its vertices on this device
  std::uint64_t in_edges;   ///< likewise
};
/// Levels that one group has found.
struct Progress {
  Counters tally;          ///< the device's, first, as others know it
  Counters before;         ///< as it was before the last of the levels
  std::uint64_t count;     ///< of levels
  Level levels[kSeveral];  ///< each
};
/// Levels one after the other by one group that has the graph to itself, as long as they are small: several rounds of a
/// few hundred edges in one launch.
template <class Number>
struct PushSeveral {
  Search<Number> search;  ///< of which; its scale is the first level's to be found
  std::size_t begin;      ///< of the level before, in the order
  std::size_t end;        ///< likewise
  std::uint64_t few;      ///< edges of a level; one of more is left to others
  bool whole;             ///< no level has been scaled, up to the first to be found
  double most;            ///< paths to one of the level before
  double low;             ///< powers of 2 between which paths may be
  double high;            ///< likewise
  Progress* progress;     ///< of which `tally` is the search's

  /// Does it, whatever the index.
  template <class ThreadGroup>
  CHATTY_FN void operator()(std::size_t, const ThreadGroup& group) const {
    Search<Number> now = search;
    std::size_t first = begin, last = end;
    Counters before = *search.tally;
    std::uint64_t count = 0;
    bool exact = whole;
    double paths = most;
    while (true) {
      group.Sync();  // all have read what is cleared now
      if (group.thread() == 0) ClearRange{search.tally}(0);
      group.Sync();
      const bool adds = exact && paths * static_cast<double>(search.graph.reverse.max_degree) < kWhole;
      const std::size_t reached = Find(now, first, last, adds, group);
      if (reached == last) break;
      first = last;
      last = reached;
      const Counters after = *search.tally;
      const std::uint64_t out_edges = after.out_edges - before.out_edges;
      if (group.thread() == 0) progress->levels[count] = {first, now.scale, out_edges, after.in_edges - before.in_edges};
      ++count;
      bool goes = out_edges > 0 && out_edges < few && count < kSeveral;
      if constexpr (Number::kScales) goes = goes && ScaleNext(after.most, after.least, low, high, &now.scale);
      if (!goes) break;
      exact = exact && now.scale == 1;
      paths = after.most;
      before = after;
    }
    if (group.thread() != 0) return;
    progress->before = before;
    progress->count = count;
  }

 private:
  /// One level, all of it. Returns where it ends in the order.
  template <class ThreadGroup>
  CHATTY_FN static std::size_t Find(const Search<Number>& now, std::size_t first, std::size_t last,
                                    [[maybe_unused]] bool adds, const ThreadGroup& group) {
    if constexpr (ThreadGroup::kMany) {
      if constexpr (Number::kScales) {
        if (adds) {  // whose in-edges may be many more than these out-edges
          for (std::size_t c = 0; c * kChunk < last - first; ++c) AddPaths{now, first, last, true}(c, group);
          group.Sync();
          const std::size_t reached = now.tally->reached;
          for (std::size_t c = 0; c * kChunk < reached - last; ++c) TakeAdded{now, last, reached}(c, group);
          group.Sync();
          return reached;
        }
      }
      for (std::size_t c = 0; c * kChunk < last - first; ++c) Push<Number>{now, first, last}(c, group);
      group.Sync();
      const std::size_t reached = now.tally->reached;
      for (std::size_t c = 0; c * kChunk < reached - last; ++c) Settle<Number>{now, last, reached}(c, group);
      group.Sync();
      for (std::size_t i = last + group.thread(); i < reached; i += group.threads()) Commit<Number>{now, last}(i - last);
      return reached;
    } else {
      PushAlone<Number>{now, first, last}(0);
      return now.tally->reached;
    }
  }
};
/// The way back through several levels, by one group: the last of them first.
template <class Number>
struct HandBackSeveral {
  Search<Number> search;             ///< whose values are shares now
  double* out;                       ///< by owned vertices; added to
  std::uint32_t count;               ///< of levels
  bool from_last;                    ///< no path goes on from the first that is handed back
  bool to_source;                    ///< nobody asks for what the last has
  std::size_t begins[kSeveral + 1];  ///< of levels in the order, the last in it first, and before that where it ends
  double scales[kSeveral];           ///< of the level after each, against it

  /// Does it, whatever the index.
  template <class ThreadGroup>
  CHATTY_FN void operator()(std::size_t, const ThreadGroup& group) const {
    for (std::uint32_t k = 0; k < count; ++k) {
      const std::size_t begin = begins[k + 1], end = begins[k];
      if (k == 0 && from_last) {
        const HandBackNothing<Number> step{search, begin};
        for (std::size_t i = group.thread(); i < end - begin; i += group.threads()) step(i);
      } else {
        const HandBackLevel<Number> step{search, begin, end, scales[k], out};
        for (std::size_t c = 0; c * kChunk < end - begin; ++c) step(c, group);
      }
      if (k + 1 == count && to_source) return;
      group.Sync();
      for (std::size_t i = group.thread(); i < end - begin; i += group.threads()) Commit<Number>{search, begin}(i);
      group.Sync();
    }
  }
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

/// A message with what was counted of a level: values; ids; of scaled numbers the exponents.
struct LevelPayload {
  std::byte* bytes;     ///< Size(count) of them
  std::uint64_t count;  ///< vertices

  /// Bytes of a payload.
  CHATTY_FN static constexpr std::size_t Size(std::uint64_t count) {
    return count * (sizeof(double) + sizeof(VertexId) + sizeof(std::int32_t));
  }
  /// The numbers.
  template <class Number>
  CHATTY_FN Numbers<Number> numbers() const {
    return {reinterpret_cast<double*>(bytes), reinterpret_cast<std::int32_t*>(ids() + count)};
  }
  /// Whose they are.
  CHATTY_FN VertexId* ids() const { return reinterpret_cast<VertexId*>(bytes + count * sizeof(double)); }
};
/// Packs a level of the order.
template <class Number>
struct PackLevel {
  Search<Number> search;  ///< of which
  std::size_t begin;      ///< of the level, in the order
  LevelPayload payload;   ///< into which
  /// Does it for the i-th.
  CHATTY_FN void operator()(std::size_t i) const {
    payload.ids()[i] = search.graph.Global(search.order[begin + i]);
    payload.numbers<Number>().Set(i, search.at[begin + i]);
  }
};
/// Takes another device's vertices of a level, as far as this one knows them.
template <class Number>
struct TakeLevel {
  Search<Number> search;  ///< of which
  LevelPayload payload;   ///< another's
  /// Does it for the i-th.
  CHATTY_FN void operator()(std::size_t i) const {
    const LocalId v = search.locals[payload.ids()[i]];
    if (v == kNoLocal) return;
    search.values.Set(v, payload.numbers<Number>()[i]);
    bits::Set<true>(search.seen, v);
  }
};
/// Takes owned vertices that another device reached.
template <class Number>
struct TakeClaim {
  Search<Number> search;  ///< of which
  const VertexId* ids;    ///< the vertices
  /// Does it for the i-th.
  CHATTY_FN void operator()(std::size_t i) const {
    const LocalId v = search.locals[ids[i]];
    if (bits::Set<true>(search.seen, v)) search.order[atomics::Add<true>(&search.tally->reached, std::uint64_t{1})] = v;
  }
};
/// Writes down local ids.
struct MapLocal {
  GraphRef graph;   ///< the device's part
  LocalId* locals;  ///< by vertices of the whole graph
  /// Does it for local vertex v.
  CHATTY_FN void operator()(std::size_t v) const { locals[graph.Global(static_cast<LocalId>(v))] = static_cast<LocalId>(v); }
};
/// Marks vertices as unknown.
struct MapNone {
  LocalId* locals;  ///< by vertices of the whole graph
  /// Does it for vertex v.
  CHATTY_FN void operator()(std::size_t v) const { locals[v] = kNoLocal; }
};
/// Writes down whether an owned vertex has out-edges.
struct HasEdges {
  GraphRef graph;       ///< the device's part
  LocalId vertex;       ///< which
  std::uint64_t* flag;  ///< 1, or 0
  /// Does it, whatever the index.
  CHATTY_FN void operator()(std::size_t) const { *flag = graph.forward.degree(vertex) > 0 ? 1 : 0; }
};

/// The i-th of the sources picked by `seed` from n vertices, where has_edges(v) says whether v has out-edges: one of these,
/// if a few attempts find any. The same for all who ask.
template <class HasEdgesOf>
VertexId PickSource(std::uint64_t seed, std::uint64_t i, VertexId n, HasEdgesOf&& has_edges) {
  constexpr std::uint64_t kAttempts = 64;
  for (std::uint64_t attempt = 0;; ++attempt) {
    const auto v = static_cast<VertexId>(Hash(i * kAttempts + attempt, seed) % n);
    if (attempt + 1 == kAttempts || has_edges(v)) return v;
  }
}

}  // namespace chatty::brandes
