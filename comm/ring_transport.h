/// \file
/// Groute's ring: a buffer travels from device to device, always to the successor.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "chatty/comm/message_buffers.h"
#include "chatty/comm/transport.h"

namespace chatty {

/// All that a ring needs, before any memory is taken.
struct RingPlan {
  /// `order` names each device once; `reach(from, to)`: a hop may be a copy between the devices' memories.
  RingPlan(const PairBytesTable& capacities, const TransportOptions& options, std::vector<PartId> order,
           const std::function<bool(PartId from, PartId to)>& reach);
  /// The way from one device to its successor.
  struct Hop {
    PartId from, to;
    bool staged;  ///< through host memory
  };
  /// One hop of one buffer.
  struct Leg {
    std::size_t hop;
    BufferId middle;   ///< if the hop is staged
    BufferId arrival;  ///< an inbox on the hop's far side, where the next leg begins
  };
  /// The way of one buffer, of a pair or of a broadcast.
  struct Trip {
    BufferId source = kNoBuffer;
    std::vector<Leg> legs;  ///< none: no buffer travels
  };
  std::vector<Hop> hops;         ///< as many as devices
  BufferPlan buffers;            ///< what all trips need
  std::vector<Trip> pairs;       ///< entry [from * parts + to]
  std::vector<Trip> broadcasts;  ///< one a sender
};

/// A ring of that plan.
std::unique_ptr<Transport> MakeRingTransport(std::span<Device* const> devices, const RingPlan& plan,
                                             const TransportOptions& options);

}  // namespace chatty
