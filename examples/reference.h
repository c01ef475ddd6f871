/// \file
/// References for the examples' results: for each problem a simple serial algorithm that is known to be correct and differs
/// from the vertex program. The library has references for core numbers and betweenness.
#pragma once

#include <chatty/chatty.h>
#include <chatty/programs/checks.h>
#include <chatty/programs/reference.h>
#include <chatty/programs/verify.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <queue>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace reference {

/// Whether every value equals the expected one; the verdict names the first wrong vertex.
template <class T, class Expected>
chatty::Verdict Same(std::string_view what, const chatty::Graph& graph, std::span<const T> values,
                     const Expected& expected) {
  for (chatty::VertexId v = 0; v < graph.vertices(); ++v) {
    if (values[v] == expected[v]) continue;
    return chatty::Failed("{}: {} of {} is {}, where the reference has {}", what, what, chatty::VertexName(graph, v),
                          values[v], expected[v]);
  }
  return chatty::Passed("{}: all {} equal the serial reference's", what, graph.vertices());
}

/// Whether every value is within `bound` of the expected one, relative to it; the verdict names the first wrong vertex.
template <class T, class Expected>
chatty::Verdict Within(std::string_view what, const chatty::Graph& graph, std::span<const T> values,
                       const Expected& expected, double bound) {
  for (chatty::VertexId v = 0; v < graph.vertices(); ++v) {
    if (chatty::IsWithin(values[v], expected[v], bound)) continue;
    return chatty::Failed("{}: {} of {} is {}, where the reference has {}", what, what, chatty::VertexName(graph, v),
                          values[v], expected[v]);
  }
  return chatty::Passed("{}: all {} within {:.3g} of the serial reference's", what, graph.vertices(), bound);
}

/// Number of shortest paths from `source` to each vertex, by breadth-first search. Infinity if a double cannot hold the
/// number.
inline std::vector<double> PathCounts(const chatty::Graph& graph, chatty::VertexId source) {
  std::vector<double> paths(graph.vertices(), 0.0);
  std::vector<chatty::VertexId> levels(graph.vertices(), chatty::kNoVertex), order{source};
  paths[source] = 1.0;
  levels[source] = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const chatty::VertexId u = order[i];
    for (const chatty::VertexId v : graph.out()[u]) {
      if (levels[v] == chatty::kNoVertex) {
        levels[v] = levels[u] + 1;
        order.push_back(v);
      }
      if (levels[v] == levels[u] + 1) paths[v] += paths[u];
    }
  }
  return paths;
}

/// Widths of widest paths from `source`: Dijkstra's algorithm with the widest open vertex first. Unweighted edges have
/// weight 1.
inline std::vector<float> Widths(const chatty::Graph& graph, chatty::VertexId source) {
  std::vector<float> widths(graph.vertices(), 0.0f);
  widths[source] = chatty::kInfinity<float>;
  chatty::VisitWeights<float>(graph, [&](auto weight_of) {
    std::priority_queue<std::pair<float, chatty::VertexId>> open;
    open.emplace(widths[source], source);
    while (!open.empty()) {
      const auto [width, u] = open.top();
      open.pop();
      if (width < widths[u]) continue;
      for (chatty::EdgeIndex e = graph.out().offsets[u]; e < graph.out().offsets[u + 1]; ++e) {
        const chatty::VertexId v = graph.out().neighbours[e];
        const float through = std::min(width, weight_of(e));
        if (through <= widths[v]) continue;
        widths[v] = through;
        open.emplace(through, v);
      }
    }
  });
  return widths;
}

/// Bit i of a vertex: it is reachable from vertex first + i * stride, by breadth-first search; i is below `count`, at most
/// 64.
inline std::vector<std::uint64_t> Reached(const chatty::Graph& graph, std::uint64_t first, std::uint64_t stride,
                                          std::uint64_t count) {
  std::vector<std::uint64_t> reached(graph.vertices(), 0);
  for (std::uint64_t i = 0; i < count && first + i * stride < graph.vertices(); ++i) {
    const auto levels = chatty::SerialBfs(graph, static_cast<chatty::VertexId>(first + i * stride));
    for (chatty::VertexId v = 0; v < graph.vertices(); ++v) {
      if (levels[v] != chatty::kInfinity<std::uint32_t>) reached[v] |= std::uint64_t{1} << i;
    }
  }
  return reached;
}

/// What several breadth-first searches find at each vertex.
struct Searches {
  std::vector<std::uint32_t> visits;        ///< number of searches that reach the vertex
  std::vector<std::uint64_t> farness;       ///< sum of the vertex's distances from their sources
  std::vector<std::uint32_t> eccentricity;  ///< the largest of these distances
};

