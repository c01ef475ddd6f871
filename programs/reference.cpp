#include "chatty/programs/reference.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>
#include <utility>
#include <vector>

#include "chatty/core/error.h"
#include "chatty/programs/checks.h"

namespace chatty {

Array<std::uint32_t> SerialBfs(const Graph& graph, VertexId source) {
  CheckSource(graph, source);
  const Adjacency& out = graph.out();
  Array<std::uint32_t> levels(graph.vertices(), kInfinity<std::uint32_t>);
  std::vector<VertexId> frontier{source}, next;
  levels[source] = 0;
  for (std::uint32_t level = 1; !frontier.empty(); ++level) {
    if (level == kInfinity<std::uint32_t>) throw CapabilityError("the graph is deeper than 32-bit levels can count");
    for (const VertexId u : frontier) {
      for (const VertexId v : out[u]) {
        if (levels[v] != kInfinity<std::uint32_t>) continue;
        levels[v] = level;
        next.push_back(v);
      }
    }
    frontier.swap(next);
    next.clear();
  }
  return levels;
}

Array<VertexId> SerialBfsParents(const Graph& graph, VertexId source) {
  const Array<std::uint32_t> levels = SerialBfs(graph, source);
  Array<VertexId> parents(graph.vertices(), kNoVertex);
  parents[source] = source;
  // u ascends: the first one to claim v is the least.
  for (VertexId u = 0; u < graph.vertices(); ++u) {
    if (levels[u] == kInfinity<std::uint32_t>) continue;
    for (const VertexId v : graph.out()[u]) {
      if (parents[v] == kNoVertex && levels[v] == levels[u] + 1) parents[v] = u;
    }
  }
  return parents;
}

template <class Distance>
Array<Distance> SerialSssp(const Graph& graph, VertexId source) {
  using Length = PathLength<Distance>;
  CheckSource(graph, source);
  CheckWeights(graph);
  const Adjacency& out = graph.out();
  Array<Length> lengths(graph.vertices(), kInfinity<Length>);

  VisitWeights<Distance>(graph, [&](auto weight_of) {
    using Entry = std::pair<Length, VertexId>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    lengths[source] = 0;
    queue.emplace(Length{0}, source);
    while (!queue.empty()) {
      const auto [length, u] = queue.top();
      queue.pop();
      if (length > lengths[u]) continue;  // a shorter path has been settled already
      for (EdgeIndex e = out.offsets[u]; e < out.offsets[u + 1]; ++e) {
        const VertexId v = out.neighbours[e];
        const Length candidate = length + weight_of(e);
        if (!(candidate < lengths[v])) continue;
        lengths[v] = candidate;
        queue.emplace(candidate, v);
      }
    }
  });

  if constexpr (std::is_same_v<Length, Distance>) {
    return lengths;
  } else {
    Array<Distance> distances(graph.vertices());
    for (VertexId v = 0; v < graph.vertices(); ++v) {
      if (lengths[v] == kInfinity<Length>) {
        distances[v] = kInfinity<Distance>;
      } else if (std::cmp_less(lengths[v], kInfinity<Distance>)) {
        distances[v] = static_cast<Distance>(lengths[v]);
      } else {
        Throw<CapabilityError>("the distance of {} is {}, more than a {}-bit integer holds; use a wider distance type",
                               VertexName(graph, v), lengths[v], 8 * sizeof(Distance));
      }
    }
    return distances;
  }
}

template Array<std::int32_t> SerialSssp<std::int32_t>(const Graph&, VertexId);
template Array<std::uint32_t> SerialSssp<std::uint32_t>(const Graph&, VertexId);
template Array<std::int64_t> SerialSssp<std::int64_t>(const Graph&, VertexId);
template Array<float> SerialSssp<float>(const Graph&, VertexId);
template Array<double> SerialSssp<double>(const Graph&, VertexId);

PageRankResult SerialPageRank(const Graph& graph, double damping, std::uint32_t rounds, double tolerance) {
  CheckDamping(damping);
  const VertexId n = graph.vertices();
  PageRankResult result;
  if (n == 0) return result;
  const double count = static_cast<double>(n);
  result.ranks = Array<double>(n, 1.0 / count);
  Array<double> gathered(n);
  while (result.rounds < rounds) {
    std::fill(gathered.begin(), gathered.end(), 0.0);
    double dangling = 0;
    for (VertexId u = 0; u < n; ++u) {
      const std::span<const VertexId> neighbours = graph.out()[u];
      if (neighbours.empty()) {
        dangling += result.ranks[u];
        continue;
      }
      const double share = result.ranks[u] / static_cast<double>(neighbours.size());
      for (const VertexId v : neighbours) gathered[v] += share;
    }
    const double base = (1.0 - damping + damping * dangling) / count;
    result.change = 0;
    for (VertexId v = 0; v < n; ++v) {
      const double rank = base + damping * gathered[v];
      result.change += std::abs(rank - result.ranks[v]);
      result.ranks[v] = rank;
    }
    ++result.rounds;
    if (result.change < tolerance) break;
  }
  return result;
}

PageRankResult SerialPersonalisedPageRank(const Graph& graph, std::span<const double> teleport, double damping,
                                          std::uint32_t rounds, double tolerance) {
  CheckDamping(damping);
  const VertexId n = graph.vertices();
  Array<double> start = NormalisedTeleport(graph, teleport);
  PageRankResult result;
  result.ranks = start.Clone();
  Array<double> next(n);
  while (n > 0 && result.rounds < rounds) {
    std::fill(next.begin(), next.end(), 0.0);
    double dangling = 0;
    for (VertexId u = 0; u < n; ++u) {
      const std::span<const VertexId> neighbours = graph.out()[u];
      if (neighbours.empty()) dangling += result.ranks[u];
      for (const VertexId v : neighbours) next[v] += result.ranks[u] / static_cast<double>(neighbours.size());
    }
    result.change = 0;
    for (VertexId v = 0; v < n; ++v) {
      next[v] = (1.0 - damping + damping * dangling) * start[v] + damping * next[v];
      result.change += std::abs(next[v] - result.ranks[v]);
    }
    std::swap(result.ranks, next);
    ++result.rounds;
    if (result.change < tolerance) break;
  }
  return result;
}

Array<VertexId> SerialComponents(const Graph& graph) {
  const VertexId n = graph.vertices();
  Array<VertexId> parents(n);
  std::iota(parents.begin(), parents.end(), VertexId{0});
  const auto find = [&](VertexId v) {
    while (parents[v] != v) v = parents[v] = parents[parents[v]];
    return v;
  };
  for (VertexId u = 0; u < n; ++u) {
    for (const VertexId v : graph.out()[u]) {
      const auto [low, high] = std::minmax({find(u), find(v)});
      parents[high] = low;  // so a root is the least of its set
    }
  }
  for (VertexId v = 0; v < n; ++v)
    parents[v] = parents[parents[v]];  // parents are never greater than v, hence already roots
  return parents;
}

Array<std::uint32_t> SerialKCore(const Graph& graph) {
  const VertexId n = graph.vertices();
  const Adjacency* const sides[] = {&graph.out(), graph.symmetric() ? nullptr : &graph.in()};
  Array<std::uint32_t> degrees(n, 0);
  std::uint32_t largest = 0;
  for (VertexId v = 0; v < n; ++v) {
    EdgeIndex degree = 0;
    for (const Adjacency* side : sides) degree += side == nullptr ? 0 : side->degree(v);
    if (degree > std::numeric_limits<std::uint32_t>::max()) {
      Throw<CapabilityError>("{} has {} edges, more than 32-bit core numbers can count", VertexName(graph, v), degree);
    }
    degrees[v] = static_cast<std::uint32_t>(degree);
    largest = std::max(largest, degrees[v]);
  }

  // `order` has the vertices by remaining degree; starts[d] is the first position of degree d, places[v] that of v.
  std::vector<VertexId> starts(std::size_t{largest} + 2, 0), order(n), places(n);
  for (VertexId v = 0; v < n; ++v) ++starts[std::size_t{degrees[v]} + 1];
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  {
    std::vector<VertexId> next(starts);
    for (VertexId v = 0; v < n; ++v) {
      places[v] = next[degrees[v]]++;
      order[places[v]] = v;
    }
  }
  for (VertexId i = 0; i < n; ++i) {
    const VertexId v = order[i];
    for (const Adjacency* side : sides) {
      if (side == nullptr) continue;
      for (const VertexId u : (*side)[v]) {
        if (degrees[u] <= degrees[v]) continue;  // peeled already, or to be peeled at this k
        // The degree decreases by one: swap u with the first vertex of its degree, then advance that degree's start.
        const VertexId first = starts[degrees[u]]++;
        const VertexId other = order[first];
        std::swap(order[first], order[places[u]]);
        std::swap(places[other], places[u]);
        --degrees[u];
      }
    }
  }
  return degrees;
}

Array<VertexId> SerialLabelPropagation(const Graph& graph, std::uint32_t rounds) {
  const VertexId n = graph.vertices();
  Array<VertexId> labels(n), next(n);
  std::iota(labels.begin(), labels.end(), VertexId{0});
  std::vector<VertexId> seen;
  for (std::uint32_t round = 0; round < rounds; ++round) {
    bool changed = false;
    for (VertexId v = 0; v < n; ++v) {
      seen.clear();
      for (const VertexId u : graph.out()[v]) seen.push_back(labels[u]);
      if (!graph.symmetric()) {
        for (const VertexId u : graph.in()[v]) seen.push_back(labels[u]);
      }
      std::sort(seen.begin(), seen.end());
      next[v] = labels[v];
      std::size_t most = 0;
      for (std::size_t begin = 0, end = 0; begin < seen.size(); begin = end) {
        while (end < seen.size() && seen[end] == seen[begin]) ++end;
        if (end - begin <= most) continue;  // labels ascend: on ties the least came first
        most = end - begin;
        next[v] = seen[begin];
      }
      changed |= next[v] != labels[v];
    }
    std::swap(labels, next);
    if (!changed) break;  // later rounds would not change anything either
  }
  return labels;
}

Array<std::uint64_t> SerialTriangles(const Graph& graph) {
  const VertexId n = graph.vertices();
  const auto each_neighbour = [&](VertexId v, auto&& body) {
    for (const Adjacency* side : {&graph.out(), &graph.in()}) {
      for (const VertexId u : (*side)[v]) body(u);
    }
  };
  Array<std::uint64_t> triangles(n, std::uint64_t{0});
  Array<VertexId> near(n, kNoVertex);              // the vertex in whose neighbourhood a vertex was last found
  Array<std::uint64_t> seen(n, std::uint64_t{0});  // the visit in which a vertex was last found as a neighbour's neighbour
  std::uint64_t visit = 0;
  for (VertexId v = 0; v < n; ++v) {
    std::vector<VertexId> neighbours;
    each_neighbour(v, [&](VertexId u) {
      if (u == v || near[u] == v) return;
      near[u] = v;
      neighbours.push_back(u);
    });
    std::uint64_t twice = 0;
    for (const VertexId u : neighbours) {
      ++visit;
      each_neighbour(u, [&](VertexId w) {
        if (w == u || near[w] != v || seen[w] == visit) return;
        seen[w] = visit;
        ++twice;
      });
    }
    triangles[v] = twice / 2;
  }
  return triangles;
}

Array<double> SerialClustering(const Graph& graph) {
  const VertexId n = graph.vertices();
  Array<double> coefficients(n, 0.0);
  Array<bool> near(n, false);
  std::vector<VertexId> neighbours;
  for (VertexId v = 0; v < n; ++v) {
    neighbours.clear();
    for (const Adjacency* side : {&graph.out(), &graph.in()}) {
      for (const VertexId u : (*side)[v]) {
        if (u == v || near[u]) continue;
        near[u] = true;
        neighbours.push_back(u);
      }
    }
    std::uint64_t edges = 0;
    for (const VertexId u : neighbours) {
      for (const VertexId w : graph.out()[u]) edges += near[w] && w != u;
    }
    for (const VertexId u : neighbours) near[u] = false;
    const auto degree = static_cast<double>(neighbours.size());
    if (neighbours.size() > 1) coefficients[v] = static_cast<double>(edges) / (degree * (degree - 1));
  }
  return coefficients;
}

Array<double> SerialBetweenness(const Graph& graph, std::span<const VertexId> sources) {
  const VertexId n = graph.vertices();
  const Adjacency& out = graph.out();
  Array<double> scores(n, 0.0), paths(n, 0.0), dependencies(n, 0.0);
  Array<VertexId> levels(n, kNoVertex);
  std::vector<VertexId> order;  // visited vertices, by level
  for (const VertexId source : sources) {
    CheckSource(graph, source);
    order.assign(1, source);
    levels[source] = 0;
    paths[source] = 1;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const VertexId u = order[i];
      for (const VertexId v : out[u]) {
        if (levels[v] == kNoVertex) {
          levels[v] = levels[u] + 1;
          order.push_back(v);
        }
        if (levels[v] == levels[u] + 1) paths[v] += paths[u];
      }
    }
    for (std::size_t i = order.size(); i-- > 0;) {
      const VertexId u = order[i];
      if (!std::isfinite(paths[u])) {
        Throw<CapabilityError>("the shortest paths from {} to {} are more than a double can count",
                               VertexName(graph, source), VertexName(graph, u));
      }
      for (const VertexId v : out[u]) {
        if (levels[v] == levels[u] + 1) dependencies[u] += paths[u] / paths[v] * (1.0 + dependencies[v]);
      }
      if (u != source) scores[u] += dependencies[u];
    }
    for (const VertexId v : order) {
      levels[v] = kNoVertex;
      paths[v] = dependencies[v] = 0;
    }
  }
  return scores;
}

}  // namespace chatty
