/// \file
/// How bytes get from one device to another. A transport knows nothing of programs, messages or forms.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "chatty/comm/topology.h"
#include "chatty/core/device.h"
#include "chatty/core/types.h"

namespace chatty {

/// Capacities in bytes: entry [from][to]. Zero: that pair never talks.
using PairBytesTable = std::vector<std::vector<std::size_t>>;

/// What a transport is made for, beside the pairs' capacities.
struct TransportOptions {
  /// Bytes that a device may tell all others at once, one entry a sender; 0: that sender has nothing for all. Empty: nobody.
  std::vector<std::size_t> broadcast;
  /// Pairs that may use the links between them. Others go through host memory, whatever the driver says.
  LinkMask links;
  /// Bytes of a packet, where a path cuts buffers up so that one packet travels while the next is on its way; 0: the path's
  /// own choice.
  std::size_t packet = 0;
  /// The order in which a ring visits the devices, each once; empty: RingOrder's. MeasureTransport, which has no devices to
  /// ask, takes them in their own order then: to the byte only on machines where RingOrder does.
  std::vector<PartId> ring;
  /// Each device's thread calls BeginCollective once an epoch, so a path may use collectives. An asynchronous engine does
  /// not.
  bool collectives = true;
  /// Longest that a path waits for another device; 0: for ever.
  std::chrono::milliseconds timeout{0};
};

/// A path between all devices of a run. Each ordered pair has two buffers that alternate by epoch, so that packing epoch e+1
/// never overwrites what a receiver still reads of epoch e.
///
/// The order of calls for a pair and epoch: the sender's thread enqueues packing into `Outbox(from, to, e)` on its device's
/// stream and calls `Post`; the threads meet (that is the caller's business, as is telling the byte counts); each thread
/// calls `BeginCollective` with what it will receive, unless TransportOptions::collectives is off; the receiver's thread
/// calls `Receive`, whose result work enqueued on its own stream may read. Before `Outbox(from, to, e + 2)` is written, the
/// receiver must have finished with epoch e. What is told to all goes likewise, by BroadcastOutbox, Broadcast and
/// ReceiveBroadcast; in one epoch a device may do both. See MakeTransport.
///
/// What a path moves by itself it moves on streams of its own, so that the device computes on while a buffer travels.
/// Errors name the transport, the pair and the bytes: of a buffer whose length nobody told (IsZeroCopyReceive), all that it
/// holds.
class Transport {
 public:
  virtual ~Transport() = default;
  /// The name that MakeTransport knows it by.
  virtual std::string_view name() const = 0;

  /// Where the packing step on `from` writes what `to` shall get. Memory that `from` can address, aligned to 256.
  virtual std::byte* Outbox(PartId from, PartId to, std::uint64_t epoch) = 0;
  /// Starts the move of the first `bytes` bytes of the outbox, after all work that `from`'s stream holds now.
  virtual void Post(PartId from, PartId to, std::size_t bytes, std::uint64_t epoch) = 0;
  /// WithContext by each device's thread when all counts of the epoch are known, after its posts: `incoming[from]` bytes
  /// come from each pair, `broadcast[root]` bytes (empty: none) from each device to all, `at`'s own included; of buffers
  /// whose length nobody told (IsZeroCopyReceive), 0. Where a path needs both ends at once, this starts it.
  virtual void BeginCollective(PartId at, std::span<const std::size_t> incoming, std::span<const std::size_t> broadcast,
                               std::uint64_t epoch);
  /// Makes `at`'s stream wait for the arrival and returns where the bytes are. Memory that `at` can address.
  virtual const std::byte* Receive(PartId at, PartId from, std::size_t bytes, std::uint64_t epoch) = 0;

  /// @{
  /// As Outbox, Post and Receive, of what one device tells all others at once.
  virtual std::byte* BroadcastOutbox(PartId from, std::uint64_t epoch) = 0;
  virtual void Broadcast(PartId from, std::size_t bytes, std::uint64_t epoch) = 0;
  virtual const std::byte* ReceiveBroadcast(PartId at, PartId from, std::size_t bytes, std::uint64_t epoch) = 0;
  /// @}

