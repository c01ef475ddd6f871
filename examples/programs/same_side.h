/// \file
/// Checks whether given sides of the vertices make a graph bipartite.
#pragma once

#include <chatty/chatty.h>

#include "../reference.h"

/// For each vertex, the number of edges, in either direction, to vertices of its own side: 0 at all vertices of a graph that
/// is bipartite between these sides. Vertices with the number 0 are on side 0, all others on side 1.
///
/// Demonstrates vertex data that is required of every vertex. A vertex gets only its own data, so data that neighbours need
/// becomes part of its Value.
struct SameSide {
  struct Data {
    std::int32_t side = 0;
  };
  struct Value {
    std::uint32_t side, same;
  };
  using Shared = std::uint32_t;
  using Message = std::uint64_t;  // number of neighbours on side 0, and from bit 32 on of those on side 1
  static constexpr auto kReduction = chatty::Reduction::kSum;
  static constexpr auto kSafety = chatty::Safety::kSynchronous;
  static constexpr auto kActivity = chatty::Activity::kEveryRound;
  static constexpr auto kEdges = chatty::Edges::kBoth;
  static constexpr chatty::Info kInfo{.summary = "edges that join a vertex with one of its own side", .output_name = "same"};

  static constexpr auto kVertexData = std::make_tuple(
      chatty::VertexDatum{"side", &Data::side, "0 on one side, another number on the other", chatty::Presence::kRequired});

  CHATTY_FN Value InitVertex(chatty::Vertex, const Data& data) const { return {data.side != 0, 0}; }
  CHATTY_FN Shared Share(const Value& value, chatty::Vertex) const { return value.side; }
  CHATTY_FN Message ComputeScatter(const Shared& side, chatty::Edge<>) const { return Message{1} << (32 * side); }
  CHATTY_FN bool UpdateStatus(Value& value, Message m, chatty::Vertex) const {
    value.same = static_cast<std::uint32_t>(m >> (32 * value.side));
    return true;
  }
  chatty::Next EndRound(chatty::Round<>&) const { return chatty::Next::kStop; }
  CHATTY_FN std::uint32_t Output(const Value& value) const { return value.same; }

  chatty::Verdict Verify(const chatty::Graph& graph, std::span<const std::uint32_t> same, std::span<const Data> data) const {
    std::vector<bool> sides;
    for (const Data& d : data) sides.push_back(d.side != 0);
    return reference::Same("count", graph, same, reference::NeighboursOfOwnSide(graph, sides));
  }
};
