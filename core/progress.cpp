#include "chatty/core/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <string_view>
#include <utility>

namespace chatty {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kQuiet{200};     // work shorter than this shows nothing
constexpr milliseconds kInterval{100};  // between redraws
constexpr int kBarWidth = 28;

std::atomic<bool> enabled{true};

// The line is one for the whole process: what stands on it, and where.
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
    if (written <= 0) return;  // a bar that cannot be drawn is no reason to fail the work
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

/// 12.3 M rather than 12345678.
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
  // A line that wraps cannot be wiped again. The last column stays free: some terminals wrap on reaching it.
  text.resize(std::min(text.size(), Columns(descriptor_) - 1));

  Line& line = TheLine();
  const std::lock_guard lock(line.mutex);
  if (line.owner != nullptr && line.descriptor != descriptor_) Wipe(line);
  line.owner = this;
  line.descriptor = descriptor_;
  WriteAll(descriptor_, "\r" + text + "\x1b[K");
}

void Progress::Finish() {
  if (!terminal_) return;
  next_draw_.store(Clock::time_point::max().time_since_epoch().count(), std::memory_order_relaxed);
  Line& line = TheLine();
  const std::lock_guard lock(line.mutex);
  if (line.owner == this) Wipe(line);
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

}  // namespace chatty
