#include "chatty/framework/run_lifecycle.h"

namespace chatty {

void RunLifecycle::EndFailedWork(const RunStatistics& last) const {
  if (last.ended != Ended::kFailed) return;
  for (Device* const device : devices_) {
    device->MakeCurrent();
    device->stream().Synchronize({nullptr, timeout_});
  }
}

void RunLifecycle::Begin(std::string_view execution, std::string_view transport, RunStatistics* statistics) const {
  *statistics = {};
  statistics->execution = execution;
  statistics->transport = transport;
  statistics->converged = false;
  statistics->ended = Ended::kFailed;
  statistics->devices.assign(devices_.size(), {});
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    statistics->devices[d].device = devices_[d]->label();
    statistics->devices[d].vertices = parts_[d].owned;
  }
  statistics->pairs.reserve(devices_.size() * devices_.size());  // so that a failure has room for its figures
}

void RunLifecycle::ThrowTimeout(const TimeoutError& error, const std::string& where) {
  if (where.empty()) throw;
  Throw<TimeoutError>("{}; {}", error.what(), where);
}

}  // namespace chatty
