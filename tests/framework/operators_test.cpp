#include <chrono>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "chatty/comm/cost_model.h"
#include "operators_test_body.h"

namespace chatty::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Host, OperatorsTest, testing::Values("host:1", "host:2", "host:3"));

// Short parcels and long ones take different paths between the same two devices, and both ends know which.
TEST(OperatorPaths, EachParcelTakesTheFasterOfSeveral) {
  const Graph graph = PathOf(600);
  const auto devices = OpenDevices(ParseDevices("host:2"), 2);
  const std::vector<Subgraph> subgraphs = BuildSubgraphs(graph, Partition::FromBounds({0, 250, 600}, ""), {});
  std::vector<Device*> pointers;
  std::vector<std::unique_ptr<DeviceGraph>> graphs;
  std::vector<Buffer<std::uint64_t>> outputs;
  for (PartId d = 0; d < 2; ++d) {
    pointers.push_back(devices[d].get());
    graphs.push_back(std::make_unique<DeviceGraph>(*devices[d], subgraphs[d]));
    outputs.emplace_back(*devices[d], subgraphs[d].owned);
  }
  CostModel costs({"host", "staged"}, 2);
  const auto line = [](double alpha, double beta) {
    CostFit fit;
    fit.small = fit.large = {alpha, beta, 0};
    fit.samples = 1;
    return fit;
  };
  for (const auto& [from, to] : {std::pair{0, 1}, std::pair{1, 0}}) {
    costs.set_fit(0, from, to, LoadCorner::kAlone, line(1, 1));
    costs.set_fit(1, from, to, LoadCorner::kAlone, line(1000, 0.001));
  }
  RunOptions options;
  options.timeout = std::chrono::seconds(20);
  OperatorGroup group(pointers, options, costs);
  for (int run = 0; run < 2; ++run) {
    group.Reset();
    RunOnDevices(2, [&](int d) {
      try {
        DeviceStatistics account;
        HostOperators operators(group, *graphs[d], account);
        ExchangeQuestion{}.Run(operators, outputs[d].data());
      } catch (...) {
        group.Fail(std::current_exception());
      }
    });
    ASSERT_NO_THROW(group.abort.RethrowFirst());
    EXPECT_EQ(group.transport_name(), "host+staged");
    for (PartId d = 0; d < 2; ++d) {
      for (LocalId v = 0; v < subgraphs[d].owned; ++v) ASSERT_EQ(outputs[d].data()[v], 0u) << "vertex " << v;
    }
  }
}

// Which entries of a row are owned is found from wherever it is guessed first.
TEST(FirstLinks, TheFirstOwnedEntryIsFound) {
  constexpr LocalId kOwned = 1000, kLesserEnd = 1500, kLocal = 2500;
  std::vector<LocalId> neighbours;
  std::vector<EdgeIndex> offsets = {0}, expected;
  for (std::uint64_t row = 0; row < 3000; ++row) {
    const std::uint64_t before = Hash(3 * row) % (row % 40 + 1), own = Hash(3 * row + 1) % (row % 7 + 1);
    const std::uint64_t after = Hash(3 * row + 2) % (row % 90 + 1);
    expected.push_back(neighbours.size() + before);
    for (std::uint64_t i = 0; i < before; ++i) neighbours.push_back(static_cast<LocalId>(kOwned + i));
    for (std::uint64_t i = 0; i < own; ++i) neighbours.push_back(static_cast<LocalId>(i));
    for (std::uint64_t i = 0; i < after; ++i) neighbours.push_back(static_cast<LocalId>(kLesserEnd + i));
    offsets.push_back(neighbours.size());
  }
  GraphRef graph;
  graph.owned = kOwned;
  graph.lesser_end = kLesserEnd;
  graph.local = kLocal;
  graph.ranges = true;
  graph.forward.offsets.wide = offsets.data();
  graph.forward.neighbours = neighbours.data();
  graph.vertices = 5000;
  for (const VertexId first : {0u, 1u, 1700u, 4000u}) {
    graph.first_id = first;
    const hooking::FirstLinks own{graph, true}, all{graph, false};
    for (LocalId v = 0; v < 3000; ++v) {
      ASSERT_EQ(own.Begin(v), expected[v]) << "row " << v << " of ids from " << first;
      ASSERT_EQ(all.Begin(v), offsets[v]);
    }
  }
  EXPECT_TRUE((hooking::FirstLinks{graph, true}.Has(kOwned - 1)));
  EXPECT_FALSE((hooking::FirstLinks{graph, true}.Has(kOwned)));
  EXPECT_TRUE((hooking::FirstLinks{graph, false}.Has(kOwned)));
}

}  // namespace
}  // namespace chatty::test
