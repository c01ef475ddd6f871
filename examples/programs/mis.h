/// \file
/// A maximal independent set.
#pragma once

#include <chatty/chatty.h>

#include <cstdint>
#include <span>
#include <tuple>

/// Vertices no two of which are neighbours, and to which none can be added. Each vertex has a fixed pseudo-random
/// priority; one that beats all undecided neighbours enters, and its neighbours are out (Luby, SIAM J. Computing 15,
/// 1986). With fixed priorities the answer is the one that a greedy pass in order of priority gives (Blelloch, Fineman
/// and Shun, SPAA'12): the same on any number of devices.
///
/// What it shows: kEveryRound, for an update that must happen when no message comes, and a Share that says less than
/// the Value and more than it, too.
struct Mis {
  enum State : std::uint32_t { kOut, kIn, kUndecided };
  using Value = std::uint32_t;   ///< a State
  using Shared = std::uint64_t;  ///< 0: out; kTaken: in; else undecided, with this priority
  using Message = std::uint64_t;
  struct Global {
    std::uint64_t undecided = 0;
    CHATTY_FN friend Global operator+(const Global& a, const Global& b) { return {a.undecided + b.undecided}; }
  };
  static constexpr auto kReduction = chatty::Reduction::kMax;
  static constexpr auto kSafety = chatty::Safety::kSynchronous;
  static constexpr auto kEdges = chatty::Edges::kBoth;
  static constexpr auto kActivity = chatty::Activity::kEveryRound;
  static constexpr const char* kOutputName = "member";
  static constexpr const char* kSummary = "a maximal independent set: 1 for members, 0 for others";
  static constexpr Shared kTaken = ~Shared{0};

  std::uint64_t seed = 1;
  static constexpr auto kParameters = std::make_tuple(chatty::Parameter{"seed", &Mis::seed, "seed of the priorities"});

  /// splitmix64 on 63 bits: a bijection, so that no two vertices have one priority, and none has that of kTaken.
  CHATTY_FN std::uint64_t Hash(chatty::VertexId v) const {
    constexpr std::uint64_t kMask = ~std::uint64_t{0} >> 1;
    std::uint64_t x = (v + seed * 0x9e3779b97f4a7c15ull) & kMask;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull & kMask;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull & kMask;
    return x ^ (x >> 31);
  }

  CHATTY_FN Value InitVertex(chatty::Vertex) const { return kUndecided; }
  CHATTY_FN Shared Share(const Value& state, chatty::Vertex v) const {
    return state == kUndecided ? Hash(v.id) : state == kIn ? kTaken : 0;
  }
  CHATTY_FN Message ComputeScatter(const Shared& shared, chatty::Edge<>, const chatty::Round<Global>&) const {
    return shared;  // along a loop its own priority comes back, which does not beat it
  }
  CHATTY_FN bool Wants(const Value& state) const { return state == kUndecided; }
  CHATTY_FN bool UpdateStatus(Value& state, Message highest, chatty::Vertex v, const chatty::Round<Global>&) const {
    if (state != kUndecided) return false;
    if (highest == kTaken) {
      state = kOut;
    } else if (highest <= Hash(v.id)) {
      state = kIn;
    }
    return state != kUndecided;
  }
  CHATTY_FN Global Measure(const Value& state, chatty::Vertex) const { return {state == kUndecided ? 1u : 0u}; }
  chatty::Next EndRound(chatty::Round<Global>& round) const {
    return round.global.undecided == 0 ? chatty::Next::kStop : chatty::Next::kContinue;
  }

  chatty::Verdict Verify(const chatty::Graph& graph, std::span<const std::uint32_t> member,
                         const chatty::RunStatistics&) const {
    std::uint64_t members = 0;
    for (chatty::VertexId v = 0; v < graph.vertices(); ++v) {
      members += member[v];
      bool covered = member[v] == 1;
      for (const auto* adjacency : {&graph.out(), &graph.in()}) {
        for (const chatty::VertexId u : (*adjacency)[v]) {
          if (u == v || member[u] != 1) continue;
          if (member[v] == 1) return chatty::Failed("vertices {} and {} are neighbours, and both in the set", v, u);
          covered = true;
        }
      }
      if (!covered) return chatty::Failed("vertex {} could be added: none of its neighbours is in the set", v);
    }
    return chatty::Passed("independent and maximal: {} of {} vertices", members, graph.vertices());
  }
};
