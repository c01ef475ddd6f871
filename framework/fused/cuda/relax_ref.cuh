/// \file
/// What the kernel of a fused run is given and counts: see relax.cuh.
#pragma once

#include <cstdint>

#include "chatty/core/bitmap.h"
#include "chatty/framework/fused/cuda/item_lists.cuh"
#include "chatty/framework/fused/cuda/relax_memory.h"
#include "chatty/framework/fused/relaxes.h"
#include "chatty/framework/fused/step_limits.h"
#include "chatty/framework/steps/cuda/block.cuh"
#include "chatty/framework/steps/vertex_ops.h"

namespace chatty::fused::cuda {

using steps::cuda::kFull;
using steps::cuda::Lane;
using steps::cuda::Shuffle;
using steps::cuda::Warp;
using steps::cuda::WarpRows;

/// Items of a warp's local queue, and of its buffers for the next list and the far list.
inline constexpr unsigned kLocalQueue = 256, kNearBuffer = 192, kFarBuffer = 64;
static_assert(kDonationsOfBlock == kWarps * kDonation);
/// Rows with at least so many edges are walked by all warps, when a step's other work is done.
inline constexpr std::uint32_t kHub = 4096;

/// What lasts.
struct RelaxTotals {
  std::uint32_t far[2] = {};             ///< items of the far lists
  std::uint32_t hops = 0;                ///< most of any item done, plus 1
  unsigned long long far_first[2] = {};  ///< PriorityKey of their first
  unsigned long long done = 0, improved = 0, edges = 0;
  // Written by the kernel's first thread at its end:
  End end{};
  std::uint32_t steps = 0, list = 0, far_list = 0, near = 0, far_count = 0;
  std::uint32_t below = 0;
  double limit = 0, width = 0;
};

/// A step, for a trace.
struct StepRecord {
  unsigned long long end_ns = 0;  ///< by the GPU's global timer
  std::uint32_t items = 0;        ///< done
  float width = 0;                ///< of its bucket, in hops or the Priority's unit
};

/// How a kernel knows rows: from records, without them, or either way at run time.
enum class Rows { kRecords, kPlain, kEither };

/// The kernel's input.
template <class P>
struct RelaxRef {
  const RowRecord* records = nullptr;  ///< null if there are none
  ItemOf<P>*near[2] = {}, *far[2] = {}, *hubs = nullptr;
  ItemOf<P>* donations = nullptr;  ///< kDonation of each warp
  std::uint32_t capacity = 0, hub_capacity = 0;
  StepCounts* counts = nullptr;  ///< three
  RelaxTotals* totals = nullptr;
  StepRecord* trace = nullptr;             ///< kTraceSteps, or null
  volatile std::uint32_t* host = nullptr;  ///< mapped: whether to stop; the step, by which the host sees progress
  double limit = 0, width = 0, min_width = 0, max_width = 0;
  bool adapts = false;           ///< the width
  std::uint32_t patience = ~0u;  ///< clocks of an SM after which a step's warps hand their items out
  bool natively = false;         ///< UpdateStatus is what hardware does: see kUpdatesNatively
  std::uint32_t wide = ~0u;      ///< items a hop, or of a step in the order of a Priority, from which on rounds are better
  /// @{
  /// Of Round.
  std::uint32_t index = 0, phase = 0;
  std::uint64_t active = 0;
  /// @}
  StateRef<P> s;

  __device__ RoundOf<P> round() const {
    RoundOf<P> round;
    round.index = index;
    round.phase = phase;
    round.vertices = s.graph.vertices;
    round.active = active;
    return round;
  }
};

/// An item in a local queue. In the order of hops its row comes with it, fetched while the update of its value is on the
/// way. In the order of a Priority an item is read with its row, and skipped if its value has improved since.
template <class P, bool kOrders = Traits<P>::kOrders>
struct QueueItem {
  ItemOf<P> item;
  RowRecord row;
};
template <class P>
struct QueueItem<P, true> {
  ItemOf<P> item;
};

template <class P>
inline constexpr std::size_t kSharedBytes = kWarps*(kLocalQueue * sizeof(QueueItem<P>) + kNearBuffer * sizeof(ItemOf<P>) +
                                                    (Traits<P>::kOrders ? kFarBuffer * sizeof(ItemOf<P>) : 0));

namespace detail {

__device__ inline RowRecord LoadRecord(const RowRecord* at) {
  const uint4 words = __ldg(reinterpret_cast<const uint4*>(at));
  return {{words.x, words.y, words.z, words.w}};
}

}  // namespace detail

}  // namespace chatty::fused::cuda
