/// \file
/// Times of transfers through a transport, without a graph: what figures about paths show.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <stop_token>
#include <string_view>
#include <vector>

#include "chatty/comm/topology.h"
#include "chatty/core/device.h"
#include "chatty/core/types.h"

namespace chatty::cli {

/// As Move::to: all others at once, by the path's own broadcast.
inline constexpr PartId kAll = ~PartId{0};

/// A piece of a block of memory that every device has: `bytes` bytes from `offset` on go from one device to another's.
struct Move {
  PartId from = 0, to = 0;
  std::size_t offset = 0, bytes = 0;
};
/// What happens in each epoch, at most one Move a pair: the next one may send on what came.
using Schedule = std::vector<std::vector<Move>>;

/// `bytes` bytes from one device to another, `packet` at a time.
Schedule PeerSchedule(PartId from, PartId to, std::size_t bytes, std::size_t packet);
/// From device 0 to each other one, whole.
Schedule FanOutSchedule(PartId devices, std::size_t bytes);
/// From device 0 to the next, which sends on what it has while more comes.
Schedule RingSchedule(PartId devices, std::size_t bytes, std::size_t packet);
/// From device 0 to all, by the path's own broadcast.
Schedule BroadcastSchedule(std::size_t bytes);
/// Each device to each other one, `rounds` times.
Schedule ExchangeSchedule(PartId devices, std::size_t bytes, std::size_t rounds);

/// How a schedule is carried out.
struct TransferOptions {
  bool one_thread = false;      ///< one host thread for all devices, else one each; not for paths that are collective
  std::size_t work = 0;         ///< bytes that each device fills in each epoch, in place of computing
  std::size_t repetitions = 5;  ///< of which the median counts; one more goes before
  std::size_t packet = 0;       ///< TransportOptions::packet
  LinkMask links;               ///< TransportOptions::links
  std::chrono::milliseconds timeout{60000};  ///< longest wait of a device or a thread for another
  std::stop_token stop;                      ///< asks for an end after the epoch at hand
};

/// Milliseconds from the first packing until the last device has unpacked: from the sender's memory through buffers into the
/// receiver's. Throws UsageError for a path that does not join the devices, InternalError if bytes did not arrive,
/// AbortedError where a stop was asked for, what devices throw. After a TimeoutError of GPUs what it has allocated there is
/// never given back, for that may wait for ever.
double TransferMs(std::span<Device* const> devices, std::string_view comm, const Schedule& schedule,
                  const TransferOptions& options = {});

}  // namespace chatty::cli
