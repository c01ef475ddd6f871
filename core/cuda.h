/// \file
/// The check macro for CUDA calls, and the current GPU. Only builds with CUDA include this file.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string_view>

#include "chatty/core/error.h"

namespace chatty::detail {

[[noreturn]] void ThrowCuda(cudaError_t error, const char* call, const char* file, int line);
/// As ThrowCuda, for an error of device `label` that appears during a wait for `operation`.
[[noreturn]] void ThrowCudaWork(cudaError_t error, std::string_view label, std::string_view operation);
/// Throws OutOfMemoryError for an allocation of `bytes` bytes on a GPU, with the GPU's free memory and its size. Clears the
/// error that the allocation has left.
[[noreturn]] void ThrowOutOfGpuMemory(int ordinal, std::size_t bytes);

/// Whether the primary context of a GPU exists. A runtime call that has this GPU as the current one would create it, with
/// some hundred MB of the GPU's memory; this asks the driver and creates none. True where the driver cannot be asked.
bool HasPrimaryContext(int ordinal);
/// Makes the primary context of a GPU the calling thread's current one, and keeps the GPU that the runtime has for threads
/// without a context. Throws DeviceError.
void PushPrimaryContext(int ordinal);
void PopPrimaryContext(int ordinal) noexcept;  ///< the end of PushPrimaryContext

}  // namespace chatty::detail

/// Throws DeviceError, or OutOfMemoryError for a failed allocation. The text contains the call and CUDA's description. After
/// a sticky error (a kernel trapped or read an invalid address) the text adds that this process cannot use the GPU any more.
/// Any other error is cleared, so that no later call reports it.
#define CHATTY_CUDA(call)                                                   \
  do {                                                                      \
    const cudaError_t chatty_error = (call);                                \
    if (chatty_error != cudaSuccess) [[unlikely]] {                         \
      ::chatty::detail::ThrowCuda(chatty_error, #call, __FILE__, __LINE__); \
    }                                                                       \
  } while (false)

namespace chatty {

/// Makes a GPU current during its lifetime. Some calls check addresses against the current device, and other devices may
/// not access a pool's memory without a grant. cudaSetDevice creates a context. So where the GPU that was current before has
/// none, it is not made current again: the other's context is pushed and popped instead.
class AsCurrent {
 public:
  /// Throws DeviceError.
  explicit AsCurrent(int ordinal) {
    CHATTY_CUDA(cudaGetDevice(&before_));
    if (before_ == ordinal) return;
    if (detail::HasPrimaryContext(before_)) {
      CHATTY_CUDA(cudaSetDevice(ordinal));
      changed_ = true;
    } else {
      detail::PushPrimaryContext(ordinal);
      pushed_ = ordinal;
    }
  }
  ~AsCurrent() {
    if (changed_) cudaSetDevice(before_);
    if (pushed_ >= 0) detail::PopPrimaryContext(pushed_);
  }
  AsCurrent(const AsCurrent&) = delete;
  AsCurrent& operator=(const AsCurrent&) = delete;

 private:
  int before_ = 0;
  bool changed_ = false;
  int pushed_ = -1;  // none
};

}  // namespace chatty
