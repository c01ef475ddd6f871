// EXPECT: the hint stationary is for kCount with kActivity = kEveryRound
#include <chatty/chatty.h>

struct Program {
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = chatty::Reduction::kCount;
  static constexpr chatty::Hints kHints{.stationary = true};
  static constexpr auto kSafety = chatty::Safety::kSynchronous;

  CHATTY_FN Value InitVertex(chatty::Vertex v) const { return static_cast<Value>(v.id); }
  CHATTY_FN Message ComputeScatter(const Value& value, chatty::Edge<>, const chatty::Round<>&) const { return value; }
  CHATTY_FN bool UpdateStatus(Value& value, chatty::Counts<Message> all, chatty::Vertex, const chatty::Round<>&) const {
    value = static_cast<Value>(all.size());
    return false;
  }
};

auto Run(const chatty::Graph& graph) { return chatty::Run(graph, Program{}, "host:2"); }
