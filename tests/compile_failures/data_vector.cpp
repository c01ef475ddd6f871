// EXPECT: Data must be trivially copyable
#include <chatty/chatty.h>

struct Program {
  struct Data {
    std::vector<float> seeds;
    float seed = 0;
  };
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = chatty::Reduction::kMin;
  static constexpr auto kSafety = chatty::Safety::kMonotone;
  static constexpr auto kVertexData = std::make_tuple(chatty::VertexDatum{"seed", &Data::seed, "a number"});

  CHATTY_FN Value InitVertex(chatty::Vertex v, const Data& data) const { return v.id + data.seeds.size(); }
  CHATTY_FN Message ComputeScatter(const Value& hops, chatty::Edge<>, const chatty::Round<>&) const { return hops + 1; }
  CHATTY_FN bool UpdateStatus(Value& hops, Message m, chatty::Vertex, const chatty::Round<>&) const {
    if (m >= hops) return false;
    hops = m;
    return true;
  }
};

auto Run(const chatty::Graph& graph) { return chatty::Run(graph, Program{}, "host:2"); }
