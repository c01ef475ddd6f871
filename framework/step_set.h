/// \file
/// The steps that the host-driven engines call: one program on one device, type-erased over bytes. An engine compiles once,
/// not once per program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "chatty/core/device.h"
#include "chatty/framework/device_graph.h"
#include "chatty/framework/fused/fused_engine.h"
#include "chatty/framework/options.h"
#include "chatty/framework/program.h"
#include "chatty/framework/round_state.h"
#include "chatty/framework/state.h"

namespace chatty {

/// An engine's knowledge of a program.
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
  bool measures_when_quiet = false;     ///< and only then: see Hints::measure_when_quiet
  bool continues_while_active = false;  ///< see Hints::continues_while_active
  bool has_end_round = false;
  bool has_is_active = false;
  bool has_filter = false;
  bool has_input = false;
  bool first_suffices = false;
  bool orders = false;              ///< Release and a limit apply: see OrderRef
  bool carries = false;             ///< with an order: see fused::CarriesValues
  bool reads_round = false;         ///< see fused::ReadsRound
  bool output_reads_round = false;  ///< Output takes the round
  bool asynchronous = false;        ///< AsynchronousProgram: an asynchronous engine may run it
  /// @{
  /// Of its fused engine on a host device and on a GPU. Empty: it has none.
  std::optional<FusedTraits> host_fused, gpu_fused;
  /// @}
  std::size_t value_bytes = 0, input_bytes = 0, data_bytes = 0, output_bytes = 0, global_bytes = 0;
  /// @{
  /// Bytes on the wire, in rounds: 0 if a bit suffices.
  std::size_t message_payload = 0, shared_payload = 0;
  /// @}
  std::size_t late_payload = 0;  ///< of a message without rounds
};

/// One program on one device. Calls enqueue work on the device's stream and return; only Read, ReadBeside, MeasureInto and
/// the copy functions wait. Only the device's own thread calls. Every call may throw DeviceError.
class StepSet {
 public:
  virtual ~StepSet() = default;

  /// A run begins: first values, and Activate. `prior`: device memory of owned Input values, for programs with an `Input`;
  /// otherwise may be null.
  virtual void Init(const std::byte* prior, const RoundState& round) = 0;
  /// A phase begins: chooses the first frontier, a bitmap. The queue's first entry is its only vertex, if it has one alone.
  virtual void Activate(const RoundState& round) = 0;
  /// Push along the frontier, hubs included: `count` entries of a queue or bits of a bitmap, `edges` forward edges in all.
  virtual void Advance(const RoundState& round, Form form, std::size_t count, std::uint64_t edges, bool queue_out) = 0;
  /// Before a pull: stores what the frontier's vertices, or for kAll all owned vertices, share, where Gather and PackShared
  /// read it. Publish of all vertices has nothing to do if PullRound or Apply has published and nothing has changed since.
  virtual void Publish(Form form) = 0;
  /// Pull into candidates, hubs included.
  virtual void Gather(const RoundState& round, bool all_active) = 0;
  /// Whether PullRound takes the place of Gather and Apply, because the steps have prepared rows for it.
  virtual bool HasPullRound() const { return false; }
  /// The pull of a program that is active in every round, in one sweep: Gather, Apply, the aggregate of updates and, for
  /// vertices that no other device reads, the next round's Publish.
  virtual void PullRound(const RoundState&) {}
  /// Updates vertices with a message. For kQueue `count` approximates the queue's length. For kAll a host device also
  /// publishes and measures, if the program is active in every round and has no Consume.
  virtual void Apply(const RoundState& round, Form form, std::size_t count) = 0;
  /// Gather and update, for programs that see all messages.
  virtual void Collect(const RoundState& round, bool all_active) = 0;
  virtual void QueueToBitmap(std::size_t count) = 0;
  virtual void BitmapToQueue() = 0;
  virtual void SwapFrontier() = 0;  ///< the next frontier's queue becomes the frontier
  virtual void ClearHaloActive() = 0;
  /// @{
  /// For programs with ProgramTraits::orders. After SetLimit, Apply makes a changed vertex active if its Priority is below
  /// `limit`, else pending. Release adds all pending vertices below the limit to the frontier, a bitmap or a queue of
  /// `count` entries. Control::next_count is then the growth of the queue.
  virtual void SetLimit(double limit) = 0;
  virtual void Release(Form form, std::size_t count) = 0;
  /// @}
  /// The engine that continues a run on this device alone, if the device has the whole graph and there is one for the
  /// program.
  virtual FusedEngine* fused() { return nullptr; }
  /// The engine that makes rounds of any width without the host, if the rows were prepared for it (RowOptions::wide_rounds)
  /// and there is one for the program.
  virtual FusedEngine* wide_rounds() { return nullptr; }
  /// Before the engine of wide rounds continues a run: what its pulls look at follows values that others have changed.
  virtual void RefreshCandidates() {}
  /// One of these engines has run, and changed values.
  virtual void FusedHasRun() {}
  /// Whether rounds may be Gauss–Seidel (Round::gauss_seidel): the program allows it and this device kind supports it.
  virtual bool AllowsGaussSeidel() const { return false; }
  /// Packs halo vertices' messages in the shortest encodings, for the peers that `outbox` has a buffer for; Control holds
  /// counts and encodings. Messages for other peers stay, and a later call packs them. `queued`: the queue has all messages
  /// for these peers, and at most `at_most` in all. Once for a peer between two clears of Control.
  virtual void PackMessages(const OutboxRef& outbox, bool queued, std::size_t at_most) = 0;
  virtual void PackShared(const OutboxRef& outbox, const SharedPlan& plan) = 0;
  virtual void UnpackMessages(const InboxRef& inbox, std::uint32_t peer, bool queue_out) = 0;
  /// @{
  /// For an asynchronous engine, whose arrivals must not wait behind a long Advance.
  ///
  /// The stream on which UnpackArrived works: on a GPU a stream of high priority, made by the first call. Null: the device's
  /// own stream. Throws DeviceError.
  virtual Stream* ReceiveStream() { return nullptr; }
  /// As UnpackMessages with `queue_out`, on ReceiveStream() where there is one. It runs beside Advance and PackMessages.
  /// Every other step enqueued before it precedes it, and all work that the device's own stream gets afterwards follows it.
  virtual void UnpackArrived(const InboxRef& inbox, std::uint32_t peer) { UnpackMessages(inbox, peer, /*queue_out=*/true); }
  /// As Read without `clear`. Where it waits on a GPU, it calls `meanwhile` again and again, which may call UnpackArrived.
  /// The counters may then lack some of what that unpacks.
  virtual const Control& ReadBeside(const WaitContext& context, const std::function<void()>& /*meanwhile*/) {
    return Read(context, /*clear=*/false);
  }
  /// @}
  /// `to_halo`, in device memory: positions of `peer`'s border_union entries in the halo; null if the buffer is for this
  /// device only.
  virtual void UnpackShared(const InboxRef& inbox, std::uint32_t peer, const LocalId* to_halo) = 0;

