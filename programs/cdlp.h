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

/// Labels begin as vertex ids. Each round every vertex takes the most frequent label among its neighbours, the least of
/// equally frequent ones, and keeps its own if it has none. Both directions of a directed edge count, so a reciprocal pair
/// counts twice. Raghavan, Albert and Kumara (Physical Review E 76, 2007), made deterministic and synchronous by LDBC.
///
/// A reduction that is not pairwise: UpdateStatus sees the different messages to its vertex, and how often each came.
struct Cdlp {
  /// @{
  /// What VertexProgram asks for and the engines call; docs/writing-a-program.md says what each member means.
  using Value = VertexId;
  using Message = VertexId;
  static constexpr auto kReduction = Reduction::kCount;
  static constexpr auto kSafety = Safety::kSynchronous;
  static constexpr auto kEdges = Edges::kBoth;
  static constexpr auto kActivity = Activity::kEveryRound;
  static constexpr bool kSameAgain = true;  ///< labels follow from the neighbours' labels alone
  static constexpr bool kOutputIsVertex = true;
  static constexpr const char* kOutputName = "label";
  static constexpr const char* kSummary = "communities by label propagation (LDBC CDLP)";
  /// @}

  /// How many rounds to run.
  std::uint32_t rounds = 10;
  /// @{
  /// What VertexProgram asks for and the engines call; docs/writing-a-program.md says what each member means.
  static constexpr auto kParameters = std::make_tuple(Parameter{"rounds", &Cdlp::rounds, "rounds to run, at least 1"});

  CHATTY_FN Value InitVertex(Vertex v) const { return v.id; }
  CHATTY_FN Message ComputeScatter(const Value& label, Edge<>, const Round<>&) const { return label; }
  CHATTY_FN bool UpdateStatus(Value& label, Counts<Message> labels, Vertex, const Round<>&) const {
    const Value before = label;
    std::uint64_t most = 0;
    for (const auto run : labels) {  // in no order: of equally frequent labels the least is looked for
      if (run.count < most || (run.count == most && run.value > label)) continue;
      most = run.count;
      label = run.value;
    }
    return label != before;
  }
  Next EndRound(Round<>& round) const { return round.index >= rounds ? Next::kStop : Next::kContinue; }
  /// @}

  /// Throws UsageError for no rounds.
  void CheckInput() const {
    if (rounds == 0) throw UsageError("rounds is 0; it must be at least 1");
  }
  /// Against the same rounds on one thread.
  Verdict Verify(const Graph& graph, std::span<const Value> labels, const RunStatistics&) const {
    return VerifyLabelPropagation(graph, labels, rounds);
  }
};

}  // namespace chatty
