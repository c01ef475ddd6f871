// Calibrate: a thread for each device sends buffers of all encodings and sizes through the transport of each path, between
// one pair at a time and between all at once. A line is fitted to the median times of each pair, encoding and load.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <exception>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "chatty/comm/calibration.h"
#include "chatty/comm/calibration/probes.h"
#include "chatty/comm/transport.h"
#include "chatty/core/host_memory.h"
#include "chatty/core/logging.h"
#include "chatty/core/sync.h"

namespace chatty {
namespace {

using probes::ProbeBuffer;

constexpr std::size_t kQuickSizes[] = {4, 4 << 10, 64 << 10, 512 << 10, 4 << 20, 16 << 20};
constexpr std::size_t kSizes[] = {4,         64,      1 << 10, 4 << 10,  16 << 10, 64 << 10,
                                  256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20};
constexpr std::size_t kFewestSizes = 3;      ///< measured however long they take: a fit needs them
constexpr std::size_t kSmall = 64 << 10;     ///< buffers up to this size are measured more often
constexpr std::size_t kMinBitmap = 4 << 10;  ///< shorter buffers are sparse
/// Seconds for all paths of a quick calibration together, and for each path of another one.
constexpr double kQuickSeconds = 3, kSeconds = 60;
/// How long a device waits for the others.
constexpr std::chrono::milliseconds kPatience{60000};
/// Host memory of a path's buffers: page-locking a gigabyte takes most of a second.
constexpr std::uint64_t kMostHostBytes = std::uint64_t{4} << 30;

/// `every`: one place in so many of a bitmap is set. 2: so full that bytes count; 32: so empty that places do.
struct Measured {
  Encoding encoding;
  unsigned every = 1;
};
constexpr Measured kMeasured[] = {{Encoding::kDense}, {Encoding::kSparse}, {Encoding::kBitmap, 2}, {Encoding::kBitmap, 32}};

double SecondsSince(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// The values of each device.
class States {
 public:
  States(std::span<Device* const> devices, unsigned bits) {
    const std::size_t size = std::size_t{1} << bits;
    for (Device* device : devices) {
      device->MakeCurrent();
      for (const std::size_t words :
           {size, size, size / 32, device->kind() == DeviceKind::kCuda ? size : 0, std::size_t{2}}) {
        memory_.emplace_back(*device, words);
      }
      const auto words = [&](std::size_t i) { return memory_[memory_.size() - 5 + i].data(); };
      states_.push_back({words(0), words(1), bits, words(2), words(3), words(4)});
      probes::Prepare(*device, states_.back());
      device->stream().Synchronize();
    }
  }
  const probes::State& operator[](std::size_t device) const { return states_[device]; }
  std::size_t size() const { return std::size_t{1} << states_[0].bits; }

 private:
  std::vector<Buffer<std::uint32_t>> memory_;
  std::vector<probes::State> states_;
};

/// Which devices send to which at once.
struct Pattern {
  std::vector<std::pair<PartId, PartId>> buffers;  ///< from and to; a device and itself: its broadcast to all others
  MeasuredLoad load = MeasuredLoad::kAlone;
  bool Sends(PartId from, PartId to) const {
    return std::find(buffers.begin(), buffers.end(), std::pair(from, to)) != buffers.end();
  }
};

/// What a pair's buffers took under a load.
using Samples = std::map<std::tuple<PartId, PartId, MeasuredLoad>, std::array<std::vector<CostSample>, kEncodings>>;

/// Measures one path.
class PathMeasurement {
 public:
  PathMeasurement(std::span<Device* const> devices, const States& states, Transport& transport,
                  std::vector<Pattern> patterns, std::span<const std::size_t> sizes, bool quick, double seconds)
      : devices_(devices),
        states_(states),
        transport_(transport),
        patterns_(std::move(patterns)),
        sizes_(sizes),
        quick_(quick),
        seconds_(seconds),
        barrier_(static_cast<int>(devices.size())),
        begins_(devices.size()),
        ends_(devices.size()) {}

  Samples Run() {
    const auto fail = [this] {
      abort_.Fail(std::current_exception());
      barrier_.Poison();
      transport_.Abort();
    };
    {
      std::vector<std::jthread> threads;
      try {
        for (PartId me = 0; me < devices_.size(); ++me) {
          threads.emplace_back([this, me, &fail] {
            try {
              UseAllCores();
              devices_[me]->MakeCurrent();
              Drive(me);
            } catch (...) {
              fail();
            }
          });
        }
      } catch (...) {  // the threads that there are wait for one that never comes
        fail();
      }
    }
    abort_.RethrowFirst();
    return std::move(samples_);
  }

 private:
  void Await(std::string_view what) { barrier_.Arrive({&abort_, kPatience}, what); }

  void Drive(PartId me) {
    const Clock::time_point start = Clock::now();
    std::uint64_t epoch = 0;
    double last = 0;  // seconds of the last size; the next one takes up to a few times as long
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      if (me == 0) stop_ = i >= kFewestSizes && SecondsSince(start) + 4 * last > seconds_;
      Await("the others");
      if (stop_) return;
      const Clock::time_point begin = Clock::now();
      for (const Pattern& pattern : patterns_) {
        for (const auto& [encoding, every] : kMeasured) {
          const ProbeBuffer buffer = ProbeBuffer::Of(encoding, sizes_[i], every);
          const bool fits = buffer.count > 0 && buffer.count <= states_.size();
          if (fits && (encoding != Encoding::kBitmap || sizes_[i] >= kMinBitmap)) Measure(me, pattern, buffer, epoch);
        }
      }
      last = SecondsSince(begin);
    }
  }

  void Measure(PartId me, const Pattern& pattern, const ProbeBuffer& buffer, std::uint64_t& epoch) {
    const std::size_t bytes = buffer.bytes();
    std::vector<std::vector<double>> times(pattern.buffers.size());
    const int repetitions = quick_ ? 3 : bytes <= kSmall ? 21 : 7;
    // The first two are not counted: they page-lock the buffers of both parities.
    for (int repetition = -2; repetition < repetitions; ++repetition) {
      Exchange(me, pattern, buffer, epoch++);
      Await("the others");
      for (std::size_t b = 0; b < times.size() && me == 0 && repetition >= 0; ++b) {
        const auto [from, to] = pattern.buffers[b];
        Clock::time_point last = begins_[from];
        for (PartId at = 0; at < devices_.size(); ++at) {
          if (from == to ? at != from : at == to) last = std::max(last, ends_[at]);
        }
        times[b].push_back(std::chrono::duration<double, std::micro>(last - begins_[from]).count());
      }
    }
    const auto entries = static_cast<double>(buffer.encoding == Encoding::kDense ? 0 : buffer.count);
    for (std::size_t b = 0; b < times.size() && me == 0; ++b) {
      const auto [from, to] = pattern.buffers[b];
      const auto middle = times[b].begin() + repetitions / 2;
      std::nth_element(times[b].begin(), middle, times[b].end());
      samples_[{from, to, pattern.load}][static_cast<std::size_t>(buffer.encoding)].push_back(
          {static_cast<double>(bytes), entries, std::max(*middle, 1e-3)});  // a clock may not advance
    }
  }

  /// One epoch as engines run it: pack and post, barrier, receive and unpack. All calls of the transport are here.
  void Exchange(PartId me, const Pattern& pattern, const ProbeBuffer& buffer, std::uint64_t epoch) {
    Device& device = *devices_[me];
    const std::size_t bytes = buffer.bytes();
    const auto pack = [&](std::byte* to) { probes::Pack(device, states_[me], to, buffer); };
    const auto unpack = [&](const std::byte* from) { probes::Unpack(device, states_[me], from, buffer); };
    std::vector<PartId> targets, sources;  // of pairs
    std::vector<std::size_t> incoming(devices_.size(), 0), broadcast(devices_.size(), 0);
    for (PartId i = 1; i < devices_.size(); ++i) {
      const auto after = static_cast<PartId>((me + i) % devices_.size());
      const auto before = static_cast<PartId>((me + devices_.size() - i) % devices_.size());
      if (pattern.Sends(me, after)) targets.push_back(after);
      if (pattern.Sends(before, me)) sources.push_back(before);
    }
    for (const PartId from : sources) incoming[from] = bytes;
    for (PartId root = 0; root < devices_.size(); ++root) broadcast[root] = pattern.Sends(root, root) ? bytes : 0;
    const bool tells = broadcast[me] > 0;

    device.stream().Synchronize();
    Await("the others");
    begins_[me] = Clock::now();
    for (const PartId to : targets) pack(transport_.Outbox(me, to, epoch));
    if (tells) pack(transport_.BroadcastOutbox(me, epoch));
    // Engines read a buffer's length before they start its copy.
    const bool in_place =
        (!tells || transport_.IsZeroCopyReceive(me, me)) &&
        std::all_of(targets.begin(), targets.end(), [&](PartId to) { return transport_.IsZeroCopyReceive(me, to); });
    if (!in_place) device.stream().Synchronize({&abort_, kPatience});
    for (const PartId to : targets) transport_.Post(me, to, bytes, epoch);
    if (tells) transport_.Broadcast(me, bytes, epoch);
    Await("the others' counts");
    transport_.BeginCollective(me, incoming, broadcast, epoch);
    for (const PartId from : sources) unpack(transport_.Receive(me, from, bytes, epoch));
    for (PartId root = 0; root < devices_.size(); ++root) {
      if (root != me && broadcast[root] > 0) unpack(transport_.ReceiveBroadcast(me, root, bytes, epoch));
    }
    device.stream().Synchronize({&abort_, kPatience});
    ends_[me] = Clock::now();
  }

  std::span<Device* const> devices_;
  const States& states_;
  Transport& transport_;
  const std::vector<Pattern> patterns_;
  std::span<const std::size_t> sizes_;
  bool quick_;
  double seconds_;
  Barrier barrier_;
  AbortToken abort_;
  // One thread writes between two barriers, and others read between the next two.
  std::vector<Clock::time_point> begins_, ends_;
  bool stop_ = false;
  Samples samples_;  // of the first thread
};

/// The costs that the samples give. A sparse buffer's bytes are in proportion to its entries, so blocks of memory tell them
/// apart. Bitmaps are long, so short blocks tell what a bitmap without bytes takes.
void Fit(std::array<std::vector<CostSample>, kEncodings> samples, const std::function<void(Encoding, const Cost&)>& set) {
  constexpr std::size_t kFewestBitmaps = 4;  // two sizes, each at two fills
  const auto of = [&](Encoding encoding) -> std::vector<CostSample>& { return samples[static_cast<std::size_t>(encoding)]; };
  const bool bitmaps = of(Encoding::kBitmap).size() >= kFewestBitmaps;
  for (const CostSample& block : of(Encoding::kDense)) {
    of(Encoding::kSparse).push_back(block);
    if (block.bytes <= kMinBitmap) of(Encoding::kBitmap).push_back(block);
  }
  for (const Encoding encoding : kAllEncodings) {
    if (encoding != Encoding::kBitmap || bitmaps) set(encoding, FitCost(of(encoding)));
  }
}

/// The sizes, up to `most`, whose buffers leave half of a GPU's memory and three quarters of the host's. Throws
/// OutOfMemoryError where between host devices even the fewest do not.
std::span<const std::size_t> SizesThatFit(std::string_view path, std::span<Device* const> devices,
                                          std::span<const std::size_t> sizes, std::size_t most, TransportOptions& options,
                                          PairBytesTable& capacities) {
  const DeviceKind kind = devices[0]->kind();
  const std::uint64_t host = AvailableHostMemory(), allowed = host > 0 ? std::min(host / 4, kMostHostBytes) : kMostHostBytes;
  for (;; sizes = sizes.first(sizes.size() - 1)) {
    const std::size_t largest = std::max(sizes.back(), sizeof(probes::Entry));
    for (std::size_t from = 0; from < devices.size(); ++from) {
      capacities[from].assign(devices.size(), largest);
      capacities[from][from] = 0;
    }
    options.broadcast.assign(devices.size(), largest);
    const TransportMemory memory = MeasureTransport(path, kind, capacities, options);
    std::uint64_t on_host = memory.host;
    bool fits = largest <= most;
    for (std::size_t d = 0; d < devices.size(); ++d) {
      if (kind == DeviceKind::kHost) {
        on_host += memory.devices[d];
      } else if (const std::uint64_t free = devices[d]->free_memory(); free > 0) {
        const auto sharers = static_cast<std::uint64_t>(std::count_if(
            devices.begin(), devices.end(), [&](const Device* other) { return other->index() == devices[d]->index(); }));
        fits = fits && memory.devices[d] <= free / 2 / sharers;
      }
    }
    const bool fewest = sizes.size() <= kFewestSizes;
    if ((fits || fewest) && on_host <= allowed) return sizes;
    if (fewest && kind == DeviceKind::kCuda) return sizes;  // these are few
    if (fewest) {
      Throw<OutOfMemoryError>("buffers of {} bytes between {} devices take {} MiB, and {} may be taken", sizes.back(),
                              devices.size(), on_host >> 20, allowed >> 20);
    }
  }
}

}  // namespace

Calibration Calibrate(std::span<Device* const> devices, const CalibrationOptions& options) try {
  const std::size_t parts = devices.size();
  if (parts < 2) throw UsageError("communication is measured between two devices or more; choose them by --devices");
  const Clock::time_point start = Clock::now();
  const std::vector<std::string_view> paths = PathsOfAuto(SelectionOf(devices));
  Calibration result;
  result.quick = options.quick;
  result.model = CostModel(std::vector<std::string>(paths.begin(), paths.end()), parts);
  // Values of a graph that no cache holds, and as many as the largest block has: 128 or 256 MiB on a GPU, 16 or 64 on the
  // host, where all devices share the memory.
  const bool host = devices[0]->kind() == DeviceKind::kHost;
  unsigned bits = host ? (options.quick ? 22 : 24) : (options.quick ? 25 : 26);
  while (host && parts * 2 * (sizeof(std::uint32_t) << bits) > kMostHostBytes / 4) --bits;
  const States states(devices, bits);
  for (std::size_t path = 0; path < paths.size(); ++path) {
    if (options.progress) options.progress(paths[path]);
    const double left = (kQuickSeconds - SecondsSince(start)) / static_cast<double>(paths.size() - path);
    try {
      // Without a link, copies to peers and stores into their memory take the way of another path.
      const bool needs_link = paths[path] == "p2p-copy" || paths[path] == "p2p-direct";
      const auto joined = [&](PartId from, PartId to) {
        return !needs_link || (options.links.Allows(from, to) && devices[to]->AllowAccessBy(*devices[from]) &&
                               devices[from]->AllowAccessBy(*devices[to]));
      };
      const auto broadcasts = [&](PartId from) {
        for (PartId to = 0; to < parts; ++to) {
          if (from != to && !joined(from, to)) return false;
        }
        return true;
      };
      // All pairs and all broadcasts at once, and each alone. Of host devices, which share one memory, the first pair and
      // the first broadcast stand for all.
      Pattern pairs{{}, MeasuredLoad::kAllToAll}, to_all{{}, MeasuredLoad::kAllToAll};
      for (PartId from = 0; from < parts; ++from) {
        for (PartId to = 0; to < parts; ++to) {
          if (from != to && joined(from, to)) pairs.buffers.emplace_back(from, to);
        }
        if (broadcasts(from)) to_all.buffers.emplace_back(from, from);
      }
      std::vector<Pattern> patterns;
      for (const Pattern& all : {pairs, to_all}) {
        for (const auto& buffer : all.buffers) {
          if (!host || buffer == all.buffers.front()) patterns.push_back({{buffer}, MeasuredLoad::kAlone});
        }
        if (!all.buffers.empty()) patterns.push_back(all);
      }
      if (patterns.empty()) continue;
      TransportOptions transport_options;
      transport_options.links = options.links;
      transport_options.timeout = kPatience;
      PairBytesTable capacities(parts);
      const auto sizes =
          SizesThatFit(paths[path], devices, options.quick ? std::span<const std::size_t>(kQuickSizes) : kSizes,
                       sizeof(std::uint32_t) << bits, transport_options, capacities);
      const std::unique_ptr<Transport> transport = MakeTransport(paths[path], devices, capacities, transport_options);
      Samples samples =
          PathMeasurement(devices, states, *transport, patterns, sizes, options.quick, options.quick ? left : kSeconds)
              .Run();
      for (const Pattern& all : {pairs, to_all}) {
        for (const auto& [from, to] : all.buffers) {
          for (const MeasuredLoad load : kAllLoads) {
            const auto& [first, second] = host && load == MeasuredLoad::kAlone ? all.buffers.front() : std::pair(from, to);
            Fit(samples.at({first, second, load}), [&, f = from, t = to](Encoding encoding, const Cost& cost) {
              result.model.set_cost(path, f, t, encoding, load, cost);
            });
          }
        }
      }
    } catch (const Error& error) {
      result.notes.push_back(fmt::format("{} is not measured: {}", paths[path], error.what()));
      Log().warn("{}", result.notes.back());
    }
  }
  result.model.set_measured(true);
  result.seconds = SecondsSince(start);
  return result;
} catch (const std::bad_alloc&) {
  ThrowOutOfHostMemory("measuring communication paths");
}

}  // namespace chatty
