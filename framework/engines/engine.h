/// \file
/// Inputs and results of the host-driven engines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "chatty/comm/selector.h"
#include "chatty/core/device.h"
#include "chatty/core/trace.h"
#include "chatty/framework/engines/control_plane.h"
#include "chatty/framework/engines/peer_table.h"
#include "chatty/framework/fused/rounds_team.h"
#include "chatty/framework/fused/team.h"
#include "chatty/framework/fused/wide_team.h"
#include "chatty/framework/options.h"
#include "chatty/framework/run_lifecycle.h"
#include "chatty/framework/run_plan.h"
#include "chatty/framework/statistics.h"
#include "chatty/framework/step_set.h"
#include "chatty/framework/union_map.h"

namespace chatty {

/// One device's share of a run.
struct DeviceContext {
  Device* device = nullptr;
  const DeviceGraph* graph = nullptr;
  StepSet* steps = nullptr;
  const std::byte* input = nullptr;  ///< device memory of owned Input values; null without
  const UnionMap* unions = nullptr;  ///< where a broadcast is possible
};

/// What an engine runs, and on what.
struct EngineRun {
  const ErasedProgram& program;
  const RunLifecycle& lifecycle;
  std::span<const DeviceContext> devices;  ///< one a device
  const PeerTable& peers;
  ThreadControlPlanes& control;
  TransportSelector* paths;        ///< between the devices; null on one device
  fused::Team* team;               ///< of a fused run of all devices together; else null
  fused::RoundsTeam* rounds_team;  ///< of rounds that all devices make together; else null
  fused::WideTeam* wide_team;      ///< of such rounds of any width; else null
  const ProgramPlan& plan;         ///< the decisions before the run
  const RunOptions& options;
};

/// One device's view of a run, which the parts of its engine share. Of the other devices it has their counts alone.
struct DeviceRun {
  const ErasedProgram& program;
  const DeviceContext me;
  const PartId rank, parts;
  const PeerTable& peers;
  ControlPlane& control;
  TransportSelector* const paths;  ///< null on one device
  /// @{
  /// See EngineRun.
  fused::Team* const team;
  fused::RoundsTeam* const rounds_team;
  fused::WideTeam* const wide_team;
  /// @}
  const ProgramPlan& plan;
  const RunOptions& options;
  DeviceStatistics& account;
  TraceTrack* const track;  ///< null without a trace

  /// A span of this device's time, counted by its kind.
  Span Timed(const SpanKind& kind, const SpanArguments& arguments = {}) const {
    double* const time = kind.category == SpanCategory::kCompute         ? &account.compute_ms
                         : kind.category == SpanCategory::kCommunication ? &account.communication_ms
                                                                         : &account.waiting_ms;
    return Span(track, time, kind, arguments);
  }
};

/// One device's report of a run, also of a failed one.
struct DeviceReport {
  RoundState round;
  bool initialised = false;
  std::uint32_t fused_steps = 0;
  std::uint64_t edges_touched = 0, vertices_updated = 0, items = 0;
  std::vector<PairStatistics> pairs;  ///< one a receiver
  std::vector<BufferRecord> buffers;
};

/// The result of a run, also of a failed one.
struct RunRecord {
  RunStatistics statistics;
  RoundState round;          ///< the last finished round
  bool initialised = false;  ///< all vertices have a value
};

}  // namespace chatty
