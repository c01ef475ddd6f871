/// The work that a calibration times, on GPUs: a kernel is a loop over a grid.
#include <cuda_runtime.h>

#include <algorithm>

#include "chatty/comm/calibration/probes.h"
#include "chatty/core/cuda.h"

namespace chatty::probes::cuda {
namespace {

constexpr unsigned kBlock = 256;

__global__ void __launch_bounds__(kBlock) StepKernel(std::size_t items, Step step) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < items; i += stride) step(i);
}

}  // namespace

/// A thread for each item, or as many as the device runs at once.
void Run(Device& device, const Step& step) {
  const auto most = static_cast<std::size_t>(device.info().multiprocessors) * 8;
  const auto blocks = static_cast<unsigned>(std::clamp<std::size_t>((step.items() + kBlock - 1) / kBlock, 1, most));
  StepKernel<<<blocks, kBlock, 0, static_cast<cudaStream_t>(device.stream().native())>>>(step.items(), step);
  CHATTY_CUDA(cudaGetLastError());
}

std::string SoftwareVersions() {
  int driver = 0, runtime = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || cudaRuntimeGetVersion(&runtime) != cudaSuccess) return "";
  return "driver " + std::to_string(driver) + " cuda " + std::to_string(runtime);
}

}  // namespace chatty::probes::cuda
