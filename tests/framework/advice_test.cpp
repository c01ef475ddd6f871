#include "chatty/framework/advice.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "chatty/io/generators.h"

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

TEST(LevelsIfDeep, AreThoseOfLargeGraphsWithLongWays) {
  EXPECT_GT(LevelsIfDeep(Grid(100), DeviceKind::kHost), 50);
  EXPECT_GT(LevelsIfDeep(Counted("chain", 20000), DeviceKind::kCuda), 5000);
  EXPECT_EQ(LevelsIfDeep(Counted("chain", 1000), DeviceKind::kHost), 0) << "small";
  for (const DeviceKind kind : {DeviceKind::kHost, DeviceKind::kCuda}) {
    EXPECT_EQ(LevelsIfDeep(Kron(14), kind), 0);
    EXPECT_EQ(LevelsIfDeep(Counted("small-world", 30000), kind), 0);
    EXPECT_EQ(LevelsIfDeep(Counted("star", 100000), kind), 0);
  }
}

TEST(HasWideFrontiers, WhereFewLevelsHaveManyEdges) {
  EXPECT_TRUE(HasWideFrontiers(Kron(17)));
  EXPECT_FALSE(HasWideFrontiers(Kron(12))) << "few edges";
  const Graph grid = Grid(1000);
  EXPECT_FALSE(HasWideFrontiers(grid));
  EXPECT_EQ(LevelsIfDeep(grid, DeviceKind::kHost), 0) << "rounds of a host are good there, but not wide";
  EXPECT_FALSE(HasWideFrontiers(Counted("chain", 700'000)));
}

TEST(DeviceAdvice, OneForLongWaysAndForLittleWork) {
  EXPECT_EQ(AdviseDevices(Grid(500), 4).devices, 1u);
  EXPECT_EQ(AdviseDevices(Kron(8), 4).devices, 1u) << "nothing to divide";
  EXPECT_EQ(AdviseDevices(Kron(18), 4).devices, 4u);
  EXPECT_EQ(AdviseDevices(Grid(500), 1).devices, 1u);
  EXPECT_NE(AdviseDevices(Grid(500), 4).why.find("levels"), std::string::npos);
}

TEST(DeviceAdvice, HostDevicesShareTheCores) {
  EXPECT_EQ(AdviseHostDevices(Grid(300), 2).devices, 1u);
  EXPECT_NE(AdviseHostDevices(Grid(300), 2).why.find("about 597 levels"), std::string::npos)
      << AdviseHostDevices(Grid(300), 2).why;
  EXPECT_EQ(AdviseHostDevices(Kron(18), 2).devices, 2u) << "seven exchanges are nothing beside 8 million edges";
  EXPECT_EQ(AdviseHostDevices(Grid(300), 1).devices, 1u);
}

}  // namespace
}  // namespace chatty
