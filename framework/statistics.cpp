#include "chatty/framework/statistics.h"

#include <algorithm>

namespace chatty {

RunStatistics& RunStatistics::operator+=(const RunStatistics& next) {
  if (transport.empty()) transport = next.transport;
  rounds += next.rounds;
  phases += next.phases;
  push_rounds += next.push_rounds;
  pull_rounds += next.pull_rounds;
  gauss_seidel_rounds += next.gauss_seidel_rounds;
  fused_steps += next.fused_steps;
  wide_rounds += next.wide_rounds;
  edges_touched += next.edges_touched;
  vertices_updated += next.vertices_updated;
  items += next.items;
  converged = converged && next.converged;
  if (ended == Ended::kConverged) ended = next.ended;
  time_ms += next.time_ms;
  const auto add = [](DeviceStatistics& mine, const DeviceStatistics& theirs) {
    mine.compute_ms += theirs.compute_ms;
    mine.communication_ms += theirs.communication_ms;
    mine.waiting_ms += theirs.waiting_ms;
  };
  const auto same = [](const DeviceStatistics& a, const DeviceStatistics& b) { return a.device == b.device; };
  if (devices.empty()) {
    devices = next.devices;
  } else if (std::ranges::equal(devices, next.devices, same)) {  // by place: several devices may share a GPU and its name
    for (std::size_t i = 0; i < devices.size(); ++i) add(devices[i], next.devices[i]);
  } else {
    for (const DeviceStatistics& theirs : next.devices) {
      const auto mine =
          std::find_if(devices.begin(), devices.end(), [&](const DeviceStatistics& d) { return same(d, theirs); });
      if (mine == devices.end()) {
        devices.push_back(theirs);
      } else {
        add(*mine, theirs);
      }
    }
  }
  for (const PairStatistics& theirs : next.pairs) {
    const auto mine = std::find_if(pairs.begin(), pairs.end(),
                                   [&](const PairStatistics& p) { return p.from == theirs.from && p.to == theirs.to; });
    if (mine == pairs.end()) {
      pairs.push_back(theirs);
      continue;
    }
    mine->messages_before += theirs.messages_before;
    mine->messages += theirs.messages;
    mine->bytes += theirs.bytes;
  }
  buffers.insert(buffers.end(), next.buffers.begin(), next.buffers.end());
  return *this;
}

}  // namespace chatty
