// EXPECT: kReduction = kCollect is gone: write kCount, and chatty::Counts<Message>
#include <chatty/chatty.h>

struct Program {
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = chatty::Reduction::kCollect;
  static constexpr auto kSafety = chatty::Safety::kSynchronous;

  CHATTY_FN Value InitVertex(chatty::Vertex v) const { return v.id == 0 ? 0 : chatty::kInfinity<Value>; }
  CHATTY_FN Message ComputeScatter(const Value& hops, chatty::Edge<>) const { return hops + 1; }
  CHATTY_FN bool UpdateStatus(Value& hops, chatty::Counts<Message> all, chatty::Vertex) const {
    return all.size() > 1 && hops++ == 0;
  }
};

auto Run(const chatty::Graph& graph) { return chatty::Run(graph, Program{}, "host:2"); }
