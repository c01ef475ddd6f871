// EXPECT: Value must be trivially copyable.*no std::vector
#include <chatty/chatty.h>

#include <vector>

struct Program {
  struct Value {
    std::uint32_t hops;
    std::vector<std::uint32_t> path;
  };
  using Message = std::uint32_t;
  static constexpr auto kReduction = chatty::Reduction::kMin;
  static constexpr auto kSafety = chatty::Safety::kMonotone;

  chatty::VertexId source = 0;

  CHATTY_FN Value InitVertex(chatty::Vertex v) const { return {v.id, {}}; }
  CHATTY_FN Message ComputeScatter(const Value& hops, chatty::Edge<>, const chatty::Round<>&) const { return hops.hops + 1; }
  CHATTY_FN bool UpdateStatus(Value& hops, Message m, chatty::Vertex, const chatty::Round<>&) const {
    if (m >= hops.hops) return false;
    hops.hops = m;
    return true;
  }
};

auto Run(const chatty::Graph& graph) { return chatty::Run(graph, Program{}, "host:2"); }
