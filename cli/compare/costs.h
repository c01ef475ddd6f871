/// \file
/// What the cost model says of a comparison.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "chatty/cli/cost_curves.h"
#include "chatty/core/device.h"

namespace chatty::cli {

/// The lines from device 0 to device 1 of what is known of these devices, measured or nominal, for paths that can join them;
/// none for one device, or where the machine does not say what joins them. `threads`: as OpenDevices divides them.
std::optional<CostCurves> KnownCurves(const DeviceSelection& selection, std::string_view links, int threads);

/// Which costs a run between these devices goes by: "nominal", or the machine's fingerprint and the checksum of what was
/// measured, both in a word. `links` is the mask for so many devices.
std::string CostsName(const DeviceSelection& devices, std::string_view links, int threads);

}  // namespace chatty::cli
