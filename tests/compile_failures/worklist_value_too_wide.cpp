// EXPECT: a worklist changes a vertex's value in one atomic operation.*: Value has 4 or 8
#include <chatty/chatty.h>
#include <chatty/framework/worklist/vertex_program.h>

struct Program {
  struct Value {
    std::uint64_t hops, sender;
  };
  using Message = std::uint32_t;
  static constexpr auto kReduction = chatty::Reduction::kMin;
  static constexpr auto kSafety = chatty::Safety::kMonotone;

  chatty::VertexId source = 0;

  CHATTY_FN Value InitVertex(chatty::Vertex v) const {
    return {v.id == source ? 0 : chatty::kInfinity<std::uint64_t>, v.id};
  }
  CHATTY_FN Message ComputeScatter(const Value& v, chatty::Edge<>) const { return static_cast<Message>(v.hops + 1); }
  CHATTY_FN bool UpdateStatus(Value& v, Message m, chatty::Vertex) const {
    if (m >= v.hops) return false;
    v.hops = m;
    return true;
  }
};

auto Run(chatty::Session& session) { return chatty::VertexWorklist(session, Program{}).Run(); }
