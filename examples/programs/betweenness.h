/// \file
/// Betweenness from one source, as two programs over the same values.
#pragma once

#include <chatty/chatty.h>

#include "../reference.h"

struct ShortestPaths;

/// The second half: each vertex sends its predecessors on shortest paths their share of the paths through it (Brandes, J.
/// Mathematical Sociology 25, 2001), level by level from the deepest. Its values are the first half's, on the devices, and
/// one more number.
///
/// Demonstrates Input, and edges used against their direction.
struct Betweenness {
  struct Input {
    std::uint32_t level;
    double paths;
  };
  struct Value {
    std::uint32_t level;
    double paths;
    double dependency;
  };
  using Shared = double;
  using Message = double;
  struct Global {
    std::uint32_t depth = 0;  ///< the deepest level
  };
  static constexpr auto kReduction = chatty::Reduction::kSum;
  static constexpr auto kSafety = chatty::Safety::kSynchronous;
  static constexpr auto kEdges = chatty::Edges::kIn;
  static constexpr chatty::Info kInfo{
      .summary = "shares of the shortest paths from --source that pass a vertex",
      .output_name = "dependency",
  };

  chatty::VertexId source = 0;

  Betweenness() = default;
  explicit Betweenness(const ShortestPaths& paths);

  CHATTY_FN static bool Reached(const Value& v) { return v.level != chatty::kInfinity<std::uint32_t>; }

  CHATTY_FN Value InitVertex(chatty::Vertex, const Input& prior) const { return {prior.level, prior.paths, 0.0}; }
  /// Phase 0 only measures the depth; in phase p, level depth - p + 1 sends.
  CHATTY_FN bool IsActive(const Value& v, const chatty::Round<Global>& round) const {
    return round.phase > 0 && Reached(v) && v.level + round.phase == round.global.depth + 1;
  }
  CHATTY_FN Shared Share(const Value& v, chatty::Vertex) const { return (1.0 + v.dependency) / v.paths; }
  CHATTY_FN Message ComputeScatter(const Shared& share, chatty::Edge<>) const { return share; }
  CHATTY_FN bool UpdateStatus(Value& v, Message shares, chatty::Vertex, const chatty::Round<Global>& round) const {
    if (Reached(v) && v.level + round.phase == round.global.depth) v.dependency = v.paths * shares;
    return false;  // it sends in the next phase
  }
  CHATTY_FN Global Measure(const Value& v, chatty::Vertex) const { return {Reached(v) ? v.level : 0}; }
  CHATTY_FN static Global Combine(const Global& a, const Global& b) { return a.depth < b.depth ? b : a; }
  chatty::Next EndRound(chatty::Round<Global>& round) const {
    return round.phase < round.global.depth ? chatty::Next::kNextPhase : chatty::Next::kStop;
  }
  CHATTY_FN double Output(const Value& v) const { return v.level == 0 ? 0.0 : v.dependency; }

  /// Compares with Brandes' algorithm on one thread. Sums of doubles have no fixed order, so results are close, not equal.
  chatty::Verdict Verify(const chatty::Graph& graph, std::span<const double> dependencies) const {
    return Check(graph, dependencies, 1e-9);
  }
  /// As Verify, for an answer of unknown origin.
  chatty::Verdict VerifyAnswer(const chatty::Graph& graph, std::span<const double> dependencies,
                               const chatty::AnswerRules& rules) const {
    return Check(graph, dependencies, chatty::ToleranceOf(rules));
  }

 private:
  chatty::Verdict Check(const chatty::Graph& graph, std::span<const double> dependencies, double bound) const {
    return reference::Within("dependency", graph, dependencies, chatty::SerialBetweenness(graph, std::array{source}), bound);
  }
};

/// The first half: levels of a breadth-first search, and the number of shortest paths to each vertex.
struct ShortestPaths {
  using Value = Betweenness::Input;
  using Shared = double;  ///< the number of paths; the round gives the level
  using Message = double;
  static constexpr auto kReduction = chatty::Reduction::kSum;
  static constexpr auto kSafety = chatty::Safety::kSynchronous;
  static constexpr chatty::Info kInfo{
      .summary = "how many shortest paths lead to a vertex from --source; and betweenness",
      .output_name = "paths",
  };

  chatty::VertexId source = 0;
  static constexpr auto kParameters =
      std::make_tuple(chatty::Parameter{"source", &ShortestPaths::source, "vertex to start from"});
  using Derived = chatty::DerivedPrograms<Betweenness>;

  CHATTY_FN Value InitVertex(chatty::Vertex v) const {
    return v.id == source ? Value{0, 1.0} : Value{chatty::kInfinity<std::uint32_t>, 0.0};
  }
  CHATTY_FN bool IsActive(const Value& v) const { return v.level == 0; }
  CHATTY_FN Shared Share(const Value& v, chatty::Vertex) const { return v.paths; }
  CHATTY_FN Message ComputeScatter(const Shared& paths, chatty::Edge<>) const { return paths; }
  CHATTY_FN bool Filter(const Value& v) const { return v.level == chatty::kInfinity<std::uint32_t>; }
  CHATTY_FN bool UpdateStatus(Value& v, Message paths, chatty::Vertex, const chatty::Round<>& round) const {
    if (!Filter(v)) return false;
    v = {round.index + 1, paths};
    return true;
  }
  CHATTY_FN double Output(const Value& v) const { return v.paths; }

  /// Compares with a count on one thread.
  chatty::Verdict Verify(const chatty::Graph& graph, std::span<const double> paths) const {
    return reference::Within("paths", graph, paths, reference::PathCounts(graph, source), 1e-9);
  }
  /// As Verify, for an answer of unknown origin.
  chatty::Verdict VerifyAnswer(const chatty::Graph& graph, std::span<const double> paths,
                               const chatty::AnswerRules& rules) const {
    return reference::Within("paths", graph, paths, reference::PathCounts(graph, source), chatty::ToleranceOf(rules));
  }
};

inline Betweenness::Betweenness(const ShortestPaths& paths) : source(paths.source) {}
