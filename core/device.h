/// \file
/// Devices behind one interface: a GPU, or a team of CPU threads.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chatty/core/affinity.h"
#include "chatty/core/error.h"
#include "chatty/core/sync.h"
#include "chatty/core/team.h"
#include "chatty/core/types.h"

namespace chatty {

/// A team of CPU threads, or a GPU.
enum class DeviceKind : std::uint8_t { kHost, kCuda };

class Stream;

/// Allocates and frees the memory of buffers. Allocation is ordered on a stream: work enqueued on the stream afterwards may
/// use the memory, and freed memory is reused after the work enqueued before has run (after RMM's device_memory_resource).
/// Pinned memory is an exception: it is usable when the call returns. Adaptors wrap another resource to limit, count or fail
/// allocations. Thread-safe.
class MemoryResource {
 public:
  virtual ~MemoryResource() = default;
  /// Allocates at least `bytes` bytes aligned to 256. Throws OutOfMemoryError with the device's name and `bytes`.
  virtual void* Allocate(std::size_t bytes, Stream& stream) = 0;
  /// Frees a block of `bytes` bytes from Allocate, after the work enqueued on `stream` has run.
  virtual void Deallocate(void* pointer, std::size_t bytes, Stream& stream) noexcept = 0;
};

/// A queue of work on one device, run in order. On a host device an enqueueing call returns after the work.
class Stream {
 public:
  virtual ~Stream() = default;
  /// Blocks until all work enqueued so far has run. Throws DeviceError for a failed kernel or copy, AbortedError,
  /// TimeoutError.
  virtual void Synchronize(const WaitContext& context = {}) = 0;
  /// Whether all work enqueued so far has run. Does not wait. Throws DeviceError for a failed kernel or copy.
  virtual bool IsIdle() = 0;
  /// The backend's handle: a cudaStream_t, or null for host devices.
  virtual void* native() const = 0;
};

/// A point in a stream, with a time stamp. Another stream or the host can wait for it. Thread-safe once recorded.
class Event {
 public:
  virtual ~Event() = default;
  /// Completes when the work enqueued on `stream` so far has run.
  virtual void Record(Stream& stream) = 0;
  virtual void MakeWait(Stream& stream) = 0;  ///< work enqueued on `stream` from now on runs after this event
  /// Milliseconds from `earlier` to this event; both must have completed.
  virtual double ElapsedMs(const Event& earlier) const = 0;
};

/// Bytes that a device has copied to its memory and from it.
struct HostCopies {
  std::uint64_t in = 0;   ///< from the host to the device
  std::uint64_t out = 0;  ///< from the device to the host

  /// What was copied since `before`.
  HostCopies operator-(const HostCopies& before) const { return {in - before.in, out - before.out}; }
  HostCopies& operator+=(const HostCopies& other) {  ///< adds both numbers
    in += other.in;
    out += other.out;
    return *this;
  }
};

/// Properties of a device.
struct DeviceInfo {
  std::string name;            ///< "NVIDIA H200", "4 CPU threads"
  std::uint64_t memory = 0;    ///< total bytes; 0 if unknown
  int multiprocessors = 0;     ///< SMs, or CPU threads
  int compute_capability = 0;  ///< 90 for 9.0; 0 on hosts
  std::string pci_bus_id;      ///< a GPU's address in CUDA's format, "0000:1B:00.0"; empty on hosts
};

/// A processor with its own memory space. Not copyable. It must outlive all buffers, streams and events made from it. One
/// thread at a time may enqueue work: the OpenMP thread that drives the device.
class Device {
 public:
  virtual ~Device() = default;
  /// CPU threads or a GPU.
  virtual DeviceKind kind() const = 0;
  virtual int index() const = 0;  ///< ordinal within its kind
  /// "host:0" or "cuda:1", for tables and most errors; "cuda:1.0", "cuda:1.1" and so on if several devices share a GPU.
  std::string label() const;
  /// Name and size; valid during the device's lifetime.
  virtual const DeviceInfo& info() const = 0;
  /// Bytes that can be allocated now, whatever memory() is set to; 0 if unknown. Host devices share one memory: each reports
  /// all that is left of it.
  virtual std::uint64_t free_memory() { return 0; }
  /// Bytes included in free_memory() that only this device can allocate, because its pool keeps freed memory. Other devices
  /// on the same GPU cannot use them.
  virtual std::uint64_t kept_memory() { return 0; }
  /// Gives kept_memory() back, so that others can allocate it. Waits for the main stream, as Stream::Synchronize does with
  /// this context. Throws DeviceError, TimeoutError, AbortedError.
  virtual void ReleaseKeptMemory(const WaitContext& /*wait*/ = {}) {}
  /// The resource that allocates this device's buffers.
  virtual MemoryResource& memory() = 0;
  /// Replaces the resource that memory() returns, for limits and failure injection. Null restores the default one.
  virtual void set_memory(MemoryResource* resource) = 0;
  /// Page-locked host memory that the device can also address, for counters and for buffers on the way to another device.
  virtual MemoryResource& pinned_memory() = 0;
  virtual void set_pinned_memory(MemoryResource* resource) = 0;  ///< as set_memory
  /// Makes this device current for the calling thread; a no-op on hosts.
  virtual void MakeCurrent() = 0;
  virtual Stream& stream() = 0;  ///< the device's main stream, for the steps of a run
  /// A further stream of this device, for messages and copies. Its kernels are scheduled before waiting blocks of the main
  /// stream's kernels, so that what travels need not wait for a step (Groute's split receive). Throws DeviceError.
  virtual std::unique_ptr<Stream> NewStream() = 0;
  /// An event for streams of this device. Throws DeviceError.
  virtual std::unique_ptr<Event> NewEvent() = 0;

