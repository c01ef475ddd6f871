// Verifiers of PageRank: one more application of the operator, or the same rounds, in fp64.

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "chatty/core/array.h"
#include "chatty/core/error.h"
#include "chatty/core/parallel.h"
#include "chatty/programs/checks.h"
#include "chatty/programs/reference.h"
#include "chatty/programs/verify.h"
#include "chatty/programs/verify_support.h"

namespace chatty {

using detail::Marks;
using detail::ParallelSum;
using detail::WrongLength;

namespace {

// One application of the PageRank operator in fp64; without the rank of dangling vertices if it is spread at the end.
// `shares` is scratch memory.
template <class Rank>
void ApplyPageRank(const Graph& graph, std::span<const Rank> ranks, double damping, Array<double>& shares,
                   Array<double>& result, Dangling when = Dangling::kEveryRound) {
  const VertexId n = graph.vertices();
  const Adjacency& in = graph.in();
  const double dangling = ParallelSum(n, [&](VertexId v) {
    const EdgeIndex degree = graph.out_degree(v);
    shares[v] = degree == 0 ? 0.0 : static_cast<double>(ranks[v]) / static_cast<double>(degree);
    return degree == 0 && when == Dangling::kEveryRound ? static_cast<double>(ranks[v]) : 0.0;
  });
  const double base = (1.0 - damping + damping * dangling) / static_cast<double>(n);
  ParallelChunks(n, 0, 1024, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) {
      double sum = 0;
      for (const VertexId u : in[static_cast<VertexId>(v)]) sum += shares[u];
      result[v] = base + damping * sum;
    }
  });
}

}  // namespace

template <class Rank>
Verdict VerifyPageRank(const Graph& graph, std::span<const Rank> ranks, double damping, double tolerance, double sum_bound) {
  CheckDamping(damping);
  if (auto wrong = WrongLength(graph, ranks)) return *wrong;
  const VertexId n = graph.vertices();
  if (n == 0) return Passed("ranks hold: there are no vertices");
  std::string fault = FirstFault(n, [&](VertexId v) -> std::string {
    if (ranks[v] > 0 && std::isfinite(ranks[v])) [[likely]]
      return {};
    return fmt::format("the rank of {} is {}", VertexName(graph, v), ranks[v]);
  });
  if (!fault.empty()) return {false, std::move(fault)};

  const double bound = std::min(tolerance / (1.0 - damping), sum_bound);
  const double sum = ParallelSum(n, [&](VertexId v) { return static_cast<double>(ranks[v]); });
  if (!(std::abs(sum - 1.0) <= bound)) return Failed("the ranks sum to {}, more than {} from 1", sum, bound);

  Array<double> shares(n), applied(n);
  ApplyPageRank(graph, ranks, damping, shares, applied);
  const auto difference = [&](VertexId v) { return std::abs(static_cast<double>(ranks[v]) - applied[v]); };
  const double residual = ParallelSum(n, difference);
  if (!(residual <= tolerance)) {
    VertexId worst = 0;
    for (VertexId v = 1; v < n; ++v) {
      if (difference(v) > difference(worst)) worst = v;
    }
    return Failed("the residual is {}, above {}; most of all at {}, whose rank is {} where its neighbours give {}", residual,
                  tolerance, VertexName(graph, worst), ranks[worst], applied[worst]);
  }
  return Passed("ranks hold: residual {:.3g} of {:.3g} allowed, {} edges checked", residual, tolerance, graph.edges());
}

template Verdict VerifyPageRank<float>(const Graph&, std::span<const float>, double, double, double);
template Verdict VerifyPageRank<double>(const Graph&, std::span<const double>, double, double, double);

template <class Rank>
Verdict VerifyPageRankRounds(const Graph& graph, std::span<const Rank> ranks, double damping, std::uint32_t rounds,
                             double relative_bound, Dangling dangling) {
  CheckDamping(damping);
  if (auto wrong = WrongLength(graph, ranks)) return *wrong;
  const VertexId n = graph.vertices();
  if (n == 0) return Passed("ranks hold: there are no vertices");
  Array<double> expected(n, 1.0 / static_cast<double>(n)), next(n), shares(n);
  for (std::uint32_t round = 0; round < rounds; ++round) {
    ApplyPageRank<double>(graph, expected.span(), damping, shares, next, dangling);
    std::swap(expected, next);
  }
  if (dangling == Dangling::kAtEnd) {
    const double sum = ParallelSum(n, [&](VertexId v) { return expected[v]; });
    for (double& rank : expected) rank /= sum;
  }
  const std::string fault = FirstFault(n, [&](VertexId v) -> std::string {
    if (IsWithin(static_cast<double>(ranks[v]), expected[v], relative_bound)) [[likely]]
      return {};
    return fmt::format("the rank of {} after {} rounds is {} instead of {}, a relative error above {}", VertexName(graph, v),
                       rounds, ranks[v], expected[v], relative_bound);
  });
  if (!fault.empty()) return {false, fault};
  return Passed("ranks hold: all {} within {} of {} rounds in fp64, {} edges checked", n, relative_bound, rounds,
                graph.edges());
}

template Verdict VerifyPageRankRounds<float>(const Graph&, std::span<const float>, double, std::uint32_t, double, Dangling);
template Verdict VerifyPageRankRounds<double>(const Graph&, std::span<const double>, double, std::uint32_t, double,
                                              Dangling);

