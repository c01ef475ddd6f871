/// \file
/// Progress bars and status lines for long work, on stderr and only on a terminal.
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

/// Shows the progress of work during its lifetime, and wipes its line at the end. Silent unless the file descriptor is a
/// terminal and bars are enabled. Work shorter than a fifth of a second shows nothing. There are at most ten redraws per
/// second.
///
/// Any number of threads may call Advance(). Bars may overlap in time; the last one drawn occupies the line.
class Progress {
 public:
  using Clock = std::chrono::steady_clock;  ///< measures the intervals between redraws

  /// `total` is in the units of Advance(); 0: unknown, and only the count is shown. The bar is written to `descriptor`:
  /// standard error, or another terminal. `now` reads the clock.
  explicit Progress(std::string label, std::uint64_t total, int descriptor = 2, Clock::time_point (*now)() = Now);
  ~Progress() { Finish(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Reports `n` more finished units. Costs an atomic addition and a clock read, so call it once per batch, not per edge.
  void Advance(std::uint64_t n = 1);
  /// Wipes the line and ends the display. The destructor calls it.
  void Finish();

  /// Units reported so far.
  std::uint64_t done() const { return done_.load(std::memory_order_relaxed); }

  /// Enables (the initial state) or disables all bars of the process, as `--quiet` does.
  static void SetEnabled(bool enabled);
  /// Wipes a bar on the line, so that other text can be written. The bar's next redraw restores it.
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
  std::atomic<Clock::rep> next_draw_;  // since the clock's epoch; the thread that advances it draws
};

/// Shows the name and the duration of a phase that lasts a second or longer, for work without a count. A thread draws the
/// line. Where Progress would be silent, there is no line and no thread. Bars drawn meanwhile replace the line.
class PhaseLine {
 public:
  /// `after`: duration before a phase is shown.
  explicit PhaseLine(std::string_view phase, int descriptor = 2,
                     std::chrono::milliseconds after = std::chrono::milliseconds(1000));
  ~PhaseLine() { Finish(); }
  PhaseLine(const PhaseLine&) = delete;
  PhaseLine& operator=(const PhaseLine&) = delete;

  /// Begins the next phase at time 0.
  void Begin(std::string_view phase);
  /// Reports a run's progress: `rounds` finished rounds, `active` vertices changed in the last one, and its `change` unless
  /// it is NaN. Costs three relaxed stores. Begin() resets it.
  void ShowRound(std::uint32_t rounds, std::uint64_t active, double change) noexcept;
  /// Wipes the line and ends the display, before other output. The destructor calls it.
  void Finish();
  /// Whether a line can appear. If not, the other calls can be omitted.
  bool shown() const { return thread_.joinable(); }

 private:
  void Draw();

  const int descriptor_;
  const std::chrono::milliseconds after_;
  std::mutex mutex_;  // guards the members below
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
