/// \file
/// Progress bars and lines for work that lasts: on stderr, and only where a person watches.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

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

/// Says what is being done and for how long, once that has taken a second, for work that cannot count itself: a thread
/// draws the line. Silent, and without a thread, where Progress would be. Bars that are drawn meanwhile take the line.
class PhaseLine {
 public:
  /// `after`: how long a phase lasts before it is shown.
  explicit PhaseLine(std::string_view phase, int descriptor = 2,
                     std::chrono::milliseconds after = std::chrono::milliseconds(1000));
  ~PhaseLine() { Finish(); }
  PhaseLine(const PhaseLine&) = delete;
  PhaseLine& operator=(const PhaseLine&) = delete;

  /// What follows. Its time starts now.
  void Begin(std::string_view phase);
  /// How far a run has come: `rounds` made, the last of which changed `active` vertices and made, unless it is NaN, a change
  /// of so much. Costs three relaxed stores. Begin() forgets it.
  void TellRound(std::uint32_t rounds, std::uint64_t active, double change) noexcept;
  /// Wipes the line for good, before something else is written. The destructor does so too.
  void Finish();
  /// Whether anything would be shown; where not, nobody need call.
  bool shown() const { return thread_.joinable(); }

 private:
  void Draw();

  const int descriptor_;
  const std::chrono::milliseconds after_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable ended_;
  bool over_ = false;
  std::string phase_;
  std::chrono::steady_clock::time_point begun_;
  std::atomic<std::uint32_t> rounds_{0};
  std::atomic<std::uint64_t> active_{0};
  std::atomic<double> change_{0};
  std::thread thread_;
};

}  // namespace chatty
