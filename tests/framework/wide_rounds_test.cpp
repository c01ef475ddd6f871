#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "chatty/core/memory_resources.h"
#include "chatty/framework/fused/cuda/wide_rounds_memory.h"
#include "chatty/framework/fused/wide_team.h"
#include "chatty/partition/partition.h"
#include "chatty/partition/subgraph.h"
#include "feature_programs.h"
#include "wide_rounds_test_body.h"

namespace chatty::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Host, WideRoundsTest, testing::Values("host:1", "host:3"), WideName);

/// Whether a GPU makes P's rounds in the kernel, which plans read, and the memory for it.
template <class P>
void Makes(bool wide) {
  EXPECT_EQ(fused::cuda::kRunsWideRounds<P>, wide);
  const ProgramTraits traits = MakeTraits<P>();
  EXPECT_EQ(traits.gpu_fused && traits.gpu_fused->wide_rounds, wide);
  PartShape part;
  RowOptions rows;
  EXPECT_EQ(fused::cuda::WideRoundsBytes<P>(part, rows), 0u) << "nobody has asked";
  rows.wide_rounds = true;
  EXPECT_EQ(fused::cuda::WideRoundsBytes<P>(part, rows) > 0, wide);
  const std::uint64_t alone = fused::cuda::WideRoundsBytes<P>(part, rows);
  part.parts = 2;
  EXPECT_EQ(fused::cuda::WideRoundsBytes<P>(part, rows), 0u) << "several that make no rounds together";
  rows.rounds_together = true;
  EXPECT_EQ(fused::cuda::WideRoundsBytes<P>(part, rows) > alone, wide) << "bits on the way, too";
}

TEST(WideRounds, WhichProgramsHaveThem) {
  Makes<Bfs>(true);
  Makes<NearestByRound<std::uint32_t, true>>(true);
  Makes<Nearest<std::uint32_t, true>>(false);  // messages have values
  Makes<BfsTree>(false);                       // likewise
  Makes<LabelPropagation>(false);              // likewise
  Makes<SsspOf<std::int32_t>>(false);          // in the order of a Priority
  Makes<PageRank>(false);                      // every vertex in every round
}

/// What devices that make rounds of any width share, on host devices, whose memory a test can read.
void CheckTeam(const Graph& graph, const char* method, PartId count) {
  SCOPED_TRACE(method);
  PartitionOptions divide;
  divide.parts = count;
  const Partition partition = MakePartitioner(method)->Divide(graph, divide);
  const std::vector<Subgraph> parts = BuildSubgraphs(graph, partition, {});
  std::vector<std::unique_ptr<Device>> devices = OpenDevices(ParseDevices("host:" + std::to_string(count)), 1);
  CountingMemory counting(devices[0]->memory());
  devices[0]->set_memory(&counting);
  std::vector<Device*> pointers;
  for (const auto& device : devices) pointers.push_back(device.get());
  const fused::WideTeam team(pointers, parts);
  const PartShape shape = ShapeOf(parts[0]);
  EXPECT_LE(counting.live_bytes(), fused::WideTeam::Bytes(count, shape.owned, shape.halo(), shape.border));
  std::vector<std::pair<const std::uint32_t*, const std::uint32_t*>> places;  // begin and end
  for (PartId me = 0; me < count; ++me) {
    for (PartId peer = 0; peer < count; ++peer) {
      if (peer == me) continue;
      const fused::HaloBits &mine = team.peers(me)[peer], &its = team.peers(peer)[me];
      const std::vector<LocalId> border(parts[me].border[peer].begin(), parts[me].border[peer].end());
      EXPECT_EQ(mine.messages_to, its.messages_from) << "what one sends, the other one takes";
      EXPECT_EQ(mine.frontier_to, its.frontier_from);
      EXPECT_EQ(mine.first, parts[peer].halo_begin[me] % 32) << "bits stay where they are in the sender's words";
      if (border.empty()) continue;
      const std::uint32_t* const messages = mine.messages_from;
      places.emplace_back(messages, messages + bits::Words(mine.first + border.size()));
      places.emplace_back(mine.frontier_to, mine.frontier_to + bits::Words(border.size()));
      // The words of the border are its vertices, in order.
      const fused::BorderWords& words = mine.border;
      std::vector<LocalId> vertices;
      for (std::uint32_t entry = 0; entry < words.entries; ++entry) {
        EXPECT_EQ(words.rank[entry], vertices.size());
        for (std::uint32_t bit = 0; bit < 32; ++bit) {
          if ((words.mask[entry] >> bit & 1) != 0) vertices.push_back(static_cast<LocalId>(words.word[entry] * 32 + bit));
        }
      }
      EXPECT_EQ(vertices, border);
      for (std::size_t i = 0; i < border.size(); i += fused::BorderWords::kChunk) {
        EXPECT_EQ(words.word[words.first[i / fused::BorderWords::kChunk]], border[i] / 32);
      }
    }
  }
  std::sort(places.begin(), places.end());
  for (std::size_t i = 0; i < places.size(); ++i) {
    EXPECT_TRUE(std::all_of(places[i].first, places[i].second, [](std::uint32_t word) { return word == 0; }));
    if (i > 0) {
      EXPECT_LE(places[i - 1].second, places[i].first);
    }
  }
}

TEST(WideTeam, BordersAndPlacesOfAllPairs) {
  GeneratorSpec spec;
  spec.family = "kron";
  spec.scale = 13;
  const Graph kron = Generate(spec);
  for (const PartId count : {2u, 3u, 5u}) {
    for (const char* method : {"edge-balanced", "random"}) CheckTeam(kron, method, count);
  }
  spec.family = "grid";
  spec.width = spec.height = 70;
  CheckTeam(Generate(spec), "contiguous", 3);  // the outer parts share nothing
}

TEST(WideTeam, ClearsWhatAFailedRunLeaves) {
  GeneratorSpec spec;
  spec.family = "kron";
  spec.scale = 8;
  const Graph graph = Generate(spec);
  PartitionOptions divide;
  divide.parts = 2;
  const std::vector<Subgraph> parts = BuildSubgraphs(graph, MakePartitioner("random")->Divide(graph, divide), {});
  std::vector<std::unique_ptr<Device>> devices = OpenDevices(ParseDevices("host:2"), 1);
  Device* const pointers[] = {devices[0].get(), devices[1].get()};
  fused::WideTeam team(pointers, parts);
  const fused::HaloBits& bits = team.peers(0)[1];
  bits.messages_to[0] = bits.messages_from[0] = bits.frontier_to[0] = 5;
  team.Clear();
  EXPECT_EQ(bits.messages_to[0] | bits.messages_from[0] | bits.frontier_to[0], 0u);
  EXPECT_EQ(bits.border.entries > 0 && bits.border.mask[0] != 0, true) << "the border stays";
}

}  // namespace
}  // namespace chatty::test
