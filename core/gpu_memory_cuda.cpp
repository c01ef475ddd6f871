#include "chatty/core/cuda.h"
#include "chatty/core/gpu_memory.h"

namespace chatty {

std::optional<int> GpuOf(const void* address) {
  cudaPointerAttributes attributes = {};
  if (cudaPointerGetAttributes(&attributes, address) != cudaSuccess) {
    cudaGetLastError();  // a process without a GPU
    return std::nullopt;
  }
  if (attributes.type != cudaMemoryTypeDevice && attributes.type != cudaMemoryTypeManaged) return std::nullopt;
  return attributes.device;
}

std::shared_ptr<std::byte> AllocateGpuMemory(int ordinal, std::size_t bytes) {
  const AsCurrent owner(ordinal);
  void* pointer = nullptr;
  const cudaError_t error = cudaMalloc(&pointer, bytes > 0 ? bytes : 1);
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    std::size_t free = 0, total = 0;
    cudaMemGetInfo(&free, &total);
    Throw<OutOfMemoryError>("cuda:{}: out of memory: {} bytes were requested, but only {} of {} are free", ordinal, bytes,
                            free, total);
  }
  CHATTY_CUDA(error);
  // cudaFree waits for the GPU, so consumers on streams of their own have read what they enqueued. It needs no current
  // device; where the process ends, CUDA may have ended before.
  return {static_cast<std::byte*>(pointer), [](std::byte* memory) {
            if (cudaFree(memory) != cudaSuccess) cudaGetLastError();
          }};
}

void CopyFromGpu(void* host, int ordinal, const void* gpu, std::size_t count, std::size_t width, std::size_t pitch,
                 void* stream) {
  if (count == 0) return;
  const AsCurrent owner(ordinal);
  const auto native = static_cast<cudaStream_t>(stream);
  if (pitch == width) {
    CHATTY_CUDA(cudaMemcpyAsync(host, gpu, count * width, cudaMemcpyDefault, native));
  } else {
    CHATTY_CUDA(cudaMemcpy2DAsync(host, width, gpu, pitch, width, count, cudaMemcpyDefault, native));
  }
  CHATTY_CUDA(cudaStreamSynchronize(native));
}

KeepCurrentGpu::KeepCurrentGpu() {
  if (cudaGetDevice(&before_) == cudaSuccess) return;
  cudaGetLastError();  // a process without a GPU
  before_ = -1;
}

KeepCurrentGpu::~KeepCurrentGpu() {
  int now = -1;
  if (before_ < 0 || (cudaGetDevice(&now) == cudaSuccess && now == before_)) return;
  if (cudaSetDevice(before_) != cudaSuccess) cudaGetLastError();  // a lost context, which other calls report
}

}  // namespace chatty
