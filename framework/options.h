/// \file
/// Options with defaults by the library.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "chatty/comm/comm_spec.h"
#include "chatty/comm/topology.h"
#include "chatty/comm/transport.h"
#include "chatty/framework/vertex_data.h"

namespace chatty {

class Trace;

/// The direction of a round along edges.
enum class Direction : std::uint8_t {
  kAuto,  ///< the cheaper one in each round, by the edges that each would read
  kPush,
  kPull,
};

/// The engine of a run: who drives it.
enum class Execution : std::uint8_t {
  kAuto,   ///< the library chooses: kAsync on several devices where it suits the program and the graph, else kBsp
  kBsp,    ///< in rounds, all devices together
  kAsync,  ///< each device at its own pace; for kMonotone and kAccumulative programs, the latter on one device in rounds
};
/// "auto", "bsp" or "async", as `--execution` takes it.
std::string_view ExecutionName(Execution execution);
/// The engine of this name. Throws UsageError, with the nearest name, if there is none.
Execution ParseExecution(std::string_view name);

/// Whether to prepare rows for the caches, for programs with all vertices active in every round. Host devices cut rows into
/// tiles; GPUs order shared values by access frequency. Takes as much memory as the neighbours and, once, the time of some
/// rounds.
enum class Tiling : std::uint8_t {
  kAuto,  ///< host devices: if shared values exceed a cache; GPUs: if hubs have many of the edges
  kNever,
  kAlways,  ///< wherever a program allows any order of edges
};

/// Whether to keep short rows as records for fused runs on a GPU: 16 bytes a vertex, and 16 for weights. Without them such
/// runs take up to twice the time.
enum class Records : std::uint8_t {
  kAuto,  ///< if most rows are short, and memory suffices
  kNever,
  kAlways,  ///< for every graph
};

/// How to prepare rows.
struct RowOptions {
  Tiling tiling = Tiling::kAuto;     ///< as in RunOptions
  Records records = Records::kAuto;  ///< as in RunOptions
  std::uint32_t list_items = 0;      ///< of each list of a fused run, and of a host thread's local queue; 0: from the graph
  bool fuses = true;                 ///< a fused run on a GPU is possible
  bool together = false;             ///< and, on several devices, one of all devices together
  bool rounds_together = false;      ///< on GPUs, rounds of all together are possible, in resident kernels
  bool wide_rounds = false;          ///< on GPUs, rounds of any width are possible in resident kernels
  bool operator==(const RowOptions&) const = default;  ///< all members
};

/// Makes a run's transport, as MakeTransport does: between these devices, with at least these capacities. It may have fewer
/// slots than the options ask for, if Transport::slots says so. Called during Prepare, and by the next Execute after a run
/// left a transport that is not reusable. Called again, with room for broadcasts in pairs' buffers, if the run broadcasts
/// and the transport does not (Transport::has_broadcasts).
using TransportFactory = std::function<std::unique_ptr<Transport>(
    std::span<Device* const> devices, const PairBytesTable& capacities, const TransportOptions& options)>;

/// RunOptions::delta chosen by the library.
inline constexpr double kAutoDelta = 0;

/// A run's progress after a round.
struct RoundProgress {
  std::uint32_t rounds = 0;  ///< so far, over all phases
  std::uint64_t active = 0;  ///< vertices that the last round changed, in total
  double change = 0;  ///< `change` of the program's Global, if it has such a member, divided by the vertices; else NaN
};

/// How to run a program. By default the library makes every choice.
struct RunOptions {
  /// Push, pull, or the cheaper one in each round.
  Direction direction = Direction::kAuto;
  Execution execution = Execution::kAuto;  ///< the engine; ParseExecution reads its name
  CommSpec comm;                           ///< what carries messages and counters; ParseCommSpec reads its text
  LinkMask links;                          ///< links between devices that may be used; LinkMask::Parse reads its text
  Tiling tiling = Tiling::kAuto;           ///< of rows: see Tiling
  Records records = Records::kAuto;        ///< of short rows: see Records
  /// Items of each list of a fused run on a GPU; 0: from the graph. A run whose lists are full continues in rounds, so few
  /// items cost time alone.
  std::uint32_t list_items = 0;
  /// Width of the buckets of programs with a Priority, in Priority's unit, positive; kInfinity<double>: no order.
  /// kAutoDelta: from the graph, adapted during the run.
  double delta = kAutoDelta;
  /// Buffers of each ordered pair of devices, kMinTransportSlots to kMaxSlots: as many messages may wait for a slow receiver
  /// before the sender keeps them. async only; other runs have kMinTransportSlots.
  std::uint32_t slots = kMinTransportSlots;
  /// Devices of `async` that address each other's memory relax edges together, and send messages one by one
  /// (framework/fused/team.h). false: they send buffers. PlanRun sets false for graphs whose frontiers are wide.
  bool relax_together = true;
  /// GPUs with links that execute atomics make rounds of few vertices together, in resident kernels
  /// (framework/fused/rounds_team.h), also of many vertices (fused/wide_team.h), as does one GPU alone. false: the host
  /// drives each round, unless a program has no other engine on one GPU. PlanRun sets false if memory has no room for it.
  bool rounds_together = true;
  /// Record each buffer in RunStatistics::buffers, with its time. Slows the run. kAuto then takes rounds.
  bool explain = false;
  /// Arrays with a number per vertex, under the names in the program's kVertexData.
  VertexData vertex_data;
  /// If set, makes the transport; `comm` then only determines the memory estimate. Not called for one device.
  TransportFactory transport_factory;
  std::uint32_t max_rounds = 0;  ///< round limit; 0: only when the program is done
  /// Longest wait for another device or for a device's own work; 0: for ever. After a wait of that time, the run fails with
  /// TimeoutError on all devices.
  std::chrono::milliseconds timeout{0};
  Trace* trace = nullptr;  ///< records a trace, if not null; not owned, see core/trace.h. kAuto then takes rounds
  /// Ends the run after the current round, the same on all devices, once a stop is requested: by std::stop_source's
  /// request_stop(), from any thread. The run returns its values, with RunStatistics::ended as kStopped.
  std::stop_token stop{};
  /// If set, the first device's thread calls it after each round and waits for it: store the values and return. Rounds that
  /// fused engines make without the host are reported at their end. `async` on several devices has no rounds and reports
  /// nothing, also where kAuto takes it: on_round does not change the engine.
  std::function<void(const RoundProgress&)> on_round{};
  /// With on_round, the host drives rounds of any width, which kernels of GPUs would else make (RowOptions::wide_rounds).
  /// false: the plan is that of a run without on_round, and on_round does not get the rounds of such a kernel.
  bool reports_each_round = true;
};

/// The part of `options` that prepares rows. Runs that have rounds alone make no fused engine.
inline RowOptions RowsOf(const RunOptions& options) {
  const bool rounds =
      options.execution == Execution::kBsp || options.direction == Direction::kPull || options.max_rounds != 0;
  const bool without_transports =
      options.comm.chooses() && options.trace == nullptr && !options.explain && !options.transport_factory;
  const bool async = options.execution == Execution::kAsync;
  const bool reports_rounds =
      options.trace != nullptr || options.explain || (options.on_round && options.reports_each_round);
  return {options.tiling,
          options.records,
          options.list_items,
          !rounds,
          !rounds && async && without_transports && options.relax_together,
          !async && without_transports && options.direction != Direction::kPull && options.rounds_together,
          !async && !reports_rounds && options.rounds_together};
}

}  // namespace chatty
