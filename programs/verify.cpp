#include "chatty/programs/verify.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "chatty/core/array.h"
#include "chatty/core/error.h"
#include "chatty/core/parallel.h"
#include "chatty/programs/checks.h"
#include "chatty/programs/reference.h"
#include "chatty/programs/verify_support.h"

namespace chatty {

using detail::Marks;
using detail::WrongLength;

namespace {

constexpr std::uint32_t kUnreached = kInfinity<std::uint32_t>;

// The fault of levels along u's out-edges: an edge to an unreached vertex, or to one more than one level deeper.
std::string LevelFault(const Graph& graph, std::span<const std::uint32_t> levels, VertexId u) {
  if (levels[u] == kUnreached) return {};
  const std::uint64_t limit = std::uint64_t{levels[u]} + 1;
  for (const VertexId v : graph.out()[u]) {
    if (levels[v] <= limit && levels[v] != kUnreached) [[likely]]
      continue;
    if (levels[v] == kUnreached) {
      return fmt::format("{} is at level {} and has an edge to {}, which is said to be unreached", VertexName(graph, u),
                         levels[u], VertexName(graph, v));
    }
    return fmt::format("{} is at level {} and has an edge to {}, which is at level {} instead of {} at most",
                       VertexName(graph, u), levels[u], VertexName(graph, v), levels[v], limit);
  }
  return {};
}

Verdict LevelsPassed(const Graph& graph, std::span<const std::uint32_t> levels, std::string_view what) {
  VertexId reached = 0;
  std::uint32_t depth = 0;
  for (const std::uint32_t level : levels) {
    if (level == kUnreached) continue;
    ++reached;
    depth = std::max(depth, level);
  }
  return Passed("{} hold: {} of {} vertices reached, {} deep, {} edges checked", what, reached, graph.vertices(), depth,
                graph.edges());
}

// Computes the depths of all vertices in the tree of `parents`. A walk up ends at the first vertex of known depth, and a
// second walk writes the depths on its way, so each thread visits a vertex at most twice. Vertices without a parent keep
// kUnreached. Every parent must be kNoVertex or a vertex, and only the source is its own. Returns the first fault.
std::string TreeDepths(const Graph& graph, VertexId source, std::span<const VertexId> parents,
                       Array<std::uint32_t>& depths) {
  const auto depth_of = [&](VertexId v) { return std::atomic_ref<std::uint32_t>(depths[v]); };
  depths[source] = 0;
  return FirstFault(graph.vertices(), [&](VertexId v) -> std::string {
    if (parents[v] == kNoVertex) return {};
    std::uint32_t known = kUnreached;
    std::uint64_t steps = 0;
    for (VertexId at = v; (known = depth_of(at).load(std::memory_order_relaxed)) == kUnreached; ++steps) {
      if (parents[at] == kNoVertex) {
        return fmt::format("the parents of {} lead to {}, which has none, instead of the source", VertexName(graph, v),
                           VertexName(graph, at));
      }
      if (steps == graph.vertices()) {
        return fmt::format("the parents of {} run in a circle and never reach the source", VertexName(graph, v));
      }
      at = parents[at];
    }
    if (known + steps >= kUnreached) return fmt::format("{} is deeper than 32-bit levels count", VertexName(graph, v));
    std::uint32_t depth = known + static_cast<std::uint32_t>(steps);
    for (VertexId at = v; depth > known; --depth, at = parents[at]) {
      depth_of(at).store(depth, std::memory_order_relaxed);
    }
    return {};
  });
}

// d + w as the program adds it. An integer overflow becomes the largest value.
template <class Length>
Length Extend(Length d, Length w) {
  if constexpr (std::is_integral_v<Length>) {
    return w > kInfinity<Length> - d ? kInfinity<Length> : d + w;
  } else {
    return d + w;
  }
}

template <class Distance, class WeightOf>
Verdict CheckDistances(const Graph& graph, VertexId source, std::span<const Distance> distances, WeightOf weight_of) {
  using Length = PathLength<Distance>;
  const Adjacency& out = graph.out();
  const VertexId n = graph.vertices();
  const auto reached = [&](VertexId v) { return distances[v] != kInfinity<Distance>; };

  std::string fault = FirstFault(n, [&](VertexId v) -> std::string {
    if (distances[v] >= Distance{0}) [[likely]]
      return {};  // false also for a NaN
    return fmt::format("the distance of {} is {}", VertexName(graph, v), distances[v]);
  });
  if (!fault.empty()) return {false, std::move(fault)};
  if (distances[source] != Distance{0}) {
    return Failed("the distance of the source, {}, is {} instead of 0", VertexName(graph, source), distances[source]);
  }

  // No distance is too large. The same pass marks vertices with a tight edge from a strictly nearer vertex as supported.
  Marks supported(n);
  supported.set(source);
  fault = FirstFault(n, [&](VertexId u) -> std::string {
    if (!reached(u)) return {};
    const Length from = static_cast<Length>(distances[u]);
    for (EdgeIndex e = out.offsets[u]; e < out.offsets[u + 1]; ++e) {
      const VertexId v = out.neighbours[e];
      const Length candidate = Extend<Length>(from, weight_of(e));
      if (reached(v)) {
        const Length to = static_cast<Length>(distances[v]);
        if (to > candidate) [[unlikely]] {
          return fmt::format("{} is at distance {} and has an edge of weight {} to {}, which is at {} instead of {} at most",
                             VertexName(graph, u), distances[u], weight_of(e), VertexName(graph, v), distances[v],
                             candidate);
        }
        if (to == candidate && from < to) supported.set(v);
      } else if (std::is_integral_v<Distance> || candidate < kInfinity<Length>) {
        return fmt::format("{} is at distance {} and has an edge of weight {} to {}, which is said to be unreached",
                           VertexName(graph, u), distances[u], weight_of(e), VertexName(graph, v));
      }
    }
    return {};
  });
  if (!fault.empty()) return {false, std::move(fault)};

  // Tight edges between equal distances propagate support. A thread follows them from each vertex of its range; the first
  // thread to claim a vertex continues from it.
  ParallelChunks(n, 0, 1024, [&](std::size_t begin, std::size_t end) {
    std::vector<VertexId> stack;
    for (std::size_t first = begin; first < end; ++first) {
      if (!reached(static_cast<VertexId>(first)) || !supported.has(static_cast<VertexId>(first))) continue;
      stack.assign(1, static_cast<VertexId>(first));
      while (!stack.empty()) {
        const VertexId u = stack.back();
        stack.pop_back();
        for (EdgeIndex e = out.offsets[u]; e < out.offsets[u + 1]; ++e) {
          const VertexId v = out.neighbours[e];
          if (distances[v] != distances[u]) continue;
          const Length length = static_cast<Length>(distances[u]);
          if (Extend<Length>(length, weight_of(e)) == length && supported.claim(v)) stack.push_back(v);
        }
      }
    }
  });
  fault = FirstFault(n, [&](VertexId v) -> std::string {
    if (!reached(v) || supported.has(v)) return {};
    return fmt::format("{} is said to be at distance {}, but no path from the source is that short", VertexName(graph, v),
                       distances[v]);
  });
  if (!fault.empty()) return {false, std::move(fault)};

  VertexId count = 0;
  Distance farthest{0};
  for (VertexId v = 0; v < n; ++v) {
    if (!reached(v)) continue;
    ++count;
    farthest = std::max(farthest, distances[v]);
  }
  return Passed("distances hold: {} of {} vertices reached, the farthest at {}, {} edges checked", count, n, farthest,
                graph.edges());
}

// A concurrent union-find: a compare-and-swap makes a lesser root the parent of a root, so a root is the least of its set.
class Forest {
 public:
  explicit Forest(VertexId vertices) : parents_(vertices) { std::iota(parents_.begin(), parents_.end(), VertexId{0}); }

