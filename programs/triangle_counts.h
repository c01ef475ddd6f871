/// \file
/// Counts the triangles at every vertex, for `triangles` and `lcc`.
///
/// Vertices are ranked by degree, and each row is split into neighbours of lower and of higher rank. A vertex marks all its
/// neighbours in a bitmap and looks up the higher neighbours of each of its lower ones: every hit is a triangle of which it
/// is not the lowest corner. Hubs are the higher end of nearly all of their edges, so no row of higher neighbours is long.
/// (Degree orders: Chiba and Nishizeki, 1985; with marks: Latapy, 2008.) A triangle is hit twice, from its middle and from
/// its highest corner. This needs neither sorted rows nor a memory update for each triangle.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "chatty/core/atomics.h"
#include "chatty/core/bitmap.h"
#include "chatty/core/graph_ref.h"
#include "chatty/core/prefetch.h"
#include "chatty/partition/part_shape.h"

namespace chatty::triangles {

/// Number of degree classes: eight for each power of two; below 16 each degree is a class.
inline constexpr unsigned kClasses = 256;
/// Vertices ranked together.
inline constexpr std::size_t kChunk = 1024;
/// Maximum length of rows that are compared directly: ranking the vertices would take longer.
inline constexpr EdgeIndex kShort = 24;

/// A degree's class.
CHATTY_FN constexpr unsigned ClassOf(EdgeIndex degree) {
  unsigned shift = 0;
  while (degree >> shift >= 16) ++shift;
  const auto leading = static_cast<unsigned>(degree >> shift);
  const unsigned of_all = shift == 0 ? leading : 8 * shift + leading;
  return of_all < kClasses ? of_all : kClasses - 1;
}

/// A payload with the classes of all vertices of a device: their number; the vertices; their classes.
struct ClassPayload {
  std::byte* bytes;  ///< Size(rows) bytes

  /// Size of a payload in bytes.
  CHATTY_FN static constexpr std::size_t Size(std::uint64_t rows) {
    return sizeof(EdgeIndex) + rows * (sizeof(VertexId) + sizeof(std::uint8_t));
  }
  /// Number of vertices.
  CHATTY_FN EdgeIndex* rows() const { return reinterpret_cast<EdgeIndex*>(bytes); }
  /// The vertices.
  CHATTY_FN VertexId* owners() const { return reinterpret_cast<VertexId*>(rows() + 1); }
  /// The classes of `count` vertices.
  CHATTY_FN std::uint8_t* classes(std::uint64_t count) const { return reinterpret_cast<std::uint8_t*>(owners() + count); }
};
/// Computes the class of an owned vertex.
struct SetClass {
  GraphRef graph;         ///< the device's part
  std::uint8_t* classes;  ///< of all vertices of the graph
  /// Computes v's class.
  CHATTY_FN void operator()(LocalId v) const {
    classes[graph.Global(v)] = static_cast<std::uint8_t>(ClassOf(graph.forward.degree(v)));
  }
};
/// Packs the classes of owned vertices.
struct PackClass {
  GraphRef graph;               ///< the device's part
  const std::uint8_t* classes;  ///< of all vertices of the graph
  ClassPayload payload;         ///< the target
  /// Packs v's class.
  CHATTY_FN void operator()(LocalId v) const {
    if (v == 0) *payload.rows() = graph.owned;
    payload.owners()[v] = graph.Global(v);
    payload.classes(graph.owned)[v] = classes[graph.Global(v)];
  }
};
/// Unpacks another device's classes.
struct TakeClass {
  ClassPayload theirs;    ///< the other device's payload
  EdgeIndex rows;         ///< number of vertices in it
  std::uint8_t* classes;  ///< of all vertices of the graph
  /// Unpacks the i-th class.
  CHATTY_FN void operator()(std::size_t i) const { classes[theirs.owners()[i]] = theirs.classes(rows)[i]; }
};

/// Vertices in chunks by id. They are to be ordered by class, and within a class by id: the same on every device.
struct Chunks {
  const std::uint8_t* classes;  ///< of all vertices
  std::uint64_t vertices;       ///< of the whole graph
  VertexId* places;             ///< positions, by class, then by chunk

