/// \file
/// Personalised PageRank (Jeh and Widom, WWW'03; Haveliwala, WWW'02) by power iteration, pulled.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>

#include "chatty/core/array.h"
#include "chatty/core/graph.h"
#include "chatty/framework/program.h"
#include "chatty/framework/statistics.h"
#include "chatty/programs/bc/sources.h"
#include "chatty/programs/checks.h"
#include "chatty/programs/verify.h"

namespace chatty {

/// Rank of walks that begin at a vertex drawn from a teleport vector p, which sums to 1. With probability 1 - damping, or
/// without an out-edge, they restart at such a vertex. new(v) = (1 - damping) * p(v) + damping * (sum over u -> v of old(u)
/// / out_degree(u) + dangling * p(v)). Here dangling is the old rank of all vertices without out-edges. The initial ranks
/// are p.
///
/// The vector is vertex data of any scale; or else it has equal values for some sources and 0 for others. Ranks and the
/// vector are stored times n, as PageRank's are, and summed in double.
struct PersonalisedPageRank {
  /// @{
  /// The program; docs/writing-a-program.md explains each member.
  using Value = float;  // the rank times n
  using Shared = float;
  using Message = double;
  /// @}
  /// Input of a vertex.
  struct Data {
    float teleport =
        0;  ///< relative frequency of walks that begin there; after preparation, the mean over all vertices is 1
  };
  /// Sums over all vertices.
  struct Global {
    double dangling = 0;  ///< rank of vertices without out-edges
    double change = 0;    ///< the L1 norm of the last round's change
    /// Adds both.
    CHATTY_FN friend Global operator+(const Global& a, const Global& b) {
      return {a.dangling + b.dangling, a.change + b.change};
    }
  };
  /// @{
  /// The program; docs/writing-a-program.md explains each member.
  static constexpr auto kReduction = Reduction::kSum;
  static constexpr auto kSafety = Safety::kSynchronous;
  static constexpr auto kActivity = Activity::kEveryRound;
  static constexpr Info kInfo{
      .summary = "PageRank of walks that begin at sources, or as a teleport vector says; dangling mass goes there, too",
      .output_name = "rank",
  };
  /// @}

  VertexId source = 0;        ///< the first, or only, source
  std::uint32_t sources = 1;  ///< number of sources; 0: every vertex
  std::uint64_t seed = 1;     ///< seed for the choice of the other sources
  /// Probability of following an edge.
  float damping = 0.85f;
  /// Maximum number of rounds.
  std::uint32_t rounds = 100;
  /// The run stops when a round's L1 change is below this.
  double tolerance = 1e-6;
  /// @{
  /// The program; docs/writing-a-program.md explains each member.
  static constexpr auto kParameters = std::make_tuple(
      Parameter{"source", &PersonalisedPageRank::source, "vertex where walks begin"},
      Parameter{"sources", &PersonalisedPageRank::sources,
                "at how many vertices walks begin: the others are picked at random; 0: every vertex"},
      Parameter{"seed", &PersonalisedPageRank::seed, "seed of the other sources"},
      Parameter{"damping", &PersonalisedPageRank::damping, "probability of following an edge, at least 0 and below 1"},
      Parameter{"rounds", &PersonalisedPageRank::rounds, "most rounds to run"},
      Parameter{"tolerance", &PersonalisedPageRank::tolerance,
                "stop once the L1 norm of a round's change is below this; 0 runs all rounds"});
  static constexpr auto kVertexData = std::make_tuple(
      VertexDatum{"teleport", &Data::teleport, "how often walks begin at a vertex, in any scale, not negative; left out: 0",
                  Presence::kOptional, Missing::kDefault, "source sources seed"});

