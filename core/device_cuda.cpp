/// GPUs behind the Device interface. Compiled as C++: only the CUDA runtime API is used here.
#include <algorithm>
#include <array>

#include "chatty/core/affinity.h"
#include "chatty/core/bytes.h"
#include "chatty/core/cuda.h"
#include "chatty/core/device.h"

namespace chatty {
namespace detail {

namespace {

/// The end of an error's text: whether the current device still works. After a sticky error every call returns that error.
/// Any other error is cleared when it is read.
std::string_view Aftermath() {
  cudaGetLastError();  // a later, unrelated call must not report an error that is not sticky
  const cudaError_t state = cudaStreamQuery(nullptr);
  if (state == cudaSuccess || state == cudaErrorNotReady) return "";
  cudaGetLastError();
  return "; the GPU's context is lost with all that it held, and nothing runs on this GPU any more in this process";
}

}  // namespace

void ThrowCuda(cudaError_t error, const char* call, const char* file, int line) {
  const std::string_view aftermath = Aftermath();
  constexpr const char* kText = "{} at {}:{} failed: {} ({}){}";
  if (error == cudaErrorMemoryAllocation) {
    Throw<OutOfMemoryError>(kText, call, file, line, cudaGetErrorString(error), cudaGetErrorName(error), aftermath);
  }
  Throw<DeviceError>(kText, call, file, line, cudaGetErrorString(error), cudaGetErrorName(error), aftermath);
}

void ThrowCudaWork(cudaError_t error, std::string_view label, std::string_view operation) {
  const std::string_view aftermath = Aftermath();
  Throw<DeviceError>("{}: {} failed: {} ({}){}", label, operation, cudaGetErrorString(error), cudaGetErrorName(error),
                     aftermath);
}

void ThrowOutOfGpuMemory(int ordinal, std::size_t bytes) {
  cudaGetLastError();
  std::size_t free = 0, total = 0;
  const AsCurrent owner(ordinal);
  cudaMemGetInfo(&free, &total);
  Throw<OutOfMemoryError>("cuda:{}: out of memory: an allocation needs {}, but only {} of {} are free", ordinal,
                          ExactBytes(bytes), ExactBytes(free), ExactBytes(total));
}

}  // namespace detail

namespace {

cudaStream_t Native(Stream& stream) { return static_cast<cudaStream_t>(stream.native()); }

class CudaStream final : public Stream {
 public:
  enum class Priority : std::uint8_t { kLeast, kGreatest };

  CudaStream(int ordinal, Priority priority) : ordinal_(ordinal) {
    int least = 0, greatest = 0;  // both 0 where a GPU has no priorities
    CHATTY_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CHATTY_CUDA(
        cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, priority == Priority::kGreatest ? greatest : least));
  }
  ~CudaStream() override { cudaStreamDestroy(stream_); }
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  void Synchronize(const WaitContext& context) override {
    if (context.abort == nullptr && context.timeout.count() == 0) {
      const cudaError_t state = cudaStreamSynchronize(stream_);
      if (state != cudaSuccess) detail::ThrowCudaWork(state, fmt::format("cuda:{}", ordinal_), "work on a stream");
      return;
    }
    // A query costs less than a microsecond, so polling also has the lowest latency. The clock is read once in 64 polls.
    const Clock::time_point start = Clock::now();
    for (std::uint32_t polls = 1; !IsIdle(); ++polls) {
      if (polls % 64 != 0) continue;
      if (context.abort != nullptr) context.abort->ThrowIfAborted("a CUDA stream");
      if (context.timeout.count() > 0 && Clock::now() - start > context.timeout) {
        Throw<TimeoutError>("cuda:{}: waited {} ms for a stream; raise --timeout if the work is known to take longer",
                            ordinal_, context.timeout.count());
      }
    }
  }
  bool IsIdle() override {
    const cudaError_t state = cudaStreamQuery(stream_);
    if (state != cudaSuccess && state != cudaErrorNotReady) {
      detail::ThrowCudaWork(state, fmt::format("cuda:{}", ordinal_), "work on a stream");
    }
    return state == cudaSuccess;
  }
  void* native() const override { return stream_; }

