#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <exception>
#include <string_view>
#include <thread>

#include "chatty/comm/calibration/measurement.h"
#include "chatty/comm/calibration/probes.h"

namespace chatty::calibration {
namespace {

constexpr std::size_t kSmall = 64 << 10;
constexpr std::size_t kManyDevices = 8;      ///< of the host; more are measured once
constexpr std::size_t kMinBitmap = 4 << 10;  ///< shorter buffers are sparse

/// An encoding to measure. `every`: one place in so many of a bitmap is set; 2: so full that bytes count; 32: so empty that
/// places do.
struct Measured {
  Encoding encoding;
  unsigned every = 1;
};
constexpr Measured kMeasured[] = {{Encoding::kDense}, {Encoding::kSparse}, {Encoding::kBitmap, 2}, {Encoding::kBitmap, 32}};

}  // namespace

std::vector<Pattern> PatternsBetween(PartId parts, const std::function<bool(PartId, PartId)>& joined, bool alike) {
  const auto reaches = [&](PartId from, PartId to) {
    if (from != to) return joined(from, to);
    for (PartId other = 0; other < parts; ++other) {
      if (other != from && !joined(from, other)) return false;
    }
    return true;
  };
  std::vector<Pattern> patterns;
  Pattern pairs{{}, MeasuredLoad::kAllToAll}, broadcasts{{}, MeasuredLoad::kAllToAll};
  for (PartId shift = 0; shift < parts; ++shift) {
    for (PartId from = 0; from < parts; ++from) {
      const PartId to = (from + shift) % parts;
      if (!reaches(from, to)) continue;
      (shift == 0 ? broadcasts : pairs).buffers.emplace_back(from, to);
      if (!alike || (from == 0 && shift < 2)) patterns.push_back({{{from, to}}, MeasuredLoad::kAlone});
    }
  }
  if (!pairs.buffers.empty()) patterns.push_back(std::move(pairs));
  if (broadcasts.buffers.size() == parts) patterns.push_back(std::move(broadcasts));
  return patterns;
}

namespace {

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
        samples_(patterns_.size()) {
    for (std::size_t i = 0; i < patterns_.size(); ++i) {
      for (auto& of_encoding : samples_[i]) of_encoding.resize(patterns_[i].buffers.size());
    }
  }

  void Run() {
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
  }

  /// Sets the costs that the samples give in the model.
  void Fit(CostModel& model, std::size_t path) const {
    for (std::size_t i = 0; i < patterns_.size(); ++i) {
      const Pattern& pattern = patterns_[i];
      for (std::size_t b = 0; b < pattern.buffers.size(); ++b) {
        for (const auto& [encoding, cost] : CostsOf(i, b)) {
          const auto [from, to] = pattern.buffers[b];
          const bool stands_for_all = alike_ && pattern.load == MeasuredLoad::kAlone;
          if (!stands_for_all) model.set_cost(path, from, to, encoding, pattern.load, cost);
          for (std::size_t f = 0; f < devices_.size() && stands_for_all; ++f) {
            for (std::size_t t = 0; t < devices_.size(); ++t) {
              if ((f == t) == (from == to)) model.set_cost(path, f, t, encoding, pattern.load, cost);
            }
          }
        }
      }
    }
  }

