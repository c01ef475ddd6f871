/// \file
/// The plan of a run: all decisions before anything is allocated on a device, as a value. PlanRun alone makes plans, after
/// it has checked options, programs, devices and memory; jobs and engines take its decisions. CheckRunOptions and
/// CheckProgramOptions check what needs no graph, also before one is loaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chatty/framework/buckets.h"
#include "chatty/framework/direction.h"
#include "chatty/framework/frontier_policy.h"
#include "chatty/framework/memory_plan.h"
#include "chatty/framework/options.h"
#include "chatty/framework/step_set.h"

namespace chatty {

class Session;

/// What drives a program on its devices.
enum class EngineKind : std::uint8_t {
  kBsp,        ///< RunBsp: rounds, all devices together
  kAsync,      ///< each device at its own pace: RunAsync, or a fused engine for the whole run
  kOperators,  ///< the program itself, on operators
};
/// An engine, its name, and the option that asks for it.
struct NamedEngine {
  EngineKind kind = EngineKind::kBsp;  ///< what drives the program
  std::string_view name;               ///< as in RunStatistics::execution
  std::optional<Execution> execution;  ///< none: the program alone decides
};
/// All engines.
std::span<const NamedEngine> Engines();
/// "bsp", "async" or "operators", as in RunStatistics::execution.
std::string_view EngineName(EngineKind engine);

/// What the program's fused engine does.
enum class FusedUse : std::uint8_t {
  kNone,           ///< nothing
  kBetweenRounds,  ///< continues rounds of `bsp` when its terms allow
  kWholeRun,       ///< the run, without rounds
  kTogether,       ///< the run, without rounds, on all devices at once
};
/// "none", "between rounds", "whole run" or "whole run, together".
std::string_view FusedUseName(FusedUse use);

/// The decisions about one program of a run.
struct ProgramPlan {
  std::string name;                      ///< of its output; empty: unknown
  EngineKind engine = EngineKind::kBsp;  ///< what drives it
  std::string why;                       ///< the reason for the engine
  FusedUse fused = FusedUse::kNone;      ///< what a fused engine does
  std::string fused_why;                 ///< the reason for that
  bool fused_at_once = false;            ///< rounds hand over to it whatever their width
  BuiltDirections directions;            ///< of its adjacencies, and so of its rounds
  FrontierPolicy frontier{};             ///< of its rounds
  BucketPlan buckets;                    ///< of its priorities
  RowOptions rows;                       ///< how its rows are prepared
  /// @{
  /// Bytes of an entry's payload in a message buffer of a push and of a pull: 0 where a bit suffices. None: not exchanged.
  /// The encoding of each buffer is chosen during the run, as the shortest for its entries.
  std::optional<std::size_t> message_payload, shared_payload;
  /// @}
  std::uint32_t slots = kMinTransportSlots;             ///< buffers of each pair
  CommPlan comm;                                        ///< the transports; without paths on one device
  bool operator==(const ProgramPlan&) const = default;  ///< all members
};

/// The decisions about a run. Equal options, graphs, devices, free memory and costs give equal plans.
struct RunPlan {
  DeviceKind kind = DeviceKind::kHost;  ///< of all devices
  std::vector<std::string> devices;     ///< their labels
  std::string partition;                ///< how the graph was divided among them
  CommSpec comm;                        ///< as asked for
  LinkMask links;                       ///< as asked for
  /// As asked for. In place of kAuto: kAsync on several devices where it suits the program and the graph (AdviseEngine);
  /// kBsp if memory has no room for a fused run.
  Execution execution = Execution::kAuto;
  Records records = Records::kAuto;                 ///< as asked for; kNever if memory has no room for them
  bool wide_frontiers = false;                      ///< so RunOptions::relax_together is false
  bool rounds_together = true;                      ///< as asked for; false if memory has no room for it
  std::vector<ProgramPlan> programs;                ///< in the order of their turns
  std::vector<DeviceMemory> memory;                 ///< of all programs together, for each device
  bool operator==(const RunPlan&) const = default;  ///< all members

  /// `options` with this plan's execution, records, relax_together and rounds_together.
  RunOptions Fitted(RunOptions options) const;
};

/// A program of a run, as PlanRun takes it.
struct ProgramOfRun {
  std::string name;                              ///< ProgramPlan::name
  std::shared_ptr<const ErasedProgram> program;  ///< null: on operators
  ProgramMemory memory;                          ///< MemoryOf or OperatorMemory
  RunOptions options;                            ///< the run's, or what of them this program takes
};
/// The programs of a run with these options on so many devices, in the order of their turns.
using ProgramsOfRun = std::function<std::vector<ProgramOfRun>(const RunOptions&, std::size_t devices)>;

/// Throws for options that are invalid for any graph: UsageError for an invalid transport, number of slots or delta, or a
/// transport that these devices cannot use; CapabilityError if OpenMP does not grant a thread per device.
void CheckRunOptions(const RunOptions& options, DeviceKind kind, std::size_t devices);
/// As above for these devices. Throws CapabilityError if devices share a GPU and the transport cannot join a GPU with
/// itself.
void CheckRunOptions(const RunOptions& options, const DeviceSelection& devices);

/// The part of a program's plan that its traits and the options decide: engine, directions, payloads, slots and rows. Needs
/// no graph and no devices. Null traits: an operator program. Throws UsageError, with the reason, for an execution or a
/// direction that the program does not support on so many devices.
ProgramPlan PlanProgram(const ProgramTraits* traits, const RunOptions& options, std::size_t devices = 1);
/// Throws what PlanProgram throws for this program.
void CheckProgramOptions(const ProgramOfRun& program, std::size_t devices);

/// Checks options, programs, devices and memory, and makes the plan. If a fused run on a GPU does not fit, it is planned
/// without records (Records::kAuto); if it still does not fit, rounds are planned (Execution::kAuto). Builds the subgraphs
/// in host memory; allocates nothing on the devices. Throws UsageError for options that a program or the devices cannot
/// meet, CapabilityError, and OutOfMemoryError with the needed and available bytes.
RunPlan PlanRun(Session& session, const RunOptions& options, const ProgramsOfRun& programs);
/// The plan of one program.
RunPlan PlanRun(Session& session, std::shared_ptr<const ErasedProgram> program, const RunOptions& options);

/// The plan as lines of text.
std::string Describe(const RunPlan& plan);

}  // namespace chatty
