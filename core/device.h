/// \file
/// Devices behind one small interface: a GPU, or a group of CPU threads with its own part of the graph.
#pragma once

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

/// CPU threads, or a GPU.
enum class DeviceKind : std::uint8_t { kHost, kCuda };

class Stream;

/// Where buffers come from. Allocation is ordered on a stream: memory may be used by work enqueued on it afterwards, and is
/// given back once the work enqueued before has run (the idea of RMM's device_memory_resource). Pinned memory is the
/// exception: it is there when the call returns. Adaptors wrap another resource to limit, count or fail allocations.
/// Thread-safe.
class MemoryResource {
 public:
  virtual ~MemoryResource() = default;
  /// At least `bytes` bytes aligned to 256. Throws OutOfMemoryError with the device's name and the bytes asked for.
  virtual void* Allocate(std::size_t bytes, Stream& stream) = 0;
  /// Gives back what Allocate returned for `bytes` bytes, once the work enqueued on `stream` has run.
  virtual void Deallocate(void* pointer, std::size_t bytes, Stream& stream) noexcept = 0;
};

/// A queue of work on one device, run in order. Work on a host device has run when the call that enqueues it returns.
class Stream {
 public:
  virtual ~Stream() = default;
  /// Blocks until all work enqueued so far has run. Throws DeviceError for a failed kernel or copy, AbortedError,
  /// TimeoutError.
  virtual void Synchronize(const WaitContext& context = {}) = 0;
  /// The backend's handle: a cudaStream_t, or null for host devices.
  virtual void* native() const = 0;
};

/// A point in a stream that another stream, or the host, can wait for, and a time stamp. Thread-safe once recorded.
class Event {
 public:
  virtual ~Event() = default;
  /// Marks the point that `stream` has come to when the work enqueued so far has run.
  virtual void Record(Stream& stream) = 0;
  virtual void MakeWait(Stream& stream) = 0;  ///< work enqueued on `stream` from now on runs after this event
  /// Milliseconds from `earlier` to this event; both must have completed.
  virtual double ElapsedMs(const Event& earlier) const = 0;
};

/// What a device is and how fast it can be expected to be.
struct DeviceInfo {
  std::string name;            ///< "NVIDIA H200", "4 CPU threads"
  std::uint64_t memory = 0;    ///< bytes in all; 0 if unknown
  int multiprocessors = 0;     ///< SMs, or threads
  int compute_capability = 0;  ///< 90 for 9.0; 0 on hosts
  std::string pci_bus_id;      ///< of a GPU, as CUDA writes it: "0000:1B:00.0"; empty on hosts
};

/// One processor with its own memory space. Not copyable; outlives all that was made from it. Enqueueing calls are for one
/// thread at a time: the OpenMP thread that drives the device.
class Device {
 public:
  virtual ~Device() = default;
  /// What kind of device this is.
  virtual DeviceKind kind() const = 0;
  virtual int index() const = 0;  ///< ordinal within its kind
  /// "host:0" or "cuda:1", as tables and most errors print it; "cuda:1.0" and so on where several devices share a GPU.
  std::string label() const;
  /// Its name and size; valid as long as the device.
  virtual const DeviceInfo& info() const = 0;
  /// Bytes that could be allocated now, whatever memory() is set to; 0 if unknown. Host devices share one memory: each says
  /// what is left of all of it.
  virtual std::uint64_t free_memory() { return 0; }
  /// Of these, what the device keeps of memory that was given back to it: other devices on its GPU cannot have that.
  virtual std::uint64_t kept_memory() { return 0; }
  /// Where buffers of this device come from.
  virtual MemoryResource& memory() = 0;
  /// Replaces the resource that `memory()` returns, for limits and failure injection. Null restores the device's own.
  virtual void set_memory(MemoryResource* resource) = 0;
  /// Page-locked host memory that the device can also address, for counters and buffers that cross.
  virtual MemoryResource& pinned_memory() = 0;
  virtual void set_pinned_memory(MemoryResource* resource) = 0;  ///< as set_memory
  /// Makes this device current for the calling thread; a no-op on hosts.
  virtual void MakeCurrent() = 0;
  virtual Stream& stream() = 0;  ///< the device's main stream
  /// A further stream of this device. Throws DeviceError.
  virtual std::unique_ptr<Stream> NewStream() = 0;
  /// An event for streams of this device. Throws DeviceError.
  virtual std::unique_ptr<Event> NewEvent() = 0;

