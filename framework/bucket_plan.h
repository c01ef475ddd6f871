/// \file
/// Chooses the width of a run's first bucket from the graph's weights and degrees.
#pragma once

#include <cstddef>

#include "chatty/core/device.h"
#include "chatty/core/graph.h"
#include "chatty/framework/buckets.h"
#include "chatty/framework/step_set.h"

namespace chatty {

/// The buckets of a run on `devices` devices of this kind. None without a priority, with equal weights, if rounds pull, or
/// if the graph is so small that rounds cost more than edges.
BucketPlan PlanBuckets(const Graph& graph, const ProgramTraits& traits, const RunOptions& options, DeviceKind kind,
                       std::size_t devices);

}  // namespace chatty
