/// \file
/// How many devices a traversal is worth.
#pragma once

#include <cstddef>
#include <string>

#include "chatty/core/graph.h"

namespace chatty {

/// How a graph looks from one vertex outwards.
struct Expansion {
  double levels = 0;          ///< of a breadth-first search from there, estimated where the search was cut off
  std::size_t looked_at = 0;  ///< edges that were looked at for it
};
/// Walks from the vertex of largest degree until about `budget` edges have been looked at, or everything has been reached,
/// and continues by the growth that it saw: that of a power (road networks, meshes) or exponential (social networks, the
/// web). One thread, a bit a vertex.
Expansion EstimateExpansion(const Graph& graph, std::size_t budget = std::size_t{1} << 20);

/// How many devices to use, and why.
struct DeviceAdvice {
  std::size_t devices = 1;  ///< to use: one, or all that were offered
  std::string why;          ///< half a sentence: "about 11,200 levels, each of which would cost a message"
};
/// Whether a program whose work moves as a frontier gains from more than one of `devices` GPUs: levels times what an
/// exchange costs, against the time that dividing the edges saves (docs/performance/exchange-and-paths.md). Programs that
/// look at all edges every round gain anyway; they are not to be asked for.
DeviceAdvice AdviseDevices(const Graph& graph, std::size_t devices);
/// The same of host devices, which share the cores: one does all the work in the time that several take, and each level of
/// several costs a meeting of threads. Several, where that is a small part of the time.
DeviceAdvice AdviseHostDevices(const Graph& graph, std::size_t devices);

}  // namespace chatty
