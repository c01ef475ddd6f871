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
    EXPECT_GT(bytes, fused::RoundsTeam::Bytes(2, sizeof(Slot<MessageOf<P>>)));
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

TEST(RoundsTeam, AWordCarriesItsBarrierAndCounts) {
  using fused::TeamFrontier;
  TeamFrontier mine, sum;
  mine.active = kRoundsPolicy.wide;
  mine.edges = 12345678;
  const std::uint64_t word = mine.Pack(65535);
  EXPECT_TRUE(fused::IsOfBarrier(word, 65535));
  EXPECT_FALSE(fused::IsOfBarrier(word, 65533));
  EXPECT_TRUE(fused::IsOfBarrier(mine.Pack(65536 + 7), 65536 + 7));  // numbers wrap
  EXPECT_FALSE(fused::IsOfBarrier(0, 1));                            // memory at first
  EXPECT_EQ(TeamFrontier::ActiveIn(word), kRoundsPolicy.wide);
  sum.Add(word);
  EXPECT_EQ(sum.active, mine.active);
  EXPECT_EQ(sum.edges, mine.edges);
  EXPECT_FALSE(sum.wide || sum.stop);
  mine = {};
  mine.edges = ~std::uint64_t{0};  // counts as more than any round may have
  mine.wide = true;
  sum.Add(mine.Pack(1));
  EXPECT_TRUE(sum.wide);
  EXPECT_FALSE(sum.stop);
  EXPECT_EQ(sum.edges, 12345678 + std::uint64_t{TeamFrontier::kMaxEdges});
  EXPECT_EQ(sum.active, kRoundsPolicy.wide);
  mine = {};
  mine.stop = true;
  sum.Add(mine.Pack(2));
  EXPECT_TRUE(sum.stop);
  const std::uint64_t length = fused::TeamListLength::Pack(65536 + 3, kRoundsPolicy.wide);
  EXPECT_TRUE(fused::IsOfBarrier(length, 3));
  EXPECT_EQ(fused::TeamListLength::In(length), kRoundsPolicy.wide);
}

TEST(RoundsTeam, MemoryIsWhatItTakes) {
  for (const std::size_t count : {1u, 2u, 9u, 20u}) {
    for (const std::size_t message : {4u, 8u}) {
      std::vector<std::unique_ptr<Device>> devices = OpenDevices(ParseDevices("host:" + std::to_string(count)), 1);
      CountingMemory counting(devices[0]->memory());
      devices[0]->set_memory(&counting);
      std::vector<Device*> pointers;
      pointers.reserve(devices.size());
      for (const auto& device : devices) pointers.push_back(device.get());
      {
        fused::RoundsTeam team(pointers, message);
        EXPECT_EQ(counting.live_bytes(), fused::RoundsTeam::Bytes(count, message));
        EXPECT_GE(team.ref(0).capacity, kRoundsPolicy.narrow_edges / 4);
        EXPECT_LE(team.ref(0).capacity * count, kRoundsPolicy.wide * std::size_t{8});
        EXPECT_EQ(team.SharingWith(0), 1u);
      }
      EXPECT_EQ(counting.live_bytes(), 0u);
    }
  }
}

// A run after a whole one goes on with the barriers' numbers; after a failed one they begin anew, and old words are gone.
TEST(RoundsTeam, BarriersBeginAnewAfterAFailure) {
  std::vector<std::unique_ptr<Device>> devices = OpenDevices(ParseDevices("host:2"), 1);
  Device* const pointers[] = {devices[0].get(), devices[1].get()};
  fused::RoundsTeam team(pointers, 4);
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
