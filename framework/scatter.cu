#include <cuda_runtime.h>

#include <algorithm>

#include "chatty/core/cuda.h"
#include "chatty/framework/scatter.h"

namespace chatty {
namespace {

constexpr unsigned kScatterThreads = 256;

/// Blocks for a loop over `count` entries in strides of the grid.
unsigned BlocksFor(Device& device, std::size_t count) {
  const auto most = static_cast<std::size_t>(device.info().multiprocessors) * 16;
  return static_cast<unsigned>(std::min((count + kScatterThreads - 1) / kScatterThreads, most));
}

template <class T>
__global__ void __launch_bounds__(kScatterThreads) Scatter(T* out, const T* values, const VertexId* ids, std::size_t count) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) out[ids[i]] = values[i];
}

template <class T>
__global__ void __launch_bounds__(kScatterThreads)
    Contains(const T* values, std::size_t count, T value, std::uint32_t* found) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  bool any = false;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) any |= values[i] == value;
  if (any) *found = 1;  // by several threads, all with the same word
}

/// Calls body(T{}) for the unsigned type of so many bytes.
template <class Body>
void WithWord(std::size_t bytes, Body&& body) {
  CHATTY_CHECK(bytes == 4 || bytes == 8, "results have 4 or 8 bytes");
  if (bytes == 4) {
    body(std::uint32_t{});
  } else {
    body(std::uint64_t{});
  }
}

}  // namespace

void ScatterValues(Device& device, std::byte* out, const std::byte* values, const VertexId* ids, std::size_t count,
                   std::size_t bytes) {
  if (count == 0) return;
  device.MakeCurrent();
  const auto stream = static_cast<cudaStream_t>(device.stream().native());
  WithWord(bytes, [&](auto word) {
    using T = decltype(word);
    Scatter<T><<<BlocksFor(device, count), kScatterThreads, 0, stream>>>(reinterpret_cast<T*>(out),
                                                                         reinterpret_cast<const T*>(values), ids, count);
  });
  CHATTY_CUDA(cudaGetLastError());
}

bool ContainsValue(Device& device, const std::byte* values, std::size_t count, std::uint64_t value, std::size_t bytes,
                   const Pinned<std::uint32_t>& found, const WaitContext& context) {
  if (count == 0) return false;
  device.MakeCurrent();
  const auto stream = static_cast<cudaStream_t>(device.stream().native());
  found[0] = 0;
  WithWord(bytes, [&](auto word) {
    using T = decltype(word);
    Contains<T><<<BlocksFor(device, count), kScatterThreads, 0, stream>>>(reinterpret_cast<const T*>(values), count,
                                                                          static_cast<T>(value), found.data());
  });
  CHATTY_CUDA(cudaGetLastError());
  device.stream().Synchronize(context);
  return found[0] != 0;
}

}  // namespace chatty
