#include "chatty/framework/fused/cuda/wide_rounds_memory.h"
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
  part.parts = 2;
  EXPECT_EQ(fused::cuda::WideRoundsBytes<P>(part, rows), 0u) << "others have parts, too";
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

}  // namespace
}  // namespace chatty::test
