// Graphs that tests of the framework run on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "../programs/test_graphs.h"
#include "chatty/core/device.h"
#include "chatty/core/graph.h"

namespace chatty::test {

struct NamedGraph {
  std::string name;
  Graph graph;
};

/// Random, with loops, parallel edges and isolated vertices, and with two hubs of more than 8192 edges each, one sending and
/// one receiving, so that rows are cut into slices. Weights as in RandomGraph.
inline Graph HubGraph(std::uint32_t seed, VertexId vertices, WeightKind kind, bool symmetric) {
  std::mt19937 random(seed);
  const auto connected = static_cast<std::uint64_t>(vertices) * 9 / 10;  // the last tenth stays isolated
  std::uniform_int_distribution<std::uint64_t> vertex(0, connected - 1);
  std::uniform_int_distribution<int> weight(0, 30);
  std::vector<TestEdge> edges;
  const auto add = [&](std::uint64_t u, std::uint64_t v) {
    edges.push_back({u, v, kind == WeightKind::kFloat32 ? weight(random) * 0.37 : weight(random)});
  };
  for (VertexId i = 0; i < 2 * vertices; ++i) add(vertex(random), vertex(random));
  for (int i = 0; i < 9000; ++i) add(3, vertex(random));
  for (int i = 0; i < 9500; ++i) add(vertex(random), connected - 2);
  return symmetric ? MakeSymmetric(vertices, edges, kind) : MakeGraph(vertices, edges, kind);
}

/// Sorry cases first, then random ones; directed and symmetric.
inline std::vector<NamedGraph> MixedGraphs(WeightKind kind) {
  std::vector<NamedGraph> graphs;
  graphs.push_back({"no vertices", MakeGraph(0, {}, kind)});
  graphs.push_back({"one vertex", MakeGraph(1, {}, kind)});
  graphs.push_back({"path", MakeSymmetric(5, {{0, 1, 2}, {1, 2, 1}, {2, 3, 5}, {3, 4, 1}}, kind)});
  graphs.push_back(
      {"directed cycle", MakeGraph(6, {{0, 1, 1}, {1, 2, 2}, {2, 3, 3}, {3, 4, 4}, {4, 5, 5}, {5, 0, 6}}, kind)});
  graphs.push_back(
      {"loops and parallel edges", MakeGraph(4, {{0, 0, 1}, {0, 1, 7}, {0, 1, 2}, {1, 2, 1}, {2, 2, 0}, {2, 0, 3}}, kind)});
  graphs.push_back({"random directed", RandomGraph(11, 700, 3.0, kind, false)});
  graphs.push_back({"random symmetric", RandomGraph(12, 600, 2.0, kind, true)});
  graphs.push_back({"hubs directed", HubGraph(13, 2500, kind, false)});
  return graphs;
}

/// Empty where `selection` can be opened here; otherwise why it cannot.
inline std::string WhyNot(const std::string& selection) {
  if (!selection.starts_with("cuda")) return "";
  int wanted = 1;
  for (const char c : selection) wanted += c == ',';
  const int present = CudaDeviceCount();
  return present >= wanted
             ? ""
             : selection + " needs " + std::to_string(wanted) + " GPUs; this machine has " + std::to_string(present);
}

/// Empty where SharedDevices can open `selection`; otherwise why it cannot.
inline std::string WhyNotShared(const std::string& selection) {
  return selection.starts_with("cuda") && CudaDeviceCount() == 0 ? "no GPU on this machine" : "";
}

/// The devices of a selection. Where there are fewer GPUs than it names, several devices share one: each has its own streams
/// and memory, and they talk as if they were apart.
inline std::vector<std::unique_ptr<Device>> SharedDevices(const std::string& selection, int threads = 0) {
  if (WhyNot(selection).empty()) return OpenDevices(ParseDevices(selection), threads);
  DeviceSelection shared{DeviceKind::kCuda, {}};
  const auto commas = static_cast<int>(std::count(selection.begin(), selection.end(), ','));
  for (int i = 0; i <= commas; ++i) shared.indices.push_back(i % CudaDeviceCount());
  return OpenDevices(shared, threads);
}

inline std::string SelectionName(std::string selection) {
  for (char& c : selection) {
    if (c == ':' || c == ',') c = '_';
  }
  return selection;
}

}  // namespace chatty::test
