/// \file
/// PageRank (Page, Brin, Motwani and Winograd, 1999) by power iteration, pulled.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "chatty/core/error.h"
#include "chatty/framework/program.h"
#include "chatty/framework/statistics.h"
#include "chatty/programs/verify.h"

namespace chatty {

/// Rank by rounds: new(v) = (1 - damping) / n + damping * (sum over u -> v of old(u) / out_degree(u) + dangling / n). Here
/// dangling is the old rank of all vertices without out-edges. Ranks are stored times n, near 1, where floats are dense, and
/// summed in double. A vertex computes rank / out_degree once, so that an edge neither reads two values nor divides. Real is
/// the type of ranks and shares, float or double.
///
/// With `rounds`, exactly these rounds run. With a tolerance only the limit counts. It does not depend on the base, which is
/// the part that all vertices get alike: ranks that are scaled to sum to 1 are the same (Del Corso, Gulli and Romani, 2005).
/// Two choices of the base converge fast, each on other graphs:
///
/// - A base that follows, as above: dangling rank returns in the next round. So the sum of ranks, which in most graphs
///   converges last, is correct from the start.
/// - A base that is held constant. If dangling rank travels for several rounds before it is dangling again, as through
///   citations of older and older papers, a base that follows oscillates around its limit.
///
/// The base follows until its steps show such oscillation: twice in a row a step was larger than the last by a tenth, or the
/// base changed direction twice. Then it is held. docs/performance/pagerank.md has the numbers of rounds of both. If a
/// device supports it, rounds to a tolerance are Gauss–Seidel rounds, which are about half as many.
template <class Real>
struct BasicPageRank {
  /// @{
  /// The program; docs/writing-a-program.md explains each member.
  using Value = Real;  // the rank times n; in Gauss–Seidel rounds not yet scaled
  using Shared = Real;
  using Message = double;
  /// @}
  /// Sums over all vertices.
  struct Global {
    /// @{
    /// Rank of vertices with out-edges, which follows edges in the next round, and its change in the last round. In
    /// Gauss–Seidel rounds: the two sums whose quotient is the next base (see WantedBase).
    double flow = 0, drift = 0;
    /// @}
    double change = 0;  ///< the L1 norm of the last round's change
    double total = 0;   ///< sum of all ranks, in Gauss–Seidel rounds
    /// Adds the members.
    CHATTY_FN friend Global operator+(const Global& a, const Global& b) {
#if CHATTY_DEVICE_CODE  // GPUs run no Gauss–Seidel rounds
      return {a.flow + b.flow, a.drift + b.drift, a.change + b.change};
#else
      return {a.flow + b.flow, a.drift + b.drift, a.change + b.change, a.total + b.total};
#endif
    }
  };
  /// @{
  /// The program; docs/writing-a-program.md explains each member.
  static constexpr auto kReduction = Reduction::kSum;
  static constexpr auto kSafety = Safety::kSynchronous;
  static constexpr auto kActivity = Activity::kEveryRound;
  static constexpr Info kInfo{
      .summary = std::is_same_v<Real, float> ? "PageRank by rounds, dangling mass spread evenly; ends when the L1 change "
                                               "falls below tolerance, or after rounds"
                                             : "PageRank with ranks in double, for tolerances that float cannot keep; "
                                               "`pagerank --precision double` is this",
      .output_name = "rank",
  };
  /// @}
  /// The tolerance if neither `tolerance` nor `rounds` is given.
  static constexpr double kDefaultTolerance = 1e-6;
  /// Maximum number of rounds to a tolerance; the run then ends without convergence.
  static constexpr std::uint32_t kMaxRounds = 10000;
  /// Below this L1 change, ranks change only by rounding to Real.
  static constexpr double kPrecision = std::numeric_limits<Real>::epsilon();
  /// Below this L1 change, it may be rounding that keeps ranks changing: errors of earlier rounds add up.
  static constexpr double kRoundedChange = 64 * kPrecision;

  /// Probability of following an edge.
  float damping = 0.85f;
  /// 0: rounds until the tolerance. Otherwise exactly this number of the rounds defined above, or with a tolerance at most
  /// this number.
  std::uint32_t rounds = 0;
  /// The run stops when a round's L1 change, of ranks that sum to 1, is below this. 0: with `rounds` no tolerance, otherwise
  /// kDefaultTolerance.
  double tolerance = 0;
  /// @{
  /// The program; docs/writing-a-program.md explains each member.
  static constexpr auto kParameters = std::make_tuple(
      Parameter{"damping", &BasicPageRank::damping, "probability of following an edge, at least 0 and below 1"},
      Parameter{
          "rounds", &BasicPageRank::rounds,
          "run exactly so many rounds, dangling mass spread in each; with a tolerance at most; 0: until the tolerance"},
      Parameter{"tolerance", &BasicPageRank::tolerance,
                "stop once the L1 norm of a round's change is below this; 0: none with rounds, 1e-6 without"});

