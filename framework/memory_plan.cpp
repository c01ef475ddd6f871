#include "chatty/framework/memory_plan.h"

#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "chatty/core/bytes.h"
#include "chatty/core/host_memory.h"
#include "chatty/framework/device_graph.h"
#include "chatty/framework/engines/agreement.h"
#include "chatty/framework/run_plan.h"
#include "chatty/framework/union_map.h"

namespace chatty {
namespace {

/// The adjacencies that a session makes: for a symmetric graph, one serves all needs.
SubgraphOptions Normalised(SubgraphOptions needs, bool symmetric) {
  if (symmetric) {
    needs.edges = Edges::kOut;
    needs.forward = needs.reverse = true;
  }
  return needs;
}

std::uint64_t CsrBytes(const GraphCounts& counts) {
  return (counts.vertices + 1) * sizeof(EdgeIndex) +
         counts.edges * (sizeof(VertexId) + (counts.weights == WeightKind::kNone ? 0 : 4));
}

/// The transport that a spec names, or "auto", because the selection is unknown without costs.
std::string_view NamedPath(const CommSpec& comm, DeviceKind kind) {
  return SelectPaths(comm, kind, CostModel(), {}, /*collectives=*/true).front();
}

std::size_t Capacity(std::size_t entries, std::optional<std::size_t> payload) {
  return payload ? BufferCapacity(entries, *payload) : 0;
}

/// Bounds of message buffers from counts alone; halo[d][q] is the assumed number of q's vertices in d's halo.
void BoundBuffers(const ProgramMemory& program, std::span<const PartShape> parts,
                  const std::vector<std::vector<std::size_t>>& halo, DeviceKind kind, const CommSpec& comm, Bound bound,
                  std::vector<DeviceMemory>& devices, std::uint64_t& staging) {
  if (devices.size() < 2) return;
  PairBytesTable capacities = program.exchange ? ExchangeCapacities(program, parts)
                                               : BufferCapacities(halo, program.message_payload, program.shared_payload);
  std::string_view path = NamedPath(comm, kind);
  if (path == "auto" && kind == DeviceKind::kCuda) {
    if (bound == Bound::kMin) return;  // all messages may go through host memory
    path = "staged";                   // it has buffers wherever other paths have some
  }
  TransportOptions options;
  options.slots = program.slots;
  const TransportInfo* const info = FindTransport(path);
  if (!program.exchange && (comm.broadcast || (info != nullptr && info->broadcast_only))) {
    for (auto& row : capacities) {
      options.broadcast.push_back(bound == Bound::kMin ? *std::max_element(row.begin(), row.end())
                                                       : std::accumulate(row.begin(), row.end(), std::size_t{0}));
      std::fill(row.begin(), row.end(), 0);
    }
  }
  if (bound == Bound::kMax && comm.chooses() && !program.exchange && !program.asynchronous && devices.size() > 2) {
    std::uint64_t unions = 0;
    for (std::size_t d = 0; d < devices.size(); ++d) {  // values of the border may be broadcast
      std::size_t border = 0;
      for (const auto& row : halo) border += row[d];
      border = std::min<std::size_t>(border, parts[d].owned);
      options.broadcast.push_back(Capacity(border, program.shared_payload));
      unions += border;
    }
    for (DeviceMemory& device : devices) device.buffers += kind == DeviceKind::kHost ? 0 : unions * sizeof(LocalId);
  }
  const TransportMemory buffers = MeasureTransport(path, kind, capacities, options);
  for (std::size_t d = 0; d < devices.size(); ++d) devices[d].buffers += buffers.devices[d];
  staging += buffers.host;
}

/// Bytes of host arrays of one part; see Subgraph.
std::uint64_t SubgraphBytes(const PartShape& part, const GraphCounts& counts, DeviceKind kind, Bound bound) {
  const bool least = bound == Bound::kMin;
  const bool renamed = !part.identity && (kind == DeviceKind::kHost || !least);  // GPUs rename neighbours of ranges
  const bool shared = !renamed && sizeof(VertexId) == sizeof(LocalId);
  std::uint64_t bytes = part.owned * (part.symmetric ? 1 : 2) * sizeof(EdgeIndex);
  const auto add = [&](const PartShape::Rows& rows) {
    if (!rows.built) return;
    const bool merged = rows.edges > counts.edges / part.parts + 1;
    if ((!part.identity && !(least && part.part == 0)) || merged) bytes += (part.owned + 1) * sizeof(EdgeIndex);
    if (!shared || merged) bytes += rows.edges * sizeof(LocalId);
    const bool viewed = part.weights == counts.weights && (least || part.identity) && !merged;
    if (part.weights != WeightKind::kNone && !viewed) bytes += rows.edges * 4;
  };
  add(part.forward);
  if (!part.one_list) add(part.reverse);
  if (part.own_begins) bytes += part.owned * sizeof(EdgeIndex);
  if (!part.identity && kind != DeviceKind::kHost && !least) bytes += (part.vertices + 63) / 64 * sizeof(HaloWord);
  if (!part.identity) bytes += part.local * sizeof(VertexId);
  // Subset and union numberings. Each device with a border in its halo has an entry for each vertex of the border's union.
  return bytes + part.border * 3 * sizeof(LocalId) + std::min(part.border, part.owned) * (part.parts - 1) * sizeof(LocalId);
}

bool NeedsInEdges(const SubgraphOptions& needs) {
  return needs.edges == Edges::kOut  ? needs.reverse
         : needs.edges == Edges::kIn ? needs.forward
                                     : needs.forward || needs.reverse;
}

/// The part of the needs that identifies a set of graphs; own_begins can be added to the set.
auto KeyOf(const SubgraphOptions& needs) { return std::tuple(needs.edges, needs.weights, needs.forward, needs.reverse); }

std::string EachOf(std::size_t devices) {
  return devices == 1 ? "its one device" : fmt::format("each of {} devices on average", devices);
}

}  // namespace

PairBytesTable BufferCapacities(const std::vector<std::vector<std::size_t>>& halo,
                                std::optional<std::size_t> message_payload, std::optional<std::size_t> shared_payload) {
  const std::size_t parts = halo.size();
  PairBytesTable capacities(parts, std::vector<std::size_t>(parts, 0));
  for (std::size_t from = 0; from < parts; ++from) {
    for (std::size_t to = 0; to < parts; ++to) {
      if (from == to) continue;
      const std::size_t messages = halo[from][to], values = halo[to][from];
      capacities[from][to] = std::max(Capacity(messages, message_payload), Capacity(values, shared_payload));
    }
  }
  return capacities;
}

ProgramMemory MemoryOf(std::shared_ptr<const ErasedProgram> program, const RunOptions& options, std::size_t devices) {
  const ProgramTraits& traits = program->traits();
  const ProgramPlan plan = PlanProgram(&traits, options, devices);
  ProgramMemory memory;
  memory.edges = traits.edges;
  memory.weights = traits.weights;
  memory.forward = plan.directions.push;
  memory.reverse = plan.directions.pull;
  memory.asynchronous = plan.engine == EngineKind::kAsync;
  memory.slots = plan.slots;
  memory.message_payload = plan.message_payload;
  memory.shared_payload = plan.shared_payload;
  memory.output_bytes = traits.output_bytes;
  memory.data_bytes = traits.data_bytes;
  memory.state = [program = std::move(program), rows = plan.rows](DeviceKind kind, int threads, const PartShape& part) {
    return program->StateBytes(kind, threads, part, rows);
  };
  return memory;
}

CommPlan PlanComm(std::span<const Subgraph> subgraphs, const ProgramMemory& program, const RunOptions& options,
                  DeviceKind kind, const CostModel& model) {
  CommPlan plan;
  plan.options.links = options.links;
  plan.options.timeout = options.timeout;
  plan.options.collectives = !program.asynchronous;
  plan.options.slots = program.slots;
  std::vector<std::vector<std::size_t>> halo(subgraphs.size(), std::vector<std::size_t>(subgraphs.size(), 0));
  for (std::size_t d = 0; d < subgraphs.size(); ++d) {
    for (PartId q = 0; q < subgraphs.size(); ++q) halo[d][q] = subgraphs[d].halo_count(q);
  }
  plan.capacities = BufferCapacities(halo, program.message_payload, program.shared_payload);
  plan.paths = SelectPaths(options.comm, kind, model, plan.capacities, plan.options.collectives);
  const TransportInfo* const info = FindTransport(plan.paths[0]);
  // An asynchronous engine has no time at which all devices receive a broadcast.
  if (!plan.options.collectives) return plan;
  std::vector<std::size_t> borders;  // bytes of each device's broadcast
  for (const Subgraph& part : subgraphs) borders.push_back(Capacity(part.border_union.size(), program.shared_payload));
  if (options.comm.broadcast || (info != nullptr && info->broadcast_only)) {
    plan.broadcasts = Broadcasts::kAlways;
    for (std::size_t d = 0; d < subgraphs.size(); ++d) {
      borders[d] = std::max(borders[d], Capacity(subgraphs[d].local - subgraphs[d].owned, program.message_payload));
      std::fill(plan.capacities[d].begin(), plan.capacities[d].end(), 0);
    }
  } else if (options.comm.chooses() && !options.transport_factory) {
    // Only pulls broadcast: a push's message has one owner.
    const PairBytesTable values = BufferCapacities(halo, std::nullopt, program.shared_payload);
    if (BroadcastsMayPay(plan.paths, model, values, borders)) plan.broadcasts = Broadcasts::kChosen;
  }
  if (plan.broadcasts != Broadcasts::kNever) plan.options.broadcast = std::move(borders);
  return plan;
}

PairBytesTable ExchangeCapacities(const ProgramMemory& program, std::span<const PartShape> parts) {
  PairBytesTable capacities(parts.size(), std::vector<std::size_t>(parts.size(), 0));
  if (!program.exchange) return capacities;
  for (PartId from = 0; from < parts.size(); ++from) {
    for (PartId to = 0; to < parts.size(); ++to) {
      if (from != to) capacities[from][to] = program.exchange(parts[from], from, to);
    }
  }
  return capacities;
}

CommPlan PlanExchanges(PairBytesTable capacities, const RunOptions& options, DeviceKind kind, const CostModel& model) {
  CommPlan plan;
  plan.options.links = options.links;
  plan.options.timeout = options.timeout;
  plan.options.collectives = false;
  plan.paths = SelectPaths(options.comm, kind, model, capacities, plan.options.collectives);
  plan.capacities = std::move(capacities);
  return plan;
}

GraphCounts CountsOf(const Graph& graph) {
  return {graph.vertices(), graph.edges(), graph.symmetric(), graph.weight_kind(), 0};
}

MemoryPlan BoundMemory(const GraphCounts& counts, std::span<const ProgramMemory> programs, DeviceKind kind, PartId devices,
                       const CommSpec& comm, Bound bound, bool text, std::uint64_t listed, int threads) {
  const bool most = bound == Bound::kMax;
  MemoryPlan plan;
  plan.devices.resize(devices);
  HostMemory& host = plan.host;
  host.graph = CsrBytes(counts);
  // A text's edges are a list before they become rows. At the peak, the list, the sorted edges and the rows exist together.
  const std::uint64_t pair = 2 * sizeof(VertexId) + (counts.weights == WeightKind::kNone ? 0 : 4);
  const std::uint64_t both_ways = counts.symmetric ? 2 : 1;
  const std::uint64_t list = std::max(listed, counts.edges / both_ways) * pair;
  host.loading = !text ? host.graph : most ? host.graph + (1 + both_ways) * list : std::max(host.graph, list);

  std::set<decltype(KeyOf({}))> seen, with_own_begins;
  for (const ProgramMemory& program : programs) {
    if (program.own_begins) with_own_begins.insert(KeyOf(Normalised(program.needs(), counts.symmetric)));
  }
  bool in_edges = false;
  for (const ProgramMemory& program : programs) {
    SubgraphOptions needs = Normalised(program.needs(), counts.symmetric);
    needs.own_begins = with_own_begins.contains(KeyOf(needs));
    const bool first = seen.insert(KeyOf(needs)).second;
    in_edges = in_edges || (!counts.symmetric && NeedsInEdges(needs));
    std::vector<std::vector<std::size_t>> halo(devices, std::vector<std::size_t>(devices, 0));
    std::vector<PartShape> shapes(devices);
    for (PartId d = 0; d < devices; ++d) {
      const PartShape& shape = shapes[d] = BoundShape(counts, needs, d, devices, bound);
      DeviceMemory& device = plan.devices[d];
      if (first) {
        device.graph += DeviceGraph::BytesFor(kind, shape);
        host.parts += SubgraphBytes(shape, counts, kind, bound);
      }
      const auto& state = !most && program.least_state ? program.least_state : program.state;
      const int its_threads = ThreadsOfHostDevice(static_cast<int>(d), static_cast<int>(devices), threads);
      if (state) device.state += state(kind, kind == DeviceKind::kHost ? its_threads : 0, shape);
      for (PartId q = 0; q < devices; ++q) {  // halos consist of equal shares of all other parts
        if (q != d) halo[d][q] = (shape.halo() + devices - 2) / (devices - 1);
      }
      host.output = std::max(host.output, (counts.vertices + (devices > 1 ? shape.owned : 0)) * program.output_bytes);
    }
    host.data = std::max(host.data, std::uint64_t{counts.vertices} * program.data_bytes);
    BoundBuffers(program, shapes, halo, kind, comm, bound, plan.devices, host.staging);
  }
  if (!counts.symmetric) host.in_edges = in_edges ? CsrBytes(counts) : counts.vertices * sizeof(EdgeIndex);
  if (most && devices > 1) {
    host.parts += counts.vertices * (4 + 4 + sizeof(VertexId));  // owners, local ids and lists of a partition without ranges
    host.parts += counts.vertices * sizeof(LocalId) + counts.vertices / 8;  // scratch of the subgraphs
  }
  if (kind == DeviceKind::kHost) {
    for (const DeviceMemory& device : plan.devices) host.devices += device.total();
  }
  return plan;
}

std::vector<DeviceMemory> MeasureMemory(std::span<const ProgramMemory> programs,
                                        std::span<const std::span<const Subgraph>> subgraphs,
                                        const std::vector<bool>& graph_counted, DeviceKind kind,
                                        std::span<const int> threads, const RunOptions& options, const CostModel& model) {
  const std::size_t parts = subgraphs.empty() ? 0 : subgraphs[0].size();
  std::vector<DeviceMemory> devices(parts);
  for (std::size_t i = 0; i < programs.size(); ++i) {
    std::vector<PartShape> shapes(parts);
    for (std::size_t d = 0; d < parts; ++d) {
      const PartShape& shape = shapes[d] = ShapeOf(subgraphs[i][d]);
      if (graph_counted[i]) devices[d].graph += DeviceGraph::BytesFor(kind, shape);
      if (programs[i].state) devices[d].state += programs[i].state(kind, threads[d], shape);
    }
    if (parts < 2) continue;
    const CommPlan plan = programs[i].exchange ? PlanExchanges(ExchangeCapacities(programs[i], shapes), options, kind, model)
                                               : PlanComm(subgraphs[i], programs[i], options, kind, model);
    for (const std::string_view path : plan.paths) {
      const TransportMemory buffers = MeasureTransport(path, kind, plan.capacities, plan.options);
      for (std::size_t d = 0; d < parts; ++d) devices[d].buffers += buffers.devices[d];
    }
    for (std::size_t d = 0; plan.broadcasts != Broadcasts::kNever && d < parts; ++d)
      devices[d].buffers += UnionMap::BytesFor(kind, subgraphs[i][d]);
    const bool sums = !programs[i].exchange && !programs[i].asynchronous && options.comm.state == StatePath::kNccl;
    for (std::size_t d = 0; sums && d < parts; ++d) devices[d].buffers += parts * kRoundWords * sizeof(std::uint64_t);
  }
  return devices;
}

std::vector<int> ThreadsOf(std::span<Device* const> devices) {
  std::vector<int> threads;
  for (Device* const device : devices) threads.push_back(device->team() != nullptr ? device->team()->size() : 0);
  return threads;
}

std::string Describe(const DeviceMemory& memory) {
  return fmt::format("{}: graph {}, state {}, buffers {}", ExactBytes(memory.total()), FormatBytes(memory.graph),
                     FormatBytes(memory.state), FormatBytes(memory.buffers));
}

std::string AdviceOnDevices(const GraphCounts& least, const GraphCounts& most, std::span<const ProgramMemory> programs,
                            DeviceKind kind, PartId devices, const CommSpec& comm, std::uint64_t limit) {
  constexpr auto kLargest = static_cast<PartId>(kMaxDevices);
  // What devices share takes more memory of each the more they are: fewer may do, too, and 64 do not where 8 would.
  bool none = true;
  for (PartId count = 1; none && count <= kLargest; ++count) {
    std::uint64_t needed = 0;
    for (const DeviceMemory& device : BoundMemory(least, programs, kind, count, comm, Bound::kMin).devices) {
      needed += device.total();
    }
    none = needed / count > limit;
  }
  if (none) return fmt::format("{} devices are not enough either; use a smaller graph or allow more memory", kMaxDevices);
  // A power of two of devices on which each is within the limit: the smallest above `devices`, else the largest below; 0 if
  // there is none.
  const auto fitting = [&](const GraphCounts& counts, Bound bound) -> PartId {
    const auto fits = [&](PartId count) {
      const MemoryPlan plan = BoundMemory(counts, programs, kind, count, comm, bound);
      return std::all_of(plan.devices.begin(), plan.devices.end(),
                         [&](const DeviceMemory& device) { return device.total() <= limit; });
    };
    PartId above = 1;
    for (; above <= devices; above *= 2) {
    }
    for (PartId count = above; count <= kLargest; count *= 2) {
      if (fits(count)) return count;
    }
    for (PartId count = above / 2; count > 0; count /= 2) {
      if (count < devices && fits(count)) return count;
    }
    return 0;
  };
  const PartId many = fitting(most, Bound::kMax), few = fitting(least, Bound::kMin);
  if (many == 0) {
    std::string otherwise = "use a smaller graph or allow more memory";
    if (few != 0 && few < devices) return "fewer devices may do, depending on the division of the graph; " + otherwise;
    if (devices >= kLargest) return otherwise;
    return "more devices may help, depending on the division of the graph; " + otherwise;
  }
  return fmt::format(
      "it may fit on {} device{}{}; or use a smaller graph", many, many == 1 ? "" : "s",
      few != 0 && few < many && few > devices ? fmt::format(", or on as few as {} if few edges are cut", few) : "");
}

void CheckBounds(const KnownGraph& graph, std::span<const ProgramMemory> programs, std::span<Device* const> devices,
                 const CommSpec& comm, const MemoryLimits& limits) {
  const DeviceKind kind = devices[0]->kind();
  const auto parts = static_cast<PartId>(devices.size());
  const std::vector<int> threads = ThreadsOf(devices);
  const MemoryPlan plan = BoundMemory(graph.least, programs, kind, parts, comm, Bound::kMin, graph.text, /*listed=*/0,
                                      std::accumulate(threads.begin(), threads.end(), 0));

  std::uint64_t needed = 0, allowed = 0;
  std::set<int> seen;  // GPUs already counted, because several devices may share one
  bool known = true;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    const std::uint64_t limit = limits.device > 0           ? limits.device
                                : kind == DeviceKind::kHost ? 0
                                                            : devices[d]->free_memory();
    known = known && limit > 0;
    needed += plan.devices[d].total();
    if (limits.device > 0 || seen.insert(devices[d]->index()).second) allowed += limit;
  }
  if (known && needed > allowed) {
    Throw<OutOfMemoryError>("out of memory (nothing was allocated): {} needs at least {} on {}, but {}: {}", graph.words,
                            Describe(plan.devices[0]), EachOf(parts),
                            limits.device > 0 ? fmt::format("the memory limit allows only {}", ExactBytes(allowed / parts))
                                              : fmt::format("only {} is free", ExactBytes(allowed / parts)),
                            AdviceOnDevices(graph.least, graph.most, programs, kind, parts, comm, allowed / parts));
  }

