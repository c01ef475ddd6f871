// EXPECT: Global is larger than 64 bytes
#include <chatty/chatty.h>

struct Program {
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  struct Global {
    double sums[9] = {};
  };
  static constexpr auto kReduction = chatty::Reduction::kMin;
  static constexpr auto kSafety = chatty::Safety::kMonotone;

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
  CHATTY_FN Global Measure(const Value& hops, chatty::Vertex) const { return {{1.0 * hops}}; }
  CHATTY_FN static Global Combine(const Global& a, const Global&) { return a; }
};

auto Run(const chatty::Graph& graph) { return chatty::Run(graph, Program{}, "host:2"); }
