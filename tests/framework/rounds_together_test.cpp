#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "../prebuilt_programs.h"
#include "chatty/core/memory_resources.h"
#include "chatty/framework/fused/cuda/barrier_words.h"
#include "chatty/framework/fused/cuda/rounds_memory.h"
#include "chatty/framework/fused/rounds_team.h"
#include "chatty/programs/cdlp.h"
#include "rounds_together_test_body.h"

namespace chatty::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Host, RoundsTogetherTest,
                         testing::Values(TogetherCase{"two", "host:2"}, TogetherCase{"three", "host:3", "random"}),
                         TogetherName);

/// Whether GPUs may make P's rounds together, which plans read.
template <class P>
void Runs(bool together) {
  EXPECT_EQ(fused::cuda::kRunsRoundsTogether<P>, together);
  const ProgramTraits traits = MakeTraits<P>();
  EXPECT_EQ(traits.gpu_fused && traits.gpu_fused->rounds_together, together);
  // A part of several; a round's lists are the same for all programs.
  PartShape part;
  part.parts = 2;
  part.forward.built = true;
  RowOptions rows;
  EXPECT_EQ(fused::cuda::RoundsBytes<P>(part, rows), 0u) << "nobody has asked";
  rows.rounds_together = true;
  const std::uint64_t bytes = fused::cuda::RoundsBytes<P>(part, rows);
  EXPECT_EQ(bytes > 0, together);
  if (together) {
    EXPECT_GT(bytes, fused::RoundsTeam::Bytes(2));
  }
  part.forward.built = false;
  EXPECT_EQ(fused::cuda::RoundsBytes<P>(part, rows), 0u) << "rounds only pull";
}

TEST(RoundsTeam, WhichProgramsItRuns) {
  Runs<PathCounts>(true);
  Runs<Rumours>(true);
  Runs<Ticks>(true);
  Runs<Peeling>(true);
  Runs<Tokens>(true);
  Runs<Sharing>(true);
  Runs<Bfs>(true);
  Runs<BfsTree>(true);
  Runs<LeastLabels>(true);
  Runs<Nearest<std::uint32_t, false>>(true);
  Runs<LabelPropagation>(false);         // in the order of a Priority
  Runs<SsspOf<std::int32_t>>(false);     // likewise
  Runs<Phases>(false);                   // the host measures after each round
  Runs<QuietPhases>(false);              // and decides
  Runs<Pulses<Reduction::kMin>>(false);  // the host decides after each round
  Runs<Settling>(false);                 // every vertex in every round
  Runs<Churn>(false);                    // updates are measured
  Runs<BasicPageRank<float>>(false);     // sums of all vertices
  Runs<Cdlp>(false);                     // all messages, not combined
}

TEST(RoundsTeam, MemoryIsWhatItTakes) {
  for (const std::size_t count : {1u, 3u}) {
    std::vector<std::unique_ptr<Device>> devices = OpenDevices(ParseDevices("host:" + std::to_string(count)), 1);
    CountingMemory counting(devices[0]->memory());
    devices[0]->set_memory(&counting);
    std::vector<Device*> pointers;
    pointers.reserve(devices.size());
    for (const auto& device : devices) pointers.push_back(device.get());
    {
      fused::RoundsTeam team(pointers);
      EXPECT_EQ(counting.live_bytes(), fused::RoundsTeam::Bytes(count));
      EXPECT_EQ(team.ref(0).max_edges, kRoundsPolicy.wide);
      EXPECT_EQ(team.SharingWith(0), 1u);
    }
    EXPECT_EQ(counting.live_bytes(), 0u);
  }
}

// A barrier's sum of units may be less than the edges by kUnitError of each device: lists have room for that.
TEST(RoundsTeam, ListsOfManyDevicesAreShorter) {
  using fused::cuda::BlockSums;
  for (const std::size_t count : {1u, 2u, 8u, 9u, 20u, 64u}) {
    const std::uint32_t edges = fused::TeamRoundEdges(count), entries = fused::TeamListEntries(count);
    EXPECT_GT(edges, kRoundsPolicy.narrow_edges);
    EXPECT_LE(edges * count, kRoundsPolicy.wide * std::size_t{8});
    EXPECT_EQ(entries, edges + count * BlockSums::kUnitError);
    EXPECT_LE(entries, fused::cuda::kRoundItems);
    EXPECT_GE(fused::RoundsTeam::Bytes(count), count * entries * fused::kTeamEntryBytes);
  }
}

// The most that a block's number of units misses of its edges, and the least that says that a round is wide.
TEST(RoundsTeam, UnitsOfEdges) {
  using fused::cuda::BlockSums;
  std::uint32_t misses = 0;
  for (std::uint32_t edges = 0; edges < 5 * BlockSums::kEdgeUnit; ++edges) {
    const std::uint32_t counted = BlockSums::ToUnits(edges) * BlockSums::kEdgeUnit;
    misses = std::max(misses, edges - std::min(counted, edges));
    EXPECT_LE(counted, edges + BlockSums::kEdgeUnit / 2);
  }
  EXPECT_LE(misses * BlockSums::kMaxBlocks, BlockSums::kUnitError);
  EXPECT_GT(BlockSums::ToUnits(kRoundsPolicy.wide + BlockSums::kEdgeUnit) * BlockSums::kEdgeUnit, kRoundsPolicy.wide);
}

