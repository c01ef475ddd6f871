/// \file
/// Results in a GPU's memory: their places in the order of vertices, and whether one of them has a given value.
#pragma once

#include <cstddef>
#include <cstdint>

#include "chatty/core/device.h"
#include "chatty/core/types.h"

namespace chatty {

/// Writes value i of `values`, of `bytes` bytes, 4 or 8, to place `ids[i]` of `out`, for each i below `count`. All are in
/// the memory of `device`, a GPU; `ids` has no entry twice. Work of the device's stream.
void ScatterValues(Device& device, std::byte* out, const std::byte* values, const VertexId* ids, std::size_t count,
                   std::size_t bytes);

/// Whether one of `count` values in the memory of `device`, a GPU, has the bits of `value`, of 4 or 8 bytes. Waits.
/// `found` is a word for the answer, which no other call uses meanwhile.
bool ContainsValue(Device& device, const std::byte* values, std::size_t count, std::uint64_t value, std::size_t bytes,
                   const Pinned<std::uint32_t>& found, const WaitContext& context);

}  // namespace chatty
