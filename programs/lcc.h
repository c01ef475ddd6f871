/// \file
/// Local clustering coefficients, as the LDBC Graphalytics benchmark defines them (LCC).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "chatty/core/atomics.h"
#include "chatty/framework/operators/operator_program.h"
#include "chatty/framework/statistics.h"
#include "chatty/programs/triangle_counts.h"
#include "chatty/programs/verify.h"

namespace chatty {

namespace clustering {

/// Rows of neighbours in the whole graph's ids, ascending: entry i of row v is ids[offsets[v] + i].
struct Rows {
  OffsetsRef offsets;   ///< one more than there are rows
  const VertexId* ids;  ///< offsets' last many
};

/// First of [begin, end) that is not below `id`.
CHATTY_FN const VertexId* LowerBound(const VertexId* begin, const VertexId* end, VertexId id) {
  for (std::size_t size = static_cast<std::size_t>(end - begin); size > 0;) {
    const std::size_t half = size / 2;
    if (begin[half] < id) {
      begin += half + 1;
      size -= half + 1;
    } else {
      size = half;
    }
  }
  return begin;
}

/// Entries of `theirs` that `mine` has too, but for `self` and `other`. A row is walked along a much shorter one by search,
/// along another side by side.
CHATTY_FN std::uint64_t CountCommon(const VertexId* mine, const VertexId* mine_end, const VertexId* theirs,
                                    const VertexId* theirs_end, VertexId self, VertexId other) {
  constexpr std::ptrdiff_t kMuch = 16;
  const std::ptrdiff_t mine_size = mine_end - mine, their_size = theirs_end - theirs;
  const bool search_theirs = their_size > kMuch * mine_size, search_mine = mine_size > kMuch * their_size;
  std::uint64_t count = 0;
  while (mine != mine_end && theirs != theirs_end) {
    const VertexId id = *mine;
    if (id < *theirs) {
      mine = search_mine ? LowerBound(mine, mine_end, *theirs) : mine + 1;
    } else if (*theirs < id) {
      theirs = search_theirs ? LowerBound(theirs, theirs_end, id) : theirs + 1;
    } else {
      std::uint64_t run = 0;
      for (; theirs != theirs_end && *theirs == id; ++theirs) ++run;
      if (id != self && id != other) count += run;
      while (mine != mine_end && *mine == id) ++mine;
    }
  }
  return count;
}

/// The parts of a message with all rows of a device: how many rows and entries there are; where rows begin; whose they are;
/// the entries.
struct RowsPayload {
  std::byte* bytes;  ///< Size(rows, entries) of them

