/// \file
/// Host memory in huge pages. With 4 KiB pages, a random access to an array of a few megabytes misses the TLB; in a virtual
/// machine a miss walks two page tables. Use huge pages only for arrays that are filled completely: one used byte occupies a
/// whole huge page.
#pragma once

#include <cstddef>

namespace chatty {

/// As std::aligned_alloc; free with std::free. A large block begins at a huge page's boundary and consists of huge pages as
/// far as it fills them. Returns null if there is no memory.
void* AllocateAligned(std::size_t alignment, std::size_t bytes) noexcept;

/// Moves the pages at `memory` into huge pages, as far as the range fills them and the system has them. The memory must be
/// anonymous and belong to this process. Takes about as long as a copy, on `threads` threads. Addresses do not change.
void MoveToHugePages(const void* memory, std::size_t bytes, int threads);

}  // namespace chatty