  virtual void ClearControl() = 0;
  /// Waits for earlier work and returns the counters, valid until the next call. `clear`: they restart from zero, and the
  /// next ClearControl costs nothing. After Init and Apply with `clear` alone.
  virtual const Control& Read(const WaitContext& context, bool clear) = 0;
  /// Waits, and writes this device's aggregate (global_bytes bytes). `round` may hold the last aggregate.
  virtual void MeasureInto(const RoundState& round, std::byte* global, const WaitContext& context) = 0;
  /// Writes the owned vertices' results, in local order, to `out` in this device's memory. Work of the device's stream.
  virtual void WriteOutput(const RoundState& round, std::byte* out) = 0;
  /// Waits and copies the owned vertices' raw values.
  virtual void CopyValues(std::byte* host, const WaitContext& context) = 0;
  virtual const std::byte* DeviceValues() const = 0;  ///< in device memory, for the next program's prior
  /// Waits and copies the owned vertices' data from the host, in local order: ProgramTraits::data_bytes each.
  virtual void SetData(const std::byte* data, const WaitContext& context) = 0;
  /// Whether messages of several rounds mix from now on, as in an asynchronous engine.
  virtual void SetAsynchronous(bool on) = 0;
  virtual void SetProgram(const void* program) = 0;  ///< a P, the type of these steps
};

/// A program without its type: what a run needs besides the steps. Its only state is the program's parameters.
class ErasedProgram {
 public:
  virtual ~ErasedProgram() = default;
  virtual const ProgramTraits& traits() const = 0;
  virtual void ResetGlobal(std::byte* global) const = 0;
  virtual void CombineGlobal(std::byte* into, const std::byte* from) const = 0;
  /// Calls EndRound; without one, kContinue.
  virtual Next EndRound(RoundState& round) const = 0;
  /// RoundProgress::change.
  virtual double ChangeOf(const RoundState& round) const = 0;
  /// Throws CapabilityError if the program was not compiled for the device's kind.
  virtual std::unique_ptr<StepSet> MakeSteps(const DeviceGraph& graph, RowOptions rows) const = 0;
  /// The program's data of all vertices in id order, data_bytes each, from `given`: AssembleVertexData. Throws its errors.
  virtual Array<std::byte> AssembleData(const Graph& graph, const VertexData& given) const = 0;
  /// Sets this program's parameters in steps of the same program type.
  virtual void Reparametrise(StepSet& steps) const = 0;
  /// Device memory for MakeSteps and for the copy of results, on a device of this kind with this part; a host device has
  /// `threads` threads.
  virtual std::uint64_t StateBytes(DeviceKind kind, int threads, const PartShape& part, RowOptions rows) const = 0;
};

}  // namespace chatty
