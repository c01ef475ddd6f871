#include "chatty/framework/device_graph.h"

#include <algorithm>

#include "chatty/core/config.h"
#include "chatty/core/huge_pages.h"
#include "chatty/core/parallel.h"
#include "chatty/framework/rename.h"

namespace chatty {
namespace {

constexpr std::size_t kLarge = std::size_t{1} << 20;  // bytes for which page-locked pieces pay
/// Bytes of rows in host memory from which on huge pages pay. A second-level TLB reaches as many with small pages, 2,048 of
/// 4 KiB, and where memory is fragmented, moving 2 MB has taken 5 ms: more than a search.
constexpr std::size_t kPaysHugePages = std::size_t{8} << 20;
constexpr std::size_t kOffsetsGrain = std::size_t{1} << 16;

/// Whether offsets of so many edges are kept in 32 bits.
bool Narrows(EdgeIndex edges) { return edges <= std::numeric_limits<std::uint32_t>::max(); }

/// Bytes of `entries` offsets into an array of so many edges.
std::uint64_t OffsetsBytes(bool copies, std::uint64_t entries, EdgeIndex edges) {
  if (Narrows(edges)) return entries * sizeof(std::uint32_t);
  return copies ? entries * sizeof(EdgeIndex) : 0;
}

/// The list that has own_begins, if there is one.
const LocalAdjacency* OneList(const Subgraph& subgraph) {
  return subgraph.forward ? subgraph.forward.get() : subgraph.reverse.get();
}

}  // namespace

std::uint64_t DeviceGraph::BytesFor(DeviceKind kind, const PartShape& part) {
  const bool copies = kind != DeviceKind::kHost;  // what Upload does
  std::uint64_t bytes = 0;
  const auto upload = [&](const PartShape::Rows& rows) {
    if (!rows.built) return;
    bytes += OffsetsBytes(copies, part.owned + 1, rows.edges);
    if (copies) bytes += rows.edges * (sizeof(LocalId) + (part.weights == WeightKind::kNone ? 0 : 4));
  };
  upload(part.forward);
  if (!part.one_list) upload(part.reverse);
  const PartShape::Rows& list = part.forward.built ? part.forward : part.reverse;
  if (part.own_begins) bytes += OffsetsBytes(copies, part.owned, list.edges);
  if (!copies) return bytes;
  std::uint64_t tables = part.identity ? 0 : part.local * sizeof(VertexId);
  tables += part.owned * (part.symmetric ? 1 : 2) * sizeof(EdgeIndex);  // degrees
  tables += (std::uint64_t{part.parts} + 1) * 2 * sizeof(LocalId);      // where halo and border begin
  tables += part.border * sizeof(LocalId);
  // What renames neighbours is there before the tables, and not beside them.
  const std::uint64_t words = part.identity ? 0 : (part.vertices + 63) / 64 * sizeof(HaloWord);
  return bytes + std::max(tables, words);
}

template <class T>
const T* DeviceGraph::Upload(std::span<const T> data, Buffer<T>& buffer) {
  if (device_->kind() == DeviceKind::kHost) {
    if (data.size_bytes() >= kPaysHugePages) MoveToHugePages(data.data(), data.size_bytes(), 0);
    return data.data();
  }
  buffer = Buffer<T>(*device_, data.size());
  bytes_ += buffer.bytes();
  if (data.size_bytes() >= kLarge) {
    uploader().Copy(buffer.data(), data.data(), data.size());
  } else {
    device_->CopyIn(buffer.data(), data.data(), data.size_bytes(), device_->stream());
  }
  return buffer.data();
}

OffsetsRef DeviceGraph::Upload(std::span<const EdgeIndex> offsets, EdgeIndex edges, Offsets& buffers) {
  OffsetsRef ref;
  if (Narrows(edges)) {
    // Narrowed on the way: half the bytes for every look-up.
    const auto narrow = [&](std::uint32_t* to, std::size_t begin, std::size_t n) {
      for (std::size_t i = 0; i < n; ++i) to[i] = static_cast<std::uint32_t>(offsets[begin + i]);
    };
    buffers.narrow = Buffer<std::uint32_t>(*device_, offsets.size());
    bytes_ += buffers.narrow.bytes();
    std::uint32_t* const to = buffers.narrow.data();
    if (device_->kind() != DeviceKind::kHost && buffers.narrow.bytes() >= kLarge) {
      uploader().CopyFilled(to, offsets.size(), narrow);
    } else {
      const bool here = device_->kind() == DeviceKind::kHost;
      Array<std::uint32_t> copied(here ? 0 : offsets.size());
      std::uint32_t* const from = here ? to : copied.data();
      ParallelChunks(offsets.size(), threads_, kOffsetsGrain,
                     [&](std::size_t begin, std::size_t end) { narrow(from + begin, begin, end - begin); });
      if (!here) {
        device_->CopyIn(to, from, copied.bytes(), device_->stream());
        device_->stream().Synchronize();  // `copied` goes out of scope
      }
    }
    ref.narrow = buffers.narrow.data();
  } else {
    ref.wide = Upload(offsets, buffers.wide);
  }
  return ref;
}

AdjacencyRef DeviceGraph::Upload(const LocalAdjacency& adjacency, Rows& rows) {
  AdjacencyRef ref;
  ref.offsets = Upload(adjacency.offsets, adjacency.neighbours.size(), rows.offsets);
  ref.neighbours = Upload(adjacency.neighbours, rows.neighbours);
  std::visit(
      [&](const auto& weights) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(weights)>, std::monostate>) {
          const std::span<const std::byte> raw = std::as_bytes(weights);
          ref.weights = Upload(raw, rows.weights);
        }
      },
      adjacency.weights);
  ref.max_degree = adjacency.max_degree;
  return ref;
}

