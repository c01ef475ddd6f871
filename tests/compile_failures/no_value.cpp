// EXPECT: using Value = .*what a vertex keeps
#include <chatty/chatty.h>

struct Program {
  using Message = std::uint32_t;
  static constexpr auto kReduction = chatty::Reduction::kMin;
  static constexpr auto kSafety = chatty::Safety::kMonotone;

  chatty::VertexId source = 0;

  CHATTY_FN std::uint32_t InitVertex(chatty::Vertex v) const {
    return v.id == source ? 0 : chatty::kInfinity<std::uint32_t>;
  }
  CHATTY_FN Message ComputeScatter(const std::uint32_t& hops, chatty::Edge<>, const chatty::Round<>&) const {
    return hops + 1;
  }
  CHATTY_FN bool UpdateStatus(std::uint32_t& hops, Message m, chatty::Vertex, const chatty::Round<>&) const {
    if (m >= hops) return false;
    hops = m;
    return true;
  }
};

auto Run(const chatty::Graph& graph) { return chatty::Run(graph, Program{}, "host:2"); }
