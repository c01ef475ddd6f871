/// \file
/// One OpenMP thread a device.
#pragma once

#include <omp.h>

#include "chatty/core/error.h"

namespace chatty {

/// Calls body(d) for every device d below `devices`, all at the same time, each on an OpenMP thread of its own. `body` must
/// not throw. Throws CapabilityError if OpenMP grants fewer threads: devices that wait for each other cannot take turns.
template <class Body>
void RunOnDevices(int devices, Body&& body) {
  int granted = 1;
  if (devices == 1) {
    body(0);
    return;
  }
  const int dynamic = omp_get_dynamic();
  omp_set_dynamic(0);
#pragma omp parallel num_threads(devices)
  {
    if (omp_get_thread_num() == 0) granted = omp_get_num_threads();
    if (omp_get_num_threads() == devices) body(omp_get_thread_num());
  }
  omp_set_dynamic(dynamic);
  if (granted != devices) {
    Throw<CapabilityError>(
        "{} devices need as many OpenMP threads, but {} were granted; unset OMP_THREAD_LIMIT and do not "
        "start a run inside another parallel region",
        devices, granted);
  }
}

}  // namespace chatty
