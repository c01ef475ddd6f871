/// \file
/// The measurement of a path, its times, and the values that buffers are packed from.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "chatty/comm/calibration.h"
#include "chatty/comm/calibration/probes.h"
#include "chatty/comm/transport.h"
#include "chatty/core/device.h"
#include "chatty/core/sync.h"

namespace chatty::calibration {

/// How long a device waits for the others.
inline constexpr std::chrono::milliseconds kPatience{60000};

inline double Seconds(Clock::time_point since) { return std::chrono::duration<double>(Clock::now() - since).count(); }
inline double Us(Clock::duration span) { return std::chrono::duration<double, std::micro>(span).count(); }

inline double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

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

inline constexpr std::size_t kFewestSizes = 3;  ///< measured however long they take: a fit needs them

/// Which devices send to which at once.
struct Pattern {
  std::vector<std::pair<PartId, PartId>> buffers;  ///< from and to; a device and itself: its broadcast to all others
  MeasuredLoad load = MeasuredLoad::kAlone;
};

/// The patterns of a path that joins these pairs. `alike`: one pair alone stands for all, and one broadcast.
std::vector<Pattern> PatternsBetween(PartId parts, const std::function<bool(PartId, PartId)>& joined, bool alike);

/// Measures a path and sets its costs in the model: buffers of all encodings and sizes go through its transport, between
/// pairs of devices and under load. After `seconds`, no larger size begins.
void MeasurePath(std::span<Device* const> devices, const States& states, Transport& transport, std::vector<Pattern> patterns,
                 std::span<const std::size_t> sizes, bool quick, bool alike, double seconds, CostModel& model,
                 std::size_t path);

}  // namespace chatty::calibration
