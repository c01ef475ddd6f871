// How many rounds PageRank takes to an L1 change, by the two serial methods and by the program, as rows of a table:
//
//   pagerank_rounds TOLERANCE GRAPH...
//
// Counts, and no times: they are the same on every machine.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "chatty/core/array.h"
#include "chatty/framework/registry.h"
#include "chatty/framework/session.h"
#include "chatty/io/reader.h"
#include "chatty/programs/reference.h"

namespace chatty {
namespace {

constexpr double kDamping = 0.85f;

/// Without dangling rank; ranks are scaled to sum to 1 only when they are compared.
std::uint32_t RoundsScaledAtTheEnd(const Graph& graph, double tolerance) {
  const VertexId n = graph.vertices();
  Array<double> ranks(n, 1.0), next(n), shares(n);
  double sum = n;
  for (std::uint32_t round = 1;; ++round) {
    for (VertexId v = 0; v < n; ++v) {
      const EdgeIndex degree = graph.out_degree(v);
      shares[v] = degree == 0 ? 0.0 : kDamping * ranks[v] / static_cast<double>(degree);
    }
    double next_sum = 0, change = 0;
    for (VertexId v = 0; v < n; ++v) {
      next[v] = 1 - kDamping;
      for (const VertexId u : graph.in()[v]) next[v] += shares[u];
      next_sum += next[v];
    }
    for (VertexId v = 0; v < n; ++v) change += std::abs(next[v] / next_sum - ranks[v] / sum);
    std::swap(ranks, next);
    sum = next_sum;
    if (change < tolerance) return round;
  }
}

std::uint32_t RoundsOfTheProgram(const Registry& registry, const Graph& graph, std::string_view tolerance,
                                 const char* devices, Tiling tiling) {
  Session session(graph, devices);
  RunOptions options;
  options.tiling = tiling;
  const RegisteredProgram& program = registry.Find("pagerank", DeviceKind::kHost);
  return program.Prepare(session, {{"tolerance", std::string(tolerance)}}, "", options)->Execute().rounds;
}

int Main(int argc, char** argv) {
  const std::string_view text = argc > 2 ? argv[1] : "";
  double tolerance = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), tolerance).ec != std::errc() || !(tolerance > 0)) {
    fmt::print(stderr, "usage: pagerank_rounds TOLERANCE GRAPH...\n");
    return 2;
  }
  Registry registry;
  RegisterPrograms(registry);
  fmt::print(
      "| graph | dangling rank every round | scaled at the end | host:1 | host:1, Gauss-Seidel | host:2 "
      "|\n|---|---|---|---|---|---|\n");
  for (int i = 2; i < argc; ++i) {
    const Graph graph = ReadGraph(argv[i]);
    fmt::print("| {} | {} | {} | {} | {} | {} |\n", graph.name(), SerialPageRank(graph, kDamping, 10000, tolerance).rounds,
               RoundsScaledAtTheEnd(graph, tolerance), RoundsOfTheProgram(registry, graph, text, "host:1", Tiling::kNever),
               RoundsOfTheProgram(registry, graph, text, "host:1", Tiling::kAlways),
               RoundsOfTheProgram(registry, graph, text, "host:2", Tiling::kNever));
  }
  return 0;
}

}  // namespace
}  // namespace chatty

int main(int argc, char** argv) {
  try {
    return chatty::Main(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "pagerank_rounds: {}\n", error.what());
    return 1;
  }
}
