#include "chatty/comm/calibration.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <exception>
#include <limits>
#include <memory>
#include <thread>
#include <utility>

#include "chatty/comm/probes.h"
#include "chatty/comm/transport.h"
#include "chatty/core/host_memory.h"
#include "chatty/core/logging.h"
#include "chatty/core/sync.h"

namespace chatty {
namespace {

constexpr std::size_t kQuickSizes[] = {4, 4 << 10, 64 << 10, 512 << 10, 4 << 20, 16 << 20};
constexpr std::size_t kSizes[] = {4,         64,      1 << 10, 4 << 10,  16 << 10, 64 << 10,
                                  256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20};
constexpr std::size_t kFewestSizes = 3;  ///< measured however long they take: a fit needs them
/// Sizes for many devices, where buffers would otherwise take too much memory: a ring's buffers grow with the cube of the
/// number of devices.
constexpr std::size_t kMinSizes[] = {4, 512, 4 << 10};
constexpr std::size_t kSmall = 64 << 10;
constexpr std::size_t kManyDevices = 8;     ///< of the host; more are measured once
constexpr std::size_t kMinSwept = 4 << 10;  ///< shorter buffers are lists
/// @{
/// Samples at two sizes or more determine the cost of bytes. The cost of entries or places needs as many again.
constexpr std::size_t kFewestSamples = 2, kFewestOfTwo = 4;
/// @}
/// Time of all paths of a quick calibration together.
constexpr double kQuickSeconds = 3;
/// Host memory of all buffers of a path in a quick calibration: the first touch of each page costs time.
constexpr std::uint64_t kQuickBytes = std::uint64_t{2} << 30;
/// Memory of values, orders and marks of all host devices together.
constexpr std::uint64_t kStateBytes = std::uint64_t{2} << 30, kQuickStateBytes = std::uint64_t{512} << 20;
/// Page-locking a gigabyte takes most of a second.
constexpr std::uint64_t kMaxPinned = std::uint64_t{4} << 30;
constexpr std::chrono::milliseconds kPatience{60000};

double Seconds(Clock::time_point since) { return std::chrono::duration<double>(Clock::now() - since).count(); }
double Us(Clock::duration span) { return std::chrono::duration<double, std::micro>(span).count(); }

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Calls body(i) on a thread of its own for each i below `count`. Rethrows the first error. `unblock` then ends the waits of
/// the other threads.
template <class Body, class Unblock>
void RunThreads(std::size_t count, AbortToken& abort, const Body& body, const Unblock& unblock) {
  std::vector<std::thread> threads;
  const auto fail = [&] {
    abort.Fail(std::current_exception());
    unblock();
  };
  try {
    for (std::size_t i = 0; i < count; ++i) {
      threads.emplace_back([&, i] {
        try {
          UseAllCores();
          body(i);
        } catch (...) {
          fail();
        }
      });
    }
  } catch (...) {
    fail();
  }
  for (std::thread& thread : threads) thread.join();
  abort.RethrowFirst();
}

/// Which devices send to which at once.
struct Pattern {
  std::vector<std::pair<PartId, PartId>> buffers;
  std::vector<PartId> roots;  ///< of broadcasts
  LoadCorner corner = LoadCorner::kAlone;
};

/// `alike`: one pattern stands for all that differ only in their devices.
std::vector<Pattern> PatternsBetween(PartId parts, const std::function<bool(PartId, PartId)>& joined, bool alike) {
  const PartId several = alike ? 1 : parts, shifts = alike ? 2 : parts;
  std::vector<Pattern> patterns;
  const auto add = [&](Pattern pattern) {
    std::erase_if(pattern.buffers, [&](const auto& pair) { return !joined(pair.first, pair.second); });
    if (!pattern.buffers.empty() || !pattern.roots.empty()) patterns.push_back(std::move(pattern));
  };
  for (PartId from = 0; from < several; ++from) {
    for (PartId to = 0; to < std::max<PartId>(2, several); ++to) {
      if (from != to) add({{{from, to}}, {}, LoadCorner::kAlone});
    }
  }
  Pattern all{{}, {}, LoadCorner::kAllToAll};
  for (PartId shift = 1; shift < parts; ++shift) {
    Pattern ring{{}, {}, LoadCorner::kRing};
    for (PartId from = 0; from < parts; ++from) ring.buffers.emplace_back(from, (from + shift) % parts);
    all.buffers.insert(all.buffers.end(), ring.buffers.begin(), ring.buffers.end());
    if (shift < shifts) add(std::move(ring));
  }
  for (PartId root = 0; root < several && parts > 2; ++root) {
    Pattern fan{{}, {}, LoadCorner::kFanOut};
    for (PartId shift = 1; shift < parts; ++shift) fan.buffers.emplace_back(root, (root + shift) % parts);
    add(std::move(fan));
  }
  if (parts > 2) add(std::move(all));  // for two devices the ring is all-to-all

  Pattern everybody{{}, {}, LoadCorner::kAllToAll};
  for (PartId root = 0; root < parts; ++root) {
    bool reaches = true;
    for (PartId to = 0; to < parts; ++to) reaches = reaches && (root == to || joined(root, to));
    if (!reaches) continue;
    if (root < several) add({{}, {root}, LoadCorner::kAlone});
    everybody.roots.push_back(root);
  }
  if (everybody.roots.size() == parts) add(std::move(everybody));
  return patterns;
}

/// A kind of buffer to measure, and the content whose costs it counts for.
struct Measured {
  probes::Kind kind;
  BufferContent content;
  unsigned every = 1;
};
/// Whether the length of a buffer with this content leaves its number of entries or places open.
bool CountsApart(BufferContent content) {
  return content == BufferContent::kList || content == BufferContent::kValues || content == BufferContent::kMessages;
}
/// `every` 2: so full that bytes count; 32: so empty that places do. Host devices take one time for all that has bits.
constexpr Measured kOnHosts[] = {{probes::Kind::kBlock, BufferContent::kList},
                                 {probes::Kind::kEntries, BufferContent::kList},
                                 {probes::Kind::kValues, BufferContent::kValues, 2},
                                 {probes::Kind::kValues, BufferContent::kValues, 32}};
constexpr Measured kOnGpus[] = {{probes::Kind::kBlock, BufferContent::kList},
                                {probes::Kind::kEntries, BufferContent::kList},
                                {probes::Kind::kMarks, BufferContent::kMarks},
                                {probes::Kind::kValues, BufferContent::kValues, 2},
                                {probes::Kind::kValues, BufferContent::kValues, 32},
                                {probes::Kind::kMessages, BufferContent::kMessages, 2},
                                {probes::Kind::kMessages, BufferContent::kMessages, 32},
                                {probes::Kind::kBits, BufferContent::kBits},
                                {probes::Kind::kPayload, BufferContent::kPayload}};

/// The values of each device during a calibration.
class States {
 public:
  States(std::span<Device* const> devices, unsigned bits) {
    for (Device* device : devices) {
      device->MakeCurrent();
      values_.emplace_back(*device, std::size_t{1} << bits);
      order_.emplace_back(*device, std::size_t{1} << bits);
      marks_.emplace_back(*device, (std::size_t{1} << bits) / 32);
      queue_.emplace_back(*device, device->kind() == DeviceKind::kCuda ? std::size_t{1} << bits : 0);
      counts_.emplace_back(*device, 2);
      states_.push_back({values_.back().data(), order_.back().data(), bits, marks_.back().data(), queue_.back().data(),
                         counts_.back().data()});
      probes::Prepare(*device, states_.back());
      device->stream().Synchronize();
    }
  }
  const probes::State& operator[](std::size_t device) const { return states_[device]; }

