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

/// Owner of one device's copy of a Subgraph. A host device views the subgraph's arrays in place and copies only the offsets
/// that it can narrow to 32 bits. A GPU gets everything, and renames neighbours that have ids of the whole graph. The
/// subgraph must outlive it.
class DeviceGraph {
 public:
  /// `threads`: that copy to a GPU; 0: one a core. Throws OutOfMemoryError.
  DeviceGraph(Device& device, const Subgraph& subgraph, int threads = 0);

  /// Device memory that such a part takes on a device of this kind.
  static std::uint64_t BytesFor(DeviceKind kind, const PartShape& part);

  /// Whether AddOwnBegins has added something to the subgraph since.
  bool LacksOwnBegins() const { return !ref_.own_begins.there() && !subgraph_->own_begins.empty(); }
  /// Takes that over. References taken before go without. Throws OutOfMemoryError, and then has changed nothing.
  void UpdateOwnBegins();
  /// Device memory that UpdateOwnBegins would take now.
  std::uint64_t OwnBeginsBytes() const;

  /// @{
  /// What steps take: pointers into the device's memory; and what they were made from.
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
  /// Places in an array of so many edges.
  OffsetsRef Upload(std::span<const EdgeIndex> places, EdgeIndex edges, Offsets& offsets);
  AdjacencyRef Upload(const LocalAdjacency& adjacency, Rows& rows);
  /// Gives neighbours on a GPU their local ids.
  void Rename(const LocalAdjacency& adjacency, Rows& rows, const Buffer<HaloWord>& words);
  Uploader& uploader();
  template <class T>
  const T* Place(std::span<const T> data, Buffer<T>& buffer);

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
  std::unique_ptr<Uploader> uploader_;  // while arrays go to a GPU; ends before the memory that it writes does
};

}  // namespace chatty
