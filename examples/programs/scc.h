/// \file
/// Strongly connected components, by searches along the edges and against them.
#pragma once

#include <chatty/chatty.h>

#include "../reference.h"

namespace scc {

/// When a vertex with a component sent a notice of it to its neighbours on one side.
enum class Sent : std::uint8_t { kNever, kInThisTurn, kBefore };

/// A vertex's value.
struct State {
  chatty::VertexId component;           ///< kNoVertex while unknown
  chatty::VertexId least;               ///< of all vertices without a component from which a path leads here
  chatty::EdgeIndex in_left, out_left;  ///< edges from and to vertices not known to have a component
  Sent sent_out, sent_in;

  CHATTY_FN bool Undecided() const { return component == chatty::kNoVertex; }
};

/// Members of all turns. At the end of a turn the undecided vertices are counted.
struct Common {
  using Input = State;
  using Value = State;
  using Global = std::uint64_t;
  static constexpr chatty::Hints kHints{.measure_when_quiet = true};

  CHATTY_FN Global Measure(const State& v, chatty::Vertex) const { return v.Undecided() ? 1 : 0; }
  CHATTY_FN chatty::VertexId Output(const State& v) const { return v.component; }
};

/// Vertices with a component notify their neighbours along the edges, or against them. A vertex whose in-neighbours or
/// out-neighbours all have components is a component of its own, and notifies its neighbours, too.
template <bool kForward>
struct Trim : Common {
  using Shared = std::uint8_t;
  using Message = chatty::EdgeIndex;  ///< number of edges with such a notice
  static constexpr auto kReduction = chatty::Reduction::kSum;
  static constexpr auto kSafety = chatty::Safety::kSynchronous;
  static constexpr auto kEdges = kForward ? chatty::Edges::kOut : chatty::Edges::kIn;

  CHATTY_FN static Sent& SentOf(State& v) { return kForward ? v.sent_out : v.sent_in; }

  CHATTY_FN State InitVertex(chatty::Vertex, const State& before) const {
    State v = before;
    if (!v.Undecided()) SentOf(v) = SentOf(v) == Sent::kNever ? Sent::kInThisTurn : Sent::kBefore;
    return v;
  }
  CHATTY_FN bool IsActive(State v) const { return SentOf(v) == Sent::kInThisTurn; }
  CHATTY_FN Shared Share(const State&, chatty::Vertex) const { return 1; }
  CHATTY_FN Message ComputeScatter(const Shared& one, chatty::Edge<>) const { return one; }
  CHATTY_FN bool Filter(const State& v) const { return v.Undecided(); }
  CHATTY_FN bool UpdateStatus(State& v, Message notices, chatty::Vertex x) const {
    if (!v.Undecided()) return false;
    chatty::EdgeIndex& left = kForward ? v.in_left : v.out_left;
    left -= notices;
    if (left > 0) return false;
    v.component = x.id;
    SentOf(v) = Sent::kInThisTurn;
    return true;
  }
};

/// The first turn: no vertex has been notified.
struct First : Trim<true> {
  using Input = chatty::None;
  CHATTY_FN State InitVertex(chatty::Vertex x) const {
    const bool alone = x.in_degree == 0 || x.out_degree == 0;
    return {alone ? x.id : chatty::kNoVertex,         chatty::kNoVertex, x.in_degree, x.out_degree,
            alone ? Sent::kInThisTurn : Sent::kNever, Sent::kNever};
  }
};

/// Ids spread along the edges among undecided vertices, and each keeps the least.
struct Spread : Common {
  using Shared = chatty::VertexId;
  using Message = chatty::VertexId;
  static constexpr auto kReduction = chatty::Reduction::kMin;
  static constexpr auto kSafety = chatty::Safety::kMonotone;

  CHATTY_FN State InitVertex(chatty::Vertex x, const State& before) const {
    State v = before;
    v.least = v.Undecided() ? x.id : chatty::kNoVertex;
    return v;
  }
  CHATTY_FN bool IsActive(const State& v) const { return v.Undecided(); }
  CHATTY_FN Shared Share(const State& v, chatty::Vertex) const { return v.least; }
  CHATTY_FN Message ComputeScatter(const Shared& least, chatty::Edge<>) const { return least; }
  CHATTY_FN bool Filter(const State& v, Message id) const { return v.Undecided() && id < v.least; }
  CHATTY_FN bool UpdateStatus(State& v, Message id, chatty::Vertex) const {
    if (!Filter(v, id)) return false;
    v.least = id;
    return true;
  }
};

/// A vertex that kept its own id is the least of its component. The other members are vertices with a path to it that kept
/// its id. A vertex with an edge to another kept an id that is not less than the other's, so the largest id received
/// decides.
struct Find : Common {
  using Shared = chatty::VertexId;
  using Message = chatty::VertexId;  ///< an id plus 1, because 0 is the identity of kMax
  static constexpr auto kReduction = chatty::Reduction::kMax;
  static constexpr auto kSafety = chatty::Safety::kMonotone;
  static constexpr auto kEdges = chatty::Edges::kIn;

  CHATTY_FN State InitVertex(chatty::Vertex x, const State& before) const {
    State v = before;
    if (v.least == x.id) v.component = x.id;
    return v;
  }
  CHATTY_FN bool IsActive(const State& v) const { return v.component == v.least; }
  CHATTY_FN Shared Share(const State& v, chatty::Vertex) const { return v.least + 1; }
  CHATTY_FN Message ComputeScatter(const Shared& found, chatty::Edge<>) const { return found; }
  CHATTY_FN bool Filter(const State& v, Message found) const { return v.Undecided() && found > v.least; }
  CHATTY_FN bool UpdateStatus(State& v, Message found, chatty::Vertex) const {
    if (!Filter(v, found)) return false;
    v.component = v.least;
    return true;
  }
};

}  // namespace scc

/// Strongly connected components: sets of vertices with paths between all of them, labelled by the least id. Forward and
/// backward searches from many vertices at once, distinguished by ids (Orzan, thesis, Amsterdam 2004), after trimming
/// (McLendon et al., JPDC 65, 2005).
///
/// Demonstrates a sequence program of five turns, two of which are one template for either direction.
struct Scc {
  using Output = chatty::VertexId;
  using Programs = chatty::SequencePrograms<scc::First, scc::Trim<false>, scc::Spread, scc::Find, scc::Trim<true>>;
  static constexpr chatty::Info kInfo{
      .summary = "strongly connected components, labelled by least id",
      .output_name = "component",
      .output_is_vertex = true,
  };

  template <class Steps>
  void Run(Steps& steps) const {
    std::uint64_t left = steps.Then(scc::First{}).Then(scc::Trim<false>{}).Round(scc::Trim<false>{}).global;
    while (left > 0 && !steps.StopRequested()) {
      left = steps.Then(scc::Spread{}).Then(scc::Find{}).Round(scc::Find{}).global;
      if (left > 0) {
        left = steps.Then(scc::Trim<true>{}).Then(scc::Trim<false>{}).Round(scc::Trim<false>{}).global;
      }
    }
  }

  /// Compares with Tarjan's algorithm.
  chatty::Verdict Verify(const chatty::Graph& graph, std::span<const Output> components) const {
    return reference::Same("component", graph, components, reference::StrongComponents(graph));
  }
};
