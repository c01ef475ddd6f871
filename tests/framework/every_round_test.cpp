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

void ExpectTheSameByTiles(const Graph& graph, const char* devices) {
  const Array<std::uint32_t> expected = Serial(graph, 5);
  for (const Tiling tiling : {Tiling::kNever, Tiling::kAlways}) {
    RunOptions options;
    options.tiling = tiling;
    Session session(graph, devices);
    const auto run = chatty::Run(session, NeighbourSum<false>{}, options);
    EXPECT_EQ(run.statistics.edges_touched, 5 * graph.edges());
    for (VertexId v = 0; v < graph.vertices(); ++v) ASSERT_EQ(run.values[v], expected[v]) << "vertex " << v;
  }
}

TEST_P(EveryRound, TilesHoldEveryEdgeOnce) {
  GeneratorSpec spec;
  spec.family = "kron";
  spec.scale = 17;  // several tiles either way, and rows with runs in several
  spec.edge_factor = 4;
  ExpectTheSameByTiles(Generate(spec), GetParam());
}

TEST_P(EveryRound, TilesOfADirectedGraphWithMoreParallelEdgesThanARunHolds) {
  // 0 -> 1 so often that its run is cut, 1 -> 2 as often as makes the shortest run, 2 -> 0 once less.
  const std::size_t times[] = {70000, 8, 7};
  Adjacency rows;
  rows.offsets = Array<EdgeIndex>(4, 0);
  std::vector<VertexId> targets;
  for (VertexId v = 0; v < 3; ++v) {
    targets.insert(targets.end(), times[v], (v + 1) % 3);
    rows.offsets[v + 1] = targets.size();
  }
  rows.neighbours = Array<VertexId>(std::span<const VertexId>(targets));
  ExpectTheSameByTiles(Graph(std::move(rows), /*symmetric=*/false), "host:1");
}

INSTANTIATE_TEST_SUITE_P(Devices, EveryRound, testing::Values("host:1", "host:2", "host:3", "host:8"));

}  // namespace
}  // namespace chatty
