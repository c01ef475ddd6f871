// EXPECT: RoundMessage has to be .*, of a program with the hint any_message_suffices and messages of at most 8 bytes
#include <chatty/chatty.h>

// A filter of individual messages needs more than a bit.
struct Program {
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = chatty::Reduction::kMin;
  static constexpr auto kSafety = chatty::Safety::kMonotone;
  static constexpr chatty::Hints kHints{.any_message_suffices = true};

  CHATTY_FN Value InitVertex(chatty::Vertex v) const { return v.id; }
  CHATTY_FN Message ComputeScatter(const Value&, chatty::Edge<>, const chatty::Round<>& round) const {
    return RoundMessage(round);
  }
  CHATTY_FN Message RoundMessage(const chatty::Round<>& round) const { return round.index; }
  CHATTY_FN bool Filter(const Value& value, Message m) const { return m < value; }
  CHATTY_FN bool UpdateStatus(Value& value, Message m, chatty::Vertex, const chatty::Round<>&) const {
    if (m >= value) return false;
    value = m;
    return true;
  }
};

auto Run(const chatty::Graph& graph) { return chatty::Run(graph, Program{}, "host:2"); }
