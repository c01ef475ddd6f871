#include "chatty/framework/advice.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "chatty/io/generators.h"
#include "chatty/partition/partition.h"

namespace chatty {
namespace {

Graph Kron(int scale) {
  GeneratorSpec spec;
  spec.family = "kron";
  spec.scale = scale;
  return Generate(spec);
}
Graph Grid(std::uint64_t side) {
  GeneratorSpec spec;
  spec.family = "grid";
  spec.width = spec.height = side;
  return Generate(spec);
}
Graph Counted(const char* family, std::uint64_t count) {
  GeneratorSpec spec;
  spec.family = family;
  spec.count = count;
  return Generate(spec);
}

TEST(Expansion, IsTheNumberOfLevelsWhereEverythingIsReached) {
  EXPECT_EQ(EstimateExpansion(Counted("chain", 1000), 1 << 20).levels, 999) << "from the first vertex of degree two";
  EXPECT_EQ(EstimateExpansion(Counted("star", 1000), 1 << 20).levels, 2);
}

TEST(Expansion, GoesOnAsItBegan) {
  const Graph grid = Grid(700);
  const double whole = EstimateExpansion(grid, std::size_t{1} << 30).levels;
  const double guess = EstimateExpansion(grid, 1 << 16).levels;
  EXPECT_GT(guess, whole / 3);
  EXPECT_LT(guess, whole * 3);
  const Graph kron = Kron(15);
  EXPECT_LT(EstimateExpansion(kron, 1 << 14).levels, 16) << "a small world stays small";
  EXPECT_LT(EstimateExpansion(kron, 1 << 14).looked_at, 1 << 16);
}

TEST(LevelsIfMany, AreThoseOfLargeGraphsWithLongWays) {
  EXPECT_GT(LevelsIfMany(Grid(100)), 50);
  EXPECT_GT(LevelsIfMany(Grid(1000)), 500);
  EXPECT_GT(LevelsIfMany(Counted("chain", 20000)), 5000);
  EXPECT_EQ(LevelsIfMany(Counted("chain", 1000)), 0) << "small";
  EXPECT_EQ(LevelsIfMany(Kron(14)), 0);
  EXPECT_EQ(LevelsIfMany(Counted("small-world", 30000)), 0);
  EXPECT_EQ(LevelsIfMany(Counted("star", 100000)), 0);
}

Partition Divided(const Graph& graph, const char* partitioner) {
  return MakePartitioner(partitioner)->Divide(graph, {.parts = 2});
}

TEST(EstimateCutEdges, IsNearTheirNumber) {
  const Graph grid = Grid(1000);
  const double half = static_cast<double>(grid.edges()) / 2;
  EXPECT_NEAR(EstimateCutEdges(grid, Divided(grid, "random")), half, half / 10);
  EXPECT_LT(EstimateCutEdges(grid, Divided(grid, "contiguous")), half / 50) << "there are 2,000";
  EXPECT_EQ(EstimateCutEdges(Graph(), Partition()), 0);
  // Parts of columns, where each thousandth vertex would be of the same column.
  Array<PartId> owners(grid.vertices());
  for (VertexId v = 0; v < grid.vertices(); ++v) owners[v] = v % 1000 < 500 ? 0 : 1;
  EXPECT_LT(EstimateCutEdges(grid, Partition::FromOwners(std::move(owners), 2, "columns")), half / 50);
}

TEST(EngineAdvice, TogetherWhereALevelCostsMoreThanItsMessages) {
  const auto together = [](const Graph& graph, const char* partitioner, DeviceKind kind, bool buckets) {
    return AdviseEngine(graph, Divided(graph, partitioner), {.kind = kind, .buckets = buckets}).async;
  };
  for (const std::uint64_t side : {100, 300, 700}) {
    EXPECT_TRUE(together(Grid(side), "edge-balanced", DeviceKind::kHost, false)) << side;
  }
  const Graph grid = Grid(1000);
  EXPECT_TRUE(together(grid, "edge-balanced", DeviceKind::kHost, false)) << "edges of a part cost the same either way";
  EXPECT_TRUE(together(grid, "edge-balanced", DeviceKind::kHost, true));
  EXPECT_FALSE(together(grid, "random", DeviceKind::kHost, false)) << "half of all edges are cut";
  EXPECT_TRUE(together(grid, "random", DeviceKind::kHost, true)) << "rounds with buckets cost more than messages";
  EXPECT_TRUE(together(grid, "random", DeviceKind::kCuda, false)) << "a GPU sends messages at once";
  EXPECT_TRUE(together(Counted("chain", 20000), "edge-balanced", DeviceKind::kCuda, false));
  for (const DeviceKind kind : {DeviceKind::kHost, DeviceKind::kCuda}) {
    EXPECT_FALSE(together(Kron(14), "edge-balanced", kind, true));
    EXPECT_FALSE(together(Counted("small-world", 30000), "edge-balanced", kind, true));
    EXPECT_FALSE(together(Counted("star", 100000), "edge-balanced", kind, true));
  }
}

TEST(EngineAdvice, SaysWhy) {
  const auto why = [](const Graph& graph, const char* partitioner) {
    return AdviseEngine(graph, Divided(graph, partitioner), {}).why;
  };
  const Graph grid = Grid(500);
  EXPECT_NE(why(grid, "contiguous").find("levels, each of which would cost an exchange"), std::string::npos);
  EXPECT_NE(why(grid, "random").find("edges between devices, whose messages go in buffers"), std::string::npos)
      << why(grid, "random");
  EXPECT_EQ(why(Kron(14), "contiguous"), "the graph has few levels");
  EXPECT_EQ(why(Counted("chain", 1000), "contiguous"), "the graph is small");
}

TEST(EngineAdvice, RoundsWhereAsyncRepeatsMuchWork) {
  const auto async = [](const Graph& graph, const EngineTask& task) {
    return AdviseEngine(graph, Divided(graph, "edge-balanced"), task).async;
  };
  const Graph grid = Grid(500), chain = Counted("chain", 20000);
  const EngineTask residuals{.accumulates = true}, carried{.carries = true}, by_four{.devices = 4, .carries = true};
  EXPECT_FALSE(async(grid, residuals));
  EXPECT_TRUE(async(chain, residuals)) << "10,000 rounds";
  EXPECT_FALSE(async(grid, carried));
  EXPECT_TRUE(async(chain, carried));
  EXPECT_TRUE(async(grid, by_four));
  EXPECT_FALSE(async(Kron(14), by_four));
}

TEST(HasWideFrontiers, WhereFewLevelsHaveManyEdges) {
  EXPECT_TRUE(HasWideFrontiers(Kron(17)));
  EXPECT_FALSE(HasWideFrontiers(Kron(12))) << "few edges";
  EXPECT_FALSE(HasWideFrontiers(Grid(1000)));
  EXPECT_FALSE(HasWideFrontiers(Counted("chain", 700'000)));
}

TEST(DeviceAdvice, OneForLongWaysAndForLittleWork) {
  EXPECT_EQ(AdviseDevices(Grid(500), 4).devices, 1u);
  EXPECT_EQ(AdviseDevices(Kron(8), 4).devices, 1u) << "nothing to divide";
  EXPECT_EQ(AdviseDevices(Kron(18), 4).devices, 4u);
  EXPECT_EQ(AdviseDevices(Grid(500), 1).devices, 1u);
  EXPECT_NE(AdviseDevices(Grid(500), 4).why.find("levels"), std::string::npos);
}

// What `chatty run --devices auto` does on a machine with several GPUs.
TEST(DeviceChoice, OneGpuForRoadsWhereOneHasRoom) {
  constexpr std::uint64_t kMiB = 1 << 20;
  const Graph roads = Grid(500), social = Kron(18);
  const DeviceChoice traversal{.devices = 4, .traverses = true, .needed_on_one = 20 * kMiB, .free_on_one = 100 * kMiB};
  const auto with = [&](auto&& change) {
    DeviceChoice choice = traversal;
    change(choice);
    return choice;
  };
  const DeviceAdvice one = ChooseDevices(roads, traversal);
  EXPECT_EQ(one.devices, 1u);
  EXPECT_NE(one.why.find("levels, each of which would cost an exchange"), std::string::npos) << one.why;
  EXPECT_EQ(ChooseDevices(roads, with([](DeviceChoice& c) { c.free_on_one = 20 * kMiB; })).devices, 1u) << "it just fits";
  EXPECT_EQ(ChooseDevices(roads, with([](DeviceChoice& c) { c.free_on_one = 0; })).devices, 1u) << "unknown";

  const DeviceAdvice small = ChooseDevices(roads, with([](DeviceChoice& c) { c.free_on_one = 10 * kMiB; }));
  EXPECT_EQ(small.devices, 4u);
  EXPECT_EQ(small.why, "one device needs up to 20.0 MiB, free is 10.0 MiB");
  EXPECT_EQ(ChooseDevices(roads, with([](DeviceChoice& c) { c.traverses = false; })).devices, 4u) << "PageRank";
  EXPECT_EQ(ChooseDevices(social, traversal).devices, 4u);
  for (const std::size_t devices : {std::size_t{0}, std::size_t{1}}) {
    EXPECT_EQ(ChooseDevices(roads, with([&](DeviceChoice& c) { c.devices = devices; })).devices, devices);
  }
}

TEST(DeviceAdvice, HostDevicesShareTheCores) {
  EXPECT_EQ(AdviseHostDevices(Grid(300), 2).devices, 1u);
  EXPECT_NE(AdviseHostDevices(Grid(300), 2).why.find("about 597 levels"), std::string::npos)
      << AdviseHostDevices(Grid(300), 2).why;
  EXPECT_EQ(AdviseHostDevices(Kron(18), 2).devices, 2u) << "seven exchanges are nothing beside 8 million edges";
  EXPECT_EQ(AdviseHostDevices(Grid(300), 1).devices, 1u);
}

// Label propagation on an H200: rounds took 100 ms on a random geometric graph of 2^20 vertices, the fused engine 4; on
// Kronecker 20, 2.5 and 8.
TEST(AdviseCarrying, ManyLevelsOrManyEdgesWithoutHubs) {
  const auto made = [](const char* family, int scale, VertexId count) {
    GeneratorSpec spec;
    spec.family = family;
    spec.scale = scale;
    spec.count = spec.width = spec.height = count;
    return Generate(spec);
  };
  EXPECT_NE(AdviseCarrying(made("grid", 0, 300)).find("levels"), std::string::npos);
  EXPECT_NE(AdviseCarrying(made("rgg", 15, 1 << 15)).find("levels"), std::string::npos);
  EXPECT_EQ(AdviseCarrying(made("kron", 14, 0)), "");
  EXPECT_EQ(AdviseCarrying(made("uniform", 14, 0)), "") << "few levels, and rounds of few edges";
  EXPECT_EQ(AdviseCarrying(made("star", 0, 200'000)), "");
  EXPECT_EQ(AdviseCarrying(made("chain", 0, 3)), "");
  EXPECT_EQ(AdviseCarrying(Graph{}), "");
}

}  // namespace
}  // namespace chatty
