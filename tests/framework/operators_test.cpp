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

// Which entries of a row are linked first, where devices begin with what they own and where they do not.
TEST(FirstLinks, OwnedEntriesFollowWhatIsLess) {
  const auto device = std::move(OpenDevices(ParseDevices("host:1"), 2).front());
  for (const Graph& graph : GraphsOfTrees()) {
    if (!graph.symmetric()) continue;
    const VertexId n = graph.vertices();
    const Partition partition = Partition::FromBounds({0, n / 4, n / 2, n / 2, n}, "");
    for (const Subgraph& part : BuildSubgraphs(graph, partition, {.own_begins = true})) {
      const DeviceGraph placed(*device, part);
      const GraphRef& ref = placed.ref();
      ASSERT_EQ(ref.own_begins.there(), part.owned > 0 && part.owned < n);
      if (!ref.own_begins.there()) continue;
      const hooking::FirstLinks own{ref, true}, all{ref, false};
      for (LocalId v = 0; v < part.owned; ++v) {
        ASSERT_EQ(all.Begin(v), ref.forward.offsets[v]);
        const EdgeIndex begin = own.Begin(v), end = ref.forward.offsets[v + 1];
        ASSERT_LE(begin, end);
        for (EdgeIndex e = ref.forward.offsets[v]; e < end; ++e) {
          ASSERT_EQ(ref.Global(ref.forward.neighbours[e]) < ref.first_id, e < begin) << "row " << v;
          const bool first_is_owned = begin < end && own.Has(ref.forward.neighbours[begin]);
          ASSERT_TRUE(first_is_owned || !own.Has(ref.forward.neighbours[e])) << "row " << v;
        }
      }
      EXPECT_TRUE(own.Has(part.owned - 1));
      EXPECT_FALSE(own.Has(part.owned));
      EXPECT_TRUE(all.Has(part.owned));
    }
  }
}

}  // namespace
}  // namespace chatty::test
