/// \file
/// PageRank (Page, Brin, Motwani and Winograd, 1999) by power iteration, pulled.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "chatty/core/error.h"
#include "chatty/framework/program.h"
#include "chatty/framework/statistics.h"
#include "chatty/programs/verify.h"

namespace chatty {

/// Rank by rounds: new(v) = (1 - damping) / n + damping * (sum over u -> v of old(u) / out_degree(u) + dangling / n), where
/// dangling is the old rank of all vertices without out-edges. Ranks are kept times n, near 1, where floats are dense, and
/// summed in double. A vertex shares rank / out_degree once, instead of every edge gathering two values and dividing. Real
/// is float or double: what ranks and shares are kept in.
///
/// With `rounds` these are the rounds that run. Without, what counts is where they lead, and any base, which is what all
/// vertices get alike, leads there: ranks that are scaled to sum to 1 are the same (Del Corso, Gulli and Romani, 2005). Two
/// bases are good, each on other graphs:
///
/// - one that follows, as above: dangling rank comes back in the next round. So the sum of ranks, which is the last to
/// settle
///   in most graphs, is right from the start.
/// - one that is held. Where dangling rank has to travel for rounds before it is dangling again, as that of citations to
///   older and older papers, a base that follows swings around where it ends.
///
/// The base follows until its steps show such travel: twice in a row a step was larger than the last by a tenth, or twice
/// the base turned back. Then it is held. docs/performance/pagerank.md counts the rounds of both. Where a device can, rounds
/// to a tolerance are fresh, too: about half as many.
template <class Real>
struct BasicPageRank {
  /// @{
  /// What VertexProgram asks for and the engines call; docs/writing-a-program.md says what each member means.
  using Value = Real;  // the rank times n; of fresh rounds to be scaled
  using Shared = Real;
  using Message = double;
  /// @}
  /// Sums over all vertices.
  struct Global {
    /// @{
    /// Rank of vertices with out-edges, which follows edges in the next round, and the last round's change of that; of fresh
    /// rounds, what bases have to make up for, and how many of them there are: WantedBase.
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
      std::is_same_v<Real, float>
          ? "PageRank by rounds, dangling mass spread evenly; ends when the L1 change falls below tolerance, or after rounds"
          : "PageRank with ranks in double, for tolerances that float cannot keep; `pagerank --precision double` is this";
  static constexpr const char* kOutputName = "rank";
  /// @}
  /// The tolerance where neither that nor `rounds` is given.
  static constexpr double kDefaultTolerance = 1e-6;
  /// Rounds to a tolerance end here at the latest, not converged.
  static constexpr std::uint32_t kMaxRounds = 10000;
  /// Below this L1 change ranks move by what rounding them to Real does.
  static constexpr double kPrecision = std::numeric_limits<Real>::epsilon();

  /// Probability of following an edge.
  float damping = 0.85f;
  /// 0: rounds until the tolerance. Otherwise exactly so many of those defined above; with a tolerance, too, at most so
  /// many.
  std::uint32_t rounds = 0;
  /// The L1 change of a round, of ranks that sum to 1, below which it stops. 0: with `rounds` none, or else
  /// kDefaultTolerance.
  double tolerance = 0;
  /// @{
  /// What VertexProgram asks for and the engines call; docs/writing-a-program.md says what each member means.
  static constexpr auto kParameters = std::make_tuple(
      Parameter{"damping", &BasicPageRank::damping, "probability of following an edge, at least 0 and below 1"},
      Parameter{
          "rounds", &BasicPageRank::rounds,
          "run exactly so many rounds, dangling mass spread in each; with a tolerance at most; 0: until the tolerance"},
      Parameter{"tolerance", &BasicPageRank::tolerance,
                "stop once the L1 norm of a round's change is below this; 0: none with rounds, 1e-6 without"});