 private:
  std::vector<Buffer<std::uint32_t>> values_, order_, marks_, queue_, counts_;
  std::vector<probes::State> states_;
};

/// Measures one path: a thread for each device runs all sizes and patterns.
class PathMeasurement {
 public:
  PathMeasurement(std::span<Device* const> devices, const States& states, Transport& transport,
                  std::vector<Pattern> patterns, std::span<const std::size_t> sizes, bool quick, bool alike, double seconds)
      : devices_(devices.begin(), devices.end()),
        states_(states),
        transport_(transport),
        patterns_(std::move(patterns)),
        sizes_(sizes),
        quick_(quick),
        alike_(alike),
        seconds_(seconds),
        barrier_(static_cast<int>(devices.size())),
        begins_(devices.size()),
        ends_(devices.size()),
        measured_(devices_[0]->kind() == DeviceKind::kCuda ? std::span<const Measured>(kOnGpus) : kOnHosts),
        samples_(patterns_.size()) {
    for (std::size_t i = 0; i < patterns_.size(); ++i) {
      for (auto& of_content : samples_[i]) {
        of_content.resize(std::max(patterns_[i].buffers.size(), patterns_[i].roots.size()));
      }
    }
  }

  void Run() {
    RunThreads(
        devices_.size(), abort_,
        [this](std::size_t me) {
          devices_[me]->MakeCurrent();
          Drive(static_cast<PartId>(me));
        },
        [this] {
          barrier_.Poison();
          transport_.Abort();
        });
  }