  /// Bytes of a payload.
  CHATTY_FN static constexpr std::size_t Size(std::uint64_t rows, std::uint64_t entries) {
    return (rows + 3) * sizeof(EdgeIndex) + (rows + entries) * sizeof(VertexId);
  }
  /// Counts of rows and of entries.
  CHATTY_FN EdgeIndex* head() const { return reinterpret_cast<EdgeIndex*>(bytes); }
  CHATTY_FN std::uint64_t rows() const { return head()[0]; }   ///< how many there are, once the head is packed
  CHATTY_FN EdgeIndex* offsets() const { return head() + 2; }  ///< of rows, and the end of the last
  /// The vertices whose rows these are, ascending.
  CHATTY_FN VertexId* owners() const { return reinterpret_cast<VertexId*>(head() + 3 + rows()); }
  CHATTY_FN VertexId* entries() const { return owners() + rows(); }  ///< all rows' neighbours
};
/// Packs a payload's counts and the last row's end; comes before what packs the rest.
struct PackHead {
  RowsPayload payload;    ///< into which
  std::uint64_t rows;     ///< of the device
  std::uint64_t entries;  ///< of all its rows
  /// Does it, whatever the index.
  CHATTY_FN void operator()(std::size_t) const {
    payload.head()[0] = rows;
    payload.head()[1] = entries;
    payload.offsets()[rows] = entries;
  }
};
/// Packs where rows begin, and whose they are.
struct PackRow {
  GraphRef graph;       ///< whose rows they are
  RowsPayload payload;  ///< into which
  /// Does it for v's row.
  CHATTY_FN void operator()(LocalId v) const {
    payload.offsets()[v] = graph.forward.offsets[v];
    payload.owners()[v] = graph.Global(v);
  }
};
/// Packs neighbours, in the whole graph's ids.
struct PackEntry {
  GraphRef graph;     ///< whose neighbours they are
  VertexId* entries;  ///< into which
  /// Does it for entry e of all rows.
  CHATTY_FN void operator()(std::size_t e) const { entries[e] = graph.Global(graph.forward.neighbours[e]); }
};

/// Whether entry e of a row that begins at `begin` is another vertex than the one before it.
CHATTY_FN bool IsFirst(const VertexId* ids, EdgeIndex begin, EdgeIndex e) { return e == begin || ids[e - 1] != ids[e]; }
/// Adds to counts[v] how many edges lead from v's neighbour u to others of them, for neighbours that this device owns.
struct CountWithin {
  GraphRef graph;         ///< the device's part
  Rows rows;              ///< its rows
  std::uint64_t* counts;  ///< by vertices that the device owns
  /// Does it for v's entry e, which is u.
  CHATTY_FN void operator()(LocalId v, LocalId u, EdgeIndex e) const {
    const EdgeIndex begin = rows.offsets[v];
    if (u >= graph.owned || u == v || !IsFirst(rows.ids, begin, e)) return;
    const std::uint64_t count = CountCommon(rows.ids + begin, rows.ids + rows.offsets[v + 1], rows.ids + rows.offsets[u],
                                            rows.ids + rows.offsets[u + 1], graph.Global(v), rows.ids[e]);
    if (count > 0) atomics::Add<true>(counts + v, count);
  }
};
/// The same for neighbours whose rows are in a payload.
struct CountAcross {
  GraphRef graph;         ///< the device's part
  Rows rows;              ///< its rows
  RowsPayload theirs;     ///< another device's rows
  std::uint32_t owner;    ///< that device
  std::uint64_t* counts;  ///< by vertices that this device owns
  /// Does it for v's entry e, which is u.
  CHATTY_FN void operator()(LocalId v, LocalId u, EdgeIndex e) const {
    const EdgeIndex begin = rows.offsets[v];
    if (u < graph.halo_begin[owner] || u >= graph.halo_begin[owner + 1] || !IsFirst(rows.ids, begin, e)) return;
    const VertexId id = rows.ids[e];
    const VertexId* const owners = theirs.owners();
    const std::size_t row = static_cast<std::size_t>(LowerBound(owners, owners + theirs.rows(), id) - owners);
    const VertexId* const entries = theirs.entries();
    const std::uint64_t count =
        CountCommon(rows.ids + begin, rows.ids + rows.offsets[v + 1], entries + theirs.offsets()[row],
                    entries + theirs.offsets()[row + 1], graph.Global(v), id);
    if (count > 0) atomics::Add<true>(counts + v, count);
  }
};
/// Finds whether there are parallel edges, other than loops: rows of a directed graph have an edge and its reverse as two.
struct FindParallel {
  GraphRef graph;        ///< the device's part
  std::uint32_t* found;  ///< 1, if there are any
  /// Does it for v's entry e, which is u.
  CHATTY_FN void operator()(LocalId v, LocalId u, EdgeIndex e) const {
    if (u != v && e > graph.forward.offsets[v] && graph.forward.neighbours[e - 1] == u) atomics::Store(found, 1u);
  }
};
/// Makes coefficients of counts.
struct Divide {
  GraphRef graph;               ///< the device's part
  const std::uint64_t* counts;  ///< by vertices that the device owns
  unsigned counted_as;          ///< as how many an edge between neighbours was counted, if its reverse counts, too
  double* out;                  ///< likewise
  /// Does it for vertex v's.
  CHATTY_FN void operator()(LocalId v) const {
    const LocalId* const ids = graph.forward.neighbours;
    const EdgeIndex begin = graph.forward.offsets[v], end = graph.forward.offsets[v + 1];
    std::uint64_t degree = 0;
    for (EdgeIndex e = begin; e < end; ++e) degree += ids[e] != v && (e == begin || ids[e - 1] != ids[e]) ? 1 : 0;
    const double found = static_cast<double>(counts[v] * (graph.symmetric ? 2 : 1)) / counted_as;
    out[v] = degree < 2 ? 0.0 : found / (static_cast<double>(degree) * static_cast<double>(degree - 1));
  }
};

}  // namespace clustering

/// Of all ordered pairs of a vertex's neighbours, by edges in or out, the share that an edge leads from the first to the
/// second of; 0 for fewer than two neighbours. Loops do not count; parallel edges, where they were kept, count each.
///
/// Without parallel edges a vertex's neighbours have as many edges as there are triangles through it: see triangle_counts.h.
/// With some, each row is intersected with those of its neighbours, and devices hand all their rows to each other, one after
/// the other. A pair of directed edges that are each other's reverse is parallel here.
struct Lcc {
  /// @{
  /// What OperatorProgram and the command line ask for.
  using Output = double;
  static constexpr auto kEdges = Edges::kBoth;
  static constexpr const char* kSummary =
      "local clustering coefficients (LDBC LCC): edges among neighbours, of all possible";
  static constexpr const char* kOutputName = "coefficient";
  /// @}

