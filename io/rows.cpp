#include "chatty/io/rows.h"

#include <cmath>

namespace chatty::io {

void CheckRows(const std::string& name, const Adjacency& rows, int threads) {
  constexpr std::size_t kGrain = std::size_t{1} << 16;
  const Array<EdgeIndex>& offsets = rows.offsets;
  const std::size_t vertices = offsets.empty() ? 0 : offsets.size() - 1;
  const std::size_t edges = rows.neighbours.size();
  if (offsets.empty() ? edges != 0 : offsets[0] != 0 || offsets[vertices] != edges) {
    Throw<InputError>("{}: its offsets go from {} to {}, but it has {} edges: the file is damaged", name,
                      offsets.empty() ? 0 : offsets[0], offsets.empty() ? 0 : offsets[vertices], edges);
  }
  ParallelChunks(vertices, threads, kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) {
      if (offsets[v] > offsets[v + 1]) {
        Throw<InputError>("{}: the edges of vertex {} end before they begin ({} to {}): the file is damaged", name, v,
                          offsets[v], offsets[v + 1]);
      }
    }
  });
  ParallelChunks(edges, threads, kGrain, [&](std::size_t begin, std::size_t end) {
    VertexId largest = 0;
    for (std::size_t e = begin; e < end; ++e) largest = std::max(largest, rows.neighbours[e]);
    if (begin < end && largest >= vertices) {
      Throw<InputError>("{}: names vertex {} of a graph of {} (counted from 0): the file is damaged", name, largest,
                        vertices);
    }
  });
  if (const auto* weights = std::get_if<Array<float>>(&rows.weights)) {
    ParallelChunks(edges, threads, kGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t e = begin; e < end; ++e) {
        if (!std::isfinite((*weights)[e])) {
          Throw<InputError>("{}: the weight of edge {} is not finite; remove the edge or give it a number", name, e);
        }
      }
    });
  }
}

}  // namespace chatty::io
