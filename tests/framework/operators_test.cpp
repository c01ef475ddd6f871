#include "operators_test_body.h"

namespace chatty::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Host, OperatorsTest, testing::Values("host:1", "host:2", "host:3"));

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
