/// \file
/// Communities by label propagation, as the LDBC Graphalytics benchmark defines it (CDLP).
#pragma once

#include <cstdint>
#include <span>
#include <tuple>

#include "chatty/framework/program.h"
#include "chatty/framework/statistics.h"
#include "chatty/programs/verify.h"

namespace chatty {

/// Labels begin as vertex ids. In each round every vertex takes the most frequent label among its neighbours, on ties the
/// least; a vertex without neighbours keeps its own. Both directions of a directed edge count, so a reciprocal pair counts
/// twice. Raghavan, Albert and Kumara (Physical Review E 76, 2007), made deterministic and synchronous by LDBC.
///
/// The reduction is not pairwise: UpdateStatus receives the distinct messages to its vertex and the number of each.
struct Cdlp {
  /// @{
  /// The program; docs/writing-a-program.md explains each member.
  using Value = VertexId;
  using Message = VertexId;
  static constexpr auto kReduction = Reduction::kCount;
  static constexpr auto kSafety = Safety::kSynchronous;
  static constexpr auto kEdges = Edges::kBoth;
  static constexpr auto kActivity = Activity::kEveryRound;
  static constexpr Hints kHints{.stationary = true};  ///< labels depend on the neighbours' labels alone
  static constexpr Info kInfo{
      .summary = "communities by label propagation (LDBC CDLP)",
      .output_name = "label",
      .output_is_vertex = true,
  };
  /// @}

  /// Number of rounds.
  std::uint32_t rounds = 10;
  /// @{
  /// The program; docs/writing-a-program.md explains each member.
  static constexpr auto kParameters = std::make_tuple(Parameter{"rounds", &Cdlp::rounds, "rounds to run, at least 1"});

  CHATTY_FN Value InitVertex(Vertex v) const { return v.id; }
  CHATTY_FN Message ComputeScatter(const Value& label, Edge<>) const { return label; }
  CHATTY_FN bool UpdateStatus(Value& label, Counts<Message> labels, Vertex) const {
    const Value before = label;
    std::uint64_t most = 0;
    for (const auto run : labels) {  // the order is undefined: on ties the least label is chosen
      if (run.count < most || (run.count == most && run.value > label)) continue;
      most = run.count;
      label = run.value;
    }
    return label != before;
  }
  Next EndRound(Round<>& round) const { return round.index >= rounds ? Next::kStop : Next::kContinue; }
  /// @}

  /// Throws UsageError for 0 rounds.
  void CheckInput() const {
    if (rounds == 0) throw UsageError("rounds is 0; it must be at least 1");
  }
  /// Compares with the same rounds on one thread.
  Verdict Verify(const Graph& graph, std::span<const Value> labels, const RunStatistics&) const {
    return VerifyLabelPropagation(graph, labels, rounds);
  }
};

}  // namespace chatty
