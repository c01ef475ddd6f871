#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "chatty/comm/calibration/measurement.h"
#include "chatty/comm/calibration/probes.h"

namespace chatty::calibration {
namespace {

class Prober {
 public:
  Prober(std::span<Device* const> devices, const States& states, const CalibrationOptions& options,
         std::vector<ProbeResult>& results)
      : devices_(devices), states_(states), options_(options), results_(results) {}

  void ProbeDevice(std::int32_t i) {
    Device& device = *devices_[i];
    device.MakeCurrent();
    constexpr int kLaunches = 200;
    const double many = TimeUs(device, 3, [&] {
      for (int launch = 0; launch < kLaunches; ++launch) probes::LaunchNothing(device);
    });
    Add("launch", i, ProbeResult::kNone, many / kLaunches, "us");
    launch_us_ = TimeUs(device, 21, [&] { probes::LaunchNothing(device); });
    Add("launch-sync", i, ProbeResult::kNone, launch_us_, "us");

    const std::size_t words = std::size_t{1} << states_[i].bits;
    ReadAll("local", i, i, states_[i].values, words);
    Pinned<std::uint32_t> host(device, words);
    std::fill_n(host.data(), words, 1u);  // pages that nobody has written are all one
    ReadAll("host", i, ProbeResult::kNone, host.data(), words);
  }

  void ProbePair(std::int32_t from, std::int32_t to) {
    Device &a = *devices_[from], &b = *devices_[to];
    if (!options_.links.Allows(from, to) || !b.AllowAccessBy(a) || !a.AllowAccessBy(b)) return;
    a.MakeCurrent();
    ReadAll("peer", from, to, states_[to].values, std::size_t{1} << states_[to].bits);
  }

 private:
  void Add(std::string name, std::int32_t from, std::int32_t to, double value, std::string unit) {
    if (std::isfinite(value)) results_.push_back({std::move(name), from, to, value, std::move(unit)});
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

  /// Number of random accesses, which takes some milliseconds. A GPU makes 32 times as many to its own memory as a host
  /// device or to host memory.
  std::size_t RandomAccesses(std::size_t words, bool host_memory) const {
    const bool gpu = devices_[0]->kind() == DeviceKind::kCuda;
    const unsigned bits = (gpu && !host_memory ? 23 : 18) + (options_.quick ? 0 : 2);
    return std::min(words, std::size_t{1} << bits);
  }

  /// Reads `words` words in order, and some of them at random.
  void ReadAll(const std::string& whose, std::int32_t from, std::int32_t to, const std::uint32_t* memory,
               std::size_t words) {
    Device& device = *devices_[from];
    const auto rate = [&](std::size_t count, const std::uint32_t* order) {
      const double us = TimeUs(device, options_.quick ? 3 : 7, [&] { probes::Read(device, memory, count, order); });
      return static_cast<double>(count) / std::max(us - launch_us_, us / 100) * 1e6;
    };
    Add(whose + "-read", from, to, rate(words, nullptr) * sizeof(std::uint32_t), "bytes/s");
    Add(whose + "-read-random", from, to, rate(RandomAccesses(words, to == ProbeResult::kNone), states_[from].order), "1/s");
  }

  std::span<Device* const> devices_;
  const States& states_;
  const CalibrationOptions& options_;
  std::vector<ProbeResult>& results_;
  double launch_us_ = 0;
};

}  // namespace

void ProbeAll(std::span<Device* const> devices, const States& states, const CalibrationOptions& options, bool alike,
              std::vector<ProbeResult>& results) {
  Prober prober(devices, states, options, results);
  const auto all = static_cast<std::int32_t>(devices.size()), pairs = alike ? 2 : all;
  for (std::int32_t i = 0; i < (alike ? 1 : all); ++i) prober.ProbeDevice(i);
  for (std::int32_t from = 0; from < pairs; ++from) {
    for (std::int32_t to = 0; to < pairs; ++to) {
      if (from != to) prober.ProbePair(from, to);
    }
  }
}
}  // namespace chatty::calibration
