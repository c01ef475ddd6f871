#include "chatty/io/rows.h"

#include <cmath>

namespace chatty::io {
namespace {

constexpr std::size_t kCheckGrain = std::size_t{1} << 16;

}  // namespace

void CheckOffsets(const std::string& name, const Adjacency& rows, int threads) {
  const Array<EdgeIndex>& offsets = rows.offsets;
  const std::size_t vertices = offsets.empty() ? 0 : offsets.size() - 1;
  const std::size_t edges = rows.neighbours.size();
  if (offsets.empty() ? edges != 0 : offsets[0] != 0 || offsets[vertices] != edges) {
    Throw<InputError>("{}: its offsets go from {} to {}, but it has {} edges: the file is damaged", name,
                      offsets.empty() ? 0 : offsets[0], offsets.empty() ? 0 : offsets[vertices], edges);
  }
  ParallelChunks(vertices, threads, kCheckGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) {
      if (offsets[v] > offsets[v + 1]) {
        Throw<InputError>("{}: the edges of vertex {} end before they begin ({} to {}): the file is damaged", name, v,
                          offsets[v], offsets[v + 1]);
      }
    }
  });
  if (const auto* weights = std::get_if<Array<float>>(&rows.weights)) {
    ParallelChunks(edges, threads, kCheckGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t e = begin; e < end; ++e) {
        if (!std::isfinite((*weights)[e])) {
          Throw<InputError>("{}: the weight of edge {} is not finite; remove the edge or give it a number", name, e);
        }
      }
    });
  }
}

void CheckRows(const std::string& name, const Adjacency& rows, int threads) {
  CheckOffsets(name, rows, threads);
  const std::size_t vertices = rows.offsets.empty() ? 0 : rows.offsets.size() - 1;
  ParallelChunks(rows.neighbours.size(), threads, kCheckGrain, [&](std::size_t begin, std::size_t end) {
    VertexId largest = 0;
    for (std::size_t e = begin; e < end; ++e) largest = std::max(largest, rows.neighbours[e]);
    if (begin < end && largest >= vertices) {
      Throw<InputError>("{}: names vertex {} of a graph of {} (counted from 0): the file is damaged", name, largest,
                        vertices);
    }
  });
}

}  // namespace chatty::io
