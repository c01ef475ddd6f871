/// \file
/// One OpenMP thread a device.
#pragma once

#include <chrono>

#include "chatty/core/error.h"
#include "chatty/core/parallel.h"
#include "chatty/core/trace.h"
#include "chatty/framework/spans.h"
#include "chatty/framework/statistics.h"

namespace chatty {

/// Tells that a device's thread, which calls this first of all, has waited since the run's `start`. `lane` may be null.
inline void NoteStart(Clock::time_point start, TraceLane* lane, DeviceStatistics& account) {
  const Clock::time_point now = Clock::now();
  account.waiting_ms += std::chrono::duration<double, std::milli>(now - start).count();
  if (lane != nullptr) lane->AddSpan(spans::kStart, start, now, {});
}

/// Calls body(d) for every device d below `devices`, all at the same time, each on an OpenMP thread of its own (a single
/// device on the caller's). The threads are kept for the caller's next run of as many devices. `body` must not throw. Throws
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
