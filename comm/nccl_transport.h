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

/// Counters of all devices, summed by NCCL's all-reduce: the state of a round over NCCL instead of host memory. A control
/// plane uses it (framework/engines/control_plane.h).
class NcclState {
 public:
  virtual ~NcclState() = default;
  /// Each device's thread calls it, all equally often: replaces values[i] by the sum of all devices' values[i], and returns
  /// when the sum has arrived. Waits at most as long as `wait` and TransportOptions::timeout allow. Throws DeviceError,
  /// TimeoutError, AbortedError; then only the destructor may be called.
  virtual void Sum(PartId at, std::span<std::uint64_t> values, const WaitContext& wait) = 0;
  /// As Transport::Abort; only the destructor may be called afterwards.
  virtual void Abort() noexcept = 0;
  virtual bool reusable() const noexcept = 0;  ///< as Transport::reusable: no call has failed or was aborted
};
/// For up to `counters` counters, which take 8 bytes each on every device and as much page-locked host memory a device. Of
/// the options, `links` and `timeout` count, as for the transport. Throws OutOfMemoryError, DeviceError, CapabilityError.
std::unique_ptr<NcclState> MakeNcclState(std::span<Device* const> devices, std::size_t counters,
                                         const TransportOptions& options);

}  // namespace chatty
