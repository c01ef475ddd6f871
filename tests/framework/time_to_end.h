/// \file
/// How long a run goes on after one of its devices has failed: until it has ended on all. What GPUs are to keep is a time,
/// so this is a measurement. Hosts share their cores with whatever else runs, so their bound finds hangs alone. The time is
/// the test's property `ms_to_end` in Google Test's XML.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <string>

#include "chatty/core/device.h"

namespace chatty::test {

/// The time from a failure to the return of the run. Several runs of one test record the longest.
class TimeToEnd {
 public:
  static constexpr double kMaxMs = 100, kMaxMsOnHosts = 30'000;

  /// A device fails, after so long from now: a deadline passes. A later call replaces it. Any thread may call it.
  void Begin(std::chrono::milliseconds after = {}) { failed_ = Now() + std::chrono::nanoseconds(after).count(); }
  /// The run has returned.
  void End(DeviceKind kind) {
    const double ms = static_cast<double>(Now() - failed_) / 1e6;
    const testing::TestInfo* const test = testing::UnitTest::GetInstance()->current_test_info();
    longest_ = test == test_ ? std::max(longest_, ms) : ms;
    test_ = test;
    testing::Test::RecordProperty("ms_to_end", std::to_string(longest_));
    EXPECT_LT(ms, kind == DeviceKind::kCuda ? kMaxMs : kMaxMsOnHosts) << "ms from the failure to the end on all devices";
  }

 private:
  /// Nanoseconds of a clock that no test sets forward (core/waits.h).
  static std::int64_t Now() {
    std::timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
  }

  std::atomic<std::int64_t> failed_{0};
  double longest_ = 0;
  const testing::TestInfo* test_ = nullptr;  // whose longest it is
};

}  // namespace chatty::test