  /// Sets the fits of the samples in the model.
  void Fit(CostModel& model, std::size_t path) const {
    for (std::size_t i = 0; i < patterns_.size(); ++i) {
      const Pattern& pattern = patterns_[i];
      const auto set = [&](std::size_t from, std::size_t to, std::size_t b) {
        for (std::size_t c = 0; c < kBufferContents; ++c) {
          const std::vector<CostSample>& samples = samples_[i][c][b];
          const auto content = static_cast<BufferContent>(c);
          if (samples.size() < (CountsApart(content) ? kFewestOfTwo : kFewestSamples)) continue;
          const CostFit fit = FitCost(samples);
          model.set_fit(path, from, to, pattern.corner, fit, content);
          if (devices_.size() == 2 && pattern.corner == LoadCorner::kRing) {
            model.set_fit(path, from, to, LoadCorner::kAllToAll, fit, content);
          }
        }
      };
      const bool stands_for_all = alike_ && pattern.corner != LoadCorner::kAllToAll;
      const std::size_t parts = devices_.size();
      if (!stands_for_all) {
        for (std::size_t b = 0; b < pattern.buffers.size(); ++b) set(pattern.buffers[b].first, pattern.buffers[b].second, b);
      } else if (!pattern.buffers.empty()) {
        for (std::size_t from = 0; from < parts; ++from) {
          for (std::size_t shift = 1; shift < parts; ++shift) {
            const std::size_t like = pattern.corner == LoadCorner::kRing     ? from
                                     : pattern.corner == LoadCorner::kFanOut ? shift - 1
                                                                             : 0;
            set(from, (from + shift) % parts, like);
          }
        }
      }
      for (std::size_t r = 0; r < (stands_for_all && !pattern.roots.empty() ? parts : pattern.roots.size()); ++r) {
        model.set_broadcast_fit(path, stands_for_all ? r : pattern.roots[r], pattern.corner == LoadCorner::kAllToAll,
                                FitCost(samples_[i][0][stands_for_all ? 0 : r]));
      }
    }
  }

 private:
  void BeginCollective(std::string_view what) { barrier_.Arrive({&abort_, kPatience}, what); }

  void Drive(PartId me) {
    const Clock::time_point start = Clock::now();
    std::uint64_t epoch = 0;
    for (std::size_t size = 0; size < sizes_.size(); ++size) {
      if (me == 0) {
        // The time of the next size grows at most by the ratio of the sizes. Below some size a GPU's buffers take the time
        // of launches and barriers. There only the last increase, or a tenth of the last time, grows by that ratio.
        const double longer =
            size == 0 ? 0 : std::min(static_cast<double>(sizes_[size]) / static_cast<double>(sizes_[size - 1]), 8.0);
        const bool launches = devices_[0]->kind() == DeviceKind::kCuda;
        const double grows = launches ? std::max(last_size_ - size_before_, 0.1 * last_size_) : last_size_;
        const double expected = std::min(last_size_ * longer, last_size_ + grows * longer);
        stop_ = size >= kFewestSizes && Seconds(start) + expected > seconds_;
        size_start_ = Clock::now();
      }
      BeginCollective("the others");
      if (stop_) return;
      for (std::size_t i = 0; i < patterns_.size(); ++i) {
        for (const Measured& kind : measured_) {
          const probes::ProbeBuffer buffer = probes::ProbeBuffer::Of(kind.kind, sizes_[size], kind.every);
          if (buffer.count > std::size_t{1} << states_[me].bits) continue;
          if (buffer.swept() && (sizes_[size] < kMinSwept || buffer.count == 0)) continue;
          if (kind.content != BufferContent::kList && patterns_[i].buffers.empty())
            continue;  // broadcasts use the costs of lists
          MeasurePattern(me, i, buffer, kind.content, epoch);
        }
      }
      if (me == 0) size_before_ = std::exchange(last_size_, Seconds(size_start_));
    }
  }

