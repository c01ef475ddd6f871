// Calibrate: the paths, the sizes that fit into memory, and one measurement after the other.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chatty/comm/calibration.h"
#include "chatty/comm/calibration/measurement.h"
#include "chatty/comm/calibration/probes.h"
#include "chatty/comm/transport.h"
#include "chatty/core/host_memory.h"
#include "chatty/core/logging.h"

namespace chatty {
namespace {

using calibration::kFewestSizes;
using calibration::kPatience;

constexpr std::size_t kQuickSizes[] = {4, 4 << 10, 64 << 10, 512 << 10, 4 << 20, 16 << 20};
constexpr std::size_t kSizes[] = {4,         64,      1 << 10, 4 << 10,  16 << 10, 64 << 10,
                                  256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20};
/// Time of all paths of a quick calibration together.
constexpr double kQuickSeconds = 3;
/// Host memory of all buffers of a path in a quick calibration: the first touch of each page costs time.
constexpr std::uint64_t kQuickBytes = std::uint64_t{2} << 30;
/// Memory of values, orders and marks of all host devices together.
constexpr std::uint64_t kStateBytes = std::uint64_t{2} << 30, kQuickStateBytes = std::uint64_t{512} << 20;
/// Page-locking a gigabyte takes most of a second.
constexpr std::uint64_t kMaxPinned = std::uint64_t{4} << 30;

/// The sizes, up to `most`, for which the buffers of a path leave room for others. Throws OutOfMemoryError where between
/// host devices even the smallest do not.
std::span<const std::size_t> SizesThatFit(std::string_view name, std::span<Device* const> devices,
                                          std::span<const std::size_t> sizes, std::size_t most, bool quick,
                                          TransportOptions& options, PairBytesTable& capacities) {
  const DeviceKind kind = devices[0]->kind();
  const std::uint64_t host = AvailableHostMemory();
  std::uint64_t allowed = host > 0 ? host / 4 : std::numeric_limits<std::uint64_t>::max();
  if (quick && kind == DeviceKind::kHost) allowed = std::min(allowed, kQuickBytes);
  for (;; sizes = sizes.first(sizes.size() - 1)) {
    const std::size_t largest = std::max(sizes.back(), sizeof(probes::Entry));
    for (std::size_t from = 0; from < devices.size(); ++from) {
      for (std::size_t to = 0; to < devices.size(); ++to) capacities[from][to] = from == to ? 0 : largest;
      options.broadcast[from] = largest;
    }
    const bool fewest = sizes.size() <= kFewestSizes;
    if (fewest && kind == DeviceKind::kCuda) return sizes;  // these are few
    if (largest > most && !fewest) continue;
    const TransportMemory memory = MeasureTransport(name, kind, capacities, options);
    std::uint64_t on_host = memory.host;
    bool fits = on_host <= kMaxPinned;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      if (kind == DeviceKind::kHost) {
        on_host += memory.devices[i];
      } else if (const std::uint64_t free = devices[i]->free_memory(); free > 0) {
        const auto sharers = static_cast<std::uint64_t>(std::count_if(
            devices.begin(), devices.end(), [&](const Device* other) { return other->index() == devices[i]->index(); }));
        fits = fits && memory.devices[i] <= free / 2 / sharers;
      }
    }
    if (fits && on_host <= allowed) return sizes;
    if (fewest) {
      Throw<OutOfMemoryError>("buffers of {} bytes between {} devices take {} MiB, and {} may be taken", sizes.back(),
                              devices.size(), on_host >> 20, allowed >> 20);
    }
  }
}

/// Whether a path by itself joins only pairs with a link. Without a link, it takes the way of another path.
bool NeedsLink(std::string_view path) { return path == "p2p-copy" || path == "p2p-direct"; }

}  // namespace

Calibration Calibrate(std::span<Device* const> devices, const CalibrationOptions& options) try {
  if (devices.size() < 2)
    throw UsageError("communication is measured between two devices or more; choose them by --devices");
  const Clock::time_point start = Clock::now();
  const std::vector<std::string_view> paths = PathsOfAuto(SelectionOf(devices));
  Calibration result;
  result.quick = options.quick;
  result.model = CostModel(std::vector<std::string>(paths.begin(), paths.end()), devices.size());

  std::span<const std::size_t> all_sizes = kSizes;
  if (options.quick) all_sizes = kQuickSizes;
  // Values of a graph that no cache holds, and as many as the largest block has: 128 or 256 MiB on a GPU, 16 or 64 on the
  // host, where all devices share the memory.
  const bool host = devices[0]->kind() == DeviceKind::kHost;
  unsigned bits = host ? (options.quick ? 22 : 24) : (options.quick ? 25 : 26);
  const std::uint64_t state_bytes = options.quick ? kQuickStateBytes : kStateBytes;
  while (host && devices.size() * 2 * (sizeof(std::uint32_t) << bits) > state_bytes) --bits;
  const calibration::States states(devices, bits);
  // Barriers of many host devices are slow, and the same memory joins any two of them.
  const bool may_be_alike = options.quick && host && devices.size() > 2;

  const auto tell = [&](std::string_view what) {
    if (options.progress) options.progress(what);
  };
  for (std::size_t path = 0; path < paths.size(); ++path) {
    tell(paths[path]);
    const double left = kQuickSeconds - calibration::Seconds(start);
    const double seconds = options.quick ? left / static_cast<double>(paths.size() - path) : 60.0;
    try {
      TransportOptions transport_options;
      transport_options.links = options.links;
      transport_options.timeout = kPatience;
      transport_options.broadcast.resize(devices.size());
      PairBytesTable capacities(devices.size(), std::vector<std::size_t>(devices.size(), 0));
      const auto sizes = SizesThatFit(paths[path], devices, all_sizes, sizeof(std::uint32_t) << bits, options.quick,
                                      transport_options, capacities);
      const auto joined = [&](PartId from, PartId to) {
        return !NeedsLink(paths[path]) || (options.links.Allows(from, to) && devices[to]->AllowAccessBy(*devices[from]) &&
                                           devices[from]->AllowAccessBy(*devices[to]));
      };
      bool alike = may_be_alike;
      for (PartId from = 0; from < devices.size(); ++from) {
        for (PartId to = 0; to < devices.size(); ++to) alike = alike && (from == to || joined(from, to));
      }
      std::vector<calibration::Pattern> patterns =
          calibration::PatternsBetween(static_cast<PartId>(devices.size()), joined, alike);
      if (patterns.empty()) continue;
      const std::unique_ptr<Transport> transport = MakeTransport(paths[path], devices, capacities, transport_options);
      calibration::MeasurePath(devices, states, *transport, std::move(patterns), sizes, options.quick, alike, seconds,
                               result.model, path);
    } catch (const Error& error) {
      result.notes.push_back(fmt::format("{} is not measured: {}", paths[path], error.what()));
      Log().warn("{}", result.notes.back());
    }
  }
  result.model.set_measured(true);
  result.seconds = calibration::Seconds(start);
  return result;
} catch (const std::bad_alloc&) {
  ThrowOutOfHostMemory("measuring communication paths");
}

}  // namespace chatty
