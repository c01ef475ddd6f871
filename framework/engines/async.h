/// \file
/// The engine `async`: no rounds and no barrier, one OpenMP thread a device.
#pragma once

#include <span>

#include "chatty/comm/selector.h"
#include "chatty/framework/engines/engine.h"
#include "chatty/framework/options.h"

namespace chatty {

/// Runs a kMonotone program to its end on all participants, each at its own pace (Groute's distributed worklist, PPoPP'17).
///
/// A device has a worklist of its own vertices, first in first out, in which a vertex stands at most once. It takes what the
/// others have sent, updates, pushes from what changed, and sends what has gathered in its halo copies: combined there, and
/// left out where it does not improve on what was sent before. Between two devices there are two buffers each way: while one
/// is read the other is filled, and while both are full messages go on combining in the halo. So nothing is lost and no
/// device waits for another while it has work.
///
/// The run ends when a device that has nothing to do finds twice in a row that no device has, and that all that was ever
/// sent has been received, by counters that only grow: sent is counted before a buffer is published, received once it has
/// been worked in (Mattern's four-counter method, Distributed Computing 2, 1987).
///
/// Values are those of any other order of updates, which for a monotone program is the same. `Round::index` is the sweep of
/// the device at hand, and `RunOptions::max_rounds` ends the run when a device has made so many. A failure on any device
/// ends the run on all; the first error is rethrown, and `record` is filled in also then.
void RunAsync(const ErasedProgram& program, std::span<const DeviceContext> participants, Selector* paths,
              const RunOptions& options, RunRecord* record);

}  // namespace chatty
