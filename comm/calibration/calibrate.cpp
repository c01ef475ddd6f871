// Calibrate: a thread for each device sends buffers through the transport of each path, between one pair at a time and
// between all at once. Three blocks of memory give a pair's line under a load; a sparse buffer and two bitmaps give what
// entries, places and values behind bits take beyond it.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chatty/comm/calibration.h"
#include "chatty/comm/calibration/probes.h"
#include "chatty/comm/transport.h"
#include "chatty/core/host_memory.h"
#include "chatty/core/logging.h"
#include "chatty/core/parallel.h"
#include "chatty/core/sync.h"

namespace chatty {
namespace {

using probes::ProbeBuffer;

constexpr std::size_t kMiddle = 1 << 20;            ///< of three blocks, unless the longest one is shorter than 16 of it
constexpr std::size_t kShort = 64 << 10;            ///< buffers up to this size are measured more often
constexpr int kWarmUps = 2;                         ///< repetitions that page-lock the buffers of both parities
constexpr std::size_t kMostHostValues = 128 << 20;  ///< of all host devices together
/// How long a device waits for the others.
constexpr std::chrono::milliseconds kPatience{60000};

/// How much a calibration measures.
struct Effort {
  unsigned bits;        ///< 2^bits values on a device: of a graph that no cache holds, though host devices share the memory
  std::size_t longest;  ///< bytes of the longest blocks of two devices, which are at most the values'
  int repetitions;      ///< of buffers that are not short
};
Effort EffortFor(DeviceKind kind, bool quick) {
  if (kind == DeviceKind::kHost) return quick ? Effort{22, 1 << 20, 3} : Effort{24, 64 << 20, 7};
  return quick ? Effort{25, 16 << 20, 3} : Effort{26, 256 << 20, 7};
}

/// The values of each device.
class States {
 public:
  States(std::span<Device* const> devices, unsigned bits) {
    const std::size_t size = std::size_t{1} << bits;
    for (Device* device : devices) {
      device->MakeCurrent();
      const auto words = [&](std::size_t count) { return memory_.emplace_back(*device, count).data(); };
      states_.push_back({words(size), words(size), words(size / 32), bits});
      probes::Prepare(*device, states_.back());
      device->stream().Synchronize();
    }
  }
  const probes::State& operator[](std::size_t device) const { return states_[device]; }

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

/// Sends buffers of a shape by a pattern, again and again.
class PatternMeasurement {
 public:
  PatternMeasurement(std::span<Device* const> devices, const States& states, Transport& transport)
      : devices_(devices),
        states_(states),
        transport_(transport),
        barrier_(static_cast<int>(devices.size())),
        begins_(devices.size()),
        ends_(devices.size()) {}

  /// The median time in microseconds of each of the pattern's buffers.
  std::vector<double> Run(const Pattern& pattern, const ProbeBuffer& buffer, int repetitions) {
    std::vector<std::vector<double>> times(pattern.buffers.size());
    const auto drive = [&](PartId me) {
      devices_[me]->MakeCurrent();
      for (int repetition = 0; repetition < kWarmUps + repetitions; ++repetition) {
        Exchange(me, pattern, buffer, epoch_ + static_cast<std::uint64_t>(repetition));
        Await("the others");
        for (std::size_t b = 0; b < times.size() && me == 0 && repetition >= kWarmUps; ++b) {
          times[b].push_back(TimeOf(pattern.buffers[b]));
        }
      }
    };
    RunOnDevices(static_cast<int>(devices_.size()), [&](int me) {
      try {
        drive(static_cast<PartId>(me));
      } catch (...) {
        abort_.Fail(std::current_exception());
        barrier_.Poison();
        transport_.Abort();
      }
    });
    abort_.RethrowFirst();
    epoch_ += static_cast<std::uint64_t>(kWarmUps + repetitions);
    std::vector<double> medians;
    for (std::vector<double>& of_buffer : times) {
      const auto middle = of_buffer.begin() + repetitions / 2;
      std::nth_element(of_buffer.begin(), middle, of_buffer.end());
      medians.push_back(std::max(*middle, 1e-3));  // a clock may not advance
    }
    return medians;
  }

 private:
  void Await(std::string_view what) { barrier_.Arrive({&abort_, kPatience}, what); }

