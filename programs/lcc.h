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

/// Rows of neighbours as global ids, ascending: entry i of row v is ids[offsets[v] + i].
struct Rows {
  OffsetsRef offsets;   ///< one more than there are rows
  const VertexId* ids;  ///< as many as the last offset
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

/// Number of entries of `theirs` that are also in `mine`, except `self` and `other`. A row that is much longer than the
/// other is searched; otherwise both are merged.
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

/// The parts of a payload with all rows of a device: the numbers of rows and entries; first entries of rows; their vertices;
/// the entries.
struct RowsPayload {
  std::byte* bytes;  ///< Size(rows, entries) bytes

  /// Size of a payload in bytes.
  CHATTY_FN static constexpr std::size_t Size(std::uint64_t rows, std::uint64_t entries) {
    return (rows + 3) * sizeof(EdgeIndex) + (rows + entries) * sizeof(VertexId);
  }
  /// Counts of rows and of entries.
  CHATTY_FN EdgeIndex* head() const { return reinterpret_cast<EdgeIndex*>(bytes); }
  CHATTY_FN std::uint64_t rows() const { return head()[0]; }   ///< number of rows, valid after the head is packed
  CHATTY_FN EdgeIndex* offsets() const { return head() + 2; }  ///< first entries of rows, and the end of the last
  /// The vertices whose rows these are, ascending.
  CHATTY_FN VertexId* owners() const { return reinterpret_cast<VertexId*>(head() + 3 + rows()); }
  CHATTY_FN VertexId* entries() const { return owners() + rows(); }  ///< all rows' neighbours
};
/// Packs a payload's counts and the last row's end; before the rest is packed.
struct PackHead {
  RowsPayload payload;    ///< the target
  std::uint64_t rows;     ///< number of rows of the device
  std::uint64_t entries;  ///< number of entries in all its rows
  /// Packs the head; ignores the index.
  CHATTY_FN void operator()(std::size_t) const {
    payload.head()[0] = rows;
    payload.head()[1] = entries;
    payload.offsets()[rows] = entries;
  }
};
/// Packs the first entry and the vertex of each row.
struct PackRow {
  GraphRef graph;       ///< the device's part
  RowsPayload payload;  ///< the target
  /// Packs v's row.
  CHATTY_FN void operator()(LocalId v) const {
    payload.offsets()[v] = graph.forward.offsets[v];
    payload.owners()[v] = graph.Global(v);
  }
};
/// Packs neighbours as global ids.
struct PackEntry {
  GraphRef graph;     ///< the device's part
  VertexId* entries;  ///< the target
  /// Packs entry e of all rows.
  CHATTY_FN void operator()(std::size_t e) const { entries[e] = graph.Global(graph.forward.neighbours[e]); }
};

/// Whether entry e of a row that begins at `begin` differs from the entry before it.
CHATTY_FN bool IsFirst(const VertexId* ids, EdgeIndex begin, EdgeIndex e) { return e == begin || ids[e - 1] != ids[e]; }
/// Adds to counts[v] the number of edges from v's neighbour u to other neighbours of v, for owned u.
struct CountWithin {
  GraphRef graph;         ///< the device's part
  Rows rows;              ///< its rows
  std::uint64_t* counts;  ///< of owned vertices
  /// Processes v's entry e, which is u.
  CHATTY_FN void operator()(LocalId v, LocalId u, EdgeIndex e) const {
    const EdgeIndex begin = rows.offsets[v];
    if (u >= graph.owned || u == v || !IsFirst(rows.ids, begin, e)) return;
    const std::uint64_t count = CountCommon(rows.ids + begin, rows.ids + rows.offsets[v + 1], rows.ids + rows.offsets[u],
                                            rows.ids + rows.offsets[u + 1], graph.Global(v), rows.ids[e]);
    if (count > 0) atomics::Add<true>(counts + v, count);
  }
};
/// As CountWithin, for neighbours with rows in a payload.
struct CountAcross {
  GraphRef graph;         ///< the device's part
  Rows rows;              ///< its rows
  RowsPayload theirs;     ///< another device's rows
  std::uint32_t owner;    ///< that device
  std::uint64_t* counts;  ///< of owned vertices
  /// Processes v's entry e, which is u.
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
/// Finds whether there are parallel edges other than loops. In the rows of a directed graph, an edge and its reverse are
/// parallel.
struct FindParallel {
  GraphRef graph;        ///< the device's part
  std::uint32_t* found;  ///< 1 if there are any
  /// Processes v's entry e, which is u.
  CHATTY_FN void operator()(LocalId v, LocalId u, EdgeIndex e) const {
    if (u != v && e > graph.forward.offsets[v] && graph.forward.neighbours[e - 1] == u) atomics::Store(found, 1u);
  }
};
/// Computes coefficients from counts.
struct Divide {
  GraphRef graph;               ///< the device's part
  const std::uint64_t* counts;  ///< of owned vertices
  unsigned counted_as;          ///< how often an edge between neighbours was counted, if its reverse also counts
  double* out;                  ///< coefficients of owned vertices
  /// Computes v's coefficient.
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

/// Of all ordered pairs of a vertex's neighbours, by edges in or out, the share with an edge from the first to the second; 0
/// for fewer than two neighbours. Loops do not count; parallel edges, if they were kept, count each.
///
/// Without parallel edges, the number of edges among a vertex's neighbours is its number of triangles: see
/// triangle_counts.h. With parallel edges, each row is intersected with those of its neighbours, and devices broadcast all
/// their rows in turn. Two opposite directed edges are parallel here.
struct Lcc {
  /// @{
  /// Members that OperatorProgram and the command line use.
  using Output = double;
  static constexpr auto kEdges = Edges::kBoth;
  static constexpr Info kInfo{
      .summary = "local clustering coefficients (LDBC LCC): edges among neighbours, of all possible",
      .output_name = "coefficient",
  };
  /// @}

