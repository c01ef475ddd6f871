/// \file
/// The way there: levels of a search, each with the number of shortest paths to its vertices. A level is reached by one of
/// several steps, and each is the cheapest for some levels:
/// - Push and Settle: small levels. Edges of the level before show who is reached, whose in-edges are then counted.
/// - AddPaths: as long as numbers are whole and exact, atomics add paths along the level's out-edges alone.
/// - Pull: large levels. Vertices that are not reached look for a neighbour (Beamer, Asanović and Patterson, SC'12).
/// - PushAlone and PushSeveral: many small levels in one launch, by one thread or one group, without asking the host.
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
}  // namespace chatty::brandes
