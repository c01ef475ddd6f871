/// \file
/// How much memory a run will take, before it takes it: bounds from a graph's counts alone, exact figures once the graph is
/// divided. The formulas are those of the code that allocates: DeviceGraph::BytesFor, ProgramState::Bytes, MeasureTransport.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chatty/comm/selector.h"
#include "chatty/comm/transport.h"
#include "chatty/core/device.h"
#include "chatty/core/graph.h"
#include "chatty/core/graph_counts.h"
#include "chatty/framework/engines/bsp.h"
#include "chatty/framework/options.h"
#include "chatty/framework/step_set.h"
#include "chatty/partition/part_shape.h"

namespace chatty {

/// What memory depends on in one program, prepared with certain options.
struct ProgramMemory {
  Edges edges = Edges::kOut;                   ///< along which it sends
  WeightKind weights = WeightKind::kNone;      ///< that it reads
  bool forward = true;                         ///< it has this adjacency built
  bool reverse = true;                         ///< and this
  bool own_begins = false;                     ///< it asks for GraphRef::own_begins
  std::optional<std::size_t> message_payload;  ///< bytes an entry exchanged by push; none: none is
  std::optional<std::size_t> shared_payload;   ///< bytes an entry exchanged by pull; none: none is
  bool asynchronous = false;                   ///< it runs without rounds, so nothing is told to all at once
  std::size_t output_bytes = 0;                ///< a vertex
  std::size_t data_bytes = 0;                  ///< that it is given of a vertex, in host memory until devices have it
  /// Bytes of state on a device of this kind, of so many threads if it is a host device, that holds such a part.
  std::function<std::uint64_t(DeviceKind, int threads, const PartShape&)> state;
  /// Where the part's shape does not settle it: the least of which `state` is the most. Empty otherwise.
  std::function<std::uint64_t(DeviceKind, int threads, const PartShape&)> least_state;
  /// Of an operator program: bytes of the largest object that `from` hands to `to` in one exchange. May be empty.
  std::function<std::size_t(const PartShape&, PartId from, PartId to)> exchange;
  bool complete = true;  ///< false for an operator program that does not say what it allocates: more than this is needed

