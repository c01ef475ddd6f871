#include "chatty/core/gpu_memory.h"

#include "chatty/core/config.h"
#include "chatty/core/error.h"

namespace chatty {

#if !CHATTY_WITH_CUDA
std::optional<int> GpuOf(const void*) { return std::nullopt; }

std::shared_ptr<std::byte> AllocateGpuMemory(int ordinal, std::size_t bytes) {
  Throw<CapabilityError>(
      "cuda:{}: {} bytes were requested, and this build has no CUDA support; use host memory, or configure with "
      "-DCHATTY_ENABLE_CUDA=ON and nvcc",
      ordinal, bytes);
}

void CopyFromGpu(void*, int ordinal, const void*, std::size_t count, std::size_t width, std::size_t, void*) {
  if (count == 0) return;
  Throw<CapabilityError>(
      "cuda:{}: {} bytes are to be copied, and this build has no CUDA support; copy them to host memory first, or configure "
      "with -DCHATTY_ENABLE_CUDA=ON and nvcc",
      ordinal, count * width);
}

bool KeepCurrentGpu::IsPossible() { return true; }

KeepCurrentGpu::KeepCurrentGpu() {
  static_cast<void>(before_);
  static_cast<void>(context_);
}
KeepCurrentGpu::~KeepCurrentGpu() = default;
#endif

}  // namespace chatty