  void MeasurePattern(PartId me, std::size_t index, const probes::ProbeBuffer& buffer, BufferContent content,
                      std::uint64_t& epoch) {
    const std::size_t bytes = buffer.bytes();
    const Pattern& pattern = patterns_[index];
    const int few = !alike_ ? 5 : devices_.size() > kManyDevices ? 1 : 3;  // barriers of many threads are slow
    const int repetitions = quick_ ? (bytes <= kSmall ? few : std::min(few, 3)) : bytes <= kSmall ? 21 : 7;
    std::vector<std::vector<CostSample>>& samples = samples_[index][static_cast<std::size_t>(content)];
    std::vector<std::vector<double>> times(samples.size());
    // The first two are not counted: they page-lock the buffers of both parities.
    for (int repetition = -2; repetition < repetitions; ++repetition) {
      Exchange(me, pattern, buffer, epoch++);
      BeginCollective("the others");
      if (me != 0 || repetition < 0) continue;
      for (std::size_t b = 0; b < pattern.buffers.size(); ++b) {
        const auto [from, to] = pattern.buffers[b];
        times[b].push_back(Us(ends_[to] - begins_[from]));
      }
      for (std::size_t r = 0; r < pattern.roots.size(); ++r) {
        Clock::time_point last = begins_[pattern.roots[r]];
        for (PartId at = 0; at < devices_.size(); ++at) {
          if (at != pattern.roots[r]) last = std::max(last, ends_[at]);
        }
        times[r].push_back(Us(last - begins_[pattern.roots[r]]));
      }
    }
    if (me != 0) return;
    const auto count = static_cast<double>(CountsApart(content) && buffer.kind != probes::Kind::kBlock ? buffer.count : 0);
    for (std::size_t i = 0; i < times.size(); ++i) {  // a clock may not advance
      samples[i].push_back({static_cast<double>(bytes), count, std::max(Median(std::move(times[i])), 1e-3)});
    }
  }

  /// One epoch as engines run it: pack and post, barrier, receive and unpack. All calls of the transport are here.
  void Exchange(PartId me, const Pattern& pattern, const probes::ProbeBuffer& buffer, std::uint64_t epoch) {
    Device& device = *devices_[me];
    const std::size_t bytes = buffer.bytes();
    const auto pack = [&](std::byte* to) { probes::Pack(device, states_[me], to, buffer); };
    const auto unpack = [&](const std::byte* from) { probes::Unpack(device, states_[me], from, buffer); };
    const auto sends = [&](PartId from, PartId to) {
      return std::find(pattern.buffers.begin(), pattern.buffers.end(), std::pair(from, to)) != pattern.buffers.end();
    };
    std::vector<PartId> targets, sources;
    std::vector<std::size_t> incoming(devices_.size(), 0), broadcast(devices_.size(), 0);
    for (PartId i = 1; i < devices_.size(); ++i) {
      const auto after = static_cast<PartId>((me + i) % devices_.size());
      const auto before = static_cast<PartId>((me + devices_.size() - i) % devices_.size());
      if (sends(me, after)) targets.push_back(after);
      if (sends(before, me)) sources.push_back(before);
    }
    for (const PartId from : sources) incoming[from] = bytes;
    for (const PartId root : pattern.roots) broadcast[root] = bytes;
    const bool tells = broadcast[me] > 0;

    device.stream().Synchronize();
    BeginCollective("the others");
    begins_[me] = Clock::now();
    for (const PartId to : targets) pack(transport_.Outbox(me, to, epoch));
    if (tells) pack(transport_.BroadcastOutbox(me, epoch));
    // Engines read a buffer's length before they start its copy. The length of a payload is known.
    const bool known =
        buffer.kind == probes::Kind::kPayload ||
        ((!tells || transport_.IsZeroCopyReceive(me, me)) &&
         std::all_of(targets.begin(), targets.end(), [&](PartId to) { return transport_.IsZeroCopyReceive(me, to); }));
    if (!known) device.stream().Synchronize({&abort_, kPatience});
    for (const PartId to : targets) transport_.Post(me, to, bytes, epoch);
    if (tells) transport_.Broadcast(me, bytes, epoch);
    BeginCollective("the others' counts");
    transport_.BeginCollective(me, incoming, broadcast, epoch);
    for (const PartId from : sources) unpack(transport_.Receive(me, from, bytes, epoch));
    for (const PartId root : pattern.roots) {
      if (root != me) unpack(transport_.ReceiveBroadcast(me, root, bytes, epoch));
    }
    device.stream().Synchronize({&abort_, kPatience});
    ends_[me] = Clock::now();
  }

