/// \file
/// What a run goes through on its devices, whether an engine does the work or an operator program: what a failed run left
/// ends first, each device has a thread, times and failures are recorded, and results are copied in the order of vertices.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chatty/core/affinity.h"
#include "chatty/core/array.h"
#include "chatty/core/device.h"
#include "chatty/core/error.h"
#include "chatty/core/parallel.h"
#include "chatty/core/sync.h"
#include "chatty/core/trace.h"
#include "chatty/framework/engines/device_threads.h"
#include "chatty/framework/statistics.h"
#include "chatty/partition/subgraph.h"

namespace chatty {

/// Copies `bytes` of results from the device's memory to the host's, behind the work on its stream, and waits. Throws
/// DeviceError, AbortedError and TimeoutError.
void CopyResults(Device& device, std::byte* to, const std::byte* from, std::size_t bytes, const WaitContext& wait);

/// The life cycle of a job's runs. The devices and their parts must outlive it.
class RunLifecycle {
 public:
  RunLifecycle() = default;
  /// For these devices, which own the parts in the same order. `trace` may be null; `timeout` as in RunOptions.
  RunLifecycle(std::span<Device* const> devices, std::span<const Subgraph> parts, Trace* trace,
               std::chrono::milliseconds timeout)
      : devices_(devices), parts_(parts), trace_(trace), timeout_(timeout) {}

  /// Calls body(d) for one device after the other, which is current, near its CPUs. For preparation.
  template <class Body>
  void ForEachDevice(Body&& body) const {
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      const BoundTo near_device(devices_[d]->placement().cpus);
      devices_[d]->MakeCurrent();
      body(d);
    }
  }

  /// If `last` is of a failed run, waits for its work on the devices, which must end before the next run's begins.
  void EndFailedWork(const RunStatistics& last) const;

  /// Begins `statistics`, as of a failed run, and calls share(d, account, track, failed) on each device's thread, near its
  /// CPUs; `track` may be null. On an exception it calls fail(exception), which must end the other devices, as does
  /// failed() within share. Fills in the time.
  template <class Share, class Fail>
  void Run(std::string_view execution, std::string_view transport, RunStatistics* statistics, Share&& share,
           Fail&& fail) const {
    Begin(execution, transport, statistics);
    const TracedDevices traced(trace_, devices_, timeout_);
    const Clock::time_point start = Clock::now();
    RunOnDevices(static_cast<int>(devices_.size()), [&](int d) {
      TraceTrack* const track = traced.track(d);
      const auto failed = [&] {
        if (track != nullptr) track->AddInstant(spans::kFailed, Clock::now());
        fail(std::current_exception());
      };
      try {
        const BoundTo near_device(devices_[d]->placement().cpus);
        devices_[d]->MakeCurrent();
        const RunSpan span(track, start, devices_.size() == 1, statistics->devices[d]);
        share(d, statistics->devices[d], track, failed);
      } catch (...) {
        failed();
      }
    });
    statistics->time_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  }

  /// As CopyScattered, to `out` in the memory of `target`, a GPU; for devices that are GPUs. The program copies nothing to
  /// the host; between GPUs without a link the driver chooses the way. write(d, to) enqueues, on device d's stream, the
  /// writing of its entries, of 4 or 8 bytes, to `to` in its memory. Where a part is no range of vertices, the first call
  /// copies its vertices' ids to the target's GPU. Later calls use them as long as the GPU is the same. Waits. Throws
  /// DeviceError, OutOfMemoryError, TimeoutError.
  void PlaceScattered(Device& target, std::byte* out, std::size_t bytes,
                      const std::function<void(std::size_t, std::byte*)>& write) const;

  /// Throws the error of a run's timeout, with what its paths did last: `where`, "" for nothing. In a handler of it only.
  [[noreturn]] static void ThrowTimeout(const TimeoutError& error, const std::string& where);

  /// Writes an entry of `bytes` for each vertex, in the order of ids: copy(d, to) writes those of device d, which is
  /// current, in its own order.
  template <class Copy>
  void CopyScattered(std::byte* out, std::size_t bytes, Copy&& copy) const try {
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      const Subgraph& part = parts_[d];
      devices_[d]->MakeCurrent();
      if (part.identity) {
        copy(d, out);
        continue;
      }
      Array<std::byte> local(part.owned * bytes);
      copy(d, local.data());
      ParallelFor(part.owned, 0, [&](std::size_t v) {
        std::memcpy(out + part.Global(static_cast<LocalId>(v)) * bytes, local.data() + v * bytes, bytes);
      });
    }
  } catch (const std::bad_alloc&) {
    ThrowOutOfHostMemory("copying out values");
  }

 private:
  void Begin(std::string_view execution, std::string_view transport, RunStatistics* statistics) const;

  /// The ids of device d's vertices, in the memory of `target`.
  const VertexId* IdsOn(Device& target, std::size_t d) const;

  std::span<Device* const> devices_;
  std::span<const Subgraph> parts_;
  mutable int ids_on_ = -1;  // the GPU that ids_ are on
  mutable std::vector<std::shared_ptr<std::byte>> ids_;
  Trace* trace_ = nullptr;
  std::chrono::milliseconds timeout_{0};
};

}  // namespace chatty
