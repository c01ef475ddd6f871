/// The work that a calibration times, on GPUs: each kernel is a loop over a grid.
#include <cuda_runtime.h>

#include <algorithm>

#include "chatty/comm/calibration/probes.h"
#include "chatty/core/cuda.h"

namespace chatty::probes::cuda {
namespace {

constexpr unsigned kBlock = 256;

template <class Body>
__global__ void __launch_bounds__(kBlock) ForEachKernel(std::size_t items, Body body) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < items; i += stride) body(i);
}

struct Preparing {
  State state;
  __device__ void operator()(std::size_t i) const { PrepareItem(state, i); }
};
struct Packing {
  State state;
  std::byte* buffer;
  ProbeBuffer shape;
  __device__ void operator()(std::size_t i) const { PackItem(state, buffer, shape, i); }
};
struct Unpacking {
  State state;
  const std::byte* buffer;
  ProbeBuffer shape;
  __device__ void operator()(std::size_t i) const { UnpackItem(state, buffer, shape, i); }
};

/// Enqueues a kernel with a thread for each item, or as many as the device runs at once.
template <class Body>
void ForEach(Device& device, std::size_t items, const Body& body) {
  const auto most = static_cast<std::size_t>(device.info().multiprocessors) * 8;
  const auto blocks = static_cast<unsigned>(std::clamp<std::size_t>((items + kBlock - 1) / kBlock, 1, most));
  ForEachKernel<<<blocks, kBlock, 0, static_cast<cudaStream_t>(device.stream().native())>>>(items, body);
  CHATTY_CUDA(cudaGetLastError());
}

}  // namespace

void Prepare(Device& device, const State& state) { ForEach(device, std::size_t{1} << state.bits, Preparing{state}); }

void Pack(Device& device, const State& state, std::byte* buffer, const ProbeBuffer& shape) {
  ForEach(device, shape.items, Packing{state, buffer, shape});
}

void Unpack(Device& device, const State& state, const std::byte* buffer, const ProbeBuffer& shape) {
  ForEach(device, shape.items, Unpacking{state, buffer, shape});
}

std::string SoftwareVersions() {
  int driver = 0, runtime = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || cudaRuntimeGetVersion(&runtime) != cudaSuccess) return "";
  return "driver " + std::to_string(driver) + " cuda " + std::to_string(runtime);
}

}  // namespace chatty::probes::cuda
