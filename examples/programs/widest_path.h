/// \file
/// Widest paths: how much fits through.
#pragma once

#include <chatty/chatty.h>
#include <chatty/programs/checks.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

/// For each vertex the width of the widest path from `source`, a path being as wide as its narrowest edge: the
/// bottleneck shortest path of Pollack (Operations Research 8, 1960). 0 where no path leads; kInfinity at the source.
///
/// What it shows: SSSP with (max, min) in place of (min, +): a monotone program in the answer of which nothing rounds.
struct WidestPath {
  using Weight = float;
  using Value = float;
  using Message = float;
  static constexpr auto kReduction = chatty::Reduction::kMax;
  static constexpr auto kSafety = chatty::Safety::kMonotone;
  static constexpr const char* kOutputName = "width";
  static constexpr const char* kSummary = "widest paths from --source: the largest possible least weight on the way";

  chatty::VertexId source = 0;
  static constexpr auto kParameters =
      std::make_tuple(chatty::Parameter{"source", &WidestPath::source, "vertex to start from"});

  CHATTY_FN Value InitVertex(chatty::Vertex v) const { return v.id == source ? chatty::kInfinity<float> : 0.0f; }
  CHATTY_FN bool IsActive(const Value& width, const chatty::Round<>&) const { return width > 0.0f; }
  CHATTY_FN Message ComputeScatter(const Value& width, chatty::Edge<Weight> e, const chatty::Round<>&) const {
    return e.weight < width ? e.weight : width;
  }
  CHATTY_FN bool Wants(const Value& width, Message m) const { return m > width; }
  CHATTY_FN bool UpdateStatus(Value& width, Message m, chatty::Vertex, const chatty::Round<>&) const {
    if (!(m > width)) return false;
    width = m;
    return true;
  }

  /// Throws UsageError for negative or undefined weights.
  void CheckInput(const chatty::Graph& graph) const { chatty::CheckWeights(graph); }

  chatty::Verdict Verify(const chatty::Graph& graph, std::span<const float> widths, const chatty::RunStatistics&) const {
    chatty::Verdict verdict;
    chatty::VisitWeights<float>(graph, [&](auto weight_of) {
      static_cast<void>(verdict = Check(graph, widths, weight_of));  // nvcc sees a verdict dropped here
    });
    return verdict;
  }

 private:
  /// No edge allows more at its end than is said there; and along edges that allow just that, the source reaches every
  /// vertex of positive width, so that there is a path so wide.
  template <class WeightOf>
  chatty::Verdict Check(const chatty::Graph& graph, std::span<const float> widths, WeightOf weight_of) const {
    if (widths[source] != chatty::kInfinity<float>) return chatty::Failed("source {}: not infinitely wide", source);
    const chatty::Adjacency& out = graph.out();
    for (chatty::VertexId u = 0; u < graph.vertices(); ++u) {
      for (chatty::EdgeIndex e = out.offsets[u]; e < out.offsets[u + 1]; ++e) {
        const chatty::VertexId v = out.neighbours[e];
        if (std::min(widths[u], weight_of(e)) <= widths[v]) continue;
        return chatty::Failed("edge {} -> {} allows more than the width {} at its end", u, v, widths[v]);
      }
    }
    std::vector<char> supported(graph.vertices(), 0);
    std::vector<chatty::VertexId> stack{source};
    supported[source] = 1;
    while (!stack.empty()) {
      const chatty::VertexId u = stack.back();
      stack.pop_back();
      for (chatty::EdgeIndex e = out.offsets[u]; e < out.offsets[u + 1]; ++e) {
        const chatty::VertexId v = out.neighbours[e];
        if (supported[v] || widths[v] == 0.0f || std::min(widths[u], weight_of(e)) != widths[v]) continue;
        supported[v] = 1;
        stack.push_back(v);
      }
    }
    for (chatty::VertexId v = 0; v < graph.vertices(); ++v) {
      if (supported[v] || widths[v] == 0.0f) continue;
      return chatty::Failed("vertex {}: no path is as wide as {}", v, widths[v]);
    }
    return chatty::Passed("widths: none too small on any edge, and a path for each");
  }
};
