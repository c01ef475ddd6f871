#include "chatty/comm/transport.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <optional>

#include "chatty/comm/channel_transport.h"
#include "chatty/comm/nccl_transport.h"
#include "chatty/comm/ring_transport.h"
#include "chatty/comm/rings.h"
#include "chatty/core/config.h"
#include "chatty/core/suggestion.h"

namespace chatty {
namespace {

constexpr std::array kTransports{
    TransportInfo{.name = "host", .host = true, .description = "shared memory between host devices: nothing moves"},
    TransportInfo{.name = "p2p-copy",
                  .cuda = true,
                  .description = "copies between GPUs over their links; staged where there are none"},
    TransportInfo{.name = "p2p-direct",
                  .host = true,
                  .cuda = true,
                  .description = "packing writes into the receiver's memory; zero-copy where it cannot"},
    TransportInfo{.name = "uva",
                  .host = true,
                  .cuda = true,
                  .description = "zero-copy: packing writes and unpacking reads page-locked host memory"},
    TransportInfo{
        .name = "staged", .host = true, .cuda = true, .description = "copies to page-locked host memory and from there"},
    TransportInfo{.name = "nccl",
                  .cuda = true,
                  .collective = true,
                  .distinct = true,
                  .description = "NCCL: sends and receives of all pairs in one group, one broadcast a root"},
    TransportInfo{.name = "ring",
                  .host = true,
                  .cuda = true,
                  .broadcast_only = true,
                  .description = "hop by hop around a ring of the devices, as Groute does"},
    TransportInfo{.name = "uva-hub",
                  .host = true,
                  .cuda = true,
                  .broadcast_only = true,
                  .description = "host memory that each device copies its buffers to, and reads others' from, as in WS-VR"},
};

[[noreturn]] void ThrowNoBroadcasts(std::string_view name) {
  Throw<CapabilityError>("transport '{}' has no broadcasts; PairwiseBroadcasts makes them of messages to pairs", name);
}

constexpr bool IsBuilt(const TransportInfo& info) {
  return info.name == "nccl" ? CHATTY_WITH_NCCL : info.host || CHATTY_WITH_CUDA;
}
constexpr std::size_t kBuilt = std::count_if(kTransports.begin(), kTransports.end(), IsBuilt);
constexpr std::array<TransportInfo, kBuilt> kTransportsBuilt = [] {
  std::array<TransportInfo, kBuilt> built;
  std::copy_if(kTransports.begin(), kTransports.end(), built.begin(), IsBuilt);
  return built;
}();

/// The transport that a name means. "auto" means one for every kind of device, in this build or not, so that a build without
/// CUDA can plan for GPUs.
const TransportInfo& Find(std::string_view name, DeviceKind kind) {
  if (name == "auto") {
    name = kind == DeviceKind::kHost ? "host" : "p2p-copy";
    return *std::find_if(kTransports.begin(), kTransports.end(),
                         [&](const TransportInfo& info) { return info.name == name; });
  }
  const TransportInfo* const info = FindTransport(name);
  if (info == nullptr) {
    Throw<UsageError>("there is no transport '{}' in this build{}; choose one of {}", name,
                      DidYouMean(name, TransportNames()), fmt::join(TransportNames(), ", "));
  }
  return *info;
}

/// Throws UsageError where the transport cannot join devices of this kind; `devices` names them.
void CheckKind(const TransportInfo& info, DeviceKind kind, std::string_view devices) {
  if (CanJoin(info, {kind, {}})) return;
  Throw<UsageError>("transport '{}' joins {} only, and {}; use one of {}", info.name, info.host ? "host devices" : "GPUs",
                    devices, fmt::join(TransportsFor({kind, {}}), ", "));
}

void CheckDistinct(const TransportInfo& info, const DeviceSelection& devices) {
  const std::optional<int> twice = SharedGpu(devices);
  if (!info.distinct || !twice) return;
  Throw<CapabilityError>(
      "transport '{}' joins each GPU once, and several devices share cuda:{}; name every GPU once, or use one of {}",
      info.name, *twice, fmt::join(TransportsFor(devices), ", "));
}

/// Whether `from` may address `to`'s memory.
using Reach = std::function<bool(PartId from, PartId to)>;

std::vector<PartId> Ascending(std::size_t parts) {
  std::vector<PartId> order(parts);
  std::iota(order.begin(), order.end(), PartId{0});
  return order;
}

ChannelPlan PlanChannels(std::string_view name, const PairBytesTable& capacities, const TransportOptions& options,
                         const Reach& reach) {
  return {capacities, options, [&](PartId from, PartId to) {
            if (name == "host") return Route::kDirect;
            if (name == "uva") return Route::kZeroCopy;
            if (name == "uva-hub") return Route::kHostHub;
            if (name == "p2p-direct") return reach(from, to) ? Route::kDirect : Route::kZeroCopy;
            if (name == "nccl") return Route::kCopy;  // an outbox and an inbox; NCCL does the rest
            if (name == "p2p-copy" && reach(from, to)) return Route::kCopy;
            return Route::kStaged;
          }};
}

}  // namespace

std::span<const TransportInfo> Transports() { return kTransportsBuilt; }

const TransportInfo* FindTransport(std::string_view name) {
  const auto found = std::find_if(kTransportsBuilt.begin(), kTransportsBuilt.end(),
                                  [&](const TransportInfo& info) { return info.name == name; });
  return found == kTransportsBuilt.end() ? nullptr : &*found;
}

bool AutoMayTake(std::string_view path, DeviceKind kind) {
  return std::any_of(kTransports.begin(), kTransports.end(), [&](const TransportInfo& info) {
    return info.name == path && !info.broadcast_only && (kind == DeviceKind::kHost ? info.host : info.cuda);
  });
}

bool CanJoin(const TransportInfo& transport, const DeviceSelection& devices) {
  const bool kind = devices.kind == DeviceKind::kHost ? transport.host : transport.cuda;
  return kind && !(transport.distinct && SharedGpu(devices));
}

std::vector<std::string_view> TransportsFor(const DeviceSelection& devices) {
  std::vector<std::string_view> names;
  for (const TransportInfo& info : Transports()) {
    if (CanJoin(info, devices)) names.push_back(info.name);
  }
  return names;
}

std::vector<std::string_view> PathsOfAuto(const DeviceSelection& devices) {
  std::vector<std::string_view> names = TransportsFor(devices);
  std::erase_if(names, [&](std::string_view name) { return !AutoMayTake(name, devices.kind); });
  return names;
}

std::vector<std::string_view> TransportNames() {
  std::vector<std::string_view> names{"auto"};
  for (const TransportInfo& info : Transports()) names.push_back(info.name);
  return names;
}

void CheckSlots(std::uint32_t slots) {
  if (slots >= kMinTransportSlots && slots <= kMaxSlots) return;
  Throw<UsageError>("{} buffers for each pair of devices; a transport has {} to {}", slots, kMinTransportSlots, kMaxSlots);
}

void CheckTransport(std::string_view name, DeviceKind kind, std::size_t devices) {
  const TransportInfo& info = Find(name, kind);
  if (devices < 2) return;  // no transport is made
  CheckKind(info, kind, kind == DeviceKind::kHost ? "these are host devices" : "these are GPUs");
}

void CheckTransport(std::string_view name, const DeviceSelection& devices) {
  CheckTransport(name, devices.kind, devices.indices.size());
  CheckDistinct(Find(name, devices.kind), devices);
}

TransportMemory MeasureTransport(std::string_view name, DeviceKind kind, const PairBytesTable& capacities,
                                 const TransportOptions& options) {
  const std::string_view chosen = Find(name, kind).name;
  CheckSlots(options.slots);
  const auto reach = [&](PartId from, PartId to) { return options.links.Allows(from, to); };
  if (chosen == "ring") {
    return RingPlan(capacities, options, options.ring.empty() ? Ascending(capacities.size()) : options.ring, reach)
        .buffers.Measure(capacities.size());
  }
  return PlanChannels(chosen, capacities, options, reach).buffers.Measure(capacities.size());
}

std::unique_ptr<Transport> MakeTransport(std::string_view name, std::span<Device* const> devices,
                                         const PairBytesTable& capacities, const TransportOptions& options) {
  const TransportInfo& info = Find(name, devices[0]->kind());
  for (const Device* device : devices) {
    CheckKind(info, device->kind(),
              fmt::format("{} is a {}", device->label(), device->kind() == DeviceKind::kHost ? "host device" : "GPU"));
  }
  CheckDistinct(info, SelectionOf(devices));
  CheckSlots(options.slots);
  const auto reach = [&](PartId from, PartId to) {
    return options.links.Allows(from, to) && devices[to]->AllowAccessBy(*devices[from]) &&
           devices[from]->AllowAccessBy(*devices[to]);
  };
  if (info.name == "ring") {
    const RingPlan plan(capacities, options, options.ring.empty() ? RingOrder(devices, options.links) : options.ring, reach);
    return MakeRingTransport(devices, plan, options);
  }
#if CHATTY_WITH_NCCL
  if (info.name == "nccl") return MakeNcclTransport(devices, PlanChannels(info.name, capacities, options, reach), options);
#endif
  return MakeChannelTransport(info.name, devices, PlanChannels(info.name, capacities, options, reach), options);
}

std::vector<PartId> RingOrder(std::span<Device* const> devices, const LinkMask& links) {
  const DeviceSelection selection = SelectionOf(devices);
  if (selection.kind == DeviceKind::kHost) return Ascending(devices.size());
  const Rings rings = FindRings(Masked(DiscoverTopology(selection), links));
  return {rings.best.order.begin(), rings.best.order.end()};
}

void Transport::BeginCollective(PartId /*at*/, std::span<const std::size_t> /*incoming*/,
                                std::span<const std::size_t> /*broadcast*/, std::uint64_t /*epoch*/) {}

const std::byte* Transport::ReceiveOn(Stream& /*stream*/, PartId /*at*/, PartId /*from*/, std::size_t /*bytes*/,
                                      std::uint64_t /*epoch*/) {
  Throw<CapabilityError>("transport {} receives on the main streams of devices only", name());
}

std::byte* Transport::BroadcastOutbox(PartId /*from*/, std::uint64_t /*epoch*/) { ThrowNoBroadcasts(name()); }
void Transport::Broadcast(PartId /*from*/, std::size_t /*bytes*/, std::uint64_t /*epoch*/) { ThrowNoBroadcasts(name()); }
const std::byte* Transport::ReceiveBroadcast(PartId /*at*/, PartId /*from*/, std::size_t /*bytes*/,
                                             std::uint64_t /*epoch*/) {
  ThrowNoBroadcasts(name());
}

}  // namespace chatty
