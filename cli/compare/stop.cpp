#include "chatty/cli/compare/stop.h"

#include <condition_variable>
#include <mutex>

namespace chatty::cli {

CompareStop::CompareStop(double budget_s) : limited_(budget_s > 0) {
  using Clock = std::chrono::steady_clock;
  if (limited_) end_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(budget_s));
}

void CompareStop::Begin() {
  forward_.emplace(interrupt_.token(), [this] { stop_.request_stop(); });
  if (limited_) {
    alarm_ = std::jthread([this](const std::stop_token& over) {
      std::mutex mutex;
      std::condition_variable_any until;
      std::unique_lock lock(mutex);
      if (!until.wait_until(lock, over, end_, [] { return false; }) && !over.stop_requested()) stop_.request_stop();
    });
  }
  interrupt_.Begin();
}

void CompareStop::End() noexcept {
  interrupt_.End();
  alarm_.request_stop();
}

bool CompareStop::requested() const {
  return stop_.stop_requested() || (limited_ && std::chrono::steady_clock::now() >= end_);
}

}  // namespace chatty::cli
