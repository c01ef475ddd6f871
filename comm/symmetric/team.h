/// \file
/// Collectives over all devices of a run, called by every thread of each device's grid: barrier, reduction, broadcast.
///
/// The barrier: each block counts its arrival at a word of its own device. The last block to arrive writes the barrier's
/// number into a flag on every device, and all blocks poll the flags on their own device. On one node this takes less time
/// than one polling block per device, or than a counter to which the blocks of all devices add.
///
/// Orders (docs/internals.md, "Operations on symmetric heaps", has the instructions): what any thread of any device did
/// before the barrier is seen by all threads of all devices behind it. So a barrier contains a Quiet of every scope. With a
/// proxy the flags are requests like all others, which each device's proxy completes in their order: the same holds.
///
/// All blocks of a grid must be resident at once: launch it cooperatively.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "chatty/comm/symmetric/ops.h"
#include "chatty/comm/symmetric/ref.h"
#include "chatty/comm/symmetric/scopes.h"
#include "chatty/comm/symmetric/wait.h"
#include "chatty/core/macros.h"

namespace chatty::detail {

/// Where device `writer` writes that it has arrived at a barrier, in every device's block.
CHATTY_FN Symmetric<std::uint64_t> ArrivalSlotOf(std::uint32_t writer) {
  return {offsetof(symmetric::Control, flags) + writer * sizeof(symmetric::Control::Flag), 1};
}

/// Where device `writer` writes its value of a reduction or broadcast, in every device's block.
CHATTY_FN Symmetric<std::uint64_t> ValueSlotOf(std::uint32_t writer, std::uint64_t parity) {
  return {offsetof(symmetric::Control, values) + (parity * kMaxDevices + writer) * sizeof(std::uint64_t), 1};
}

}  // namespace chatty::detail

namespace chatty::symmetric {

/// All devices of a run, as a thread of a grid sees them. Every thread of every device makes one at its kernel's begin and
/// calls the collectives in the same order. The heap must outlive it.
class Team {
 public:
  /// Begins at the barrier at which this device's earlier kernels of the run ended.
  CHATTY_FN explicit Team(const SymmetricRef& heap) : heap_(&heap), epoch_(detail::LoadRelaxed(&heap.control().epoch)) {}

  CHATTY_FN const SymmetricRef& heap() const { return *heap_; }  ///< not owned
  CHATTY_FN std::uint64_t epoch() const { return epoch_; }       ///< barriers so far
  CHATTY_FN void Advance() { ++epoch_; }                         ///< counts a barrier, for Barrier

 private:
  const SymmetricRef* heap_;
  std::uint64_t epoch_;
};

/// Waits until all threads of all devices have called it, and completes their operations, as Quiet does. Returns false if
/// the wait ended before, as WaitUntil: a block's own result, which another block of the device may not share. So no barrier
/// of the grid may follow before the blocks have agreed.
[[nodiscard]] CHATTY_FN bool Barrier(Team& team) {
  const Block block;
  const SymmetricRef& heap = team.heap();
  Control& home = heap.control();
  team.Advance();
  block.Sync();
  if (block.rank() == 0 && detail::CountArrival(&home.arrived) + 1 == Grid().blocks()) {
    detail::StoreRelaxed(&home.arrived, 0u);
    detail::StoreRelaxed(&home.epoch, team.epoch());
    Fence(Thread(), heap);
    for (std::uint32_t device = 0; device < heap.size; ++device) {
      detail::Set(heap, detail::ArrivalSlotOf(heap.me), team.epoch(), device);
    }
  }
  bool met = true;
  for (std::uint32_t device = block.rank(); device < heap.size && met; device += block.threads()) {
    const std::uint64_t* const flag = &home.flags[device].epoch;
    detail::PerformAt(heap, flag, sizeof(*flag));
    met = detail::Await(
        heap, detail::Awaited<std::uint64_t>{flag, Compare::kGreaterEqual, team.epoch(), WaitKind::kBarrier, device});
  }
  return block.All(met);
}

/// The sum of two values, for Reduce.
struct Sum {
  template <class T>
  CHATTY_FN T operator()(T a, T b) const {  ///< a + b
    return a + b;
  }
};
/// The smaller of two values, for Reduce.
struct Min {
  template <class T>
  CHATTY_FN T operator()(T a, T b) const {  ///< a, if they are equal
    return b < a ? b : a;
  }
};
/// The larger of two values, for Reduce.
struct Max {
  template <class T>
  CHATTY_FN T operator()(T a, T b) const {  ///< a, if they are equal
    return a < b ? b : a;
  }
};

/// Combines one value of each device, in the order of the devices: all threads of all devices get the same. The value of a
/// device is that of the first thread of its grid. Takes one barrier; returns what it returns, and leaves *value if that is
/// false.
template <class T, class Op>
[[nodiscard]] CHATTY_FN bool Reduce(Team& team, T* value, const Op& op) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t));
  const SymmetricRef& heap = team.heap();
  const std::uint64_t parity =
      (team.epoch() + 1) % 2;  // the values of one epoch are read while those of the next are written
  if (Grid().rank() == 0) {
    std::uint64_t bits = 0;
    memcpy(&bits, value, sizeof(T));
    for (std::uint32_t device = 0; device < heap.size; ++device) {
      detail::Set(heap, detail::ValueSlotOf(heap.me, parity), bits, device);
    }
  }
  if (!Barrier(team)) return false;
  const std::uint64_t* const values = heap.control().values[parity];
  T result{};
  for (std::uint32_t device = 0; device < heap.size; ++device) {
    const std::uint64_t bits = detail::LoadRelaxed(values + device);
    T one;
    memcpy(&one, &bits, sizeof(T));
    result = device == 0 ? one : op(result, one);
  }
  *value = result;
  return true;
}

