/// \file
/// A graph's counts without the graph: what memory depends on.
#pragma once

#include <cstdint>

#include "chatty/core/types.h"

namespace chatty {

/// From a file's header or from a Graph.
struct GraphCounts {
  std::uint64_t vertices = 0;              ///< isolated ones included
  std::uint64_t edges = 0;                 ///< directed: an undirected one counts twice
  bool symmetric = false;                  ///< every edge has its reverse
  WeightKind weights = WeightKind::kNone;  ///< an edge's
  std::uint64_t max_degree = 0;            ///< the largest in- or out-degree; 0: not known

  /// Equal in all counts.
  friend bool operator==(const GraphCounts&, const GraphCounts&) = default;
};

}  // namespace chatty
