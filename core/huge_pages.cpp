#include "chatty/core/huge_pages.h"

#include <cstdlib>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace chatty {

void* AllocateAligned(std::size_t alignment, std::size_t bytes) noexcept {
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  if (bytes >= kHugePage && alignment < kHugePage) {
    if (void* const memory = std::aligned_alloc(kHugePage, (bytes + alignment - 1) / alignment * alignment)) {
      ::madvise(memory, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);  // a wish: where there are none, pages are small
      return memory;
    }
  }
#endif
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

}  // namespace chatty