  const HostMemory& h = plan.host;
  const bool loaded = graph.held > 0;
  std::uint64_t host = h.total(), room = limits.host;
  if (loaded) {  // loading is over, and available memory, unlike a limit, excludes memory already held
    const std::uint64_t rows = std::max(h.graph + h.in_edges, graph.held);
    host = rows - (room > 0 ? 0 : graph.held) + h.parts + h.staging + std::max(h.output, h.data) + h.devices;
  }
  if (room == 0) room = AvailableHostMemory();
  if (room > 0 && host > room) {
    Throw<OutOfMemoryError>(
        "out of memory (nothing was allocated): {} needs at least {}{} of host memory ({}graph {}, in-edges {}, parts {}, "
        "output {}, {}host devices {}{}), but {}: use a smaller graph or a machine with more memory",
        graph.words, ExactBytes(host), loaded && limits.host == 0 ? " more" : "",
        loaded ? "" : fmt::format("while loading {}; then ", FormatBytes(h.loading)), FormatBytes(h.graph),
        FormatBytes(h.in_edges), FormatBytes(h.parts), FormatBytes(h.output),
        h.data > 0 ? fmt::format("vertex data {}, ", FormatBytes(h.data)) : "", FormatBytes(h.devices),
        loaded ? fmt::format("; held already {}", FormatBytes(graph.held)) : "",
        limits.host > 0 ? fmt::format("the host's limit allows only {}", ExactBytes(room))
                        : fmt::format("only {} is available", ExactBytes(room)));
  }
}

}  // namespace chatty