  CHATTY_FN Value InitVertex(Vertex) const { return 1; }
  CHATTY_FN Shared Share(const Value& rank, Vertex x) const {
    return rank / static_cast<Real>(x.out_degree + (x.out_degree == 0));  // without out-edges the share is not read
  }
  CHATTY_FN Message ComputeScatter(const Shared& share, Edge<>) const { return share; }
  CHATTY_FN bool UpdateStatus(Value& rank, Message m, Vertex, const Round<Global>& round) const {
    const Value before = rank;
    rank = static_cast<Real>(Base(round) + Factor(round) * m);
    return rank != before;
  }
  CHATTY_FN Global Measure(const Value& before, const Value& rank, Vertex x, const Round<Global>& round) const {
    const double flows =
        x.out_degree != 0 ? 1 : 0;  // a multiplication, because a branch on out-edges would be unpredictable
    const Real change = rank - before;
#if !CHATTY_DEVICE_CODE
    if (round.gauss_seidel) {
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
                 mass = round.gauss_seidel ? round.global.total : static_cast<double>(round.vertices);
    double change = round.global.change / mass;
    if (rounds == 0) {
      const bool held = Holds(round, wanted, base, change);
      change += HandOut(round, held ? base : wanted, base, scale);
    } else {
      HandOut(round, wanted, base, scale);
    }
    const double settled = rounds == 0 && tolerance == 0 ? kDefaultTolerance : tolerance;
    // A tolerance below the type's precision is met only by no change at all: then further rounds have the same result.
    if (change < settled && (settled >= kPrecision || change == 0)) return Next::kStop;
    if (rounds == 0) return IsAtLimit(round.index, change, settled) ? Next::kLimit : Next::kContinue;
    if (round.index < rounds) return Next::kContinue;
    return tolerance > 0 ? Next::kLimit : Next::kStop;  // without a tolerance exactly `rounds` rounds were requested
  }
  CHATTY_FN Real Output(const Value& rank, const Round<Global>& round) const {
    const bool scaled = round.gauss_seidel && round.index > 0;
    return static_cast<Real>(rank / (scaled ? round.global.total : static_cast<double>(round.vertices)));
  }
  /// @}

  /// Throws UsageError for invalid parameters.
  void CheckInput() const {
    if (!(damping >= 0 && damping < 1)) Throw<UsageError>("damping is {}; it must be at least 0 and below 1", damping);
    if (!(tolerance >= 0)) Throw<UsageError>("tolerance is {}; it must not be negative", tolerance);
  }
  /// The limit that ends a run before its tolerance is met.
  std::string LimitReason() const {
    const double settled = tolerance == 0 ? kDefaultTolerance : tolerance;
    const bool may_be_rounding = settled < kPrecision || (settled < kRoundedChange && MostRounds(settled) < kMaxRounds);
    if (rounds > 0 || !may_be_rounding) return "the program's own limit of rounds";
    return fmt::format("the precision of {}, in which ranks settle to a change of {:.2g} or a few times that{},",
                       std::is_same_v<Real, float> ? "float" : "double", kPrecision,
                       std::is_same_v<Real, float> ? " (--precision double: to less)" : "");
  }
  /// The part that every vertex gets in the next round, in addition to what follows edges.
  CHATTY_FN double Base(const Round<Global>& round) const {
    if (round.kept[kBase] > 0) return round.kept[kBase];
    const double d = damping;
    return round.gauss_seidel ? 1.0 - d : 1.0 - d * round.global.flow / static_cast<double>(round.vertices);
  }
  /// The next round's factor of the rank that follows edges: damping, times the scale if ranks are scaled when they are
  /// updated.
  CHATTY_FN double Factor(const Round<Global>& round) const {
    return round.kept[kBase] > 0 ? round.kept[kScale] * double{damping} : double{damping};
  }

  /// With `rounds`, compares with as many rounds in fp64: float ranks have 24 bits, and each round damps earlier errors.
  /// With a tolerance, checks the residual that the tolerance allows, or else the bound that so many rounds guarantee.
  Verdict Verify(const Graph& graph, std::span<const Real> ranks, const RunStatistics& statistics) const {
    constexpr double kRounding = std::is_same_v<Real, float> ? 1e-5 : 1e-12;
    if (rounds > 0) return VerifyPageRankRounds<Real>(graph, ranks, damping, statistics.rounds, kRounding);
    const double settled = tolerance > 0 ? tolerance : kDefaultTolerance;
    const bool cut = statistics.ended != Ended::kConverged && statistics.ended != Ended::kLimit;
    const double left = cut ? 2 * std::pow(double{damping}, statistics.rounds) : settled;
    return VerifyPageRank<Real>(graph, ranks, damping, std::max(left, kRounding), kRounding);
  }
  /// For ranks of unknown origin. With `rounds`: the ranks after exactly that number, within the tolerance, or else within
  /// that of LDBC Graphalytics. Without: converged ranks, whose residual in L1, in fp64, is within the tolerance. Six
  /// printed digits always suffice.
  Verdict VerifyAnswer(const Graph& graph, std::span<const Real> ranks, const AnswerRules& rules) const {
    constexpr double kPrinted = 1e-5;
    if (rounds > 0) {
      return VerifyPageRankRounds<Real>(graph, ranks, damping, rounds, std::max(ToleranceOf(rules), kPrinted));
    }
    return VerifyPageRank<Real>(graph, ranks, damping, std::max(tolerance, kPrinted));
  }

 private:
  /// Indices in Round::kept. Of the next round: its base, and the scale of its factor. Of the last wanted base: its
  /// difference from the one before, the ratio to the previous difference, and how often the base has changed direction, or
  /// kHeld.
  enum Kept : std::uint8_t { kBase, kScale, kStep, kGrowth, kTurns };
  static constexpr double kHeld = 2;  // so many changes of direction, or another reason to hold the base

  /// Rounds after which a small change does not get smaller. Without rounding, a round's change is at most `damping` times
  /// the last one, and the first is at most 2: twice the rounds that follow from this, and some for changes of the base.
  double MostRounds(double settled) const {
    constexpr double kBaseChanges = 100;
    return kBaseChanges + 2 * std::log(settled / 2) / std::log(double{damping});
  }
  /// Whether a run that has not met its tolerance ends nevertheless: only rounding changes ranks, or rounds are too many.
  bool IsAtLimit(std::uint32_t index, double change, double settled) const {
    if (change < kPrecision || index >= kMaxRounds) return true;
    return change < kRoundedChange && index > MostRounds(settled);
  }
  /// The base and the scale of the last round.
  std::pair<double, double> Used(const Round<Global>& round) const {
    if (round.kept[kBase] > 0) return {round.kept[kBase], round.kept[kScale]};
    const double d = damping, flowed = round.global.flow - round.global.drift;
    return {round.gauss_seidel ? 1.0 - d : 1.0 - d * flowed / static_cast<double>(round.vertices), 1.0};
  }
  /// The base that follows, after a round with `base`. It keeps the sum of ranks. In a Gauss–Seidel round it keeps the sum
  /// over vertices with in-edges: these send each other flow, and vertices without in-edges send them damping times a base
  /// each, one round late.
  double WantedBase(const Round<Global>& round, double base) const {
    const auto& [flow, drift, change, total] = round.global;
    if (!round.gauss_seidel) return 1.0 - double{damping} * flow / static_cast<double>(round.vertices);
    return drift > 0 ? flow / drift : base;
  }
  /// Whether the base is held from now on. `change` is the L1 change per vertex: steps that contribute little to it are
  /// ignored.
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
  /// Sets base and scale of the next round for the wanted base `next`, after a round with `base` and `scale`. Returns the
  /// relative error of the last round's scale: with the L1 change it bounds the residual of the ranks before it.
  ///
  /// Except in Gauss–Seidel rounds, the sum of the next ranks is known, and they are scaled when they are updated.
  double HandOut(Round<Global>& round, double next, double base, double scale) const {
    auto& kept = round.kept;
    if (round.gauss_seidel) {
      kept[kBase] = next;
      kept[kScale] = 1;
      return std::abs(next / base - 1.0);  // all ranks change by the factor by which the base changes
    }
    kept[kScale] = 1.0 / (next + double{damping} * round.global.flow / static_cast<double>(round.vertices));
    kept[kBase] = next * kept[kScale];
    return std::abs(1.0 / scale - 1.0);
  }
};

/// PageRank in float. PageRankDouble in pagerank_double.h uses double.
using PageRank = BasicPageRank<float>;

}  // namespace chatty
