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

}  // namespace chatty
