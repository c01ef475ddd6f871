// The example programs on host devices, and what their files look like.
#include <algorithm>
#include <set>

#include "../../examples/programs/betweenness.h"
#include "../../examples/programs/hits.h"
#include "../../examples/programs/kcore.h"
#include "../../examples/programs/mis.h"
#include "../../examples/programs/multi_source_bfs.h"
#include "../../examples/programs/personalised_push.h"
#include "../../examples/programs/reach.h"
#include "../../examples/programs/same_side.h"
#include "../../examples/programs/scc.h"
#include "../../examples/programs/seed_labels.h"
#include "../../examples/programs/widest_path.h"
#include "chatty/framework/fused/cuda/rounds_memory.h"
#include "chatty/programs/bc.h"
#include "chatty/programs/bfs.h"
#include "chatty/programs/cc.h"
#include "chatty/programs/cdlp.h"
#include "chatty/programs/label_propagation.h"
#include "chatty/programs/lcc.h"
#include "chatty/programs/pagerank.h"
#include "chatty/programs/pagerank_push.h"
#include "chatty/programs/sssp.h"
#include "chatty/programs/triangles.h"
#include "programs_test_body.h"

namespace chatty::test {

const DeviceKind kKind = DeviceKind::kHost;

std::vector<int> DeviceCounts() { return {1, 2, 3, 5, 8}; }

std::vector<std::unique_ptr<Device>> MakeDevices(int count) {
  std::vector<std::unique_ptr<Device>> devices;
  for (int i = 0; i < count; ++i) devices.push_back(MakeHostDevice(i, count == 1 ? 4 : 1 + i % 2));
  return devices;
}

namespace {

// The table of docs/writing-a-program.md: how each named algorithm fits.
static_assert(VertexProgram<Bfs> && Traits<Bfs>::kHasFilter && Traits<Bfs>::kAnyMessageSuffices);
static_assert(VertexProgram<BfsParents> && Traits<BfsParents>::kHasInput && !Traits<BfsParents>::kHasEndRound);
static_assert(VertexProgram<SsspOf<float>> && VertexProgram<SsspOf<std::int32_t>>);
static_assert(Traits<SsspOf<float>>::kHasPriority && Traits<SsspOf<float>>::kHasFilterMessage);
static_assert(VertexProgram<PageRank> && Traits<PageRank>::kEveryRound && Traits<PageRank>::kHasShare);
static_assert(VertexProgram<PageRankPush> && Traits<PageRankPush>::kHasConsume);
static_assert(VertexProgram<LabelPropagation> && Traits<LabelPropagation>::kEdges == Edges::kBoth);
static_assert(OperatorProgram<ConnectedComponents> && !VertexProgram<ConnectedComponents>);
static_assert(VertexProgram<Cdlp> && Traits<Cdlp>::kCounts && !Traits<Cdlp>::kCanPush);
static_assert(OperatorProgram<Lcc> && !VertexProgram<Lcc>);
static_assert(OperatorProgram<Triangles> && !VertexProgram<Triangles>);
static_assert(OperatorProgram<BetweennessCentrality> && !VertexProgram<BetweennessCentrality>);
static_assert(VertexProgram<KCore> && Traits<KCore>::kHasIsActive && Traits<KCore>::kHasEndRound);
static_assert(Traits<KCore>::kMeasureTakesRound && !Traits<Mis>::kMeasureTakesRound && Traits<Mis>::kHasMeasure);
static_assert(VertexProgram<Mis> && Traits<Mis>::kEveryRound && Traits<Mis>::kHasShare);
static_assert(VertexProgram<ShortestPaths> && VertexProgram<Betweenness> && Traits<Betweenness>::kEdges == Edges::kIn);
static_assert(VertexProgram<WidestPath> && Traits<WidestPath>::kIdempotent);
static_assert(VertexProgram<Reach> && sizeof(Reach::Message) == 8 && Traits<Reach>::kIdempotent);
static_assert(VertexProgram<MultiSourceBfs> && Traits<MultiSourceBfs>::kInitTakesData && Traits<MultiSourceBfs>::kHasFilter);
static_assert(fused::cuda::kRunsRounds<MultiSourceBfs> && fused::cuda::kRunsRoundsTogether<MultiSourceBfs>);
static_assert(SequenceProgram<Hits> && !VertexProgram<Hits> && !OperatorProgram<Hits> && !SequenceProgram<Bfs>);
static_assert(SequenceProgram<Scc> && std::tuple_size_v<Scc::Programs> == 5);
static_assert(Traits<hits::Turn<true>>::kEdges == Edges::kOut && Traits<hits::Turn<false>>::kEdges == Edges::kIn);
static_assert(!Traits<hits::First>::kHasInput && Traits<scc::Find>::kHasInput && Traits<scc::Find>::kIdempotent);
static_assert(VertexProgram<PersonalisedPush> && Traits<PersonalisedPush>::kHasConsume);
static_assert(VertexProgram<SeedLabels> && Traits<SeedLabels>::kInitTakesData && kUpdateTakesData<SeedLabels>);
static_assert(VertexProgram<SameSide> && Traits<SameSide>::kInitTakesData && !kUpdateTakesData<SameSide>);

std::vector<std::string> Lines(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

TEST(ExampleFiles, AreShortAndStandOnThePublicApi) {
  const std::filesystem::path folder = CHATTY_SOURCE_DIR "/examples/programs";
  const auto is_public = [](const std::string& header) {
    return header == "<chatty/chatty.h>" || header == "\"../reference.h\"" || header.starts_with("<chatty/programs/") ||
           (header.starts_with("<chatty/framework/") && header.find('/', 18) == std::string::npos);
  };
  const std::set<std::string> of_several_programs{"betweenness.h", "hits.h", "multi_source_bfs.h", "scc.h"};
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    SCOPED_TRACE(name);
    files.insert(name);
    const std::vector<std::string> lines = Lines(entry.path());
    if (!of_several_programs.contains(name)) {
      EXPECT_LT(lines.size(), 60u);
    }
    for (const std::string& line : lines) {
      EXPECT_LE(line.size(), 125u) << line;
      if (line.find("include") != std::string::npos && line.starts_with('#')) {
        const std::size_t begin = std::min(line.find_first_of("<\""), line.size());
        EXPECT_TRUE(is_public(line.substr(begin, line.find_last_of(">\"") + 1 - begin))) << line;
      }
      EXPECT_EQ(line.find("detail::"), std::string::npos) << line;
    }
  }
  EXPECT_EQ(files, (std::set<std::string>{"betweenness.h", "hits.h", "kcore.h", "mis.h", "multi_source_bfs.h",
                                          "personalised_push.h", "reach.h", "same_side.h", "scc.h", "seed_labels.h",
                                          "widest_path.h"}));
  EXPECT_LE(Lines(CHATTY_SOURCE_DIR "/examples/first_program.cpp").size(), 80u);
}

}  // namespace
}  // namespace chatty::test
