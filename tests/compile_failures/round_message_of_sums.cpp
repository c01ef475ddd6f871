// EXPECT: RoundMessage has to be .*, of a program with the hint any_message_suffices and messages of at most 8 bytes
#include <chatty/chatty.h>

// Of its messages a vertex needs them all, and a bit would stand for one.
struct Program {
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = chatty::Reduction::kSum;
  static constexpr auto kSafety = chatty::Safety::kSynchronous;

  CHATTY_FN Value InitVertex(chatty::Vertex v) const { return v.id; }
  CHATTY_FN Message ComputeScatter(const Value&, chatty::Edge<>, const chatty::Round<>& round) const {
    return RoundMessage(round);
  }
  CHATTY_FN Message RoundMessage(const chatty::Round<>& round) const { return round.index; }
  CHATTY_FN bool UpdateStatus(Value& value, Message m, chatty::Vertex, const chatty::Round<>&) const {
    value += m;
    return m < 3;
  }
};

auto Run(const chatty::Graph& graph) { return chatty::Run(graph, Program{}, "host:2"); }
