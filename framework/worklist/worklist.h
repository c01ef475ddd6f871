/// \file
/// Groute's distributed worklist with soft priority (Ben-Nun et al., PPoPP'17), for programs of their own kind: a user gives
/// items, a function that processes one, and a function for each way of an item between devices. Vertex programs need none
/// of this: `--execution async` on several devices is a worklist of vertices (framework/fused/).
///
/// An item goes through a ring of its receiver (comm/symmetric/ring.h) as soon as it is sent, and the devices agree on
/// priorities and on the end as framework/fused/team.h says. There are workers for host devices; those of GPUs are missing.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <numeric>
#include <span>
#include <stop_token>
#include <vector>

#include "chatty/core/affinity.h"
#include "chatty/core/device.h"
#include "chatty/core/error.h"
#include "chatty/core/sync.h"
#include "chatty/core/types.h"
#include "chatty/framework/engines/device_threads.h"
#include "chatty/framework/fused/team.h"
#include "chatty/framework/worklist/host/run.h"
#include "chatty/framework/worklist/program.h"

namespace chatty {

/// How a worklist runs.
struct WorklistOptions {
  /// Items whose priorities differ by less than this are done together, in any order: the delta of delta stepping. Infinite:
  /// all items, so priorities have no effect.
  double width = kInfinity<double>;
  /// Longest wait of a device for the others to end a step; 0: no limit.
  std::chrono::milliseconds timeout{0};
  /// A request ends the run after the current step.
  std::stop_token stop = {};
  /// Items of each worker's ring and about as many entries of the rings between devices, at least 64. 0: the defaults.
  std::uint32_t list_items = 0;
};

/// What a worklist did.
struct WorklistStatistics {
  double time_ms = 0;           ///< from the seeds to the end
  std::uint64_t processed = 0;  ///< items, on all devices
  std::uint64_t sent = 0;       ///< messages between devices
  std::uint32_t steps = 0;      ///< limits of priorities
  bool stopped = false;         ///< by WorklistOptions::stop, with items left
};

/// Runs a program on a worklist of these devices, which begins with seeds[d] on device d, until there are no items. Device d
/// has the program programs[d] and the threads of its team. Returns when all have ended. Throws UsageError for unequal
/// numbers of devices, programs and seeds, or a width that is not above 0; CapabilityError for GPUs; TimeoutError; what a
/// function of the program throws, after all devices have ended; and the errors of SymmetricHeap.
template <WorklistProgram P>
WorklistStatistics RunWorklist(std::span<Device* const> devices, std::span<const P> programs,
                               std::span<const std::vector<typename P::Item>> seeds, const WorklistOptions& options = {}) {
  if (devices.empty() || programs.size() != devices.size() || seeds.size() != devices.size()) {
    Throw<UsageError>("a worklist of {} devices needs as many programs and lists of seeds, not {} and {}", devices.size(),
                      programs.size(), seeds.size());
  }
  if (!(options.width > 0)) Throw<UsageError>("the width of priorities is {}; it must be above 0", options.width);
  for (const Device* const device : devices) {
    if (device->kind() == DeviceKind::kHost) continue;
    Throw<CapabilityError>("worklists run on host devices, and {} is a GPU", device->label());
  }
  constexpr std::uint32_t kRoom = 1u << 13;
  fused::Team team(devices, options.list_items);
  const worklist::host::RunTerms terms{
      options.width, options.list_items == 0 ? kRoom : std::clamp<std::uint32_t>(options.list_items, 2, kRoom), options.stop,
      options.timeout};
  std::vector<std::unique_ptr<worklist::host::DeviceShared<P>>> shared;
  for (Device* const device : devices) {
    shared.push_back(std::make_unique<worklist::host::DeviceShared<P>>(device->team()->size()));
  }
  team.Begin();
  WorklistStatistics statistics;
  std::vector<std::exception_ptr> failures(devices.size());
  const Clock::time_point start = Clock::now();
  RunOnDevices(static_cast<int>(devices.size()), [&](int index) {
    const auto d = static_cast<std::size_t>(index);
    try {
      const BoundTo near_device(devices[d]->placement().cpus);
      devices[d]->MakeCurrent();
      const fused::TeamRef ref = team.ref(d);
      devices[d]->team()->Run(devices[d]->team()->size(), [&](TeamMember& member) {
        const fused::StepOrder last = worklist::host::RunMember<P>(member, programs[d], ref, seeds[d], terms, *shared[d]);
        if (d == 0 && member.rank() == 0) statistics.stopped = last.end == fused::End::kStopped;
      });
    } catch (...) {
      failures[d] = std::current_exception();
      team.Abort();
    }
  });
  statistics.time_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  std::exception_ptr first;
  for (const std::exception_ptr& failure : failures) {
    if (failure == nullptr) continue;
    try {
      std::rethrow_exception(failure);
    } catch (const AbortedError&) {  // because another device failed
      if (first == nullptr) first = failure;
    } catch (...) {
      throw;
    }
  }
  if (first != nullptr) std::rethrow_exception(first);
  statistics.steps = static_cast<std::uint32_t>(shared[0]->team.step.load() - 2);  // neither the seeds nor the end
  for (std::size_t d = 0; d < devices.size(); ++d) {
    statistics.processed += std::accumulate(shared[d]->done.begin(), shared[d]->done.end(), std::uint64_t{0});
    const std::vector<std::uint64_t> sent = team.Sent(d);
    statistics.sent += std::accumulate(sent.begin(), sent.end(), std::uint64_t{0});
  }
  return statistics;
}

}  // namespace chatty
