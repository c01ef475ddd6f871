/// \file
/// What of backend `lsa` calls NCCL: lsa_nccl.cpp, and a kernel in lsa_nccl.cu. Only in builds with NCCL.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "chatty/comm/symmetric/lsa.h"

namespace chatty::detail {

/// MakeLsaMemory in builds with NCCL.
std::unique_ptr<LsaMemory> MakeLsaWindows(std::span<Device* const> devices, std::size_t bytes);

/// Writes the addresses of a window's first byte on each of `size` ranks into `bases`, which the GPU addresses: by a kernel,
/// because a window is a structure of the GPU's memory. `window` is an ncclWindow_t of the current device, `stream` a
/// cudaStream_t. Throws DeviceError.
void ResolveWindow(void* window, std::size_t size, std::byte** bases, void* stream);

}  // namespace chatty::detail
