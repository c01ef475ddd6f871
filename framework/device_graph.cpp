#include "chatty/framework/device_graph.h"

#include <algorithm>

#include "chatty/core/huge_pages.h"
#include "chatty/core/parallel.h"

namespace chatty {
namespace {

/// Whether offsets of so many edges are kept in 32 bits.
bool Narrows(EdgeIndex edges) { return edges <= std::numeric_limits<std::uint32_t>::max(); }

/// Whether owned vertices' ids follow each other, and the halo's vertices of earlier parts have lesser ids than these, and
/// those of later parts greater. Each owner's ascend.
bool PartsAreRanges(const Subgraph& subgraph) {
  if (subgraph.identity || subgraph.owned == 0) return false;
  const VertexId first = subgraph.Global(0), last = subgraph.Global(subgraph.owned - 1);
  if (last - first != subgraph.owned - 1) return false;
  for (PartId q = 0; q < subgraph.parts; ++q) {
    if (subgraph.halo_count(q) == 0) continue;
    if (q < subgraph.part && subgraph.Global(subgraph.halo_begin[q + 1] - 1) > first) return false;
    if (q > subgraph.part && subgraph.Global(subgraph.halo_begin[q]) < last) return false;
  }
  return true;
}

}  // namespace

std::uint64_t DeviceGraph::BytesFor(DeviceKind kind, const PartShape& part) {
  const bool copies = kind != DeviceKind::kHost;  // what Place does
  std::uint64_t bytes = 0;
  const auto upload = [&](const PartShape::Rows& rows) {
    if (!rows.built) return;
    if (Narrows(rows.edges)) {
      bytes += (part.owned + 1) * sizeof(std::uint32_t);
    } else if (copies) {
      bytes += (part.owned + 1) * sizeof(EdgeIndex);
    }
    if (copies) bytes += rows.edges * (sizeof(LocalId) + (part.weights == WeightKind::kNone ? 0 : 4));
  };
  upload(part.forward);
  if (!part.one_list) upload(part.reverse);
  if (!copies) return bytes;
  if (!part.identity) bytes += part.local * sizeof(VertexId);
  bytes += part.owned * 2 * sizeof(EdgeIndex);                     // degrees
  bytes += (std::uint64_t{part.parts} + 1) * 2 * sizeof(LocalId);  // where halo and border begin
  return bytes + part.border * sizeof(LocalId);
}

template <class T>
const T* DeviceGraph::Place(std::span<const T> data, Buffer<T>& buffer) {
  if (device_->kind() == DeviceKind::kHost) {
    MoveToHugePages(data.data(), data.size_bytes(), 0);
    return data.data();
  }
  buffer = Buffer<T>(*device_, data.size());
  bytes_ += buffer.bytes();
  device_->CopyIn(buffer.data(), data.data(), data.size_bytes(), device_->stream());
  return buffer.data();
}

AdjacencyRef DeviceGraph::Upload(const LocalAdjacency& adjacency, Rows& rows) {
  AdjacencyRef ref;
  const EdgeIndex edges = adjacency.neighbours.size();
  if (Narrows(edges)) {
    // Narrowed on the way: half the bytes for every look-up.
    Array<std::uint32_t> narrow(adjacency.offsets.size());
    ParallelFor(narrow.size(), 0, [&](std::size_t i) { narrow[i] = static_cast<std::uint32_t>(adjacency.offsets[i]); });
    rows.narrow = Buffer<std::uint32_t>(*device_, narrow.size());
    device_->CopyIn(rows.narrow.data(), narrow.data(), narrow.bytes(), device_->stream());
    device_->stream().Synchronize();  // `narrow` goes out of scope
    bytes_ += rows.narrow.bytes();
    ref.offsets.narrow = rows.narrow.data();
  } else {
    ref.offsets.wide = Place(adjacency.offsets, rows.wide);
  }
  ref.neighbours = Place(adjacency.neighbours, rows.neighbours);
  std::visit(
      [&](const auto& weights) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(weights)>, std::monostate>) {
          const std::span<const std::byte> raw = std::as_bytes(weights);
          ref.weights = Place(raw, rows.weights);
        }
      },
      adjacency.weights);
  ref.max_degree = adjacency.max_degree;
  return ref;
}

DeviceGraph::DeviceGraph(Device& device, const Subgraph& subgraph) : device_(&device), subgraph_(&subgraph) {
  device.MakeCurrent();
  ref_.vertices = subgraph.vertices;
  ref_.symmetric = subgraph.symmetric;
  ref_.owned = subgraph.owned;
  ref_.local = subgraph.local;
  ref_.part = subgraph.part;
  ref_.parts = subgraph.parts;
  if (!subgraph.identity) ref_.global_ids = Place(subgraph.global_ids.span(), global_ids_);
  ref_.out_degrees = Place(subgraph.out_degrees.span(), out_degrees_);
  ref_.in_degrees = Place(subgraph.in_degrees.span(), in_degrees_);
  if (subgraph.forward) ref_.forward = Upload(*subgraph.forward, forward_);
  if (subgraph.reverse == subgraph.forward) {
    ref_.reverse = ref_.forward;
  } else if (subgraph.reverse) {
    ref_.reverse = Upload(*subgraph.reverse, reverse_);
  }
  // Steps count the work of both directions; one that was not built stands in with the other's and is never taken.
  if (!subgraph.forward) ref_.forward = ref_.reverse;
  if (!subgraph.reverse) ref_.reverse = ref_.forward;
  ref_.halo_begin = Place(std::span<const LocalId>(subgraph.halo_begin), halo_begin_);
  ref_.lesser_end = subgraph.halo_begin[subgraph.part];
  ref_.ranges = PartsAreRanges(subgraph);
  if (ref_.ranges) ref_.first_id = subgraph.Global(0);

  border_begin_host_ = Array<LocalId>(subgraph.parts + 1, 0);
  for (PartId q = 0; q < subgraph.parts; ++q) {
    const std::size_t entries = q < subgraph.border.size() ? subgraph.border[q].size() : 0;
    border_begin_host_[q + 1] = border_begin_host_[q] + static_cast<LocalId>(entries);
  }
  border_vertices_host_ = Array<LocalId>(border_begin_host_[subgraph.parts]);
  for (PartId q = 0; q < subgraph.parts && q < subgraph.border.size(); ++q) {
    std::copy(subgraph.border[q].begin(), subgraph.border[q].end(), border_vertices_host_.begin() + border_begin_host_[q]);
  }
  border_.begin = Place(std::span<const LocalId>(border_begin_host_.span()), border_begin_);
  border_.vertices = Place(std::span<const LocalId>(border_vertices_host_.span()), border_vertices_);
  device.stream().Synchronize();
}

}  // namespace chatty
