// A vertex program of the consumer's own: how many edges each vertex is away from the nearest multiple of `every`.
#pragma once

#include <chatty/chatty.h>

#include <cstdint>
#include <span>
#include <tuple>

namespace consumer {

struct Nearest {
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = chatty::Reduction::kMin;
  static constexpr auto kSafety = chatty::Safety::kMonotone;
  static constexpr chatty::Info kInfo{
      .summary = "edges to the nearest multiple of a number",
      .output_name = "hops",
  };

  std::uint32_t every = 10;
  static constexpr auto kParameters = std::make_tuple(chatty::Parameter{"every", &Nearest::every, "a hydrant each so many"});

  CHATTY_FN Value InitVertex(chatty::Vertex v) const { return v.id % every == 0 ? 0 : chatty::kInfinity<Value>; }
  CHATTY_FN bool IsActive(const Value& hops) const { return hops != chatty::kInfinity<Value>; }
  CHATTY_FN Message ComputeScatter(const Value& hops, chatty::Edge<>) const { return hops + 1; }
  CHATTY_FN bool UpdateStatus(Value& hops, Message m, chatty::Vertex) const {
    if (m >= hops) return false;
    hops = m;
    return true;
  }

  chatty::Verdict Verify(const chatty::Graph& graph, std::span<const Value> hops, const chatty::RunStatistics&) const {
    std::uint64_t sum = 0;
    for (chatty::VertexId v = 0; v < graph.vertices(); ++v) {
      Value best = v % every == 0 ? 0 : chatty::kInfinity<Value>;
      for (const chatty::VertexId u : graph.in()[v]) {
        if (hops[u] != chatty::kInfinity<Value> && hops[u] + 1 < best) best = hops[u] + 1;
      }
      if (hops[v] != best) return chatty::Failed("vertex {} says {}, and its neighbours {}", v, hops[v], best);
      if (best != chatty::kInfinity<Value>) sum += best;
    }
    return chatty::Passed("nearest: {} hops in all", sum);
  }
};

}  // namespace consumer
