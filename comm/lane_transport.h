/// \file
/// What most transports are: each ordered pair has a lane, and a lane has one of a few routes. A transport chooses routes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "chatty/comm/boxes.h"
#include "chatty/comm/transport.h"

namespace chatty {

/// Where bytes go between packing on one device and unpacking on another.
enum class Route : std::uint8_t {
  kInPlace,  ///< the packing step writes where the unpacking step reads: for a pair in the receiver's memory, for all in the
             ///< sender's
  kZeroCopy,  ///< both address one box in page-locked host memory
  kHub,       ///< a copy to page-locked host memory, where the unpacking step reads
  kCopy,      ///< a copy from the sender's memory to the receiver's
  kStaged,    ///< a copy to page-locked host memory, and one from there
};

/// The route from one device to another.
using RouteTable = std::function<Route(PartId from, PartId to)>;

/// The way of one box, of a pair or of what is told to all.
struct Lane {
  Route route = Route::kInPlace;
  BoxId outbox = kNoBox, middle = kNoBox, inbox = kNoBox;  ///< those that the route needs
};

/// All lanes of a transport, before any memory is taken.
struct LanePlan {
  /// Entry [from * parts + to] of both; lanes from a device to itself are empty.
  LanePlan(const PairBytesTable& capacities, const TransportOptions& options, const RouteTable& route);
  std::size_t parts;             ///< devices
  BoxPlan boxes;                 ///< what all lanes need
  std::vector<Lane> pairs;       ///< each with boxes of its own
  std::vector<Lane> broadcasts;  ///< those of one sender share its outbox and its middle
};

/// A transport whose lanes have these routes. `options.packet` cuts what is copied; 0: what is staged is cut where that
/// pays.
std::unique_ptr<Transport> MakeLaneTransport(std::string_view name, std::span<Device* const> devices, const LanePlan& plan,
                                             const TransportOptions& options);

}  // namespace chatty
