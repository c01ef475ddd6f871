// The limits of steps, as the leader of several devices raises them.
#include "chatty/framework/fused/step_limits.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace chatty::fused {
namespace {

constexpr WidthRule kNoRule{};
constexpr std::uint32_t kFew = 100;

WindowCounts Waiting(std::uint32_t left, double first) { return {.left = left, .full = 0, .first = PriorityKey(first)}; }
StepCounts Far(std::uint32_t far, double first) {
  StepCounts counts;
  counts.far = far;
  counts.far_first = PriorityKey(first);
  return counts;
}

TEST(Windows, AreTwiceAsWideWhereTheLastMadeLittleWork) {
  Windows window(10, kFew);
  EXPECT_EQ(window.from(), -kInfinity<double>);
  EXPECT_EQ(window.limit(), -kInfinity<double>) << "the first one counts alone";
  window.Next(Waiting(5, 3), 0);
  EXPECT_EQ(window.from(), -kInfinity<double>);
  EXPECT_EQ(window.limit(), 13);
  window.Next(Waiting(5, 7), kFew - 1);
  EXPECT_EQ(window.width(), 10) << "there was no width to double before";
  EXPECT_EQ(window.from(), 13);
  EXPECT_EQ(window.limit(), 23) << "what waits below the limit has been improved since";
  window.Next(Waiting(4, 1000), kFew - 1);
  EXPECT_EQ(window.from(), 23);
  EXPECT_EQ(window.limit(), 1020);
  window.Next(Waiting(3, 1030), kFew);
  EXPECT_EQ(window.limit(), 1050) << "as wide as the last";
}

TEST(Windows, ComeAgainWhereAListWasFull) {
  Windows window(10, kFew);
  window.Next(Waiting(5, 3), 0);
  WindowCounts full = Waiting(2, 4);
  full.full = 1;
  window.Next(full, 0);
  EXPECT_EQ(window.from(), -kInfinity<double>);
  EXPECT_EQ(window.limit(), 13);
}

TEST(Windows, PassAPriorityThatTheirWidthDoesNotReach) {
  Windows window(1e-30, kFew);
  window.Next(Waiting(5, 1e10), 0);
  EXPECT_GT(window.limit(), 1e10);
  window.Next(Waiting(5, kInfinity<double>), 0);
  EXPECT_EQ(window.limit(), kInfinity<double>);
}

TEST(StepLeader, TakesWindowsWhenNothingElseIsLeft) {
  StepLeader<true> leader(kNoRule, 4, 10, 10, 10, kFew);
  const WindowCounts some{.left = 1};
  EXPECT_FALSE(leader.IsOut(Far(3, 5)));
  StepOrder order = leader.Next(Far(3, 5), some);  // one device has a frontier, another one's waits
  EXPECT_FALSE(order.takes_window);
  EXPECT_TRUE(order.takes_far);
  EXPECT_EQ(order.limit, 15);
  EXPECT_TRUE(leader.IsOut({}));
  order = leader.Next({}, some);
  EXPECT_FALSE(order.ends);
  EXPECT_TRUE(order.takes_window);
  EXPECT_FALSE(order.takes_far);
  EXPECT_EQ(order.limit, -kInfinity<double>) << "counts";
  order = leader.Next({}, Waiting(7, 20));
  EXPECT_TRUE(order.takes_window);
  EXPECT_EQ(order.width, -kInfinity<double>) << "where the window begins";
  EXPECT_EQ(order.limit, 30);
  // What it has taken begins with a limit of its own.
  order = leader.Next(Far(4, 20), Waiting(3, 40));
  EXPECT_FALSE(order.takes_window);
  EXPECT_TRUE(order.takes_far);
  EXPECT_EQ(order.limit, 30);
  EXPECT_EQ(order.width, 10);
  StepCounts near;
  near.near = 2;
  near.done = 50;
  order = leader.Next(near);
  EXPECT_EQ(order.limit, 40) << "items go on before a window";
  StepCounts worked;
  worked.done = 60;
  order = leader.Next(worked, Waiting(3, 40));
  EXPECT_TRUE(order.takes_window);
  EXPECT_EQ(order.width, 30);
  EXPECT_EQ(order.limit, 50);
  // The widths of later windows are by the items that the last one brought.
  for (const std::uint32_t done : {kFew, kFew - 1}) {
    const double from = order.limit, width = done < kFew ? 20 : 10;
    leader.Next(Far(1, from));
    near.done = done - 30;
    leader.Next(near);
    worked.done = 30;
    order = leader.Next(worked, Waiting(2, from));
    EXPECT_TRUE(order.takes_window);
    EXPECT_EQ(order.width, from);
    EXPECT_EQ(order.limit, from + width) << done;
  }
  order = leader.Next({}, WindowCounts{});
  EXPECT_TRUE(order.ends);
  EXPECT_EQ(order.end, End::kDone);
}

TEST(StepLeader, BucketsAreAsWideAsTheirWindowIfTheyAdapt) {
  StepLeader<true> leader(kNoRule, 4, 10, 5, 30, kFew);
  leader.Next({}, {.left = 1});
  StepOrder order;
  for (const double width : {10.0, 10.0, 20.0, 30.0, 30.0}) {  // the first of a finite begin doubles: 40 and 80 are too wide
    order = leader.Next({}, Waiting(3, 1000));
    ASSERT_TRUE(order.takes_window);
    order = leader.Next(Far(1, 1000));
    EXPECT_EQ(order.width, width);
  }
}

TEST(StepLeader, AWindowEndsWithTheRun) {
  StepLeader<true> leader(kNoRule, 4, 10, 10, 10, kFew);
  StepCounts stop;
  stop.stop = 1;
  StepOrder order = leader.Next(stop, {.left = 1});
  EXPECT_TRUE(order.ends);
  EXPECT_EQ(order.end, End::kStopped) << "vertices wait";
  StepLeader<true> other(kNoRule, 4, 10, 10, 10, kFew);
  order = other.Next(stop, {});
  EXPECT_EQ(order.end, End::kDone) << "nothing was left to stop";
}

}  // namespace
}  // namespace chatty::fused
