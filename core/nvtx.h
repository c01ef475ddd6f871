/// \file
/// Ranges for NVIDIA's profilers (NVTX). nsys shows them above the kernels that were launched within. Builds without CUDA
/// compile them to nothing. Without a profiler a range costs two loads.
#pragma once

#include <atomic>
#include <cstdint>

#include "chatty/core/config.h"

namespace chatty::nvtx {

/// A profiler's handle for a range's text, set at first use.
using Handle = std::atomic<void*>;

#if CHATTY_WITH_CUDA
/// 0: unknown, no range has been opened yet; 1: a profiler is attached; -1: no profiler, for the rest of the process.
extern std::atomic<int> attached;

/// Opens a range on the calling thread, in the domain "chatty". `category` is a number of this library with the name
/// `category_name`. The profiler shows `payload` beside the text. `name` must stay valid to the end of the process.
void PushRange(Handle& handle, const char* name, std::uint32_t category, const char* category_name, std::uint64_t payload);
/// Closes the calling thread's innermost range.
void PopRange();

inline bool Attached() noexcept { return attached.load(std::memory_order_relaxed) >= 0; }
#else
inline void PushRange(Handle&, const char*, std::uint32_t, const char*, std::uint64_t) {}
inline void PopRange() {}
constexpr bool Attached() noexcept { return false; }
#endif

}  // namespace chatty::nvtx
