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
#include "chatty/framework/state.h"

namespace chatty {

/// Drives all participants to their ends. On each device's thread, make(device_run) returns an object. Its Run() does the
/// device's share; its TakeReport() returns a DeviceReport, also after Run threw. An exception goes to `failing.Fail`, which
/// must end the other devices, and `run.paths` abort, which ends waits inside a path. Begins `record`, fills in its time and
/// returns the reports in order.
template <class Failing, class Make>
auto DriveDevices(std::string_view execution, const EngineRun& run, Failing& failing, RunRecord* record, Make&& make) {
  using Report = decltype(make(std::declval<const DeviceRun&>()).TakeReport());
  const std::span<const DeviceContext> participants = run.participants;
  TransportSelector* const paths = run.paths;
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
  const TracedDevices traced(run.options.trace, owners, run.options.timeout);
  const Clock::time_point start = Clock::now();
  RunOnDevices(devices, [&](int d) {
    TraceTrack* const track = traced.track(d);
    const auto fail = [&] {
      if (track != nullptr) track->AddInstant(spans::kFailed, Clock::now());
      failing.Fail(std::current_exception());
      if (paths != nullptr) paths->Abort();  // ends waits on devices
    };
    try {
      const BoundTo near_device(participants[d].device->placement().cpus);
      participants[d].device->MakeCurrent();
      const RunSpan span(track, start, devices == 1, statistics.devices[d]);
      const DeviceRun device{.program = run.program,
                             .me = participants[d],
                             .rank = static_cast<PartId>(d),
                             .parts = static_cast<PartId>(devices),
                             .peers = run.peers,
                             .control = run.control[d],
                             .paths = paths,
                             .options = run.options,
                             .account = statistics.devices[d],
                             .track = track};
      auto share = make(device);
      try {
        share.Run();
      } catch (...) {
        fail();
      }
      reports[d] = share.TakeReport();
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
