// EXPECT: kMin, kMax and kSum reduce messages that are numbers; for a struct use kCustom
#include <chatty/chatty.h>

struct Program {
  using Value = std::uint32_t;
  struct Message {
    float x, y;
  };
  static constexpr auto kReduction = chatty::Reduction::kSum;
  static constexpr auto kSafety = chatty::Safety::kSynchronous;

  chatty::VertexId source = 0;

  CHATTY_FN Value InitVertex(chatty::Vertex v) const { return v.id == source ? 0 : chatty::kInfinity<Value>; }
  CHATTY_FN Message ComputeScatter(const Value& hops, chatty::Edge<>, const chatty::Round<>&) const {
    return {1.0f * hops, 0};
  }
  CHATTY_FN bool UpdateStatus(Value& hops, Message m, chatty::Vertex, const chatty::Round<>&) const {
    if (m.x >= hops) return false;
    hops = m.x;
    return true;
  }
};

auto Run(const chatty::Graph& graph) { return chatty::Run(graph, Program{}, "host:2"); }