  std::vector<Device*> devices_;
  const States& states_;
  Transport& transport_;
  std::vector<Pattern> patterns_;
  std::span<const std::size_t> sizes_;
  bool quick_, alike_;
  double seconds_;
  Barrier barrier_;
  AbortToken abort_;
  // One thread writes between two barriers, and others read between the next two.
  std::vector<Clock::time_point> begins_, ends_;
  std::span<const Measured> measured_;
  std::vector<std::array<std::vector<std::vector<CostSample>>, kBufferContents>>
      samples_;  // [pattern][content][buffer or root]
  Clock::time_point size_start_;
  double last_size_ = 0, size_before_ = 0;  // seconds
  bool stop_ = false;
};

/// The sizes, up to `most`, for which the buffers of a path leave room for others. Throws OutOfMemoryError where between
/// host devices even the smallest do not.
std::span<const std::size_t> SizesThatFit(std::string_view name, std::span<Device* const> devices,
                                          std::span<const std::size_t> sizes, std::size_t most, bool quick,
                                          TransportOptions& options, PairBytesTable& capacities) {
  const DeviceKind kind = devices[0]->kind();
  const std::uint64_t host = AvailableHostMemory();
  std::uint64_t allowed = host > 0 ? host / 4 : std::numeric_limits<std::uint64_t>::max();
  if (quick && kind == DeviceKind::kHost) allowed = std::min(allowed, kQuickBytes);
  for (;; sizes = sizes.size() > kFewestSizes ? sizes.first(sizes.size() - 1) : std::span<const std::size_t>(kMinSizes)) {
    const std::size_t largest = std::max(sizes.back(), sizeof(probes::Entry));
    for (std::size_t from = 0; from < devices.size(); ++from) {
      for (std::size_t to = 0; to < devices.size(); ++to) capacities[from][to] = from == to ? 0 : largest;
      options.broadcast[from] = largest;
    }
    if (sizes.size() <= kFewestSizes && kind == DeviceKind::kCuda) return sizes;  // these are few
    if (largest > most) continue;
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
    if (sizes.data() == kMinSizes) {
      Throw<OutOfMemoryError>("buffers of {} bytes between {} devices take {} MiB, and {} may be taken", sizes.back(),
                              devices.size(), on_host >> 20, allowed >> 20);
    }
  }
}

/// Whether a path by itself joins only pairs with a link. Without a link, it takes the way of another path.
bool NeedsLink(std::string_view path) { return path == "p2p-copy" || path == "p2p-direct"; }

class Prober {
 public:
  Prober(std::span<Device* const> devices, const States& states, const CalibrationOptions& options,
         std::vector<ProbeResult>& results)
      : devices_(devices), states_(states), options_(options), results_(results) {}

  /// `alike`: probes the first device, and the pairs of the first two.
  void ProbeAll(bool alike) {
    const std::size_t pairs = alike ? 2 : devices_.size();
    for (std::size_t i = 0; i < (alike ? 1 : devices_.size()); ++i) ProbeDevice(i);
    for (std::size_t from = 0; from < pairs; ++from) {
      for (std::size_t to = 0; to < pairs; ++to) {
        if (from != to) ProbePair(from, to);
      }
    }
    Add("host-barrier", ProbeResult::kNone, ProbeResult::kNone, HostBarrierUs(), "us");
  }

 private:
  void Add(std::string name, std::size_t from, std::size_t to, double value, std::string unit) {
    const auto index = [](std::size_t device) {
      return device == static_cast<std::size_t>(ProbeResult::kNone) ? ProbeResult::kNone : static_cast<std::int32_t>(device);
    };
    if (std::isfinite(value)) results_.push_back({std::move(name), index(from), index(to), value, std::move(unit)});
  }