  CHATTY_FN Value InitVertex(Vertex) const { return 1; }
  CHATTY_FN Shared Share(const Value& rank, Vertex x) const {
    return rank / static_cast<Real>(x.out_degree + (x.out_degree == 0));  // which nobody asks for then
  }
  CHATTY_FN Message ComputeScatter(const Shared& share, Edge<>, const Round<Global>&) const { return share; }
  CHATTY_FN bool UpdateStatus(Value& rank, Message m, Vertex, const Round<Global>& round) const {
    const Value before = rank;
    rank = static_cast<Real>(Base(round) + Factor(round) * m);
    return rank != before;
  }
  CHATTY_FN Global Measure(const Value& before, const Value& rank, Vertex x, const Round<Global>& round) const {
    const double flows = x.out_degree != 0 ? 1 : 0;  // who has out-edges is nothing that a processor could predict
    const Real change = rank - before;
#if !CHATTY_DEVICE_CODE
    if (round.fresh) {
      const double fed = x.in_degree != 0 ? 1 : 0, passed = damping * flows;
      return {(1 - passed) * fed * rank, fed + passed * (1 - fed), std::abs(change), rank};
    }
#endif
    return {flows * rank, flows * change, std::abs(change)};
  }
  CHATTY_FN bool AllowsGaussSeidel() const { return rounds == 0; }
  Next EndRound(Round<Global>& round) const {
    if (round.vertices == 0) return Next::kStop;
    const auto [base, scale] = Used(round);
    const double wanted = WantedBase(round, base),
                 mass = round.fresh ? round.global.total : static_cast<double>(round.vertices);
    double change = round.global.change / mass;
    if (rounds == 0) {
      const bool held = Holds(round, wanted, base, change);
      change += HandOut(round, held ? base : wanted, base, scale);
    } else {
      HandOut(round, wanted, base, scale);
    }
    const double settled = rounds == 0 && tolerance == 0 ? kDefaultTolerance : tolerance;
    // Below what the type can tell only no change at all is one: then no further round has another answer.
    if (change < settled && (settled >= kPrecision || change == 0)) return Next::kStop;
    if (rounds == 0) return change < kPrecision || round.index >= kMaxRounds ? Next::kLimit : Next::kContinue;
    if (round.index < rounds) return Next::kContinue;
    return tolerance > 0 ? Next::kLimit : Next::kStop;  // without a tolerance so many rounds are what was asked for
  }
  CHATTY_FN Real Output(const Value& rank, const Round<Global>& round) const {
    const bool scaled = round.fresh && round.index > 0;
    return static_cast<Real>(rank / (scaled ? round.global.total : static_cast<double>(round.vertices)));
  }
  /// @}

  /// Throws UsageError for parameters that make no sense.
  void CheckInput() const {
    if (!(damping >= 0 && damping < 1)) Throw<UsageError>("damping is {}; it must be at least 0 and below 1", damping);
    if (!(tolerance >= 0)) Throw<UsageError>("tolerance is {}; it must not be negative", tolerance);
  }
  /// What ends a run that its tolerance does not.
  std::string LimitReason() const {
    if (rounds > 0 || tolerance == 0 || tolerance >= kPrecision) return "the program's own limit of rounds";
    return fmt::format("the precision of {}, in which ranks cannot settle below about {:.2g}{},",
                       std::is_same_v<Real, float> ? "float" : "double", kPrecision,
                       std::is_same_v<Real, float> ? " (--precision double can)" : "");
  }
  /// What every vertex is given in the next round, besides what follows edges.
  CHATTY_FN double Base(const Round<Global>& round) const {
    if (round.kept[kBase] > 0) return round.kept[kBase];
    const double d = damping;
    return round.fresh ? 1.0 - d : 1.0 - d * round.global.flow / static_cast<double>(round.vertices);
  }
  /// By what the next round multiplies what follows edges: damping, unless ranks are scaled as they are updated.
  CHATTY_FN double Factor(const Round<Global>& round) const {
    return round.kept[kBase] > 0 ? round.kept[kScale] * double{damping} : double{damping};
  }

