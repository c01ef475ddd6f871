// Calibrate: a thread for each device sends buffers through the transport of each path, between one pair at a time and
// between all at once. Three blocks of memory give a pair's line under a load. A sparse buffer and two bitmaps give the
// additional time of entries, of places, and of values behind bits.
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

constexpr std::size_t kMiddle = 1 << 20;           ///< of three blocks, unless the longest one is shorter than 16 of it
constexpr std::size_t kShort = 64 << 10;           ///< buffers up to this size are measured more often
constexpr int kWarmUps = 2;                        ///< repetitions that page-lock the buffers of both slots
constexpr std::size_t kMaxHostValues = 128 << 20;  ///< of all host devices together
/// How long a device waits for the others.
constexpr std::chrono::milliseconds kTimeout{60000};

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

/// A buffer: from and to; a device and itself: its broadcast to all others.
using Pair = std::pair<PartId, PartId>;
/// Buffers that are under way at once.
using Pattern = std::vector<Pair>;

/// Sends buffers of a shape by a pattern, again and again.
class PatternMeasurement {
 public:
  PatternMeasurement(std::span<Device* const> devices, std::span<const probes::State> states, Transport& transport)
      : devices_(devices),
        states_(states),
        transport_(transport),
        barrier_(static_cast<int>(devices.size())),
        begins_(devices.size()),
        ends_(devices.size()) {}

