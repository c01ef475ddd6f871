#include "round_watcher.h"

#include <cmath>
#include <utility>

#include "chatty/core/error.h"

namespace chatty::python {
namespace {

thread_local const KeptSession* watched = nullptr;  // whose run this thread reports

}  // namespace

RoundWatcher::RoundWatcher(nb::object report, double interval, const KeptSession& session, std::stop_source& stop)
    : report_(std::move(report)),
      interval_(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(interval))),
      session_(&session),
      stop_(&stop) {}

void RoundWatcher::Report(const RoundProgress& progress) noexcept {
  const Clock::time_point now = Clock::now();
  if (failure_ || now < next_) return;
  next_ = now + interval_;
  {
    const nb::gil_scoped_acquire lock;
    const KeptSession* const before = std::exchange(watched, session_);
    try {
      nb::object change = nb::none();
      if (!std::isnan(progress.change)) change = nb::float_(progress.change);
      report_(progress.rounds, progress.active, change, std::chrono::duration<double>(now - start_).count());
    } catch (...) {
      failure_ = std::current_exception();
    }
    watched = before;
  }
  if (failure_) stop_->request_stop();  // without the lock: other threads may answer the request
}

void RoundWatcher::Rethrow() const {
  if (failure_) std::rethrow_exception(failure_);
}

void RoundWatcher::CheckOutside(const KeptSession& session) {
  if (watched == &session) {
    throw UsageError(
        "a progress function cannot use the graph or the session whose run it watches, because the run waits for it; use "
        "another session");
  }
}

}  // namespace chatty::python
