/// \file
/// NCCL between GPUs. Only in builds with NCCL.
#pragma once

#include <memory>
#include <span>

#include "chatty/comm/channel_transport.h"
#include "chatty/comm/transport.h"

namespace chatty {

/// A transport over NCCL, with the buffers of a plan whose channels all copy. With collectives: one communicator of all
/// devices, and in each epoch one group of sends and receives of all pairs and one broadcast a root. Without collectives: a
/// communicator of two for each channel. A send then occupies a block of the sender's GPU until it is received.
///
/// Every wait has options.timeout as its deadline and ends with AbortedError after an Abort.
///
/// NCCL takes no list of pairs that it must not join. Where the mask removes any link between these devices, NCCL uses no
/// links between GPUs at all (NCCL_P2P_DISABLE, set while communicators are made and then restored). NCCL reads the variable
/// once a process, at its first communicator: throws CapabilityError where a later transport needs the other setting. No
/// plan contains what NCCL itself allocates (some MiB a communicator and peer).
std::unique_ptr<Transport> MakeNcclTransport(std::span<Device* const> devices, const ChannelPlan& plan,
                                             const TransportOptions& options);

}  // namespace chatty
