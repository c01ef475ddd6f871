/// \file
/// How a thread of a host device waits for the work of other devices, which it polls.
#pragma once

#include <chrono>
#include <cstdint>
#include <thread>

#include "chatty/core/sync.h"

namespace chatty::fused::host {

/// Spins, then gives its core away between two looks. If that takes long, there are more threads than cores, and a thread
/// that gives its core away comes last: from then on it sleeps, which brings it back sooner. One for each thread and run.
class IdleWait {
 public:
  /// A wait begins.
  void Begin() {
    tries_ = 0;
    begin_ = Clock::now();
  }
  Clock::time_point begin() const { return begin_; }  ///< of the wait
  /// After a look that found nothing. Returns whether the wait should look at its deadline, too.
  bool Pause() {
    ++tries_;
    if (tries_ <= kSpins) return false;
    if (!sleeps_ && tries_ <= kYields) {
      const Clock::time_point before = Clock::now();
      std::this_thread::yield();
      sleeps_ = Clock::now() - before > kLong;
    } else {
      std::this_thread::sleep_for(kSleep);
    }
    return true;
  }

 private:
  static constexpr std::uint32_t kSpins = 64, kYields = 4096;
  static constexpr std::chrono::microseconds kLong{200}, kSleep{20};

  std::uint32_t tries_ = 0;
  Clock::time_point begin_{};
  bool sleeps_ = false;
};

}  // namespace chatty::fused::host