namespace {

// One application of the operator of personalised PageRank in fp64; `teleport` sums to 1.
template <class Rank>
void ApplyPersonalised(const Graph& graph, std::span<const Rank> ranks, const Array<double>& teleport, double damping,
                       Array<double>& shares, Array<double>& result) {
  const VertexId n = graph.vertices();
  const Adjacency& in = graph.in();
  const double dangling = ParallelSum(n, [&](VertexId v) {
    const EdgeIndex degree = graph.out_degree(v);
    shares[v] = degree == 0 ? 0.0 : static_cast<double>(ranks[v]) / static_cast<double>(degree);
    return degree == 0 ? static_cast<double>(ranks[v]) : 0.0;
  });
  ParallelChunks(n, 0, 1024, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) {
      double sum = 0;
      for (const VertexId u : in[static_cast<VertexId>(v)]) sum += shares[u];
      result[v] = (1.0 - damping + damping * dangling) * teleport[v] + damping * sum;
    }
  });
}

// The vertices that walks can reach.
Marks ReachedFrom(const Graph& graph, const Array<double>& teleport) {
  Marks reached(graph.vertices());
  std::vector<VertexId> ahead;
  const auto reach = [&](VertexId v) {
    if (reached.has(v)) return;
    reached.set(v);
    ahead.push_back(v);
  };
  for (VertexId v = 0; v < graph.vertices(); ++v) {
    if (teleport[v] > 0) reach(v);
  }
  while (!ahead.empty()) {
    const VertexId u = ahead.back();
    ahead.pop_back();
    for (const VertexId v : graph.out()[u]) reach(v);
  }
  return reached;
}

}  // namespace

Verdict VerifyPersonalised(const Graph& graph, std::span<const float> ranks, const Array<double>& teleport, double damping,
                           double tolerance) {
  CheckDamping(damping);
  const Array<double> start = NormalisedTeleport(graph, teleport.span());
  if (auto wrong = WrongLength(graph, ranks)) return *wrong;
  const VertexId n = graph.vertices();
  if (n == 0) return Passed("ranks hold: there are no vertices");
  Marks reached = ReachedFrom(graph, start);
  std::string fault = FirstFault(n, [&](VertexId v) -> std::string {
    if (!(ranks[v] >= 0 && std::isfinite(ranks[v]))) {
      return fmt::format("the rank of {} is {}", VertexName(graph, v), ranks[v]);
    }
    if (ranks[v] == 0 || reached.has(v)) return {};
    return fmt::format("the rank of {} is {}, and no walk comes there", VertexName(graph, v), ranks[v]);
  });
  if (!fault.empty()) return {false, std::move(fault)};
  Array<double> shares(n), applied(n);
  ApplyPersonalised(graph, ranks, start, damping, shares, applied);
  const auto difference = [&](VertexId v) { return std::abs(static_cast<double>(ranks[v]) - applied[v]); };
  const double residual = ParallelSum(n, difference);
  if (!(residual <= tolerance)) {
    VertexId worst = 0;
    for (VertexId v = 1; v < n; ++v) {
      if (difference(v) > difference(worst)) worst = v;
    }
    return Failed("the residual is {}, above {}; most of all at {}, whose rank is {} where its neighbours give {}", residual,
                  tolerance, VertexName(graph, worst), ranks[worst], applied[worst]);
  }
  // The sum's distance from 1 needs no check: it follows from the residual, because a round keeps `damping` of it.
  return Passed("ranks hold: residual {:.3g} of {:.3g} allowed, {} edges checked", residual, tolerance, graph.edges());
}

Verdict VerifyPersonalisedRounds(const Graph& graph, std::span<const float> ranks, const Array<double>& teleport,
                                 double damping, std::uint32_t rounds, double relative_bound) {
  CheckDamping(damping);
  const Array<double> start = NormalisedTeleport(graph, teleport.span());
  if (auto wrong = WrongLength(graph, ranks)) return *wrong;
  const VertexId n = graph.vertices();
  if (n == 0) return Passed("ranks hold: there are no vertices");
  Array<double> expected = start.Clone(), next(n), shares(n);
  for (std::uint32_t round = 0; round < rounds; ++round) {
    ApplyPersonalised<double>(graph, expected.span(), start, damping, shares, next);
    std::swap(expected, next);
  }
  constexpr double kNothing = 2 * double{std::numeric_limits<float>::min()};  // smaller floats have few digits
  const std::string fault = FirstFault(n, [&](VertexId v) -> std::string {
    if (IsWithin(static_cast<double>(ranks[v]), expected[v], relative_bound)) [[likely]]
      return {};
    if (expected[v] > 0 && expected[v] <= kNothing && ranks[v] >= 0 && ranks[v] <= kNothing) return {};
    return fmt::format("the rank of {} after {} rounds is {} instead of {}, a relative error above {}", VertexName(graph, v),
                       rounds, ranks[v], expected[v], relative_bound);
  });
  if (!fault.empty()) return {false, fault};
  return Passed("ranks hold: all {} within {} of {} rounds in fp64, {} edges checked", n, relative_bound, rounds,
                graph.edges());
}

}  // namespace chatty
