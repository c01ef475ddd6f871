/// \file
/// The memory of a run before allocation: bounds from a graph's counts alone, exact figures after division. The formulas are
/// in the allocating code: DeviceGraph::BytesFor, ProgramState::Bytes, MeasureTransport.
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
#include "chatty/framework/options.h"
#include "chatty/framework/step_set.h"
#include "chatty/partition/part_shape.h"

namespace chatty {

/// The facts about one program and its options that determine memory.
struct ProgramMemory {
  Edges edges = Edges::kOut;                   ///< edges it follows
  WeightKind weights = WeightKind::kNone;      ///< it reads
  bool forward = true;                         ///< builds this adjacency
  bool reverse = true;                         ///< and this
  bool own_begins = false;                     ///< uses GraphRef::own_begins
  std::optional<std::size_t> message_payload;  ///< bytes per entry exchanged by push; none: none
  std::optional<std::size_t> shared_payload;   ///< bytes per entry exchanged by pull; none: none
  bool asynchronous = false;                   ///< runs without rounds, so without broadcasts
  std::uint32_t slots = kMinTransportSlots;    ///< buffers of each pair
  std::size_t output_bytes = 0;                ///< each
  std::size_t data_bytes = 0;                  ///< per vertex, in host memory until devices have it
  /// Bytes of state on a device of this kind with this part; a host device has `threads` threads.
  std::function<std::uint64_t(DeviceKind, int threads, const PartShape&)> state;
  /// The minimum, where more than the part's shape matters; `state` is then the maximum. Else empty.
  std::function<std::uint64_t(DeviceKind, int threads, const PartShape&)> least_state;
  /// For an operator program: bytes of the largest object from `from` to `to` in one exchange. May be empty.
  std::function<std::size_t(const PartShape&, PartId from, PartId to)> exchange;
  bool complete = true;  ///< false: an operator program with unknown allocations, which needs more than this

