/// \file
/// The counts of a graph without its edges. Estimates of memory need no more.
#pragma once

#include <cstdint>

#include "chatty/core/types.h"

namespace chatty {

/// Counts from a file's header or from a Graph.
struct GraphCounts {
  std::uint64_t vertices = 0;              ///< isolated ones included
  std::uint64_t edges = 0;                 ///< directed; an undirected edge counts twice
  bool symmetric = false;                  ///< every edge has its reverse
  WeightKind weights = WeightKind::kNone;  ///< kind of the edges' weights
  std::uint64_t max_degree = 0;            ///< the largest in- or out-degree; 0: unknown

  /// Whether all counts are equal.
  friend bool operator==(const GraphCounts&, const GraphCounts&) = default;
};

}  // namespace chatty
