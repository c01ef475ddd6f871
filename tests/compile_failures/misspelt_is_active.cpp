// EXPECT: the program has a member that is nearly called IsActive and that is never used
#include <chatty/chatty.h>

struct Program {
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = chatty::Reduction::kMin;
  static constexpr auto kSafety = chatty::Safety::kMonotone;

  chatty::VertexId source = 0;

  CHATTY_FN Value InitVertex(chatty::Vertex v) const { return v.id == source ? 0 : chatty::kInfinity<Value>; }
  CHATTY_FN Message ComputeScatter(const Value& hops, chatty::Edge<>, const chatty::Round<>&) const { return hops + 1; }
  CHATTY_FN bool UpdateStatus(Value& hops, Message m, chatty::Vertex, const chatty::Round<>&) const {
    if (m >= hops) return false;
    hops = m;
    return true;
  }
  CHATTY_FN bool Isactive(const Value& hops, const chatty::Round<>&) const { return hops == 0; }
};

auto Run(const chatty::Graph& graph) { return chatty::Run(graph, Program{}, "host:2"); }