/// One breadth-first search after another. `begins`: the number of searches that begin at each vertex.
inline Searches SearchOneByOne(const chatty::Graph& graph, std::span<const std::uint32_t> begins) {
  const auto n = graph.vertices();
  Searches found{std::vector<std::uint32_t>(n, 0), std::vector<std::uint64_t>(n, 0), std::vector<std::uint32_t>(n, 0)};
  for (chatty::VertexId source = 0; source < n; ++source) {
    if (begins[source] == 0) continue;
    const auto levels = chatty::SerialBfs(graph, source);
    for (chatty::VertexId v = 0; v < n; ++v) {
      if (levels[v] == chatty::kInfinity<std::uint32_t>) continue;
      found.visits[v] += begins[source];
      found.farness[v] += std::uint64_t{levels[v]} * begins[source];
      found.eccentricity[v] = std::max(found.eccentricity[v], levels[v]);
    }
  }
  return found;
}

/// Probabilities of a walk that follows a random out-edge with probability `damping`, and otherwise, or without an out-edge,
/// restarts at `source`: power iteration. A round multiplies the error by `damping`, so that the sum of errors is at most
/// 1e-10 at the end.
inline std::vector<double> PersonalisedRanks(const chatty::Graph& graph, chatty::VertexId source, double damping) {
  std::vector<double> ranks(graph.vertices(), 0.0), next;
  ranks[source] = 1.0;
  for (double wrong = 2.0; wrong > 1e-10; wrong *= damping) {
    next.assign(graph.vertices(), 0.0);
    for (chatty::VertexId u = 0; u < graph.vertices(); ++u) {
      const auto degree = static_cast<double>(graph.out_degree(u));
      next[source] += degree > 0 ? (1.0 - damping) * ranks[u] : ranks[u];
      for (const chatty::VertexId v : graph.out()[u]) next[v] += damping * ranks[u] / degree;
    }
    ranks.swap(next);
  }
  return ranks;
}

/// Calls body(u) for all in- and out-neighbours of v; for each once on a symmetric graph.
template <class Body>
void ForEachNeighbour(const chatty::Graph& graph, chatty::VertexId v, Body&& body) {
  for (const chatty::VertexId u : graph.out()[v]) body(u);
  if (graph.symmetric()) return;
  for (const chatty::VertexId u : graph.in()[v]) body(u);
}

/// Labels after `rounds` rounds. In each round a vertex without a seed counts its neighbours' labels other than `none` in a
/// map, and takes the most frequent; on ties the least.
inline std::vector<std::uint32_t> SpreadLabels(const chatty::Graph& graph, const std::vector<std::uint32_t>& seeds,
                                               std::uint32_t none, std::uint32_t rounds) {
  std::vector<std::uint32_t> labels = seeds, next;
  for (std::uint32_t round = 0; round < rounds; ++round) {
    next = labels;
    for (chatty::VertexId v = 0; v < graph.vertices(); ++v) {
      if (seeds[v] != none) continue;
      std::map<std::uint32_t, std::uint64_t> count;
      ForEachNeighbour(graph, v, [&](chatty::VertexId u) { ++count[labels[u]]; });
      std::uint64_t most = 0;
      for (const auto& [label, times] : count) {
        if (label != none && times > most) most = times, next[v] = label;
      }
    }
    labels.swap(next);
  }
  return labels;
}

/// For each vertex, the number of its edges to vertices of its own side.
inline std::vector<std::uint32_t> NeighboursOfOwnSide(const chatty::Graph& graph, const std::vector<bool>& sides) {
  std::vector<std::uint32_t> same(graph.vertices(), 0);
  for (chatty::VertexId v = 0; v < graph.vertices(); ++v) {
    ForEachNeighbour(graph, v, [&](chatty::VertexId u) { same[v] += sides[u] == sides[v]; });
  }
  return same;
}

/// Whether values are within `bound` of the expected ones in the L1 norm, and none is far off or undefined.
inline chatty::Verdict Close(std::string_view what, const chatty::Graph& graph, std::span<const double> values,
                             const std::vector<double>& expected, double bound) {
  double distance = 0;
  for (chatty::VertexId v = 0; v < graph.vertices(); ++v) {
    const double off = std::abs(values[v] - expected[v]);
    distance += off;
    if (off <= bound) continue;
    return chatty::Failed("{} of {} is {}, where the reference has {}", what, chatty::VertexName(graph, v), values[v],
                          expected[v]);
  }
  if (!(distance <= bound)) return chatty::Failed("{}s differ by {} in sum; the bound is {}", what, distance, bound);
  return chatty::Passed("{}s: {:.1e} from the reference's in sum; the bound is {:.1e}", what, distance, bound);
}

/// Whether the sum of differences between `ranks` and PersonalisedRanks is within `bound`, no rank is negative, and ranks of
/// unreachable vertices are 0, for which a relative bound has no meaning.
inline chatty::Verdict CloseRanks(const chatty::Graph& graph, chatty::VertexId source, std::span<const double> ranks,
                                  double damping, double bound) {
  const auto levels = chatty::SerialBfs(graph, source);
  for (chatty::VertexId v = 0; v < graph.vertices(); ++v) {
    const bool reached = levels[v] != chatty::kInfinity<std::uint32_t>;
    if (reached ? ranks[v] >= 0 : ranks[v] == 0) continue;
    return chatty::Failed("rank of {} is {}, where {}", chatty::VertexName(graph, v), ranks[v],
                          reached ? "none is negative" : "no walk comes");
  }
  return Close("rank", graph, ranks, PersonalisedRanks(graph, source, damping), bound);
}