// A block adds its counts to a word that only grows: what has been added since is exact, whatever the word was, also where a
// sum carries into the next field or beyond the word's end.
TEST(RoundsTeam, DifferencesOfWordsAreExact) {
  using fused::cuda::BlockSums;
  constexpr unsigned kBlocks = BlockSums::kMaxBlocks;
  for (const unsigned long long start : {0ull, 1ull, ~0ull, 0x8000'0000'0000'0000ull, 0x0123'4567'89ab'cdefull}) {
    unsigned long long word = start;
    std::uint32_t vertices = 0;
    for (unsigned block = 0; block < kBlocks; ++block) {
      BlockSums mine;
      mine.vertices = block == 0 ? kRoundsPolicy.wide - (kBlocks - 1) : 1;
      mine.edges = BlockSums::ToUnits(kRoundsPolicy.wide + BlockSums::kEdgeUnit);  // of a block with a long row
      mine.spills = true;
      mine.stop = block == 7;
      vertices += mine.vertices;
      EXPECT_NE(BlockSums::Arrived(word - start), kBlocks);
      word += mine.Pack();
    }
    const BlockSums all = BlockSums::Of(word - start);
    EXPECT_EQ(BlockSums::Arrived(word - start), kBlocks);
    EXPECT_EQ(all.vertices, vertices);
    EXPECT_EQ(all.edges, kBlocks * BlockSums::ToUnits(kRoundsPolicy.wide + BlockSums::kEdgeUnit));
    EXPECT_TRUE(all.spills);
    EXPECT_TRUE(all.stop);
    word += BlockSums{}.Pack();  // of the next barrier but one
    EXPECT_EQ(BlockSums::Of(BlockSums{}.Pack()).vertices, 0u);
    EXPECT_EQ(BlockSums::Arrived(word - (word - BlockSums{}.Pack())), 1u);
  }
}

// No two arrays of a team overlap, and each is the sender's own.
TEST(RoundsTeam, PlacesAreApart) {
  std::vector<std::unique_ptr<Device>> devices = OpenDevices(ParseDevices("host:3"), 1);
  Device* const pointers[] = {devices[0].get(), devices[1].get(), devices[2].get()};
  fused::RoundsTeam team(pointers);
  const fused::RoundsTeamRef ref = team.ref(1);
  std::vector<std::pair<const std::byte*, std::size_t>> places;
  const auto add = [&](const void* at, std::size_t bytes) { places.emplace_back(static_cast<const std::byte*>(at), bytes); };
  for (std::uint32_t from = 0; from < 3; ++from) {
    for (const std::uint32_t epoch : {6u, 7u}) add(ref.Word(epoch, from, 2), symmetric::kLine);
    add(ref.Blocks(from, 2), sizeof(std::uint64_t));
    for (const std::uint32_t epoch : {6u, 7u}) add(ref.Sums(epoch, from, 2), fused::kWideEntries * fused::kTeamEntryBytes);
    add(ref.List(from, 2), ref.capacity * fused::kTeamEntryBytes);
  }
  for (const unsigned parity : {0u, 1u}) {
    for (std::uint32_t from = 0; from < 3; ++from) add(team.ref(2).Seen(parity, from), sizeof(std::uint64_t));
  }
  std::sort(places.begin(), places.end());
  for (std::size_t i = 1; i < places.size(); ++i) EXPECT_LE(places[i - 1].first + places[i - 1].second, places[i].first);
  EXPECT_EQ(ref.Word(6, 0, 2), ref.Word(8, 0, 2));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(ref.List(1, 2)) % fused::kTeamEntryBytes, 0u);  // one store each
}

// A run after a whole one goes on with the barriers' numbers. After a failed one, or when the numbers could come again, they
// begin anew, and nothing is left of the old ones.
TEST(RoundsTeam, BarriersBeginAnewAfterAFailure) {
  std::vector<std::unique_ptr<Device>> devices = OpenDevices(ParseDevices("host:2"), 1);
  Device* const pointers[] = {devices[0].get(), devices[1].get()};
  fused::RoundsTeam team(pointers);
  const fused::RoundsTeamRef ref = team.ref(0);
  const auto words = [&] {
    return std::vector<std::uint64_t*>{reinterpret_cast<std::uint64_t*>(ref.Word(5, 0, 1)), ref.Seen(1, 0), ref.Blocks(0, 1),
                                       reinterpret_cast<std::uint64_t*>(ref.List(0, 1))};
  };
  const auto fill = [&](std::uint32_t first, std::uint32_t second) {
    for (std::uint64_t* const word : words()) *word = 5;
    team.SetEpoch(0, first);
    team.SetEpoch(1, second);
  };
  const auto expect = [&](std::uint64_t word, std::uint32_t epoch) {
    for (const std::uint64_t* const at : words()) EXPECT_EQ(*at, word);
    EXPECT_EQ(team.epoch(0), epoch);
    EXPECT_EQ(team.epoch(1), epoch);
  };
  fill(5, 5);
  team.Begin();
  expect(5, 5);
  fill(5, 7);  // a device has failed between two barriers
  team.Begin();
  expect(0, 0);
  fill(9, 9);
  team.Abort();
  team.Begin();
  expect(0, 0);
  EXPECT_EQ(*ref.heap.abort, 0u);
  fill(1u << 31, 1u << 31);
  team.Begin();
  expect(0, 0);
}

}  // namespace
}  // namespace chatty::test
