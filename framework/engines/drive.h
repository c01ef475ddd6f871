/// \file
/// Common code around the engines' loops: begins the record, runs each device's share, gathers reports.
#pragma once

#include <exception>
#include <string_view>
#include <utility>
#include <vector>

#include "chatty/comm/selector.h"
#include "chatty/framework/engines/engine.h"
#include "chatty/framework/run_lifecycle.h"
#include "chatty/framework/state.h"

namespace chatty {

/// Drives all devices to their ends. On each device's thread, make(device_run) returns an object. Its Run() does the
/// device's share; its TakeReport() returns a DeviceReport, also after Run threw. An exception goes to `failing.Fail`, which
/// must end the other devices, and `run.paths` abort, which ends waits inside a path. Begins `record`, fills in its time and
/// returns the reports in order.
template <class Failing, class Make>
auto DriveDevices(std::string_view execution, const EngineRun& run, Failing& failing, RunRecord* record, Make&& make) {
  using Report = decltype(make(std::declval<const DeviceRun&>()).TakeReport());
  TransportSelector* const paths = run.paths;
  *record = {};
  RunStatistics& statistics = record->statistics;
  std::vector<Report> reports(run.devices.size());
  run.lifecycle.Run(
      execution, paths == nullptr ? "none" : paths->name(), &statistics,
      [&](int d, DeviceStatistics& account, TraceTrack* track, const auto& failed) {
        const DeviceRun device{.program = run.program,
                               .me = run.devices[d],
                               .rank = static_cast<PartId>(d),
                               .parts = static_cast<PartId>(run.devices.size()),
                               .peers = run.peers,
                               .control = run.control[d],
                               .paths = paths,
                               .team = run.team,
                               .rounds_team = run.rounds_team,
                               .wide_team = run.wide_team,
                               .plan = run.plan,
                               .options = run.options,
                               .account = account,
                               .track = track};
        auto share = make(device);
        try {
          share.Run();
        } catch (...) {
          failed();
        }
        reports[d] = share.TakeReport();
      },
      [&](const std::exception_ptr& error) {
        failing.Fail(error);
        if (paths != nullptr) paths->Abort();  // ends waits on devices
      });
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
