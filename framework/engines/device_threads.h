/// \file
/// The span of a device's run. RunOnDevices (core/parallel.h) gives each device a thread.
#pragma once

#include "chatty/core/parallel.h"
#include "chatty/core/trace.h"
#include "chatty/framework/spans.h"
#include "chatty/framework/statistics.h"

namespace chatty {

/// The span of a whole run on one device's track, which may be null. It begins at the run's `start`, perhaps before the
/// device's thread starts. Its first part records that wait.
class RunSpan {
 public:
  RunSpan(TraceTrack* track, Clock::time_point start, bool alone, DeviceStatistics& account)
      : span_(track, nullptr, track == nullptr ? kRunSpan : track->run_kind(),
              track == nullptr ? SpanArguments{} : track->run_arguments(), start) {
    if (!alone) const Span waited(track, &account.waiting_ms, spans::kStart, {}, start);
  }

 private:
  const Span span_;
};

}  // namespace chatty
