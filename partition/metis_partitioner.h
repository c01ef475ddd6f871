/// \file
/// Converts a graph to METIS' arrays and checks METIS' limits. Internal to partition/; callers use MakePartitioner("metis").
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "chatty/core/array.h"
#include "chatty/core/graph.h"
#include "chatty/core/parallel.h"
#include "chatty/core/types.h"
#include "chatty/partition/partition.h"

namespace chatty {

std::unique_ptr<Partitioner> MakeMetisPartitioner();  ///< also in builds without METIS, where it always uses the fallback

namespace metis {

/// Calls body(u, count) for every neighbour u of v other than v, ascending; `count` is the number of edges between them, in
/// either direction.
template <class Body>
void ForEachNeighbour(const Graph& graph, VertexId v, Body&& body) {
  const std::span<const VertexId> out = graph.out()[v];
  const std::span<const VertexId> in = graph.symmetric() ? std::span<const VertexId>() : graph.in()[v];
  for (std::size_t i = 0, j = 0; i < out.size() || j < in.size();) {
    const VertexId u = j == in.size() || (i < out.size() && out[i] <= in[j]) ? out[i] : in[j];
    EdgeIndex count = 0;
    for (; i < out.size() && out[i] == u; ++i) ++count;
    for (; j < in.size() && in[j] == u; ++j) ++count;
    if (u != v) body(u, count);
  }
}

/// Number of entries that ForEachNeighbour visits over all vertices. Allocates nothing and does not build the in-edges.
EdgeIndex CountEntries(const Graph& graph, int threads = 0);

/// Why METIS cannot divide a graph with this number of vertices and of CountEntries into `parts` parts, if `largest` is the
/// maximum of its idx_t; "" if it can. Depends on counts alone. With more parts than vertices METIS 5.1 prints errors and
/// leaves parts empty; without edges there is nothing to cut.
std::string WhyNot(std::uint64_t vertices, EdgeIndex entries, PartId parts, std::uint64_t largest);

/// A graph in METIS' arrays: every edge in both directions, no loops, parallel edges merged into one with their number as
/// its weight. `Index` is METIS' idx_t.
template <class Index>
struct WorkingGraph {
  Array<Index> offsets;         ///< first neighbour of each vertex, and the number of all
  Array<Index> neighbours;      ///< ascending for each vertex
  Array<Index> vertex_weights;  ///< the work of a vertex as in "edge-balanced": 1 + its out-edges
  Array<Index> edge_weights;    ///< empty: 1 each
};

/// Builds the arrays, in parallel; builds the in-edges of a directed graph. `entries` is CountEntries. METIS adds weights in
/// its idx_t, so sums must not exceed `largest`. Therefore vertex weights are divided by the smallest sufficient divisor,
/// but stay at least 1, and edge weights are omitted if their sum is too large. `largest` is at least the number of vertices
/// and of entries.
template <class Index>
WorkingGraph<Index> BuildWorkingGraph(const Graph& graph, EdgeIndex entries, std::uint64_t largest, int threads = 0) {
  constexpr std::size_t kGrain = 1 << 10;  // vertices
  const std::size_t n = graph.vertices();
  WorkingGraph<Index> result;
  result.offsets = Array<Index>(n + 1);
  if (!graph.symmetric()) graph.in();  // here all threads build them together, before each uses them
  std::atomic<EdgeIndex> sum{0};       // sum of the edges' weights
  ParallelChunks(n, threads, kGrain, [&](std::size_t begin, std::size_t end) {
    EdgeIndex chunk = 0;
    for (std::size_t v = begin; v < end; ++v) {
      Index degree = 0;
      ForEachNeighbour(graph, static_cast<VertexId>(v), [&](VertexId, EdgeIndex count) {
        ++degree;
        chunk += count;
      });
      result.offsets[v + 1] = degree;
    }
    sum.fetch_add(chunk, std::memory_order_relaxed);
  });
  result.offsets[0] = 0;
  for (std::size_t v = 0; v < n; ++v) result.offsets[v + 1] += result.offsets[v];
  CHATTY_CHECK(static_cast<EdgeIndex>(result.offsets[n]) == entries, "{} entries counted, {} found", entries,
               result.offsets[n]);

  result.neighbours = Array<Index>(entries);
  if (sum != entries && sum <= largest) result.edge_weights = Array<Index>(entries);
  result.vertex_weights = Array<Index>(n);
  const std::uint64_t work = n + graph.edges();
  // Rounded down, then raised to 1 if 0: the sum is at most work / divisor + n. Without room, all weights are 1.
  const std::uint64_t room = largest - n;
  const std::uint64_t divisor = work <= largest ? 1 : room == 0 ? work : work / room + 1;
  ParallelChunks(n, threads, kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) {
      const auto id = static_cast<VertexId>(v);
      result.vertex_weights[v] = static_cast<Index>(std::max<std::uint64_t>((1 + graph.out_degree(id)) / divisor, 1));
      auto to = static_cast<std::size_t>(result.offsets[v]);
      ForEachNeighbour(graph, id, [&](VertexId u, EdgeIndex count) {
        if (!result.edge_weights.empty()) result.edge_weights[to] = static_cast<Index>(count);
        result.neighbours[to++] = static_cast<Index>(u);
      });
    }
  });
  return result;
}

/// Assigns vertices to empty parts. Each gets the last vertices of the part with the most work that has two or more: up to
/// half of its work, and at least one vertex. Needs as many vertices as parts. Returns the number of parts that were empty.
PartId FillEmptyParts(const Graph& graph, PartId parts, std::span<PartId> owners);

/// Computes owners by METIS_PartGraphKway; returns the reason if it fails, otherwise "". Only in builds with METIS, and for
/// at least two parts.
std::string PartGraphKway(const Graph& graph, const PartitionOptions& options, Array<PartId>* owners);

}  // namespace metis
}  // namespace chatty
