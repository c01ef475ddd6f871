/// \file
/// Sources that are picked at random, the same on all devices.
#pragma once

#include <cstdint>

#include "chatty/core/graph_ref.h"
#include "chatty/core/hash.h"
#include "chatty/core/types.h"

namespace chatty::brandes {

/// Writes whether an owned vertex has out-edges.
struct HasEdges {
  GraphRef graph;       ///< the device's part
  LocalId vertex;       ///< which
  std::uint64_t* flag;  ///< 1, or 0
  /// Does it, whatever the index.
  CHATTY_FN void operator()(std::size_t) const { *flag = graph.forward.degree(vertex) > 0 ? 1 : 0; }
};

/// The i-th of the sources that `seed` picks from n vertices; has_edges(v) says whether v has out-edges. The source has
/// out-edges if one of a few attempts finds such a vertex. All devices get the same one.
template <class HasEdgesOf>
VertexId PickSource(std::uint64_t seed, std::uint64_t i, VertexId n, HasEdgesOf&& has_edges) {
  constexpr std::uint64_t kAttempts = 64;
  for (std::uint64_t attempt = 0;; ++attempt) {
    const auto v = static_cast<VertexId>(Hash(i * kAttempts + attempt, seed) % n);
    if (attempt + 1 == kAttempts || has_edges(v)) return v;
  }
}
}  // namespace chatty::brandes
