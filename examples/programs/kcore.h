/// \file
/// Core numbers by peeling.
#pragma once

#include <chatty/chatty.h>
#include <chatty/programs/reference.h>

#include <algorithm>
#include <cstdint>
#include <span>

/// A vertex's core number: the largest k for which it belongs to a subgraph where all have degree k or more (Seidman,
/// 1983). Phase k removes the vertices that have k neighbours left, then those that this leaves with k or fewer, until
/// it is quiet; what a vertex has left when it goes is its core number.
///
/// What it shows: phases. Nobody active asks EndRound, kNextPhase raises Round::phase, and IsActive says who starts it.
struct KCore {
  using Value = std::uint32_t;    ///< neighbours left; once removed, the core number
  using Message = std::uint32_t;  ///< a neighbour went: 1 an edge
  struct Global {
    std::uint32_t left = 0;  ///< the most neighbours that any vertex has left
  };
  static constexpr auto kReduction = chatty::Reduction::kSum;
  static constexpr auto kSafety = chatty::Safety::kSynchronous;
  static constexpr auto kEdges = chatty::Edges::kBoth;
  static constexpr const char* kOutputName = "core";
  static constexpr const char* kSummary = "core numbers by peeling; in- and out-edges count alike";

  CHATTY_FN Value InitVertex(chatty::Vertex) const { return 0; }
  /// Phase 0 counts neighbours: all send, and nobody is removed. (A symmetric graph stores an edge at both its ends, a
  /// directed one at one; the count is right for both, which the degrees of Vertex are not.)
  CHATTY_FN bool IsActive(const Value& left, const chatty::Round<Global>& round) const {
    return round.phase == 0 || left == round.phase;
  }
  CHATTY_FN Message ComputeScatter(const Value&, chatty::Edge<>, const chatty::Round<Global>&) const { return 1; }
  CHATTY_FN bool UpdateStatus(Value& left, Message gone, chatty::Vertex, const chatty::Round<Global>& round) const {
    if (round.phase == 0) {
      left = gone;
      return false;
    }
    if (left <= round.phase) return false;  // has gone already
    left = left - round.phase > gone ? left - gone : round.phase;
    return left == round.phase;
  }
  CHATTY_FN Global Measure(const Value& left, chatty::Vertex) const { return {left}; }
  CHATTY_FN static Global Combine(const Global& a, const Global& b) { return a.left < b.left ? b : a; }
  chatty::Next EndRound(chatty::Round<Global>& round) const {
    if (round.active > 0) return chatty::Next::kContinue;
    return round.global.left > round.phase ? chatty::Next::kNextPhase : chatty::Next::kStop;
  }

  chatty::Verdict Verify(const chatty::Graph& graph, std::span<const std::uint32_t> cores,
                         const chatty::RunStatistics&) const {
    const auto expected = chatty::SerialKCore(graph);
    if (!std::equal(cores.begin(), cores.end(), expected.begin(), expected.end())) {
      return chatty::Failed("core numbers differ from those of serial peeling");
    }
    return chatty::Passed("core numbers: equal to those of serial peeling");
  }
};
