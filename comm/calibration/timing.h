/// \file
/// What all measurements of a calibration share: a thread for each device, times, and the values that buffers are packed
/// from.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "chatty/comm/calibration/probes.h"
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

}  // namespace chatty::calibration
