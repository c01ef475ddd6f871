// The resident loop on every kind of device, with the prebuilt programs that it takes, against serial references. Includers
// instantiate ResidentTest over devices: `device` is "host" or "cuda", `threads` a host team's size.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "chatty/framework/resident/run.h"
#include "chatty/io/generators.h"
#include "chatty/partition/partition.h"
#include "chatty/programs/bfs.h"
#include "chatty/programs/label_propagation.h"
#include "chatty/programs/reference.h"
#include "chatty/programs/sssp.h"
#include "test_inputs.h"

namespace chatty::test {

struct ResidentCase {
  const char* name;
  DeviceKind kind;
  int threads;
  resident::Extent extent;
};

class ResidentTest : public testing::TestWithParam<ResidentCase> {
 protected:
  void SetUp() override {
    if (GetParam().kind == DeviceKind::kCuda) {
      if (CudaDeviceCount() == 0) GTEST_SKIP() << "no GPU on this machine";
      device_ = MakeCudaDevice(0);
    } else {
      device_ = MakeHostDevice(0, GetParam().threads);
    }
  }

  /// A graph on the device, whole, for one kind of edges and weights.
  struct Placed {
    Placed(Device& device, const Graph& graph, Edges edges, WeightKind weights)
        : partition(Partition::FromBounds({0, graph.vertices()}, "whole")) {
      SubgraphOptions options;
      options.edges = edges;
      options.weights = weights;
      subgraphs = BuildSubgraphs(graph, partition, options);
      on_device = std::make_unique<DeviceGraph>(device, subgraphs[0]);
    }
    Partition partition;
    std::vector<Subgraph> subgraphs;
    std::unique_ptr<DeviceGraph> on_device;
  };

  template <class P, class T>
  void Is(const Placed& placed, const P& program, const Array<T>& expected, const char* what) {
    const auto result = resident::Run(*placed.on_device, program, GetParam().extent);
    ASSERT_EQ(ToVector(result.values), ToVector(expected)) << what;
    EXPECT_EQ(result.outcome.push_rounds + result.outcome.pull_rounds, result.outcome.rounds) << what;
  }

  void Check(const Graph& graph, VertexId source) {
    {
      const Placed placed(*device_, graph, Edges::kOut, WeightKind::kNone);
      Bfs bfs;
      bfs.source = source;
      const Array<std::uint32_t> levels = SerialBfs(graph, source);
      std::uint32_t depth = 0;
      for (const std::uint32_t level : levels) depth = level == kInfinity<std::uint32_t> ? depth : std::max(depth, level);
      const auto result = resident::Run(*placed.on_device, bfs, GetParam().extent);
      ASSERT_EQ(ToVector(result.values), ToVector(levels)) << "bfs";
      EXPECT_EQ(result.outcome.rounds, depth + 1);
      EXPECT_EQ(result.outcome.push_rounds + result.outcome.pull_rounds, depth + 1);
    }
    if (graph.weight_kind() == WeightKind::kFloat32) {
      SsspOf<float> sssp;
      sssp.source = source;
      Is(Placed(*device_, graph, Edges::kOut, WeightKind::kFloat32), sssp, SerialSssp<float>(graph, source), "sssp, float");
    } else {
      SsspOf<std::int32_t> sssp;
      sssp.source = source;
      Is(Placed(*device_, graph, Edges::kOut, WeightKind::kInt32), sssp, SerialSssp<std::uint32_t>(graph, source),
         "sssp, int");
    }
    Is(Placed(*device_, graph, Edges::kBoth, WeightKind::kNone), LabelPropagation{}, SerialComponents(graph),
       "label propagation");
  }

  static Graph Made(const char* family, std::uint64_t size, WeightKind weights) {
    GeneratorSpec spec;
    spec.family = family;
    spec.weights = weights;
    spec.scale = static_cast<int>(size);
    spec.count = size;
    spec.width = size;
    spec.height = size;
    spec.drop = 0.05;
    return Generate(spec);
  }

  std::unique_ptr<Device> device_;
};

TEST_P(ResidentTest, SmallAndOddGraphs) {
  for (const WeightKind kind : {WeightKind::kInt32, WeightKind::kFloat32}) {
    for (const NamedGraph& input : MixedGraphs(kind)) {
      SCOPED_TRACE(input.name);
      if (input.graph.vertices() == 0) {
        Is(Placed(*device_, input.graph, Edges::kBoth, WeightKind::kNone), LabelPropagation{}, Array<VertexId>(), "empty");
      } else {
        Check(input.graph, input.graph.vertices() / 2);
      }
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(ResidentTest, Grids) {
  Check(Made("grid", 40, WeightKind::kInt32), 3);
  Check(Made("grid", 25, WeightKind::kFloat32), 311);
}
TEST_P(ResidentTest, Kronecker) {
  const Graph ints = Made("kron", 11, WeightKind::kInt32), floats = Made("kron", 10, WeightKind::kFloat32);
  Check(ints, ints.max_degree_vertex());
  Check(floats, floats.max_degree_vertex());
}
TEST_P(ResidentTest, Stars) {
  Check(Made("star", 20000, WeightKind::kInt32), 0);  // a hub in slices, both ways
  Check(Made("star", 9000, WeightKind::kFloat32), 4321);
  Check(Made("star", 33, WeightKind::kInt32), 32);
}
TEST_P(ResidentTest, Chains) { Check(Made("chain", 300, WeightKind::kFloat32), 150); }
TEST_P(ResidentTest, Hubs) {
  Check(HubGraph(41, 5000, WeightKind::kInt32, false), 3);
  Check(HubGraph(42, 3000, WeightKind::kFloat32, true), 7);
}

TEST_P(ResidentTest, TwoHundredRuns) {
  // A race is a matter of time.
  const Graph graph = Made("kron", 9, WeightKind::kInt32), thin = Made("grid", 12, WeightKind::kInt32);
  for (const Graph* g : {&graph, &thin}) {
    const VertexId source = g->max_degree_vertex();
    const Placed placed(*device_, *g, Edges::kOut, WeightKind::kInt32);
    SsspOf<std::int32_t> sssp;
    sssp.source = source;
    const Array<std::uint32_t> expected = SerialSssp<std::uint32_t>(*g, source);
    for (int run = 0; run < 100; ++run) {
      SCOPED_TRACE("run " + std::to_string(run));
      Is(placed, sssp, expected, "sssp");
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(ResidentTest, TheGraphMustBeWhole) {
  const Graph graph = MakeSymmetric(4, {{0, 1}, {2, 3}});
  const Partition halves = Partition::FromBounds({0, 2, 4}, "halves");
  const std::vector<Subgraph> subgraphs = BuildSubgraphs(graph, halves, {});
  const DeviceGraph half(*device_, subgraphs[0]);
  EXPECT_THROW(resident::Run(half, LabelPropagation{}, GetParam().extent), UsageError);
}

inline std::string ResidentName(const testing::TestParamInfo<ResidentCase>& info) { return info.param.name; }

}  // namespace chatty::test
