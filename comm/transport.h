/// \file
/// Transports move bytes between devices. A transport knows no programs, messages or encodings.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "chatty/comm/channel.h"
#include "chatty/comm/topology.h"
#include "chatty/core/device.h"
#include "chatty/core/types.h"

namespace chatty {

/// Capacities in bytes: entry [from][to]. Zero: that pair exchanges nothing.
using PairBytesTable = std::vector<std::vector<std::size_t>>;

/// Fewest buffers of a pair, and as many as an exchange with one barrier an epoch needs: a fast device packs epoch e + 1
/// while a slow one reads epoch e.
inline constexpr std::uint32_t kMinTransportSlots = 2;

/// What a transport is made for, beside the pairs' capacities.
struct TransportOptions {
  /// Capacity in bytes of each device's broadcasts, one entry a sender; 0: that device never broadcasts. Empty: none does.
  std::vector<std::size_t> broadcast;
  /// Pairs that may use the links between them. Others go through host memory, whatever the driver says.
  LinkMask links;
  /// Bytes of a packet, where a path pipelines the copies of a buffer; 0: the path chooses.
  std::size_t packet = 0;
  /// The order in which a ring visits the devices, each once; empty: RingOrder's. MeasureTransport knows no devices, and
  /// takes their own order then: its result is exact only on machines where RingOrder does, too.
  std::vector<PartId> ring;
  /// Each device's thread calls BeginCollective once an epoch, so a path may use collectives. An asynchronous engine does
  /// not.
  bool collectives = true;
  /// Longest that a path waits for another device; 0: for ever.
  std::chrono::milliseconds timeout{0};
  /// Buffers of each pair and of each broadcast, kMinTransportSlots to kMaxSlots. Epochs take them in turn.
  std::uint32_t slots = kMinTransportSlots;
  bool operator==(const TransportOptions&) const = default;  ///< all members
};

/// A path between all devices of a run. Each ordered pair has a few buffers, its slots, which epochs take in turn. So
/// packing epoch e+1 never overwrites what a receiver still reads of epoch e.
///
/// Calls for a pair and epoch e, in this order:
/// 1. The sender's thread enqueues packing into `Outbox(from, to, e)` on its device's stream and calls `Post`.
/// 2. The callers synchronise their threads and exchange byte counts. This is not the transport's work.
/// 3. Each thread calls `BeginCollective` with the counts, unless TransportOptions::collectives is off.
/// 4. The receiver's thread calls `Receive`. Work that it enqueues on its own stream afterwards may read the result.
///
/// The receiver must have finished with epoch e before the sender writes `Outbox(from, to, e + slots())`. Broadcasts follow
/// the same order with BroadcastOutbox, Broadcast and ReceiveBroadcast. Transports of MakeTransport let a device do both in
/// one epoch; engines do one of them.
///
/// Copies run on streams of the path, so that a device computes while a buffer travels. Errors name the transport, the pair
/// and the bytes; where the receiver was given no count (IsZeroCopyReceive), the capacity.
class Transport {
 public:
  virtual ~Transport() = default;
  /// The name that MakeTransport knows it by.
  virtual std::string_view name() const = 0;
  /// Buffers of each pair: at least kMinTransportSlots.
  virtual std::uint32_t slots() const { return kMinTransportSlots; }

  /// The buffer that `from` packs for `to`. Memory that `from` can address, aligned to 256.
  virtual std::byte* Outbox(PartId from, PartId to, std::uint64_t epoch) = 0;
  /// Starts the move of the first `bytes` bytes of the outbox, after all work that `from`'s stream holds now.
  virtual void Post(PartId from, PartId to, std::size_t bytes, std::uint64_t epoch) = 0;
  /// Starts what needs both ends at once. Each device's thread calls it after its posts, when all counts of the epoch are
  /// known. Device `at` receives `incoming[from]` bytes from each pair and `broadcast[root]` bytes of each broadcast (empty:
  /// none), its own included. The count of a zero-copy receive is 0.
  virtual void BeginCollective(PartId at, std::span<const std::size_t> incoming, std::span<const std::size_t> broadcast,
                               std::uint64_t epoch);
  /// Makes `at`'s stream wait for the arrival and returns the bytes' address. Memory that `at` can address.
  virtual const std::byte* Receive(PartId at, PartId from, std::size_t bytes, std::uint64_t epoch) = 0;