/// Whether `member`, 1 or 0 for each vertex, is a maximal independent set. Loops do not count.
inline chatty::Verdict IndependentAndMaximal(const chatty::Graph& graph, std::span<const std::uint32_t> member) {
  std::uint64_t members = 0;
  for (chatty::VertexId v = 0; v < graph.vertices(); ++v) {
    if (member[v] > 1) return chatty::Failed("{} is {}, neither 0 nor 1", chatty::VertexName(graph, v), member[v]);
    members += member[v];
    bool covered = member[v] == 1;
    for (const auto* side : {&graph.out(), &graph.in()}) {
      for (const chatty::VertexId u : (*side)[v]) {
        if (u == v || member[u] != 1) continue;
        if (member[v] == 1) {
          return chatty::Failed("{} and {} are neighbours, and both in the set", chatty::VertexName(graph, v),
                                chatty::VertexName(graph, u));
        }
        covered = true;
      }
    }
    if (!covered) {
      return chatty::Failed("{} could be added: it is not in the set, nor is a neighbour", chatty::VertexName(graph, v));
    }
  }
  return chatty::Passed("independent and maximal: {} of {} vertices", members, graph.vertices());
}

/// The result of Hits.
struct HitsScores {
  std::vector<double> authorities, hubs;
};

/// Power iteration from equal hubs until the sum of their changes is at most `tolerance`, or for `rounds` rounds.
inline HitsScores Hits(const chatty::Graph& graph, double tolerance, std::uint32_t rounds) {
  const auto n = graph.vertices();
  HitsScores scores{std::vector<double>(n, 0.0), std::vector<double>(n, 1.0 / static_cast<double>(n))};
  const auto scale = [](std::vector<double>& values) {
    const double sum = std::accumulate(values.begin(), values.end(), 0.0);
    for (double& value : values) value = sum > 0 ? value / sum : 0.0;
  };
  for (std::uint32_t round = 0; round < rounds; ++round) {
    const std::vector<double> before = scores.hubs;
    std::fill(scores.authorities.begin(), scores.authorities.end(), 0.0);
    for (chatty::VertexId u = 0; u < n; ++u) {
      for (const chatty::VertexId v : graph.out()[u]) scores.authorities[v] += scores.hubs[u];
    }
    scale(scores.authorities);
    double change = 0;
    for (chatty::VertexId u = 0; u < n; ++u) {
      scores.hubs[u] = 0;
      for (const chatty::VertexId v : graph.out()[u]) scores.hubs[u] += scores.authorities[v];
    }
    scale(scores.hubs);
    for (chatty::VertexId u = 0; u < n; ++u) change += std::abs(scores.hubs[u] - before[u]);
    if (change <= tolerance) break;
  }
  return scores;
}

/// The least id of each vertex's strongly connected component: Tarjan's algorithm (SIAM J. Comput. 1, 1972) with an explicit
/// stack in place of recursion.
inline std::vector<chatty::VertexId> StrongComponents(const chatty::Graph& graph) {
  const auto n = graph.vertices();
  std::vector<chatty::VertexId> components(n, chatty::kNoVertex), number(n, 0), low(n, 0), unfinished;
  std::vector<std::pair<chatty::VertexId, chatty::EdgeIndex>> path;  // a vertex, and its next edge
  chatty::VertexId numbered = 0;
  for (chatty::VertexId root = 0; root < n; ++root) {
    if (number[root] != 0) continue;
    path.emplace_back(root, graph.out().offsets[root]);
    while (!path.empty()) {
      const chatty::VertexId v = path.back().first;
      chatty::EdgeIndex& edge = path.back().second;
      if (number[v] == 0) {
        number[v] = low[v] = ++numbered;
        unfinished.push_back(v);
      }
      if (edge < graph.out().offsets[v + 1]) {
        const chatty::VertexId u = graph.out().neighbours[edge++];
        if (number[u] == 0) {
          path.emplace_back(u, graph.out().offsets[u]);
        } else if (components[u] == chatty::kNoVertex) {
          low[v] = std::min(low[v], number[u]);
        }
        continue;
      }
      path.pop_back();
      if (!path.empty()) low[path.back().first] = std::min(low[path.back().first], low[v]);
      if (low[v] != number[v]) continue;
      const auto first = std::find(unfinished.rbegin(), unfinished.rend(), v).base() - 1;
      const chatty::VertexId least = *std::min_element(first, unfinished.end());
      std::for_each(first, unfinished.end(), [&](chatty::VertexId u) { components[u] = least; });
      unfinished.erase(first, unfinished.end());
    }
  }
  return components;
}

}  // namespace reference
