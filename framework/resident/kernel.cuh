/// \file
/// The resident kernel: launched once, runs to the end.
#pragma once

#include "chatty/core/cuda.h"
#include "chatty/framework/resident/loop.h"
#include "chatty/framework/steps/cuda/apply.cuh"
#include "chatty/framework/steps/cuda/frontier.cuh"
#include "chatty/framework/steps/cuda/pull.cuh"
#include "chatty/framework/steps/cuda/push.cuh"

namespace chatty::resident {

template <class P>
__global__ void __launch_bounds__(steps::cuda::kBlock) GridKernel(StateRef<P> s, Control* controls, Outcome* outcome) {
  steps::cuda::Grid group;
  Loop<P>(group, s, controls, outcome);
}
template <class P>
__global__ void __launch_bounds__(steps::cuda::kBlock) BlockKernel(StateRef<P> s, Control* controls, Outcome* outcome) {
  steps::cuda::Block group;
  Loop<P>(group, s, controls, outcome);
}

/// Launches the loop on all multiprocessors, as many blocks as are resident at once, or on one block.
template <class P>
void Launch(Device& device, StateRef<P> s, Control* controls, Outcome* outcome, bool grid) {
  const auto stream = static_cast<cudaStream_t>(device.stream().native());
  if (!grid) {
    BlockKernel<P><<<1, steps::cuda::kBlock, 0, stream>>>(s, controls, outcome);
    CHATTY_CUDA(cudaGetLastError());
    return;
  }
  int per_sm = 0;
  CHATTY_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, GridKernel<P>, steps::cuda::kBlock, 0));
  // Barriers slow down with blocks; two an SM are enough to hide most of a small frontier's latency.
  const int blocks = device.info().multiprocessors * std::min(per_sm, 2);
  void* arguments[] = {&s, &controls, &outcome};
  CHATTY_CUDA(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(&GridKernel<P>), dim3(blocks),
                                          dim3(steps::cuda::kBlock), arguments, 0, stream));
}

}  // namespace chatty::resident
