/// Programs that are active every round need not say in UpdateStatus whether a value changed: halos are renewed all the
/// same.
#include <gtest/gtest.h>

#include "chatty/framework/run.h"
#include "chatty/io/generators.h"

namespace chatty {
namespace {

/// Each round a vertex takes the sum of its neighbours' values, modulo a prime, and claims never to have changed.
template <bool kReturned>
struct NeighbourSum {
  using Value = std::uint32_t;
  using Message = std::uint64_t;
  static constexpr auto kReduction = Reduction::kSum;
  static constexpr auto kSafety = Safety::kSynchronous;
  static constexpr auto kActivity = Activity::kEveryRound;
  std::uint32_t rounds = 5;

  CHATTY_FN Value InitVertex(Vertex v) const { return static_cast<Value>(v.id + 1); }
  CHATTY_FN Message ComputeScatter(const Value& value, Edge<>, const Round<>&) const { return value; }
  CHATTY_FN bool UpdateStatus(Value& value, Message m, Vertex, const Round<>&) const {
    value = static_cast<Value>(m % 1000003);
    return kReturned;
  }
  Next EndRound(Round<>& round) const { return round.index >= rounds ? Next::kStop : Next::kContinue; }
};

Array<std::uint32_t> Serial(const Graph& graph, std::uint32_t rounds) {
  Array<std::uint32_t> values(graph.vertices());
  for (VertexId v = 0; v < graph.vertices(); ++v) values[v] = static_cast<std::uint32_t>(v + 1);
  for (std::uint32_t r = 0; r < rounds; ++r) {
    Array<std::uint32_t> next(graph.vertices());
    for (VertexId v = 0; v < graph.vertices(); ++v) {
      std::uint64_t sum = 0;
      for (const VertexId u : graph.in()[v]) sum += values[u];
      next[v] = static_cast<std::uint32_t>(sum % 1000003);
    }
    values = std::move(next);
  }
  return values;
}

class EveryRound : public testing::TestWithParam<const char*> {};

TEST_P(EveryRound, WhatUpdateStatusReturnsDoesNotMatter) {
  GeneratorSpec spec;
  spec.family = "kron";
  spec.scale = 9;
  spec.edge_factor = 6;
  const Graph graph = Generate(spec);
  const Array<std::uint32_t> expected = Serial(graph, 5);
  for (const Direction direction : {Direction::kAuto, Direction::kPush, Direction::kPull}) {
    RunOptions options;
    options.direction = direction;
    Session session(graph, GetParam());
    const auto silent = chatty::Run(session, NeighbourSum<false>{}, options);
    const auto loud = chatty::Run(session, NeighbourSum<true>{}, options);
    for (VertexId v = 0; v < graph.vertices(); ++v) {
      ASSERT_EQ(silent.values[v], expected[v]) << "vertex " << v;
      ASSERT_EQ(loud.values[v], expected[v]) << "vertex " << v;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, EveryRound, testing::Values("host:1", "host:2", "host:3", "host:8"));

}  // namespace
}  // namespace chatty