  /// Whether it has ReceiveOn. All of MakeTransport do.
  virtual bool receives_on_streams() const { return false; }
  /// As Receive, for work of `stream`, a stream of device `at`, in place of the device's own stream: `stream` waits for the
  /// arrival, and the device's own stream neither waits nor is waited for. By default it throws CapabilityError.
  virtual const std::byte* ReceiveOn(Stream& stream, PartId at, PartId from, std::size_t bytes, std::uint64_t epoch);

  /// Whether it has the three functions below. A run makes broadcasts of another's messages to pairs (PairwiseBroadcasts).
  virtual bool has_broadcasts() const { return false; }
  /// @{
  /// As Outbox, Post and Receive, for one buffer that all others receive. By default they throw CapabilityError.
  virtual std::byte* BroadcastOutbox(PartId from, std::uint64_t epoch);
  virtual void Broadcast(PartId from, std::size_t bytes, std::uint64_t epoch);
  virtual const std::byte* ReceiveBroadcast(PartId at, PartId from, std::size_t bytes, std::uint64_t epoch);
  /// @}

  /// Whether `to` reads the buffer where `from` has written it. Post then moves no bytes, and `bytes` may be the capacity.
  /// `to` equal to `from`: the same of broadcasts.
  virtual bool IsZeroCopyReceive(PartId /*from*/, PartId /*to*/) const { return false; }

  /// Ends all waits of this transport on devices, when a run has failed. Any thread may call it. Buffers on the way may or
  /// may not arrive. If `reusable()` is then false, only the destructor may be called.
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
  bool broadcast_only = false;   ///< broadcasts what only neighbours need, as the published systems do
  bool distinct = false;         ///< joins each GPU once: not devices of which two are the same GPU
  std::string_view description;  ///< a few words, for help texts and tables
};
/// The transports of this build.
std::span<const TransportInfo> Transports();
/// The one of that name, or null.
const TransportInfo* FindTransport(std::string_view name);
/// Whether `auto` may take a path between devices of this kind: not one that only broadcasts. The answer is the same in
/// builds without CUDA.
bool AutoMayTake(std::string_view path, DeviceKind kind);
/// The transports of this build that `auto` may take between these devices: those that have costs.
std::vector<std::string_view> PathsOfAuto(const DeviceSelection& devices);
/// Whether it can join these devices. A selection that was not parsed may name a GPU more than once.
bool CanJoin(const TransportInfo& transport, const DeviceSelection& devices);
/// Those of Transports() that can.
std::vector<std::string_view> TransportsFor(const DeviceSelection& devices);

/// "auto" takes shared memory ("host") between host devices and peer copies ("p2p-copy") between GPUs, pairs that cannot
/// reach each other going through pinned host memory ("staged") inside it. Any other can be named where it has a meaning.
/// The devices must outlive the transport. Throws UsageError for an unknown name, a transport that these devices cannot use
/// or a number of slots that is not possible, CapabilityError for one that cannot join a GPU with itself where one is there
/// twice, OutOfMemoryError.
std::unique_ptr<Transport> MakeTransport(std::string_view name, std::span<Device* const> devices,
                                         const PairBytesTable& capacities, const TransportOptions& options = {});
/// The order in which a ring should visit these devices: GPUs, of which one may be there twice, by the best ring over those
/// links that the mask leaves (see FindRings); host devices in their own order.
std::vector<PartId> RingOrder(std::span<Device* const> devices, const LinkMask& links);
/// Throws UsageError unless a transport may have `slots` buffers of each pair.
void CheckSlots(std::uint32_t slots);
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
/// buffer by buffer, throwing UsageError as MakeTransport does. GPUs are taken to reach each other where the mask allows:
/// pairs that do not take as much on the devices, and page-locked host memory besides.
TransportMemory MeasureTransport(std::string_view name, DeviceKind kind, const PairBytesTable& capacities,
                                 const TransportOptions& options = {});

}  // namespace chatty
