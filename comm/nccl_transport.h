/// \file
/// NCCL between GPUs. Only in builds with NCCL.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "chatty/comm/channel_transport.h"
#include "chatty/comm/transport.h"
#include "chatty/core/sync.h"

namespace chatty {

/// A transport over NCCL, with the buffers of a plan whose lanes are all copies. Where all meet: one communicator of all
/// devices, and in each epoch one group of sends and receives of all pairs and one broadcast a root. Where nobody meets: a
/// communicator of two for each lane; a send then occupies a block of the sender's GPU until it is received.
///
/// Every wait has options.timeout as its deadline and ends with AbortedError after an Abort.
///
/// NCCL keeps no list of pairs that it must not join: where the mask takes away any link between these devices it uses none
/// at all between GPUs (NCCL_P2P_DISABLE, set while communicators are made and then restored). NCCL looks at that once a
/// process, at its first communicator: throws CapabilityError where a later transport wants the other. What NCCL itself
/// allocates (some MiB a communicator and peer) is in no plan.
std::unique_ptr<Transport> MakeNcclTransport(std::span<Device* const> devices, const ChannelPlan& plan,
                                             const TransportOptions& options);

/// Counters of all devices, summed by NCCL's all-reduce: the state of a round over NCCL, where others have host memory.
class NcclState {
 public:
  virtual ~NcclState() = default;
  /// Called by each device's thread, by all equally often: replaces values[i] by the sum of all devices' values[i], and
  /// returns when it is there. Waits as long as `wait` and TransportOptions::timeout let it. Throws DeviceError,
  /// TimeoutError, AbortedError; then only the destructor may be called.
  virtual void Sum(PartId at, std::span<std::uint64_t> values, const WaitContext& wait) = 0;
  /// As Transport::Abort; only the destructor may be called afterwards.
  virtual void Abort() noexcept = 0;
};
/// For up to `counters` counters, which take 8 bytes each on every device and as much page-locked host memory for each. Of
/// the options, `links` and `timeout` count, as for the transport. Throws OutOfMemoryError, DeviceError, CapabilityError.
std::unique_ptr<NcclState> MakeNcclState(std::span<Device* const> devices, std::size_t counters,
                                         const TransportOptions& options);

}  // namespace chatty
