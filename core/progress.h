/// \file
/// A progress bar for work that lasts: on stderr, and only where a person watches.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

namespace chatty {

/// Draws how far some work has come while it lives, and wipes its line at its end. Silent unless the file descriptor is
/// a terminal and bars are enabled. Work that is over in a fifth of a second shows nothing; redraws come at most ten a
/// second.
///
/// Any number of threads may call Advance(). Bars may overlap in time; the one drawn last holds the line.
class Progress {
 public:
  using Clock = std::chrono::steady_clock;  ///< what intervals between redraws are measured by

  /// `total` is in the units that Advance() counts; 0 where it is not known, which shows the count without a bar.
  /// `descriptor` is where to draw: standard error, or a terminal of the caller's. `now` reads the clock.
  explicit Progress(std::string label, std::uint64_t total, int descriptor = 2, Clock::time_point (*now)() = Now);
  ~Progress() { Finish(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Says that `n` more units are done. Costs an atomic add and a look at the clock: call it for batches, not for
  /// edges.
  void Advance(std::uint64_t n = 1);
  /// Wipes the line for good. The destructor does so too.
  void Finish();

  /// Units that Advance() has counted.
  std::uint64_t done() const { return done_.load(std::memory_order_relaxed); }

  /// Switches all bars of the process on (the initial state) or off, as for `--quiet`.
  static void SetEnabled(bool enabled);
  /// Wipes a bar that stands on the line, so that other text can be written there; the bar's next redraw brings it
  /// back.
  static void WipeLine();

 private:
  static Clock::time_point Now() { return Clock::now(); }
  void Draw(Clock::time_point now);

  const std::string label_;
  const std::uint64_t total_;
  const int descriptor_;
  const bool terminal_;
  Clock::time_point (*const now_)();
  const Clock::time_point start_;
  std::atomic<std::uint64_t> done_{0};
  std::atomic<Clock::rep> next_draw_;  // since the clock's epoch; whoever moves it on draws
};

}  // namespace chatty
