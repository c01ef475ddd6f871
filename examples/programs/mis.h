/// \file
/// A maximal independent set.
#pragma once

#include <chatty/chatty.h>

#include "../reference.h"

/// Vertices no two of which are neighbours, and to which none can be added. Each vertex has a fixed pseudo-random
/// priority; one that beats all undecided neighbours enters, and its neighbours are out (Luby, SIAM J. Computing 15,
/// 1986). With fixed priorities the set is that of a greedy pass in their order (Blelloch, Fineman and Shun, SPAA'12):
/// the same on any devices.
///
/// What it shows: kEveryRound, for an update that must happen when no message comes, and a Share other than the Value.
struct Mis {
  enum State : std::uint32_t { kOut, kIn, kUndecided };
  using Value = std::uint32_t;    ///< a State
  using Shared = std::uint64_t;   ///< 0 from who is out, the most from who is in, else the vertex's priority
  using Message = std::uint64_t;  ///< the highest of the neighbours
  using Global = std::uint64_t;   ///< undecided vertices
  static constexpr auto kReduction = chatty::Reduction::kMax;
  static constexpr auto kSafety = chatty::Safety::kSynchronous;
  static constexpr auto kEdges = chatty::Edges::kBoth;
  static constexpr auto kActivity = chatty::Activity::kEveryRound;
  static constexpr const char* kOutputName = "member";
  static constexpr const char* kSummary = "a maximal independent set: 1 for members, 0 for others";
  static constexpr Shared kTaken = chatty::kInfinity<Shared>;

  std::uint64_t seed = 1;
  static constexpr auto kParameters = std::make_tuple(chatty::Parameter{"seed", &Mis::seed, "seed of the priorities"});

  CHATTY_FN Value InitVertex(chatty::Vertex) const { return kUndecided; }
  CHATTY_FN Shared Share(const Value& state, chatty::Vertex v) const {
    return state == kOut ? 0 : state == kIn ? kTaken : chatty::Hash(v.id, seed);
  }
  CHATTY_FN Message ComputeScatter(const Shared& s, chatty::Edge<>, const chatty::Round<Global>&) const { return s; }
  CHATTY_FN bool Wants(const Value& state) const { return state == kUndecided; }
  CHATTY_FN bool UpdateStatus(Value& state, Message highest, chatty::Vertex v, const chatty::Round<Global>&) const {
    if (state != kUndecided) return false;
    const bool wins = highest <= chatty::Hash(v.id, seed);  // equal along a loop, and nowhere else
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
