// Adjacencies whose lists are sorted, simplified or compared with their reverse.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "chatty/core/graph.h"
#include "chatty/core/graph_detail.h"
#include "chatty/core/hash.h"
#include "chatty/core/parallel.h"

namespace chatty {
namespace {

using detail::Arc;
using detail::kVertexGrain;
using detail::LighterArc;
using detail::OrderKey;
using detail::WeightReader;
using detail::WithWeightType;

}  // namespace

inline namespace CHATTY_ABI {

void SortLists(Adjacency& adjacency, int threads) {
  if (adjacency.offsets.empty()) return;
  WithWeightType(KindOf(adjacency.weights), [&](auto type) {
    using W = decltype(type);
    VertexId* const ids = adjacency.neighbours.data();
    [[maybe_unused]] W* weights = nullptr;
    if constexpr (!std::is_same_v<W, None>) weights = std::get<Array<W>>(adjacency.weights).data();
    ParallelChunksWithState(
        adjacency.offsets.size() - 1, threads, kVertexGrain, [] { return std::vector<Arc<W>>{}; },
        [&](std::vector<Arc<W>>& arcs, std::size_t begin, std::size_t end) {
          for (std::size_t v = begin; v < end; ++v) {
            const EdgeIndex first = adjacency.offsets[v], last = adjacency.offsets[v + 1];
            if constexpr (std::is_same_v<W, None>) {
              if (!std::is_sorted(ids + first, ids + last)) std::sort(ids + first, ids + last);
            } else {
              bool sorted = true;
              for (EdgeIndex e = first + 1; e < last; ++e) {
                sorted &= ids[e - 1] < ids[e] || (ids[e - 1] == ids[e] && OrderKey(weights[e - 1]) <= OrderKey(weights[e]));
              }
              if (sorted) continue;
              arcs.clear();
              for (EdgeIndex e = first; e < last; ++e) arcs.push_back({0, ids[e], weights[e]});
              std::sort(arcs.begin(), arcs.end(), LighterArc<W>{});
              for (EdgeIndex e = first; e < last; ++e) {
                ids[e] = arcs[e - first].neighbour;
                weights[e] = arcs[e - first].weight;
              }
            }
          }
        });
  });
}

void SimplifyLists(Adjacency& adjacency, const BuildOptions& options, BuildReport* report) {
  const EdgeIndex given = adjacency.neighbours.size();
  const std::size_t vertices = adjacency.offsets.empty() ? 0 : adjacency.offsets.size() - 1;
  const Array<VertexId>& ids = adjacency.neighbours;
  const auto drops = [&](std::size_t v, EdgeIndex e) {
    const bool loop = ids[e] == v;
    const bool again = options.merge_parallel && e > adjacency.offsets[v] && ids[e - 1] == ids[e];
    return loop && options.remove_loops ? 1 : again ? 2 : 0;
  };
  std::atomic<EdgeIndex> loops{0}, parallel{0};
  const bool drops_any = options.remove_loops || options.merge_parallel;
  ParallelChunks(drops_any ? vertices : 0, options.threads, kVertexGrain, [&](std::size_t begin, std::size_t end) {
    EdgeIndex mine[3] = {};
    for (std::size_t v = begin; v < end; ++v) {
      const VertexId* const list = ids.data() + adjacency.offsets[v];
      const auto degree = static_cast<std::size_t>(adjacency.offsets[v + 1] - adjacency.offsets[v]);
      // Most lists have nothing to drop, which vector instructions see.
      unsigned any = degree > 0 && list[0] == v ? 1 : 0;
      for (std::size_t i = 1; i < degree; ++i) any |= (list[i - 1] == list[i] ? 1u : 0u) | (list[i] == v ? 1u : 0u);
      if (any == 0) continue;
      for (EdgeIndex e = adjacency.offsets[v]; e < adjacency.offsets[v + 1]; ++e) ++mine[drops(v, e)];
    }
    loops += mine[1];
    parallel += mine[2];
  });
  const EdgeIndex kept = given - loops - parallel;
  if (kept < given) {
    WithWeightType(KindOf(adjacency.weights), [&](auto type) {
      using W = decltype(type);
      Adjacency simple;
      simple.offsets = Array<EdgeIndex>(vertices + 1);
      simple.offsets[0] = 0;
      ParallelFor(vertices, options.threads, [&](std::size_t v) {
        EdgeIndex left = 0;
        for (EdgeIndex e = adjacency.offsets[v]; e < adjacency.offsets[v + 1]; ++e) left += drops(v, e) == 0 ? 1 : 0;
        simple.offsets[v + 1] = left;
      });
      std::inclusive_scan(simple.offsets.begin(), simple.offsets.end(), simple.offsets.begin());
      simple.neighbours = Array<VertexId>(kept);
      [[maybe_unused]] W* weights = nullptr;
      if constexpr (!std::is_same_v<W, None>) weights = simple.weights.emplace<Array<W>>(kept).data();
      const WeightReader<W> given_weights(adjacency.weights);
      ParallelChunks(vertices, options.threads, kVertexGrain, [&](std::size_t begin, std::size_t end) {
        for (std::size_t v = begin; v < end; ++v) {
          EdgeIndex to = simple.offsets[v];
          for (EdgeIndex e = adjacency.offsets[v]; e < adjacency.offsets[v + 1]; ++e) {
            if (const int dropped = drops(v, e); dropped != 0) {
              if constexpr (!std::is_same_v<W, None>) {
                if (dropped == 2 && OrderKey(given_weights[e]) < OrderKey(weights[to - 1]))
                  weights[to - 1] = given_weights[e];
              }
              continue;
            }
            simple.neighbours[to] = ids[e];
            if constexpr (!std::is_same_v<W, None>) weights[to] = given_weights[e];
            ++to;
          }
        }
      });
      adjacency = std::move(simple);
    });
  }
  if (report != nullptr) {
    report->edges_given += given;
    report->loops_removed += loops;
    report->parallel_merged += parallel;
    report->edges_kept += kept;
  }
}

bool IsSymmetric(const Adjacency& adjacency, int threads) {
  if (adjacency.offsets.empty()) return true;
  return WithWeightType(KindOf(adjacency.weights), [&](auto type) {
    using W = decltype(type);
    const WeightReader<W> weights(adjacency.weights);
    std::atomic<std::uint64_t> sum{0};  // of the hashes of edges that ascend, less those of edges that descend
    ParallelChunks(adjacency.offsets.size() - 1, threads, kVertexGrain, [&](std::size_t begin, std::size_t end) {
      std::uint64_t mine = 0;
      for (std::size_t v = begin; v < end; ++v) {
        for (EdgeIndex e = adjacency.offsets[v]; e < adjacency.offsets[v + 1]; ++e) {
          const std::uint64_t u = adjacency.neighbours[e];
          if (u == v) continue;
          std::uint64_t word = Hash(std::min<std::uint64_t>(u, v)) + std::max<std::uint64_t>(u, v);
          if constexpr (!std::is_same_v<W, None>) word = Hash(word) ^ static_cast<std::uint32_t>(OrderKey(weights[e]));
          mine += u > v ? Hash(word) : ~Hash(word) + 1;
        }
      }
      sum += mine;
    });
    return sum == 0;
  });
}

}  // namespace CHATTY_ABI
}  // namespace chatty
