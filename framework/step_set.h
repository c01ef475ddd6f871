/// \file
/// The table of steps that the host-driven engines call: one program on one device, erased over bytes, so that an engine is
/// compiled once and not once a program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "chatty/core/device.h"
#include "chatty/framework/buckets.h"
#include "chatty/framework/device_graph.h"
#include "chatty/framework/direction.h"
#include "chatty/framework/options.h"
#include "chatty/framework/program.h"
#include "chatty/framework/state.h"

namespace chatty {

/// Round<Global> without its type.
struct RoundState {
  std::uint32_t index = 0, phase = 0;
  VertexId vertices = 0;
  std::uint64_t active = 0;
  bool fresh = false;
  std::array<double, 5> kept{};
  alignas(16) std::byte global[64] = {};

  template <class G>
  Round<G> As() const {
    Round<G> round;
    round.index = index;
    round.phase = phase;
    round.vertices = vertices;
    round.active = active;
    round.fresh = fresh;
    round.kept = kept;
    if constexpr (!std::is_same_v<G, None>) std::memcpy(&round.global, global, sizeof(G));
    return round;
  }
};

/// What an engine may know of a program.
struct ProgramTraits {
  Reduction reduction{};
  Safety safety{};
  Edges edges{};
  WeightKind weights{};
  bool every_round = false;
  bool can_push = true;
  bool collects = false;
  bool shares_separately = false;
  bool consumes = false;
  bool has_measure = false;
  bool measures_when_quiet = false;  ///< and only then: see Traits::kMeasureWhenQuiet
  bool has_end_round = false;
  bool has_is_active = false;
  bool has_wants = false;
  bool has_prior = false;
  bool first_suffices = false;
  bool orders = false;        ///< Release and a limit mean something: see OrderRef
  bool asynchronous = false;  ///< AsynchronousProgram: an asynchronous engine may run it
  std::size_t value_bytes = 0, prior_bytes = 0, data_bytes = 0, output_bytes = 0, global_bytes = 0;
  /// @{
  /// Bytes on the wire, in rounds: none where a bit says all.
  std::size_t message_payload = 0, shared_payload = 0;
  /// @}
  std::size_t late_payload = 0;  ///< of a message without rounds
};

/// A run that a device drives by itself: see StepSet::RunFused.
struct FusedRun {
  /// @{
  /// It ends after so many rounds, or once a stop is requested.
  std::uint32_t most_rounds = 0;
  const std::stop_token* stop = nullptr;
  /// @}
  /// @{
  /// Where it stands, before and after.
  RoundState round;
  Buckets buckets;
  DirectionChooser chooser;
  std::uint64_t active_vertices = 0, first_pending = 0;
  std::int64_t pending_vertices = 0;
  Ahead ahead;  ///< without buckets
  /// @}
  /// @{
  /// What it did.
  std::uint32_t push_rounds = 0, pull_rounds = 0;
  std::uint64_t edges_touched = 0, vertices_updated = 0;
  /// @}
};

/// One program on one device. Calls enqueue work on the device's stream and return; only Read, MeasureInto and the copying
/// accessors wait. One thread at a time: the device's own. Every call may throw DeviceError.
class StepSet {
 public:
  virtual ~StepSet() = default;

