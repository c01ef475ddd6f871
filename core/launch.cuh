/// \file
/// Kernel launches that overlap: programmatic dependent launch (CUDA C++ Programming Guide). The blocks of a kernel become
/// resident while the kernel before it in the stream runs its last ones, and wait in their first line until it has ended.
/// This hides the latency of the launch. GPUs before compute capability 9.0 launch as usual.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <string_view>
#include <utility>

#include "chatty/core/cuda.h"
#include "chatty/core/error.h"

namespace chatty {

/// Waits until all earlier kernels of the stream have ended and what they wrote is visible. Every thread of a kernel that
/// LaunchOverlapped launches calls it first: a kernel that left without it could end before an earlier one does.
__device__ inline void AwaitEarlierKernels() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");  // the next kernel's blocks follow when all of this one are resident
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// Whether LaunchOverlapped may overlap kernels compiled as this one is: code for older GPUs does not wait, also where it is
/// translated for the current GPU. Throws DeviceError.
template <class... Parameters>
bool MayOverlap(void (*kernel)(Parameters...)) {
  cudaFuncAttributes attributes{};
  CHATTY_CUDA(cudaFuncGetAttributes(&attributes, kernel));
  return attributes.ptxVersion >= 90;
}

/// Throws CapabilityError, with the name of `device`, if the kernel has a parameter of another size than the host: it would
/// read other members than the host has written. nvcc 13 lays out structs with empty [[no_unique_address]] members
/// differently for the two, and a program may have such a member. Throws DeviceError. On the device's thread.
template <class... Parameters>
void CheckParameters(void (*kernel)(Parameters...), std::string_view device) {
  std::size_t index = 0;
  const auto check = [&](std::size_t bytes) {
    std::size_t offset = 0, in_kernel = 0;
    CHATTY_CUDA(cudaFuncGetParamInfo(reinterpret_cast<const void*>(kernel), index++, &offset, &in_kernel));
    if (in_kernel == bytes) return;
    Throw<CapabilityError>(
        "{}: a kernel's parameter has {} bytes by the device's compiler and {} by the host's: the program has an empty "
        "member, or a type that the two lay out differently",
        device, in_kernel, bytes);
  };
  (check(sizeof(Parameters)), ...);
}

/// Launches `kernel`, which begins with AwaitEarlierKernels. `overlaps`: as MayOverlap says. Errors are those of
/// cudaGetLastError, as after `<<<>>>`.
template <class... Parameters, class... Arguments>
void LaunchOverlapped(bool overlaps, void (*kernel)(Parameters...), unsigned blocks, unsigned threads, cudaStream_t stream,
                      Arguments&&... arguments) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = overlaps ? 1 : 0;
  static_cast<void>(cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...));
}

}  // namespace chatty
