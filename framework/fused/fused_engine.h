/// \file
/// An engine that a device runs by itself. The engine takes over a run between two rounds of `bsp`, or from its begin, works
/// without the host, and returns where the run stands. Groute's fused worker and the CPU-Free model's persistent kernel have
/// this shape. Several devices run it together where they can address each other's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>

#include "chatty/core/sync.h"
#include "chatty/core/trace.h"
#include "chatty/framework/buckets.h"
#include "chatty/framework/direction.h"
#include "chatty/framework/fused/rounds_team.h"
#include "chatty/framework/round_state.h"
#include "chatty/framework/state.h"

namespace chatty {

namespace fused {
struct HaloBits;
struct TeamRef;
}  // namespace fused

/// When rounds should hand over to an engine, which may change during a run.
struct FusedTerms {
  /// Rounds in a row with few edges, so that rounds which soon become wide are not handed over.
  std::uint32_t narrow_rounds = 0;
  std::uint64_t narrow_edges = ~std::uint64_t{0};  ///< fewer edges than this are few
};

/// A run, as an engine hands it over and gets it back.
struct FusedRun {
  /// `max_rounds` without a limit.
  static constexpr std::uint32_t kAllRounds = ~std::uint32_t{0};

  /// @{
  /// Ends after this many rounds or after a stop request.
  std::uint32_t max_rounds = kAllRounds;
  const std::stop_token* stop = nullptr;
  /// @}
  TraceTrack* track = nullptr;      ///< gets the engine's steps, if FusedTraits::traces
  std::uint32_t narrow_rounds = 0;  ///< rounds in a row up to now with fewer edges than FusedTerms::narrow_edges
  bool any_order = true;            ///< edges may be relaxed in any order: nobody has asked for rounds
  std::uint32_t list_items = 0;     ///< RowOptions::list_items
  bool asynchronous = false;        ///< the run has no rounds: the device keeps it however wide the frontier becomes
  /// @{
  /// Of rounds of any width.
  const std::byte* input = nullptr;  ///< of StepSet::Init, if the run begins
  bool skips_last_round = false;     ///< a round without candidates is the last, and needs no work
  /// Before: the engine also makes the first values, as StepSet::Init does. Afterwards, and after an exception: whether the
  /// first values are missing.
  bool begins = false;
  std::uint64_t first_active = 0;  ///< afterwards: vertices of the first frontier, if the engine made the first values
  /// When the engine leaves rounds to another one, which has these terms.
  FusedTerms hand_over{.narrow_rounds = kAllRounds, .narrow_edges = 0};
  /// @}
  /// @{
  /// Where each device has a part of the graph: what this device shares with the others, all of which call Run; else null.
  /// Not owned.
  const fused::TeamRef* team = nullptr;
  std::size_t sharing = 1;  ///< devices of the team on this one's GPU
  /// @}
  /// @{
  /// The same of rounds that all devices make together. `active_vertices` and `ahead` are then the sums of all devices
  /// before, and afterwards this device's, `candidate_edges` being their change. Not owned.
  const fused::RoundsTeamRef* rounds_team = nullptr;
  std::uint32_t epoch = 0;                     ///< RoundsTeam::epoch, before and after
  std::span<fused::TeamTraffic> traffic;       ///< one a device: gets what this device has sent
  const fused::HaloBits* halo_bits = nullptr;  ///< of rounds of any width: WideTeam::peers
  /// Before: those of `active_vertices` and of `ahead.active_edges` that are this device's.
  std::uint64_t own_active_vertices = 0, own_active_edges = 0;
  /// @}
  /// @{
  /// The state before and after.
  RoundState round;
  Form form = Form::kBitmap;  ///< of the frontier; afterwards a bitmap
  std::size_t count = 0;      ///< entries of a frontier that is a queue
  Buckets buckets;
  DirectionChooser chooser;
  std::uint64_t active_vertices = 0, first_pending = 0;
  std::int64_t pending_vertices = 0;
  Ahead ahead;         ///< without buckets
  bool mixed = false;  ///< afterwards: active vertices are of several rounds, so that later rounds must be asynchronous
  /// @}
  /// @{
  /// Its work.
  std::uint32_t push_rounds = 0, pull_rounds = 0;
  std::uint32_t steps = 0;  ///< RunStatistics::fused_steps
  std::uint64_t edges_touched = 0, vertices_updated = 0;
  /// Items followed: see RunStatistics. GPUs' engines of rounds leave it empty, because their frontiers follow from
  /// `vertices_updated`.
  std::optional<std::uint64_t> items;
  /// @}
};

/// What a program's engine on one kind of device does, by the program's type: ProgramTraits has it, and plans read it there.
struct FusedTraits {
  bool keeps_rounds = true;  ///< the engine has rounds or buckets itself; else it runs only where the engine may be chosen
  /// The engine runs programs with a Priority in buckets alone, or in any order.
  bool needs_buckets = false;
  bool any_order = false;  ///< the engine can relax edges in any order
  bool together = false;   ///< also on several devices, each with a part of the graph: see fused/team.h
  /// There is an engine for exact rounds of several devices together: see fused/rounds_team.h.
  bool rounds_together = false;
  /// There is an engine for exact rounds of any width, of one GPU or of several together.
  bool wide_rounds = false;
  bool asynchronous = true;  ///< the engine runs programs without rounds
  bool traces = false;       ///< the engine reports its steps to a trace; else rounds run where there is one
};

/// See the file. Owned by the steps of the same program and device, and uses their state.
class FusedEngine {
 public:
  virtual ~FusedEngine() = default;
  virtual FusedTerms terms() const { return {}; }  ///< when rounds should hand over
  /// After a failed run: forgets what runs have taught, which the devices of a team may not have in common any more.
  virtual void Forget() {}
  /// Runs until nothing is active or a limit of `run` is reached, and waits. Returns false without any work if rounds suit
  /// this run better. Throws DeviceError, AbortedError, TimeoutError and what the program throws.
  virtual bool Run(FusedRun& run, const WaitContext& context) = 0;
};

}  // namespace chatty
