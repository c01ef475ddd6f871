/// \file
/// The examples by their registered names, their serial references, and graphs to run them on. What devices these are, the
/// file that includes a body says.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../programs/test_graphs.h"
#include "../registered_programs.h"
#include "chatty/core/hash.h"
#include "chatty/framework/registry.h"

namespace chatty::test {

/// Defined by the including file.
std::vector<int> DeviceCounts();
std::vector<std::unique_ptr<Device>> MakeDevices(int count);
extern const DeviceKind kKind;

namespace {

const RegisteredProgram& Program(const std::string& name) { return Programs().Find(name, kKind); }

/// A name with one of its values; the default's is not named.
struct Case {
  std::string program, value;
};
const std::vector<Case>& AllPrograms() {
  static const std::vector<Case> all{{"kcore", ""},
                                     {"cdlp", ""},
                                     {"lcc", ""},
                                     {"triangles", ""},
                                     {"bc", ""},
                                     {"widest_path", ""},
                                     {"reach", ""},
                                     {"multi_source_bfs", ""},
                                     {"multi_source_bfs", "farness"},
                                     {"multi_source_bfs", "eccentricity"},
                                     {"personalised_push", ""},
                                     {"mis", ""},
                                     {"hits", ""},
                                     {"hits", "hub"},
                                     {"scc", ""},
                                     {"betweenness", ""},
                                     {"betweenness", "dependency"}};
  return all;
}

/// Communities by LDBC's definition (Graphalytics, CDLP), word by word: in each round every vertex counts the labels of its
/// in- and out-neighbours in a map and takes the most frequent, the least of equals.
std::vector<VertexId> Communities(const Graph& graph, std::uint32_t rounds) {
  std::vector<VertexId> labels(graph.vertices()), next;
  std::iota(labels.begin(), labels.end(), VertexId{0});
  for (std::uint32_t round = 0; round < rounds; ++round) {
    next = labels;
    for (VertexId v = 0; v < graph.vertices(); ++v) {
      std::map<VertexId, std::uint64_t> count;
      for (const VertexId u : graph.out()[v]) ++count[labels[u]];
      if (!graph.symmetric()) {
        for (const VertexId u : graph.in()[v]) ++count[labels[u]];
      }
      std::uint64_t most = 0;
      for (const auto& [label, times] : count) {
        if (times > most) most = times, next[v] = label;
      }
    }
    labels.swap(next);
  }
  return labels;
}

/// Clustering by LDBC's definition (Graphalytics, LCC), word by word: of all ordered pairs of neighbours, those that are an
/// edge.
std::vector<double> Clustering(const Graph& graph) {
  std::vector<double> coefficients;
  const auto edges_between = [&](VertexId u, VertexId w) {
    const auto row = graph.out()[u];
    return static_cast<double>(std::count(row.begin(), row.end(), w));
  };
  for (VertexId v = 0; v < graph.vertices(); ++v) {
    std::set<VertexId> near(graph.out()[v].begin(), graph.out()[v].end());
    near.insert(graph.in()[v].begin(), graph.in()[v].end());
    near.erase(v);
    double pairs = 0, edges = 0;
    for (const VertexId u : near) {
      for (const VertexId w : near) {
        if (u == w) continue;
        pairs += 1;
        edges += edges_between(u, w);
      }
    }
    coefficients.push_back(pairs == 0 ? 0 : edges / pairs);
  }
  return coefficients;
}

/// Triangles by all sets of three vertices.
std::vector<std::uint64_t> TrianglesOf(const Graph& graph) {
  const VertexId n = graph.vertices();
  std::vector<char> tied(std::size_t{n} * n, 0);
  for (VertexId v = 0; v < n; ++v) {
    for (const VertexId u : graph.out()[v]) tied[std::size_t{v} * n + u] = tied[std::size_t{u} * n + v] = 1;
  }
  std::vector<std::uint64_t> triangles(n, 0);
  for (VertexId u = 0; u < n; ++u) {
    for (VertexId v = 0; v < u; ++v) {
      if (!tied[std::size_t{u} * n + v]) continue;
      for (VertexId w = 0; w < v; ++w) {
        if (tied[std::size_t{u} * n + w] && tied[std::size_t{v} * n + w]) ++triangles[u], ++triangles[v], ++triangles[w];
      }
    }
  }
  return triangles;
}

struct Answer {
  ErasedValues values;
  RunStatistics statistics;

