#include "chatty/core/host_memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string_view>

namespace chatty {
namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

/// The number that a file begins with; none for "max" or a file that is not there.
std::optional<std::uint64_t> NumberIn(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  if (!(file >> number)) return std::nullopt;
  return number;
}

/// The number behind `key` in lines "key number".
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

/// What one cgroup's limit leaves.
std::uint64_t Left(const std::string& folder, const char* limit, const char* usage, std::string_view cache) {
  const auto most = NumberIn(folder + "/" + limit);
  const auto used = NumberIn(folder + "/" + usage);
  if (!most || !used) return kUnlimited;
  const std::uint64_t reclaimable = std::min(*used, Field(folder + "/memory.stat", cache).value_or(0));
  const std::uint64_t held = *used - reclaimable;
  return *most > held ? *most - held : 0;
}

/// The least that a cgroup and those above it leave. In a container the path may be the host's; then the mount's root, which
/// is the container's own group, is the first that is there.
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

}  // namespace

std::uint64_t AvailableHostMemory(const std::string& root) {
  std::uint64_t available = kUnlimited;
  if (const auto kib = Field(root + "/proc/meminfo", "MemAvailable:")) available = *kib * 1024;

  std::ifstream groups(root + "/proc/self/cgroup");  // lines "id:controllers:path"; version 2 is "0::path"
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    if (path.empty() || path.front() != '/') continue;
    if (controllers == ",,") {
      available = std::min(available, LeastUpwards(root + "/sys/fs/cgroup", path, [](const std::string& folder) {
                             return Left(folder, "memory.max", "memory.current", "inactive_file ");
                           }));
    } else if (controllers.find(",memory,") != std::string::npos) {
      available = std::min(available, LeastUpwards(root + "/sys/fs/cgroup/memory", path, [](const std::string& folder) {
                             return Left(folder, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file ");
                           }));
    }
  }
  return available == kUnlimited ? 0 : std::max<std::uint64_t>(available, 1);
}

}  // namespace chatty
