// The kernel of MeasureReads.
#include <cuda_runtime.h>

#include <algorithm>

#include "chatty/comm/memory_reads.h"
#include "chatty/core/cuda.h"

namespace chatty::detail {
namespace {

constexpr unsigned kBlock = 256;

/// `never` is a sum that no memory has: the kernel compares with it to use what it reads. In order, four words at once.
__global__ void __launch_bounds__(kBlock)
    ReadKernel(const std::uint32_t* memory, std::size_t words, const std::uint32_t* order, std::uint64_t never) {
  const std::size_t first = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x, stride = std::size_t{gridDim.x} * blockDim.x;
  std::uint64_t sum = 0;
  for (std::size_t i = first; order == nullptr && i < words / 4; i += stride) {
    const uint4 four = reinterpret_cast<const uint4*>(memory)[i];
    sum += std::uint64_t{four.x} + four.y + four.z + four.w;
  }
  for (std::size_t i = first; order != nullptr && i < words; i += stride) sum += memory[order[i]];
  if (sum == never) __trap();
}

}  // namespace

void ReadOnGpu(Device& device, const std::uint32_t* memory, std::size_t words, const std::uint32_t* order) {
  const auto most = static_cast<std::size_t>(device.info().multiprocessors) * 8;
  const auto blocks = static_cast<unsigned>(std::clamp<std::size_t>((words + kBlock - 1) / kBlock, 1, most));
  ReadKernel<<<blocks, kBlock, 0, static_cast<cudaStream_t>(device.stream().native())>>>(memory, words, order,
                                                                                         ~std::uint64_t{0});
  CHATTY_CUDA(cudaGetLastError());
}

}  // namespace chatty::detail
