/// \file
/// One path of a calibration: buffers of all encodings and sizes go through its transport, between pairs of devices and
/// under load.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "chatty/comm/calibration/timing.h"
#include "chatty/comm/cost_model.h"
#include "chatty/comm/transport.h"
#include "chatty/core/device.h"

namespace chatty::calibration {

inline constexpr std::size_t kFewestSizes = 3;  ///< measured however long they take: a fit needs them

/// Which devices send to which at once.
struct Pattern {
  std::vector<std::pair<PartId, PartId>> buffers;  ///< from and to; a device and itself: its broadcast to all others
  MeasuredLoad load = MeasuredLoad::kAlone;
};

/// The patterns of a path that joins these pairs. `alike`: one pair alone stands for all, and one broadcast.
std::vector<Pattern> PatternsBetween(PartId parts, const std::function<bool(PartId, PartId)>& joined, bool alike);

/// Measures a path and sets its costs in the model. After `seconds`, no larger size begins.
void MeasurePath(std::span<Device* const> devices, const States& states, Transport& transport, std::vector<Pattern> patterns,
                 std::span<const std::size_t> sizes, bool quick, bool alike, double seconds, CostModel& model,
                 std::size_t path);

}  // namespace chatty::calibration