 private:
  int ordinal_;
  cudaStream_t stream_ = nullptr;
};

class CudaEvent final : public Event {
 public:
  CudaEvent() { CHATTY_CUDA(cudaEventCreate(&event_)); }
  ~CudaEvent() override { cudaEventDestroy(event_); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  void Record(Stream& stream) override { CHATTY_CUDA(cudaEventRecord(event_, Native(stream))); }
  void MakeWait(Stream& stream) override { CHATTY_CUDA(cudaStreamWaitEvent(Native(stream), event_, 0)); }
  double ElapsedMs(const Event& earlier) const override {
    float ms = 0;
    CHATTY_CUDA(cudaEventElapsedTime(&ms, static_cast<const CudaEvent&>(earlier).event_, event_));
    return ms;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Stream-ordered allocation from a pool of this device. The pool keeps freed memory, so that later trials allocate from it.
class CudaMemory final : public MemoryResource {
 public:
  explicit CudaMemory(int ordinal) : ordinal_(ordinal) {
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = ordinal;
    CHATTY_CUDA(cudaMemPoolCreate(&pool_, &properties));
    std::uint64_t keep_all = ~std::uint64_t{0};
    if (const cudaError_t error = cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep_all);
        error != cudaSuccess) {
      cudaMemPoolDestroy(pool_);  // the destructor does not run after a failed constructor
      CHATTY_CUDA(error);
    }
  }
  ~CudaMemory() override { cudaMemPoolDestroy(pool_); }
  CudaMemory(const CudaMemory&) = delete;
  CudaMemory& operator=(const CudaMemory&) = delete;

  void* Allocate(std::size_t bytes, Stream& stream) override {
    void* pointer = nullptr;
    const cudaError_t error = cudaMallocFromPoolAsync(&pointer, bytes, pool_, Native(stream));
    if (error == cudaErrorMemoryAllocation) {
      detail::ThrowOutOfGpuMemory(ordinal_, bytes);
    }
    CHATTY_CUDA(error);
    return pointer;
  }
  void Deallocate(void* pointer, std::size_t, Stream& stream) noexcept override {
    if (cudaFreeAsync(pointer, Native(stream)) != cudaSuccess)
      cudaGetLastError();  // fails after a lost context, which other calls report
  }
  cudaMemPool_t pool() const { return pool_; }
  /// Bytes in the pool that are not in use. The driver does not count them as free.
  std::uint64_t kept() const {
    std::uint64_t reserved = 0, used = 0;
    CHATTY_CUDA(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemCurrent, &reserved));
    CHATTY_CUDA(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrUsedMemCurrent, &used));
    return reserved - used;
  }

 private:
  int ordinal_;
  cudaMemPool_t pool_ = nullptr;
};

/// Page-locked host memory, mapped into every GPU's address space. The driver allocates the pages on the NUMA node of the
/// calling thread when it locks them.
class CudaPinnedMemory final : public MemoryResource {
 public:
  /// `placement` is the device's member, not owned.
  CudaPinnedMemory(int ordinal, const CpuPlacement& placement) : ordinal_(ordinal), placement_(placement) {}
  void* Allocate(std::size_t bytes, Stream&) override {
    const BoundTo near_device(placement_.cpus);
    const AsCurrent device_that_is_named(ordinal_);  // the caller may be another device's thread
    void* pointer = nullptr;
    const cudaError_t error = cudaHostAlloc(&pointer, bytes, cudaHostAllocMapped | cudaHostAllocPortable);
    if (error == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      Throw<OutOfMemoryError>("cuda:{}: out of pinned host memory: an allocation needs {}", ordinal_, ExactBytes(bytes));
    }
    CHATTY_CUDA(error);
    return pointer;
  }
  void Deallocate(void* pointer, std::size_t, Stream&) noexcept override {
    if (cudaFreeHost(pointer) != cudaSuccess) cudaGetLastError();
  }

