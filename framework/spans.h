/// \file
/// What the framework's spans are called: in the timeline of a trace, and in a profiler. See core/trace.h.
#pragma once

#include "chatty/core/trace.h"

namespace chatty::spans {

using Category = SpanCategory;

// What encloses.
inline constexpr SpanKind kPhase{"phase #", Category::kRound, {"phase"}};
inline constexpr SpanKind kPushRound{"round # (push)", Category::kRound, {"round", "active_vertices", "active_edges"}};
inline constexpr SpanKind kPullRound{"round # (pull)", Category::kRound, {"round", "active_vertices", "candidate_edges"}};

/// From a run's start until a device's own thread is at work.
inline constexpr SpanKind kStart{"start", Category::kWaiting};

// Steps; see StepSet.
inline constexpr SpanKind kInit{"init", Category::kCompute, {"vertices"}};
inline constexpr SpanKind kActivate{"activate", Category::kCompute, {"phase"}};
inline constexpr SpanKind kConvertFrontier{"convert frontier", Category::kCompute, {"vertices"}};
inline constexpr SpanKind kAdvance{"advance", Category::kCompute, {"vertices", "edges"}};
inline constexpr SpanKind kPublish{"publish", Category::kCompute, {"vertices"}};
inline constexpr SpanKind kGather{"gather", Category::kCompute, {"candidate_edges"}};
inline constexpr SpanKind kCollect{"collect", Category::kCompute};
inline constexpr SpanKind kApply{"apply", Category::kCompute, {"expected"}};
inline constexpr SpanKind kRelease{"release", Category::kCompute, {"pending"}};
inline constexpr SpanKind kReadCounters{"read counters", Category::kCompute};
inline constexpr SpanKind kMeasure{"measure", Category::kCompute};

inline constexpr SpanKind kFusedStep{"step # of a fused run", Category::kRound, {"step", "items", "width"}};

// The exchange within a round.
inline constexpr SpanKind kPack{"pack", Category::kCommunication};
inline constexpr SpanKind kReadLengths{"read lengths", Category::kCommunication};
inline constexpr SpanKind kPost{"post to #", Category::kCommunication, {"peer", "bytes", "messages"}};
inline constexpr SpanKind kWaitForNeighbours{"wait for neighbours", Category::kWaiting};
inline constexpr SpanKind kReceiveAll{"receive", Category::kCommunication, {}, /*on_stream=*/false};
inline constexpr SpanKind kReceive{"receive from #", Category::kCommunication, {"peer", "bytes", "messages"}};
inline constexpr SpanKind kUnpack{"unpack from #", Category::kCommunication, {"peer", "messages"}};

// Between the sweeps of an asynchronous engine.
inline constexpr SpanKind kIdle{"idle", Category::kWaiting};

// The end of a round.
inline constexpr SpanKind kAllReduce{"all-reduce", Category::kWaiting};
inline constexpr SpanKind kEndRound{"ask the program", Category::kHost};
inline constexpr SpanKind kBroadcastDecision{"broadcast the decision", Category::kWaiting};

// Counters and instants of a device.
inline constexpr SpanKind kActiveVertices{"active vertices", Category::kRound};
inline constexpr SpanKind kBytesSent{"bytes sent a round", Category::kRound};
inline constexpr SpanKind kInFlight{"buffers in flight", Category::kRound};
inline constexpr SpanKind kFailed{"failed", Category::kRound};

// Operators.
inline constexpr SpanKind kProgram{"program", Category::kCompute, {}, /*on_stream=*/false};
inline constexpr SpanKind kFor{"for", Category::kCompute, {"count"}};
inline constexpr SpanKind kForEachVertex{"for each vertex", Category::kCompute, {"vertices"}};
inline constexpr SpanKind kForEachEdge{"for each edge", Category::kCompute, {"vertices"}};
inline constexpr SpanKind kForEachNeighbourPair{"for each neighbour pair", Category::kCompute, {"vertices"}};
inline constexpr SpanKind kForEachGroup{"for each group", Category::kCompute, {"count"}};
inline constexpr SpanKind kExclusiveSum{"exclusive sum", Category::kCompute, {"count"}};
inline constexpr SpanKind kReduce{"reduce", Category::kCompute, {"count"}};
inline constexpr SpanKind kCopyOut{"copy out", Category::kCompute, {"bytes"}};
inline constexpr SpanKind kSynchronise{"synchronise", Category::kCompute, {}, /*on_stream=*/false};
inline constexpr SpanKind kAllocateBuffers{"allocate buffers", Category::kCompute, {}, /*on_stream=*/false};
inline constexpr SpanKind kBarrier{"barrier", Category::kWaiting};

// A session.
inline constexpr SpanKind kPartition{"partition", Category::kHost, {"parts"}};
inline constexpr SpanKind kSubgraphs{"build subgraphs", Category::kHost, {"parts"}};
inline constexpr SpanKind kUpload{"upload", Category::kHost};
inline constexpr SpanKind kPlan{"plan", Category::kHost};
inline constexpr SpanKind kPrepare{"prepare", Category::kHost};
inline constexpr SpanKind kOutput{"copy results", Category::kHost};

}  // namespace chatty::spans