  void PrepareData(const Graph& graph, std::span<Data> data, std::span<const std::string_view> given) const {
    if (given.empty()) AddSources(graph, data);
    const double sum = SumOfTeleport(graph, [&](VertexId v) { return double{data[v].teleport}; });
    for (Data& d : data) d.teleport = static_cast<float>(d.teleport / sum * static_cast<double>(data.size()));
  }
  CHATTY_FN Value InitVertex(Vertex, const Data& data) const { return data.teleport; }
  CHATTY_FN Shared Share(const Value& rank, Vertex x) const {
    return rank / static_cast<float>(x.out_degree + (x.out_degree == 0));  // without out-edges the share is not read
  }
  CHATTY_FN Message ComputeScatter(const Shared& share, Edge<>) const { return share; }
  CHATTY_FN bool UpdateStatus(Value& rank, Message m, Vertex, const Round<Global>& round, const Data& data) const {
    const Value before = rank;
    const double d = damping, anew = 1.0 - d + d * round.global.dangling / static_cast<double>(round.vertices);
    rank = static_cast<float>(anew * data.teleport + d * m);
    return rank != before;
  }
  CHATTY_FN Global Measure(const Value& before, const Value& rank, Vertex x) const {
    const double dangles = x.out_degree == 0 ? 1 : 0, change = rank - before;
    return {dangles * rank, change < 0 ? -change : change};
  }
  Next EndRound(Round<Global>& round) const {
    if (round.global.change < tolerance * static_cast<double>(round.vertices) || round.vertices == 0) return Next::kStop;
    if (round.index < rounds) return Next::kContinue;
    return tolerance > 0 ? Next::kLimit : Next::kStop;  // without a tolerance exactly `rounds` rounds were requested
  }
  CHATTY_FN float Output(const Value& rank, const Round<Global>& round) const {
    return static_cast<float>(rank / static_cast<double>(round.vertices));
  }
  /// @}

  /// Throws UsageError for invalid parameters.
  void CheckInput() const {
    if (!(damping >= 0 && damping < 1)) Throw<UsageError>("damping is {}; it must be at least 0 and below 1", damping);
    if (rounds == 0) throw UsageError("rounds is 0; at least one round has to run");
    if (!(tolerance >= 0)) Throw<UsageError>("tolerance is {}; it must not be negative", tolerance);
  }

  /// Compares with the same number of rounds in fp64. Float ranks have 24 bits; each round damps earlier errors.
  Verdict Verify(const Graph& graph, std::span<const float> ranks, std::span<const Data> data,
                 const RunStatistics& statistics) const {
    return VerifyPersonalisedRounds(graph, ranks, Vector(data), damping, statistics.rounds, 1e-5);
  }
  /// For ranks of unknown origin. With a tolerance: checks their residual in L1, in fp64, against the larger of it and the
  /// precision of six printed digits. Without: compares with as many rounds, within the tolerance of LDBC Graphalytics.
  Verdict VerifyAnswer(const Graph& graph, std::span<const float> ranks, std::span<const Data> data) const {
    if (tolerance == 0) return VerifyPersonalisedRounds(graph, ranks, Vector(data), damping, rounds, kLdbcEpsilon);
    return VerifyPersonalised(graph, ranks, Vector(data), damping, tolerance > 1e-5 ? tolerance : 1e-5);
  }

 private:
  void AddSources(const Graph& graph, std::span<Data> data) const {
    if (data.empty()) return;
    const auto n = static_cast<VertexId>(data.size());
    const std::uint64_t count = sources == 0 ? n : sources;
    for (std::uint64_t i = 0; i < count; ++i) {
      const VertexId v = sources == 0 ? static_cast<VertexId>(i)
                         : i == 0     ? source
                                      : brandes::PickSource(seed, i, n, [&](VertexId u) { return graph.out_degree(u) > 0; });
      data[v].teleport += 1;
    }
  }
  static Array<double> Vector(std::span<const Data> data) {
    Array<double> teleport(data.size());
    for (std::size_t v = 0; v < data.size(); ++v) teleport[v] = data[v].teleport;
    return teleport;
  }
};

}  // namespace chatty