  /// Enqueues a copy from the host to this device on `stream`. Host memory must stay valid until the copy has run. Any
  /// thread may enqueue copies, if no other thread uses the stream at the time or the order of their work does not matter.
  virtual void CopyIn(void* device, const void* host, std::size_t bytes, Stream& stream) = 0;
  /// As CopyIn, from the device to the host.
  virtual void CopyOut(void* host, const void* device, std::size_t bytes, Stream& stream) = 0;
  /// Bytes of CopyIn and CopyOut since the device was opened; zeros on a host device, whose memory is the host's. What
  /// kernels read and write in page-locked memory is not counted. Thread-safe.
  HostCopies host_copies() const {
    return {copied_in_.load(std::memory_order_relaxed), copied_out_.load(std::memory_order_relaxed)};
  }
  virtual void CopyWithin(void* to, const void* from, std::size_t bytes, Stream& stream) = 0;  ///< both in this device
  /// Copies from this device's memory to that of `peer`, a device of the same kind, on a stream of this device. The copy
  /// uses the links between them if each may access the other's memory; otherwise the driver chooses the way.
  virtual void CopyToPeer(Device& peer, void* to, const void* from, std::size_t bytes, Stream& stream);
  /// Lets kernels and copies of `peer` address this device's present and future memory, if the hardware can. Returns whether
  /// they can. Only the first call for a peer takes long. Throws DeviceError.
  virtual bool AllowAccessBy(Device& peer);
  /// Whether the link to `peer` executes this device's atomic operations on the peer's memory: NVLink does, PCIe does not.
  virtual bool HasNativeAtomics(Device& peer);
  /// Sets `bytes` bytes of device memory to `byte`, on `stream`.
  virtual void Fill(void* device, std::uint8_t byte, std::size_t bytes, Stream& stream) = 0;

  virtual WorkerTeam* team() { return nullptr; }  ///< the threads of a host device; null on GPUs

  /// The CPUs of the threads that drive the device, and the place of its pinned memory.
  const CpuPlacement& placement() const { return placement_; }
  /// Sets the placement and restricts the device's own threads to it. Not while the device works.
  void Place(const CpuPlacement& placement) {
    placement_ = placement;
    if (WorkerTeam* const threads = team(); threads != nullptr) threads->RestrictTo(placement.cpus);
  }

  /// The number, from 0, of this device among the devices that share its GPU; kAlone if it does not share one, or set_share
  /// was not called.
  int share() const { return share_; }
  void set_share(int share) { share_ = share; }  ///< for code that opens several devices on one GPU
  static constexpr int kAlone = -1;              ///< the GPU is not shared

 protected:
  /// @{
  /// Adds to host_copies(). Called by implementations whose memory is not the host's.
  void CountCopyIn(std::size_t bytes) { copied_in_.fetch_add(bytes, std::memory_order_relaxed); }
  void CountCopyOut(std::size_t bytes) { copied_out_.fetch_add(bytes, std::memory_order_relaxed); }
  /// @}

