/// \file
/// The tables with which a device broadcasts its border and finds received entries in its halo.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "chatty/core/device.h"
#include "chatty/core/graph_ref.h"
#include "chatty/partition/subgraph.h"

namespace chatty {

/// The union numbering of one part in its device's memory; a host device's pointers refer to the subgraph's arrays. The
/// subgraph must outlive it.
class UnionMap {
 public:
  UnionMap() = default;
  /// Throws OutOfMemoryError.
  UnionMap(Device& device, const Subgraph& subgraph);

  /// Bytes of device memory.
  static std::uint64_t BytesFor(DeviceKind kind, const Subgraph& subgraph);

  const LocalId* vertices() const { return vertices_; }  ///< border_union
  LocalId size() const { return size_; }                 ///< its number of entries
  const LocalId* to_halo(PartId from) const {
    return to_halo_[from];
  }  ///< union_to_halo[from]: halo vertices of `from`'s border_union

 private:
  const LocalId* vertices_ = nullptr;
  LocalId size_ = 0;
  std::vector<const LocalId*> to_halo_;
  std::vector<Buffer<LocalId>> buffers_;
};

}  // namespace chatty