  /// Of a number of rounds, against as many in fp64: float ranks keep 24 bits, and a round's error is damped by the next. Of
  /// rounds to a tolerance by the residual that it leaves, or else by what so many rounds damp.
  Verdict Verify(const Graph& graph, std::span<const Real> ranks, const RunStatistics& statistics) const {
    constexpr double kRounding = std::is_same_v<Real, float> ? 1e-5 : 1e-12;
    if (rounds > 0) return VerifyPageRankRounds<Real>(graph, ranks, damping, statistics.rounds, kRounding);
    const double settled = tolerance > 0 ? tolerance : kDefaultTolerance;
    const bool cut = statistics.ended != Ended::kConverged && statistics.ended != Ended::kLimit;
    const double left = cut ? 2 * std::pow(double{damping}, statistics.rounds) : settled;
    return VerifyPageRank<Real>(graph, ranks, damping, std::max(left, kRounding), kRounding);
  }
  /// Ranks of unknown origin. With `rounds` exactly those after so many, each within the tolerance or else within what LDBC
  /// Graphalytics allows. Without, those that have settled: their residual in L1, in fp64, is within the tolerance. No bound
  /// is below what six printed digits keep.
  Verdict VerifyAnswer(const Graph& graph, std::span<const Real> ranks, const AnswerRules& rules) const {
    constexpr double kPrinted = 1e-5;
    if (rounds > 0) {
      return VerifyPageRankRounds<Real>(graph, ranks, damping, rounds, std::max(ToleranceOf(rules), kPrinted));
    }
    return VerifyPageRank<Real>(graph, ranks, damping, std::max(tolerance, kPrinted));
  }

 private:
  /// Places in Round::kept. Of the next round: its base, and what its factor is of damping. Of the base wanted after the
  /// last one: by how much it differs from the one before, how many times as much that is as the last difference, and how
  /// often the base has turned back, or kHeld.
  enum Kept : std::uint8_t { kBase, kScale, kStep, kGrowth, kTurns };
  static constexpr double kHeld = 2;  // it turned back so often, or is held for another reason

  /// The base and the scale of the round that has just run.
  std::pair<double, double> Used(const Round<Global>& round) const {
    if (round.kept[kBase] > 0) return {round.kept[kBase], round.kept[kScale]};
    const double d = damping, flowed = round.global.flow - round.global.drift;
    return {round.fresh ? 1.0 - d : 1.0 - d * flowed / static_cast<double>(round.vertices), 1.0};
  }
  /// The base that follows, after one of `base`. It makes the sum of ranks what it is. In a fresh round the sum over
  /// vertices with in-edges: by what these hand each other and what vertices without hand them, which is damping of a base
  /// each. The latter hand out what they were given, a round late.
  double WantedBase(const Round<Global>& round, double base) const {
    const auto& [flow, drift, change, total] = round.global;
    if (!round.fresh) return 1.0 - double{damping} * flow / static_cast<double>(round.vertices);
    return drift > 0 ? flow / drift : base;
  }
  /// Whether the base is held from now on. `change` is the L1 change a vertex: steps that hardly contribute to it may do
  /// what they want.
  bool Holds(Round<Global>& round, double wanted, double base, double change) const {
    constexpr double kGrows = 1.1, kTurnsBack = -0.4, kMatters = 0.03, kSwings = 0.05;  // docs/performance/pagerank.md
    auto& kept = round.kept;
    if (kept[kTurns] >= kHeld) return true;
    const double step = wanted - base, growth = kept[kStep] != 0 ? step / kept[kStep] : 0;
    if (growth >= kGrows && kept[kGrowth] >= kGrows && std::abs(step) >= kMatters * change) kept[kTurns] = kHeld;
    if (growth <= kTurnsBack && std::abs(step) >= kSwings * change) kept[kTurns] += 1;
    kept[kStep] = step;
    kept[kGrowth] = growth;
    return kept[kTurns] >= kHeld;
  }
  /// Writes what the next round is to use for `next` after one of `base` and `scale`. Returns by how much of all ranks the
  /// last round's were off for their scale: with its L1 change this bounds the residual of ranks before it.
  ///
  /// Of rounds that are not fresh it is known what ranks will sum to, and they are scaled as they are updated.
  double HandOut(Round<Global>& round, double next, double base, double scale) const {
    auto& kept = round.kept;
    if (round.fresh) {
      kept[kBase] = next;
      kept[kScale] = 1;
      return std::abs(next / base - 1.0);  // as far as the base changes, all ranks follow
    }
    kept[kScale] = 1.0 / (next + double{damping} * round.global.flow / static_cast<double>(round.vertices));
    kept[kBase] = next * kept[kScale];
    return std::abs(1.0 / scale - 1.0);
  }
};

/// PageRank in float; PageRankDouble, pagerank_double.h, is the other.
using PageRank = BasicPageRank<float>;

}  // namespace chatty
