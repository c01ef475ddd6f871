/// \file
/// The engine `bsp`: bulk-synchronous rounds, one OpenMP thread a device.
#pragma once

#include "chatty/framework/engines/engine.h"

namespace chatty {

/// Runs a program to its end on all devices. Each round, active vertices send to their neighbours. A push follows
/// forward edges, combines messages on the way (Groute's halo copies) and exchanges them. A pull follows reverse edges and
/// reads values that owners sent to halos (ChattyGraph's shared vertices). Devices exchange only changes. All devices choose
/// the same direction each round, from the edges that each direction would read (Beamer's rule; the run measures the share
/// that a pull reads). Also drives `async` on one device: the fused engine has the run, and rounds continue what it leaves.
///
/// A failure on any device ends the run on all devices. RunBsp then rethrows the first error. `record` is also filled in,
/// with the state after the last round whose end any device saw. The devices may still execute enqueued work.
void RunBsp(const EngineRun& run, RunRecord* record);

}  // namespace chatty
