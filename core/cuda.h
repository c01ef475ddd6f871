/// \file
/// The one check macro for CUDA calls. Included only where CUDA is.
#pragma once

#include <cuda_runtime_api.h>

#include <string_view>

#include "chatty/core/error.h"

namespace chatty::detail {

[[noreturn]] void ThrowCuda(cudaError_t error, const char* call, const char* file, int line);
/// The same of device `label`, for an error that shows while waiting for `operation`.
[[noreturn]] void ThrowCudaWork(cudaError_t error, std::string_view label, std::string_view operation);

}  // namespace chatty::detail

/// Throws DeviceError, or OutOfMemoryError for a failed allocation, naming the call and what CUDA says of it; and, where
/// the error has taken the GPU's context with it (a kernel that trapped or read what is not there), that nothing will run on
/// this GPU any more in this process. An error that is over is forgotten, so that no later call reports it.
#define CHATTY_CUDA(call)                                                   \
  do {                                                                      \
    const cudaError_t chatty_error = (call);                                \
    if (chatty_error != cudaSuccess) [[unlikely]] {                         \
      ::chatty::detail::ThrowCuda(chatty_error, #call, __FILE__, __LINE__); \
    }                                                                       \
  } while (false)