  /// Counts and what counting takes, of triangles or of edges.
  static std::uint64_t WorkBytes(const PartShape& part) {
    return part.owned * sizeof(std::uint64_t) + std::max(CountEdgesBytes(part), triangles::WorkBytes(part));
  }
  /// Likewise, of whichever takes less: parallel edges decide, and no shape tells of these.
  static std::uint64_t LeastWorkBytes(const PartShape& part) {
    return part.owned * sizeof(std::uint64_t) + std::min(CountEdgesBytes(part), AtLeastFlag(triangles::WorkBytes(part)));
  }
  /// All rows of `part` to every other, or what counting triangles hands over.
  static std::size_t ExchangeBytes(const PartShape& part, PartId from, PartId to) {
    if (from == to) return 0;
    return std::max(clustering::RowsPayload::Size(part.owned, part.forward.edges), triangles::ExchangeBytes(part));
  }

  /// The program, on one device of those that run it together.
  template <class Operators>
  void Run(Operators& ops, Output* out) const {
    Buffer<std::uint64_t> counts = ops.template Allocate<std::uint64_t>(ops.graph().owned);
    unsigned counted_as = 2;  // both ways, and of a directed graph from both ends
    if (HasParallel(ops)) {
      CountEdges(ops, counts.data());
    } else {
      counted_as = triangles::Count(ops, counts.data());
    }
    ops.ForEachVertex(clustering::Divide{ops.graph(), counts.data(), counted_as, out});
  }

  /// Against neighbours counted anew: VerifyClustering.
  Verdict Verify(const Graph& graph, std::span<const double> coefficients, const RunStatistics&) const {
    return VerifyClustering(graph, coefficients, 1e-12);
  }
  /// Of unknown origin: within the tolerance, or else within what LDBC Graphalytics allows.
  Verdict VerifyAnswer(const Graph& graph, std::span<const double> coefficients, const AnswerRules& rules) const {
    return VerifyClustering(graph, coefficients, ToleranceOf(rules));
  }

 private:
  /// What finding out which of both takes is there, too, before it.
  static std::uint64_t AtLeastFlag(std::uint64_t bytes) { return std::max<std::uint64_t>(bytes, sizeof(std::uint32_t)); }
  /// What CountEdges takes: on several devices or with ids of another width rows in the graph's own ids.
  static std::uint64_t CountEdgesBytes(const PartShape& part) {
    return AtLeastFlag(Packs(part.parts) ? clustering::RowsPayload::Size(part.owned, part.forward.edges) : 0);
  }
  /// Whether any device has parallel edges.
  template <class Operators>
  static bool HasParallel(Operators& ops) {
    Buffer<std::uint32_t> flag = ops.template Allocate<std::uint32_t>(1);
    ops.For(1, triangles::Clear<std::uint32_t>{flag.data()});
    ops.ForEachEdge(clustering::FindParallel{ops.graph(), flag.data()});
    std::uint32_t found = 0;
    ops.CopyOut(&found, flag.data(), 1);
    return ops.AllReduceSum(found) > 0;
  }
  /// Counts each edge between neighbours of an owned vertex; those of a directed graph twice.
  template <class Operators>
  static void CountEdges(Operators& ops, std::uint64_t* counts) {
    const GraphRef graph = ops.graph();
    const EdgeIndex edges = ops.subgraph_edges();
    ops.For(graph.owned, triangles::Clear<std::uint64_t>{counts});
    Buffer<std::byte> packed;
    clustering::RowsPayload payload{nullptr};
    clustering::Rows rows{graph.forward.offsets, nullptr};
    if (Packs(ops.devices())) {
      packed = ops.template Allocate<std::byte>(clustering::RowsPayload::Size(graph.owned, edges));
      payload.bytes = packed.data();
      ops.For(1, clustering::PackHead{payload, graph.owned, edges});
      VertexId* const entries = EntriesOf(payload, graph.owned);
      ops.ForEachVertex(clustering::PackRow{graph, payload});
      ops.For(edges, clustering::PackEntry{graph, entries});
      rows.ids = entries;
    } else {
      if constexpr (std::is_same_v<LocalId, VertexId>) rows.ids = graph.forward.neighbours;
    }
    ops.ForEachEdge(clustering::CountWithin{graph, rows, counts});
    const PartId devices = ops.devices();
    for (PartId step = 1; step < devices && !ops.StopRequested(); ++step) {
      const PartId to = (ops.rank() + step) % devices, from = (ops.rank() + devices - step) % devices;
      const std::byte* const theirs =
          ops.Exchange(to, packed.data(), clustering::RowsPayload::Size(graph.owned, edges), from);
      ops.ForEachEdge(clustering::CountAcross{graph, rows, {const_cast<std::byte*>(theirs)}, from, counts});
    }
  }
  /// Whether rows have to be written down in the graph's own ids; not on one device where local ids are these.
  static constexpr bool Packs(PartId parts) { return parts > 1 || !std::is_same_v<LocalId, VertexId>; }
  /// Where a device's payload, whose head may not have been written yet, has its entries.
  static VertexId* EntriesOf(const clustering::RowsPayload& payload, std::uint64_t rows) {
    return reinterpret_cast<VertexId*>(payload.head() + 3 + rows) + rows;
  }
};

}  // namespace chatty