  /// Its subgraphs' contents.
  SubgraphOptions needs() const { return {edges, forward, reverse, weights, own_begins, true, 0}; }
};

/// The memory facts of `program` on so many devices. Throws UsageError for a direction or an execution that it does not
/// support.
ProgramMemory MemoryOf(std::shared_ptr<const ErasedProgram> program, const RunOptions& options, std::size_t devices = 1);

/// Memory of one device, in bytes of its memory resource.
struct DeviceMemory {
  std::uint64_t graph = 0;                                         ///< on a host device only what cannot be a view
  std::uint64_t state = 0;                                         ///< of programs, and on a GPU the results before the copy
  std::uint64_t buffers = 0;                                       ///< for exchanges with other devices
  std::uint64_t total() const { return graph + state + buffers; }  ///< of the three
  bool operator==(const DeviceMemory&) const = default;            ///< all members
};

/// Host memory in bytes. Bounds, never exact: they exclude allocator overhead and text readers' buffers.
struct HostMemory {
  std::uint64_t graph = 0;     ///< rows, neighbours and weights
  std::uint64_t in_edges = 0;  ///< or in-degrees, of a directed graph
  std::uint64_t parts = 0;     ///< the partition's tables and the subgraphs
  std::uint64_t staging = 0;   ///< page-locked buffers
  std::uint64_t output = 0;    ///< results
  std::uint64_t data = 0;      ///< vertex data; freed before results exist
  std::uint64_t loading = 0;   ///< peak while a file is read, `graph` included; freed before the rest
  std::uint64_t devices = 0;   ///< of all host devices
  /// The peak.
  std::uint64_t total() const {
    return std::max(loading, graph + in_edges + parts + staging + std::max(output, data) + devices);
  }
};

/// A run's memory, bounded or exact.
struct MemoryPlan {
  std::vector<DeviceMemory> devices;  ///< each one
  HostMemory host;                    ///< bounds
};

/// A graph's counts. The largest degree, which needs a pass, stays unknown.
GraphCounts CountsOf(const Graph& graph);

/// Bounds the memory of programs in one session, from counts alone. Assumes an even division of vertices and edges. kMin is
/// below the true figure; kMax is above it, except by the imbalance of parts. `text`: the graph comes from a text format,
/// with `listed` edges if the graph keeps fewer. `comm` as in RunOptions. Host devices share `threads` CPU threads (0:
/// one per core), as in OpenDevices.
MemoryPlan BoundMemory(const GraphCounts& counts, std::span<const ProgramMemory> programs, DeviceKind kind, PartId devices,
                       const CommSpec& comm, Bound bound, bool text = true, std::uint64_t listed = 0, int threads = 0);

/// One program's exchanges and their paths, planned before any allocation.
struct CommPlan {
  std::vector<std::string_view> paths;               ///< the transports to make
  Broadcasts broadcasts = Broadcasts::kNever;        ///< when a device broadcasts
  PairBytesTable capacities;                         ///< of pairs' buffers
  TransportOptions options;                          ///< with the capacities of broadcasts
  bool operator==(const CommPlan&) const = default;  ///< all members
};
/// For a program with these needs and `options`. The options have been checked.
CommPlan PlanComm(std::span<const Subgraph> subgraphs, const ProgramMemory& program, const RunOptions& options,
                  DeviceKind kind, const CostModel& model);
/// Capacities of an operator program's message buffers between these parts: each pair's largest object; 0 where unknown.
PairBytesTable ExchangeCapacities(const ProgramMemory& program, std::span<const PartShape> parts);
/// For an operator program, whose exchanges are pairwise, in buffers of these capacities.
CommPlan PlanExchanges(PairBytesTable capacities, const RunOptions& options, DeviceKind kind, const CostModel& model);

/// Device memory for existing subgraphs: `subgraphs[i]` are those of programs[i], and its graph counts if
/// `graph_counted[i]`. Host device d has threads[d] threads; `model` selects paths. Exact up to 128 KiB per program and GPU;
/// for programs with least_state, the maximum.
std::vector<DeviceMemory> MeasureMemory(std::span<const ProgramMemory> programs,
                                        std::span<const std::span<const Subgraph>> subgraphs,
                                        const std::vector<bool>& graph_counted, DeviceKind kind,
                                        std::span<const int> threads, const RunOptions& options, const CostModel& model);

/// Threads of each device's team; 0 for a GPU.
std::vector<int> ThreadsOf(std::span<Device* const> devices);

/// Memory limits of a run, in bytes; 0: the available memory.
struct MemoryLimits {
  std::uint64_t device = 0;  ///< of each device
  std::uint64_t host = 0;    ///< of the process, including the graph and host devices
};

/// The known facts of a graph for a memory check.
struct KnownGraph {
  GraphCounts least;       ///< minimum counts
  GraphCounts most;        ///< maximum counts; equal to `least` after loading
  std::string words;       ///< description and source, for messages: "a graph of 4 vertices and 6 edges (in memory)"
  std::uint64_t held = 0;  ///< bytes of host memory already held; 0: not loaded yet
  bool text = true;        ///< the source is a text format
};

/// Throws OutOfMemoryError if the programs' minimum does not fit: on all devices together, because parts may be unequal, or
/// on the host. The host's available memory need not cover what the graph already holds.
void CheckBounds(const KnownGraph& graph, std::span<const ProgramMemory> programs, std::span<Device* const> devices,
                 const CommSpec& comm, const MemoryLimits& limits);

/// The end of an error message: how many devices, other than `devices`, may suffice with `limit` bytes each. Gives a power
/// of two for which `most` fits with about equal parts, and for which `least` fits without a border. An estimate. Certain
/// only if it says that kMaxDevices are too few: then the average need for `least` is too large on any number of devices.
std::string AdviceOnDevices(const GraphCounts& least, const GraphCounts& most, std::span<const ProgramMemory> programs,
                            DeviceKind kind, PartId devices, const CommSpec& comm, std::uint64_t limit);

/// "1,289,748 bytes (1.23 MiB: graph 512 KiB, state 700 KiB, buffers 0 bytes)".
std::string Describe(const DeviceMemory& memory);

/// Message buffer capacities for exchanges of `payload` bytes per entry, in any direction and encoding; halo[d][q]: vertices
/// of device q in device d's halo.
PairBytesTable BufferCapacities(const std::vector<std::vector<std::size_t>>& halo,
                                std::optional<std::size_t> message_payload, std::optional<std::size_t> shared_payload);

}  // namespace chatty
