/// \file
/// What most transports are: each ordered pair has a channel, and a channel has one of a few routes. A transport chooses
/// routes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "chatty/comm/message_buffers.h"
#include "chatty/comm/transport.h"

namespace chatty {

/// Where bytes go between packing on one device and unpacking on another.
enum class Route : std::uint8_t {
  kDirect,  ///< the packing step writes where the unpacking step reads: for a pair in the receiver's memory, for all in the
            ///< sender's
  kZeroCopy,  ///< both address one buffer in page-locked host memory
  kHostHub,   ///< a copy to page-locked host memory, where the unpacking step reads
  kCopy,      ///< a copy from the sender's memory to the receiver's
  kStaged,    ///< a copy to page-locked host memory, and one from there
};

/// The route from one device to another.
using RouteTable = std::function<Route(PartId from, PartId to)>;

/// The way of one buffer, of a pair or of what is told to all.
struct Channel {
  Route route = Route::kDirect;
  BufferId outbox = kNoBuffer, staging = kNoBuffer, inbox = kNoBuffer;  ///< those that the route needs
};

/// All channels of a transport, before any memory is taken.
struct ChannelPlan {
  /// Entry [from * parts + to] of both; channels from a device to itself are empty.
  ChannelPlan(const PairBytesTable& capacities, const TransportOptions& options, const RouteTable& route);
  std::size_t parts;                ///< devices
  BufferPlan buffers;               ///< what all channels need
  std::vector<Channel> pairs;       ///< each with buffers of its own
  std::vector<Channel> broadcasts;  ///< those of one sender share its outbox and its staging
};

/// A transport whose channels have these routes. `options.packet` cuts what is copied; 0: what is staged is cut where that
/// pays.
std::unique_ptr<Transport> MakeChannelTransport(std::string_view name, std::span<Device* const> devices,
                                                const ChannelPlan& plan, const TransportOptions& options);

}  // namespace chatty
