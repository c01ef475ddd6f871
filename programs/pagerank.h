/// \file
/// PageRank (Page, Brin, Motwani and Winograd, 1999) by power iteration, pulled.
#pragma once

#include <cstdint>
#include <span>

#include "chatty/framework/program.h"
#include "chatty/framework/statistics.h"
#include "chatty/programs/verify.h"

namespace chatty {

/// Rank by rounds: new(v) = (1 - damping) / n + damping * (sum over u -> v of old(u) / out_degree(u) + dangling / n), where
/// dangling is the old rank of all vertices without out-edges. Ranks are kept times n, near 1, where floats are dense, and
/// summed in double. A vertex shares rank / out_degree once, instead of every edge gathering two values and dividing.
struct PageRank {
  /// What a vertex keeps.
  struct Value {
    float rank;    ///< times n
    float change;  ///< |new - old| of the last round, times n
  };
  /// @{
  /// What VertexProgram asks for and the engines call; docs/writing-a-program.md says what each member means.
  using Shared = float;
  using Message = double;
  /// @}
  /// Sums over all vertices.
  struct Global {
    /// Rank of vertices without out-edges, times n.
    double dangling = 0;
    /// The L1 norm of the last round's change, times n.
    double change = 0;
    /// Adds both.
    CHATTY_FN friend Global operator+(const Global& a, const Global& b) {
      return {a.dangling + b.dangling, a.change + b.change};
    }
  };
  /// @{
  /// What VertexProgram asks for and the engines call; docs/writing-a-program.md says what each member means.
  static constexpr auto kReduction = Reduction::kSum;
  static constexpr auto kSafety = Safety::kSynchronous;
  static constexpr auto kActivity = Activity::kEveryRound;
  static constexpr const char* kSummary =
      "PageRank by rounds, dangling mass spread evenly; ends when the L1 change falls below tolerance";
  static constexpr const char* kOutputName = "rank";
  /// @}

  /// Probability of following an edge.
  float damping = 0.85f;
  /// Most rounds to run.
  std::uint32_t rounds = 100;
  /// The L1 change of a round below which it stops.
  double tolerance = 1e-6;
  /// @{
  /// What VertexProgram asks for and the engines call; docs/writing-a-program.md says what each member means.
  static constexpr auto kParameters =
      std::make_tuple(Parameter{"damping", &PageRank::damping, "probability of following an edge, at least 0 and below 1"},
                      Parameter{"rounds", &PageRank::rounds, "most rounds to run"},
                      Parameter{"tolerance", &PageRank::tolerance,
                                "stop once the L1 norm of a round's change is below this; 0 runs all rounds"});

  CHATTY_FN Value InitVertex(Vertex) const { return {1.0f, 1.0f}; }
  CHATTY_FN Shared Share(const Value& v, Vertex x) const {
    return x.out_degree == 0 ? 0.0f : v.rank / static_cast<float>(x.out_degree);
  }
  CHATTY_FN Message ComputeScatter(const Shared& share, Edge<>, const Round<Global>&) const { return share; }
  CHATTY_FN bool UpdateStatus(Value& v, Message m, Vertex, const Round<Global>& round) const {
    const double d = damping;
    const auto rank = static_cast<float>(1.0 - d + d * (m + round.global.dangling / static_cast<double>(round.vertices)));
    v.change = rank < v.rank ? v.rank - rank : rank - v.rank;
    const bool changed = rank != v.rank;
    v.rank = rank;
    return changed;
  }
  CHATTY_FN Global Measure(const Value& v, Vertex x) const { return {x.out_degree == 0 ? v.rank : 0.0, v.change}; }
  Next EndRound(Round<Global>& round) const {
    const bool settled = round.global.change < tolerance * static_cast<double>(round.vertices);
    if (settled || round.vertices == 0) return Next::kStop;
    if (round.index < rounds) return Next::kContinue;
    return tolerance > 0 ? Next::kLimit : Next::kStop;  // without a tolerance so many rounds are what was asked for
  }
  CHATTY_FN float Output(const Value& v, const Round<Global>& round) const {
    return v.rank / static_cast<float>(round.vertices);
  }
  /// @}

  /// Throws UsageError for parameters that make no sense.
  void CheckInput() const {
    if (!(damping >= 0 && damping < 1)) Throw<UsageError>("damping is {}; it must be at least 0 and below 1", damping);
    if (rounds == 0) throw UsageError("rounds is 0; at least one round has to run");
    if (!(tolerance >= 0)) Throw<UsageError>("tolerance is {}; it must not be negative", tolerance);
  }
  /// Against the same number of rounds in fp64. Float ranks keep 24 bits; a round's error is damped by the next.
  Verdict Verify(const Graph& graph, std::span<const float> ranks, const RunStatistics& statistics) const {
    return VerifyPageRankRounds<float>(graph, ranks, damping, statistics.rounds, 1e-5);
  }
  /// Ranks of unknown origin: their residual in L1, in fp64, against the tolerance or what six printed digits keep; or else
  /// that they are those of `rounds` rounds, within what LDBC Graphalytics allows.
  Verdict VerifyAnswer(const Graph& graph, std::span<const float> ranks) const {
    Verdict settled = VerifyPageRank<float>(graph, ranks, damping, tolerance > 1e-5 ? tolerance : 1e-5);
    if (settled) return settled;
    const Verdict counted = VerifyPageRankRounds<float>(graph, ranks, damping, rounds, kLdbcEpsilon);
    return counted ? counted : settled;
  }
};

}  // namespace chatty
