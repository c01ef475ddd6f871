/// \file
/// Inputs and results of the host-driven engines.
#pragma once

#include <cstddef>

#include "chatty/core/device.h"
#include "chatty/framework/statistics.h"
#include "chatty/framework/step_set.h"
#include "chatty/framework/union_map.h"

namespace chatty {

/// One device's share of a run.
struct DeviceContext {
  Device* device = nullptr;
  const DeviceGraph* graph = nullptr;
  StepSet* steps = nullptr;
  const std::byte* prior = nullptr;  ///< device memory of owned Prior values; null without
  const UnionMap* unions = nullptr;  ///< where a broadcast is possible
};

/// The directions that the graphs support.
struct BuiltDirections {
  bool push = true, pull = true;
};

/// The result of a run, also of a failed one.
struct RunRecord {
  RunStatistics statistics;
  RoundState round;          ///< the last finished round
  bool initialised = false;  ///< all vertices have a value
};

}  // namespace chatty