  /// Number of entries of `places`.
  CHATTY_FN static constexpr std::size_t Places(std::uint64_t vertices) { return kClasses * Count(vertices); }
  /// Number of chunks.
  CHATTY_FN static constexpr std::size_t Count(std::uint64_t vertices) { return (vertices + kChunk - 1) / kChunk; }
  /// The first vertex of chunk c.
  CHATTY_FN std::size_t Begin(std::size_t c) const { return c * kChunk; }
  CHATTY_FN std::size_t End(std::size_t c) const {  ///< The end of chunk c.
    return (c + 1) * kChunk < vertices ? (c + 1) * kChunk : vertices;
  }
  /// The position of class k and chunk c.
  CHATTY_FN VertexId& Place(unsigned k, std::size_t c) const { return places[k * Count(vertices) + c]; }
};
/// Counts a chunk's vertices by class.
struct CountClasses {
  Chunks chunks;  ///< with the positions to set
  /// Counts chunk c.
  template <class ThreadGroup>
  CHATTY_FN void operator()(std::size_t c, const ThreadGroup& group) const {
    if constexpr (ThreadGroup::kMany) {  // each thread counts separate classes
      for (unsigned k = group.thread(); k < kClasses; k += group.threads()) {
        VertexId count = 0;
        for (std::size_t v = chunks.Begin(c); v < chunks.End(c); ++v) count += chunks.classes[v] == k ? 1 : 0;
        chunks.Place(k, c) = count;
      }
    } else {
      VertexId count[kClasses] = {};
      for (std::size_t v = chunks.Begin(c); v < chunks.End(c); ++v) ++count[chunks.classes[v]];
      for (unsigned k = 0; k < kClasses; ++k) chunks.Place(k, c) = count[k];
    }
  }
};
/// Ranks a chunk's vertices, after a prefix sum over positions.
struct Rank {
  Chunks chunks;    ///< positions are the first of each class and chunk
  VertexId* ranks;  ///< of all vertices of the graph; higher degrees have higher ranks
  /// Ranks chunk c.
  template <class ThreadGroup>
  CHATTY_FN void operator()(std::size_t c, const ThreadGroup& group) const {
    if constexpr (ThreadGroup::kMany) {
      for (unsigned k = group.thread(); k < kClasses; k += group.threads()) {
        VertexId next = chunks.Place(k, c);
        for (std::size_t v = chunks.Begin(c); v < chunks.End(c); ++v) {
          if (chunks.classes[v] == k) ranks[v] = next++;
        }
      }
    } else {
      VertexId next[kClasses];
      for (unsigned k = 0; k < kClasses; ++k) next[k] = chunks.Place(k, c);
      for (std::size_t v = chunks.Begin(c); v < chunks.End(c); ++v) ranks[v] = next[chunks.classes[v]]++;
    }
  }
};

/// Rows of owned vertices as ranks, each neighbour once: lower neighbours from the row's begin, higher ones up to the row's
/// end, in any order. The gap between them is as long as the number of loops and parallel edges.
struct SplitRows {
  OffsetsRef offsets;  ///< of rows with gaps
  VertexId* ranks;     ///< of neighbours
  VertexId* lower;     ///< number of lower neighbours of each owned vertex
  VertexId* higher;    ///< number of higher neighbours
};
/// Splits rows; the counts must be 0 before.
struct SplitRow {
  GraphRef graph;         ///< the device's part
  const VertexId* ranks;  ///< of all vertices of the graph
  SplitRows rows;         ///< the target
  /// Splits the row of v.
  template <class ThreadGroup>
  CHATTY_FN void operator()(std::size_t i, const ThreadGroup& group) const {
    const auto v = static_cast<LocalId>(i);
    const LocalId* const neighbours = graph.forward.neighbours;
    const EdgeIndex begin = rows.offsets[v], end = rows.offsets[v + 1];
    const VertexId own = ranks[graph.Global(v)];
    VertexId lower = 0, higher = 0;  // counts of a single thread
    for (EdgeIndex e = begin + group.thread(); e < end; e += group.threads()) {
      const LocalId u = neighbours[e];
      if (u == v || (e > begin && neighbours[e - 1] == u)) continue;
      const VertexId rank = ranks[graph.Global(u)];
      if constexpr (ThreadGroup::kMany) {
        if (rank < own) {
          rows.ranks[begin + atomics::Add<true>(rows.lower + v, VertexId{1})] = rank;
        } else {
          rows.ranks[end - 1 - atomics::Add<true>(rows.higher + v, VertexId{1})] = rank;
        }
      } else {  // both positions are free; a branch would be unpredictable
        rows.ranks[begin + lower] = rows.ranks[end - 1 - higher] = rank;
        lower += rank < own ? 1 : 0;
        higher += rank < own ? 0 : 1;
      }
    }
    if constexpr (!ThreadGroup::kMany) {
      rows.lower[v] = lower;
      rows.higher[v] = higher;
    }
  }
};

/// The higher neighbours of a vertex, and the index of its count.
struct Stretch {
  EdgeIndex begin;  ///< of its higher neighbours
  VertexId size;    ///< their number; 0 if less than two, and for vertices whose rows are not here
  VertexId row;     ///< its index among the vertices of its owner
};
/// A stretch of `size` higher neighbours.
CHATTY_FN Stretch MakeStretch(EdgeIndex begin, VertexId size, std::size_t row) {
  return {begin, size < 2 ? 0 : size, static_cast<VertexId>(row)};
}
/// Sets the stretches of owned vertices.
struct PointToOwn {
  GraphRef graph;         ///< the device's part
  const VertexId* ranks;  ///< of all vertices of the graph
  SplitRows rows;         ///< of the device
  Stretch* stretches;     ///< by rank
  /// Sets v's stretch.
  CHATTY_FN void operator()(LocalId v) const {
    stretches[ranks[graph.Global(v)]] = MakeStretch(rows.offsets[v + 1] - rows.higher[v], rows.higher[v], v);
  }
};
/// Sets all stretches to empty.
struct PointNowhere {
  Stretch* stretches;  ///< by rank
  /// Sets the stretch of rank r.
  CHATTY_FN void operator()(std::size_t r) const { stretches[r].size = 0; }
};

/// A payload with the higher neighbours of all vertices of a device: the numbers of vertices and of neighbours; first
/// entries of rows; their vertices; the neighbours. All vertices are ranks.
struct RowsPayload {
  std::byte* bytes;  ///< Size(rows, entries) bytes

