// Adjacencies whose lists are sorted, simplified or compared with their reverse.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "chatty/core/array.h"
#include "chatty/core/graph.h"
#include "chatty/core/graph_detail.h"
#include "chatty/core/hash.h"
#include "chatty/core/parallel.h"

namespace chatty {
namespace {

using detail::Arc;
using detail::kGrain;
using detail::kVertexGrain;
using detail::LighterArc;
using detail::OrderKey;
using detail::WeightReader;
using detail::WithWeightType;

/// Of graphs with more edges or lists, or with more threads, the pass of hashes by all threads takes less time than one
/// thread's walk.
constexpr EdgeIndex kMaxWalked = EdgeIndex{1} << 22;
constexpr int kMaxThreadsOfWalk = 3;

bool Walks(const Adjacency& adjacency, int threads) {
  const std::size_t size = std::max(adjacency.neighbours.size(), adjacency.offsets.size());
  return size <= kMaxWalked && ThreadCount(threads) <= kMaxThreadsOfWalk;
}

enum class Walked {
  kSymmetric,     ///< each edge has its reverse, offsets and lists ascend, and neighbours are in range
  kNotSymmetric,  ///< an edge has no reverse, or the rest does not hold
  kUnknown,       ///< parallel edges have weights in another order than their reverses
};

/// Visits the lists in their order. Of each, the neighbours below the list's own vertex v come first: v has to be the next
/// neighbour in the list of each of these, which are all visited already. So the neighbours above its own vertex in a list
/// are compared one by one with the vertices that come later, and ascend as these do.
template <class W>
Walked WalkRows(const Adjacency& adjacency) {
  const std::size_t n = adjacency.offsets.size() - 1, m = adjacency.neighbours.size();
  const VertexId* const ids = adjacency.neighbours.data();
  const WeightReader<W> weights(adjacency.weights);
  Array<std::uint32_t> next(n);  // by list: where its next neighbour above its own vertex is
  for (std::size_t v = 0; v < n; ++v) {
    EdgeIndex e = adjacency.offsets[v];
    const EdgeIndex last = adjacency.offsets[v + 1];
    if (e > last || last > m) return Walked::kNotSymmetric;
    VertexId before = 0;
    for (; e < last; ++e) {
      const VertexId u = ids[e];  // once: an array that is shared with a caller may change meanwhile
      if (u >= v) break;
      const std::uint32_t reverse = next[u]++;
      if (u < before || reverse >= m || ids[reverse] != v) return Walked::kNotSymmetric;
      before = u;
      if constexpr (!std::is_same_v<W, None>) {
        if (OrderKey(weights[e]) != OrderKey(weights[reverse])) return Walked::kUnknown;
      }
    }
    while (e < last && ids[e] == v) ++e;
    next[v] = static_cast<std::uint32_t>(e);
  }
  for (std::size_t v = 0; v < n; ++v) {
    if (next[v] != adjacency.offsets[v + 1]) return Walked::kNotSymmetric;
  }
  return Walked::kSymmetric;
}

/// Whether the lists [begin, end) ascend. Counts the descents in all of their memory, by vector instructions, less those
/// from a list to the next.
bool ListsAscend(const Adjacency& adjacency, std::size_t begin, std::size_t end) {
  const VertexId* const ids = adjacency.neighbours.data();
  const EdgeIndex first = adjacency.offsets[begin], last = adjacency.offsets[end];
  std::uint64_t descents = 0;
  for (EdgeIndex block = first; block < last; block += kGrain) {
    const EdgeIndex stop = std::min<EdgeIndex>(last, block + kGrain);
    std::uint32_t here = 0;
    for (EdgeIndex e = std::max(block, first + 1); e < stop; ++e) here += ids[e - 1] > ids[e] ? 1 : 0;
    descents += here;
  }
  for (std::size_t v = begin + 1; v < end && descents > 0; ++v) {
    const EdgeIndex e = adjacency.offsets[v];
    if (adjacency.offsets[v - 1] < e && e < last) descents -= ids[e - 1] > ids[e] ? 1 : 0;
  }
  return descents == 0;
}

/// The sum of the hashes of edges that ascend, less those of edges that descend: 0 if each edge has its reverse. Where two
/// vertices fit one word, different edges have different words.
std::uint64_t HashSkew(const Adjacency& adjacency, int threads) {
  std::atomic<std::uint64_t> sum{0};
  WithWeightType(KindOf(adjacency.weights), [&](auto type) {
    using W = decltype(type);
    const WeightReader<W> weights(adjacency.weights);
    ParallelChunks(adjacency.offsets.size() - 1, threads, kVertexGrain, [&](std::size_t begin, std::size_t end) {
      std::uint64_t mine = 0;
      for (std::uint64_t v = begin; v < end; ++v) {
        for (EdgeIndex e = adjacency.offsets[v]; e < adjacency.offsets[v + 1]; ++e) {
          const std::uint64_t u = adjacency.neighbours[e];
          if (u == v) continue;
          const std::uint64_t least = std::min(u, v), most = std::max(u, v);
          std::uint64_t word = sizeof(VertexId) == 4 ? least << 32 | most : Hash(least) + most;
          if constexpr (!std::is_same_v<W, None>) word = Hash(word) ^ static_cast<std::uint32_t>(OrderKey(weights[e]));
          mine += u > v ? Hash(word) : ~Hash(word) + 1;
        }
      }
      sum += mine;
    });
  });
  return sum;
}

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

RowReport InspectRows(const Adjacency& adjacency, bool symmetry, int threads) {
  RowReport report;
  const std::size_t m = adjacency.neighbours.size();
  if (adjacency.offsets.empty()) {
    report.offsets_ascend = m == 0;
    return report;
  }
  const std::size_t n = adjacency.offsets.size() - 1;
  report.offsets_ascend = adjacency.offsets[0] == 0 && adjacency.offsets[n] == m;
  if (!report.offsets_ascend) return report;
  Walked walked = Walked::kUnknown;
  if (symmetry && Walks(adjacency, threads)) {
    walked = WithWeightType(KindOf(adjacency.weights), [&](auto type) { return WalkRows<decltype(type)>(adjacency); });
    if (walked == Walked::kSymmetric) return report;
  }
  const auto limit = static_cast<VertexId>(std::min<std::size_t>(n, kNoVertex));
  std::atomic<bool> offsets_ascend{true}, in_range{true}, lists_ascend{true};
  ParallelChunks(n, threads, kVertexGrain, [&](std::size_t begin, std::size_t end) {
    bool wrong = false, outside = false;
    for (std::size_t v = begin; v < end; ++v)
      wrong |= adjacency.offsets[v] > adjacency.offsets[v + 1] || adjacency.offsets[v + 1] > m;
    if (wrong) {
      offsets_ascend.store(false, std::memory_order_relaxed);
      return;
    }
    const VertexId* const ids = adjacency.neighbours.data();
    for (EdgeIndex e = adjacency.offsets[begin], last = adjacency.offsets[end]; e < last; ++e) outside |= ids[e] >= limit;
    if (outside) in_range.store(false, std::memory_order_relaxed);
    if (!ListsAscend(adjacency, begin, end)) lists_ascend.store(false, std::memory_order_relaxed);
  });
  report.offsets_ascend = offsets_ascend.load();
  report.in_range = in_range.load();
  report.lists_ascend = lists_ascend.load();
  if (!symmetry || !report.offsets_ascend) return report;
  const bool known = walked == Walked::kNotSymmetric && report.lists_ascend;
  report.symmetric = !known && HashSkew(adjacency, threads) == 0;
  return report;
}

bool IsSymmetric(const Adjacency& adjacency, int threads) {
  if (adjacency.offsets.empty()) return true;
  return Walks(adjacency, threads) ? InspectRows(adjacency, true, threads).symmetric : HashSkew(adjacency, threads) == 0;
}

}  // namespace CHATTY_ABI
}  // namespace chatty
