/// \file
/// Brandes' forward pass: the levels of a search, and the number of shortest paths to each vertex. Each level takes one of
/// several steps, and each step is the cheapest for some levels:
/// - Push and Settle: small levels. Edges of the previous level find the vertices; then their in-edges are summed.
/// - AddPaths: while counts are whole and exact, atomics add paths along the previous level's out-edges alone.
/// - Pull: large levels. Unreached vertices search their rows for a neighbour (Beamer, Asanović and Patterson, SC'12).
/// - PushAlone and PushSeveral: many small levels in one launch, by one thread or by groups with a barrier, without the
///   host.
#pragma once

#include <cstddef>
#include <cstdint>

#include "chatty/core/atomics.h"
#include "chatty/core/bitmap.h"
#include "chatty/core/graph_ref.h"
#include "chatty/core/prefetch.h"
#include "chatty/programs/bc/marked_rows.h"
#include "chatty/programs/bc/path_numbers.h"
#include "chatty/programs/bc/search.h"

namespace chatty::brandes {

/// Reaches the neighbours of a level's owned vertices that were not reached before.
template <class Number>
struct Push {
  Search<Number> search;  ///< the search
  std::size_t begin;      ///< position in the order of the level's first vertex
  std::size_t end;        ///< position after the level's last vertex
  /// Does it for the c-th chunk.
  template <class ThreadGroup>
  CHATTY_FN void operator()(std::size_t c, const ThreadGroup& group) const {
    const GraphRef& graph = search.graph;
    constexpr std::size_t kSize = kChunkOf<ThreadGroup>;
    const std::size_t first = begin + c * kSize, last = first + kSize < end ? first + kSize : end;
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
/// Adds the paths of a level's vertices to those of their neighbours, and reads no other edges. Needs exact counts, so that
/// the order of additions has no effect. Incomplete numbers are not read, because nothing is pulled at the same time.
struct AddPaths {
  Search<Plain> search;  ///< the search
  std::size_t begin;     ///< position in the order of the level's first vertex
  std::size_t end;       ///< position after the level's last vertex
  bool lists;            ///< appends what is reached to the order; otherwise Pull finds it

  /// How many neighbours ahead a CPU prefetches the sum: an atomic waits for all accesses before it.
  static constexpr EdgeIndex kTargetsAhead = 24;

  /// Does it for the c-th chunk.
  template <class ThreadGroup>
  CHATTY_FN void operator()(std::size_t c, const ThreadGroup& group) const {
    const GraphRef& graph = search.graph;
    constexpr std::size_t kSize = kChunkOf<ThreadGroup>;
    const std::size_t first = begin + c * kSize, last = first + kSize < end ? first + kSize : end;
    [[maybe_unused]] LocalId together[ThreadGroup::kMany ? 1 : kChunk];  // a single thread reserves places for many
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
/// Completes a level from the vertices that AddPaths has reached: those in the order from `begin` to `end`.
struct TakeAdded {
  Search<Plain> search;  ///< the search
  std::size_t begin;     ///< position in the order of the first vertex
  std::size_t end;       ///< position after the last one
  /// Does it for the c-th chunk.
  template <class ThreadGroup>
  CHATTY_FN void operator()(std::size_t c, const ThreadGroup& group) const {
    constexpr std::size_t kSize = kChunkOf<ThreadGroup>;
    const std::size_t first = begin + c * kSize, last = first + kSize < end ? first + kSize : end;
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
/// A whole level by one thread that works alone and visits its edges once. A vertex whose bit is not set has the paths
/// counted so far. They are not taken for a previous level's, because nothing is pulled at the same time.
template <class Number>
struct PushAlone {
  Search<Number> search;  ///< the search
  std::size_t begin;      ///< position in the order of the level's first vertex
  std::size_t end;        ///< position after the level's last vertex
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
  Search<Number> search;  ///< the search
  std::size_t begin;      ///< position in the order of the first vertex
  std::size_t end;        ///< position after the last one
  /// Does it for the c-th chunk.
  template <class ThreadGroup>
  CHATTY_FN void operator()(std::size_t c, const ThreadGroup& group) const {
    const GraphRef& graph = search.graph;
    constexpr std::size_t kSize = kChunkOf<ThreadGroup>;
    const std::size_t first = begin + c * kSize, last = first + kSize < end ? first + kSize : end;
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
/// Where Pull gets the number of paths to a vertex from.
enum class PathsFrom : std::uint8_t {
  kRows,        ///< the row's neighbours
  kMarkedRows,  ///< the marked neighbours, which are the previous level; on host devices
  kAdded,       ///< AddPaths has summed them; on host devices
};
/// Reaches owned vertices with a neighbour on the previous level, and counts the paths to them.
template <class Number>
struct Pull {
  Search<Number> search;  ///< the search
  PathsFrom from;         ///< source of the numbers
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
    } else {  // one thread has whole words, and appends its vertices together
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

/// Processes consecutive levels while they are small, in one launch of groups with two barriers per level: after its
/// vertices are reached, and after their paths are counted.
template <class Number>
struct PushSeveral {
  Search<Number> search;  ///< the search; its scale is that of the first level to find
  std::size_t begin;      ///< position in the order of the previous level's first vertex
  std::size_t end;        ///< position after the previous level's last vertex
  std::uint64_t few;      ///< a level with at least this number of edges is left to other steps
  bool whole;             ///< no level up to the first to find has been scaled
  double most;            ///< largest number of paths to a vertex of the previous level
  double low;             ///< least exponent of 2 of a path count
  double high;            ///< largest exponent
  Progress* progress;     ///< its `tally` is the search's

  /// Does it: all threads of all groups call it.
  template <class ThreadGroup, class Grid>
  CHATTY_FN void operator()(const ThreadGroup& group, const Grid& grid) const {
    Search<Number> now = search;
    std::size_t first = begin, last = end;
    Counters before = *search.tally, after = before;
    std::uint64_t count = 0;
    bool exact = whole, commits = false;
    double paths = most;
    if (grid.rank() == 0) {
      for (std::size_t i = group.thread(); i < kSeveral; i += group.threads()) {
        progress->found[i] = {0, 0, 0, 0, Found::kNoLeast};
      }
    }
    grid.Sync();  // all have read the tally, and the counters of levels are clear
    while (true) {
      const bool adds = exact && paths * static_cast<double>(search.graph.reverse.max_degree) < kWhole;
      if (adds && commits) grid.Sync();  // AddPaths reads what was committed
      commits = !adds;
      const std::size_t reached = Find(now, first, last, adds, progress->found + count, group, grid);
      if (reached == last) {
        before = after;
        break;
      }
      first = last;
      last = reached;
      const Counters found = progress->found[count];
      before = after;
      after = {reached, before.out_edges + found.out_edges, before.in_edges + found.in_edges, found.most, found.least};
      if (grid.rank() == 0 && group.thread() == 0) {
        progress->levels[count] = {first, now.scale, found.out_edges, found.in_edges};
      }
      ++count;
      bool goes = found.out_edges > 0 && found.out_edges < few && count < kSeveral;
      if constexpr (Number::kScales) goes = goes && ScaleNext(found.most, found.least, low, high, &now.scale);
      if (!goes) break;
      exact = exact && now.scale == 1;
      paths = found.most;
    }
    if (grid.rank() != 0 || group.thread() != 0) return;
    *search.tally = after;
    progress->before = before;
    progress->count = count;
  }

 private:
  /// Processes one level. Returns its end in the order.
  template <class ThreadGroup, class Grid>
  CHATTY_FN static std::size_t Find(const Search<Number>& level, std::size_t first, std::size_t last,
                                    [[maybe_unused]] bool adds, Counters* found, const ThreadGroup& threads,
                                    const Grid& grid) {
    if constexpr (ThreadGroup::kMany) {
      const RowsOfFew<ThreadGroup> group(threads);
      constexpr std::size_t kSize = kChunkOf<RowsOfFew<ThreadGroup>>;
      const std::uint64_t* const end = &level.tally->reached;
      Search<Number> counted = level;
      counted.tally = found;
      if constexpr (Number::kScales) {
        if (adds) {  // the next level may have many more in-edges than these out-edges
          for (std::size_t c = grid.rank(); c * kSize < last - first; c += grid.size()) {
            AddPaths{level, first, last, true}(c, group);
          }
          grid.Sync();
          const std::size_t reached = atomics::Load(end);
          for (std::size_t c = grid.rank(); c * kSize < reached - last; c += grid.size()) {
            TakeAdded{counted, last, reached}(c, group);
          }
          grid.Sync();
          return reached;
        }
      }
      for (std::size_t c = grid.rank(); c * kSize < last - first; c += grid.size()) {
        Push<Number>{level, first, last}(c, group);
      }
      grid.Sync();
      const std::size_t reached = atomics::Load(end);
      for (std::size_t c = grid.rank(); c * kSize < reached - last; c += grid.size()) {
        Settle<Number>{counted, last, reached}(c, group);
      }
      grid.Sync();
      // The next level's pushes read no values, so they need not wait for these.
      for (std::size_t i = last + grid.rank() * threads.threads() + threads.thread(); i < reached;
           i += grid.size() * threads.threads()) {
        Commit<Number>{level, last}(i - last);
      }
      return reached;
    } else {
      Search<Number> counted = level;
      counted.tally = found;
      PushAlone<Number>{counted, first, last}(0);
      return found->reached;
    }
  }
};
}  // namespace chatty::brandes
