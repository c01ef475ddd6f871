// EXPECT: a vertex program has a public .bool UpdateStatus
#include <chatty/chatty.h>
#include <chatty/framework/register.h>

struct Program {
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = chatty::Reduction::kMin;
  static constexpr auto kSafety = chatty::Safety::kMonotone;

  chatty::VertexId source = 0;

  CHATTY_FN Value InitVertex(chatty::Vertex v) const { return v.id == source ? 0 : chatty::kInfinity<Value>; }
  CHATTY_FN Message ComputeScatter(const Value& hops, chatty::Edge<>, const chatty::Round<>&) const { return hops + 1; }
};

CHATTY_REGISTER_HOST(program, Program)  // what chatty_add_program() generates
