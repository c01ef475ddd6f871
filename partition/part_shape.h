/// \file
/// The size of a part of a graph, measured on a Subgraph or bounded from counts. Memory use depends on it.
#pragma once

#include <cstdint>

#include "chatty/core/graph_counts.h"
#include "chatty/core/types.h"
#include "chatty/partition/subgraph.h"

namespace chatty {

/// Sizes of a Subgraph; see there for the terms.
struct PartShape {
  /// Sizes of one of the two adjacencies.
  struct Rows {
    bool built = false;        ///< the adjacency exists
    EdgeIndex edges = 0;       ///< entries in all rows
    EdgeIndex max_degree = 0;  ///< the longest row
  };

  std::uint64_t vertices = 0;              ///< of the whole graph
  PartId part = 0;                         ///< index of this part
  PartId parts = 1;                        ///< number of parts
  bool symmetric = false;                  ///< of the whole graph
  bool identity = false;                   ///< the part owns every vertex
  std::uint64_t owned = 0;                 ///< vertices that the part owns
  std::uint64_t local = 0;                 ///< owned and halo vertices
  Rows forward;                            ///< see Subgraph
  Rows reverse;                            ///< see Subgraph
  bool one_list = false;                   ///< forward and reverse are the same object
  WeightKind weights = WeightKind::kNone;  ///< of both adjacencies
  bool own_begins = false;                 ///< Subgraph::own_begins exists
  std::uint64_t border = 0;                ///< entries in all borders together

  std::uint64_t halo() const { return local - owned; }  ///< vertices in the halo
};

/// Measures a subgraph.
PartShape ShapeOf(const Subgraph& subgraph);

/// The side of a bound.
enum class Bound : std::uint8_t {
  kMin,  ///< no halo, no hubs
  kMax,  ///< every edge leads to a different vertex of another part, as far as there are so many; rows are as long as known
};

/// Bounds the shape of part `part` if vertices and edges are divided evenly; the first parts get one more. kMax adds the
/// longest row, if known, by which edge-balanced parts may exceed the mean. For uneven parts, the largest exceeds kMin and
/// may exceed kMax. For one part kMax is exact, except `max_degree` if the counts lack it.
PartShape BoundShape(const GraphCounts& counts, const SubgraphOptions& options, PartId part, PartId parts, Bound bound);

}  // namespace chatty
