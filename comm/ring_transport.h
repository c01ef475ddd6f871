/// \file
/// Groute's ring: buffers travel from device to device, each to its successor alone.
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
  /// `order` names each device once; `reach(from, to)` says whether a hop may be a copy between the devices' memories.
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
    BufferId middle;   ///< where the hop is staged
    BufferId arrival;  ///< on the hop's far side: an inbox, and where the next leg begins
  };
  /// The way of one buffer, of a pair or of what is told to all.
  struct Trip {
    BufferId source = kNoBuffer;
    std::vector<Leg> legs;  ///< none: nothing ever travels
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
