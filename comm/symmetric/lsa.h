/// \file
/// Backend `lsa` of symmetric heaps: blocks in windows of NCCL's device API. LSA is NCCL's word for load-store accessible:
/// the GPUs of a node that address each other's memory.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "chatty/core/device.h"

namespace chatty::detail {

/// A block on each GPU, and the addresses by which the others reach it.
class LsaMemory {
 public:
  virtual ~LsaMemory() = default;
  /// Where device `viewer` finds the block of device `owner`.
  virtual std::byte* base(std::size_t viewer, std::size_t owner) const = 0;
};

/// Takes a block of `bytes` bytes on each GPU, registers it as a window, and resolves the windows into addresses. No device
/// may appear twice. Throws CapabilityError if the build has no NCCL, or one before 2.28; if the process has loaded another
/// version than it was compiled for; where NVLink multicast is not switched off (NCCL_NVLS_ENABLE=0); and where NCCL has no
/// windows on these GPUs. OutOfMemoryError, DeviceError with NCCL's message.
std::unique_ptr<LsaMemory> MakeLsaMemory(std::span<Device* const> devices, std::size_t bytes);

}  // namespace chatty::detail
