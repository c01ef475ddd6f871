// What each of the others would be without its mistake: this compiles.
#include <chatty/chatty.h>

struct Program {
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = chatty::Reduction::kMin;
  static constexpr auto kSafety = chatty::Safety::kMonotone;

  chatty::VertexId source = 0;

  CHATTY_FN Value InitVertex(chatty::Vertex v) const { return v.id == source ? 0 : chatty::kInfinity<Value>; }
  CHATTY_FN Message ComputeScatter(const Value& hops, chatty::Edge<>, const chatty::Round<>&) const { return hops + 1; }
  CHATTY_FN bool UpdateStatus(Value& hops, Message m, chatty::Vertex, const chatty::Round<>&) const {
    if (m >= hops) return false;
    hops = m;
    return true;
  }
};

static_assert(chatty::VertexProgram<Program> && chatty::Traits<Program>::kCanPush);
static_assert(chatty::CheckAsynchronous<Program>());

auto Run(const chatty::Graph& graph) { return chatty::Run(graph, Program{}, "host:2"); }

// As wide as may be: 8 bytes are pushed, 16 pulled, and only in rounds.
template <class T, chatty::Safety kOrder>
struct Pair {
  struct Message {
    T first, second;
  };
  using Value = T;
  static constexpr auto kReduction = chatty::Reduction::kCustom;
  static constexpr Message kIdentity{0, 0};
  static constexpr auto kSafety = kOrder;
  T least = 1;  // before kParameters, which names it
  static constexpr auto kParameters = std::make_tuple(chatty::Parameter{"least", &Pair::least, "the least first"});

  CHATTY_FN Value InitVertex(chatty::Vertex v) const { return static_cast<T>(v.out_degree); }
  CHATTY_FN Message ComputeScatter(const Value& value, chatty::Edge<>, const chatty::Round<>&) const {
    return {value, least};
  }
  CHATTY_FN Message ComputeReduce(Message a, Message b) const { return a.first < b.first ? b : a; }
  CHATTY_FN bool UpdateStatus(Value& value, Message m, chatty::Vertex, const chatty::Round<>&) const {
    if (m.first <= value) return false;
    value = m.first;
    return true;
  }
};
using Narrow = Pair<std::uint32_t, chatty::Safety::kMonotone>;
using Wide = Pair<std::uint64_t, chatty::Safety::kSynchronous>;

static_assert(chatty::CheckProgram<Narrow>() && chatty::Traits<Narrow>::kCanPush && chatty::AsynchronousProgram<Narrow>);
static_assert(chatty::CheckProgram<Wide>() && !chatty::Traits<Wide>::kCanPush && !chatty::AsynchronousProgram<Wide>);

// Members may be templates, and a program may be final and have a type called Output.
struct Generic final {
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  using Output = float;
  static constexpr auto kReduction = chatty::Reduction::kMin;
  static constexpr auto kSafety = chatty::Safety::kMonotone;
  CHATTY_FN Value InitVertex(auto v) const { return static_cast<Value>(v.id); }
  CHATTY_FN Message ComputeScatter(const Value& value, auto, const auto&) const { return value; }
  CHATTY_FN bool UpdateStatus(auto& value, Message m, chatty::Vertex, const chatty::Round<>&) const {
    if (m >= value) return false;
    value = m;
    return true;
  }
};
static_assert(chatty::CheckProgram<Generic>());

// With data of each vertex, which any of three members may take, and an overload without.
struct Seeded {
  struct Data {
    float seed = 0;
    std::int64_t label = -1;
  };
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = chatty::Reduction::kMin;
  static constexpr auto kSafety = chatty::Safety::kMonotone;
  static constexpr auto kVertexData = std::make_tuple(
      chatty::VertexDatum{"seed", &Data::seed, "a number", chatty::Presence::kRequired},
      chatty::VertexDatum{"label", &Data::label, "a label", chatty::Presence::kOptional, chatty::Missing::kDefault});
  CHATTY_FN Value InitVertex(chatty::Vertex v) const { return static_cast<Value>(v.id); }
  CHATTY_FN Message ComputeScatter(const Value& value, chatty::Edge<>, const chatty::Round<>&) const { return value; }
  CHATTY_FN bool IsActive(const Value&, const chatty::Round<>&, const Data& data) const { return data.seed > 0; }
  CHATTY_FN bool UpdateStatus(Value& value, Message m, chatty::Vertex, const chatty::Round<>&, const Data& data) const {
    if (m >= value || data.label < 0) return false;
    value = m;
    return true;
  }
};
static_assert(chatty::CheckProgram<Seeded>() && chatty::CheckAsynchronous<Seeded>() && chatty::kUpdateTakesData<Seeded>);
static_assert(chatty::Traits<Seeded>::kIsActiveTakesData && !chatty::Traits<Seeded>::kInitTakesData);

// Without the round, in every function that may take it.
struct WithoutRound : Seeded {
  static constexpr chatty::Hints kHints{.any_message_suffices = true};
  CHATTY_FN Message ComputeScatter(const Value& value, chatty::Edge<>) const { return value; }
  CHATTY_FN Message RoundMessage() const { return 0; }
  CHATTY_FN bool IsActive(const Value&, const Data& data) const { return data.seed > 0; }
  CHATTY_FN bool UpdateStatus(Value& value, Message m, chatty::Vertex, const Data& data) const {
    if (m >= value || data.label < 0) return false;
    value = m;
    return true;
  }
};
static_assert(chatty::CheckProgram<WithoutRound>() && chatty::CheckAsynchronous<WithoutRound>());
static_assert(chatty::kUpdateTakesData<WithoutRound> && chatty::Traits<WithoutRound>::kIsActiveTakesData);
static_assert(chatty::Traits<WithoutRound>::kHasRoundMessage && !chatty::Traits<WithoutRound>::kScatterTakesRound);

auto RunWithoutRound(const chatty::Graph& graph, const chatty::RunOptions& options) {
  return chatty::Run(graph, WithoutRound{}, "host:2", options);
}

auto RunSeeded(const chatty::Graph& graph, const std::vector<float>& seeds) {
  chatty::RunOptions options;
  options.vertex_data.emplace("seed", chatty::VertexArray(seeds));
  return chatty::Run(graph, Seeded{}, "host:2", options);
}

// What is no vertex program at all is not one, rather than an error.
static_assert(!chatty::VertexProgram<int> && !chatty::VertexProgram<std::string> && !chatty::AsynchronousProgram<int>);
struct Final final {
  using Value = int;
};
static_assert(!chatty::VertexProgram<Final>);
