/// \file
/// Estimates how many devices a traversal can use.
#pragma once

#include <cstddef>
#include <string>

#include "chatty/core/device.h"
#include "chatty/core/graph.h"

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

/// About how many levels a traversal of the graph has, if these are so many that rounds of several devices cost far more
/// than the edges, and the graph is not small; else 0. Looks at up to 200,000 edges.
double LevelsIfDeep(const Graph& graph, DeviceKind kind);

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
/// The same for host devices, which share the cores: a single device does all the work in the same time, and with several
/// each level costs a synchronisation. Recommends several if that is a small part of the time.
DeviceAdvice AdviseHostDevices(const Graph& graph, std::size_t devices);

}  // namespace chatty
