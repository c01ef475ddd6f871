// The process's own memory, counted and failing where a test wants it: what this project's code, and what it calls of the
// standard library, asks of operator new and aligned_alloc. host_memory.cpp replaces the first, for the whole executable,
// and the linker leads calls of the second, and of free, there (--wrap, see tests/CMakeLists.txt): only those of the objects
// linked into the executable.
//
// Nothing fails inside of a call of CUDA. Its runtime, linked in, calls malloc and never one of these two; the driver's
// libraries are not linked in, and should they call operator new, they are exempt by where the call comes from. So are
// OpenMP runtimes, which end the process when they get no memory.
#pragma once

#include <cstdint>

namespace chatty::test::host_memory {

/// The nth request from now on, and all that follow or with `only_once` that one alone, fail; 0: none. Starts Requests()
/// anew.
void FailAt(std::uint64_t nth, bool only_once);
/// Requests since FailAt, granted or not; as long as none fails, none is counted.
std::uint64_t Requests();
/// Blocks handed out and not given back, of either kind.
std::int64_t Live();

}  // namespace chatty::test::host_memory
