/// \file
/// One OpenMP thread a device.
#pragma once

#include "chatty/core/error.h"
#include "chatty/core/parallel.h"
#include "chatty/core/trace.h"
#include "chatty/framework/spans.h"
#include "chatty/framework/statistics.h"

namespace chatty {

/// The span of a whole run on one device's track, which may be null. It begins at the run's `start`, perhaps before the
/// device's thread starts. Its first part records that wait.
class RunSpan {
 public:
  RunSpan(TraceTrack* track, Clock::time_point start, bool alone, DeviceStatistics& account)
      : span_(track, nullptr, track == nullptr ? kRunSpan : track->run_kind(),
              track == nullptr ? SpanArguments{} : track->run_arguments(), start) {
    if (!alone) const Span waited(track, &account.waiting_ms, spans::kStart, {}, start);
  }

 private:
  const Span span_;
};

/// Calls body(d) concurrently for every device d below `devices`, each on its own OpenMP thread (a single device on the
/// caller's thread). The caller's next run with the same number of devices reuses the threads. `body` must not throw. Throws
/// CapabilityError if OpenMP grants fewer threads: devices that wait for each other cannot take turns.
template <class Body>
void RunOnDevices(int devices, Body&& body) {
  if (devices == 1) {
    body(0);
    return;
  }
  OpenMpTeam& team = DeviceTeam(devices);
  if (team.size() != devices) {
    Throw<CapabilityError>("{} devices need as many OpenMP threads, but {} were granted; unset OMP_THREAD_LIMIT", devices,
                           team.size());
  }
  team.Run(devices, body);
}

}  // namespace chatty
