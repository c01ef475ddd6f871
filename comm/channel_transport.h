/// \file
/// The implementation of most transports: each ordered pair has a channel, and each channel has one of a few routes. A
/// transport is a table of routes.
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

/// How bytes get from the packing step on one device to the unpacking step on another.
enum class Route : std::uint8_t {
  kDirect,    ///< the packing step writes where the unpacking step reads: in the receiver's memory, or the sender's for a
              ///< broadcast
  kZeroCopy,  ///< both address one buffer in page-locked host memory
  kHostHub,   ///< a copy to page-locked host memory, where the unpacking step reads
  kCopy,      ///< a copy from the sender's memory to the receiver's
  kStaged,    ///< a copy to page-locked host memory, and one from there
};

/// The route from one device to another.
using RouteTable = std::function<Route(PartId from, PartId to)>;

/// The buffers and the route of one ordered pair, or of one receiver of a broadcast.
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
  std::vector<Channel> broadcasts;  ///< those of one sender share its outbox and its staging buffer
};

/// A transport with the channels of a plan. `options.packet` is the size of a copy's packets; 0: staged copies are cut where
/// that pays.
std::unique_ptr<Transport> MakeChannelTransport(std::string_view name, std::span<Device* const> devices,
                                                const ChannelPlan& plan, const TransportOptions& options);

}  // namespace chatty