  /// Size of a payload in bytes.
  CHATTY_FN static constexpr std::size_t Size(std::uint64_t rows, std::uint64_t entries) {
    return (rows + 3) * sizeof(EdgeIndex) + (rows + entries) * sizeof(VertexId);
  }
  /// Counts of rows and of entries.
  CHATTY_FN EdgeIndex* head() const { return reinterpret_cast<EdgeIndex*>(bytes); }
  CHATTY_FN EdgeIndex* offsets() const { return head() + 2; }  ///< first entries of rows, and the end of the last
  /// The vertices of these rows, `rows` of them.
  CHATTY_FN VertexId* owners(std::uint64_t rows) const { return reinterpret_cast<VertexId*>(head() + 3 + rows); }
  CHATTY_FN VertexId* entries(std::uint64_t rows) const { return owners(rows) + rows; }  ///< their higher neighbours
};
/// Packs the lengths of rows, and a 0 at the end.
struct PackLength {
  SplitRows rows;       ///< of the device
  RowsPayload payload;  ///< the target
  EdgeIndex owned;      ///< number of rows
  /// Packs the length of row i.
  CHATTY_FN void operator()(std::size_t i) const { payload.offsets()[i] = i < owned ? rows.higher[i] : 0; }
};
/// Packs a row, after a prefix sum over lengths.
struct PackRow {
  GraphRef graph;         ///< the device's part
  const VertexId* ranks;  ///< of all vertices of the graph
  SplitRows rows;         ///< of the device
  RowsPayload payload;    ///< the target
  /// Packs the row of v.
  template <class ThreadGroup>
  CHATTY_FN void operator()(std::size_t i, const ThreadGroup& group) const {
    const auto v = static_cast<LocalId>(i);
    if (group.thread() == 0) payload.owners(graph.owned)[v] = ranks[graph.Global(v)];
    const VertexId* const from = rows.ranks + (rows.offsets[v + 1] - rows.higher[v]);
    VertexId* const to = payload.entries(graph.owned) + payload.offsets()[v];
    for (std::size_t k = group.thread(); k < rows.higher[v]; k += group.threads()) to[k] = from[k];
  }
};
/// Packs the counts.
struct PackHead {
  RowsPayload payload;  ///< the target
  EdgeIndex owned;      ///< number of rows
  /// Packs the head; ignores the index.
  CHATTY_FN void operator()(std::size_t) const {
    payload.head()[0] = owned;
    payload.head()[1] = payload.offsets()[owned];
  }
};
/// Sets the stretches of a payload's rows.
struct PointToTheirs {
  RowsPayload theirs;  ///< another device's rows
  EdgeIndex rows;      ///< number of rows
  Stretch* stretches;  ///< by rank
  /// Sets the stretch of the i-th row.
  CHATTY_FN void operator()(std::size_t i) const {
    const EdgeIndex begin = theirs.offsets()[i];
    stretches[theirs.owners(rows)[i]] = MakeStretch(begin, static_cast<VertexId>(theirs.offsets()[i + 1] - begin), i);
  }
};

/// A bitmap over ranks for each thread group.
struct Bitmaps {
  std::uint32_t* words;  ///< of all bitmaps
  std::size_t size;      ///< words of one bitmap