 private:
  /// The costs of a pattern's buffer by encoding. A sparse buffer's bytes are in proportion to its entries, so blocks of
  /// memory tell them apart. Bitmaps are long, so short blocks tell what a bitmap without bytes takes.
  std::vector<std::pair<Encoding, Cost>> CostsOf(std::size_t pattern, std::size_t buffer) const {
    constexpr std::size_t kFewestBitmaps = 4;  // two sizes, each at two fills
    const auto of = [&](Encoding encoding) { return samples_[pattern][static_cast<std::size_t>(encoding)][buffer]; };
    const std::vector<CostSample> dense = of(Encoding::kDense);
    std::vector<CostSample> sparse = of(Encoding::kSparse), bitmap = of(Encoding::kBitmap);
    const bool bitmaps = bitmap.size() >= kFewestBitmaps;
    for (const CostSample& block : dense) {
      sparse.push_back(block);
      if (block.bytes <= kMinBitmap) bitmap.push_back(block);
    }
    std::vector<std::pair<Encoding, Cost>> costs{{Encoding::kDense, FitCost(dense)}, {Encoding::kSparse, FitCost(sparse)}};
    if (bitmaps) costs.emplace_back(Encoding::kBitmap, FitCost(bitmap));
    return costs;
  }
  void Await(std::string_view what) { barrier_.Arrive({&abort_, kPatience}, what); }

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
      Await("the others");
      if (stop_) return;
      for (std::size_t i = 0; i < patterns_.size(); ++i) {
        for (const Measured& kind : kMeasured) {
          const probes::ProbeBuffer buffer = probes::ProbeBuffer::Of(kind.encoding, sizes_[size], kind.every);
          if (buffer.count > std::size_t{1} << states_[me].bits) continue;
          if (kind.encoding == Encoding::kBitmap && (sizes_[size] < kMinBitmap || buffer.count == 0)) continue;
          MeasurePattern(me, i, buffer, epoch);
        }
      }
      if (me == 0) size_before_ = std::exchange(last_size_, Seconds(size_start_));
    }
  }

  void MeasurePattern(PartId me, std::size_t index, const probes::ProbeBuffer& buffer, std::uint64_t& epoch) {
    const std::size_t bytes = buffer.bytes();
    const Pattern& pattern = patterns_[index];
    const int few = !alike_ ? 5 : devices_.size() > kManyDevices ? 1 : 3;  // barriers of many threads are slow
    const int repetitions = quick_ ? (bytes <= kSmall ? few : std::min(few, 3)) : bytes <= kSmall ? 21 : 7;
    std::vector<std::vector<CostSample>>& samples = samples_[index][static_cast<std::size_t>(buffer.encoding)];
    std::vector<std::vector<double>> times(samples.size());
    // The first two are not counted: they page-lock the buffers of both parities.
    for (int repetition = -2; repetition < repetitions; ++repetition) {
      Exchange(me, pattern, buffer, epoch++);
      Await("the others");
      if (me != 0 || repetition < 0) continue;
      for (std::size_t b = 0; b < pattern.buffers.size(); ++b) {
        const auto [from, to] = pattern.buffers[b];
        Clock::time_point last = from == to ? begins_[from] : ends_[to];
        for (PartId at = 0; at < devices_.size() && from == to; ++at) {
          if (at != from) last = std::max(last, ends_[at]);
        }
        times[b].push_back(Us(last - begins_[from]));
      }
    }
    if (me != 0) return;
    const auto count = static_cast<double>(buffer.encoding == Encoding::kDense ? 0 : buffer.count);
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
    std::vector<PartId> targets, sources;  // of pairs
    std::vector<std::size_t> incoming(devices_.size(), 0), broadcast(devices_.size(), 0);
    for (PartId i = 1; i < devices_.size(); ++i) {
      const auto after = static_cast<PartId>((me + i) % devices_.size());
      const auto before = static_cast<PartId>((me + devices_.size() - i) % devices_.size());
      if (sends(me, after)) targets.push_back(after);
      if (sends(before, me)) sources.push_back(before);
    }
    for (const PartId from : sources) incoming[from] = bytes;
    for (PartId root = 0; root < devices_.size(); ++root) broadcast[root] = sends(root, root) ? bytes : 0;
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
  std::vector<std::array<std::vector<std::vector<CostSample>>, kEncodings>> samples_;  // [pattern][encoding][buffer]
  Clock::time_point size_start_;
  double last_size_ = 0, size_before_ = 0;  // seconds
  bool stop_ = false;
};

}  // namespace

void MeasurePath(std::span<Device* const> devices, const States& states, Transport& transport, std::vector<Pattern> patterns,
                 std::span<const std::size_t> sizes, bool quick, bool alike, double seconds, CostModel& model,
                 std::size_t path) {
  PathMeasurement measurement(devices, states, transport, std::move(patterns), sizes, quick, alike, seconds);
  measurement.Run();
  measurement.Fit(model, path);
}
}  // namespace chatty::calibration
