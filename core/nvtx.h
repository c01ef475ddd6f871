/// \file
/// Ranges for NVIDIA's profilers (NVTX): nsys shows them above the kernels that they launched. Without CUDA in the build
/// there is nothing here; without a profiler attached a range costs two loads.
#pragma once

#include <atomic>
#include <cstdint>

#include "chatty/core/config.h"

namespace chatty::nvtx {

/// What a profiler knows a range's text by once it has been told; filled in at the first use.
using Handle = std::atomic<void*>;

#if CHATTY_WITH_CUDA
/// 0: a profiler may be there and has not been asked for yet; 1: there is one; -1: there is none, and never will be.
extern std::atomic<int> attached;

/// Opens a range on the calling thread, in the domain "chatty". `category` is a number of our own with the name
/// `category_name`; `payload` is the number that the profiler shows beside the text. `name` must stay valid for ever.
void PushRange(Handle& handle, const char* name, std::uint32_t category, const char* category_name, std::uint64_t payload);
/// Closes the range that the calling thread opened last.
void PopRange();

inline bool Attached() noexcept { return attached.load(std::memory_order_relaxed) >= 0; }
#else
inline void PushRange(Handle&, const char*, std::uint32_t, const char*, std::uint64_t) {}
inline void PopRange() {}
constexpr bool Attached() noexcept { return false; }
#endif

}  // namespace chatty::nvtx