  /// From the begin of packing until the receiver, or the last receiver of a broadcast, has unpacked.
  double TimeOf(std::pair<PartId, PartId> buffer) const {
    const auto [from, to] = buffer;
    Clock::time_point last = begins_[from];
    for (PartId at = 0; at < devices_.size(); ++at) {
      if (from == to ? at != from : at == to) last = std::max(last, ends_[at]);
    }
    return std::chrono::duration<double, std::micro>(last - begins_[from]).count();
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
  Barrier barrier_;
  AbortToken abort_;
  std::uint64_t epoch_ = 0;  // the next one
  // One thread writes between two barriers, and others read between the next two.
  std::vector<Clock::time_point> begins_, ends_;
};

/// The size of the longest blocks, up to `longest`: the path's buffers leave half of a GPU's memory and three quarters of
/// the host's. Sets the capacities. Throws OutOfMemoryError where even short blocks do not.
std::size_t Longest(std::string_view path, std::span<Device* const> devices, std::size_t longest, TransportOptions& options,
                    PairBytesTable& capacities) {
  const bool host = devices[0]->kind() == DeviceKind::kHost;
  const std::uint64_t available = AvailableHostMemory();
  for (;; longest /= 2) {
    capacities.assign(devices.size(), std::vector<std::size_t>(devices.size(), longest));
    for (std::size_t d = 0; d < devices.size(); ++d) capacities[d][d] = 0;
    options.broadcast.assign(devices.size(), longest);
    const TransportMemory memory = MeasureTransport(path, devices[0]->kind(), capacities, options);
    // Of the host's memory, and then of each GPU's, until one has too little.
    std::uint64_t needed = memory.host, allowed = available > 0 ? available / 4 : ~std::uint64_t{0};
    for (std::size_t d = 0; d < devices.size(); ++d) {
      if (host) needed += memory.devices[d];
    }
    for (std::size_t d = 0; d < devices.size() && !host && needed <= allowed; ++d) {
      const auto sharers = static_cast<std::uint64_t>(std::count_if(
          devices.begin(), devices.end(), [&](const Device* other) { return other->index() == devices[d]->index(); }));
      if (devices[d]->free_memory() == 0) continue;  // not known
      needed = memory.devices[d];
      allowed = devices[d]->free_memory() / 2 / sharers;
    }
    if (needed <= allowed) return longest;
    if (longest <= kShort) {
      Throw<OutOfMemoryError>("buffers of {} bytes between {} devices need {} MiB, and {} may be taken", longest,
                              devices.size(), needed >> 20, allowed >> 20);
    }
  }
}

/// Measures one path and sets its costs.
void MeasurePath(CostModel& model, std::size_t path, std::span<Device* const> devices, const States& states,
                 const Effort& effort, const LinkMask& links) {
  const std::string& name = model.paths()[path];
  // Without a link, copies to peers and stores into their memory take the way of another path.
  const bool needs_link = name == "p2p-copy" || name == "p2p-direct";
  const auto joined = [&](PartId from, PartId to) {
    return !needs_link || (links.Allows(from, to) && devices[to]->AllowAccessBy(*devices[from]) &&
                           devices[from]->AllowAccessBy(*devices[to]));
  };
  // All pairs at once, and all broadcasts.
  Pattern pairs{{}, MeasuredLoad::kAllToAll}, broadcasts{{}, MeasuredLoad::kAllToAll};
  for (PartId from = 0; from < devices.size(); ++from) {
    const std::size_t before = pairs.buffers.size();
    for (PartId to = 0; to < devices.size(); ++to) {
      if (from != to && joined(from, to)) pairs.buffers.emplace_back(from, to);
    }
    if (pairs.buffers.size() - before == devices.size() - 1) broadcasts.buffers.emplace_back(from, from);
  }
  if (pairs.buffers.empty()) return;

  TransportOptions options;
  options.links = links;
  options.timeout = kPatience;
  PairBytesTable capacities;
  // All pairs together have at most twice as much as those of two devices.
  const std::size_t most = effort.longest * 4 / (devices.size() * devices.size());
  const std::size_t longest = Longest(name, devices, std::max(most, kShort), options, capacities);
  const std::unique_ptr<Transport> transport = MakeTransport(name, devices, capacities, options);
  PatternMeasurement measurement(devices, states, *transport);
  // Measures a pattern and sets the costs of its buffers, or those of `all` if its only one stands for them.
  const auto measure = [&](const Pattern& pattern, const Pattern& all) {
    const auto time = [&](const ProbeBuffer& buffer) {
      std::vector<CostSample> samples;
      for (const double us : measurement.Run(pattern, buffer, buffer.bytes() <= kShort ? 21 : effort.repetitions)) {
        samples.push_back({static_cast<double>(buffer.bytes()), static_cast<double>(buffer.entries()), us});
      }
      return samples;
    };
    const std::vector<CostSample> shortest = time(ProbeBuffer::Dense(0)),
                                  middle = time(ProbeBuffer::Dense(std::min(kMiddle, longest / 16))),
                                  block = time(ProbeBuffer::Dense(longest)),
                                  sparse = time(ProbeBuffer::Sparse(longest, effort.bits)),
                                  empty = time(ProbeBuffer::Bitmap(longest / 4, 5, effort.bits)),
                                  full = time(ProbeBuffer::Bitmap(longest, 1, effort.bits));
    for (std::size_t i = 0; i < all.buffers.size(); ++i) {
      const auto& [from, to] = all.buffers[i];
      const std::size_t b = pattern.buffers.size() == 1 ? 0 : i;
      const Cost cost = FitCost({shortest[b], middle[b], block[b], sparse[b], empty[b], full[b]});
      model.set_cost(path, from, to, pattern.load, cost);
    }
  };
  for (const Pattern& all : {pairs, broadcasts}) {
    if (all.buffers.empty()) continue;
    measure(all, all);
    // Each buffer alone. Of host devices, which share one memory, the first stands for all.
    if (devices[0]->kind() == DeviceKind::kHost) {
      measure({{all.buffers.front()}}, all);
    } else {
      for (const auto& buffer : all.buffers) measure({{buffer}}, {{buffer}});
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
  Effort effort = EffortFor(devices[0]->kind(), options.quick);
  while (devices[0]->kind() == DeviceKind::kHost && parts << effort.bits > kMostHostValues) --effort.bits;
  const States states(devices, effort.bits);
  for (std::size_t path = 0; path < paths.size(); ++path) {
    if (options.progress) options.progress(paths[path]);
    try {
      CostModel measured = result.model;  // a path that fails has no costs at all
      MeasurePath(measured, path, devices, states, effort, options.links);
      result.model = std::move(measured);
    } catch (const Error& error) {
      result.notes.push_back(fmt::format("{} is not measured: {}", paths[path], error.what()));
      Log().warn("{}", result.notes.back());
    }
  }
  result.model.set_measured(true);
  result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return result;
} catch (const std::bad_alloc&) {
  ThrowOutOfHostMemory("measuring communication paths");
}

}  // namespace chatty
