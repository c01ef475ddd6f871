/// \file
/// How bytes get from one device to another. A transport knows nothing of programs, messages or forms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "chatty/core/device.h"
#include "chatty/core/types.h"

namespace chatty {

/// Capacities in bytes: entry [from][to]. Zero: that pair never talks.
using PairBytesTable = std::vector<std::vector<std::size_t>>;

/// A path between all devices of a run. Each ordered pair has two boxes that alternate by epoch, so that packing epoch e+1
/// never overwrites what a receiver still reads of epoch e.
///
/// The order of calls for a pair and epoch: the sender's thread enqueues packing into `Outbox(from, to, e)` on its device's
/// stream and calls `Post`; the threads meet (that is the caller's business, as is telling the byte count); the receiver's
/// thread calls `Receive`, whose result work enqueued on its own stream may read. Before `Outbox(from, to, e + 2)` is
/// written, the receiver must have finished with epoch e. A file a transport; see MakeTransport.
class Transport {
 public:
  virtual ~Transport() = default;
  /// The name that MakeTransport knows it by.
  virtual std::string_view name() const = 0;

  /// Where the packing step on `from` writes what `to` shall get. Memory that `from` can address.
  virtual std::byte* Outbox(PartId from, PartId to, std::uint64_t epoch) = 0;
  /// Starts the move of the first `bytes` bytes of the outbox, after all work that `from`'s stream holds now.
  virtual void Post(PartId from, PartId to, std::size_t bytes, std::uint64_t epoch) = 0;
  /// Makes `at`'s stream wait for the arrival and returns where the bytes are. Memory that `at` can address.
  virtual const std::byte* Receive(PartId at, PartId from, std::size_t bytes, std::uint64_t epoch) = 0;
};

/// "auto" takes shared memory ("host") between host devices and peer copies ("p2p-copy") between GPUs, pairs that cannot
/// reach each other going through pinned host memory ("staged") inside it. Any of the three can be named where it has a
/// meaning; "staged" works on every kind of device. The devices must outlive the transport. Throws UsageError for an unknown
/// name or a transport that these devices cannot use, OutOfMemoryError.
std::unique_ptr<Transport> MakeTransport(std::string_view name, std::span<Device* const> devices,
                                         const PairBytesTable& capacities);
/// What MakeTransport takes in this build, "auto" first.
std::vector<std::string_view> TransportNames();

/// Throws UsageError, as MakeTransport does, for an unknown name or, between several devices, for a transport that devices
/// of this kind cannot use. Needs no device.
void CheckTransport(std::string_view name, DeviceKind kind, std::size_t devices);

/// Bytes that a transport's boxes take.
struct TransportMemory {
  std::vector<std::uint64_t> devices;  ///< one a device
  std::uint64_t host = 0;              ///< page-locked
};
/// What MakeTransport would allocate between devices of this kind. GPUs are taken to reach each other: pairs that do not
/// take as much on the devices, and page-locked host memory besides.
TransportMemory MeasureTransport(std::string_view name, DeviceKind kind, const PairBytesTable& capacities);

/// The transports themselves, for tests and for those who know what they want.
std::unique_ptr<Transport> MakeHostTransport(std::span<Device* const> devices, const PairBytesTable& capacities);
/// Through pinned host memory, between devices of any kind.
std::unique_ptr<Transport> MakeStagedTransport(std::span<Device* const> devices, const PairBytesTable& capacities);
/// Only in builds with CUDA.
std::unique_ptr<Transport> MakePeerCopyTransport(std::span<Device* const> devices, const PairBytesTable& capacities);

}  // namespace chatty
