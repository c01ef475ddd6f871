/// \file
/// PageRank by residuals, pushed: work goes where rank still changes.
#pragma once

#include <cstdint>
#include <span>

#include "chatty/framework/program.h"
#include "chatty/framework/statistics.h"
#include "chatty/programs/verify.h"

namespace chatty {

/// The fixed point of PageRank by accumulating residuals (Whang et al., Euro-Par'15; Groute's PR). A vertex whose residual
/// exceeds `tolerance` takes it into its rank and hands damping times it to its out-neighbours.
///
/// Rank that vertices without out-edges would spread evenly over all is not sent at all: it adds a multiple of the uniform
/// vector, to which the answer is linear, so dividing by the final sum gives the same ranks.
struct PageRankPush {
  /// What a vertex keeps.
  struct Value {
    /// Rank, and what it has yet to hand on.
    float rank, residual;  ///< times n
  };
  /// @{
  /// What VertexProgram asks for and the engines call; docs/writing-a-program.md says what each member means.
  using Shared = float;
  using Message = float;
  /// @}
  /// A sum over all vertices.
  struct Global {
    /// Rank and residual.
    double mass = 0;
    /// Adds.
    CHATTY_FN friend Global operator+(const Global& a, const Global& b) { return {a.mass + b.mass}; }
  };
  /// @{
  /// What VertexProgram asks for and the engines call; docs/writing-a-program.md says what each member means.
  static constexpr auto kReduction = Reduction::kSum;
  static constexpr auto kSafety = Safety::kAccumulative;
  static constexpr const char* kSummary = "PageRank by residuals: only vertices whose rank still changes send";
  static constexpr const char* kOutputName = "rank";
  /// @}

  /// Probability of following an edge.
  float damping = 0.85f;
  /// Residual, as a share of the mean rank, that a vertex keeps to itself.
  float tolerance = 1e-4f;
  /// @{
  /// What VertexProgram asks for and the engines call; docs/writing-a-program.md says what each member means.
  static constexpr auto kParameters = std::make_tuple(
      Parameter{"damping", &PageRankPush::damping, "probability of following an edge, at least 0 and below 1"},
      Parameter{"tolerance", &PageRankPush::tolerance,
                "residual, as a share of the mean rank, below which a vertex keeps it to itself; bounds the L1 residual"});

  CHATTY_FN Value InitVertex(Vertex) const { return {0.0f, 1.0f - damping}; }
  CHATTY_FN bool IsActive(const Value& v, const Round<Global>&) const { return v.residual > tolerance; }
  CHATTY_FN Shared Consume(Value& v, Vertex x) const {
    const float residual = v.residual;
    v.rank += residual;
    v.residual = 0.0f;
    return x.out_degree == 0 ? 0.0f : damping * residual / static_cast<float>(x.out_degree);
  }
  CHATTY_FN Message ComputeScatter(const Shared& share, Edge<>, const Round<Global>&) const { return share; }
  CHATTY_FN bool UpdateStatus(Value& v, Message m, Vertex, const Round<Global>&) const {
    v.residual += m;
    return v.residual > tolerance;
  }
  CHATTY_FN Global Measure(const Value& v, Vertex) const { return {double{v.rank} + double{v.residual}}; }
  CHATTY_FN float Output(const Value& v, const Round<Global>& round) const {
    return static_cast<float>((double{v.rank} + double{v.residual}) / round.global.mass);
  }
  /// @}

  /// Throws UsageError for parameters that make no sense.
  void CheckInput() const {
    if (!(damping >= 0 && damping < 1)) Throw<UsageError>("damping is {}; it must be at least 0 and below 1", damping);
    if (!(tolerance > 0)) Throw<UsageError>("tolerance is {}; it must be above 0, or residuals never settle", tolerance);
  }
  /// The residual in L1, in fp64: at most `tolerance` a vertex before ranks are scaled to sum to 1, and float rounding.
  Verdict Verify(const Graph& graph, std::span<const float> ranks, const RunStatistics&) const {
    return VerifyPageRank<float>(graph, ranks, damping, double{tolerance} / (1.0 - damping) + 1e-5);
  }
};

}  // namespace chatty
