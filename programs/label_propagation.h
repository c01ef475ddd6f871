/// \file
/// Weakly connected components by propagating the least id.
#pragma once

#include <span>

#include "chatty/framework/program.h"
#include "chatty/framework/statistics.h"
#include "chatty/programs/verify.h"

namespace chatty {

/// Every vertex gets the least id of its component. The program is simple and needs no order of messages, but takes as many
/// rounds as the component's diameter; `cc` uses union-find instead.
struct LabelPropagation {
  /// @{
  /// The program; docs/writing-a-program.md explains each member.
  using Value = VertexId;
  using Message = VertexId;
  static constexpr auto kReduction = Reduction::kMin;
  static constexpr auto kSafety = Safety::kMonotone;
  static constexpr Hints kHints{.update_is_reduction = true};
  static constexpr auto kEdges = Edges::kBoth;
  static constexpr Info kInfo{
      .summary = "weakly connected components by propagating the least id",
      .output_name = "component",
      .output_is_vertex = true,
  };

  CHATTY_FN Value InitVertex(Vertex v) const { return v.id; }
  CHATTY_FN Message ComputeScatter(const Value& label, Edge<>) const { return label; }
  CHATTY_FN bool Filter(const Value& label, Message m) const { return m < label; }
  CHATTY_FN Value Priority(const Value& label) const { return label; }
  CHATTY_FN bool UpdateStatus(Value& label, Message m, Vertex) const {
    if (m >= label) return false;
    label = m;
    return true;
  }
  /// @}

  /// Checks every edge, and the number of components: VerifyComponents.
  Verdict Verify(const Graph& graph, std::span<const VertexId> labels, const RunStatistics&) const {
    return VerifyComponents(graph, labels);
  }
};

}  // namespace chatty
