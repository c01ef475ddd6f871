/// \file
/// A GPU's memory apart from any Device: arrays of others that a caller gives, and results that outlive the device that made
/// them. Builds without CUDA have the same functions: no address is a GPU's, and nothing can be allocated.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

namespace chatty {

/// The GPU in whose memory an address lies; nullopt for host memory and for an address that CUDA does not know. Managed
/// memory is the GPU's that it was allocated on.
std::optional<int> GpuOf(const void* address);

/// Memory of GPU `ordinal`, aligned to 256 bytes, from cudaMalloc: no pool keeps it, and peers may be given access to it.
/// The last owner frees it, on any thread, after all work that the GPU has then. Not null, also for 0 bytes. Throws
/// OutOfMemoryError with the bytes that are free, DeviceError, CapabilityError in a build without CUDA.
std::shared_ptr<std::byte> AllocateGpuMemory(int ordinal, std::size_t bytes);

/// Copies `count` entries of `width` bytes from memory of GPU `ordinal` to the host, where they lie one after the other.
/// Entries begin `pitch` bytes apart, at least `width`. The copy runs after the work that `stream` has, a cudaStream_t; null
/// is CUDA's default stream, for which 1 stands, too, and 2 for that of the calling thread. Returns when the copy is
/// complete. Throws DeviceError, CapabilityError in a build without CUDA.
void CopyFromGpu(void* host, int ordinal, const void* gpu, std::size_t count, std::size_t width, std::size_t pitch,
                 void* stream);

/// Keeps the calling thread's current GPU: makes it current again at the end of its life, if another one is. For code that
/// callers enter who use CUDA themselves.
class KeepCurrentGpu {
 public:
  /// Whether that is possible on this thread without a new context. It is not where the current GPU has no context yet, as
  /// device 0 in a process that uses device 1 alone: cudaSetDevice would create one. Such work belongs on another thread.
  static bool IsPossible();

  KeepCurrentGpu();
  ~KeepCurrentGpu();  // NOLINT(performance-trivially-destructible): not with CUDA
  KeepCurrentGpu(const KeepCurrentGpu&) = delete;
  KeepCurrentGpu& operator=(const KeepCurrentGpu&) = delete;

 private:
  int before_ = -1;          // none is known
  void* context_ = nullptr;  // a CUcontext, which need not be the primary one
};

}  // namespace chatty