/// Gives all threads of all devices the value of the first thread of `root`'s grid. Takes one barrier; returns what it
/// returns, and leaves *value if that is false.
template <class T>
[[nodiscard]] CHATTY_FN bool Broadcast(Team& team, T* value, std::uint32_t root) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t));
  const SymmetricRef& heap = team.heap();
  const std::uint64_t parity = (team.epoch() + 1) % 2;
  if (heap.me == root && Grid().rank() == 0) {
    std::uint64_t bits = 0;
    memcpy(&bits, value, sizeof(T));
    for (std::uint32_t device = 0; device < heap.size; ++device) {
      detail::Set(heap, detail::ValueSlotOf(root, parity), bits, device);
    }
  }
  if (!Barrier(team)) return false;
  const std::uint64_t bits = detail::LoadRelaxed(heap.control().values[parity] + root);
  memcpy(value, &bits, sizeof(T));
  return true;
}

/// Combines `count` objects of each device, in the order of the devices, object by object: `to` has the same on all devices.
/// `to` and `from` do not overlap. Takes two barriers; returns whether both were met.
template <class T, class Op>
[[nodiscard]] CHATTY_FN bool Reduce(Team& team, Symmetric<T> to, Symmetric<T> from, std::size_t count, const Op& op) {
  static_assert(detail::kIsWord<T>);
  const SymmetricRef& heap = team.heap();
  if (!Barrier(team)) return false;  // all sources are written
  for (std::size_t i = Grid().rank(); i < count; i += Grid().threads()) {
    T result = AtomicFetch(heap, from + i, 0);
    for (std::uint32_t device = 1; device < heap.size; ++device) result = op(result, AtomicFetch(heap, from + i, device));
    detail::SetOwn(heap, to + i, result);
  }
  return Barrier(team);  // all sources are read
}

/// Copies `count` objects of `from` on `root` to `to` on every device, the root included. `to` and `from` do not overlap,
/// and the threads of every device are done with `to` before the root calls. Takes one barrier; returns whether it was met.
template <class T>
[[nodiscard]] CHATTY_FN bool Broadcast(Team& team, Symmetric<T> to, Symmetric<T> from, std::size_t count,
                                       std::uint32_t root) {
  const SymmetricRef& heap = team.heap();
  if (heap.me == root) {
    // Each block copies its part: a multiple of 128 bytes, so that all but the last are copied in the widest words.
    const std::size_t line = kLine / sizeof(T) > 0 ? kLine / sizeof(T) : 1, blocks = Grid().blocks();
    const std::size_t part = (count + blocks * line - 1) / (blocks * line) * line, begin = Grid().block() * part;
    if (begin < count) {
      const std::size_t size = count - begin < part ? count - begin : part;
      for (std::uint32_t device = 0; device < heap.size; ++device) {
        PutNbi(Block(), heap, to + begin, heap.Own(from + begin), size, device);
      }
    }
  }
  return Barrier(team);
}

}  // namespace chatty::symmetric
