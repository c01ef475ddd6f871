/// \file
/// A symmetric heap: one block of memory on each device of a run, with every array at the same offset on all of them, for
/// kernels that exchange data by themselves. comm/symmetric/ops.h has the operations, comm/symmetric/team.h the collectives.
///
/// A backend is chosen by name when the heap is made (comm/symmetric/backend.h): GPUs of one process map each other's
/// blocks, by Device::AllowAccessBy or by NCCL's windows; host devices share their process's memory; or a thread of the host
/// copies for kernels (comm/symmetric/proxy.h). Kernels are compiled once for all. No block is managed memory or multicast.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "chatty/comm/symmetric/backend.h"
#include "chatty/comm/symmetric/ref.h"
#include "chatty/core/device.h"

namespace chatty {

namespace detail {
class LsaMemory;
class SymmetricProxy;
}  // namespace detail

/// How a SymmetricHeap is made.
struct SymmetricOptions {
  /// One of SymmetricBackends(), or "auto": `host` or `p2p`.
  std::string backend = "auto";
  /// Longest wait of a kernel, at least 1 ms. The devices' kernels must also start within this time of each other.
  std::chrono::milliseconds timeout{100};
  /// With backend `host`: stores that take effect late, for tests. Not owned; must outlive the heap. Null: none.
  DelayedStores* delays = nullptr;
};

/// The owner of a symmetric heap. Allocate takes an array on all devices at once: that is OpenSHMEM's collective allocation
/// in one process. All memory is taken here, before the first kernel runs: an allocation during a run could wait for a
/// kernel that waits for another device. One thread at a time may call a member, but for Abort. The devices must outlive the
/// heap.
class SymmetricHeap {
 public:
  /// Takes `bytes` bytes for arrays on each device, and a few KiB more.
  ///
  /// Throws UsageError for no or too many devices, devices of two kinds, a backend that is unknown or not theirs, a timeout
  /// below 1 ms, or delays with a backend other than host. Throws CapabilityError if a device cannot address another one's
  /// memory, or this build or machine lacks what the backend needs, and OutOfMemoryError with what is needed and free.
  SymmetricHeap(std::span<Device* const> devices, std::size_t bytes, SymmetricOptions options = {});
  ~SymmetricHeap();
  SymmetricHeap(const SymmetricHeap&) = delete;
  SymmetricHeap& operator=(const SymmetricHeap&) = delete;

  /// An array of `count` objects on each device, aligned to `alignment` bytes, a power of two of at most 256. Its contents
  /// are zero at first. Throws OutOfMemoryError with what is needed and free, and InternalError for another alignment.
  template <class T>
  Symmetric<T> Allocate(std::size_t count, std::size_t alignment = symmetric::kLine) {
    static_assert(std::is_trivially_copyable_v<T>);
    static_assert(alignof(T) <= symmetric::kLine);
    return {Take(count, sizeof(T), alignment > alignof(T) ? alignment : alignof(T)), count};
  }
  /// Fills all arrays with zeros. No kernel may run.
  void Clear();
  /// Frees all arrays and fills them with zeros. No kernel may run.
  void FreeAll();

  /// Bytes of the block that a heap with `bytes` bytes for arrays takes on each device. Backends lsa and proxy take more.
  static std::size_t BlockBytes(std::size_t bytes);

  const SymmetricBackend& backend() const { return backend_; }          ///< never "auto"
  std::size_t size() const { return devices_.size(); }                  ///< devices
  Device& device(std::size_t index) const { return *devices_[index]; }  ///< not owned
  std::size_t bytes() const { return bytes_; }                          ///< for arrays, on each device
  std::size_t free_bytes() const { return bytes_ - used_; }             ///< of them, not allocated

  /// What the kernel of device `index` gets. Valid as long as the heap.
  SymmetricRef ref(std::size_t index) const;
  /// The array's address on device `index`, in that device's address space: for the device's own copies and kernels.
  template <class T>
  T* data(Symmetric<T> array, std::size_t index) const {
    return reinterpret_cast<T*>(bases_[index] + array.offset);
  }

  /// Forgets reports, aborts and barriers of earlier kernels, and waits until the devices know. Call it before the kernels
  /// of a run are launched. No kernel may run.
  void BeginRun();
  /// Ends the waits of all kernels, at their next look at the abort word. Any thread may call it.
  void Abort() noexcept;
  /// Once the kernels have ended, and before the host reads an array: waits for what a proxy has still to copy for them.
  /// With other backends there is nothing to wait for. Throws DeviceError if a copy failed.
  void Complete() const;
  /// Once the kernels have ended: as Complete; then throws a TimeoutError if a wait passed its deadline, else an
  /// AbortedError if one was ended by Abort. The text says who waited, for whom, for what and how long.
  void Check() const;
  /// The text of device `index`'s first wait that ended in vain; empty if there is none.
  std::string Describe(std::size_t index) const;

 private:
  std::uint64_t Take(std::size_t count, std::size_t object, std::size_t alignment);
  void Synchronize();

  std::vector<Device*> devices_;
  SymmetricOptions options_;
  const SymmetricBackend& backend_;
  std::size_t bytes_, used_ = 0;
  std::vector<Buffer<std::byte>> blocks_;               // of all backends but lsa
  std::unique_ptr<detail::LsaMemory> lsa_;              // of lsa alone
  std::vector<std::byte*> bases_;                       // each device's block, as the device itself addresses it
  std::vector<Pinned<symmetric::WaitReport>> reports_;  // one a device
  Pinned<std::uint32_t> abort_;
  std::unique_ptr<detail::SymmetricProxy> proxy_;  // of backend proxy alone; ends before the memory above
};

}  // namespace chatty
