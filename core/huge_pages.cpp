#include "chatty/core/huge_pages.h"

#include <cstdint>
#include <cstdlib>

#include "chatty/core/parallel.h"

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace chatty {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

#ifdef __linux__
constexpr int kCollapse = 25;  // MADV_COLLAPSE, Linux 6.1; older headers lack it
#endif

}  // namespace

void* AllocateAligned(std::size_t alignment, std::size_t bytes) noexcept {
  const std::size_t whole = (bytes + alignment - 1) / alignment * alignment;
#ifdef __linux__
  if (bytes >= kHugePage && alignment < kHugePage) {
    void* memory = nullptr;
    if (::posix_memalign(&memory, kHugePage, whole) == 0) {  // accepts any size
      ::madvise(memory, bytes / kHugePage * kHugePage,
                MADV_HUGEPAGE);  // advice only: without huge pages the pages stay small
      return memory;
    }
  }
#endif
  return std::aligned_alloc(alignment, whole);
}

void MoveToHugePages([[maybe_unused]] const void* memory, [[maybe_unused]] std::size_t bytes, [[maybe_unused]] int threads) {
#ifdef __linux__
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t first = (begin + kHugePage - 1) / kHugePage, last = (begin + bytes) / kHugePage;
  if (first >= last) return;
  ParallelChunks(last - first, threads, 4, [&](std::size_t from, std::size_t to) {
    void* const pages = reinterpret_cast<void*>((first + from) * kHugePage);  // NOLINT(performance-no-int-to-ptr)
    ::madvise(pages, (to - from) * kHugePage, kCollapse);                     // advice only
  });
#endif
}

}  // namespace chatty