 private:
  int ordinal_;
  const CpuPlacement& placement_;
};

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int ordinal) : ordinal_(ordinal), pinned_(ordinal, placement()) {
    MakeCurrent();
    cudaDeviceProp properties = {};
    CHATTY_CUDA(cudaGetDeviceProperties(&properties, ordinal));
    info_.name = properties.name;
    info_.memory = properties.totalGlobalMem;
    info_.multiprocessors = properties.multiProcessorCount;
    info_.compute_capability = properties.major * 10 + properties.minor;
    std::array<char, 32> bus_id{};
    CHATTY_CUDA(cudaDeviceGetPCIBusId(bus_id.data(), static_cast<int>(bus_id.size()), ordinal));
    info_.pci_bus_id = bus_id.data();
    memory_ = std::make_unique<CudaMemory>(ordinal);
    stream_ = std::make_unique<CudaStream>(ordinal, CudaStream::Priority::kLeast);
  }
  ~CudaDevice() override {
    cudaSetDevice(ordinal_);
    cudaStreamSynchronize(static_cast<cudaStream_t>(stream_->native()));
  }
  DeviceKind kind() const override { return DeviceKind::kCuda; }
  int index() const override { return ordinal_; }
  const DeviceInfo& info() const override { return info_; }
  std::uint64_t free_memory() override {
    MakeCurrent();
    std::size_t free = 0, total = 0;
    CHATTY_CUDA(cudaMemGetInfo(&free, &total));
    return free + memory_->kept();
  }
  std::uint64_t kept_memory() override { return memory_->kept(); }
  void ReleaseKeptMemory(const WaitContext& wait) override {
    stream_->Synchronize(wait);  // what is freed on the stream is in the pool after it
    CHATTY_CUDA(cudaMemPoolTrimTo(memory_->pool(), 0));
  }
  MemoryResource& memory() override { return resource_ != nullptr ? *resource_ : *memory_; }
  void set_memory(MemoryResource* resource) override { resource_ = resource; }
  MemoryResource& pinned_memory() override { return pinned_resource_ != nullptr ? *pinned_resource_ : pinned_; }
  void set_pinned_memory(MemoryResource* resource) override { pinned_resource_ = resource; }
  void MakeCurrent() override { CHATTY_CUDA(cudaSetDevice(ordinal_)); }
  Stream& stream() override { return *stream_; }
  std::unique_ptr<Stream> NewStream() override {
    MakeCurrent();
    return std::make_unique<CudaStream>(ordinal_, CudaStream::Priority::kGreatest);
  }
  std::unique_ptr<Event> NewEvent() override {
    MakeCurrent();
    return std::make_unique<CudaEvent>();
  }
  // A transport's message buffers have addresses like the device's own memory, but may lie in host memory or on a peer. With
  // cudaMemcpyDefault the runtime derives the direction from the addresses.
  void CopyIn(void* device, const void* host, std::size_t bytes, Stream& stream) override {
    if (bytes == 0) return;
    const AsCurrent device_of_the_stream(ordinal_);
    CHATTY_CUDA(cudaMemcpyAsync(device, host, bytes, cudaMemcpyDefault, Native(stream)));
    CountCopyIn(bytes);
  }
  void CopyOut(void* host, const void* device, std::size_t bytes, Stream& stream) override {
    if (bytes == 0) return;
    const AsCurrent device_of_the_stream(ordinal_);
    CHATTY_CUDA(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDefault, Native(stream)));
    CountCopyOut(bytes);
  }
  void CopyWithin(void* to, const void* from, std::size_t bytes, Stream& stream) override {
    if (bytes == 0) return;
    const AsCurrent device_of_the_stream(ordinal_);
    CHATTY_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, Native(stream)));
  }
  void CopyToPeer(Device& peer, void* to, const void* from, std::size_t bytes, Stream& stream) override {
    if (bytes == 0) return;
    const AsCurrent device_of_the_stream(ordinal_);
    CHATTY_CUDA(cudaMemcpyPeerAsync(to, peer.index(), from, ordinal_, bytes, Native(stream)));
  }
  bool HasNativeAtomics(Device& peer) override {
    if (peer.kind() != DeviceKind::kCuda) return false;
    if (peer.index() == ordinal_) return true;
    int supported = 0;
    CHATTY_CUDA(cudaDeviceGetP2PAttribute(&supported, cudaDevP2PAttrNativeAtomicSupported, ordinal_, peer.index()));
    return supported != 0;
  }
  bool AllowAccessBy(Device& peer) override {
    if (peer.kind() != DeviceKind::kCuda) return false;
    const int ordinal = peer.index();
    if (ordinal == ordinal_ || std::find(admitted_.begin(), admitted_.end(), ordinal) != admitted_.end()) return true;
    int reachable = 0;
    CHATTY_CUDA(cudaDeviceCanAccessPeer(&reachable, ordinal, ordinal_));
    if (reachable == 0) return false;
    // cudaDeviceEnablePeerAccess applies to memory from cudaMalloc; a pool needs a grant of its own.
    peer.MakeCurrent();
    const cudaError_t error = cudaDeviceEnablePeerAccess(ordinal_, 0);
    MakeCurrent();
    if (error == cudaErrorTooManyPeers) {  // the system's limit is reached: this pair has no peer access
      cudaGetLastError();
      return false;
    }
    if (error == cudaErrorPeerAccessAlreadyEnabled) {
      cudaGetLastError();
    } else {
      CHATTY_CUDA(error);
    }
    cudaMemAccessDesc grant = {};
    grant.location.type = cudaMemLocationTypeDevice;
    grant.location.id = ordinal;
    grant.flags = cudaMemAccessFlagsProtReadWrite;
    CHATTY_CUDA(cudaMemPoolSetAccess(memory_->pool(), &grant, 1));
    admitted_.push_back(ordinal);
    return true;
  }
  void Fill(void* device, std::uint8_t byte, std::size_t bytes, Stream& stream) override {
    if (bytes == 0) return;
    const AsCurrent device_of_the_stream(ordinal_);
    CHATTY_CUDA(cudaMemsetAsync(device, byte, bytes, Native(stream)));
  }

 private:
  std::vector<int> admitted_;  // peers with access to this device's memory
  int ordinal_;
  DeviceInfo info_;
  std::unique_ptr<CudaMemory> memory_;
  std::unique_ptr<CudaStream> stream_;
  CudaPinnedMemory pinned_;
  MemoryResource *resource_ = nullptr, *pinned_resource_ = nullptr;
};

}  // namespace

int CudaDeviceCount() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    cudaGetLastError();
    return 0;
  }
  return count;
}

std::unique_ptr<Device> MakeCudaDevice(int ordinal) try {
  return std::make_unique<CudaDevice>(ordinal);
} catch (const std::bad_alloc&) {
  ThrowOutOfHostMemory("opening a GPU");
}

}  // namespace chatty
