// Soft priority on host devices, and what decides on the width of buckets.
#include "chatty/framework/buckets.h"

#include "buckets_test_body.h"

namespace chatty::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Host, Buckets,
                         testing::Values(Selection{"host:1", "auto"}, Selection{"host:2", "auto"},
                                         Selection{"host:3", "staged"}, Selection{"host:8", "auto"}),
                         [](const auto& info) { return SelectionName(std::get<0>(info.param)); });

TEST(PriorityKey, FirstIsGreatestAndNoneIsZero) {
  const double rising[] = {-kInfinity<double>, -1e300, -2, -1e-300, -0.0, 1e-300, 1, 1e300, kInfinity<double>};
  for (std::size_t i = 0; i < std::size(rising); ++i) {
    EXPECT_EQ(PriorityOfKey(PriorityKey(rising[i])), rising[i]);
    EXPECT_GT(PriorityKey(rising[i]), 0u);
    if (i > 0) {
      EXPECT_LT(PriorityKey(rising[i]), PriorityKey(rising[i - 1])) << rising[i];
    }
  }
}

TEST(BucketWidth, LimitsRiseHoweverNarrowBucketsAre) {
  BucketPlan plan;
  plan.width = 1e-9;
  chatty::Buckets buckets(plan);
  EXPECT_TRUE(buckets.on());
  for (const double first : {-1e30, 0.0, 5.0, 1e30}) {
    buckets.Raise(first);
    EXPECT_GT(buckets.limit(), first);
  }
  buckets.Raise(kInfinity<double>);
  EXPECT_EQ(buckets.limit(), kInfinity<double>);
  EXPECT_FALSE(chatty::Buckets(BucketPlan{}).on());
}

TEST(BucketWidth, WidensFasterWhereFewEdgesAreLeft) {
  BucketPlan plan;
  plan.width = 1;
  plan.adapts = true;
  plan.round_edges = 100;
  chatty::Buckets unknown(plan);
  plan.graph_edges = 1000;
  chatty::Buckets many(plan), few(plan), wasteful(plan);
  for (chatty::Buckets* const buckets : {&unknown, &few}) buckets->Record(950, 950);
  many.Record(900, 900);
  wasteful.Record(100'000, 950);
  for (chatty::Buckets* const buckets : {&unknown, &many, &few, &wasteful}) buckets->Raise(0);
  EXPECT_GT(many.width(), 1);
  EXPECT_EQ(many.width(), unknown.width());
  EXPECT_GT(few.width(), 2 * many.width());
  EXPECT_LT(wasteful.width(), 1);
}

TEST(BucketWidth, WidensWhereRoundsCostAndNarrowsWhereEdgesAreRelaxedAgain) {
  BucketPlan plan;
  plan.width = 8;
  plan.adapts = true;
  plan.round_edges = 100;
  chatty::Buckets idle(plan), wasteful(plan), balanced(plan);
  for (int round = 0; round < 10; ++round) {
    idle.Record(10, 10);
    idle.Raise(round);
    wasteful.Record(10000, 2000);
    wasteful.Raise(round);
    balanced.Record(1100, 1000);
    balanced.Raise(round);
  }
  EXPECT_GT(idle.width(), 16);
  for (int round = 10; round < 1000; ++round) {  // along a chain nothing is gained by any width
    idle.Record(10, 10);
    idle.Raise(round);
  }
  EXPECT_GT(idle.width(), 100 * 8);
  EXPECT_LT(idle.width(), 1000 * 8);
  EXPECT_LT(wasteful.width(), 4);
  EXPECT_EQ(balanced.width(), 8);
  plan.adapts = false;
  chatty::Buckets fixed(plan);
  fixed.Record(10000, 2000);
  fixed.Raise(3);
  EXPECT_EQ(fixed.width(), 8);
  EXPECT_EQ(fixed.limit(), 11);
}

}  // namespace
}  // namespace chatty::test