void DeviceGraph::Rename([[maybe_unused]] const LocalAdjacency& adjacency, [[maybe_unused]] Rows& rows,
                         [[maybe_unused]] const Buffer<HaloWord>& words) {
#if CHATTY_WITH_CUDA
  if (adjacency.neighbours.empty()) return;  // a part without vertices
  RenameNeighbours(*device_, rows.neighbours.data(), adjacency.neighbours.size(), subgraph_->Global(0), subgraph_->owned,
                   words.data());
#endif
}

Uploader& DeviceGraph::uploader() {
  if (uploader_ == nullptr) uploader_ = std::make_unique<Uploader>(*device_, threads_);
  return *uploader_;
}

DeviceGraph::DeviceGraph(Device& device, const Subgraph& subgraph, int threads)
    : device_(&device), subgraph_(&subgraph), threads_(threads) {
  device.MakeCurrent();
  ref_.vertices = subgraph.vertices;
  ref_.symmetric = subgraph.symmetric;
  ref_.owned = subgraph.owned;
  ref_.local = subgraph.local;
  ref_.part = subgraph.part;
  ref_.parts = subgraph.parts;
  if (subgraph.forward) ref_.forward = Upload(*subgraph.forward, forward_);
  if (subgraph.reverse == subgraph.forward) {
    ref_.reverse = ref_.forward;
  } else if (subgraph.reverse) {
    ref_.reverse = Upload(*subgraph.reverse, reverse_);
  }
  if (!subgraph.halo_words.empty()) {
    Buffer<HaloWord> words;
    const std::size_t held = bytes_;
    Upload(subgraph.halo_words.span(), words);
    bytes_ = held;  // not for long
    if (subgraph.forward && subgraph.forward->global) Rename(*subgraph.forward, forward_, words);
    if (subgraph.reverse && subgraph.reverse != subgraph.forward && subgraph.reverse->global) {
      Rename(*subgraph.reverse, reverse_, words);
    }
  }
  if (!subgraph.identity) ref_.global_ids = Upload(subgraph.global_ids.span(), global_ids_);
  ref_.out_degrees = Upload(subgraph.out_degrees.span(), out_degrees_);
  ref_.in_degrees = subgraph.symmetric ? ref_.out_degrees : Upload(subgraph.in_degrees.span(), in_degrees_);
  // Steps count the work of both directions; one that was not built stands in with the other's and is never taken.
  if (!subgraph.forward) ref_.forward = ref_.reverse;
  if (!subgraph.reverse) ref_.reverse = ref_.forward;
  ref_.halo_begin = Upload(std::span<const LocalId>(subgraph.halo_begin), halo_begin_);
  ref_.lesser_end = subgraph.halo_begin[subgraph.part];
  ref_.ranges = PartsAreRanges(subgraph);
  if (ref_.ranges) ref_.first_id = subgraph.Global(0);
  if (ref_.ranges && ref_.symmetric && ref_.lesser_end == ref_.owned) ref_.own_begins = ref_.forward.offsets;
  UpdateOwnBegins();

  border_begin_host_ = Array<LocalId>(subgraph.parts + 1, 0);
  for (PartId q = 0; q < subgraph.parts; ++q) {
    const std::size_t entries = q < subgraph.border.size() ? subgraph.border[q].size() : 0;
    border_begin_host_[q + 1] = border_begin_host_[q] + static_cast<LocalId>(entries);
  }
  border_vertices_host_ = Array<LocalId>(border_begin_host_[subgraph.parts]);
  for (PartId q = 0; q < subgraph.parts && q < subgraph.border.size(); ++q) {
    std::copy(subgraph.border[q].begin(), subgraph.border[q].end(), border_vertices_host_.begin() + border_begin_host_[q]);
  }
  border_.begin = Upload(std::span<const LocalId>(border_begin_host_.span()), border_begin_);
  border_.vertices = Upload(std::span<const LocalId>(border_vertices_host_.span()), border_vertices_);
  device.stream().Synchronize();
  uploader_.reset();
}

std::uint64_t DeviceGraph::OwnBeginsBytes() const {
  if (!LacksOwnBegins()) return 0;
  return OffsetsBytes(device_->kind() != DeviceKind::kHost, subgraph_->owned, OneList(*subgraph_)->neighbours.size());
}

void DeviceGraph::UpdateOwnBegins() {
  if (!LacksOwnBegins()) return;
  device_->MakeCurrent();
  if (device_->kind() != DeviceKind::kHost && OwnBeginsBytes() >= kLarge) uploader();  // may throw: before anything changes
  ref_.own_begins = Upload(subgraph_->own_begins.span(), OneList(*subgraph_)->neighbours.size(), own_begins_);
  device_->stream().Synchronize();
  uploader_.reset();
}

}  // namespace chatty