  /// `prior`: device memory of owned Prior values, for programs that take them; may be null otherwise.
  virtual void Init(const std::byte* prior) = 0;
  virtual void Activate(const RoundState& round) = 0;
  /// Push along the frontier, hubs included: `count` entries of a queue or bits of a bitmap, `edges` forward edges in all.
  /// `peers_deliver`: others call Deliver meanwhile.
  virtual void Advance(const RoundState& round, Form form, std::size_t count, std::uint64_t edges, bool queue_out,
                       bool peers_deliver) = 0;
  virtual void Publish(Form form) = 0;
  /// Pull into candidates, hubs included.
  virtual void Gather(const RoundState& round, bool all_active) = 0;
  /// Updates what has a message. For kQueue `count` is about the length of the queue, which the device knows.
  virtual void Apply(const RoundState& round, Form form, std::size_t count) = 0;
  /// Gather and update in one, for programs that see all messages.
  virtual void Collect(const RoundState& round, bool all_active) = 0;
  virtual void QueueToBitmap(std::size_t count) = 0;
  virtual void BitmapToQueue() = 0;
  virtual void SwapFrontier() = 0;  ///< the next frontier's queue becomes the frontier's
  virtual void ClearHaloActive() = 0;
  /// @{
  /// For programs with ProgramTraits::orders. From now on Apply makes a changed vertex active if its Priority is below
  /// `limit`, else pending. Release makes all pending vertices below the limit active: beside those of the frontier, a
  /// bitmap or a queue of `count`, of which Control::next_count becomes the growth.
  virtual void SetLimit(double limit) = 0;
  virtual void Release(Form form, std::size_t count) = 0;
  /// @}
  /// Where one device has the whole graph: all rounds from here on, bucket after bucket where there are any, without coming
  /// back in between. The frontier is a bitmap. Returns false, having done nothing, if this kind of device has no better way
  /// than the others for such a program.
  virtual bool RunFused(FusedRun&) { return false; }
  /// Whether rounds may be fresh (Round::fresh): the program takes them, and this kind of device has a way to make them.
  virtual bool AllowsGaussSeidel() const { return false; }
  /// Messages of halo vertices into buffers of the forms that are shortest; Control says which. `queued`: all of them are in
  /// the queue, and are at most so many.
  virtual void PackMessages(const OutboxRef& outbox, bool queued, std::size_t at_most) = 0;
  virtual void PackShared(const OutboxRef& outbox, const SharedPlan& plan) = 0;
  /// In place of PackMessages and the owners' UnpackMessages: queued messages of halo vertices go by atomics into the state
  /// of their owners, which are the steps told to Connect, and which this device can address. Once Read has waited, they are
  /// there.
  virtual void Deliver() = 0;
  /// Before Deliver, once and after each SetProgram of one of them: the steps of the same program on all parts, this one
  /// included. They must outlive this. Waits.
  virtual void Connect(std::span<StepSet* const> parts, const WaitContext& context) = 0;
  virtual void UnpackMessages(const InboxRef& inbox, std::uint32_t peer, bool queue_out) = 0;
  /// `to_halo`, in device memory: where entries of `peer`'s border_union are in the halo; null if the buffer is for this
  /// device alone.
  virtual void UnpackShared(const InboxRef& inbox, std::uint32_t peer, const LocalId* to_halo) = 0;

  virtual void ClearControl() = 0;
  /// Waits for all work so far and returns the counters, valid until the next call. `clear`: they start from zero again;
  /// the next ClearControl then costs nothing.
  virtual const Control& Read(const WaitContext& context, bool clear) = 0;
  /// Waits, and writes this device's aggregate (global_bytes bytes). `round` may hold the aggregate before.
  virtual void MeasureInto(const RoundState& round, std::byte* global, const WaitContext& context) = 0;
  /// Waits, and copies the owned vertices' results, in local order.
  virtual void CopyOutput(const RoundState& round, std::byte* host, const WaitContext& context) = 0;
  /// Waits, and copies the owned vertices' raw values.
  virtual void CopyValues(std::byte* host, const WaitContext& context) = 0;
  virtual const std::byte* DeviceValues() const = 0;  ///< in device memory, for a following program's prior
  /// Waits, and copies the owned vertices' data, in local order, from the host: ProgramTraits::data_bytes each.
  virtual void SetData(const std::byte* data, const WaitContext& context) = 0;
  /// Whether messages of several rounds meet from now on, as in an asynchronous engine.
  virtual void SetAsynchronous(bool on) = 0;
  virtual void SetProgram(const void* program) = 0;  ///< a P, of the type that the steps were made for
};

/// A program without its type: what a run needs besides the steps. Stateless but for the program's parameters.
class ErasedProgram {
 public:
  virtual ~ErasedProgram() = default;
  virtual const ProgramTraits& traits() const = 0;
  virtual void ResetGlobal(std::byte* global) const = 0;
  virtual void CombineGlobal(std::byte* into, const std::byte* from) const = 0;
  /// Asks the program's EndRound; without one, kContinue.
  virtual Next EndRound(RoundState& round) const = 0;
  /// RoundProgress::change.
  virtual double ChangeOf(const RoundState& round) const = 0;
  /// Throws CapabilityError if the program was not compiled for the device's kind.
  virtual std::unique_ptr<StepSet> MakeSteps(const DeviceGraph& graph, Tiling tiling) const = 0;
  /// The program's data of all vertices in id order, data_bytes each, made of what is given: AssembleVertexData. Throws what
  /// that throws.
  virtual Array<std::byte> AssembleData(const Graph& graph, const VertexData& given) const = 0;
  /// Gives steps made by a program of the same type this one's parameters.
  virtual void Reparametrise(StepSet& steps) const = 0;
  /// Device memory that MakeSteps, and the copying out of results, take on a device of this kind that holds such a part; a
  /// host device has so many threads.
  virtual std::uint64_t StateBytes(DeviceKind kind, int threads, const PartShape& part, Tiling tiling) const = 0;
};

}  // namespace chatty
