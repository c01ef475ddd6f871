/// \file
/// Sums of counters over NCCL, for a control plane. MakeNcclState is only in builds with NCCL.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "chatty/core/sync.h"
#include "chatty/core/types.h"

namespace chatty {

class Device;
struct TransportOptions;

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
