#include "chatty/comm/calibration/path_measurement.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>

#include "chatty/comm/calibration/probes.h"

namespace chatty::calibration {
namespace {

constexpr std::size_t kSmall = 64 << 10;
constexpr std::size_t kManyDevices = 8;     ///< of the host; more are measured once
constexpr std::size_t kMinSwept = 4 << 10;  ///< shorter buffers are lists
/// @{
/// Samples at two sizes or more determine the cost of bytes. The cost of entries or places needs as many again.
constexpr std::size_t kFewestSamples = 2, kFewestOfTwo = 4;
/// @}

}  // namespace

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

namespace {

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

}  // namespace

void MeasurePath(std::span<Device* const> devices, const States& states, Transport& transport, std::vector<Pattern> patterns,
                 std::span<const std::size_t> sizes, bool quick, bool alike, double seconds, CostModel& model,
                 std::size_t path) {
  PathMeasurement measurement(devices, states, transport, std::move(patterns), sizes, quick, alike, seconds);
  measurement.Run();
  measurement.Fit(model, path);
}
}  // namespace chatty::calibration
