/// \file
/// A maximal independent set.
#pragma once

#include <chatty/chatty.h>

#include "../reference.h"

/// A set of vertices without edges between them, to which no vertex can be added. Each vertex has a fixed pseudo-random
/// priority. A vertex with a higher priority than all undecided neighbours enters the set, and its neighbours are out (Luby,
/// SIAM J. Computing 15, 1986). With fixed priorities the set is that of a greedy pass in their order (Blelloch, Fineman and
/// Shun, SPAA'12): the same on any devices.
///
/// Demonstrates kEveryRound, for an update without messages, and a Share that differs from the Value.
struct Mis {
  enum State : std::uint32_t { kOut, kIn, kUndecided };
  using Value = std::uint32_t;    ///< a State
  using Shared = std::uint64_t;   ///< 0 if out, the maximum if in, otherwise the vertex's priority
  using Message = std::uint64_t;  ///< the highest priority among neighbours
  using Global = std::uint64_t;   ///< number of undecided vertices
  static constexpr auto kReduction = chatty::Reduction::kMax;
  static constexpr auto kSafety = chatty::Safety::kSynchronous;
  static constexpr auto kEdges = chatty::Edges::kBoth;
  static constexpr auto kActivity = chatty::Activity::kEveryRound;
  static constexpr chatty::Info kInfo{
      .summary = "a maximal independent set: 1 for members, 0 for others",
      .output_name = "member",
  };
  static constexpr Shared kTaken = chatty::kInfinity<Shared>;

  std::uint64_t seed = 1;
  static constexpr auto kParameters = std::make_tuple(chatty::Parameter{"seed", &Mis::seed, "seed of the priorities"});

  CHATTY_FN Value InitVertex(chatty::Vertex) const { return kUndecided; }
  CHATTY_FN Shared Share(const Value& state, chatty::Vertex v) const {
    return state == kOut ? 0 : state == kIn ? kTaken : chatty::Hash(v.id, seed);
  }
  CHATTY_FN Message ComputeScatter(const Shared& s, chatty::Edge<>) const { return s; }
  CHATTY_FN bool Filter(const Value& state) const { return state == kUndecided; }
  CHATTY_FN bool UpdateStatus(Value& state, Message highest, chatty::Vertex v) const {
    if (state != kUndecided) return false;
    const bool wins = highest <= chatty::Hash(v.id, seed);  // equality occurs only through a loop
    state = wins ? kIn : highest == kTaken ? kOut : kUndecided;
    return state != kUndecided;
  }
  CHATTY_FN Global Measure(const Value& state, chatty::Vertex) const { return state == kUndecided; }
  chatty::Next EndRound(chatty::Round<Global>& round) const {
    return round.global == 0 ? chatty::Next::kStop : chatty::Next::kContinue;
  }

  chatty::Verdict Verify(const chatty::Graph& graph, std::span<const Value> member) const {
    return reference::IndependentAndMaximal(graph, member);
  }
};
