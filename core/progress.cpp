#include "chatty/core/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <string_view>
#include <system_error>
#include <utility>

namespace chatty {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kQuiet{200};     // work shorter than this shows nothing
constexpr milliseconds kInterval{100};  // between redraws
constexpr int kBarWidth = 28;

std::atomic<bool> enabled{true};

// The one line of the process: the bar that occupies it, and its file descriptor.
struct Line {
  std::mutex mutex;
  const void* owner = nullptr;
  int descriptor = -1;
};
Line& TheLine() {
  static Line& line = *new Line;  // never destroyed: bars and logs of static objects may outlive main()
  return line;
}

void WriteAll(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written <= 0) return;  // failure to draw a bar does not fail the work
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void Wipe(Line& line) {
  if (line.owner == nullptr) return;
  WriteAll(line.descriptor, "\r\x1b[K");
  line.owner = nullptr;
}

std::size_t Columns(int descriptor) {
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

/// Gives the line to `owner` and writes `text` to it, cut to the terminal's width.
void Put(const void* owner, int descriptor, std::string text) {
  // A wrapped line cannot be wiped. The last column stays free, because some terminals wrap when it is written.
  text.resize(std::min(text.size(), Columns(descriptor) - 1));
  Line& line = TheLine();
  const std::lock_guard lock(line.mutex);
  if (line.owner != nullptr && line.descriptor != descriptor) Wipe(line);
  line.owner = owner;
  line.descriptor = descriptor;
  WriteAll(descriptor, "\r" + text + "\x1b[K");
}

void WipeIfHeldBy(const void* owner) {
  Line& line = TheLine();
  const std::lock_guard lock(line.mutex);
  if (line.owner == owner) Wipe(line);
}

/// A number with a unit prefix: "12.3 M" for 12345678.
std::string Short(double value) {
  constexpr std::string_view kUnits[] = {"", " k", " M", " G", " T"};
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < std::size(kUnits)) {
    value /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}{}", value, kUnits[unit]);
}

}  // namespace

Progress::Progress(std::string label, std::uint64_t total, int descriptor, Clock::time_point (*now)())
    : label_(std::move(label)),
      total_(total),
      descriptor_(descriptor),
      terminal_(::isatty(descriptor) == 1),
      now_(now),
      start_(now()),
      next_draw_((start_ + kQuiet).time_since_epoch().count()) {}

void Progress::Advance(std::uint64_t n) {
  done_.fetch_add(n, std::memory_order_relaxed);
  if (!terminal_ || !enabled.load(std::memory_order_relaxed)) return;
  const Clock::time_point now = now_();
  Clock::rep due = next_draw_.load(std::memory_order_relaxed);
  if (now.time_since_epoch().count() < due) return;
  const Clock::rep next = (now + kInterval).time_since_epoch().count();
  if (next_draw_.compare_exchange_strong(due, next, std::memory_order_relaxed)) Draw(now);
}

void Progress::Draw(Clock::time_point now) {
  const std::uint64_t done = this->done();
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
  std::string text;
  if (total_ == 0) {
    text = fmt::format("{}  {}  {}/s", label_, Short(static_cast<double>(done)), Short(rate));
  } else {
    const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total_));
    const int filled = static_cast<int>(share * kBarWidth);
    const double left = rate > 0 ? static_cast<double>(total_) * (1 - share) / rate : 0;
    text = fmt::format("{}  [{:=<{}}{:{}}] {:3.0f} %  {}/s  {:.0f} s left", label_, "", filled, "", kBarWidth - filled,
                       share * 100, Short(rate), left);
  }
  Put(this, descriptor_, std::move(text));
}

void Progress::Finish() {
  if (!terminal_) return;
  next_draw_.store(Clock::time_point::max().time_since_epoch().count(), std::memory_order_relaxed);
  WipeIfHeldBy(this);
}

void Progress::SetEnabled(bool on) {
  enabled.store(on, std::memory_order_relaxed);
  if (!on) WipeLine();
}

void Progress::WipeLine() {
  Line& line = TheLine();
  const std::lock_guard lock(line.mutex);
  Wipe(line);
}

PhaseLine::PhaseLine(std::string_view phase, int descriptor, milliseconds after)
    : descriptor_(descriptor), after_(after), phase_(phase), begun_(std::chrono::steady_clock::now()) {
  if (::isatty(descriptor) != 1 || !enabled.load(std::memory_order_relaxed)) return;
  try {
    thread_ = std::thread([this] {
      std::unique_lock lock(mutex_);
      while (!ended_.wait_for(lock, kInterval, [this] { return over_; })) Draw();
    });
  } catch (const std::system_error&) {  // failure to start the line does not fail the work
  }
}

void PhaseLine::Finish() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  ended_.notify_one();
  thread_.join();
  WipeIfHeldBy(this);
}

void PhaseLine::Begin(std::string_view phase) {
  if (!thread_.joinable()) return;
  const std::lock_guard lock(mutex_);
  phase_ = phase;
  begun_ = std::chrono::steady_clock::now();
  rounds_.store(0, std::memory_order_relaxed);
  WipeIfHeldBy(this);
}

void PhaseLine::ShowRound(std::uint32_t rounds, std::uint64_t active, double change) noexcept {
  active_.store(active, std::memory_order_relaxed);
  change_.store(change, std::memory_order_relaxed);
  rounds_.store(rounds, std::memory_order_relaxed);
}

void PhaseLine::Draw() {
  const auto lasted = std::chrono::steady_clock::now() - begun_;
  if (lasted < after_) return;
  std::string text = phase_;
  if (const std::uint32_t rounds = rounds_.load(std::memory_order_relaxed); rounds > 0) {
    const double change = change_.load(std::memory_order_relaxed);
    text += std::isnan(change) ? fmt::format(", round {}, {} active", rounds,
                                             Short(static_cast<double>(active_.load(std::memory_order_relaxed))))
                               : fmt::format(", round {}, change {:.0e}", rounds, change);
  }
  Put(this, descriptor_, fmt::format("{}  {:.0f} s", text, std::chrono::duration<double>(lasted).count()));
}

}  // namespace chatty
