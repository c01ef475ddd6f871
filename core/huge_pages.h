/// \file
/// Host memory in huge pages where the system has them: a random access to an array of a few megabytes misses the TLB in
/// pages of 4 KiB, and in a virtual machine walks two page tables. Only for what is wholly used: a huge page is there as
/// soon as one byte of it is.
#pragma once

#include <cstddef>

namespace chatty {

/// As std::aligned_alloc; free with std::free. What is large enough comes in huge pages as far as they fill it. Null where
/// there is no memory.
void* AllocateAligned(std::size_t alignment, std::size_t bytes) noexcept;

/// Moves what is at `memory`, of this process and anonymous, into huge pages, as far as it fills them and the system has
/// them; takes about as long as copying it, on `threads` threads. Addresses stay what they are.
void MoveToHugePages(const void* memory, std::size_t bytes, int threads);

}  // namespace chatty
