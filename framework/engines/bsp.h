/// \file
/// The engine `bsp`: bulk-synchronous rounds, one OpenMP thread a device.
#pragma once

#include <cstddef>
#include <span>

#include "chatty/comm/selector.h"
#include "chatty/framework/buckets.h"
#include "chatty/framework/engines/engine.h"
#include "chatty/framework/options.h"

namespace chatty {

/// Whether sparse rounds of such a program may go by remote atomics, so that its steps need to know each other. What Consume
/// takes, others' deliveries must not look at meanwhile; and what is active in every round has no sparse ones.
inline bool MayUseRemoteAtomics(const ProgramTraits& traits, const RunOptions& options) {
  return options.remote_atomics != RemoteAtomics::kNever && options.execution != "async" && traits.can_push &&
         !traits.consumes && !traits.every_round;
}

/// Counters that each device tells all others at the end of a round, in 64-bit words.
inline constexpr std::size_t kRoundWords = 16;

/// Runs `program` to its end on all participants. In a round, active vertices send to their neighbours: pushed along
/// forward edges, combined on the way (Groute's halo copies) and exchanged as messages; or pulled along reverse edges from
/// values that their owners have sent to halos (ChattyGraph's shared vertices). Only what changed is exchanged. The
/// direction is chosen each round, by all devices alike, from the edges that either would look at (Beamer's rule, with the
/// share of edges that a pull really reads measured as the run goes).
///
/// A failure on any device ends the run on all; the first error is rethrown. `record` is filled in also then, with what was
/// so when the last round ended that any device saw the end of; the devices may still be at work on what was enqueued.
void RunBsp(const ErasedProgram& program, std::span<const DeviceContext> participants, Selector* paths,
            BuiltDirections built, const BucketPlan& buckets, const RunOptions& options, RunRecord* record);

}  // namespace chatty
