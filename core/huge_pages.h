/// \file
/// Host memory in huge pages where the system has them: a random access to an array of a few megabytes misses the TLB in
/// pages of 4 KiB, and in a virtual machine walks two page tables.
#pragma once

#include <cstddef>

namespace chatty {

/// As std::aligned_alloc; free with std::free. What is large enough comes in huge pages as far as they fill it, so that no
/// more memory is touched than otherwise. Null where there is no memory.
void* AllocateAligned(std::size_t alignment, std::size_t bytes) noexcept;

}  // namespace chatty
