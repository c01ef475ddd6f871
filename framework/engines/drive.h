/// \file
/// Common code around the engines' loops: begins the record, starts a thread per device, gathers reports.
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "chatty/comm/selector.h"
#include "chatty/core/affinity.h"
#include "chatty/framework/engines/device_threads.h"
#include "chatty/framework/engines/engine.h"
#include "chatty/framework/options.h"
#include "chatty/framework/state.h"

namespace chatty {

/// The shape that a selector uses for a buffer between devices of a kind. A list counts its entries; other encodings count
/// all `size` places, because the receiver scans them. `messages`: the buffer has messages, not shared values. On host
/// devices, bits cost the same whatever the payload.
inline BufferShape BufferShapeOf(DeviceKind kind, Encoding form, std::size_t bytes, std::size_t count, std::size_t size,
                                 std::size_t payload, bool messages) {
  const bool list = form == Encoding::kSparse || form == Encoding::kAtomics;
  BufferContent content = list ? BufferContent::kList : BufferContent::kValues;
  if (kind == DeviceKind::kCuda) {
    if (payload == 0) {
      content = list ? BufferContent::kMarks : BufferContent::kBits;
    } else if (!list && messages) {
      content = BufferContent::kMessages;
    }
  }
  return {bytes, count, list ? 0 : size, content};
}

/// Drives all participants to their ends. On each device's thread, make(rank, account, track) returns an object. Its Run()
/// does the device's share; its TakeReport() returns the report, also after Run threw. An exception goes to `shared.Fail`,
/// which must end the other devices, and `paths` abort, which ends waits inside a path. Begins `record`, fills in its time
/// and returns the reports in order.
template <class Shared, class Make>
auto DriveDevices(std::string_view execution, std::span<const DeviceContext> participants, Selector* paths,
                  const RunOptions& options, Shared& shared, RunRecord* record, Make&& make) {
  using Report = decltype(make(PartId{0}, std::declval<DeviceStatistics&>(), nullptr).TakeReport());
  const int devices = static_cast<int>(participants.size());
  *record = {};
  RunStatistics& statistics = record->statistics;
  statistics.execution = execution;
  statistics.converged = false;
  statistics.ended = Ended::kFailed;
  statistics.transport = paths == nullptr ? "none" : paths->name();
  statistics.devices.assign(participants.size(), {});
  std::vector<Device*> owners;
  owners.reserve(participants.size());
  for (int d = 0; d < devices; ++d) {
    owners.push_back(participants[d].device);
    statistics.devices[d].device = participants[d].device->label();
    statistics.devices[d].vertices = participants[d].graph->ref().owned;
  }
  statistics.pairs.reserve(participants.size() * participants.size());  // so that a failure has room for its figures
  std::vector<Report> reports(participants.size());
  const TracedDevices traced(options.trace, owners, options.timeout);
  const Clock::time_point start = Clock::now();
  RunOnDevices(devices, [&](int d) {
    TraceTrack* const track = traced.track(d);
    const auto fail = [&] {
      if (track != nullptr) track->AddInstant(spans::kFailed, Clock::now());
      shared.Fail(std::current_exception());
      if (paths != nullptr) paths->Abort();  // ends waits on devices
    };
    try {
      const BoundTo near_device(participants[d].device->placement().cpus);
      participants[d].device->MakeCurrent();
      const RunSpan span(track, start, devices == 1, statistics.devices[d]);
      auto run = make(static_cast<PartId>(d), statistics.devices[d], track);
      try {
        run.Run();
      } catch (...) {
        fail();
      }
      reports[d] = run.TakeReport();
    } catch (...) {
      fail();
    }
  });
  statistics.time_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  for (Report& report : reports) {
    statistics.buffers.insert(statistics.buffers.end(), report.buffers.begin(), report.buffers.end());
  }
  for (PartId from = 0; from < reports.size(); ++from) {
    for (PartId to = 0; to < reports[from].pairs.size(); ++to) {
      PairStatistics& pair = reports[from].pairs[to];
      pair.from = from;
      pair.to = to;
      if (from != to && (pair.messages_before > 0 || pair.bytes > 0)) statistics.pairs.push_back(pair);
    }
  }
  return reports;
}

}  // namespace chatty
