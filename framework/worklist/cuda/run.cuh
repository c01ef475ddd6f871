/// \file
/// A distributed worklist on one GPU, from the host: its memory, and its kernel.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <type_traits>

#include "chatty/core/bytes.h"
#include "chatty/core/cuda.h"
#include "chatty/core/device.h"
#include "chatty/core/error.h"
#include "chatty/framework/fused/cuda/resident.cuh"
#include "chatty/framework/fused/team.h"
#include "chatty/framework/worklist/cuda/worker.cuh"
#include "chatty/framework/worklist/program.h"

namespace chatty::worklist::cuda {

/// A run on one GPU. The device must outlive it, the team its Run.
template <class P>
class DeviceRun {
  static_assert(std::is_trivially_copyable_v<P>,
                "a program that runs on GPUs is trivially copyable: kernels get it by value");
  using Item = typename P::Item;
  static_assert(alignof(Item) <= 16, "an item that is aligned to more than 16 bytes has no place in a warp's local queue");

 public:
  /// Takes all memory, copies the seeds, and loads the kernel: none of this can be done while another device's kernel runs.
  /// `index`: of the device in the team. Throws OutOfMemoryError, and CapabilityError where the kernel cannot stay resident.
  DeviceRun(Device& device, const P& program, std::span<const Item> seeds, const RunTerms& terms, fused::Team& team,
            std::size_t index)
      : device_(device),
        terms_(terms),
        team_(team),
        index_(index),
        sharing_(static_cast<unsigned>(team.SharingWith(index))),
        a_{program, fused::TeamRef{}},
        kernel_(device, {"make its items smaller", "raise WorklistOptions::timeout if the work is known to take longer"}),
        counts_(device, 1),
        totals_(device, 1),
        begun_(device, 1),
        first_counts_(device, 1),
        report_(device, 1) {
    const bool has_peers = team.size() > 1;
    a_.queue =
        std::bit_floor(terms.list_items == 0 ? kLocalQueue : std::clamp<std::uint32_t>(terms.list_items, 32, kLocalQueue));
    while (SharedBytes<Item>(a_.queue, Outbox(has_peers)) > kShared && a_.queue > 32) a_.queue /= 2;
    a_.outbox = Outbox(has_peers);
    const unsigned resident = kernel_.Blocks(&RunItems<P>, kThreads, shared_bytes());
    if (sharing_ > resident) {
      Throw<CapabilityError>("{}: {} devices share the GPU, whose {} multiprocessors keep as many workers resident",
                             device.label(), sharing_, resident);
    }
    blocks_ = std::min(resident / sharing_, kMaxWorkers / kWarps);
    TakeLists(seeds, has_peers);
    a_.counts = counts_.data();
    a_.totals = totals_.data();
    a_.begun = begun_.data();
    a_.host = kernel_.words();
    a_.width = terms.width;
    first_counts_[0] = ListCounts{};
    first_counts_[0].far[0] = a_.seeds;
    device.CopyIn(counts_.data(), first_counts_.data(), sizeof(ListCounts), device.stream());
    device.Fill(totals_.data(), 0, totals_.bytes(), device.stream());
    device.Fill(begun_.data(), 0, begun_.bytes(), device.stream());
    device.stream().Synchronize();
  }
  /// On the device's own thread, at the same time as those of the other devices. Throws OutOfMemoryError if a list was full,
  /// TimeoutError, DeviceError, and AbortedError where the run has ended on another device.
  DeviceResult Run(const fused::TeamRef& team) {
    a_.team = team;
    if (sharing_ > 1) {
      kernel_.LaunchBeside(&RunItems<P>, blocks_, kThreads, shared_bytes(), a_);
    } else {
      kernel_.Launch(&RunItems<P>, blocks_, kThreads, shared_bytes(), a_);
    }
    try {
      device_.CopyOut(report_.data(), totals_.data(), sizeof(Totals), device_.stream());
      kernel_.Await(&terms_.stop, {.timeout = terms_.timeout});
    } catch (...) {
      chatty::detail::StoreRelaxed(team.heap.abort, 1u);
      const std::exception_ptr failure = team_.FailureOf(index_);  // while the kernels, which end now, still say it
      try {
        device_.stream().Synchronize();  // the kernel still uses this object's memory
      } catch (const Error&) {           // a lost device uses nothing
      }
      std::rethrow_exception(failure);
    }
    const Totals& t = report_[0];
    if (t.full != 0) {
      Throw<OutOfMemoryError>(
          "{}: more items wait than there is room for: a list has room for {} items of {} bytes, all lists of the device "
          "are {}, "
          "and {} are free; raise WorklistOptions::waiting_items",
          device_.label(), a_.room, sizeof(Item), ExactBytes(bytes_), ExactBytes(device_.free_memory()));
    }
    if (t.aborted != 0) Throw<AbortedError>("a worklist has ended on another device");
    return {t.processed, t.steps, t.end == fused::End::kStopped};
  }

