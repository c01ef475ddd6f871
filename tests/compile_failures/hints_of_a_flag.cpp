// EXPECT: kHints is not a chatty::Hints: write
#include <chatty/chatty.h>

struct Program {
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = chatty::Reduction::kMin;
  static constexpr auto kSafety = chatty::Safety::kMonotone;
  static constexpr bool kHints = true;

  CHATTY_FN Value InitVertex(chatty::Vertex v) const { return v.id == 0 ? 0 : chatty::kInfinity<Value>; }
  CHATTY_FN Message ComputeScatter(const Value& hops, chatty::Edge<>) const { return hops + 1; }
  CHATTY_FN bool UpdateStatus(Value& hops, Message m, chatty::Vertex) const {
    if (m >= hops) return false;
    hops = m;
    return true;
  }
};

auto Run(const chatty::Graph& graph) { return chatty::Run(graph, Program{}, "host:2"); }