  /// Counts, and the memory for counting triangles or edges, whichever is larger.
  static std::uint64_t WorkBytes(const PartShape& part) {
    return part.owned * sizeof(std::uint64_t) + std::max(CountEdgesBytes(part), triangles::WorkBytes(part));
  }
  /// The same with the smaller of both: parallel edges decide which applies, and a shape does not contain them.
  static std::uint64_t LeastWorkBytes(const PartShape& part) {
    return part.owned * sizeof(std::uint64_t) + std::min(CountEdgesBytes(part), AtLeastFlag(triangles::WorkBytes(part)));
  }
  /// All rows of `part` to every other one, or the payloads for counting triangles.
  static std::size_t ExchangeBytes(const PartShape& part, PartId from, PartId to) {
    if (from == to) return 0;
    return std::max(clustering::RowsPayload::Size(part.owned, part.forward.edges), triangles::ExchangeBytes(part));
  }

  /// Runs the program on one of its devices.
  template <class Operators>
  void Run(Operators& ops, Output* out) const {
    Buffer<std::uint64_t> counts = ops.template Allocate<std::uint64_t>(ops.graph().owned);
    unsigned counted_as = 2;  // in both directions; for a directed graph from both ends
    if (HasParallel(ops)) {
      CountEdges(ops, counts.data());
    } else {
      counted_as = triangles::Count(ops, counts.data());
    }
    ops.ForEachVertex(clustering::Divide{ops.graph(), counts.data(), counted_as, out});
  }

  /// Compares with neighbours counted by another method: VerifyClustering.
  Verdict Verify(const Graph& graph, std::span<const double> coefficients, const RunStatistics&) const {
    return VerifyClustering(graph, coefficients, 1e-12);
  }
  /// For an answer of unknown origin: within the given tolerance, or else within that of LDBC Graphalytics.
  Verdict VerifyAnswer(const Graph& graph, std::span<const double> coefficients, const AnswerRules& rules) const {
    return VerifyClustering(graph, coefficients, ToleranceOf(rules));
  }

 private:
  /// Includes the flag of HasParallel, which is allocated before.
  static std::uint64_t AtLeastFlag(std::uint64_t bytes) { return std::max<std::uint64_t>(bytes, sizeof(std::uint32_t)); }
  /// Memory of CountEdges: rows with global ids, on several devices or with ids of another width.
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
  /// Counts each edge between neighbours of an owned vertex; twice for a directed graph.
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
  /// Whether rows must be converted to global ids; not on one device if local ids are the same.
  static constexpr bool Packs(PartId parts) { return parts > 1 || !std::is_same_v<LocalId, VertexId>; }
  /// Address of the entries in a device's payload, also before its head is written.
  static VertexId* EntriesOf(const clustering::RowsPayload& payload, std::uint64_t rows) {
    return reinterpret_cast<VertexId*>(payload.head() + 3 + rows) + rows;
  }
};

}  // namespace chatty