  /// The median time in microseconds of each of the pattern's buffers.
  std::vector<double> Run(const Pattern& pattern, const ProbeBuffer& shape, int repetitions) {
    std::vector<std::vector<double>> times(pattern.size());
    const auto drive = [&](PartId me) {
      devices_[me]->MakeCurrent();
      for (int repetition = 0; repetition < kWarmUps + repetitions; ++repetition) {
        Exchange(me, pattern, shape, epoch_ + static_cast<std::uint64_t>(repetition));
        Await("the others");
        for (std::size_t b = 0; b < times.size() && me == 0 && repetition >= kWarmUps; ++b) {
          times[b].push_back(TimeOf(pattern[b]));
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
  void Await(std::string_view what) { barrier_.Arrive({&abort_, kTimeout}, what); }

  /// From the begin of packing until the receiver, or the last receiver of a broadcast, has unpacked.
  double TimeOf(const Pair& buffer) const {
    const auto [from, to] = buffer;
    Clock::time_point last = begins_[from];
    for (PartId at = 0; at < devices_.size(); ++at) {
      if (from == to ? at != from : at == to) last = std::max(last, ends_[at]);
    }
    return std::chrono::duration<double, std::micro>(last - begins_[from]).count();
  }

  /// One epoch as engines run it: pack and post, barrier, receive and unpack. All calls of the transport are here.
  void Exchange(PartId me, const Pattern& pattern, const ProbeBuffer& shape, std::uint64_t epoch) {
    Device& device = *devices_[me];
    const std::size_t bytes = shape.bytes();
    std::vector<std::size_t> incoming(devices_.size(), 0), broadcast(devices_.size(), 0);
    bool in_place = true;
    for (const auto& [from, to] : pattern) {
      if (from == to) broadcast[from] = bytes;
      if (from != to && to == me) incoming[from] = bytes;
      if (from == me) in_place = in_place && transport_.IsZeroCopyReceive(from, to);
    }
    device.stream().Synchronize();
    Await("the others");
    begins_[me] = Clock::now();
    for (const auto& [from, to] : pattern) {
      if (from != me) continue;
      std::byte* const outbox = from == to ? transport_.BroadcastOutbox(me, epoch) : transport_.Outbox(me, to, epoch);
      probes::Run(device, {.state = states_[me], .shape = shape, .packed = outbox});
    }
    // Engines read a buffer's length before they start its copy.
    if (!in_place) device.stream().Synchronize({&abort_, kTimeout});
    for (const auto& [from, to] : pattern) {
      if (from == me && to == me) transport_.Broadcast(me, bytes, epoch);
      if (from == me && to != me) transport_.Post(me, to, bytes, epoch);
    }
    Await("the others' counts");
    transport_.BeginCollective(me, incoming, broadcast, epoch);
    for (const auto& [from, to] : pattern) {
      if (from == me || (to != me && to != from)) continue;
      const std::byte* const received =
          from == to ? transport_.ReceiveBroadcast(me, from, bytes, epoch) : transport_.Receive(me, from, bytes, epoch);
      probes::Run(device, {.state = states_[me], .shape = shape, .received = received});
    }
    device.stream().Synchronize({&abort_, kTimeout});
    ends_[me] = Clock::now();
  }

  std::span<Device* const> devices_;
  std::span<const probes::State> states_;
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
  const std::uint64_t available = AvailableHostMemory();
  for (;; longest /= 2) {
    capacities.assign(devices.size(), std::vector<std::size_t>(devices.size(), longest));
    for (std::size_t d = 0; d < devices.size(); ++d) capacities[d][d] = 0;
    options.broadcast.assign(devices.size(), longest);
    const TransportMemory buffers = MeasureTransport(path, devices[0]->kind(), capacities, options);
    // What they take of the host's memory and of each GPU's, and what is free; 0: not known.
    std::vector<std::pair<std::uint64_t, std::uint64_t>> memories{{buffers.host, available / 4}};
    for (std::size_t d = 0; d < devices.size(); ++d) {
      if (devices[d]->kind() == DeviceKind::kHost) {
        memories[0].first += buffers.devices[d];
      } else {
        const auto shares = [&](const Device* other) { return other->index() == devices[d]->index(); };
        const auto sharers = static_cast<std::uint64_t>(std::count_if(devices.begin(), devices.end(), shares));
        memories.emplace_back(buffers.devices[d] * sharers, devices[d]->free_memory() / 2);
      }
    }
    const auto over = std::find_if(memories.begin(), memories.end(),
                                   [](const auto& memory) { return memory.second > 0 && memory.first > memory.second; });
    if (over == memories.end()) return longest;
    if (longest <= kShort) {
      Throw<OutOfMemoryError>("buffers of {} bytes between {} devices need {} MiB, and {} may be taken", longest,
                              devices.size(), over->first >> 20, over->second >> 20);
    }
  }
}

/// Measures one path and sets its costs.
void MeasurePath(CostModel& model, std::size_t path, std::span<Device* const> devices, std::span<const probes::State> states,
                 const Effort& effort, const LinkMask& links) {
  const std::string& name = model.paths()[path];
  // Without a link, copies to peers and stores into their memory take the way of another path.
  const bool needs_link = name == "p2p-copy" || name == "p2p-direct";
  const auto joined = [&](PartId from, PartId to) {
    return !needs_link || (links.Allows(from, to) && devices[to]->AllowAccessBy(*devices[from]) &&
                           devices[from]->AllowAccessBy(*devices[to]));
  };
  // All pairs at once, and all broadcasts. Each device begins with the one after it, as in engines.
  const auto parts = static_cast<PartId>(devices.size());
  Pattern pairs, broadcasts;
  std::vector<PartId> others(parts, 0);  // that a device is joined with
  for (PartId distance = 1; distance < parts; ++distance) {
    for (PartId from = 0; from < parts; ++from) {
      const PartId to = (from + distance) % parts;
      if (!joined(from, to)) continue;
      pairs.emplace_back(from, to);
      if (++others[from] == parts - 1) broadcasts.emplace_back(from, from);
    }
  }
  if (pairs.empty()) return;

  TransportOptions options;
  options.links = links;
  options.timeout = kTimeout;
  PairBytesTable capacities;
  // All pairs together have at most twice as much as those of two devices.
  const std::size_t most = effort.longest * 4 / (devices.size() * devices.size());
  const std::size_t longest = Longest(name, devices, std::max(most, kShort), options, capacities);
  const std::unique_ptr<Transport> transport = MakeTransport(name, devices, capacities, options);
  PatternMeasurement measurement(devices, states, *transport);
  const std::pair<CostSample CostSamples::*, ProbeBuffer> shapes[] = {
      {&CostSamples::shortest, ProbeBuffer::Dense(0)},
      {&CostSamples::middle, ProbeBuffer::Dense(std::min(kMiddle, longest / 16))},
      {&CostSamples::longest, ProbeBuffer::Dense(longest)},
      {&CostSamples::sparse, ProbeBuffer::Sparse(longest, effort.bits)},
      {&CostSamples::empty, ProbeBuffer::Bitmap(longest / 4, 5, effort.bits)},
      {&CostSamples::full, ProbeBuffer::Bitmap(longest, 1, effort.bits)}};
  // Measures a pattern and sets the costs of its buffers, or those of `all` if its only one stands for them.
  const auto measure = [&](const Pattern& pattern, MeasuredLoad load, const Pattern& all) {
    std::vector<CostSamples> samples(pattern.size());
    for (const auto& [sample, shape] : shapes) {
      const std::vector<double> us = measurement.Run(pattern, shape, shape.bytes() <= kShort ? 21 : effort.repetitions);
      for (std::size_t b = 0; b < us.size(); ++b) {
        samples[b].*sample = {static_cast<double>(shape.bytes()), static_cast<double>(shape.entries()), us[b]};
      }
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      model.set_cost(path, all[i].first, all[i].second, load, FitCost(samples[pattern.size() == 1 ? 0 : i]));
    }
  };
  for (const Pattern& all : {pairs, broadcasts}) {
    if (all.empty()) continue;
    measure(all, MeasuredLoad::kAllToAll, all);
    // Each buffer alone. Of host devices, which share one memory, the first stands for all.
    if (devices[0]->kind() == DeviceKind::kHost) {
      measure({all.front()}, MeasuredLoad::kAlone, all);
    } else {
      for (const Pair& buffer : all) measure({buffer}, MeasuredLoad::kAlone, {buffer});
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
  while (devices[0]->kind() == DeviceKind::kHost && parts << effort.bits > kMaxHostValues) --effort.bits;
  std::vector<Buffer<std::uint32_t>> memory;
  std::vector<probes::State> states;
  for (Device* const device : devices) {
    device->MakeCurrent();
    const auto words = [&](std::size_t count) { return memory.emplace_back(*device, count).data(); };
    const std::size_t size = std::size_t{1} << effort.bits;
    states.push_back({words(size), words(size), words(size / 32), effort.bits});
    probes::Run(*device, {.state = states.back()});
    device->stream().Synchronize();
  }
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