  /// Median time of `work` and of the wait for it.
  template <class Work>
  double TimeUs(Device& device, int repetitions, const Work& work) {
    std::vector<double> times;
    for (int i = -1; i < repetitions; ++i) {
      device.stream().Synchronize();
      const Clock::time_point start = Clock::now();
      work();
      device.stream().Synchronize();
      if (i >= 0) times.push_back(Us(Clock::now() - start));
    }
    return Median(std::move(times));
  }

  void ProbeDevice(std::size_t i) {
    Device& device = *devices_[i];
    device.MakeCurrent();
    constexpr int kLaunches = 200;
    const double many = TimeUs(device, 3, [&] {
      for (int launch = 0; launch < kLaunches; ++launch) probes::LaunchNothing(device);
    });
    Add("launch", i, kNobody, many / kLaunches, "us");
    launch_us_ = TimeUs(device, 21, [&] { probes::LaunchNothing(device); });
    Add("launch-sync", i, kNobody, launch_us_, "us");
    Add("device-barrier", i, kNobody, probes::DeviceBarrierUs(device, 500), "us");

    const std::size_t words = std::size_t{1} << states_[i].bits;
    TouchAll("local", i, i, states_[i].values, words, true);
    const Pinned<std::uint32_t> host(device, words);
    TouchAll("host", i, kNobody, host.data(), words, false);
    probes::Prepare(device, states_[i]);  // restores the values that TouchAll overwrote
    device.stream().Synchronize();
  }

  void ProbePair(std::size_t from, std::size_t to) {
    Device &a = *devices_[from], &b = *devices_[to];
    const bool peers = options_.links.Allows(from, to) && b.AllowAccessBy(a) && a.AllowAccessBy(b);
    a.MakeCurrent();
    if (peers) {
      const std::size_t words = std::size_t{1} << states_[to].bits;
      TouchAll("peer", from, to, states_[to].values, words, probes::NativeAtomics(a, b));
      b.MakeCurrent();
      probes::Prepare(b, states_[to]);
      b.stream().Synchronize();
    }
    if (from > to) return;  // both directions are the same round trip
    const unsigned rounds = options_.quick ? 200 : 2000;
    if (peers) {
      a.MakeCurrent();
      const Buffer<std::uint32_t> flag_a(a, 64);
      a.stream().Synchronize();
      b.MakeCurrent();
      const Buffer<std::uint32_t> flag_b(b, 64);
      b.stream().Synchronize();
      Add("flag-round-trip", from, to, probes::FlagRoundTripUs(a, b, flag_a.data(), flag_b.data(), rounds), "us");
    }
    a.MakeCurrent();
    const Pinned<std::uint32_t> flags(a, 64);  // on two cache lines
    Add("flag-round-trip-host", from, to, probes::FlagRoundTripUs(a, b, flags.data(), flags.data() + 32, rounds), "us");
  }

  /// Number of random accesses, which takes some milliseconds. A GPU makes 32 times as many to its own memory as a host
  /// device or to host memory.
  std::size_t RandomAccesses(std::size_t words, bool host_memory) const {
    const bool gpu = devices_[0]->kind() == DeviceKind::kCuda;
    const unsigned bits = (gpu && !host_memory ? 23 : 18) + (options_.quick ? 0 : 2);
    return std::min(words, std::size_t{1} << bits);
  }

  /// Reads and writes in order over `words` words; reads, writes and atomics at random.
  void TouchAll(const std::string& whose, std::size_t from, std::size_t to, std::uint32_t* memory, std::size_t words,
                bool atomics) {
    using probes::Access;
    Device& device = *devices_[from];
    const int repetitions = options_.quick ? 3 : 7;
    for (const Access access : {Access::kWrite, Access::kRead, Access::kAtomic}) {
      if (access == Access::kAtomic && !atomics) continue;
      const std::string_view name = access == Access::kWrite ? "write" : access == Access::kRead ? "read" : "atomic";
      const auto rate = [&](std::size_t count, const std::uint32_t* order) {
        const double us = TimeUs(device, repetitions, [&] { probes::Touch(device, memory, count, order, access); });
        return static_cast<double>(count) / std::max(us - launch_us_, us / 100) * 1e6;
      };
      if (access != Access::kAtomic) {
        Add(fmt::format("{}-{}", whose, name), from, to, rate(words, nullptr) * sizeof(std::uint32_t), "bytes/s");
      }
      Add(fmt::format("{}-{}-random", whose, name), from, to,
          rate(RandomAccesses(words, to == kNobody), states_[from].order), "1/s");
    }
  }