  VertexId Find(VertexId v) {
    for (;;) {
      const VertexId parent = At(v).load(std::memory_order_relaxed);
      if (parent == v) return v;
      const VertexId ancestor = At(parent).load(std::memory_order_relaxed);
      if (ancestor != parent) At(v).store(ancestor, std::memory_order_relaxed);  // path halving; any ancestor is valid
      v = ancestor;
    }
  }

  void Unite(VertexId a, VertexId b) {
    for (a = Find(a), b = Find(b); a != b; a = Find(a), b = Find(b)) {
      if (a < b) std::swap(a, b);
      VertexId expected = a;
      if (At(a).compare_exchange_weak(expected, b, std::memory_order_relaxed)) return;
    }
  }

 private:
  std::atomic_ref<VertexId> At(VertexId v) { return std::atomic_ref<VertexId>(parents_[v]); }
  Array<VertexId> parents_;
};

}  // namespace

Verdict VerifyBfsLevels(const Graph& graph, VertexId source, std::span<const std::uint32_t> levels) {
  CheckSource(graph, source);
  if (auto wrong = WrongLength(graph, levels)) return *wrong;
  const VertexId n = graph.vertices();
  if (levels[source] != 0) {
    if (levels[source] == kUnreached) return Failed("the source, {}, is said to be unreached", VertexName(graph, source));
    return Failed("the source, {}, is at level {} instead of 0", VertexName(graph, source), levels[source]);
  }
  Marks supported(n);
  supported.set(source);
  std::string fault = FirstFault(n, [&](VertexId u) -> std::string {
    if (levels[u] == 0 && u != source) return fmt::format("{} is at level 0 but is not the source", VertexName(graph, u));
    std::string at_edge = LevelFault(graph, levels, u);
    if (!at_edge.empty() || levels[u] == kUnreached) return at_edge;
    for (const VertexId v : graph.out()[u]) {
      if (levels[v] == levels[u] + 1) supported.set(v);
    }
    return {};
  });
  if (!fault.empty()) return {false, std::move(fault)};
  fault = FirstFault(n, [&](VertexId v) -> std::string {
    if (levels[v] == kUnreached || supported.has(v)) return {};
    return fmt::format("{} is at level {}, but none of its in-neighbours is at level {}", VertexName(graph, v), levels[v],
                       levels[v] - 1);
  });
  if (!fault.empty()) return {false, std::move(fault)};
  return LevelsPassed(graph, levels, "levels");
}

Verdict VerifyBfsParents(const Graph& graph, VertexId source, std::span<const VertexId> parents,
                         std::span<const std::uint32_t> levels) {
  CheckSource(graph, source);
  if (auto wrong = WrongLength(graph, parents)) return *wrong;
  if (!levels.empty()) {
    if (auto wrong = WrongLength(graph, levels)) return *wrong;
  }
  const VertexId n = graph.vertices();
  if (parents[source] != source) {
    if (parents[source] == kNoVertex)
      return Failed("the source, {}, has no parent instead of itself", VertexName(graph, source));
    return Failed("the parent of the source, {}, is {} instead of itself", VertexName(graph, source),
                  VertexName(graph, parents[source]));
  }
  std::string fault = FirstFault(n, [&](VertexId v) -> std::string {
    const VertexId parent = parents[v];
    if (parent == kNoVertex || v == source) return {};
    if (parent >= n) {
      return fmt::format("the parent of {} is {}, which is not a vertex: there are {}", VertexName(graph, v),
                         VertexName(graph, parent), n);
    }
    if (parent == v) return fmt::format("{} is its own parent but is not the source", VertexName(graph, v));
    const std::span<const VertexId> children = graph.out()[parent];
    if (std::binary_search(children.begin(), children.end(), v)) return {};
    return fmt::format("the parent of {} is {}, but there is no such edge", VertexName(graph, v), VertexName(graph, parent));
  });
  if (!fault.empty()) return {false, std::move(fault)};

  Array<std::uint32_t> depths(n, kUnreached);
  fault = TreeDepths(graph, source, parents, depths);
  if (!fault.empty()) return {false, std::move(fault)};
  // Depths one below the parents' show that no vertex is too shallow; the edges show that none is too deep or left out.
  fault = FirstFault(n, [&](VertexId u) { return LevelFault(graph, depths.span(), u); });
  if (!fault.empty()) return {false, "by its parents, " + fault};
  if (!levels.empty()) {
    fault = FirstFault(n, [&](VertexId v) -> std::string {
      if (levels[v] == depths[v]) return {};
      if (depths[v] == kUnreached) return fmt::format("{} has level {} but no parent", VertexName(graph, v), levels[v]);
      if (levels[v] == kUnreached) {
        return fmt::format("{} has a parent but is said to be unreached", VertexName(graph, v));
      }
      return fmt::format("{} has level {}, but its parents are {} steps to the source", VertexName(graph, v), levels[v],
                         depths[v]);
    });
    if (!fault.empty()) return {false, std::move(fault)};
  }
  return LevelsPassed(graph, depths.span(), "parents");
}

template <class Distance>
Verdict VerifySssp(const Graph& graph, VertexId source, std::span<const Distance> distances) {
  CheckSource(graph, source);
  CheckWeights(graph);
  if (auto wrong = WrongLength(graph, distances)) return *wrong;
  Verdict verdict;
  VisitWeights<Distance>(graph, [&](auto weight_of) { verdict = CheckDistances(graph, source, distances, weight_of); });
  return verdict;
}

template Verdict VerifySssp<std::int32_t>(const Graph&, VertexId, std::span<const std::int32_t>);
template Verdict VerifySssp<std::uint32_t>(const Graph&, VertexId, std::span<const std::uint32_t>);
template Verdict VerifySssp<std::int64_t>(const Graph&, VertexId, std::span<const std::int64_t>);
template Verdict VerifySssp<float>(const Graph&, VertexId, std::span<const float>);
template Verdict VerifySssp<double>(const Graph&, VertexId, std::span<const double>);

Verdict VerifyComponents(const Graph& graph, std::span<const VertexId> labels) {
  if (auto wrong = WrongLength(graph, labels)) return *wrong;
  const VertexId n = graph.vertices();
  std::string fault = FirstFault(n, [&](VertexId v) -> std::string {
    const VertexId label = labels[v];
    if (label == kNoVertex) return fmt::format("{} has no label", VertexName(graph, v));
    if (label > v) {
      return fmt::format("the label of {} is {}, not the least of its component", VertexName(graph, v),
                         VertexName(graph, label));
    }
    if (labels[label] == label) return {};
    return fmt::format("the label of {} is {}, which has the label {} itself", VertexName(graph, v),
                       VertexName(graph, label), VertexName(graph, labels[label]));
  });
  if (!fault.empty()) return {false, std::move(fault)};

  Forest forest(n);
  fault = FirstFault(n, [&](VertexId u) -> std::string {
    for (const VertexId v : graph.out()[u]) {
      if (labels[v] != labels[u]) {
        return fmt::format("the edge from {} to {} joins the labels {} and {}", VertexName(graph, u), VertexName(graph, v),
                           VertexName(graph, labels[u]), VertexName(graph, labels[v]));
      }
      forest.Unite(u, v);
    }
    return {};
  });
  if (!fault.empty()) return {false, std::move(fault)};

  // No component is split, so only too few labels could be wrong; the sets show at which vertex.
  std::atomic<std::uint64_t> label_count{0}, component_count{0};
  ParallelChunks(n, 0, 4096, [&](std::size_t begin, std::size_t end) {
    std::uint64_t own_labels = 0, own_components = 0;
    for (std::size_t v = begin; v < end; ++v) {
      own_labels += labels[v] == v;
      own_components += forest.Find(static_cast<VertexId>(v)) == v;
    }
    label_count += own_labels;
    component_count += own_components;
  });
  if (label_count != component_count) {
    return {false, FirstFault(n, [&](VertexId v) -> std::string {
              if (forest.Find(v) == labels[v]) return {};
              return fmt::format("{} has the label {}, but no path joins them: there are {} components and {} labels",
                                 VertexName(graph, v), VertexName(graph, labels[v]), component_count.load(),
                                 label_count.load());
            })};
  }
  return Passed("components hold: {} of {} vertices, {} edges checked", component_count.load(), n, graph.edges());
}

Verdict VerifySsspWithin(const Graph& graph, VertexId source, std::span<const float> distances, double relative_bound) {
  if (auto wrong = WrongLength(graph, distances)) return *wrong;
  const Array<double> right = SerialSssp<double>(graph, source);
  std::string fault = FirstFault(graph.vertices(), [&](VertexId v) -> std::string {
    const double given = distances[v];
    if (IsWithin(given, right[v], relative_bound)) return {};
    if (right[v] == kInfinity<double>) {
      return fmt::format("{} is said to be at distance {}, but no path leads there from {}", VertexName(graph, v), given,
                         VertexName(graph, source));
    }
    return fmt::format("{} is said to be at distance {}; it is {}", VertexName(graph, v), given, right[v]);
  });
  if (!fault.empty()) return {false, std::move(fault)};
  return Passed("distances hold: all {} within {} of those in fp64", graph.vertices(), relative_bound);
}

Verdict VerifyLabelPropagation(const Graph& graph, std::span<const VertexId> labels, std::uint32_t rounds) {
  if (auto wrong = WrongLength(graph, labels)) return *wrong;
  const Array<VertexId> right = SerialLabelPropagation(graph, rounds);
  std::string fault = FirstFault(graph.vertices(), [&](VertexId v) -> std::string {
    if (labels[v] == right[v]) return {};
    if (labels[v] >= graph.vertices()) return fmt::format("the label of {} is no vertex", VertexName(graph, v));
    return fmt::format("the label of {} is {} instead of {} after {} rounds", VertexName(graph, v),
                       VertexName(graph, labels[v]), VertexName(graph, right[v]), rounds);
  });
  if (!fault.empty()) return {false, std::move(fault)};
  return Passed("labels: all {} equal the serial reference's", graph.vertices());
}

Verdict VerifyTriangles(const Graph& graph, std::span<const std::uint64_t> counts) {
  if (auto wrong = WrongLength(graph, counts)) return *wrong;
  const VertexId n = graph.vertices();
  const Adjacency& out = graph.out();
  const Adjacency& in = graph.in();
  const auto degree = [&](VertexId v) { return out[v].size() + (graph.symmetric() ? 0 : in[v].size()); };
  const auto is_higher = [&](VertexId u, VertexId than) {
    return degree(u) != degree(than) ? degree(u) > degree(than) : u > than;
  };
  // A vertex's higher neighbours, ascending by id, each once.
  const auto find_higher = [&](VertexId v, std::vector<VertexId>& higher) {
    const auto take = [&](const Adjacency& rows) {
      for (const VertexId u : rows[v]) {
        if (is_higher(u, v)) higher.push_back(u);
      }
    };
    higher.clear();
    take(out);
    if (!graph.symmetric()) {
      take(in);
      std::sort(higher.begin(), higher.end());
    }
    higher.erase(std::unique(higher.begin(), higher.end()), higher.end());
  };
  Array<EdgeIndex> offsets(std::size_t{n} + 1, EdgeIndex{0});
  const auto each = [&](auto&& body) {
    ParallelChunksWithState(
        n, 0, 256, [] { return std::vector<VertexId>(); },
        [&](std::vector<VertexId>& row, std::size_t begin, std::size_t end) {
          for (std::size_t v = begin; v < end; ++v) {
            find_higher(static_cast<VertexId>(v), row);
            body(v, row);
          }
        });
  };
  each([&](std::size_t v, const std::vector<VertexId>& row) { offsets[v + 1] = row.size(); });
  for (std::size_t v = 0; v < n; ++v) offsets[v + 1] += offsets[v];
  Array<VertexId> entries(offsets[n]);
  each([&](std::size_t v, const std::vector<VertexId>& row) {
    std::copy(row.begin(), row.end(), entries.data() + offsets[v]);
  });

  Array<std::uint64_t> right(n, std::uint64_t{0});
  const auto add = [&](VertexId v, std::uint64_t count) {
    std::atomic_ref<std::uint64_t>(right[v]).fetch_add(count, std::memory_order_relaxed);
  };
  ParallelChunks(n, 0, 64, [&](std::size_t first, std::size_t last) {
    for (std::size_t v = first; v < last; ++v) {
      std::uint64_t at_v = 0;
      for (EdgeIndex e = offsets[v]; e < offsets[v + 1]; ++e) {
        std::uint64_t at_u = 0;
        EdgeIndex a = offsets[v], b = offsets[entries[e]];
        const EdgeIndex a_end = offsets[v + 1], b_end = offsets[entries[e] + std::size_t{1}];
        while (a < a_end && b < b_end) {
          const VertexId mine = entries[a], theirs = entries[b];
          if (mine == theirs) {
            add(mine, 1);
            ++at_u;
          }
          a += mine <= theirs ? 1 : 0;
          b += theirs <= mine ? 1 : 0;
        }
        if (at_u > 0) add(entries[e], at_u);
        at_v += at_u;
      }
      if (at_v > 0) add(static_cast<VertexId>(v), at_v);
    }
  });
  std::string fault = FirstFault(n, [&](VertexId v) -> std::string {
    if (counts[v] == right[v]) [[likely]]
      return {};
    return fmt::format("{} is said to be in {} triangles, and is in {}", VertexName(graph, v), counts[v], right[v]);
  });
  if (!fault.empty()) return {false, std::move(fault)};
  const std::uint64_t corners = std::accumulate(right.begin(), right.end(), std::uint64_t{0});
  return Passed("triangles hold: {} in all, counted anew", corners / 3);
}

namespace {

// A positive number or 0 with a separate exponent: mantissa * 2^exponent, the mantissa in [0.5, 1).
struct Wide {
  double mantissa = 0;
  std::int64_t exponent = 0;

