/// \file
/// Prefetch hints.
#pragma once

#include "chatty/core/macros.h"

namespace chatty {

/// Prefetches the cache line at `address` on a CPU. No effect on a GPU, which hides latency with other threads. Any address
/// is allowed.
CHATTY_FN void Prefetch([[maybe_unused]] const void* address) {
#if !CHATTY_DEVICE_CODE
  __builtin_prefetch(address);
  asm volatile("");  // without it gcc treats the function as free of effects and drops its calls
#endif
}
/// Prefetches a line for writing, so that no other core holds it at the write. Between distant cores this transfer is most
/// of an update's latency. (Compilers emit prefetchw only for newer targets; x86-64 processors without it ignore it.)
CHATTY_FN void PrefetchToWrite([[maybe_unused]] const void* address) {
#if CHATTY_DEVICE_CODE
#elif defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(address)));
#else
  __builtin_prefetch(address, 1);
  asm volatile("");
#endif
}

}  // namespace chatty
