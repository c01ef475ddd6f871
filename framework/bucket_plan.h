/// \file
/// How wide the first bucket of a run is: from the graph's weights and degrees.
#pragma once

#include <cstddef>

#include "chatty/core/device.h"
#include "chatty/core/graph.h"
#include "chatty/framework/buckets.h"
#include "chatty/framework/step_set.h"

namespace chatty {

/// Buckets for a run on so many devices of this kind. None without an order, where weights do not differ, where rounds are
/// to pull, or where the graph is so small that rounds cost more than edges.
BucketPlan PlanBuckets(const Graph& graph, const ProgramTraits& traits, const RunOptions& options, DeviceKind kind,
                       std::size_t devices);

}  // namespace chatty
