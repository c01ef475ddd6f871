/// \file
/// Memory and threads that the host still has for this process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace chatty {

/// Bytes that this process can still use without swapping: the kernel's estimate (MemAvailable), or less if a cgroup of the
/// process or an ancestor of it has a limit (versions 1 and 2; reclaimable file cache counts as free). 0 if unknown, 1 if
/// nothing is left. Tests set `root`, a prefix of /proc and /sys/fs/cgroup.
std::uint64_t AvailableHostMemory(const std::string& root = "");

/// Upper limit of any number of threads; larger values are rejected as mistakes.
inline constexpr int kMaxThreads = 4096;

/// Throws UsageError if OMP_NUM_THREADS or OMP_THREAD_LIMIT is not a positive number, or OMP_NUM_THREADS exceeds
/// kMaxThreads. OpenMP itself would ignore a malformed value, and end the process for too large a number.
void CheckThreadVariables();

/// Limits on the threads of this process. An absent value is no limit, or an unknown one.
struct ThreadLimits {
  std::optional<std::uint64_t> of_user;    ///< RLIMIT_NPROC; absent for root, which it does not limit
  std::uint64_t user_used = 0;             ///< threads of the process's user
  std::optional<std::uint64_t> of_memory;  ///< RLIMIT_AS in bytes; each thread's stack takes address space
  std::optional<std::uint64_t> of_system;  ///< kernel.threads-max
  std::string
      group_file;  ///< path of pids.max of the control group with the fewest threads left; empty: no group has a limit
  std::uint64_t group_most = 0;  ///< the group's limit
  std::uint64_t group_used = 0;  ///< threads in the group
};
/// `root` as in AvailableHostMemory. The resource limits are those of this process.
ThreadLimits ReadThreadLimits(const std::string& root = "");
/// A clause for messages that names the limit, and its value, that prevented starting `wanted` more threads.
std::string DescribeThreadLimit(const ThreadLimits& limits, std::uint64_t wanted);

}  // namespace chatty