  /// Words of one bitmap, a multiple of a cache line.
  static constexpr std::size_t Size(std::uint64_t vertices) { return (bits::Words(vertices) + 31) / 32 * 32; }
  /// Total words of the bitmaps: as much memory as the rows take, within bounds. Not rounded to whole bitmaps, so that the
  /// sum over parts is at least that of as many equal parts.
  static std::size_t AllWords(std::uint64_t vertices, std::uint64_t edges) {
    constexpr std::uint64_t kFewest = 64, kMax = 2048;
    return static_cast<std::size_t>(std::clamp<std::uint64_t>(edges, kFewest * Size(vertices), kMax * Size(vertices)));
  }
};
/// Sets to zero.
template <class T>
struct Clear {
  T* values;  ///< the array
  /// Clears element i.
  CHATTY_FN void operator()(std::size_t i) const { values[i] = T{}; }
};

/// Finds the triangles of an owned vertex with the lower neighbours in a table of stretches. Counts each as two at the owned
/// vertex, and as one at the lower neighbour if that is the lowest corner. The third corner finds it, too, so that all
/// corners count two.
struct CountAround {
  SplitRows rows;               ///< of the device
  const Stretch* stretches;     ///< by rank
  const VertexId* higher;       ///< the array that stretches refer to
  Bitmaps bitmaps;              ///< all clear, before and after
  std::uint64_t* counts;        ///< of owned vertices
  std::uint64_t* their_counts;  ///< of the rows that the stretches refer to

