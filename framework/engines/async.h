/// \file
/// The engine `async`: no rounds and no barrier, one OpenMP thread a device.
#pragma once

#include "chatty/framework/engines/engine.h"

namespace chatty {

/// Runs a kMonotone or kAccumulative program to its end on all devices, each at its own pace (Groute's distributed worklist,
/// PPoPP'17). Where the plan says so, the devices' fused engines run together first (fused/team.h).
///
/// Each device has a first-in, first-out worklist of its own vertices, each at most once. It takes received messages,
/// updates vertices, pushes from changed vertices and sends its halo copies' messages. Halo copies combine messages and drop
/// those that do not improve on earlier ones. Each direction of a pair has a channel of several slots (comm/channel.h): the
/// receiver reads one while the sender fills another. A device packs for the peers whose channels have a free slot. For
/// other peers the halo continues to combine, so one slow peer delays nobody else. No message is lost, and no device with
/// work waits for another.
///
/// An idle device ends the run when two successive checks find all devices idle and all sent buffers received. The counters
/// only grow: a sender counts a buffer before it publishes it, a receiver after it processes it (Mattern's four-counter
/// method, Distributed Computing 2, 1987).
///
/// Values of a kMonotone program equal those of any other update order. `Round::index` is the device's sweep.
/// `RunOptions::max_rounds` ends the run when one device reaches that many sweeps. A failure on any device ends the run on
/// all devices. RunAsync then rethrows the first error, and `record` is also filled in.
void RunAsync(const EngineRun& run, RunRecord* record);

}  // namespace chatty
