/// GPUs behind the Device interface. Compiled as C++: only the CUDA runtime API is used here.
#include <algorithm>

#include "chatty/core/cuda.h"
#include "chatty/core/device.h"

namespace chatty {
namespace detail {

void ThrowCuda(cudaError_t error, const char* call, const char* file, int line) {
  cudaGetLastError();  // an error that is not sticky must not surface again at an unrelated call
  const auto text =
      fmt::format("{} at {}:{} failed: {} ({})", call, file, line, cudaGetErrorString(error), cudaGetErrorName(error));
  if (error == cudaErrorMemoryAllocation) throw OutOfMemoryError(text);
  throw DeviceError(text);
}

}  // namespace detail

namespace {

cudaStream_t Native(Stream& stream) { return static_cast<cudaStream_t>(stream.native()); }

class CudaStream final : public Stream {
 public:
  explicit CudaStream(int ordinal) : ordinal_(ordinal) {
    CHATTY_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  ~CudaStream() override { cudaStreamDestroy(stream_); }
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  void Synchronize(const WaitContext& context) override {
    if (context.abort == nullptr && context.timeout.count() == 0) {
      CHATTY_CUDA(cudaStreamSynchronize(stream_));
      return;
    }
    // A query costs less than a microsecond, so polling also has the lowest latency; the clock is read now and then.
    const Clock::time_point start = Clock::now();
    for (std::uint32_t polls = 1;; ++polls) {
      const cudaError_t state = cudaStreamQuery(stream_);
      if (state == cudaSuccess) return;
      if (state != cudaErrorNotReady) CHATTY_CUDA(state);
      if (polls % 64 != 0) continue;
      if (context.abort != nullptr) context.abort->ThrowIfAborted("a CUDA stream");
      if (context.timeout.count() > 0 && Clock::now() - start > context.timeout) {
        Throw<TimeoutError>("cuda:{}: waited {} ms for a stream; raise --timeout if the work is known to take longer",
                            ordinal_, context.timeout.count());
      }
    }
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

/// Stream-ordered allocation from a pool of the device's own, which keeps what is freed: trials do not pay for it again.
class CudaMemory final : public MemoryResource {
 public:
  explicit CudaMemory(int ordinal) : ordinal_(ordinal) {
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = ordinal;
    CHATTY_CUDA(cudaMemPoolCreate(&pool_, &properties));
    std::uint64_t keep_all = ~std::uint64_t{0};
    CHATTY_CUDA(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep_all));
  }
  ~CudaMemory() override { cudaMemPoolDestroy(pool_); }
  CudaMemory(const CudaMemory&) = delete;
  CudaMemory& operator=(const CudaMemory&) = delete;

  void* Allocate(std::size_t bytes, Stream& stream) override {
    void* pointer = nullptr;
    const cudaError_t error = cudaMallocFromPoolAsync(&pointer, bytes, pool_, Native(stream));
    if (error == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      std::size_t free = 0, total = 0;
      cudaMemGetInfo(&free, &total);
      Throw<OutOfMemoryError>("cuda:{}: out of memory: {} bytes were asked for, {} of {} are free", ordinal_, bytes, free,
                              total);
    }
    CHATTY_CUDA(error);
    return pointer;
  }
  void Deallocate(void* pointer, std::size_t, Stream& stream) noexcept override { cudaFreeAsync(pointer, Native(stream)); }
  cudaMemPool_t pool() const { return pool_; }
  /// Bytes that the pool holds and nobody uses: the driver does not count them as free.
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

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int ordinal) : ordinal_(ordinal) {
    MakeCurrent();
    cudaDeviceProp properties = {};
    CHATTY_CUDA(cudaGetDeviceProperties(&properties, ordinal));
    info_.name = properties.name;
    info_.memory = properties.totalGlobalMem;
    info_.multiprocessors = properties.multiProcessorCount;
    info_.compute_capability = properties.major * 10 + properties.minor;
    memory_ = std::make_unique<CudaMemory>(ordinal);
    stream_ = std::make_unique<CudaStream>(ordinal);
    GrantPeers();
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
  MemoryResource& memory() override { return resource_ != nullptr ? *resource_ : *memory_; }
  void set_memory(MemoryResource* resource) override { resource_ = resource; }
  void MakeCurrent() override { CHATTY_CUDA(cudaSetDevice(ordinal_)); }
  Stream& stream() override { return *stream_; }
  std::unique_ptr<Stream> NewStream() override {
    MakeCurrent();
    return std::make_unique<CudaStream>(ordinal_);
  }
  std::unique_ptr<Event> NewEvent() override {
    MakeCurrent();
    return std::make_unique<CudaEvent>();
  }
  void CopyIn(void* device, const void* host, std::size_t bytes, Stream& stream) override {
    if (bytes > 0) CHATTY_CUDA(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, Native(stream)));
  }
  void CopyOut(void* host, const void* device, std::size_t bytes, Stream& stream) override {
    if (bytes > 0) CHATTY_CUDA(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, Native(stream)));
  }
  void CopyWithin(void* to, const void* from, std::size_t bytes, Stream& stream) override {
    if (bytes > 0) CHATTY_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, Native(stream)));
  }
  void Fill(void* device, std::uint8_t byte, std::size_t bytes, Stream& stream) override {
    if (bytes > 0) CHATTY_CUDA(cudaMemsetAsync(device, byte, bytes, Native(stream)));
  }
  void* AllocatePinned(std::size_t bytes) override {
    MakeCurrent();
    void* pointer = nullptr;
    CHATTY_CUDA(cudaHostAlloc(&pointer, bytes, cudaHostAllocMapped | cudaHostAllocPortable));
    return pointer;
  }
  void FreePinned(void* pointer) noexcept override { cudaFreeHost(pointer); }

 private:
  /// Pool memory is reachable from another GPU only by a grant; cudaDeviceEnablePeerAccess does not cover it.
  void GrantPeers() {
    std::vector<cudaMemAccessDesc> grants;
    for (int peer = 0; peer < CudaDeviceCount(); ++peer) {
      int reachable = 0;
      if (peer != ordinal_) CHATTY_CUDA(cudaDeviceCanAccessPeer(&reachable, peer, ordinal_));
      if (reachable == 0) continue;
      cudaMemAccessDesc grant = {};
      grant.location.type = cudaMemLocationTypeDevice;
      grant.location.id = peer;
      grant.flags = cudaMemAccessFlagsProtReadWrite;
      grants.push_back(grant);
    }
    if (!grants.empty()) CHATTY_CUDA(cudaMemPoolSetAccess(memory_->pool(), grants.data(), grants.size()));
  }

  int ordinal_;
  DeviceInfo info_;
  std::unique_ptr<CudaMemory> memory_;
  std::unique_ptr<CudaStream> stream_;
  MemoryResource* resource_ = nullptr;
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

std::unique_ptr<Device> MakeCudaDevice(int ordinal) { return std::make_unique<CudaDevice>(ordinal); }

}  // namespace chatty