 private:
  std::atomic<std::uint64_t> copied_in_{0}, copied_out_{0};
  CpuPlacement placement_;
  int share_ = kAlone;
};

namespace detail {

/// Owner of `size()` objects of T from a memory resource.
template <class T>
class Block {
 public:
  Block() = default;
  Block(Device& device, MemoryResource& resource, std::size_t size) : device_(&device), resource_(&resource), size_(size) {
    if (size > static_cast<std::size_t>(-1) / sizeof(T)) {
      Throw<OutOfMemoryError>("{}: a buffer of {} elements of {} bytes is larger than the address space", device.label(),
                              size, sizeof(T));
    }
    if (size > 0) data_ = static_cast<T*>(resource_->Allocate(size * sizeof(T), device.stream()));
  }
  /// Leaves `other` empty.
  Block(Block&& other) noexcept { Swap(other); }
  /// Frees what this held; leaves `other` empty.
  Block& operator=(Block&& other) noexcept {
    Block moved(std::move(other));
    Swap(moved);
    return *this;
  }
  ~Block() {
    if (data_ != nullptr) resource_->Deallocate(data_, bytes(), device_->stream());
  }

  /// @{
  /// Address in the device's address space, and size in elements or bytes.
  T* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  std::size_t bytes() const noexcept { return size_ * sizeof(T); }
  bool empty() const noexcept { return size_ == 0; }
  /// @}

 private:
  void Swap(Block& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(resource_, other.resource_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }
  Device* device_ = nullptr;
  MemoryResource* resource_ = nullptr;
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace detail

/// Owner of `size()` objects of T in a device's memory. Contents are indeterminate until written.
template <class T>
class Buffer : public detail::Block<T> {
 public:
  Buffer() = default;
  /// Throws OutOfMemoryError.
  Buffer(Device& device, std::size_t size) : detail::Block<T>(device, device.memory(), size) {}
};

/// Page-locked host memory for `size()` objects of T, readable by the host and by the device.
template <class T>
class Pinned : public detail::Block<T> {
 public:
  Pinned() = default;
  /// Memory that `device` can address. Throws OutOfMemoryError.
  Pinned(Device& device, std::size_t size) : detail::Block<T>(device, device.pinned_memory(), size) {}
  /// Element i. There is no bounds check.
  T& operator[](std::size_t i) const noexcept { return this->data()[i]; }
};

/// A parsed `--devices` value.
struct DeviceSelection {
  /// The kind of all devices: host devices and GPUs are not mixed.
  DeviceKind kind = DeviceKind::kHost;
  /// 0 to N - 1 for host devices, ordinals for CUDA. A GPU shared by n devices occurs n times.
  std::vector<int> indices;

  /// The first `count` devices, or all if there are fewer.
  DeviceSelection First(std::size_t count) const;
};
/// The first GPU that several of the devices share, if there is one. Host devices share none.
std::optional<int> SharedGpu(const DeviceSelection& selection);
/// The label() of each device, if all are opened together.
std::vector<std::string> LabelsOf(const DeviceSelection& selection);

/// The selection that contains these devices, in their order.
DeviceSelection SelectionOf(std::span<Device* const> devices);

/// Parses "auto", "N", "host", "host:N", "cuda", "cuda:N,M,…". "auto" is all GPUs if there are any, else host:1. "4" is the
/// first four GPUs if there are any, else host:4. "cuda" is all GPUs. "cuda:4@0" is four devices on GPU 0, each with its own
/// part of the graph, memory and streams: a machine with one GPU can then run with several devices. Throws UsageError for
/// bad syntax, repeats or more than kMaxDevices; CapabilityError for a missing GPU or a build without CUDA.
DeviceSelection ParseDevices(std::string_view text);

/// Number of threads of host device `index`, if `count` host devices share `threads` CPU threads (0: one per core); at least
/// one.
int ThreadsOfHostDevice(int index, int count, int threads);
/// Opens the selected devices. Host devices share `threads` CPU threads (0: one per core), with at least one each.
std::vector<std::unique_ptr<Device>> OpenDevices(const DeviceSelection& selection, int threads = 0);

/// Number of GPUs that this process can use; 0 in a build without CUDA or on a machine without a driver.
int CudaDeviceCount();

/// The host device `host:index` with a team of `threads` threads. Throws the errors of WorkerTeam.
std::unique_ptr<Device> MakeHostDevice(int index, int threads);
/// The device `cuda:ordinal`. Throws CapabilityError in builds without CUDA.
std::unique_ptr<Device> MakeCudaDevice(int ordinal);

}  // namespace chatty
