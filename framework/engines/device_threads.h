/// \file
/// One OpenMP thread a device.
#pragma once

#include "chatty/core/error.h"
#include "chatty/core/parallel.h"

namespace chatty {

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
