/// \file
/// PageRank (Page, Brin, Motwani and Winograd, 1999) by power iteration, pulled.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "chatty/framework/program.h"
#include "chatty/framework/statistics.h"
#include "chatty/programs/verify.h"

namespace chatty {

/// Rank by rounds: new(v) = (1 - damping) / n + damping * (sum over u -> v of old(u) / out_degree(u) + dangling / n), where
/// dangling is the old rank of all vertices without out-edges. Ranks are kept times n, near 1, where floats are dense, and
/// summed in double. A vertex shares rank / out_degree once, instead of every edge gathering two values and dividing.
///
/// Without a tolerance these are the rounds that run. With one it is where they lead that counts: dangling rank, which all
/// get alike, is then left out of rounds, and at the end ranks are scaled to sum to 1. That is the same fixed point (Del
/// Corso, Gulli and Romani, 2005), and rounds need not wait for what goes round by way of all vertices: 8 in place of 10 on
/// Kronecker graphs to 1e-4. Where a device can, such rounds are fresh, too: 5 or 6.
struct PageRank {
  /// @{
  /// What VertexProgram asks for and the engines call; docs/writing-a-program.md says what each member means.
  using Value = float;  // the rank times n, and to be scaled
  using Shared = float;
  using Message = double;
  /// @}
  /// Sums over all vertices.
  struct Global {
    /// @{
    /// Rank of vertices with out-edges, which follows edges in the next round, and the last round's change of that; of fresh
    /// rounds, what bases have to make up for, and how many of them there are: NextBase.
    double flow = 0, drift = 0;
    /// @}
    double change = 0;  ///< the L1 norm of the last round's change
    double total = 0;   ///< of fresh rounds, all ranks
    /// Adds all.
    CHATTY_FN friend Global operator+(const Global& a, const Global& b) {
#if CHATTY_DEVICE_CODE  // no round of a GPU is fresh
      return {a.flow + b.flow, a.drift + b.drift, a.change + b.change};
#else
      return {a.flow + b.flow, a.drift + b.drift, a.change + b.change, a.total + b.total};
#endif
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

  CHATTY_FN Value InitVertex(Vertex) const { return 1; }
  CHATTY_FN Shared Share(const Value& rank, Vertex x) const {
    return rank / static_cast<float>(x.out_degree + (x.out_degree == 0));  // which nobody asks for then
  }
  CHATTY_FN Message ComputeScatter(const Shared& share, Edge<>, const Round<Global>&) const { return share; }
  CHATTY_FN bool UpdateStatus(Value& rank, Message m, Vertex, const Round<Global>& round) const {
    const Value before = rank;
    rank = static_cast<float>(Base(round) + double{damping} * m);
    return rank != before;
  }
  CHATTY_FN Global Measure(const Value& before, const Value& rank, Vertex x, const Round<Global>& round) const {
    const double flows = x.out_degree != 0 ? 1 : 0;  // who has out-edges is nothing that a processor could predict
    const float change = rank - before;
#if !CHATTY_DEVICE_CODE
    if (round.fresh) {
      const double fed = x.in_degree != 0 ? 1 : 0, passed = damping * flows;
      return {(1 - passed) * fed * rank, fed + passed * (1 - fed), std::abs(change), rank};
    }
#endif
    return {flows * rank, flows * change, std::abs(change)};
  }
  CHATTY_FN bool TakesFresh() const { return ScalesAtEnd(); }
  Next EndRound(Round<Global>& round) const {
    double change = round.global.change, base = 0;
    if (round.fresh) {
      base = NextBase(round);
      change += std::abs(base / Base(round) - 1.0) * round.global.total;  // as far as the base changes, all ranks follow
    } else if (ScalesAtEnd()) {
      change += std::abs(round.global.drift);  // what scaling changes: the next round changes scaled ranks by less than this
    }
    if (change < tolerance * Mass(round) || round.vertices == 0) return Next::kStop;
    round.kept = base;
    if (round.index < rounds) return Next::kContinue;
    return tolerance > 0 ? Next::kLimit : Next::kStop;  // without a tolerance so many rounds are what was asked for
  }
  CHATTY_FN float Output(const Value& rank, const Round<Global>& round) const {
    return static_cast<float>(rank / Mass(round));
  }
  /// @}

  /// Throws UsageError for parameters that make no sense.
  void CheckInput() const {
    if (!(damping >= 0 && damping < 1)) Throw<UsageError>("damping is {}; it must be at least 0 and below 1", damping);
    if (rounds == 0) throw UsageError("rounds is 0; at least one round has to run");
    if (!(tolerance >= 0)) Throw<UsageError>("tolerance is {}; it must not be negative", tolerance);
  }
  /// Whether dangling rank is left out of rounds, and ranks are scaled in its place.
  CHATTY_FN bool ScalesAtEnd() const { return tolerance > 0; }
  /// What every vertex is given in the next round, besides what follows edges.
  CHATTY_FN double Base(const Round<Global>& round) const {
    const double d = damping;
    if (round.kept > 0) return round.kept;
    return ScalesAtEnd() ? 1.0 - d : 1.0 - d * round.global.flow / static_cast<double>(round.vertices);
  }
  /// The base of the round after a fresh one. Any base gives the same ranks once they are scaled, but the sum over vertices
  /// with in-edges would be the last to settle. So at first the base is what makes that sum what they hand each other, and
  /// what vertices without hand them, which is damping of a base each. These hand out what they were given, a round late,
  /// and in a few rounds all of that is told. It then stays: ranks settle for any base that does, and some, as those of
  /// citations are, would swing with one that follows.
  double NextBase(const Round<Global>& round) const {
    constexpr std::uint32_t kFollows = 5;  // rounds; docs/performance/host-devices.md
    const auto& [missing, bases, change, total] = round.global;
    return bases > 0 && round.index < kFollows ? missing / bases : Base(round);
  }
  /// What all ranks sum to. Of rounds that are not fresh nothing else is measured for it: a round hands out 1 - damping to
  /// each, and damping of what flowed.
  CHATTY_FN double Mass(const Round<Global>& round) const {
    const auto n = static_cast<double>(round.vertices);
    const double d = damping;
    if (!ScalesAtEnd() || round.index == 0) return n;
    if (round.fresh) return round.global.total;
    return (1.0 - d) * n + d * (round.global.flow - round.global.drift);
  }

  /// Against the same number of rounds in fp64. Float ranks keep 24 bits; a round's error is damped by the next. Of fresh
  /// rounds, whose ranks depend on how a device goes through vertices, by their sum, and by the residual that the tolerance
  /// leaves, or else what so many rounds damp.
  Verdict Verify(const Graph& graph, std::span<const float> ranks, const RunStatistics& statistics) const {
    if (statistics.fresh_rounds > 0) {
      const double left = statistics.converged ? tolerance : 2 * std::pow(double{damping}, statistics.fresh_rounds);
      return VerifyPageRank<float>(graph, ranks, damping, std::max(left, 1e-5), 1e-5);
    }
    const Dangling dangling = ScalesAtEnd() ? Dangling::kAtEnd : Dangling::kEveryRound;
    return VerifyPageRankRounds<float>(graph, ranks, damping, statistics.rounds, 1e-5, dangling);
  }
  /// Ranks of unknown origin. Where `rounds` is given, or there is no tolerance at which to stop before, exactly those after
  /// so many rounds: each within the tolerance, or else within what LDBC Graphalytics allows. Where it is not, those that
  /// have settled: their residual in L1, in fp64, is within the tolerance. No bound is below what six printed digits keep.
  Verdict VerifyAnswer(const Graph& graph, std::span<const float> ranks, const AnswerRules& rules) const {
    constexpr double kPrinted = 1e-5;
    if (rules.rounds_given || tolerance == 0) {
      return VerifyPageRankRounds<float>(graph, ranks, damping, rounds, std::max(ToleranceOf(rules), kPrinted));
    }
    return VerifyPageRank<float>(graph, ranks, damping, std::max(tolerance, kPrinted));
  }
};

}  // namespace chatty
