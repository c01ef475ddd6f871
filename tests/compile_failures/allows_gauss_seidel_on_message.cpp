// EXPECT: AllowsGaussSeidel has to be `bool AllowsGaussSeidel\(\) const`, of a program with kActivity = kEveryRound
#include <chatty/chatty.h>

struct Program {
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = chatty::Reduction::kMin;
  static constexpr auto kSafety = chatty::Safety::kMonotone;

  CHATTY_FN bool AllowsGaussSeidel() const { return true; }
  CHATTY_FN Value InitVertex(chatty::Vertex v) const { return static_cast<Value>(v.id); }
  CHATTY_FN Message ComputeScatter(const Value& value, chatty::Edge<>, const chatty::Round<>&) const { return value; }
  CHATTY_FN bool UpdateStatus(Value& value, Message m, chatty::Vertex, const chatty::Round<>&) const {
    if (m >= value) return false;
    value = m;
    return true;
  }
};

auto Run(const chatty::Graph& graph) { return chatty::Run(graph, Program{}, "host:2"); }
