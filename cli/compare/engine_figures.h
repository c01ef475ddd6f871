/// \file
/// Groute's figures of programs (Ben-Nun et al., PPoPP'17), made from what was compared: times of engines over numbers of
/// devices, with and without priorities and fused workers. And the work of each engine.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "chatty/cli/compare/data.h"
#include "chatty/cli/compare/plan.h"

namespace chatty::cli {

/// What an engine figure has on its y axis.
enum class EngineAxis : std::uint8_t {
  kTimes,          ///< milliseconds of each engine
  kOptimisations,  ///< milliseconds without priorities, with them, and in a fused worker
  kWork,           ///< items a vertex
};

/// What a figure of engines compares.
struct EngineFigure {
  std::string_view name, programs, executions;  ///< as `compare` takes them
  EngineAxis axis = EngineAxis::kTimes;
};
/// Null for the name of another figure.
const EngineFigure* FindEngineFigure(std::string_view name);

/// Sets programs, engines and paths that the command line has not set: as ApplyPreset.
void ApplyEnginePreset(const EngineFigure& what, CompareOptions& options,
                       const std::function<bool(std::string_view)>& given);

/// Whether the figure may show a combination. The fused worker's series needs its run, too: see TakeEngines.
bool Shows(const EngineFigure& what, const Combination& combination, DeviceKind kind);

/// Adds the series of what was measured, and notes on what the command line has left out. Of several partitions and paths,
/// the fastest counts.
void TakeEngines(const EngineFigure& what, Figure& figure, const ComparePlan& plan, const Comparison& comparison);

}  // namespace chatty::cli
