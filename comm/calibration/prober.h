/// \file
/// Probes of a calibration: launches and accesses to memory, without a transport.
#pragma once

#include <span>
#include <vector>

#include "chatty/comm/calibration.h"
#include "chatty/comm/calibration/timing.h"
#include "chatty/core/device.h"

namespace chatty::calibration {

/// Appends the results of all probes. `alike`: probes the first device, and the pairs of the first two.
void ProbeAll(std::span<Device* const> devices, const States& states, const CalibrationOptions& options, bool alike,
              std::vector<ProbeResult>& results);

}  // namespace chatty::calibration
