// What the devices of an asynchronous run find together: that it is over, and that the limit is to rise.
#include "chatty/framework/engines/work_signals.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace chatty::test {
namespace {

using Termination = WorkSignals::Termination;

BucketPlan Wide(double width, double early_edges = 0) {
  BucketPlan plan;
  plan.width = width;
  plan.early_edges = early_edges;
  return plan;
}

WorkReport Ahead(std::uint64_t edges, std::int64_t pending = 0, double first = 0) {
  WorkReport report;
  report.edges = edges;
  report.pending = pending;
  report.first_pending = pending > 0 ? PriorityKey(first) : 0;
  return report;
}

TEST(WorkSignals, ARunIsOverWhenAllAreIdleAndNothingIsOnTheWay) {
  WorkSignals signals(3, {});
  EXPECT_FALSE(signals.ordered());
  EXPECT_EQ(signals.limit().value, kInfinity<double>);
  for (PartId d = 0; d < 3; ++d) {
    EXPECT_EQ(signals.CheckTermination(0), Termination::kNo) << d << " idle";
    signals.SetIdle(d, 0);
  }
  EXPECT_EQ(signals.CheckTermination(0), Termination::kDone);
  signals.CountSent(1);
  EXPECT_EQ(signals.CheckTermination(0), Termination::kNo) << "a buffer is on the way";
  signals.ClearIdle(2);
  signals.CountReceived(2, 1);
  EXPECT_EQ(signals.CheckTermination(0), Termination::kNo);
  signals.SetIdle(2, 0);
  EXPECT_EQ(signals.CheckTermination(0), Termination::kDone);
}

TEST(WorkSignals, TheLimitRisesOnceABucket) {
  WorkSignals signals(2, Wide(10));
  ASSERT_TRUE(signals.ordered());
  EXPECT_EQ(signals.limit().value, -kInfinity<double>);
  signals.Report(0, 0, Ahead(0, 2, 7));
  signals.Report(1, 0, Ahead(0, 1, 4));
  signals.SetIdle(0, 0);
  signals.SetIdle(1, 0);
  ASSERT_EQ(signals.CheckTermination(0), Termination::kNext);
  const std::uint32_t wakes = signals.WakeCount(1);
  signals.Raise(0);
  const WorkSignals::Limit limit = signals.limit();
  EXPECT_EQ(limit.value, 14) << "above the first pending vertex of all devices";
  EXPECT_NE(limit.bucket, 0u);
  EXPECT_NE(signals.WakeCount(1), wakes) << "who sleeps is to wake";
  signals.Raise(0);  // what another device does after the same check
  EXPECT_EQ(signals.limit().bucket, limit.bucket);
  EXPECT_EQ(signals.limit().value, limit.value);
  // Who is idle in the last bucket may have work in this one.
  EXPECT_EQ(signals.CheckTermination(limit.bucket), Termination::kNo);
  signals.Report(0, limit.bucket, Ahead(0));
  signals.Report(1, limit.bucket, Ahead(0));
  signals.SetIdle(0, limit.bucket);
  EXPECT_EQ(signals.CheckTermination(limit.bucket), Termination::kNo);
  signals.SetIdle(1, limit.bucket);
  EXPECT_EQ(signals.CheckTermination(limit.bucket), Termination::kDone);
}

TEST(WorkSignals, LittleWorkDoesNotHoldTheLimit) {
  WorkSignals exact(2, Wide(10)), signals(2, Wide(10, /*early_edges=*/100));
  for (PartId d = 0; d < 2; ++d) exact.Report(d, 0, Ahead(1, 1, 5));
  EXPECT_FALSE(exact.RaiseEarly(0)) << "devices work";
  signals.Report(0, 0, Ahead(30, 1, 5));
  EXPECT_FALSE(signals.RaiseEarly(0)) << "the other has not said anything";
  signals.Report(1, 0, Ahead(80, 0));
  EXPECT_FALSE(signals.RaiseEarly(0)) << "110 edges";
  signals.Report(1, 0, Ahead(60, 0));
  EXPECT_TRUE(signals.RaiseEarly(0));
  const WorkSignals::Limit limit = signals.limit();
  EXPECT_EQ(limit.value, 15);
  signals.Report(0, limit.bucket, Ahead(10, 1, 20));
  EXPECT_FALSE(signals.RaiseEarly(limit.bucket)) << "the other has not taken the last limit";
  signals.Report(1, limit.bucket, Ahead(10, 0));
  EXPECT_TRUE(signals.RaiseEarly(limit.bucket));
  const std::uint64_t last = signals.limit().bucket;
  for (PartId d = 0; d < 2; ++d) signals.Report(d, last, Ahead(10, 0));
  EXPECT_FALSE(signals.RaiseEarly(last)) << "nothing is pending";
}

TEST(WorkSignals, WidthsAdaptToSweepsAndToEdgesRelaxedAgain) {
  BucketPlan plan = Wide(8);
  plan.adapts = true;
  plan.round_edges = 100;
  const auto risen = [&](const WorkReport& report) {
    WorkSignals signals(2, plan);
    double before = 0;
    for (int bucket = 0; bucket < 20; ++bucket) {
      before = signals.limit().value;
      const std::uint64_t number = signals.limit().bucket;
      for (PartId d = 0; d < 2; ++d) signals.Report(d, number, report);
      signals.Raise(number);
    }
    return signals.limit().value - before;
  };
  WorkReport idle = Ahead(0, 1, -1000), again = idle;
  idle.added_edges = idle.first_edges = 10;
  idle.sweeps = again.sweeps = 5;
  again.added_edges = 10000;
  again.first_edges = 2000;
  EXPECT_GT(risen(idle), 16);
  EXPECT_LT(risen(again), 4);
}

// Devices with pending vertices alone: the limit passes them all, in order, and then the run is over. Whoever is last finds
// it, whether the limit rises early or not.
TEST(WorkSignals, TheLimitPassesAllPendingVertices) {
  constexpr PartId kDevices = 4;
  constexpr int kVertices = 300;
  for (const double early_edges : {0.0, 3.0}) {
    WorkSignals signals(kDevices, Wide(2, early_edges));
    std::atomic<int> released{0};
    std::atomic<bool> over{false}, disordered{false};
    const auto device = [&](PartId me) {
      int next = 0;  // vertex i of a device has priority i * kDevices + me
      std::uint64_t bucket = 0;
      double limit = signals.limit().value;
      const auto priority = [&] { return static_cast<double>(next * static_cast<int>(kDevices) + static_cast<int>(me)); };
      while (!over.load()) {
        const std::uint32_t seen = signals.WakeCount(me);
        const WorkSignals::Limit now = signals.limit();
        if (now.bucket != bucket) {
          if (now.value < limit) disordered = true;
          bucket = now.bucket;
          limit = now.value;
        }
        int active = 0;
        for (; next < kVertices && priority() < limit; ++next) ++active;
        released += active;
        WorkReport report = Ahead(0, kVertices - next, priority());
        report.added_edges = static_cast<std::uint64_t>(active);
        report.sweeps = 1;
        signals.Report(me, bucket, report);
        if (signals.RaiseEarly(bucket) || signals.limit().bucket != bucket) continue;
        signals.SetIdle(me, bucket);
        const Termination termination = signals.CheckTermination(bucket);
        if (termination == Termination::kDone) {
          over = true;
          signals.WakeAll();
          return;
        }
        if (termination == Termination::kNext) signals.Raise(bucket);
        signals.Wait(me, seen, {});
        signals.ClearIdle(me);
      }
    };
    std::vector<std::thread> others;
    for (PartId d = 1; d < kDevices; ++d) others.emplace_back(device, d);
    device(0);
    for (std::thread& other : others) other.join();
    EXPECT_EQ(released.load(), kVertices * static_cast<int>(kDevices)) << early_edges;
    EXPECT_FALSE(disordered.load()) << "a limit fell";
  }
}

// Two devices hand on one piece of work and fall idle, without any luck of timing: neither sees an end while it travels.
TEST(WorkSignals, NobodySeesTheEndWhileWorkTravels) {
  for (int run = 0; run < 200; ++run) {
    WorkSignals signals(2, {});
    std::atomic<int> messages[2] = {1, 0};  // hops made, plus 1; 0: none
    constexpr int kHops = 50;
    std::atomic<int> last{0};
    std::atomic<bool> over{false};
    const auto device = [&](PartId me) {
      bool has = me == 0;
      while (!over.load()) {
        const std::uint32_t seen = signals.WakeCount(me);
        const int hops = has || messages[me].load() > 1 ? messages[me].exchange(0) : 0;
        if (hops > 0) {
          if (!has) signals.CountReceived(me, 1);
          has = false;
          last = hops;
          if (hops <= kHops) {
            signals.CountSent(me);
            messages[1 - me].store(hops + 1);
            signals.Wake(1 - me);
          }
          continue;
        }
        signals.SetIdle(me, 0);
        if (signals.CheckTermination(0) == Termination::kDone) {
          over = true;
          signals.WakeAll();
          return;
        }
        signals.Wait(me, seen, {});
        signals.ClearIdle(me);
      }
    };
    std::thread other(device, 1);
    device(0);
    other.join();
    ASSERT_EQ(last.load(), kHops + 1) << "run " << run;
  }
}

}  // namespace
}  // namespace chatty::test
