/// \file
/// Owner of a program's state on one device; `ref()` is what steps take.
#pragma once

#include <algorithm>

#include "chatty/core/device.h"
#include "chatty/framework/device_graph.h"
#include "chatty/framework/state.h"

namespace chatty {

/// All memory of one program on one device, allocated at once, sized so that no queue can overflow: a vertex is in a queue
/// at most once, and a hub's slices are bounded by its edges. Throws OutOfMemoryError.
template <class P>
class ProgramState {
 public:
  ProgramState(const DeviceGraph& graph, const P& program)
      : ref_{.program = program, .graph = graph.ref(), .border = graph.border()} {
    Device& device = graph.device();
    const std::size_t owned = ref_.graph.owned, local = ref_.graph.local;
    constexpr bool kSeparate = Traits<P>::kSharesSeparately;
    values_ = Buffer<ValueOf<P>>(device, kSeparate ? owned : local);
    ref_.values = values_.data();
    if constexpr (kSeparate) {
      shared_ = Buffer<SharedOf<P>>(device, local);
      ref_.shared = shared_.data();
    } else {
      static_assert(std::is_same_v<SharedOf<P>, ValueOf<P>>,
                    "a program whose Shared is not its Value needs Share or Consume");
      ref_.shared = ref_.values;
    }
    touched_ = Buffer<std::uint32_t>(device, bits::Words(local));
    active_ = Buffer<std::uint32_t>(device, bits::Words(local));
    frontier_ = Buffer<LocalId>(device, owned);
    next_ = Buffer<LocalId>(device, owned);
    ref_.touched = touched_.data();
    ref_.active = active_.data();
    ref_.frontier = frontier_.data();
    ref_.next = next_.data();
    if constexpr (Traits<P>::kCollects) {
      const Subgraph& subgraph = graph.subgraph();
      collected_ = Buffer<MessageOf<P>>(device, subgraph.reverse ? subgraph.reverse->neighbours.size() : 0);
      next_values_ = Buffer<ValueOf<P>>(device, owned);
      ref_.collected = collected_.data();
      ref_.next_values = next_values_.data();
    } else {
      inbox_ = Buffer<Slot<MessageOf<P>>>(device, local);
      touched_queue_ = Buffer<LocalId>(device, owned);
      touched_halo_ = Buffer<LocalId>(device, local - owned);
      slices_ = Buffer<Slice>(device, SliceBound(graph.subgraph()));
      ref_.inbox = inbox_.data();
      ref_.touched_queue = touched_queue_.data();
      ref_.touched_halo = touched_halo_.data();
      ref_.slices = slices_.data();
    }
    control_ = Buffer<Control>(device, 1);
    ref_.control = control_.data();
  }

  const StateRef<P>& ref() const { return ref_; }
  void SetProgram(const P& program) { ref_.program = program; }
  void SwapFrontier() { std::swap(ref_.frontier, ref_.next); }

 private:
  /// A row of d >= kHubDegree = 2 * kSliceEdges edges has at most 1.5 * d / kSliceEdges slices.
  static std::size_t SliceBound(const Subgraph& subgraph) {
    const auto bound = [](const std::shared_ptr<const LocalAdjacency>& rows) -> std::size_t {
      return rows == nullptr || rows->max_degree < kHubDegree ? 0 : rows->neighbours.size() * 3 / (2 * kSliceEdges) + 1;
    };
    return std::max(bound(subgraph.forward), bound(subgraph.reverse));
  }

  StateRef<P> ref_;
  Buffer<ValueOf<P>> values_;
  Buffer<SharedOf<P>> shared_;
  Buffer<Slot<MessageOf<P>>> inbox_;
  Buffer<std::uint32_t> touched_, active_;
  Buffer<LocalId> frontier_, next_, touched_queue_, touched_halo_;
  Buffer<Slice> slices_;
  Buffer<MessageOf<P>> collected_;
  Buffer<ValueOf<P>> next_values_;
  Buffer<Control> control_;
};

}  // namespace chatty
