/// \file
/// How fast a device reads memory that is not its own: what published systems measure before they choose a path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "chatty/comm/topology.h"
#include "chatty/core/device.h"

namespace chatty {

/// Rates at which a device reads words of four bytes of one memory.
struct ReadRate {
  std::optional<std::size_t> owner;  ///< the index of the device whose memory it is; none: page-locked host memory
  double in_order = 0;               ///< bytes/s of words that follow each other
  double at_random = 0;              ///< bytes/s of single words
};

/// Measures the first device: host memory, and the memory of each other device that it can address and that `links` joins
/// with it. Takes less than a second. Throws OutOfMemoryError, DeviceError.
std::vector<ReadRate> MeasureReads(std::span<Device* const> devices, const LinkMask& links = {});

namespace detail {
/// Enqueues a kernel that reads `words` words of `memory`, at the indices in `order` unless it is null. Only with CUDA.
void ReadOnGpu(Device& device, const std::uint32_t* memory, std::size_t words, const std::uint32_t* order);
}  // namespace detail

}  // namespace chatty
