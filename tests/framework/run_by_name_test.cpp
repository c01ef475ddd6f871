// Programs by name, with parameters by name.
#include "chatty/framework/run_by_name.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>

#include "../programs/test_graphs.h"
#include "../registered_programs.h"
#include "chatty/core/error.h"

namespace chatty::test {
namespace {

/// A grid whose ids count from 1, as files of DIMACS and Matrix Market have them.
Graph CountedFromOne() {
  Graph graph = GridGraph(7, 5, WeightKind::kInt32);
  graph.set_first_id(1);
  return graph;
}

void ExpectRight(const Graph& graph, std::string_view name, const NamedResult& result) {
  const RegisteredProgram& program = FindProgram(Programs(), name, DeviceKind::kHost);
  const Verdict verdict = program.Verify(graph, result.parameters, result.values, &result.statistics);
  EXPECT_TRUE(verdict.passed) << name << ": " << verdict.message;
}

/// Calls `what`, which must throw a UsageError that says `part`.
void ExpectUsageError(const std::function<void()>& what, const std::string& part) {
  try {
    what();
    ADD_FAILURE() << "not refused: " << part;
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(RunByName, TakesParametersByName) {
  const Graph graph = CountedFromOne();
  const NamedResult bfs = RunByName(Programs(), graph, "bfs", {{"source", "3"}}, "host:2");
  EXPECT_EQ(bfs.values.name, "level");
  EXPECT_EQ(bfs.values.As<std::uint32_t>()[2], 0u) << "3 is the id of the third vertex";
  EXPECT_EQ(bfs.parameters.at("source"), "2");
  ExpectRight(graph, "bfs", bfs);

  Session session(graph, "host:2");
  ExpectRight(graph, "sssp", RunByName(Programs(), session, "sssp", {{"source", "35"}}));
  const NamedResult ranks = RunByName(Programs(), session, "pr", {{"damping", "0.5"}, {"tolerance", "1e-5"}});
  EXPECT_EQ(ranks.parameters.at("damping"), "0.5");
  ExpectRight(graph, "pagerank", ranks);
  ExpectRight(graph, "cc", RunByName(Programs(), session, "wcc"));
}

TEST(RunByName, ChoosesASource) {
  const Graph graph = MakeGraph(5, {{2, 0, 1}, {2, 1, 1}, {2, 3, 1}, {3, 4, 1}});
  EXPECT_EQ(RunByName(Programs(), graph, "bfs").parameters.at("source"), "2") << "the vertex of maximum degree";
  const NamedResult first = RunByName(Programs(), graph, "bfs", {{"source", "random:7"}});
  const NamedResult again = RunByName(Programs(), graph, "bfs", {{"source", "random:7"}});
  EXPECT_EQ(first.parameters, again.parameters);
  EXPECT_GT(graph.out_degree(static_cast<VertexId>(std::stoul(first.parameters.at("source")))), 0u);
}

TEST(RunByName, ComputesAnotherValueWithOptions) {
  const Graph graph = CountedFromOne();
  RunOptions options;
  options.direction = Direction::kPush;
  const NamedResult parents = RunByName(Programs(), graph, "bfs", {{"source", "1"}}, "host", options, "parent");
  EXPECT_EQ(parents.values.name, "parent");
  EXPECT_TRUE(parents.values.is_vertex);
  ExpectRight(graph, "bfs", parents);
  EXPECT_EQ(parents.statistics.pull_rounds, 0u);
}

TEST(RunByName, RefusesWrongNamesWithTheNearest) {
  const Graph graph = CountedFromOne();
  Session session(graph, "host");
  const auto run = [&](const char* name, const ParameterValues& parameters, std::string_view value = {}) {
    return [&session, name, parameters, value] { RunByName(Programs(), session, name, parameters, {}, value); };
  };
  ExpectUsageError(run("bsf", {}), "there is no program 'bsf' (did you mean 'bfs'?)");
  ExpectUsageError(run("pagerank", {{"dumping", "0.5"}}), "has no parameter 'dumping' (did you mean 'damping'?)");
  ExpectUsageError(run("pagerank", {{"damping", "much"}}), "parameter damping: 'much' is not a number that fits");
  ExpectUsageError(run("pagerank", {{"damping", ""}}), "parameter 'damping' is set to nothing");
  ExpectUsageError(run("sssp", {{"source", "36"}}), "source 36: not a vertex; the graph's are 1 to 35");
  ExpectUsageError(run("sssp", {{"source", "middle"}}), "source 'middle': write a vertex id, random:SEED or max-degree");
  ExpectUsageError(run("bfs", {}, "levle"), "levle");
  ExpectUsageError([&] { RunByName(Programs(), graph, "bfs", {{"sorce", "1"}}, "host"); }, "(did you mean 'source'?)");
}

}  // namespace
}  // namespace chatty::test
