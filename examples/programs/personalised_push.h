/// \file
/// PageRank from the point of view of one vertex.
#pragma once

#include <chatty/chatty.h>

#include "../reference.h"

/// Probabilities of a walk that follows a random out-edge with probability `damping`, and otherwise, or without an out-edge,
/// restarts at `source` (Jeh and Widom, WWW'03). By residuals (Andersen, Chung and Lang, FOCS'06). Residuals of vertices
/// without out-edges stay: sent to the source they would add a multiple of the result, which Output's division corrects.
/// Demonstrates kAccumulative and Consume, and an Output that is scaled by the last Global.
struct PersonalisedPush {
  struct Value {
    double rank, residual;
  };
  using Shared = double;
  using Message = double;
  using Global = double;  ///< the sum of all ranks so far
  static constexpr auto kReduction = chatty::Reduction::kSum;
  static constexpr auto kSafety = chatty::Safety::kAccumulative;
  static constexpr chatty::Info kInfo{.summary = "personalised PageRank of one source, by residuals", .output_name = "rank"};

  chatty::VertexId source = 0;
  double damping = 0.85, tolerance = 1e-6;
  static constexpr auto kParameters = std::make_tuple(
      chatty::Parameter{"source", &PersonalisedPush::source, "vertex where walks start"},
      chatty::Parameter{"damping", &PersonalisedPush::damping, "probability of following an edge, below 1"},
      chatty::Parameter{"tolerance", &PersonalisedPush::tolerance, "residual of all that may stay, above 0"});

  CHATTY_FN Value InitVertex(chatty::Vertex v) const { return {0.0, v.id == source ? 1.0 - damping : 0.0}; }
  CHATTY_FN bool IsActive(const Value& v) const { return v.residual > 0; }
  CHATTY_FN Shared Consume(Value& v, chatty::Vertex x) const {
    const double taken = v.residual;
    v = {v.rank + taken, 0.0};
    return x.out_degree == 0 ? 0.0 : damping * taken / static_cast<double>(x.out_degree);
  }
  CHATTY_FN Message ComputeScatter(const Shared& s, chatty::Edge<>) const { return s; }
  CHATTY_FN bool UpdateStatus(Value& v, Message m, chatty::Vertex, const chatty::Round<Global>& round) const {
    v.residual += m;
    return v.residual > tolerance / static_cast<double>(round.vertices);
  }
  CHATTY_FN Global Measure(const Value& v, chatty::Vertex) const { return v.rank + v.residual; }
  CHATTY_FN double Output(const Value& v, const chatty::Round<Global>& r) const { return (v.rank + v.residual) / r.global; }

  double Bound() const {
    return 2 * damping * tolerance / ((1 - damping) * (1 - damping));
  }  // bound of the sum of |ranks - exact|
  void CheckInput() const {
    if (damping >= 0 && damping <= 0.999 && tolerance > 0 && Bound() <= 0.01) return;
    chatty::Throw<chatty::UsageError>(
        "damping={} tolerance={}: ranks could be wrong by {}; damping is 0 to 0.999, tolerance small", damping, tolerance,
        Bound());
  }
  chatty::Verdict Verify(const chatty::Graph& graph, std::span<const double> ranks) const {
    return reference::CloseRanks(graph, source, ranks, damping, Bound() + 1e-9);
  }
};
