// EXPECT: kSafety = kSynchronous: the program is right in rounds only
#include <chatty/chatty.h>
#include <chatty/framework/worklist/vertex_program.h>

struct Program {
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = chatty::Reduction::kSum;
  static constexpr auto kSafety = chatty::Safety::kSynchronous;

  CHATTY_FN Value InitVertex(chatty::Vertex) const { return 1; }
  CHATTY_FN Message ComputeScatter(const Value& paths, chatty::Edge<>) const { return paths; }
  CHATTY_FN bool UpdateStatus(Value& paths, Message m, chatty::Vertex) const {
    paths += m;
    return m != 0;
  }
};

auto Run(chatty::Session& session) { return chatty::VertexWorklist(session, Program{}).Run(); }
