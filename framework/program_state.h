/// \file
/// Owns a program's state on one device; `ref()` is the steps' input.
#pragma once

#include <algorithm>
#include <optional>

#include "chatty/core/device.h"
#include "chatty/core/error.h"
#include "chatty/framework/device_graph.h"
#include "chatty/framework/state.h"
#include "chatty/partition/part_shape.h"

namespace chatty {

/// All memory of one program on one device, allocated at once. No queue can overflow: a vertex is in a queue at most once,
/// and a hub's edges bound its slices. Throws OutOfMemoryError.
template <class P>
class ProgramState {
 public:
  ProgramState(const DeviceGraph& graph, const P& program)
      : ref_{.program = program, .graph = graph.ref(), .border = graph.border()} {
    static_assert(kSeparate || std::is_same_v<SharedOf<P>, ValueOf<P>>,
                  "a program whose Shared is not its Value needs Share or Consume");
    ForEachArray(ShapeOf(graph.subgraph()), [&]<class T>(Buffer<T> ProgramState::*array, std::size_t entries) {
      this->*array = Buffer<T>(graph.device(), entries);
    });
    ref_.values = values_.data();
    if constexpr (kSeparate) {
      ref_.shared = shared_.data();
    } else {
      ref_.shared = ref_.values;
    }
    ref_.inbox = inbox_.data();
    ref_.touched = touched_.data();
    ref_.sent = sent_.data();
    ref_.active = active_.data();
    ref_.frontier = frontier_.data();
    ref_.next = next_.data();
    ref_.touched_queue = touched_queue_.data();
    ref_.touched_halo = touched_halo_.data();
    ref_.slices = slices_.data();
    ref_.collected = collected_.data();
    ref_.next_values = next_values_.data();
    ref_.control = control_.data();
    if constexpr (Traits<P>::kOrders) {
      ref_.order.pending = pending_.data();
      ref_.order.groups = pending_groups_.data();
      ref_.order.seen = seen_.data();
    }
    if constexpr (Traits<P>::kHasData) ref_.data = data_.data();
  }

  /// Bytes of the state for this part.
  static std::uint64_t Bytes(const PartShape& part) {
    std::uint64_t bytes = 0;
    ForEachArray(part, [&]<class T>(Buffer<T> ProgramState::*, std::size_t entries) { bytes += entries * sizeof(T); });
    return bytes;
  }

  const StateRef<P>& ref() const { return ref_; }
  void SetProgram(const P& program) { ref_.program = program; }
  void SetAsynchronous(bool on) { ref_.asynchronous = on; }
  /// Copies the owned vertices' data, in local order, from the host; waits.
  void SetData([[maybe_unused]] Device& device, [[maybe_unused]] const void* data,
               [[maybe_unused]] const WaitContext& context = {}) {
    if constexpr (Traits<P>::kHasData) {
      device.CopyIn(data_.data(), data, data_.bytes(), device.stream());
      device.stream().Synchronize(context);
    }
  }
  /// A run begins: owners have had no message.
  void ForgetRoundMessages() { sent_message_.reset(); }
  /// Before a round that may send to other devices. Throws UsageError if the program's RoundMessage is better than that of
  /// an earlier round: owners with that message do not get another.
  void CheckRoundMessage([[maybe_unused]] const RoundOf<P>& round) {
    if constexpr (Traits<P>::kSendsOnce) {
      if (ref_.graph.parts == 1 || ref_.asynchronous) return;
      const MessageOf<P> message = CallRoundMessage(ref_.program, round);
      if (sent_message_ && Reduce<P>(ref_.program, *sent_message_, message) != *sent_message_) {
        Throw<UsageError>(
            "RoundMessage of round {} is better than that of round {}: remove RoundMessage from a program whose messages "
            "improve from round to round",
            round.index, sent_in_);
      }
      sent_in_ = round.index;
      sent_message_ = message;
    }
  }
  /// Bitmaps of the steps: see StateRef. Not owned.
  void SetCandidates(std::uint32_t* candidates, const std::uint32_t* rows) {
    ref_.candidates = candidates;
    ref_.rows = rows;
  }
  void SwapFrontier() { std::swap(ref_.frontier, ref_.next); }
  void SetLimit([[maybe_unused]] double limit) {
    if constexpr (Traits<P>::kOrders) ref_.order.limit = limit;
  }

 private:
  static constexpr bool kSeparate = Traits<P>::kSharesSeparately;

  /// Calls visit(array, entries) for each array of the program: allocation and estimates use one list.
  template <class Visit>
  static void ForEachArray(const PartShape& part, Visit&& visit) {
    visit(&ProgramState::values_, kSeparate ? part.owned : part.local);
    if constexpr (kSeparate) visit(&ProgramState::shared_, part.local);
    visit(&ProgramState::touched_, bits::Words(part.local));
    visit(&ProgramState::active_, bits::Words(part.local));
    if constexpr (Traits<P>::kSendsOnce) visit(&ProgramState::sent_, bits::Words(part.halo()) + 1);
    visit(&ProgramState::frontier_, part.owned);
    visit(&ProgramState::next_, part.owned);
    if constexpr (Traits<P>::kCounts) {
      visit(&ProgramState::collected_, part.reverse.edges);
      visit(&ProgramState::next_values_, part.owned);
    } else {
      visit(&ProgramState::inbox_, part.local);
      visit(&ProgramState::touched_queue_, part.owned);
      visit(&ProgramState::touched_halo_, part.halo());
      visit(&ProgramState::slices_, std::max(SliceBound(part.forward.edges, part.forward.max_degree),
                                             SliceBound(part.reverse.edges, part.reverse.max_degree)));
    }
    if constexpr (Traits<P>::kOrders) {
      visit(&ProgramState::pending_, bits::Words(part.owned));
      visit(&ProgramState::pending_groups_, bits::Words((part.owned + kPendingGroup - 1) / kPendingGroup));
      visit(&ProgramState::seen_, bits::Words(part.owned));
    }
    if constexpr (Traits<P>::kHasData) visit(&ProgramState::data_, part.owned);
    visit(&ProgramState::control_, 1);
  }

  StateRef<P> ref_;
  std::uint32_t sent_in_ = 0;                 // the last round of CheckRoundMessage in this run,
  std::optional<MessageOf<P>> sent_message_;  // and its message
  Buffer<ValueOf<P>> values_;
  Buffer<SharedOf<P>> shared_;
  Buffer<Slot<MessageOf<P>>> inbox_;
  Buffer<std::uint32_t> touched_, active_, sent_, pending_, pending_groups_, seen_;
  Buffer<LocalId> frontier_, next_, touched_queue_, touched_halo_;
  Buffer<Slice> slices_;
  Buffer<MessageOf<P>> collected_;
  Buffer<ValueOf<P>> next_values_;
  Buffer<DataOf<P>> data_;
  Buffer<Control> control_;
};

}  // namespace chatty