  /// Copies enqueued on `stream`. Host memory must stay valid until the stream has passed the copy. Any thread may enqueue
  /// copies on a stream that nobody else uses meanwhile, or whose users do not mind whose work comes first.
  virtual void CopyIn(void* device, const void* host, std::size_t bytes, Stream& stream) = 0;
  /// As CopyIn, from the device to the host.
  virtual void CopyOut(void* host, const void* device, std::size_t bytes, Stream& stream) = 0;
  virtual void CopyWithin(void* to, const void* from, std::size_t bytes, Stream& stream) = 0;  ///< both in this device
  /// From this device's memory to that of `peer`, another device of the same kind; over the links between them where each
  /// may access the other's memory, and by whatever the driver finds where not. On a stream of this device.
  virtual void CopyToPeer(Device& peer, void* to, const void* from, std::size_t bytes, Stream& stream);
  /// Lets kernels and copies of `peer` address this device's memory, all that there is and all to come, where the hardware
  /// can; says whether they can now. Costs time only when first asked for a peer. Throws DeviceError.
  virtual bool AllowAccessBy(Device& peer);
  /// Sets `bytes` bytes of device memory to `byte`, on `stream`.
  virtual void Fill(void* device, std::uint8_t byte, std::size_t bytes, Stream& stream) = 0;

  virtual WorkerTeam* team() { return nullptr; }  ///< the threads of a host device; null on GPUs

  /// Where the threads that drive it are to run, and its pinned memory to lie.
  const CpuPlacement& placement() const { return placement_; }
  /// Sets that, and has the threads of its team run there from now on. Not while it works.
  void Place(const CpuPlacement& placement) {
    placement_ = placement;
    if (WorkerTeam* const threads = team(); threads != nullptr) threads->RestrictTo(placement.cpus);
  }

  /// Which it is, from 0, of the devices that share its GPU; kAlone where it has the GPU to itself, as far as it was told.
  int share() const { return share_; }
  void set_share(int share) { share_ = share; }  ///< for who opens several devices on a GPU
  static constexpr int kAlone = -1;              ///< no share

 private:
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
  /// The memory, in the device's address space, and its extent in elements or bytes.
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
  /// Element i. No bounds are checked.
  T& operator[](std::size_t i) const noexcept { return this->data()[i]; }
};

/// A parsed `--devices` value.
struct DeviceSelection {
  /// One kind for all: host devices and GPUs are not mixed.
  DeviceKind kind = DeviceKind::kHost;
  /// 0 .. N-1 for host devices, ordinals for CUDA: a GPU that several devices share as often as there are.
  std::vector<int> indices;

  /// The first `count` of them, or all if there are fewer.
  DeviceSelection First(std::size_t count) const;
};
/// A GPU that several of the devices share, if there is one. Host devices share no GPU.
std::optional<int> SharedGpu(const DeviceSelection& selection);
/// What Device::label says of each, opened together.
std::vector<std::string> LabelsOf(const DeviceSelection& selection);

/// The selection that these devices are, in their order.
DeviceSelection SelectionOf(std::span<Device* const> devices);

/// Parses "auto", "N", "host", "host:N", "cuda", "cuda:N,M,…". "auto" is all GPUs if there are any, else host:1; "4" is the
/// first four GPUs if there are any, else host:4; "cuda" is all GPUs; "cuda:4@0" is four devices that share GPU 0, each with
/// its part of the graph, its memory and its streams, so that a machine with one GPU runs what several would. Throws
/// UsageError for bad syntax, repeats or more than kMaxDevices; CapabilityError for a GPU that is not there or a build
/// without CUDA.
DeviceSelection ParseDevices(std::string_view text);

/// How many of `threads` CPU threads (0: one a core) host device `index` of `count` that share them has; at least one.
int ThreadsOfHostDevice(int index, int count, int threads);
/// Opens the selected devices. Host devices share `threads` CPU threads (0: one a core), at least one each.
std::vector<std::unique_ptr<Device>> OpenDevices(const DeviceSelection& selection, int threads = 0);

/// How many GPUs this process can use; 0 in a build without CUDA or on a machine without a driver.
int CudaDeviceCount();

/// A host device `host:index` with a team of `threads` threads. Throws what WorkerTeam throws.
std::unique_ptr<Device> MakeHostDevice(int index, int threads);
/// Only in builds with CUDA.
std::unique_ptr<Device> MakeCudaDevice(int ordinal);

}  // namespace chatty
