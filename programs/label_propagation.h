/// \file
/// Weakly connected components by propagating the least id.
#pragma once

#include <span>

#include "chatty/framework/program.h"
#include "chatty/framework/statistics.h"
#include "chatty/programs/verify.h"

namespace chatty {

/// Every vertex ends with the least id of its component. Simple, any order, but as many rounds as the component is wide;
/// `cc` hooks trees instead.
struct LabelPropagation {
  /// @{
  /// What VertexProgram asks for and the engines call; docs/writing-a-program.md says what each member means.
  using Value = VertexId;
  using Message = VertexId;
  static constexpr auto kReduction = Reduction::kMin;
  static constexpr auto kSafety = Safety::kMonotone;
  static constexpr auto kEdges = Edges::kBoth;
  static constexpr bool kOutputIsVertex = true;
  static constexpr const char* kSummary = "weakly connected components by propagating the least id";
  static constexpr const char* kOutputName = "component";

  CHATTY_FN Value InitVertex(Vertex v) const { return v.id; }
  CHATTY_FN Message ComputeScatter(const Value& label, Edge<>, const Round<>&) const { return label; }
  CHATTY_FN bool Wants(const Value& label, Message m) const { return m < label; }
  CHATTY_FN bool UpdateStatus(Value& label, Message m, Vertex, const Round<>&) const {
    if (m >= label) return false;
    label = m;
    return true;
  }
  /// @}

  /// Of every edge, and by the count of components: VerifyComponents.
  Verdict Verify(const Graph& graph, std::span<const VertexId> labels, const RunStatistics&) const {
    return VerifyComponents(graph, labels);
  }
};

}  // namespace chatty
