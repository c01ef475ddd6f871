/// \file
/// PageRank as one vertex sees it.
#pragma once

#include <chatty/chatty.h>

#include <cmath>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

/// How often a walk is at each vertex that follows a random out-edge with probability `damping`, and else, or where
/// there is no out-edge, starts again at `source` (Jeh and Widom, WWW'03). By residuals, as Andersen, Chung and Lang
/// push them (FOCS'06): only vertices near the source ever work.
///
/// What it shows: kAccumulative and Consume, and an Output that is scaled by the last Global.
struct PersonalisedPageRank {
  struct Value {
    float rank, residual;
  };
  using Shared = float;
  using Message = float;
  struct Global {
    double mass = 0;
    CHATTY_FN friend Global operator+(const Global& a, const Global& b) { return {a.mass + b.mass}; }
  };
  static constexpr auto kReduction = chatty::Reduction::kSum;
  static constexpr auto kSafety = chatty::Safety::kAccumulative;
  static constexpr const char* kOutputName = "rank";
  static constexpr const char* kSummary = "PageRank of walks that restart at --source, by residuals";

  chatty::VertexId source = 0;
  float damping = 0.85f;
  float tolerance = 1e-6f;
  static constexpr auto kParameters = std::make_tuple(
      chatty::Parameter{"source", &PersonalisedPageRank::source, "vertex where walks start"},
      chatty::Parameter{"damping", &PersonalisedPageRank::damping, "probability of following an edge, below 1"},
      chatty::Parameter{"tolerance", &PersonalisedPageRank::tolerance, "residual an out-edge that stays where it is"});

  CHATTY_FN bool Exceeds(const Value& v, chatty::Vertex x) const {
    return v.residual > tolerance * static_cast<float>(x.out_degree == 0 ? 1 : x.out_degree);
  }
  CHATTY_FN Value InitVertex(chatty::Vertex v) const { return {0.0f, v.id == source ? 1.0f - damping : 0.0f}; }
  CHATTY_FN bool IsActive(const Value& v, const chatty::Round<Global>&) const { return v.residual > 0.0f; }
  /// Takes the residual. What a vertex without out-edges would send back to the source is not sent: it would add a
  /// multiple of the answer to the answer, which Output's division undoes.
  CHATTY_FN Shared Consume(Value& v, chatty::Vertex x) const {
    const float residual = v.residual;
    v.rank += residual;
    v.residual = 0.0f;
    return x.out_degree == 0 ? 0.0f : damping * residual / static_cast<float>(x.out_degree);
  }
  CHATTY_FN Message ComputeScatter(const Shared& share, chatty::Edge<>, const chatty::Round<Global>&) const { return share; }
  CHATTY_FN bool UpdateStatus(Value& v, Message m, chatty::Vertex x, const chatty::Round<Global>&) const {
    v.residual += m;
    return Exceeds(v, x);
  }
  CHATTY_FN Global Measure(const Value& v, chatty::Vertex) const { return {double{v.rank} + double{v.residual}}; }
  CHATTY_FN float Output(const Value& v, const chatty::Round<Global>& round) const {
    return static_cast<float>((double{v.rank} + double{v.residual}) / round.global.mass);
  }

  void CheckInput(const chatty::Graph&) const {
    if (!(damping >= 0 && damping < 1)) {
      chatty::Throw<chatty::UsageError>("damping is {}; it must be at least 0 and below 1", damping);
    }
    if (!(tolerance > 0)) chatty::Throw<chatty::UsageError>("tolerance is {}; it must be above 0", tolerance);
  }
  /// The L1 norm, in fp64, of what one step of the walk changes. Residuals left at rest are at most `tolerance` an
  /// out-edge; dividing by the mass, which is at least 1 - damping, scales them up.
  chatty::Verdict Verify(const chatty::Graph& graph, std::span<const float> ranks, const chatty::RunStatistics&) const {
    std::vector<double> next(graph.vertices(), 0.0);
    double restart = 0;
    for (chatty::VertexId u = 0; u < graph.vertices(); ++u) {
      const auto degree = static_cast<double>(graph.out_degree(u));
      restart += degree > 0 ? (1.0 - damping) * ranks[u] : ranks[u];
      for (const chatty::VertexId v : graph.out()[u]) next[v] += damping * ranks[u] / degree;
    }
    next[source] += restart;
    double change = 0, total = 0;
    for (chatty::VertexId v = 0; v < graph.vertices(); ++v) {
      change += std::abs(next[v] - ranks[v]);
      total += ranks[v];
    }
    const double bound = 2.0 * tolerance * static_cast<double>(graph.edges() + graph.vertices()) / (1.0 - damping) + 1e-5;
    if (std::abs(total - 1.0) > 1e-4) return chatty::Failed("ranks sum to {}, not to 1", total);
    if (change > bound) return chatty::Failed("one more step changes ranks by {}; the bound is {}", change, bound);
    return chatty::Passed("ranks: one more step changes them by {:.2e} in sum; the bound is {:.2e}", change, bound);
  }
};
