/// \file
/// Communities by label propagation, as the LDBC Graphalytics benchmark defines it (CDLP).
#pragma once

#include <chatty/chatty.h>

#include "../reference.h"

/// Labels begin as vertex ids. Each round every vertex takes the most frequent label among its neighbours, the least of
/// equally frequent ones. Both directions of a directed edge count, so a reciprocal pair counts twice. Raghavan, Albert
/// and Kumara (Physical Review E 76, 2007), made deterministic and synchronous by LDBC.
///
/// What it shows: a reduction that is not pairwise. UpdateStatus sees all messages of its vertex, sorted, as runs.
struct Cdlp {
  using Value = chatty::VertexId;
  using Message = chatty::VertexId;
  static constexpr auto kReduction = chatty::Reduction::kCollect;
  static constexpr auto kSafety = chatty::Safety::kSynchronous;
  static constexpr auto kEdges = chatty::Edges::kBoth;
  static constexpr auto kActivity = chatty::Activity::kEveryRound;
  static constexpr bool kOutputIsVertex = true;
  static constexpr const char* kOutputName = "label";
  static constexpr const char* kSummary = "communities by label propagation (LDBC CDLP)";

  std::uint32_t rounds = 10;
  static constexpr auto kParameters =
      std::make_tuple(chatty::Parameter{"rounds", &Cdlp::rounds, "rounds to run, at least 1"});

  CHATTY_FN Value InitVertex(chatty::Vertex v) const { return v.id; }
  CHATTY_FN Message ComputeScatter(const Value& label, chatty::Edge<>, const chatty::Round<>&) const { return label; }
  CHATTY_FN bool UpdateStatus(Value& label, chatty::Messages<Message> labels, chatty::Vertex, const chatty::Round<>&) const {
    const Value before = label;
    std::uint64_t most = 0;
    for (const auto run : labels) {  // ascending, so of equally frequent labels the least comes first and stays
      if (run.count <= most) continue;
      most = run.count;
      label = run.value;
    }
    return label != before;
  }
  chatty::Next EndRound(chatty::Round<>& round) const {
    return round.index >= rounds ? chatty::Next::kStop : chatty::Next::kContinue;
  }

  void CheckInput() const {
    if (rounds == 0) throw chatty::UsageError("rounds is 0; it must be at least 1");
  }
  chatty::Verdict Verify(const chatty::Graph& graph, std::span<const Value> labels) const {
    return reference::Same("label", graph, labels, reference::Communities(graph, rounds));
  }
};
