#include "chatty/comm/symmetric/lsa.h"

#include "chatty/comm/symmetric/lsa_windows.h"
#include "chatty/core/config.h"
#include "chatty/core/error.h"

namespace chatty::detail {

std::unique_ptr<LsaMemory> MakeLsaMemory([[maybe_unused]] std::span<Device* const> devices,
                                         [[maybe_unused]] std::size_t bytes) {
#if CHATTY_WITH_NCCL
  return MakeLsaWindows(devices, bytes);
#else
  Throw<CapabilityError>(
      "backend 'lsa' of symmetric heaps needs NCCL 2.28 or later, and this build has no NCCL; choose p2p, or configure with "
      "-DCHATTY_ENABLE_NCCL=ON");
#endif
}

}  // namespace chatty::detail
