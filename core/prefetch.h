/// \file
/// Hints that memory will be read.
#pragma once

#include "chatty/core/macros.h"

namespace chatty {

/// Calls the line at `address` into a CPU's cache; nothing on a GPU, whose other threads work meanwhile. Any address will
/// do.
CHATTY_FN void Prefetch([[maybe_unused]] const void* address) {
#if !CHATTY_DEVICE_CODE
  __builtin_prefetch(address);
  asm volatile("");  // or gcc takes a function that does nothing else for one without effects, and leaves out its calls
#endif
}
/// The same of a line that will be written, so that no other core still has it then: where cores are far from each other
/// that is most of what an update waits for. (Compilers make prefetchw only where they may use newer instructions; x86-64
/// processors that do not know it do nothing.)
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