  /// Processes v, the i-th.
  template <class ThreadGroup>
  CHATTY_FN void operator()(std::size_t i, const ThreadGroup& group) const {
    const auto v = static_cast<LocalId>(i);
    const EdgeIndex lower_begin = rows.offsets[v], lower_end = lower_begin + rows.lower[v];
    const EdgeIndex higher_end = rows.offsets[v + 1], higher_begin = higher_end - rows.higher[v];
    if (lower_begin == lower_end || (lower_end - lower_begin) + (higher_end - higher_begin) < 2) return;
    std::uint32_t* const marks = bitmaps.words + group.index() * bitmaps.size;
    if constexpr (!ThreadGroup::kMany) {
      for (EdgeIndex k = lower_begin; k < lower_end && k < lower_begin + kStretchAhead; ++k) AskForStretch(k);
    }
    Mark(marks, lower_begin, lower_end, group);
    Mark(marks, higher_begin, higher_end, group);
    group.Sync();
    if constexpr (!ThreadGroup::kMany) {
      for (EdgeIndex k = lower_begin; k < lower_end && k < lower_begin + kRowAhead; ++k) AskForRow(k);
    }
    std::uint64_t found = 0;
    for (EdgeIndex k = lower_begin + group.warp(); k < lower_end; k += group.warps()) {
      if constexpr (!ThreadGroup::kMany) {
        if (k + kStretchAhead < lower_end) AskForStretch(k + kStretchAhead);
        if (k + kRowAhead < lower_end) AskForRow(k + kRowAhead);
      }
      const Stretch stretch = stretches[rows.ranks[k]];
      if (stretch.size == 0) continue;
      const VertexId* const ids = higher + stretch.begin;
      std::uint32_t hits = 0;
      VertexId j = group.lane();
      constexpr unsigned kLanes = ThreadGroup::lanes();
      for (; j + 3 * kLanes < stretch.size; j += 4 * kLanes) {  // four independent loads at a time
        hits += Test(marks, ids[j]) + Test(marks, ids[j + kLanes]) + Test(marks, ids[j + 2 * kLanes]) +
                Test(marks, ids[j + 3 * kLanes]);
      }
      for (; j < stretch.size; j += kLanes) hits += Test(marks, ids[j]);
      hits = group.SumOfWarp(hits);
      if (group.lane() == 0 && hits > 0) {
        found += hits;
        atomics::Add<true>(their_counts + stretch.row, std::uint64_t{hits});
      }
    }
    if (found > 0) atomics::Add<true>(counts + v, 2 * found);
    group.Sync();
    Unmark(marks, lower_begin, lower_end, group);
    Unmark(marks, higher_begin, higher_end, group);
  }

 private:
  /// A single thread prefetches: stretches, and the neighbours that they refer to.
  static constexpr EdgeIndex kStretchAhead = 32, kRowAhead = 8;

