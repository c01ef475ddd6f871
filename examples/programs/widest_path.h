/// \file
/// Widest paths.
#pragma once

#include <chatty/chatty.h>

#include "../reference.h"

/// For each vertex the width of the widest path from `source`, or 0 if there is no path; infinity at the source. A path is
/// as wide as its narrowest edge: the bottleneck shortest path of Pollack (Operations Research 8, 1960).
///
/// Demonstrates SSSP with (max, min) in place of (min, +), a monotone program whose results are exact weights of the graph.
/// Integer weights above 2^24 are rounded when they are read as floats.
struct WidestPath {
  using Weight = float;
  using Value = float;
  using Message = float;
  static constexpr auto kReduction = chatty::Reduction::kMax;
  static constexpr auto kSafety = chatty::Safety::kMonotone;
  static constexpr chatty::Hints kHints{.update_is_reduction = true};
  static constexpr chatty::Info kInfo{
      .summary = "widest paths from --source: the largest possible least weight on the way",
      .output_name = "width",
  };

  chatty::VertexId source = 0;
  static constexpr auto kParameters =
      std::make_tuple(chatty::Parameter{"source", &WidestPath::source, "vertex to start from"});

  CHATTY_FN Value InitVertex(chatty::Vertex v) const { return v.id == source ? chatty::kInfinity<float> : 0.0f; }
  CHATTY_FN bool IsActive(const Value& width) const { return width > 0.0f; }
  CHATTY_FN Message ComputeScatter(const Value& width, chatty::Edge<Weight> e) const {
    return e.weight < width ? e.weight : width;
  }
  CHATTY_FN bool Filter(const Value& width, Message m) const { return m > width; }
  CHATTY_FN Value Priority(const Value& width) const { return -width; }  ///< the widest first
  CHATTY_FN bool UpdateStatus(Value& width, Message m, chatty::Vertex) const {
    if (!(m > width)) return false;
    width = m;
    return true;
  }

  /// Throws UsageError for negative or undefined weights.
  void CheckInput(const chatty::Graph& graph) const { chatty::CheckWeights(graph); }
  chatty::Verdict Verify(const chatty::Graph& graph, std::span<const Value> widths) const {
    return reference::Same("width", graph, widths, reference::Widths(graph, source));
  }
  /// As Verify, for an answer of unknown origin, because other programs may round weights.
  chatty::Verdict VerifyAnswer(const chatty::Graph& graph, std::span<const Value> widths,
                               const chatty::AnswerRules& rules) const {
    return reference::Within("width", graph, widths, reference::Widths(graph, source), chatty::ToleranceOf(rules));
  }
};
