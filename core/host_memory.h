/// \file
/// How much memory the host has left for this process.
#pragma once

#include <cstdint>
#include <string>

namespace chatty {

/// Bytes that this process can still use without swapping: what the kernel estimates (MemAvailable), or less where a cgroup
/// that the process is in, or one above that, has a limit (versions 1 and 2; file cache that the kernel would give up counts
/// as free). 0 if unknown, and 1 where nothing is left. `root` is put before /proc and /sys/fs/cgroup, for tests.
std::uint64_t AvailableHostMemory(const std::string& root = "");

}  // namespace chatty
