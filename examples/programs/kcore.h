/// \file
/// Core numbers by peeling.
#pragma once

#include <chatty/chatty.h>

#include "../reference.h"

/// A vertex's core number: the largest k for which it belongs to a subgraph in which all degrees are at least k (Seidman,
/// Social Networks 5, 1983). Phase k removes the vertices with k neighbours left, then those that this leaves with k or
/// fewer, until no vertex is active. A vertex's core number is the phase of its removal.
///
/// Demonstrates phases: when no vertex is active, EndRound chooses the next phase, and IsActive the vertices that start it.
struct KCore {
  using Value = std::uint32_t;    ///< number of neighbours left; after removal, the core number
  using Message = std::uint32_t;  ///< number of removed neighbours
  struct Global {
    std::uint32_t least = chatty::kInfinity<std::uint32_t>;  ///< minimum of the numbers left, over the remaining vertices
  };
  static constexpr auto kReduction = chatty::Reduction::kSum;
  static constexpr auto kSafety = chatty::Safety::kSynchronous;
  static constexpr auto kEdges = chatty::Edges::kBoth;
  static constexpr chatty::Hints kHints{.measure_when_quiet = true, .continues_while_active = true};
  static constexpr chatty::Info kInfo{
      .summary = "core numbers by peeling; in- and out-edges count alike",
      .output_name = "core",
  };

  CHATTY_FN Value InitVertex(chatty::Vertex v) const { return static_cast<Value>(v.degree); }
  CHATTY_FN bool IsActive(const Value& left, const chatty::Round<Global>& round) const { return left == round.phase; }
  CHATTY_FN Message ComputeScatter(const Value&, chatty::Edge<>) const { return 1; }
  CHATTY_FN bool UpdateStatus(Value& left, Message gone, chatty::Vertex, const chatty::Round<Global>& round) const {
    if (left <= round.phase) return false;  // was removed before
    left = left - round.phase > gone ? left - gone : round.phase;
    return left == round.phase;
  }
  CHATTY_FN Global Measure(const Value& left, chatty::Vertex, const chatty::Round<Global>& round) const {
    return left > round.phase ? Global{left} : Global{};
  }
  CHATTY_FN static Global Combine(const Global& a, const Global& b) { return a.least < b.least ? a : b; }
  chatty::Next EndRound(chatty::Round<Global>& round) const {
    if (round.active > 0) return chatty::Next::kContinue;
    if (round.global.least == Global{}.least) return chatty::Next::kStop;
    round.phase = round.global.least;
    return chatty::Next::kNextPhase;
  }

  /// Compares with Batagelj and Zaversnik's serial peeling in order of degree.
  chatty::Verdict Verify(const chatty::Graph& graph, std::span<const Value> cores) const {
    return reference::Same("core number", graph, cores, chatty::SerialKCore(graph));
  }
};