  /// What its subgraphs have to hold.
  SubgraphOptions needs() const { return {edges, forward, reverse, weights, own_begins, true, 0}; }
};

/// Which directions a program with these traits has built for it. Throws UsageError for a direction that it cannot take.
BuiltDirections DirectionsFor(const ProgramTraits& traits, const RunOptions& options);
/// What memory depends on in `program`. Throws UsageError for a direction or an execution that it cannot take.
ProgramMemory MemoryOf(std::shared_ptr<const ErasedProgram> program, const RunOptions& options);

/// What one device holds, in bytes of its memory resource.
struct DeviceMemory {
  std::uint64_t graph = 0;    ///< on a host device only what cannot be viewed in place
  std::uint64_t state = 0;    ///< of programs, and on a GPU the results before they are copied out
  std::uint64_t buffers = 0;  ///< what is exchanged with other devices
  std::uint64_t total() const { return graph + state + buffers; }  ///< of the three
};

/// What the host holds, in bytes. Bounds, never exact: allocators and the text readers' buffers are not counted.
struct HostMemory {
  std::uint64_t graph = 0;     ///< rows, neighbours and weights
  std::uint64_t in_edges = 0;  ///< or in-degrees, of a directed graph
  std::uint64_t parts = 0;     ///< the partition's tables and the subgraphs
  std::uint64_t staging = 0;   ///< page-locked buffers
  std::uint64_t output = 0;    ///< results
  std::uint64_t data = 0;      ///< vertex data; gone when there are results
  std::uint64_t loading = 0;   ///< at once, `graph` included, while a file is read; gone when the rest comes
  std::uint64_t devices = 0;   ///< of host devices, all together
  /// The most at one time.
  std::uint64_t total() const {
    return std::max(loading, graph + in_edges + parts + staging + std::max(output, data) + devices);
  }
};

/// What a run takes, bounded or exact.
struct MemoryPlan {
  std::vector<DeviceMemory> devices;  ///< one a device
  HostMemory host;                    ///< bounds
};

/// A graph's counts; the largest degree, which takes a pass, is left unknown.
GraphCounts CountsOf(const Graph& graph);

/// Bounds the memory of programs that share a session, from counts alone. Vertices and edges are taken to be divided evenly.
/// kMin is then below the truth; kMax is above it but where parts are unequal, by as much as those are. `text`: whether
/// the graph is read from a text format, which lists `listed` edges if that is more than the graph keeps. `transport` as in
/// RunOptions. Host devices share `threads` CPU threads (0: one a core), as OpenDevices has it.
MemoryPlan BoundMemory(const GraphCounts& counts, std::span<const ProgramMemory> programs, DeviceKind kind, PartId devices,
                       std::string_view transport, Bound bound, bool text = true, std::uint64_t listed = 0, int threads = 0);

/// What one program's devices exchange, and by which paths: worked out before anything is allocated.
struct CommPlan {
  std::vector<std::string_view> paths;         ///< the transports to make
  Broadcasts broadcasts = Broadcasts::kNever;  ///< when a device tells all others at once
  PairBytesTable capacities;                   ///< of pairs' buffers
  TransportOptions options;                    ///< with the capacities of what is told to all
};
/// Of a program with these needs, run with `options`. Throws UsageError for a transport or links that cannot be.
CommPlan PlanComm(std::span<const Subgraph> subgraphs, const ProgramMemory& program, const RunOptions& options,
                  DeviceKind kind, const CostModel& model);
/// The same of a program on operators, whose exchanges are between two at a time, in buffers that hold so much.
CommPlan PlanExchanges(PairBytesTable capacities, const RunOptions& options, DeviceKind kind, const CostModel& model);

/// The devices' memory for subgraphs that are there: `subgraphs[i]` are those of programs[i], and its graph is counted where
/// `graph_counted[i]`; host device d has threads[d] threads; paths are chosen by `model`. Exact, but for up to 128 KiB a
/// program and GPU; of programs with a least_state the most.
std::vector<DeviceMemory> MeasureMemory(std::span<const ProgramMemory> programs,
                                        std::span<const std::span<const Subgraph>> subgraphs,
                                        const std::vector<bool>& graph_counted, DeviceKind kind,
                                        std::span<const int> threads, const RunOptions& options, const CostModel& model);

/// How many threads each device's team has; 0 for a GPU.
std::vector<int> ThreadsOf(std::span<Device* const> devices);

/// Limits that a run has to keep, in bytes; 0: what the machine has left.
struct MemoryLimits {
  std::uint64_t device = 0;  ///< of each device
  std::uint64_t host = 0;    ///< of the whole process, the graph and host devices included
};

/// What is known of a graph when it is asked whether a run may fit.
struct KnownGraph {
  GraphCounts least;       ///< what it has at least
  GraphCounts most;        ///< what it has at most; as `least` once it is loaded
  std::string words;       ///< what it is and who says so, for messages: "a graph of 4 vertices and 6 edges (in memory)"
  std::uint64_t held = 0;  ///< host memory in bytes that it holds already; 0: it is not loaded yet
  bool text = true;        ///< it will be read from a text format
};

/// Throws OutOfMemoryError if not even the least that the programs need fits: of the devices together, for parts need not be
/// equal, or of the host. What the graph holds already is not asked of what the host has left.
void CheckBounds(const KnownGraph& graph, std::span<const ProgramMemory> programs, std::span<Device* const> devices,
                 std::string_view transport, const MemoryLimits& limits);

/// Says, for an error's end, on how many devices more than `devices` the programs may fit into `limit` bytes on each: the
/// fewest on which `most` does if its parts are about equal, and on which `least` does without a border. No promises. That
/// not even kMaxDevices do is certain: the mean of what they need for `least` is too much.
std::string AdviceOnDevices(const GraphCounts& least, const GraphCounts& most, std::span<const ProgramMemory> programs,
                            DeviceKind kind, PartId devices, std::string_view transport, std::uint64_t limit);

/// "1,289,748 bytes (1.23 MiB: graph 512 KiB, state 700 KiB, buffers 0 bytes)".
std::string Describe(const DeviceMemory& memory);

/// A message buffer capacities for exchanges of `payload` bytes an entry, whichever way and form, where device d's halo has
/// halo[d][q] vertices of device q.
PairBytesTable BufferCapacities(const std::vector<std::vector<std::size_t>>& halo,
                                std::optional<std::size_t> message_payload, std::optional<std::size_t> shared_payload);

}  // namespace chatty
