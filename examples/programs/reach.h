/// \file
/// Reachability from up to 64 sources in one run.
#pragma once

#include <chatty/chatty.h>

#include "../reference.h"

/// Bit i of a vertex's result: there is a path from source i, which is vertex first + i * stride. 64 searches cost little
/// more than one (the idea of Then et al., "The more the merrier", VLDB'14).
///
/// Demonstrates kOr, and a message of 8 bytes, the widest with atomic updates.
struct Reach {
  using Value = std::uint64_t;
  using Message = std::uint64_t;
  static constexpr auto kReduction = chatty::Reduction::kOr;
  static constexpr auto kSafety = chatty::Safety::kMonotone;
  static constexpr chatty::Info kInfo{
      .summary = "which of up to 64 sources have a path to a vertex, a bit each",
      .output_name = "sources",
      .output_may_be_unreached = false,  // 64 sources may all reach a vertex
  };

  chatty::VertexId first = 0, stride = 1;
  std::uint32_t count = 64;
  static constexpr auto kParameters = std::make_tuple(
      chatty::Parameter{"first", &Reach::first, "the first source, counted from 0"},
      chatty::Parameter{"stride", &Reach::stride, "distance from one source to the next, at least 1"},
      chatty::Parameter{"count", &Reach::count, "sources, 1 to 64; those past the last vertex are left out"});

  CHATTY_FN Value InitVertex(chatty::Vertex v) const {
    if (v.id < first || (v.id - first) % stride != 0 || (v.id - first) / stride >= count) return 0;
    return Value{1} << ((v.id - first) / stride);
  }
  CHATTY_FN bool IsActive(const Value& seen) const { return seen != 0; }
  CHATTY_FN Message ComputeScatter(const Value& seen, chatty::Edge<>) const { return seen; }
  CHATTY_FN bool Filter(const Value& seen, Message m) const { return (m & ~seen) != 0; }
  CHATTY_FN bool UpdateStatus(Value& seen, Message m, chatty::Vertex) const {
    const Value before = seen;
    seen |= m;
    return seen != before;
  }

  void CheckInput(const chatty::Graph& graph) const {
    if (stride >= 1 && count >= 1 && count <= 64 && (first < graph.vertices() || graph.vertices() == 0)) return;
    chatty::Throw<chatty::UsageError>(
        "first={} stride={} count={}: first must be below {}, stride at least 1, count 1 to 64", first, stride, count,
        graph.vertices());
  }
  chatty::Verdict Verify(const chatty::Graph& graph, std::span<const Value> seen) const {
    return reference::Same("set of sources", graph, seen, reference::Reached(graph, first, stride, count));
  }
};
