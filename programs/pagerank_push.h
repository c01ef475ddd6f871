/// \file
/// PageRank by pushing residuals: only vertices whose rank still changes send.
#pragma once

#include <cstdint>
#include <span>
#include <tuple>

#include "chatty/framework/program.h"
#include "chatty/framework/statistics.h"
#include "chatty/programs/verify.h"

namespace chatty {

/// The fixed point of PageRank by accumulating residuals (Whang et al., Euro-Par'15; Groute's PR). A vertex whose residual
/// exceeds `tolerance` adds it to its rank and sends damping times it to its out-neighbours.
///
/// The rank that vertices without out-edges would spread over all vertices is not sent: it adds a multiple of the uniform
/// vector, and the result is linear in that vector. So division by the final sum gives the same ranks.
struct PageRankPush {
  /// A vertex's value.
  struct Value {
    /// The rank, and the residual that is not yet sent.
    float rank, residual;  ///< times n
  };
  /// @{
  /// The program; docs/writing-a-program.md explains each member.
  using Shared = float;
  using Message = float;
  /// @}
  /// A sum over all vertices.
  struct Global {
    /// The sum of ranks and residuals.
    double mass = 0;
    /// Adds the masses.
    CHATTY_FN friend Global operator+(const Global& a, const Global& b) { return {a.mass + b.mass}; }
  };
  /// @{
  /// The program; docs/writing-a-program.md explains each member.
  static constexpr auto kReduction = Reduction::kSum;
  static constexpr auto kSafety = Safety::kAccumulative;
  static constexpr Info kInfo{
      .summary = "PageRank by residuals: only vertices whose rank still changes send",
      .output_name = "rank",
  };
  /// @}

  /// Probability of following an edge.
  float damping = 0.85f;
  /// Residual, relative to the mean rank, up to which a vertex does not send.
  float tolerance = 1e-4f;
  /// @{
  /// The program; docs/writing-a-program.md explains each member.
  static constexpr auto kParameters = std::make_tuple(
      Parameter{"damping", &PageRankPush::damping, "probability of following an edge, at least 0 and below 1"},
      Parameter{"tolerance", &PageRankPush::tolerance,
                "residual, as a share of the mean rank, below which a vertex keeps it to itself; bounds the L1 residual"});

  CHATTY_FN Value InitVertex(Vertex) const { return {0.0f, 1.0f - damping}; }
  CHATTY_FN bool IsActive(const Value& v) const { return v.residual > tolerance; }
  CHATTY_FN Shared Consume(Value& v, Vertex x) const {
    const float residual = v.residual;
    v.rank += residual;
    v.residual = 0.0f;
    return x.out_degree == 0 ? 0.0f : damping * residual / static_cast<float>(x.out_degree);
  }
  CHATTY_FN Message ComputeScatter(const Shared& share, Edge<>) const { return share; }
  CHATTY_FN bool UpdateStatus(Value& v, Message m, Vertex) const {
    v.residual += m;
    return v.residual > tolerance;
  }
  CHATTY_FN Global Measure(const Value& v, Vertex) const { return {double{v.rank} + double{v.residual}}; }
  CHATTY_FN float Output(const Value& v, const Round<Global>& round) const {
    return static_cast<float>((double{v.rank} + double{v.residual}) / round.global.mass);
  }
  /// @}

  /// Throws UsageError for invalid parameters.
  void CheckInput() const {
    if (!(damping >= 0 && damping < 1)) Throw<UsageError>("damping is {}; it must be at least 0 and below 1", damping);
    if (!(tolerance > 0)) Throw<UsageError>("tolerance is {}; it must be above 0, or residuals never settle", tolerance);
  }
  /// Checks the residual in L1, in fp64: at most `tolerance` for each vertex before ranks are scaled to sum to 1, plus float
  /// rounding.
  Verdict Verify(const Graph& graph, std::span<const float> ranks, const RunStatistics&) const {
    return VerifyPageRank<float>(graph, ranks, damping, double{tolerance} / (1.0 - damping) + 1e-5);
  }
};

}  // namespace chatty
