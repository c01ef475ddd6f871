/// \file
/// Estimates how many devices a traversal can use, and which engine suits several.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "chatty/core/device.h"
#include "chatty/core/graph.h"
#include "chatty/partition/partition.h"

namespace chatty {

/// The growth of a breadth-first search from one vertex.
struct Expansion {
  double levels = 0;          ///< levels of the search; estimated if it was cut off
  std::size_t looked_at = 0;  ///< edges visited for the estimate
};
/// Searches from the vertex of largest degree until it has visited about `budget` edges or all reachable vertices, and
/// extrapolates the growth: polynomial (road networks, meshes) or exponential (social networks, the web). Uses one thread
/// and a bit per vertex.
Expansion EstimateExpansion(const Graph& graph, std::size_t budget = std::size_t{1} << 20);
/// The same from `start`.
Expansion EstimateExpansionFrom(const Graph& graph, VertexId start, std::size_t budget);

/// About how many levels a traversal of the graph has, if these are 32 or more and the graph is not small; else 0. Looks at
/// up to 200,000 edges.
double LevelsIfMany(const Graph& graph);

/// About how many edges have ends with different owners. Looks at the edges of up to 4,096 vertices; if these are few, says
/// that all do. `partition` is of `graph`.
double EstimateCutEdges(const Graph& graph, const Partition& partition);

/// Which engine suits several devices, and the reason.
struct EngineAdvice {
  bool async = false;  ///< each device at its own pace; else rounds
  std::string why;     ///< a clause: "the graph has about 11,200 levels, each of which would cost an exchange"
};
/// What decides the engine of a program that either can run, besides the graph.
struct EngineTask {
  DeviceKind kind = DeviceKind::kHost;  ///< of the devices
  std::size_t devices = 2;              ///< several
  bool buckets = false;                 ///< rounds would have buckets, which make a level cost more
  bool carries = false;      ///< values that are no weights are carried along: most improve again, in either engine
  bool accumulates = false;  ///< the program is kAccumulative: its number of rounds depends little on the graph's levels
};
/// The engine for a program on several devices. `async` saves an exchange in each of many levels. On hosts it pays for
/// messages on edges between devices, one by one or in many small buffers, where a round sends one.
EngineAdvice AdviseEngine(const Graph& graph, const Partition& partition, const EngineTask& task);

/// Whether a traversal of the graph has few levels, and so many edges that devices should send messages in buffers, not one
/// by one. False without evidence: where a search from one of the vertices with many edges soon ends. Looks at up to 70,000
/// edges.
bool HasWideFrontiers(const Graph& graph);

/// A recommended number of devices, and the reason.
struct DeviceAdvice {
  std::size_t devices = 1;  ///< one, or all that are available
  std::string why;          ///< a clause: "about 11,200 levels, each of which would cost a message"
};
/// Whether a traversal gains from more than one of `devices` GPUs: compares the cost of an exchange in each level with the
/// time saved by dividing the edges (docs/performance/exchange-and-paths.md). Not for programs that read all edges in every
/// round, which always gain.
DeviceAdvice AdviseDevices(const Graph& graph, std::size_t devices);
/// What decides how many of several GPUs a run takes, if the user leaves that to the program.
struct DeviceChoice {
  std::size_t devices = 1;          ///< that are available
  bool traverses = false;           ///< rounds are levels of the graph: RegisteredProgram::traverses
  std::uint64_t needed_on_one = 0;  ///< bytes that the run takes at most on one device that has the whole graph
  std::uint64_t free_on_one = 0;    ///< bytes that the first device has; 0 if unknown
};
/// The devices that a run should take: one where the program traverses, AdviseDevices says one, and that device has room for
/// the whole run; else all.
DeviceAdvice ChooseDevices(const Graph& graph, const DeviceChoice& choice);
/// As AdviseDevices, for host devices, which share the cores: a single device does all the work in the same time, and with
/// several each level costs a synchronisation. Recommends several if that is a small part of the time.
DeviceAdvice AdviseHostDevices(const Graph& graph, std::size_t devices);

/// Why a GPU that has the whole graph should relax the edges of a program that carries values from the first frontier on;
/// empty if its rounds do better. Rounds follow a value each time that it improves.
std::string AdviseCarrying(const Graph& graph);

}  // namespace chatty