  CHATTY_FN static std::uint32_t Test(const std::uint32_t* marks, VertexId rank) {
    return (marks[rank >> 5] >> (rank & 31)) & 1u;
  }
  CHATTY_FN void AskForStretch(EdgeIndex k) const { Prefetch(stretches + rows.ranks[k]); }
  CHATTY_FN void AskForRow(EdgeIndex k) const {
    constexpr EdgeIndex kLine = 64 / sizeof(VertexId);
    const Stretch next = stretches[rows.ranks[k]];
    if (next.size == 0) return;
    const VertexId* const row = higher + next.begin;
    for (EdgeIndex j = 0; j < next.size; j += kLine) Prefetch(row + j);
    Prefetch(row + next.size - 1);
  }
  template <class ThreadGroup>
  CHATTY_FN void Mark(std::uint32_t* marks, EdgeIndex begin, EdgeIndex end, const ThreadGroup& group) const {
    for (EdgeIndex k = begin + group.thread(); k < end; k += group.threads()) {
      const VertexId rank = rows.ranks[k];
      atomics::Or<ThreadGroup::kMany>(marks + (rank >> 5), 1u << (rank & 31));
    }
  }
  template <class ThreadGroup>
  CHATTY_FN void Unmark(std::uint32_t* marks, EdgeIndex begin, EdgeIndex end, const ThreadGroup& group) const {
    for (EdgeIndex k = begin + group.thread(); k < end; k += group.threads())
      atomics::Store(marks + (rows.ranks[k] >> 5), 0u);
  }
};
/// Adds another device's counts of owned vertices.
struct AddTheirs {
  std::uint64_t* counts;        ///< of owned vertices
  const std::uint64_t* theirs;  ///< of owned vertices
  /// Adds the i-th count.
  CHATTY_FN void operator()(std::size_t i) const { counts[i] += theirs[i]; }
};

/// Finds the triangles with v as the middle by id, on a single device with ascending rows; counts each as one at all
/// corners. For short rows, of which a comparison takes little time.
struct CompareRows {
  GraphRef graph;         ///< the whole graph
  std::uint64_t* counts;  ///< by vertices
  /// Processes v.
  CHATTY_FN void operator()(LocalId v) const {
    const LocalId* const ids = graph.forward.neighbours;
    const OffsetsRef offsets = graph.forward.offsets;
    const EdgeIndex begin = offsets[v], end = offsets[v + 1];
    if (begin == end || ids[begin] >= v || ids[end - 1] <= v) return;
    std::uint64_t found = 0;
    for (EdgeIndex e = begin; ids[e] < v;
         ++e) {  // stops at the first neighbour that is not less than v: the last one is greater
      const LocalId u = ids[e];
      if (e > begin && ids[e - 1] == u) continue;
      // Compares from the rows' ends, down to u and v, which are in both rows and below all candidates. If a graph is not
      // symmetric as the caller promised, u's row lacks v.
      const EdgeIndex first = offsets[u], last = offsets[u + 1];
      if (first == last || ids[first] > v) continue;
      EdgeIndex mine = end - 1, theirs = last - 1;
      LocalId a = ids[mine], b = ids[theirs];
      std::uint64_t hits = 0;
      while (a > v && b > v) {
        if (a == b) {
          ++hits;
          atomics::Add<true>(counts + a, std::uint64_t{1});
          while (ids[mine] == a) --mine;
          --theirs;
        } else {
          mine -= a > b ? 1 : 0;
          theirs -= b > a ? 1 : 0;
        }
        a = ids[mine];
        b = ids[theirs];
      }
      if (hits > 0) atomics::Add<true>(counts + u, hits);
      found += hits;
    }
    if (found > 0) atomics::Add<true>(counts + v, found);
  }
};

/// Whether rows are compared directly.
inline bool Compares(PartId parts, EdgeIndex max_degree) { return parts == 1 && max_degree <= kShort; }

/// Device memory that Count takes for such a part.
inline std::uint64_t WorkBytes(const PartShape& part) {
  if (Compares(part.parts, part.forward.max_degree)) return 0;
  std::uint64_t ranking = part.vertices * sizeof(std::uint8_t) + Chunks::Places(part.vertices) * sizeof(VertexId);
  std::uint64_t counting = (part.forward.edges + 2 * part.owned) * sizeof(VertexId) + part.vertices * sizeof(Stretch) +
                           Bitmaps::AllWords(part.vertices, part.forward.edges) * sizeof(std::uint32_t);
  if (part.parts > 1) {
    ranking += ClassPayload::Size(part.owned);
    counting += RowsPayload::Size(part.owned, part.forward.edges) + (part.vertices - part.owned) * sizeof(std::uint64_t);
  }
  return part.vertices * sizeof(VertexId) + std::max(ranking, counting);
}
/// Maximum that Count sends from a part to another: all its rows, or its counts of all vertices of the other.
inline std::size_t ExchangeBytes(const PartShape& part) {
  return std::max<std::size_t>(RowsPayload::Size(part.owned, part.forward.edges),
                               (part.vertices - part.owned) * sizeof(std::uint64_t));
}

/// Ranks all vertices by degree; the result is the same on all devices.
template <class Operators>
void RankAll(Operators& ops, VertexId* ranks) {
  const GraphRef graph = ops.graph();
  auto classes = ops.template Allocate<std::uint8_t>(graph.vertices);
  auto places = ops.template Allocate<VertexId>(Chunks::Places(graph.vertices));
  ops.ForEachVertex(SetClass{graph, classes.data()});
  if (const PartId devices = ops.devices(); devices > 1) {
    const std::size_t bytes = ClassPayload::Size(graph.owned);
    auto packed = ops.template Allocate<std::byte>(bytes);
    const ClassPayload payload{packed.data()};
    if (graph.owned == 0) ops.For(1, Clear<EdgeIndex>{payload.rows()});
    ops.ForEachVertex(PackClass{graph, classes.data(), payload});
    for (PartId step = 1; step < devices; ++step) {
      const PartId to = (ops.rank() + step) % devices, from = (ops.rank() + devices - step) % devices;
      const ClassPayload theirs{const_cast<std::byte*>(ops.Exchange(to, packed.data(), bytes, from))};
      EdgeIndex rows = 0;
      ops.CopyOut(&rows, theirs.rows(), 1);
      ops.For(rows, TakeClass{theirs, rows, classes.data()});
    }
  }
  const Chunks chunks{classes.data(), graph.vertices, places.data()};
  const std::size_t count = Chunks::Count(graph.vertices);
  ops.ForEachGroup(count, ops.groups(), CountClasses{chunks});
  ops.ExclusiveSum(places.data(), Chunks::Places(graph.vertices));
  ops.ForEachGroup(count, ops.groups(), Rank{chunks, ranks});
}

/// Counts the triangles at each owned vertex into `counts`, in a graph of edges in both directions (Edges::kBoth). Returns
/// how often each triangle was counted: once or twice, the same on all devices. Loops and parallel edges do not count.
/// Several devices broadcast their rows of higher neighbours in turn. After a stop request, counts are incomplete.
template <class Operators>
unsigned Count(Operators& ops, std::uint64_t* counts) {
  const GraphRef graph = ops.graph();
  const PartId devices = ops.devices();
  ops.For(graph.owned, Clear<std::uint64_t>{counts});
  if (Compares(devices, graph.forward.max_degree)) {
    ops.ForEachVertex(CompareRows{graph, counts});
    return 1;
  }
  const EdgeIndex edges = ops.subgraph_edges();
  auto ranks = ops.template Allocate<VertexId>(graph.vertices);
  RankAll(ops, ranks.data());

  auto neighbours = ops.template Allocate<VertexId>(edges);
  auto lower = ops.template Allocate<VertexId>(graph.owned);
  auto higher = ops.template Allocate<VertexId>(graph.owned);
  const SplitRows rows{graph.forward.offsets, neighbours.data(), lower.data(), higher.data()};
  ops.For(graph.owned, Clear<VertexId>{rows.lower});
  ops.For(graph.owned, Clear<VertexId>{rows.higher});
  ops.ForEachGroup(graph.owned, ops.groups(), SplitRow{graph, ranks.data(), rows});

  auto stretches = ops.template Allocate<Stretch>(graph.vertices);
  auto words = ops.template Allocate<std::uint32_t>(Bitmaps::AllWords(graph.vertices, edges));
  const std::size_t size = Bitmaps::Size(graph.vertices), most = size == 0 ? 0 : words.size() / size;
  const Bitmaps bitmaps{words.data(), size};
  ops.For(std::min(most, ops.groups()) * size, Clear<std::uint32_t>{words.data()});
  if (devices > 1) ops.For(graph.vertices, PointNowhere{stretches.data()});
  ops.ForEachVertex(PointToOwn{graph, ranks.data(), rows, stretches.data()});
  ops.ForEachGroup(graph.owned, most, CountAround{rows, stretches.data(), rows.ranks, bitmaps, counts, counts});
  if (devices == 1) return 2;

  auto packed = ops.template Allocate<std::byte>(RowsPayload::Size(graph.owned, edges));
  auto found = ops.template Allocate<std::uint64_t>(graph.vertices - graph.owned);
  const RowsPayload payload{packed.data()};
  ops.For(std::size_t{graph.owned} + 1, PackLength{rows, payload, graph.owned});
  ops.ExclusiveSum(payload.offsets(), std::size_t{graph.owned} + 1);
  ops.For(1, PackHead{payload, graph.owned});
  ops.ForEachGroup(graph.owned, ops.groups(), PackRow{graph, ranks.data(), rows, payload});
  EdgeIndex head[2] = {};
  ops.CopyOut(head, payload.head(), 2);
  const std::size_t bytes = RowsPayload::Size(head[0], head[1]);
  for (PartId step = 1; step < devices && !ops.StopRequested(); ++step) {
    const PartId to = (ops.rank() + step) % devices, from = (ops.rank() + devices - step) % devices;
    const RowsPayload theirs{const_cast<std::byte*>(ops.Exchange(to, packed.data(), bytes, from))};
    ops.CopyOut(head, theirs.head(), 1);
    const EdgeIndex count = head[0];
    ops.For(graph.vertices, PointNowhere{stretches.data()});
    ops.For(count, PointToTheirs{theirs, count, stretches.data()});
    ops.For(count, Clear<std::uint64_t>{found.data()});
    ops.ForEachGroup(graph.owned, most,
                     CountAround{rows, stretches.data(), theirs.entries(count), bitmaps, counts, found.data()});
    const std::uint64_t* const at_mine = ops.Exchange(from, found.data(), count, to);
    ops.For(graph.owned, AddTheirs{counts, at_mine});
  }
  return 2;
}

}  // namespace chatty::triangles
