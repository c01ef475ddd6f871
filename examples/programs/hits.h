/// \file
/// Hubs and authorities, by alternating rounds along the edges and against them.
#pragma once

#include <chatty/chatty.h>

#include "../reference.h"

namespace hits {

/// A vertex's value; the sum of either score over the graph is 1.
struct Scores {
  double authority, hub;
};

/// Authorities from hubs, along the edges; or hubs from authorities, against them. A score is the sum of the neighbours'
/// other score, divided by the total of all such sums. The total is known before: each vertex contributes its score once per
/// edge.
template <bool kAuthorities>
struct Turn {
  using Input = Scores;
  using Value = Scores;
  using Shared = double;
  using Message = double;
  struct Global {
    double sums = 0;    ///< of the other kind, for the next turn
    double change = 0;  ///< of this kind, since its previous turn
    CHATTY_FN friend Global operator+(const Global& a, const Global& b) { return {a.sums + b.sums, a.change + b.change}; }
  };
  static constexpr auto kReduction = chatty::Reduction::kSum;
  static constexpr auto kSafety = chatty::Safety::kSynchronous;
  static constexpr auto kActivity = chatty::Activity::kEveryRound;
  static constexpr auto kEdges = kAuthorities ? chatty::Edges::kOut : chatty::Edges::kIn;

  double sums = 1;  ///< total of all sums of this turn; 0 without edges
  double limit =
      chatty::kInfinity<double>;  ///< in the last allowed turn, a larger change means that the scores have not converged

  CHATTY_FN Value InitVertex(chatty::Vertex, const Input& scores) const { return scores; }
  CHATTY_FN Shared Share(const Value& v, chatty::Vertex) const { return kAuthorities ? v.hub : v.authority; }
  CHATTY_FN Message ComputeScatter(const Shared& score, chatty::Edge<>) const { return score; }
  CHATTY_FN bool UpdateStatus(Value& v, Message sum, chatty::Vertex) const {
    (kAuthorities ? v.authority : v.hub) = sums > 0 ? sum / sums : 0;
    return true;
  }
  CHATTY_FN Global Measure(const Value& before, const Value& v, chatty::Vertex x) const {
    if (kAuthorities) return {v.authority * static_cast<double>(x.in_degree), std::abs(v.authority - before.authority)};
    return {v.hub * static_cast<double>(x.out_degree), std::abs(v.hub - before.hub)};
  }
  chatty::Next EndRound(chatty::Round<Global>& round) const {
    return round.global.change <= limit ? chatty::Next::kStop : chatty::Next::kLimit;
  }
  CHATTY_FN double Output(const Value& v) const { return v.authority; }
};

/// The first turn: all hubs are equal.
struct First : Turn<true> {
  using Input = chatty::None;
  double vertices = 1;
  CHATTY_FN Value InitVertex(chatty::Vertex) const { return {0, 1 / vertices}; }
};

}  // namespace hits

struct Hits;

/// The other score, for `--value hub`: it reads the last turn's values and sends no messages.
struct Hub {
  using Input = hits::Scores;
  using Value = double;
  using Message = double;
  static constexpr auto kReduction = chatty::Reduction::kSum;
  static constexpr auto kSafety = chatty::Safety::kSynchronous;
  static constexpr chatty::Info kInfo{.output_name = "hub"};

  double tolerance = 0;
  std::uint32_t rounds = 0;

  Hub() = default;
  explicit Hub(const Hits& hits);

  CHATTY_FN Value InitVertex(chatty::Vertex, const Input& scores) const { return scores.hub; }
  CHATTY_FN bool IsActive(const Value&) const { return false; }
  CHATTY_FN Message ComputeScatter(const Value&, chatty::Edge<>) const { return 0; }
  CHATTY_FN bool UpdateStatus(Value& hub, Message sum, chatty::Vertex) const {
    hub += sum;
    return false;
  }
  chatty::Verdict Verify(const chatty::Graph& graph, std::span<const double> hubs) const {
    return reference::Close("hub score", graph, hubs, reference::Hits(graph, tolerance, rounds).hubs, 4 * tolerance + 1e-12);
  }
};

/// Hubs point to good authorities, and good hubs point to authorities (Kleinberg, J. ACM 46, 1999). Scores of either kind
/// sum to 1, or are 0 in a graph without edges.
///
/// Demonstrates a sequence program, whose turns go along the edges and against them until the scores converge.
struct Hits {
  using Output = double;
  using Programs = chatty::SequencePrograms<hits::First, hits::Turn<false>, hits::Turn<true>>;
  using Derived = chatty::DerivedPrograms<Hub>;
  static constexpr chatty::Info kInfo{
      .summary = "HITS: authorities, to which good hubs point; and hubs",
      .output_name = "authority",
  };

  double tolerance = 1e-8;
  std::uint32_t rounds = 1000;
  static constexpr auto kParameters = std::make_tuple(
      chatty::Parameter{"tolerance", &Hits::tolerance, "done when hub scores change by less, in sum; above 0"},
      chatty::Parameter{"rounds", &Hits::rounds, "at most so many turns of each kind, at least 1"});

  template <class Steps>
  void Run(Steps& steps) const {
    hits::First first;
    hits::Turn<true> authorities;
    hits::Turn<false> hubs;
    first.vertices = static_cast<double>(steps.graph().vertices());
    first.sums = static_cast<double>(steps.graph().edges()) / first.vertices;
    hubs.sums = steps.Then(first).Round(first).global.sums;
    for (std::uint32_t turn = 1;; ++turn) {
      if (turn >= rounds) hubs.limit = tolerance;
      const auto heard = steps.Then(hubs).Round(hubs).global;
      if (heard.change <= tolerance || turn >= rounds || steps.StopRequested()) return;
      authorities.sums = heard.sums;
      hubs.sums = steps.Then(authorities).Round(authorities).global.sums;
    }
  }

  void CheckInput() const {
    if (tolerance > 0 && tolerance <= 1e-3 && rounds > 0) return;
    chatty::Throw<chatty::UsageError>("tolerance={} rounds={}: tolerance is above 0 and at most 0.001, rounds at least 1",
                                      tolerance, rounds);
  }
  chatty::Verdict Verify(const chatty::Graph& graph, std::span<const double> scores) const {
    return reference::Close("authority score", graph, scores, reference::Hits(graph, tolerance, rounds).authorities,
                            4 * tolerance + 1e-12);
  }
};

inline Hub::Hub(const Hits& hits) : tolerance(hits.tolerance), rounds(hits.rounds) {}
