// PageRank's rounds: so many of the definition, or few to a tolerance; and what precision they end at.
#include "chatty/programs/pagerank.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "../registered_programs.h"
#include "chatty/core/device.h"
#include "chatty/framework/session.h"
#include "chatty/io/generators.h"
#include "chatty/programs/reference.h"
#include "chatty/programs/verify.h"

namespace chatty::test {
namespace {

constexpr double kDamping = 0.85f;  // as the program has it, in fp64

/// 0 -> 1 -> 2, 3 -> 2, 4 -> 1: vertex 2 is dangling.
Graph OneDangling() {
  Adjacency rows;
  rows.offsets = {0, 1, 2, 2, 3, 4};
  rows.neighbours = {1, 2, 2, 1};
  return Graph(std::move(rows), /*symmetric=*/false);
}

Graph Made(const std::string& family, int scale, std::uint64_t edges, bool directed = false) {
  GeneratorSpec spec;
  spec.family = family;
  spec.scale = scale;
  spec.count = std::uint64_t{1} << scale;
  spec.width = spec.height = std::uint64_t{1} << (scale / 2);
  spec.edge_factor = spec.edges_per_vertex = edges;
  spec.directed = directed;
  return Generate(spec);
}

std::vector<std::pair<std::string, Graph>> Families() {
  std::vector<std::pair<std::string, Graph>> graphs;
  graphs.emplace_back("directed kron", Made("kron", 13, 16, true));
  graphs.emplace_back("directed uniform of 2", Made("uniform", 13, 2, true));
  graphs.emplace_back("directed uniform of 8", Made("uniform", 13, 8, true));
  graphs.emplace_back("citations", Made("citations", 13, 8));
  graphs.emplace_back("web", Made("web", 13, 8));
  graphs.emplace_back("kron", Made("kron", 12, 16));
  graphs.emplace_back("grid", Made("grid", 12, 1));
  return graphs;
}

/// Rounds of r = 1 - damping + damping * (what follows edges), scaled to sum to 1 only when ranks are compared.
std::uint32_t RoundsScaledAtTheEnd(const Graph& graph, double tolerance) {
  const VertexId n = graph.vertices();
  std::vector<double> ranks(n, 1.0), next(n);
  double sum = n;
  for (std::uint32_t round = 1;; ++round) {
    double next_sum = 0, change = 0;
    for (VertexId v = 0; v < n; ++v) {
      next[v] = 1 - kDamping;
      for (const VertexId u : graph.in()[v]) next[v] += kDamping * ranks[u] / static_cast<double>(graph.out_degree(u));
      next_sum += next[v];
    }
    for (VertexId v = 0; v < n; ++v) change += std::abs(next[v] / next_sum - ranks[v] / sum);
    ranks.swap(next);
    sum = next_sum;
    if (change < tolerance) return round;
  }
}

struct Outcome {
  RunStatistics statistics;
  ErasedValues values;
};
Outcome RunIt(const Graph& graph, const std::string& devices, const ParameterValues& parameters,
              Tiling tiling = Tiling::kNever, const std::string& name = "pagerank") {
  Session session(graph, devices);
  RunOptions options;
  options.tiling = tiling;
  const auto job = Programs().Find(name, DeviceKind::kHost).Prepare(session, parameters, "", options);
  Outcome outcome;
  outcome.statistics = job->Execute();
  outcome.values = job->Output();
  const Verdict verdict =
      Programs().Find(name, DeviceKind::kHost).Verify(graph, parameters, outcome.values, &outcome.statistics);
  EXPECT_TRUE(verdict) << verdict.message;
  return outcome;
}

class PageRankRounds : public testing::TestWithParam<const char*> {};

TEST_P(PageRankRounds, SoManyRoundsAreThoseOfTheDefinition) {
  auto graphs = Families();
  graphs.emplace_back("one dangling", OneDangling());
  for (const auto& [name, graph] : graphs) {
    for (const std::uint32_t rounds : {1u, 2u, 7u}) {
      const Array<double> expected = SerialPageRank(graph, kDamping, rounds).ranks;
      for (const Tiling tiling : {Tiling::kNever, Tiling::kAlways}) {
        SCOPED_TRACE(fmt::format("{}, {} rounds, tiling {}", name, rounds, static_cast<int>(tiling)));
        const Outcome run = RunIt(graph, GetParam(), {{"rounds", fmt::format("{}", rounds)}}, tiling);
        EXPECT_EQ(run.statistics.rounds, rounds);
        EXPECT_EQ(run.statistics.gauss_seidel_rounds, 0u);
        EXPECT_EQ(run.statistics.ended, Ended::kConverged) << "that was what was asked for";
        for (VertexId v = 0; v < graph.vertices(); ++v) {
          ASSERT_NEAR(run.values.As<float>()[v], expected[v], 2e-6 * expected[v]) << "vertex " << v;
        }
      }
    }
  }
}

TEST_P(PageRankRounds, OneRoundByHand) {
  const float expected[] = {0.064f, 0.404f, 0.404f, 0.064f, 0.064f};
  const Outcome run = RunIt(OneDangling(), GetParam(), {{"rounds", "1"}});
  for (VertexId v = 0; v < 5; ++v) EXPECT_NEAR(run.values.As<float>()[v], expected[v], 1e-7) << v;
}

TEST_P(PageRankRounds, WithATolerancePlacesABound) {
  const Graph graph = Made("kron", 12, 16, true);
  const PageRankResult settled = SerialPageRank(graph, kDamping, 100, 1e-4);
  ASSERT_LT(settled.rounds, 20u);
  const Outcome early = RunIt(graph, GetParam(), {{"rounds", "100"}, {"tolerance", "1e-4"}});
  EXPECT_EQ(early.statistics.rounds, settled.rounds);
  EXPECT_EQ(early.statistics.ended, Ended::kConverged);
  const Outcome late = RunIt(graph, GetParam(), {{"rounds", "3"}, {"tolerance", "1e-4"}});
  EXPECT_EQ(late.statistics.rounds, 3u);
  EXPECT_EQ(late.statistics.ended, Ended::kLimit);
}

TEST_P(PageRankRounds, ToAToleranceAreAsFewAsTheBetterMethodTakes) {
  for (const auto& [name, graph] : Families()) {
    for (const double tolerance : {1e-4, 1e-6}) {
      const std::uint32_t every_round = SerialPageRank(graph, kDamping, 1000, tolerance).rounds;
      const std::uint32_t at_end = RoundsScaledAtTheEnd(graph, tolerance);
      const double most = 1.1 * std::min(every_round, at_end);
      for (const Tiling tiling : {Tiling::kNever, Tiling::kAlways}) {
        SCOPED_TRACE(fmt::format("{} to {}, tiling {}: {} and {} rounds", name, tolerance, static_cast<int>(tiling),
                                 every_round, at_end));
        const Outcome run = RunIt(graph, GetParam(), {{"tolerance", fmt::format("{}", tolerance)}}, tiling);
        EXPECT_EQ(run.statistics.ended, Ended::kConverged);
        EXPECT_LE(run.statistics.rounds, most);
        const Verdict verdict = VerifyPageRank<float>(graph, run.values.As<float>(), kDamping, std::max(tolerance, 2e-6));
        EXPECT_TRUE(verdict) << verdict.message;
      }
    }
  }
}

TEST_P(PageRankRounds, FloatEndsAtItsPrecisionAndDoubleGoesOn) {
  const Graph graph = Made("citations", 13, 8);
  const ParameterValues parameters{{"tolerance", "1e-12"}};
  const Outcome single = RunIt(graph, GetParam(), parameters);
  EXPECT_EQ(single.statistics.ended, Ended::kLimit);
  EXPECT_FALSE(single.statistics.converged);
  EXPECT_LT(single.statistics.rounds, 100u);
  EXPECT_NE(Programs().Find("pagerank", DeviceKind::kHost).LimitReason(parameters).find("--precision double"),
            std::string::npos);
  const Outcome wide = RunIt(graph, GetParam(), parameters, Tiling::kNever, "pagerank_double");
  EXPECT_EQ(wide.statistics.ended, Ended::kConverged);
  const Array<double> expected = SerialPageRank(graph, kDamping, 1000, 1e-15).ranks;
  double off = 0, off_single = 0;
  for (VertexId v = 0; v < graph.vertices(); ++v) {
    off += std::abs(wide.values.As<double>()[v] - expected[v]);
    off_single += std::abs(single.values.As<float>()[v] - expected[v]);
  }
  EXPECT_LT(off, 1e-11);
  EXPECT_GT(off_single, 1e-11) << "or else double is not needed";
  const Outcome counted = RunIt(graph, GetParam(), {{"rounds", "9"}}, Tiling::kNever, "pagerank_double");
  const Array<double> nine = SerialPageRank(graph, kDamping, 9).ranks;
  for (VertexId v = 0; v < graph.vertices(); ++v) ASSERT_NEAR(counted.values.As<double>()[v], nine[v], 1e-12 * nine[v]);
}

INSTANTIATE_TEST_SUITE_P(Hosts, PageRankRounds, testing::Values("host:1", "host:2", "host:3"),
                         [](const auto& info) { return "host_" + std::string(info.param).substr(5); });

}  // namespace
}  // namespace chatty::test
