#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "../prebuilt_programs.h"
#include "chatty/core/memory_resources.h"
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
  Runs<PeelingCores>(true);
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
  for (const std::size_t count : {1u, 2u, 9u, 20u}) {
    std::vector<std::unique_ptr<Device>> devices = OpenDevices(ParseDevices("host:" + std::to_string(count)), 1);
    CountingMemory counting(devices[0]->memory());
    devices[0]->set_memory(&counting);
    std::vector<Device*> pointers;
    pointers.reserve(devices.size());
    for (const auto& device : devices) pointers.push_back(device.get());
    {
      fused::RoundsTeam team(pointers);
      EXPECT_EQ(counting.live_bytes(), fused::RoundsTeam::Bytes(count));
      EXPECT_GE(team.ref(0).capacity, kRoundsPolicy.narrow_edges / 4);
      EXPECT_LE(team.ref(0).capacity * count, kRoundsPolicy.wide * std::size_t{8});
      EXPECT_EQ(team.SharingWith(0), 1u);
    }
    EXPECT_EQ(counting.live_bytes(), 0u);
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

// A run after a whole one goes on with the barriers' numbers; after a failed one they begin anew, and old words are gone.
TEST(RoundsTeam, BarriersBeginAnewAfterAFailure) {
  std::vector<std::unique_ptr<Device>> devices = OpenDevices(ParseDevices("host:2"), 1);
  Device* const pointers[] = {devices[0].get(), devices[1].get()};
  fused::RoundsTeam team(pointers);
  const fused::RoundsTeamRef ref = team.ref(0);
  *ref.Word(5, 0, 1) = 5;
  team.SetEpoch(0, 5);
  team.SetEpoch(1, 5);
  team.Begin();
  EXPECT_EQ(team.epoch(0), 5u);
  EXPECT_EQ(*ref.Word(5, 0, 1), 5u);
  team.SetEpoch(1, 7);  // a device has failed between two barriers
  team.Begin();
  EXPECT_EQ(team.epoch(0), 0u);
  EXPECT_EQ(team.epoch(1), 0u);
  EXPECT_EQ(*ref.Word(5, 0, 1), 0u);
  *ref.Word(1, 1, 0) = 1;
  team.Abort();
  team.Begin();
  EXPECT_EQ(*ref.Word(1, 1, 0), 0u);
  EXPECT_EQ(*ref.heap.abort, 0u);
}

}  // namespace
}  // namespace chatty::test
