/// \file
/// Groute's distributed worklist with soft priority (Ben-Nun et al., PPoPP'17), for programs of their own kind. A user gives
/// items, a function that processes one, and a function for each way of an item between devices. Vertex programs need none
/// of this: `--execution async` on several devices is a worklist of vertices (framework/fused/). For users who change parts
/// of that, worklist/vertex_program.h derives these functions from a vertex program.
///
/// An item goes through a ring of its receiver (comm/symmetric/ring.h), and the devices agree on priorities and on the end
/// as framework/fused/team.h says. Workers are threads of host devices (worklist/host/), or warps of GPUs (worklist/cuda/).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <numeric>
#include <span>
#include <stop_token>
#include <vector>

#include "chatty/core/affinity.h"
#include "chatty/core/device.h"
#include "chatty/core/error.h"
#include "chatty/core/parallel.h"
#include "chatty/core/sync.h"
#include "chatty/core/types.h"
#include "chatty/framework/backends.h"
#include "chatty/framework/fused/team.h"
#include "chatty/framework/worklist/host/run.h"
#include "chatty/framework/worklist/program.h"
#if CHATTY_CUDA_COMPILER
#include "chatty/framework/worklist/cuda/run.cuh"
#endif

namespace chatty {

/// How a worklist runs.
struct WorklistOptions {
  /// Items whose priorities differ by less than this are done together, in any order: the delta of delta stepping. Infinite:
  /// all items, so priorities have no effect.
  double width = kInfinity<double>;
  /// Longest wait of a host device for a message or for the others to end a step. On GPUs, the longest step. 0: no limit.
  std::chrono::milliseconds timeout{0};
  /// A request ends the run after the current step. A step has an end even where items make items for ever: see
  /// fused::kMostItems. A long run has several steps, also with an infinite `width`.
  std::stop_token stop = {};
  /// Items of each worker's local queue and about as many entries of the rings between devices, at least 64. 0: the
  /// defaults.
  std::uint32_t list_items = 0;
  /// On GPUs: items for which each list of waiting items has room. A list that is full ends the run with an
  /// OutOfMemoryError. 0: as many as a quarter of the free memory holds, at most 2^24. Host devices need no bound.
  std::uint32_t waiting_items = 0;
};

/// What a worklist did.
struct WorklistStatistics {
  double time_ms = 0;           ///< from the seeds to the end
  std::uint64_t processed = 0;  ///< items, on all devices
  std::uint64_t sent = 0;       ///< messages between devices
  std::uint32_t steps = 0;      ///< limits of priorities, and steps that ended before all items below theirs were done
  bool stopped = false;         ///< by WorklistOptions::stop, with items left
};

}  // namespace chatty

namespace chatty::worklist {

/// Runs all devices, each by a Run on its own thread: see RunWorklist. RunLifecycle does not serve here: it runs jobs of a
/// session, on the parts of a graph, and fills in RunStatistics. A worklist has no graph and statistics of its own.
template <class Run, class P>
WorklistStatistics RunDevices(std::span<Device* const> devices, std::span<const P> programs,
                              std::span<const std::vector<typename P::Item>> seeds, const WorklistOptions& options) {
  const RunTerms terms{options.width, options.list_items, options.waiting_items, options.stop, options.timeout};
  fused::Team team(devices, options.list_items);
  std::vector<std::unique_ptr<Run>> runs;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    devices[d]->MakeCurrent();
    runs.push_back(std::make_unique<Run>(*devices[d], programs[d], seeds[d], terms, team, d));
  }
  team.Begin();
  WorklistStatistics statistics;
  std::vector<DeviceResult> results(devices.size());
  std::vector<std::exception_ptr> failures(devices.size());
  const Clock::time_point start = Clock::now();
  RunOnDevices(static_cast<int>(devices.size()), [&](int index) {
    const auto d = static_cast<std::size_t>(index);
    try {
      const BoundTo near_device(devices[d]->placement().cpus);
      devices[d]->MakeCurrent();
      results[d] = runs[d]->Run(team.ref(d));
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
  statistics.steps = results[0].steps;
  statistics.stopped = results[0].stopped;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    statistics.processed += results[d].processed;
    devices[d]->MakeCurrent();
    const std::vector<std::uint64_t> sent = team.Sent(d);
    statistics.sent += std::accumulate(sent.begin(), sent.end(), std::uint64_t{0});
  }
  devices[0]->MakeCurrent();
  return statistics;
}

}  // namespace chatty::worklist

namespace chatty {

/// Runs a program on a worklist of these devices, which begins with seeds[d] on device d, until there are no items. Device d
/// has the program programs[d]. A device is a host device with the threads of its team, or a GPU with a resident kernel. A
/// GPU has to reach the memory that the program's members point to. GPUs take programs that nvcc has compiled: `Backends` is
/// what the compiler at hand instantiates. Returns when all have ended.
///
/// Throws UsageError for unequal numbers of devices, programs and seeds, devices of two kinds, or a width that is not above
/// 0. Throws CapabilityError for GPUs where the caller was compiled by the host's compiler, or which do not address each
/// other's memory, or are shared by too many devices. Throws OutOfMemoryError where a GPU has no room for the lists, or the
/// lists none for an item, or the host no memory. Throws TimeoutError, the errors of SymmetricHeap, and after all devices
/// have ended what a function of the program throws.
template <WorklistProgram P, class Backends = CompiledBackends>
WorklistStatistics RunWorklist(std::span<Device* const> devices, std::span<const P> programs,
                               std::span<const std::vector<typename P::Item>> seeds,
                               const WorklistOptions& options = {}) try {
  if (devices.empty() || programs.size() != devices.size() || seeds.size() != devices.size()) {
    Throw<UsageError>("a worklist of {} devices needs as many programs and lists of seeds, not {} and {}", devices.size(),
                      programs.size(), seeds.size());
  }
  if (!(options.width > 0)) Throw<UsageError>("the width of priorities is {}; it must be above 0", options.width);
  for (const Device* const device : devices) {
    if (device->kind() == devices[0]->kind()) continue;
    Throw<UsageError>("a worklist takes devices of one kind, not {} and {}", devices[0]->label(), device->label());
  }
  if (devices[0]->kind() == DeviceKind::kHost) {
    if constexpr (kHasHost<Backends>) {
      return worklist::RunDevices<worklist::host::DeviceRun<P>, P>(devices, programs, seeds, options);
    }
    Throw<CapabilityError>("{}: this worklist was compiled for GPUs alone (CHATTY_NVCC_BACKENDS=CudaOnly)",
                           devices[0]->label());
  }
#if CHATTY_CUDA_COMPILER
  if constexpr (kHasCuda<Backends>) {
    return worklist::RunDevices<worklist::cuda::DeviceRun<P>, P>(devices, programs, seeds, options);
  }
#endif
  Throw<CapabilityError>(
      "{}: this worklist was compiled for host devices alone; compile the file that calls RunWorklist with nvcc",
      devices[0]->label());
} catch (const std::bad_alloc&) {
  ThrowOutOfHostMemory("running a worklist");
}

}  // namespace chatty
