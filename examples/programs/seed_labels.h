/// \file
/// Labels that spread from labelled vertices.
#pragma once

#include <chatty/chatty.h>

#include "../reference.h"

/// The label of each vertex, if some vertices have given labels (Zhu and Ghahramani, CMU-CALD-02-107, with votes in place of
/// probabilities). In each round a vertex takes the most frequent label among its labelled neighbours; on ties the least.
/// Seeds keep their labels. Vertices that no seed reaches have none.
///
/// Demonstrates vertex data of some vertices, and kCount, whose UpdateStatus receives all messages.
struct SeedLabels {
  struct Data {
    std::uint32_t seed = chatty::kInfinity<std::uint32_t>;  // none
  };
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = chatty::Reduction::kCount;
  static constexpr auto kSafety = chatty::Safety::kSynchronous;
  static constexpr auto kActivity = chatty::Activity::kEveryRound;
  static constexpr auto kEdges = chatty::Edges::kBoth;
  static constexpr chatty::Info kInfo{.summary = "labels that spread from seeds by majority", .output_name = "label"};
  static constexpr Value kNone = chatty::kInfinity<Value>;

  std::uint32_t rounds = 20;
  static constexpr auto kParameters =
      std::make_tuple(chatty::Parameter{"rounds", &SeedLabels::rounds, "most rounds to run"});
  static constexpr auto kVertexData =
      std::make_tuple(chatty::VertexDatum{"seed", &Data::seed, "labels that are known, below 4294967295",
                                          chatty::Presence::kRequired, chatty::Missing::kDefault});

  CHATTY_FN Value InitVertex(chatty::Vertex, const Data& data) const { return data.seed; }
  CHATTY_FN Message ComputeScatter(const Value& label, chatty::Edge<>) const { return label; }
  CHATTY_FN bool UpdateStatus(Value& label, chatty::Counts<Message> labels, chatty::Vertex, const Data& data) const {
    if (data.seed != kNone) return false;
    std::uint64_t most = 0;
    for (const auto run : labels) {
      if (run.value == kNone || run.count < most || (run.count == most && run.value > label)) continue;
      most = run.count;
      label = run.value;
    }
    return true;  // kEveryRound: only a change of the value counts
  }
  chatty::Next EndRound(chatty::Round<>& round) const {
    return round.active == 0 || round.index >= rounds ? chatty::Next::kStop : chatty::Next::kContinue;
  }

  chatty::Verdict Verify(const chatty::Graph& graph, std::span<const Value> labels, std::span<const Data> data) const {
    std::vector<Value> seeds;
    for (const Data& d : data) seeds.push_back(d.seed);
    return reference::Same("label", graph, labels, reference::SpreadLabels(graph, seeds, kNone, rounds));
  }
};
