#include "chatty/core/host_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>

#include "chatty/core/bytes.h"
#include "chatty/core/error.h"

namespace chatty {
namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

/// The number at the beginning of a file; none for "max" or a missing file.
std::optional<std::uint64_t> NumberIn(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  if (!(file >> number)) return std::nullopt;
  return number;
}

/// The number after `key`, in a file of lines "key number".
std::optional<std::uint64_t> Field(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    std::istringstream rest(line.substr(key.size()));
    std::uint64_t number = 0;
    if (rest >> number) return number;
  }
  return std::nullopt;
}

/// Bytes that one cgroup's limit leaves.
std::uint64_t Left(const std::string& folder, const char* limit, const char* usage, std::string_view cache) {
  const auto most = NumberIn(folder + "/" + limit);
  const auto used = NumberIn(folder + "/" + usage);
  if (!most || !used) return kUnlimited;
  const std::uint64_t reclaimable = std::min(*used, Field(folder + "/memory.stat", cache).value_or(0));
  const std::uint64_t held = *used - reclaimable;
  return *most > held ? *most - held : 0;
}

/// The minimum over a cgroup and its ancestors. In a container the path may be the host's; then the first existing folder is
/// the mount's root, which is the container's own group.
template <class Measure>
std::uint64_t LeastUpwards(const std::string& mount, std::string path, Measure&& measure) {
  std::uint64_t least = kUnlimited;
  for (;;) {
    if (path == "/") path.clear();
    least = std::min(least, measure(mount + path));
    if (path.empty()) return least;
    path.resize(std::min(path.rfind('/'), path.size()));
  }
}

/// Calls body(mount, path, second) for each control group of this process that may limit `controller`. `second`: the group
/// is of version 2.
template <class Body>
void ForEachGroup(const std::string& root, const std::string& controller, Body&& body) {
  std::ifstream groups(root + "/proc/self/cgroup");  // lines "id:controllers:path"; version 2 is "0::path"
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    if (path.empty() || path.front() != '/') continue;
    if (controllers == ",,") {
      body(root + "/sys/fs/cgroup", path, true);
    } else if (controllers.find(fmt::format(",{},", controller)) != std::string::npos) {
      body(fmt::format("{}/sys/fs/cgroup/{}", root, controller), path, false);
    }
  }
}

/// A resource's soft limit; none if it has none.
std::optional<std::uint64_t> ResourceLimit(int resource) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  return limit.rlim_cur;
}

/// Number of threads of this process's real user, as far as /proc shows them.
std::uint64_t ThreadsOfUser(const std::string& root) {
  std::uint64_t threads = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator at(root + "/proc", error), end; !error && at != end; at.increment(error)) {
    if (at->path().filename().string().find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string status = at->path().string() + "/status";
    if (Field(status, "Uid:") == ::getuid()) threads += Field(status, "Threads:").value_or(0);
  }
  return threads;
}

/// The first number in the variable's list. Throws unless every entry is a positive number.
std::optional<std::uint64_t> ThreadVariable(const char* name, bool is_list) {
  const char* const text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody changes the environment
  if (text == nullptr) return std::nullopt;
  std::optional<std::uint64_t> first;
  std::string_view rest = text;
  for (bool more = true; more;) {
    const std::size_t comma = is_list ? rest.find(',') : std::string_view::npos;
    std::string_view part = rest.substr(0, comma);
    more = comma != std::string_view::npos;
    if (more) rest.remove_prefix(comma + 1);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    if (error == std::errc::result_out_of_range && !part.starts_with('-')) number = kUnlimited;
    if (part.empty() || part.find_first_not_of("0123456789") != std::string_view::npos || number == 0) {
      Throw<UsageError>("{} is '{}', which is not a number of threads; set it to 1 to {}, or unset it", name,
                        std::string_view(text).substr(0, 40), kMaxThreads);
    }
    if (!first) first = number;
  }
  return first;
}

}  // namespace

void CheckThreadVariables() {
  const std::optional<std::uint64_t> threads = ThreadVariable("OMP_NUM_THREADS", /*is_list=*/true);
  static_cast<void>(ThreadVariable("OMP_THREAD_LIMIT", /*is_list=*/false));  // a large limit is harmless
  if (threads && *threads > kMaxThreads) {
    Throw<UsageError>("OMP_NUM_THREADS is {}; at most {} threads can be used, set it to 1 to {}, or unset it", *threads,
                      kMaxThreads, kMaxThreads);
  }
}

ThreadLimits ReadThreadLimits(const std::string& root) {
  ThreadLimits limits;
  if (::geteuid() != 0) limits.of_user = ResourceLimit(RLIMIT_NPROC);
  if (limits.of_user) limits.user_used = ThreadsOfUser(root);
  limits.of_memory = ResourceLimit(RLIMIT_AS);
  limits.of_system = NumberIn(root + "/proc/sys/kernel/threads-max");
  std::uint64_t least = kUnlimited;
  ForEachGroup(root, "pids", [&](const std::string& mount, const std::string& path, bool) {
    LeastUpwards(mount, path, [&](const std::string& folder) {
      const auto most = NumberIn(folder + "/pids.max"), used = NumberIn(folder + "/pids.current");
      if (!most || !used) return kUnlimited;
      const std::uint64_t left = *most > *used ? *most - *used : 0;
      if (left < least) {
        least = left;
        limits.group_file = folder.substr(root.size()) + "/pids.max";
        limits.group_most = *most;
        limits.group_used = *used;
      }
      return left;
    });
  });
  return limits;
}

std::string DescribeThreadLimit(const ThreadLimits& limits, std::uint64_t wanted) {
  if (!limits.group_file.empty() && limits.group_used + wanted > limits.group_most) {
    return fmt::format("the limit is the control group's, {} with {} in use ({})", limits.group_most, limits.group_used,
                       limits.group_file);
  }
  if (limits.of_user && limits.user_used + wanted > *limits.of_user) {
    return fmt::format("the limit is RLIMIT_NPROC, {} for this user, with {} in use (ulimit -u)", *limits.of_user,
                       limits.user_used);
  }
  if (limits.of_memory) {
    return fmt::format("the limit is RLIMIT_AS, {} of address space, which includes stacks (ulimit -v)",
                       FormatBytes(*limits.of_memory));
  }
  if (limits.of_system) {
    return fmt::format("the limit is the system's: kernel.threads-max is {}, and memory for stacks may be short",
                       *limits.of_system);
  }
  return "which limit that is, is not known";
}

std::uint64_t AvailableHostMemory(const std::string& root) {
  std::uint64_t available = kUnlimited;
  if (const auto kib = Field(root + "/proc/meminfo", "MemAvailable:")) available = *kib * 1024;

  ForEachGroup(root, "memory", [&](const std::string& mount, const std::string& path, bool second) {
    available =
        std::min(available, LeastUpwards(mount, path, [&](const std::string& folder) {
                   return second ? Left(folder, "memory.max", "memory.current", "inactive_file ")
                                 : Left(folder, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file ");
                 }));
  });
  return available == kUnlimited ? 0 : std::max<std::uint64_t>(available, 1);
}

}  // namespace chatty
