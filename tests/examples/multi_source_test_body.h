/// \file
/// Breadth-first searches from several sources at once, against searches from one at a time.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../programs/test_graphs.h"
#include "chatty/core/hash.h"
#include "chatty/framework/vertex_data.h"
#include "chatty/programs/bc/sources.h"
#include "chatty/programs/reference.h"
#include "examples_fixture.h"

namespace chatty::test {
namespace {

/// What searches from `sources`, one after the other, find at each vertex.
struct FoundByOne {
  std::vector<std::uint32_t> visits, eccentricity;
  std::vector<std::uint64_t> farness;
  std::uint32_t depth = 0;  ///< the largest distance of all

  FoundByOne(const Graph& graph, const std::vector<VertexId>& sources)
      : visits(graph.vertices(), 0), eccentricity(graph.vertices(), 0), farness(graph.vertices(), 0) {
    for (const VertexId source : sources) {
      const Array<std::uint32_t> levels = SerialBfs(graph, source);
      for (VertexId v = 0; v < graph.vertices(); ++v) {
        if (levels[v] == kFar) continue;
        ++visits[v];
        farness[v] += levels[v];
        eccentricity[v] = std::max(eccentricity[v], levels[v]);
        depth = std::max(depth, levels[v]);
      }
    }
  }
};

/// The sources of multi_source_bfs, as it documents them.
std::vector<VertexId> PickedSources(const Graph& graph, VertexId source, std::uint32_t count, std::uint64_t seed) {
  std::vector<VertexId> sources{source};
  while (sources.size() < count) {
    sources.push_back(
        brandes::PickSource(seed, sources.size(), graph.vertices(), [&](VertexId v) { return graph.out_degree(v) > 0; }));
  }
  return sources;
}

void ExpectFound(Session& session, const FoundByOne& expected, const ParameterValues& parameters,
                 const RunOptions& options) {
  const Answer visits = RunIt({"multi_source_bfs", ""}, session, parameters, options);
  EXPECT_EQ(visits.As<std::uint32_t>(), expected.visits);
  EXPECT_TRUE(visits.statistics.converged);
  // A last round may find nothing. Vertices without out-edges may be reached last, so that it is left out.
  EXPECT_GE(visits.statistics.rounds, expected.depth);
  EXPECT_LE(visits.statistics.rounds, expected.depth + 1);
  const Answer farness = RunIt({"multi_source_bfs", "farness"}, session, parameters, options);
  EXPECT_EQ(farness.As<std::uint64_t>(), expected.farness);
  const Answer largest = RunIt({"multi_source_bfs", "eccentricity"}, session, parameters, options);
  EXPECT_EQ(largest.As<std::uint32_t>(), expected.eccentricity);
}

TEST_P(Examples, MultiSourceBfsByHand) {
  // 0 -> 1 -> 2 -> 3 and 4 -> 2; nothing leads to 0 and 4, and 5 is alone.
  const Graph graph = MakeGraph(6, {{0, 1}, {1, 2}, {2, 3}, {4, 2}});
  Session session = Divided(graph, "random");
  const ParameterValues one{{"source", "0"}, {"sources", "1"}};
  const RunOptions options = OptionsFor("multi_source_bfs");
  const auto searches = [&](const ParameterValues& parameters, const RunOptions& with) {
    return RunIt({"multi_source_bfs", ""}, session, parameters, with).As<std::uint32_t>();
  };
  EXPECT_EQ(searches(one, options), (std::vector<std::uint32_t>{1, 1, 1, 1, 0, 0}));
  RunOptions landmarks = options;
  Array<std::uint64_t> marks(6, std::uint64_t{0});
  marks[0] = marks[4] = marks[5] = 7;
  landmarks.vertex_data.emplace("landmark", VertexArray(VertexArray::Values(std::move(marks))));
  EXPECT_EQ(searches({}, landmarks), (std::vector<std::uint32_t>{1, 1, 2, 2, 1, 1}));
  EXPECT_EQ(RunIt({"multi_source_bfs", "farness"}, session, {}, landmarks).As<std::uint64_t>(),
            (std::vector<std::uint64_t>{0, 1, 3, 5, 0, 0}));
  EXPECT_EQ(RunIt({"multi_source_bfs", "eccentricity"}, session, {}, landmarks).As<std::uint32_t>(),
            (std::vector<std::uint32_t>{0, 1, 2, 3, 0, 0}));
  EXPECT_THROW(searches({{"sources", "2"}}, landmarks), UsageError) << "three landmarks";
  RunOptions nowhere = options;
  nowhere.vertex_data.emplace("landmark", VertexArray(VertexArray::Values(Array<std::uint64_t>(6, std::uint64_t{0}))));
  EXPECT_THROW(searches({}, nowhere), UsageError);
}

TEST_P(Examples, MultiSourceBfsIsOneSearchAfterAnother) {
  std::uint64_t seed = 0;
  for (const auto& [name, graph] : Graphs(std::get<1>(GetParam()) == Direction::kAuto)) {
    SCOPED_TRACE(name);
    Session session = Divided(graph, ++seed % 2 == 0 ? "edge-balanced" : "random");
    const auto source = static_cast<VertexId>(Hash(seed) % graph.vertices());
    for (const std::uint32_t count :
         {1u + static_cast<std::uint32_t>(seed) % 3, 63u + static_cast<std::uint32_t>(seed) % 2}) {
      SCOPED_TRACE(count);
      const ParameterValues parameters{
          {"source", std::to_string(source)}, {"sources", std::to_string(count)}, {"seed", std::to_string(seed)}};
      ExpectFound(session, FoundByOne(graph, PickedSources(graph, source, count, seed)), parameters,
                  OptionsFor("multi_source_bfs"));
    }
  }
}

TEST_P(Examples, MultiSourceBfsCountsASourceAsOftenAsItIsPicked) {
  const Graph graph = MakeGraph(3, {{0, 1}, {1, 2}});  // 64 searches from two vertices with out-edges
  const std::vector<VertexId> sources = PickedSources(graph, 0, 64, 1);
  const auto of_0 = static_cast<std::uint32_t>(std::count(sources.begin(), sources.end(), 0u));
  ASSERT_GT(of_0, 1u);
  ASSERT_LT(of_0, 63u);
  Session session = Divided(graph);
  const RunOptions options = OptionsFor("multi_source_bfs");
  EXPECT_EQ(RunIt({"multi_source_bfs", ""}, session, {}, options).As<std::uint32_t>(),
            (std::vector<std::uint32_t>{of_0, 64, 64}));
  EXPECT_EQ(RunIt({"multi_source_bfs", "farness"}, session, {}, options).As<std::uint64_t>(),
            (std::vector<std::uint64_t>{0, of_0, 64 + of_0}));
}

// Many levels of few vertices, which GPUs make in resident kernels: the distances are the numbers of the rounds.
TEST_P(Examples, MultiSourceBfsOfManyLevels) {
  const VertexId height = kKind == DeviceKind::kCuda ? 3000 : 150;
  for (const VertexId width : {1u, 3u}) {
    const Graph graph = GridGraph(width, height);
    Session session = Divided(graph, "contiguous");
    const RunOptions options = OptionsFor("multi_source_bfs");
    for (const std::uint32_t count : {width == 1 ? 1u : 64u}) {
      const ParameterValues parameters{{"sources", std::to_string(count)}};
      ExpectFound(session, FoundByOne(graph, PickedSources(graph, 0, count, 1)), parameters, options);
      const std::unique_ptr<RegisteredJob> job = Program("multi_source_bfs").Prepare(session, parameters, "", options);
      const std::uint32_t in_kernels = job->Execute().fused_steps;
      if (kKind == DeviceKind::kHost) {
        EXPECT_EQ(in_kernels, 0u);
      } else if (job->plan().programs.front().fused == FusedUse::kBetweenRounds) {
        EXPECT_GT(in_kernels, height / 2);
      } else {
        EXPECT_TRUE(session.device_count() > 1 || options.direction == Direction::kPull);
      }
    }
  }
}

TEST_P(Examples, MultiSourceBfsOfAnEmptyGraphIsRefusedForItsSource) {
  const Graph empty = MakeGraph(0, {});
  Session session = Divided(empty);
  EXPECT_THROW(RunIt({"multi_source_bfs", ""}, session), UsageError);
}

}  // namespace
}  // namespace chatty::test
