/// \file
/// How much memory the host has left for this process, and how many threads it lets it have.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace chatty {

/// Bytes that this process can still use without swapping: what the kernel estimates (MemAvailable), or less where a cgroup
/// that the process is in, or one above that, has a limit (versions 1 and 2; file cache that the kernel would give up counts
/// as free). 0 if unknown, and 1 where nothing is left. `root` is put before /proc and /sys/fs/cgroup, for tests.
std::uint64_t AvailableHostMemory(const std::string& root = "");

/// More threads than this are taken for a mistake, wherever their number is set.
inline constexpr int kMaxThreads = 4096;

/// Throws UsageError if OMP_NUM_THREADS or OMP_THREAD_LIMIT is no number of threads, or the first more than kMaxThreads:
/// OpenMP itself would ignore the one and end the process at the other.
void CheckThreadVariables();

/// What limits the threads of this process; absent where nothing does, or it is not known.
struct ThreadLimits {
  std::optional<std::uint64_t> of_user;    ///< RLIMIT_NPROC; absent for root, whom it does not hold
  std::uint64_t user_used = 0;             ///< threads that its user has
  std::optional<std::uint64_t> of_memory;  ///< RLIMIT_AS, in bytes: a thread's stack needs addresses
  std::optional<std::uint64_t> of_system;  ///< kernel.threads-max
  std::string group_file;                  ///< pids.max of the control group that leaves the fewest; empty: none has one
  std::uint64_t group_most = 0;            ///< what it says
  std::uint64_t group_used = 0;            ///< and how many are there
};
/// `root` as above. The limits of resources are this process' own.
ThreadLimits ReadThreadLimits(const std::string& root = "");
/// Which of them refused a thread where `wanted` more were asked for, with its value, as a clause for messages.
std::string DescribeThreadLimit(const ThreadLimits& limits, std::uint64_t wanted);

}  // namespace chatty