  /// Whether `from` writes into the memory of `to` over a link that this path may use and that carries out atomics, so that
  /// its kernels might as well update what they find in that memory.
  virtual bool SupportsRemoteAtomics(PartId /*from*/, PartId /*to*/) const { return false; }

  /// Whether `to` reads what `from` has packed where that was written, so that Post moves no bytes and nobody has to know
  /// how many there are: `bytes` may then be all that the buffer holds. `to` equal to `from`: of what it tells all.
  virtual bool IsZeroCopyReceive(PartId /*from*/, PartId /*to*/) const { return false; }

  /// Ends what this transport still waits for on devices; from any thread, when a run has failed. What was on the way may or
  /// may not arrive. Afterwards only the destructor may be called where `reusable()` says so.
  virtual void Abort() noexcept {}
  /// Whether another run may use it: false after an Abort that tore something down.
  virtual bool reusable() const { return true; }
};

/// What is known of a transport before it is made.
struct TransportInfo {
  std::string_view name;         ///< as MakeTransport knows it
  bool host = false;             ///< joins host devices
  bool cuda = false;             ///< joins GPUs
  bool collective = false;       ///< needs BeginCollective where TransportOptions::collectives is on
  bool broadcast_only = false;   ///< what neighbours shall see is told to all at once, as the published systems do
  bool distinct = false;         ///< joins each GPU once: not devices of which two are the same GPU
  std::string_view description;  ///< a few words, for help texts and tables
};
/// The transports of this build.
std::span<const TransportInfo> Transports();
/// The one of that name, or null.
const TransportInfo* FindTransport(std::string_view name);
/// Whether `auto` may take a path between devices of this kind, in this build or, so that one without CUDA tells the same of
/// GPUs, in another: not one that tells all at once what is for some.
bool AutoMayTake(std::string_view path, DeviceKind kind);
/// Whether it can join these devices. A selection that was not parsed may name a GPU more than once.
bool CanJoin(const TransportInfo& transport, const DeviceSelection& devices);
/// Those of Transports() that can.
std::vector<std::string_view> TransportsFor(const DeviceSelection& devices);

/// "auto" takes shared memory ("host") between host devices and peer copies ("p2p-copy") between GPUs, pairs that cannot
/// reach each other going through pinned host memory ("staged") inside it. Any other can be named where it has a meaning.
/// The devices must outlive the transport. Throws UsageError for an unknown name or a transport that these devices cannot
/// use, CapabilityError for one that cannot join a GPU with itself where one is there twice, OutOfMemoryError.
std::unique_ptr<Transport> MakeTransport(std::string_view name, std::span<Device* const> devices,
                                         const PairBytesTable& capacities, const TransportOptions& options = {});
/// The order in which a ring should visit these devices: GPUs, of which one may be there twice, by the best ring over those
/// links that the mask leaves (see FindRings); host devices in their own order.
std::vector<PartId> RingOrder(std::span<Device* const> devices, const LinkMask& links);
/// What MakeTransport takes in this build, "auto" first.
std::vector<std::string_view> TransportNames();

/// Throws UsageError, as MakeTransport does, for an unknown name or, between several devices, for a transport that devices
/// of this kind cannot use. Needs no device.
void CheckTransport(std::string_view name, DeviceKind kind, std::size_t devices);
/// The same of these devices, and throws CapabilityError where devices share a GPU and the transport cannot join it with
/// itself.
void CheckTransport(std::string_view name, const DeviceSelection& devices);

/// Bytes that a transport's buffers take.
struct TransportMemory {
  std::vector<std::uint64_t> devices;  ///< one a device
  std::uint64_t host = 0;              ///< page-locked, once each buffer has been sent through
};
/// What a transport would allocate between devices of this kind: on devices when it is made, in host memory at most so much,
/// buffer by buffer. GPUs are taken to reach each other where the mask allows: pairs that do not take as much on the
/// devices, and page-locked host memory besides.
TransportMemory MeasureTransport(std::string_view name, DeviceKind kind, const PairBytesTable& capacities,
                                 const TransportOptions& options = {});

}  // namespace chatty
