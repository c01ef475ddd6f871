// EXPECT: a Measure that takes the value before, too, measures updates: it is for kActivity = kEveryRound
#include <chatty/chatty.h>

struct Program {
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  using Global = std::uint64_t;
  static constexpr auto kReduction = chatty::Reduction::kMin;
  static constexpr auto kSafety = chatty::Safety::kSynchronous;

  chatty::VertexId source = 0;

  CHATTY_FN Value InitVertex(chatty::Vertex v) const { return v.id == source ? 0 : chatty::kInfinity<Value>; }
  CHATTY_FN Message ComputeScatter(const Value& hops, chatty::Edge<>, const chatty::Round<Global>&) const {
    return hops + 1;
  }
  CHATTY_FN bool UpdateStatus(Value& hops, Message m, chatty::Vertex, const chatty::Round<Global>&) const {
    if (m >= hops) return false;
    hops = m;
    return true;
  }
  CHATTY_FN Global Measure(const Value& before, const Value& hops, chatty::Vertex) const { return before - hops; }
};

auto Run(const chatty::Graph& graph) { return chatty::Run(graph, Program{}, "host:2"); }
