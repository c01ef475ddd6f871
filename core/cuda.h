/// \file
/// The one check macro for CUDA calls. Included only where CUDA is.
#pragma once

#include <cuda_runtime_api.h>

#include "chatty/core/error.h"

namespace chatty::detail {

[[noreturn]] void ThrowCuda(cudaError_t error, const char* call, const char* file, int line);

}  // namespace chatty::detail

/// Throws DeviceError, or OutOfMemoryError for a failed allocation, naming the call and what CUDA says of it.
#define CHATTY_CUDA(call)                                                   \
  do {                                                                      \
    const cudaError_t chatty_error = (call);                                \
    if (chatty_error != cudaSuccess) [[unlikely]] {                         \
      ::chatty::detail::ThrowCuda(chatty_error, #call, __FILE__, __LINE__); \
    }                                                                       \
  } while (false)