  static Wide Of(double mantissa, std::int64_t exponent = 0) {
    int shift = 0;
    mantissa = std::frexp(mantissa, &shift);
    return {mantissa, exponent + shift};
  }
  friend Wide operator+(const Wide& a, const Wide& b) {
    if (a.mantissa == 0) return b;
    if (b.mantissa == 0) return a;
    if (a.exponent < b.exponent) return b + a;
    constexpr std::int64_t kFar = 200;  // the smaller one is negligible
    const std::int64_t apart = a.exponent - b.exponent;
    return apart > kFar ? a : Of(a.mantissa + std::ldexp(b.mantissa, static_cast<int>(-apart)), a.exponent);
  }
  /// a / b as a double.
  friend double operator/(const Wide& a, const Wide& b) {
    return std::ldexp(a.mantissa / b.mantissa,
                      static_cast<int>(std::clamp<std::int64_t>(a.exponent - b.exponent, -2000, 2000)));
  }
};

}  // namespace

Verdict VerifyBetweenness(const Graph& graph, std::span<const VertexId> sources, std::span<const double> centralities,
                          double relative_bound) {
  if (auto wrong = WrongLength(graph, centralities)) return *wrong;
  // All terms are positive, so sums are as exact as their terms. A share of very many paths may underflow a double.
  constexpr double kNothing = 1e-250, kMin = 1e-300;
  const VertexId n = graph.vertices();
  const Adjacency& out = graph.out();
  Array<double> right(n, 0.0), dependencies(n, 0.0);
  Array<Wide> paths(n, Wide{});
  Array<VertexId> levels(n, kNoVertex), order(n);
  for (const VertexId source : sources) {
    CheckSource(graph, source);
    std::size_t reached = 1;
    order[0] = source;
    levels[source] = 0;
    paths[source] = Wide::Of(1);
    for (std::size_t i = 0; i < reached; ++i) {
      const VertexId u = order[i];
      for (const VertexId v : out[u]) {
        if (levels[v] == kNoVertex) {
          levels[v] = levels[u] + 1;
          order[reached++] = v;
        }
        if (levels[v] == levels[u] + 1) paths[v] = paths[v] + paths[u];
      }
    }
    for (std::size_t i = reached; i-- > 0;) {
      const VertexId u = order[i];
      double dependency = 0;
      for (const VertexId v : out[u]) {
        if (levels[v] == levels[u] + 1) dependency += std::max(paths[u] / paths[v] * (1 + dependencies[v]), kMin);
      }
      dependencies[u] = dependency;
      if (u != source) right[u] += dependency;
    }
    for (std::size_t i = 0; i < reached; ++i) {
      levels[order[i]] = kNoVertex;
      paths[order[i]] = Wide{};
    }
  }
  std::string fault = FirstFault(n, [&](VertexId v) -> std::string {
    if (IsWithin(centralities[v], right[v], relative_bound)) [[likely]]
      return {};
    if (right[v] > 0 && right[v] <= kNothing && centralities[v] >= 0 && centralities[v] <= kNothing) return {};
    return fmt::format("{} has a centrality of {}; Brandes' algorithm says {}", VertexName(graph, v), centralities[v],
                       right[v]);
  });
  if (!fault.empty()) return {false, std::move(fault)};
  return Passed("centralities: those of Brandes' algorithm from {} source{}, to {:.3g}", sources.size(),
                sources.size() == 1 ? "" : "s", relative_bound);
}

Verdict VerifyClustering(const Graph& graph, std::span<const double> coefficients, double relative_bound) {
  if (auto wrong = WrongLength(graph, coefficients)) return *wrong;
  const Adjacency& out = graph.out();
  const Adjacency& in = graph.in();
  std::string fault = FirstFault(graph.vertices(), [&](VertexId v) -> std::string {
    thread_local std::vector<VertexId> near;  // reused for further vertices
    near.assign(out[v].begin(), out[v].end());
    if (!graph.symmetric()) near.insert(near.end(), in[v].begin(), in[v].end());
    std::sort(near.begin(), near.end());
    near.erase(std::unique(near.begin(), near.end()), near.end());
    if (const auto self = std::lower_bound(near.begin(), near.end(), v); self != near.end() && *self == v) near.erase(self);
    std::uint64_t edges = 0;
    for (const VertexId u : near) {
      const std::span<const VertexId> row = out[u];
      if (row.size() < near.size()) {
        for (const VertexId w : row) edges += w != u && std::binary_search(near.begin(), near.end(), w);
      } else {
        for (const VertexId w : near) {
          const auto [first, last] = std::equal_range(row.begin(), row.end(), w);
          if (w != u) edges += static_cast<std::uint64_t>(last - first);
        }
      }
    }
    const auto degree = static_cast<double>(near.size());
    const double right = near.size() < 2 ? 0.0 : static_cast<double>(edges) / (degree * (degree - 1));
    if (IsWithin(coefficients[v], right, relative_bound)) return {};
    return fmt::format("the coefficient of {} is {} instead of {}: {} edges among {} neighbours", VertexName(graph, v),
                       coefficients[v], right, edges, near.size());
  });
  if (!fault.empty()) return {false, std::move(fault)};
  return Passed("coefficients hold: {} vertices counted anew", graph.vertices());
}

}  // namespace chatty