  double HostBarrierUs() {
    const int rounds = options_.quick ? 100 : 1000;  // with many devices on few cores, each takes a millisecond
    Barrier barrier(static_cast<int>(devices_.size()));
    AbortToken abort;
    double us = 0;
    RunThreads(
        devices_.size(), abort,
        [&](std::size_t i) {
          const WaitContext context{&abort, kPatience};
          barrier.Arrive(context, "the others");
          const Clock::time_point start = Clock::now();
          for (int round = 0; round < rounds; ++round) barrier.Arrive(context, "the others");
          if (i == 0) us = Us(Clock::now() - start) / rounds;
        },
        [&] { barrier.Poison(); });
    return us;
  }

  static constexpr auto kNobody = static_cast<std::size_t>(ProbeResult::kNone);
  std::span<Device* const> devices_;
  const States& states_;
  const CalibrationOptions& options_;
  std::vector<ProbeResult>& results_;
  double launch_us_ = 0;
};

std::vector<std::string_view> PathsToMeasure(std::span<Device* const> devices, const CalibrationOptions& options) {
  const DeviceSelection selection = SelectionOf(devices);
  if (options.paths.empty()) return TransportsFor(selection);
  std::vector<std::string_view> paths;
  for (const std::string_view path : options.paths) {
    if (FindTransport(path) == nullptr) Throw<UsageError>("there is no transport '{}' to measure in this build", path);
    CheckTransport(path, selection);
    paths.push_back(path);
  }
  return paths;
}

}  // namespace

Calibration Calibrate(std::span<Device* const> devices, const CalibrationOptions& options) try {
  if (devices.size() < 2)
    throw UsageError("communication is measured between two devices or more; choose them by --devices");
  const Clock::time_point start = Clock::now();
  const std::vector<std::string_view> paths = PathsToMeasure(devices, options);
  Calibration result;
  result.quick = options.quick;
  result.model = CostModel(std::vector<std::string>(paths.begin(), paths.end()), devices.size());

  const std::span<const std::size_t> all_sizes =
      options.quick ? std::span<const std::size_t>(kQuickSizes) : std::span<const std::size_t>(kSizes);
  // Values of a graph that no cache holds, and as many as the largest block has: 128 or 256 MiB on a GPU, 16 or 64 on the
  // host, where all devices share the memory.
  const bool host = devices[0]->kind() == DeviceKind::kHost;
  unsigned bits = host ? (options.quick ? 22 : 24) : (options.quick ? 25 : 26);
  const std::uint64_t state_bytes = options.quick ? kQuickStateBytes : kStateBytes;
  while (host && devices.size() * 2 * (sizeof(std::uint32_t) << bits) > state_bytes) --bits;
  const States states(devices, bits);
  // Barriers of many host devices are slow, and the same memory joins any two of them.
  const bool may_be_alike = options.quick && host && devices.size() > 2;
  bool all_alike = may_be_alike;

  const auto tell = [&](std::string_view what) {
    if (options.progress) options.progress(what);
  };
  for (std::size_t path = 0; path < paths.size(); ++path) {
    tell(paths[path]);
    const double left = kQuickSeconds - Seconds(start);
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
      all_alike = all_alike && alike;
      std::vector<Pattern> patterns = PatternsBetween(static_cast<PartId>(devices.size()), joined, alike);
      if (patterns.empty()) continue;
      const std::unique_ptr<Transport> transport = MakeTransport(paths[path], devices, capacities, transport_options);
      PathMeasurement measurement(devices, states, *transport, std::move(patterns), sizes, options.quick, alike, seconds);
      measurement.Run();
      measurement.Fit(result.model, path);
    } catch (const Error& error) {
      result.notes.push_back(fmt::format("{} is not measured: {}", paths[path], error.what()));
      Log().warn("{}", result.notes.back());
    }
  }
  tell("memory, flags and launches");
  Prober(devices, states, options, result.probes).ProbeAll(all_alike);
  result.model.set_measured(true);
  result.seconds = Seconds(start);
  return result;
} catch (const std::bad_alloc&) {
  ThrowOutOfHostMemory("measuring communication paths");
}

}  // namespace chatty
