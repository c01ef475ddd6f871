/// \file
/// How large a part of a graph is, measured on a Subgraph or bounded from counts: what its memory depends on.
#pragma once

#include <cstdint>

#include "chatty/core/graph_counts.h"
#include "chatty/core/types.h"
#include "chatty/partition/subgraph.h"

namespace chatty {

/// Sizes of one Subgraph; see there for what the words mean.
struct PartShape {
  /// One of the two adjacencies.
  struct Rows {
    bool built = false;        ///< it is there at all
    EdgeIndex edges = 0;       ///< entries of all rows
    EdgeIndex max_degree = 0;  ///< the longest row
  };

  std::uint64_t vertices = 0;              ///< of the whole graph
  PartId part = 0;                         ///< which it is
  PartId parts = 1;                        ///< of how many
  bool symmetric = false;                  ///< the whole graph
  bool identity = false;                   ///< the part owns every vertex
  std::uint64_t owned = 0;                 ///< vertices that it owns
  std::uint64_t local = 0;                 ///< and with its halo
  Rows forward;                            ///< see Subgraph
  Rows reverse;                            ///< see Subgraph
  bool one_list = false;                   ///< forward and reverse are the same object
  WeightKind weights = WeightKind::kNone;  ///< of both adjacencies
  bool own_begins = false;                 ///< Subgraph::own_begins is there
  std::uint64_t border = 0;                ///< entries of all borders together

  std::uint64_t halo() const { return local - owned; }  ///< vertices of others that it names
};

/// Measures a subgraph.
PartShape ShapeOf(const Subgraph& subgraph);

/// Which side of the truth a bound is on.
enum class Bound : std::uint8_t {
  kMin,  ///< no halo at all, no hubs
  kMax,  ///< every edge leads to a vertex of its own on another part, as far as there are so many; rows as long as is known
};

/// Bounds the shape of part `part` where vertices and edges are divided evenly, as far as whole numbers allow (the first
/// parts have one more); to kMax the longest row is added, where it is known, by which edge-balanced parts may exceed the
/// mean. Of parts that are not equal the largest has more than kMin, and may have more than kMax. On one part kMax is
/// exact, but for `max_degree` where the counts do not say it.
PartShape BoundShape(const GraphCounts& counts, const SubgraphOptions& options, PartId part, PartId parts, Bound bound);

}  // namespace chatty
