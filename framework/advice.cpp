#include "chatty/framework/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "chatty/core/bitmap.h"
#include "chatty/core/bytes.h"
#include "chatty/core/hash.h"
#include "chatty/framework/state.h"

namespace chatty {
namespace {

// Estimates for H200s with NVLink: fixed cost of a round of `bsp`, additional cost of an exchange, and edges per
// microsecond.
constexpr double kRoundUs = 20, kExchangeUs = 30, kEdgesAUs = 8000;
// Estimates for host devices: cost of a level's exchange, where two threads wake each other, and edges per microsecond. On
// two devices with a core each, run times of the same search vary by a factor of almost three, probably with the core on
// which a thread wakes. This was not traced.
constexpr double kHostExchangeUs = 20, kHostEdgesAUs = 200;
// A level of rounds with buckets costs ten times an exchange: rounds follow up to ten times as many edges as devices that
// relax edges together by priority. A message between such devices costs so much more than its bytes in a buffer of a round.
constexpr double kHostBucketsUs = 10 * kHostExchangeUs, kHostMessageUs = 0.05;
// Exchanges that cost so much more than the edges of one round decide where `async` repeats much work: of two devices that
// carry ids along, and of residuals, which take some 75 rounds and are sent in smaller parts.
constexpr double kCarriedTwice = 100, kAccumulatedRounds = 75;
constexpr double kHostSlower = 0.1;                   // share of the run time that exchanges may take without advice
constexpr double kDeepLevels = 32;                    // fewer cost little in any engine
constexpr EdgeIndex kDeepEdges = EdgeIndex{1} << 15;  // likewise, of smaller graphs
constexpr EdgeIndex kWideEdges = EdgeIndex{1} << 20;  // messages of smaller graphs take little time either way
// Edges at which following values once pays in spite of the kernel's fixed cost, about half a millisecond on an H200; not
// with hubs, whose rows a warp walks.
constexpr EdgeIndex kManyCarried = EdgeIndex{1} << 24;
constexpr double kExponential = 6;  // a dimension above that of spatial graphs

}  // namespace

Expansion EstimateExpansion(const Graph& graph, std::size_t budget) {
  VertexId start = 0;
  for (VertexId v = 1; v < graph.vertices(); ++v) {
    if (graph.out_degree(v) > graph.out_degree(start)) start = v;
  }
  return EstimateExpansionFrom(graph, start, budget);
}

Expansion EstimateExpansionFrom(const Graph& graph, VertexId start, std::size_t budget) {
  Expansion expansion;
  if (graph.vertices() == 0) return expansion;
  std::vector<std::uint32_t> seen(bits::Words(graph.vertices()), 0);
  const auto visit = [&](VertexId v) {
    const std::uint32_t bit = 1u << (v & 31);
    if ((seen[v / 32] & bit) != 0) return false;
    seen[v / 32] |= bit;
    return true;
  };
  std::vector<VertexId> frontier{start}, next;
  visit(start);
  std::vector<std::size_t> edges_after;  // number of edges after each level
  while (!frontier.empty() && expansion.looked_at < budget) {
    next.clear();
    for (const VertexId v : frontier) {
      for (const VertexId w : graph.out()[v]) {
        if (visit(w)) next.push_back(w);
      }
      expansion.looked_at += graph.out_degree(v);
      if (expansion.looked_at >= 2 * budget) break;
    }
    edges_after.push_back(expansion.looked_at);
    frontier.swap(next);
  }
  expansion.levels = static_cast<double>(edges_after.size());
  const auto all = static_cast<double>(graph.edges()), seen_edges = static_cast<double>(expansion.looked_at);
  if (frontier.empty() || seen_edges >= all) return expansion;
  // The level at which half of the edges had been visited determines the dimension: twice the edges take 2^(1/dimension)
  // times the levels.
  const auto half =
      std::upper_bound(edges_after.begin(), edges_after.end(), expansion.looked_at / 2) - edges_after.begin() + 1;
  const double ratio = expansion.levels / static_cast<double>(half);
  const double dimension = ratio > 1 ? std::log(2.0) / std::log(ratio) : kExponential;
  if (dimension >= kExponential || expansion.levels < 8) {
    expansion.levels += std::log2(all / seen_edges) + 2;
  } else {
    expansion.levels *= std::pow(all / seen_edges, 1 / dimension);
  }
  return expansion;
}

double LevelsIfMany(const Graph& graph) {
  constexpr std::size_t kBudget = std::size_t{1} << 15;
  constexpr VertexId kStarts = 3;
  if (graph.edges() < kDeepEdges) return 0;
  double levels = 0;
  for (VertexId i = 0; i < kStarts; ++i) {  // the start may lie in a small component
    const VertexId start = graph.vertices() / kStarts * i + graph.vertices() / (2 * kStarts);
    levels = std::max(levels, EstimateExpansionFrom(graph, start, kBudget).levels);
  }
  return levels >= kDeepLevels ? levels : 0;
}

double EstimateCutEdges(const Graph& graph, const Partition& partition) {
  constexpr std::uint64_t kSampled = 4096;
  constexpr std::size_t kBudget = std::size_t{1} << 17;
  if (graph.vertices() == 0) return 0;
  std::size_t edges = 0, cut = 0;
  for (std::uint64_t i = 0; i < kSampled && edges < kBudget; ++i) {
    const auto v = static_cast<VertexId>(Hash(i) % graph.vertices());  // equal distances may be those of a grid's columns
    const PartId owner = partition.Owner(v);
    for (const VertexId w : graph.out()[v]) cut += partition.Owner(w) != owner ? 1 : 0;
    edges += graph.out_degree(v);
  }
  constexpr std::size_t kFew = 64;  // say nothing of the others
  if (edges < kFew) return static_cast<double>(graph.edges());
  return static_cast<double>(graph.edges()) * static_cast<double>(cut) / static_cast<double>(edges);
}

EngineAdvice AdviseEngine(const Graph& graph, const Partition& partition, const EngineTask& task) {
  if (graph.edges() < kDeepEdges) return {false, "the graph is small"};
  const double levels = LevelsIfMany(graph);
  if (levels == 0) return {false, "the graph has few levels"};
  const std::string many = fmt::format("the graph has about {:.0f} levels", levels);
  if (task.kind == DeviceKind::kCuda) {
    if (levels * (kRoundUs + kExchangeUs) <= static_cast<double>(graph.edges()) / kEdgesAUs)
      return {false, many + ", whose exchanges cost less than the edges"};
  } else {
    const double exchanges_us = levels * (task.buckets ? kHostBucketsUs : kHostExchangeUs);
    const double round_us = static_cast<double>(graph.edges()) / kHostEdgesAUs;
    if (task.accumulates && exchanges_us <= kAccumulatedRounds * round_us)
      return {false, many + ", but residuals that go in smaller parts cost more than exchanges"};
    if (task.carries && task.devices == 2 && exchanges_us <= kCarriedTwice * round_us)
      return {false, many + ", but values that are carried further than in rounds cost more than exchanges"};
    // What differs is compared: rounds pay for exchanges, devices at their own pace for messages.
    const double cut = EstimateCutEdges(graph, partition);
    if (exchanges_us <= cut * kHostMessageUs)
      return {false, fmt::format("{}, but about {:.0f} edges between devices, whose messages go in buffers", many, cut)};
  }
  return {true, many + ", each of which would cost an exchange"};
}

bool HasWideFrontiers(const Graph& graph) {
  constexpr std::size_t kBudget = std::size_t{1} << 15;
  constexpr std::uint64_t kSampled = 64;
  if (graph.edges() < kWideEdges) return false;
  VertexId start = 0;
  for (std::uint64_t i = 0; i < kSampled; ++i) {
    const auto v = static_cast<VertexId>(i * graph.vertices() / kSampled);
    if (graph.out_degree(v) > graph.out_degree(start)) start = v;  // the others may lie in small components
  }
  const Expansion expansion = EstimateExpansionFrom(graph, start, kBudget);
  return expansion.looked_at >= kBudget && expansion.levels < kDeepLevels;
}

DeviceAdvice AdviseDevices(const Graph& graph, std::size_t devices) {
  if (devices < 2) return {devices, "there is no other"};
  const double levels = EstimateExpansion(graph).levels;
  const double work_us = static_cast<double>(graph.edges()) / kEdgesAUs;
  const double saved_us = work_us * (1 - 1 / static_cast<double>(devices)), added_us = levels * kExchangeUs;
  if (added_us <= saved_us)
    return {devices, fmt::format("about {:.0f} levels of {:.0f} us of work each", levels, work_us / std::max(1.0, levels))};
  return {1, levels * kRoundUs > work_us
                 ? fmt::format("about {:.0f} levels, each of which would cost an exchange", levels)
                 : std::string("its edges are done sooner than the devices have agreed on anything")};
}

DeviceAdvice ChooseDevices(const Graph& graph, const DeviceChoice& choice) {
  if (choice.devices < 2) return {choice.devices, "there is no other"};
  if (!choice.traverses) return {choice.devices, "the program reads many edges in every round"};
  DeviceAdvice advice = AdviseDevices(graph, choice.devices);
  if (advice.devices == choice.devices || choice.free_on_one == 0 || choice.needed_on_one <= choice.free_on_one)
    return advice;
  return {choice.devices, fmt::format("one device needs up to {}, free is {}", FormatBytes(choice.needed_on_one),
                                      FormatBytes(choice.free_on_one))};
}

DeviceAdvice AdviseHostDevices(const Graph& graph, std::size_t devices) {
  if (devices < 2) return {devices, "there is no other"};
  const double levels = EstimateExpansion(graph).levels;
  const double work_us = static_cast<double>(graph.edges()) / kHostEdgesAUs;
  if (levels * kHostExchangeUs <= kHostSlower * work_us) return {devices, "its levels are few for so many edges"};
  return {1, fmt::format("about {:.0f} levels, each of which costs an exchange, and host devices share the cores", levels)};
}

std::string AdviseCarrying(const Graph& graph) {
  if (const double levels = LevelsIfMany(graph); levels > 0) {
    return fmt::format("rounds would follow improving values through about {:.0f} levels", levels);
  }
  const bool has_hubs = graph.edges() > 0 && graph.out_degree(graph.max_degree_vertex()) >= kHubDegree;
  return !has_hubs && graph.edges() >= kManyCarried ? "rounds would follow improving values along many edges" : "";
}

}  // namespace chatty
