#include "round_watcher.h"

#include <cmath>
#include <utility>

#include "chatty/core/error.h"

namespace chatty::python {
namespace {

thread_local const RoundWatcher* reporting = nullptr;  // whose function this thread is in

}  // namespace

RoundWatcher::RoundWatcher(nb::object report, double interval, const KeptSession& session, std::stop_source& stop)
    : report_(std::move(report)),
      interval_(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(interval))),
      session_(&session),
      stop_(&stop),
      outer_(reporting) {}

void RoundWatcher::Report(const RoundProgress& progress) noexcept {
  const Clock::time_point now = Clock::now();
  if (failure_ || now < next_) return;
  next_ = now + interval_;
  {
    const nb::gil_scoped_acquire lock;
    const RoundWatcher* const before = std::exchange(reporting, this);
    try {
      nb::object change = nb::none();
      if (!std::isnan(progress.change)) change = nb::float_(progress.change);
      report_(progress.rounds, progress.active, change, std::chrono::duration<double>(now - start_).count());
    } catch (...) {
      failure_ = std::current_exception();
    }
    reporting = before;
  }
  if (failure_) stop_->request_stop();  // without the lock: other threads may answer the request
}

void RoundWatcher::Rethrow() const {
  if (failure_) std::rethrow_exception(failure_);
}

void RoundWatcher::CheckOutside(const KeptSession& session) {
  for (const RoundWatcher* watcher = reporting; watcher != nullptr; watcher = watcher->outer_) {
    if (watcher->session_ != &session) continue;
    throw UsageError(
        "a progress function cannot use the graph or the session whose run it watches, because the run waits for it; use "
        "another session");
  }
}

}  // namespace chatty::python
