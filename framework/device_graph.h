/// \file
/// A subgraph in its device's memory.
#pragma once

#include "chatty/core/device.h"
#include "chatty/core/graph_ref.h"
#include "chatty/core/upload.h"
#include "chatty/framework/state.h"
#include "chatty/partition/part_shape.h"
#include "chatty/partition/subgraph.h"

namespace chatty {

/// Owns one device's copy of a Subgraph. A host device views the subgraph's arrays in place and copies only offsets that fit
/// 32 bits. A GPU gets all arrays and renames neighbours with ids of the whole graph. The subgraph must outlive it.
class DeviceGraph {
 public:
  /// `threads`: for GPU copies; 0: one per core. Throws OutOfMemoryError.
  DeviceGraph(Device& device, const Subgraph& subgraph, int threads = 0);

  /// Device memory of this part on a device of this kind.
  static std::uint64_t BytesFor(DeviceKind kind, const PartShape& part);

  /// Whether AddOwnBegins has since added to the subgraph.
  bool LacksOwnBegins() const { return !ref_.own_begins.there() && !subgraph_->own_begins.empty(); }
  /// Uploads these. Earlier references lack them. On OutOfMemoryError, which it throws, nothing changes.
  void UpdateOwnBegins();
  /// Device memory that UpdateOwnBegins would take now.
  std::uint64_t OwnBeginsBytes() const;

  /// @{
  /// The steps' input, pointers into device memory; and its sources.
  const GraphRef& ref() const { return ref_; }
  const BorderRef& border() const { return border_; }
  const Subgraph& subgraph() const { return *subgraph_; }
  Device& device() const { return *device_; }
  /// @}
  std::size_t bytes() const { return bytes_; }  ///< device memory held

 private:
  struct Offsets {
    Buffer<EdgeIndex> wide;
    Buffer<std::uint32_t> narrow;
  };
  struct Rows {
    Offsets offsets;
    Buffer<LocalId> neighbours;
    Buffer<std::byte> weights;
  };
  /// Offsets into an array of `edges`.
  OffsetsRef Upload(std::span<const EdgeIndex> offsets, EdgeIndex edges, Offsets& buffers);
  AdjacencyRef Upload(const LocalAdjacency& adjacency, Rows& rows);
  /// Converts neighbours on a GPU to local ids.
  void Rename(const LocalAdjacency& adjacency, Rows& rows, const Buffer<HaloWord>& words);
  Uploader& uploader();
  /// `data` for the device: a copy in `buffer`, or on a host device the data in place.
  template <class T>
  const T* Upload(std::span<const T> data, Buffer<T>& buffer);

  Device* device_;
  const Subgraph* subgraph_;
  int threads_;
  GraphRef ref_;
  BorderRef border_;
  std::size_t bytes_ = 0;
  Rows forward_, reverse_;
  Offsets own_begins_;
  Buffer<VertexId> global_ids_;
  Buffer<EdgeIndex> out_degrees_, in_degrees_;
  Buffer<LocalId> halo_begin_, border_begin_, border_vertices_;
  Array<LocalId> border_begin_host_, border_vertices_host_;
  std::unique_ptr<Uploader> uploader_;  // during copies to a GPU; ends before its target memory
};

}  // namespace chatty
