/// \file
/// Choices that a user may leave to the library.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>

#include "chatty/comm/transport.h"
#include "chatty/framework/vertex_data.h"

namespace chatty {

class Trace;

/// Which side of an edge looks for the other.
enum class Direction : std::uint8_t {
  kAuto,  ///< the cheaper one, round by round, from the edges that each would look at
  kPush,
  kPull,
};

/// When messages go by atomics into the state of the vertices' owners, and in no buffer: only between devices that reach
/// each other's memory by the run's transport, by push, and while all frontiers are queues.
enum class RemoteAtomics : std::uint8_t {
  kAuto,  ///< in rounds of so few messages that it is predicted to be faster
  kNever,
  kAlways,  ///< wherever it can be done
};

/// Whether the rows of programs that are active in every round are prepared for the caches: host devices cut them into
/// tiles, GPUs order what sources share by how often it is asked for. It takes as much memory as the neighbours and the time
/// of some rounds, once.
enum class Tiling : std::uint8_t {
  kAuto,  ///< host devices: where what vertices share does not fit a cache; GPUs: where hubs have many of the edges
  kNever,
  kAlways,  ///< wherever a program's edges may be taken in any order
};

/// Makes a run's transport, as MakeTransport does: between these devices, with at least these capacities. Called while the
/// job is prepared, and by its next Execute after a run that left a transport which is not reusable.
using TransportFactory = std::function<std::unique_ptr<Transport>(
    std::span<Device* const> devices, const PairBytesTable& capacities, const TransportOptions& options)>;

/// RunOptions::delta that is left to the library.
inline constexpr double kAutoDelta = 0;

/// How far a run has come, after a round.
struct RoundProgress {
  std::uint32_t rounds = 0;  ///< made so far, over all phases
  std::uint64_t active = 0;  ///< vertices that the last one changed, on all devices
  double change = 0;  ///< `change` of the program's Global, if it has such a member, divided by the vertices; else NaN
};

/// How to run a program. The defaults leave every choice to the library.
struct RunOptions {
  /// Push, pull, or whichever is cheaper, round by round.
  Direction direction = Direction::kAuto;
  std::string execution = "auto";                       ///< "bsp"; "async" for kMonotone programs; "auto", which is bsp
  std::string transport = "auto";                       ///< what carries messages: see CommChoice::Parse
  std::string links = "all";                            ///< which links between devices may be used: see LinkMask::Parse
  RemoteAtomics remote_atomics = RemoteAtomics::kAuto;  ///< whether sparse rounds do without buffers; bsp only
  Tiling tiling = Tiling::kAuto;                        ///< of rows on host devices
  /// Width of the buckets in which rounds take vertices of programs with a Priority: in what Priority counts, positive;
  /// kInfinity<double>: no order. kAutoDelta: from the graph, and adapted while the program runs. bsp only.
  double delta = kAutoDelta;
  bool explain = false;  ///< record each message in RunStatistics::buffers, with its time; slows the run down
  /// Arrays with a number for each vertex, by the names that the program's kVertexData has for them.
  VertexData vertex_data;
  /// If set, makes the transport in place of what `transport` names, which then only says what memory is reckoned for it.
  /// Not called for one device.
  TransportFactory transport_factory;
  std::uint32_t max_rounds = 0;  ///< stop after so many rounds; 0: only when the program is done
  /// Longest wait for another device, or for a device's own work; 0: for ever. A run in which somebody has waited so long
  /// fails with TimeoutError on all devices.
  std::chrono::milliseconds timeout{0};
  Trace* trace = nullptr;  ///< records what ran when, if not null; not owned, see core/trace.h
  /// Ends the run after the round at hand, all devices after the same one, once a stop is requested: by std::stop_source's
  /// request_stop(), from any thread. The run then returns what it had, with RunStatistics::ended telling so.
  std::stop_token stop{};
  /// If set, is called after each round, on the first device's thread, which waits for it: store what it says, and return.
  /// Rounds that a device makes without the host are told of at their end, and those of `async` are not.
  std::function<void(const RoundProgress&)> on_round{};
};

}  // namespace chatty
