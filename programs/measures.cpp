#include "chatty/programs/measures.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <mutex>
#include <span>
#include <utility>

#include "chatty/core/error.h"
#include "chatty/core/parallel.h"
#include "chatty/programs/reference.h"

namespace chatty {
namespace {

constexpr std::size_t kGrain = std::size_t{1} << 14;

/// Breadth-first searches that use edges in both directions.
class Sweep {
 public:
  explicit Sweep(const Graph& graph)
      : graph_(graph), seen_((graph.vertices() + 63) / 64), frontier_(graph.vertices()), next_(graph.vertices()) {
    if (!graph.symmetric()) graph.in();
  }

  /// The largest distance from `start`; `last` is the least vertex at that distance.
  std::uint32_t From(VertexId start, VertexId* last) {
    ParallelFor(seen_.size(), 0, [&](std::size_t i) { seen_[i] = 0; });
    std::size_t size = 1;
    frontier_[0] = start;
    seen_[start / 64] |= std::uint64_t{1} << (start % 64);
    for (std::uint32_t distance = 0;; ++distance) {
      std::atomic<std::size_t> found{0};
      // For narrow frontiers, of which a road network has thousands, a parallel region costs more than it saves.
      ParallelChunks(size, size < 2048 ? 1 : 0, 512, [&](std::size_t begin, std::size_t end) { Expand(begin, end, found); });
      if (found == 0) {
        *last = *std::min_element(frontier_.begin(), frontier_.begin() + size);
        return distance;
      }
      size = found;
      std::swap(frontier_, next_);
    }
  }

 private:
  void Expand(std::size_t begin, std::size_t end, std::atomic<std::size_t>& found) {
    std::array<VertexId, 512> mine;
    std::size_t count = 0;
    const auto flush = [&] {
      std::copy_n(mine.begin(), count, next_.begin() + found.fetch_add(count, std::memory_order_relaxed));
      count = 0;
    };
    const auto visit = [&](std::span<const VertexId> neighbours) {
      for (const VertexId u : neighbours) {
        const std::atomic_ref<std::uint64_t> word(seen_[u / 64]);
        const std::uint64_t bit = std::uint64_t{1} << (u % 64);
        if ((word.load(std::memory_order_relaxed) & bit) != 0) continue;
        if ((word.fetch_or(bit, std::memory_order_relaxed) & bit) != 0) continue;
        mine[count++] = u;
        if (count == mine.size()) flush();
      }
    };
    for (std::size_t i = begin; i < end; ++i) {
      visit(graph_.out()[frontier_[i]]);
      if (!graph_.symmetric()) visit(graph_.in()[frontier_[i]]);
    }
    flush();
  }

  const Graph& graph_;
  Array<std::uint64_t> seen_;  // a bit per vertex
  Array<VertexId> frontier_, next_;
};

}  // namespace

DegreeSummary SummariseDegrees(const Graph& graph, bool in) {
  DegreeSummary summary;
  const std::size_t n = graph.vertices();
  if (n == 0) return summary;
  Array<EdgeIndex> degrees(n);
  std::array<std::uint64_t, 65> histogram{};
  std::mutex mutex;
  if (in && !graph.symmetric()) graph.in_degrees();
  ParallelChunks(n, 0, kGrain, [&](std::size_t begin, std::size_t end) {
    std::array<std::uint64_t, 65> mine{};
    auto largest = static_cast<VertexId>(begin);
    for (std::size_t i = begin; i < end; ++i) {
      const auto v = static_cast<VertexId>(i);
      degrees[i] = in ? graph.in_degree(v) : graph.out_degree(v);
      ++mine[std::bit_width(degrees[i])];
      if (degrees[i] > degrees[largest]) largest = v;
    }
    const std::scoped_lock lock(mutex);
    for (std::size_t k = 0; k < mine.size(); ++k) histogram[k] += mine[k];
    const EdgeIndex degree = degrees[largest];
    if (summary.max_vertex == kNoVertex || degree > summary.max || (degree == summary.max && largest < summary.max_vertex)) {
      summary.max = degree;
      summary.max_vertex = largest;
    }
  });
  std::size_t used = histogram.size();
  while (used > 0 && histogram[used - 1] == 0) --used;
  summary.histogram.assign(histogram.begin(), histogram.begin() + used);
  summary.mean = static_cast<double>(graph.edges()) / static_cast<double>(n);

  const std::size_t median = (n + 1) / 2 - 1, percentile = (n * 99 + 99) / 100 - 1;
  std::nth_element(degrees.begin(), degrees.begin() + percentile, degrees.end());
  summary.percentile_99 = degrees[percentile];
  std::nth_element(degrees.begin(), degrees.begin() + median, degrees.begin() + percentile + 1);
  summary.median = degrees[median];
  summary.min = *std::min_element(degrees.begin(), degrees.begin() + median + 1);
  return summary;
}

ComponentSummary SummariseComponents(const Graph& graph) {
  ComponentSummary summary;
  const Array<VertexId> labels = SerialComponents(graph);
  Array<VertexId> sizes(labels.size(), 0);
  for (const VertexId label : labels) ++sizes[label];
  for (VertexId v = 0; v < sizes.size(); ++v) {
    if (sizes[v] == 0) continue;
    ++summary.count;
    if (sizes[v] <= summary.largest) continue;
    summary.largest = sizes[v];
    summary.representative = v;  // the least vertex represents a component
  }
  return summary;
}

DiameterBound EstimateDiameter(const Graph& graph, VertexId start, std::uint32_t max_sweeps) {
  if (start >= graph.vertices()) {
    Throw<UsageError>("vertex {} is not in the graph, which has {} vertices", start, graph.vertices());
  }
  DiameterBound bound;
  bound.from = bound.to = start;
  Sweep sweep(graph);
  for (VertexId from = start; bound.sweeps < max_sweeps;) {
    VertexId to = kNoVertex;
    const std::uint32_t length = sweep.From(from, &to);
    ++bound.sweeps;
    if (bound.sweeps > 1 && length <= bound.length) break;
    bound.length = length;
    bound.from = from;
    bound.to = to;
    from = to;
  }
  return bound;
}

}  // namespace chatty
