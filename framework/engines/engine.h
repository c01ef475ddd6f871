/// \file
/// What the host-driven engines take and leave behind.
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
  const UnionMap* unions = nullptr;  ///< where something may be told to all
};

/// Which directions the graphs were built for.
struct BuiltDirections {
  bool push = true, pull = true;
};

/// What a run leaves behind, also one that failed.
struct RunRecord {
  RunStatistics statistics;
  RoundState round;          ///< the last round that was finished
  bool initialised = false;  ///< all vertices have a value
};

}  // namespace chatty