 private:
  /// Items of a warp's local queue, and the shared memory of a block that its local queues may take.
  static constexpr std::uint32_t kLocalQueue = 256;
  static constexpr std::size_t kShared = std::size_t{96} << 10;
  /// Workers that a device's state counts: see fused::TeamState.
  static constexpr unsigned kMaxWorkers = 1u << 15;
  /// Items of a list by default: that many, or what is in a part of the free memory.
  static constexpr std::uint64_t kWaiting = 1u << 24, kPartOfFree = 4;

  std::uint32_t Outbox(bool has_peers) const { return has_peers ? a_.queue / 2 : 0; }
  std::size_t shared_bytes() const { return SharedBytes<Item>(a_.queue, a_.outbox); }

  void TakeLists(std::span<const Item> seeds, bool has_peers) {
    // Below an infinite limit no item is far; the far list that is there has the seeds alone.
    const bool has_far = terms_.width < kInfinity<double>;
    const std::uint64_t place =
        sizeof(Item) * (has_far ? 4 : 2) + (has_peers ? 2 * sizeof(Unsent<Item>) : 0);  // an item of all lists
    const std::uint64_t free = device_.free_memory() / sharing_;
    std::uint64_t room = terms_.waiting_items;
    if (room == 0) room = free == 0 ? kWaiting : std::clamp<std::uint64_t>(free / kPartOfFree / place, 1u << 12, kWaiting);
    const std::uint64_t far_room = has_far ? std::max<std::uint64_t>(room, seeds.size()) : seeds.size();
    if (far_room > kMaxRoom) {
      Throw<UsageError>("{}: {} items wait at first, and a list has at most {}", device_.label(), far_room, kMaxRoom);
    }
    bytes_ = (2 * room + (has_far ? 2 : 1) * far_room) * sizeof(Item) + (has_peers ? 2 * room * sizeof(Unsent<Item>) : 0);
    if (free != 0 && bytes_ > free) {
      Throw<OutOfMemoryError>(
          "{}: the lists of a worklist need {}, but only {} are free{}; set WorklistOptions::waiting_items", device_.label(),
          ExactBytes(bytes_), ExactBytes(free), sharing_ > 1 ? " for each device of the GPU" : "");
    }
    for (std::size_t i = 0; i < 2; ++i) {
      near_[i] = Buffer<Item>(device_, room);
      if (has_far || i == 0) far_[i] = Buffer<Item>(device_, std::max<std::uint64_t>(far_room, 1));
      if (has_peers) unsent_[i] = Buffer<Unsent<Item>>(device_, room);
      a_.near[i] = near_[i].data();
      a_.far[i] = far_[i].data();
      a_.unsent[i] = unsent_[i].data();
    }
    a_.room = static_cast<std::uint32_t>(room);
    a_.far_room = static_cast<std::uint32_t>(far_room);
    a_.seeds = static_cast<std::uint32_t>(seeds.size());
    if (!seeds.empty()) device_.CopyIn(far_[0].data(), seeds.data(), seeds.size_bytes(), device_.stream());
  }
  /// Of a list, whose length is a word that may grow beyond it.
  static constexpr std::uint64_t kMaxRoom = std::uint64_t{1} << 31;

  Device& device_;
  const RunTerms& terms_;
  fused::Team& team_;
  const std::size_t index_;
  const unsigned sharing_;
  WorklistRef<P> a_;
  fused::cuda::ResidentKernel kernel_;
  Buffer<ListCounts> counts_;
  Buffer<Totals> totals_;
  Buffer<fused::cuda::TeamStep> begun_;
  Pinned<ListCounts> first_counts_;
  Pinned<Totals> report_;
  std::array<Buffer<Item>, 2> near_, far_;
  std::array<Buffer<Unsent<Item>>, 2> unsent_;
  std::uint64_t bytes_ = 0;
  unsigned blocks_ = 1;
};

}  // namespace chatty::worklist::cuda