  template <class T>
  std::vector<T> As() const {
    return {values.As<T>().begin(), values.As<T>().end()};
  }
};

Answer RunIt(const Case& what, Session& session, const ParameterValues& parameters = {}, const RunOptions& options = {}) {
  const std::unique_ptr<RegisteredJob> job = Program(what.program).Prepare(session, parameters, what.value, options);
  Answer answer;
  answer.statistics = job->Execute();
  answer.values = job->Output();
  return answer;
}

/// Parameters that make a run on `graph` worth while, by `seed`.
ParameterValues ParametersFor(const std::string& program, const Graph& graph, VertexId seed) {
  const VertexId some = graph.vertices() == 0 ? 0 : static_cast<VertexId>(Hash(seed) % graph.vertices());
  const auto text = [](std::uint64_t number) { return std::to_string(number); };
  if (program == "cdlp") return {{"rounds", text(1 + seed % 10)}};
  if (program == "mis") return {{"seed", text(seed)}};
  if (program == "reach") {
    return {{"first", text(some / 2)}, {"stride", text(1 + graph.vertices() / 50)}, {"count", seed % 2 == 0 ? "64" : "5"}};
  }
  if (program == "bc") return {{"source", text(some)}, {"sources", text(1 + seed % 3)}, {"seed", text(seed)}};
  if (program == "multi_source_bfs") {
    return {{"source", text(some)}, {"sources", seed % 2 == 0 ? "64" : "5"}, {"seed", text(seed)}};
  }
  if (program == "hits") return {{"tolerance", "0.0001"}};
  if (program == "scc" || program == "kcore" || program == "lcc" || program == "triangles") return {};
  return {{"source", text(some)}};
}

/// Small ones of every shape, two components, a hub, a path, and two large enough that every thread and warp has work.
std::vector<std::pair<std::string, Graph>> Graphs(bool all) {
  constexpr WeightKind kWeights = WeightKind::kFloat32;
  std::vector<std::pair<std::string, Graph>> graphs;
  for (const RandomCase& c : RandomCases()) {
    if (!all && c.vertices < 40) continue;  // too small to differ
    graphs.emplace_back("random graph " + std::to_string(c.seed), c.Make(kWeights));
  }
  graphs.emplace_back("directed", RandomGraph(101, 1200, 4.0, kWeights, false));
  graphs.emplace_back("symmetric", RandomGraph(102, 1200, 3.0, kWeights, true));
  std::vector<TestEdge> star, path, apart;
  for (std::uint64_t v = 1; v < 9000; ++v) star.push_back({0, v, static_cast<double>(v % 17)});
  for (std::uint64_t v = 1; v < 60; ++v) path.push_back({v - 1, v, static_cast<double>(60 - v)});
  for (std::uint64_t e = 0; e < 300; ++e) {  // five components, of which one has no edges
    const std::uint64_t u = Hash(2 * e) % 80, v = Hash(2 * e + 1) % 80;
    if (u % 5 != 4) apart.push_back({u, v / 5 * 5 + u % 5, static_cast<double>(1 + e % 9)});
  }
  if (all) graphs.emplace_back("hub", MakeSymmetric(9000, star, kWeights));
  graphs.emplace_back("path", MakeGraph(60, path, kWeights));
  graphs.emplace_back("components", MakeGraph(80, apart, kWeights));
  graphs.emplace_back("symmetric components", MakeSymmetric(80, apart, kWeights));
  return graphs;
}

/// By number of devices and direction of travel.
class Examples : public testing::TestWithParam<std::tuple<int, Direction>> {
 protected:
  Session Divided(const Graph& graph, const char* partition = "edge-balanced") const {
    SessionOptions options;
    options.partition = partition;
    return Session(graph, MakeDevices(std::get<0>(GetParam())), options);
  }
  /// CDLP sees all messages at once, and so only pulls.
  RunOptions OptionsFor(const std::string& program) const {
    RunOptions options;
    if (program != "cdlp" || std::get<1>(GetParam()) != Direction::kPush) options.direction = std::get<1>(GetParam());
    return options;
  }
};

}  // namespace
}  // namespace chatty::test
