/// \file
/// What a device needs to tell all others of its border at once, and to find in its halo what they tell.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "chatty/core/device.h"
#include "chatty/core/graph_ref.h"
#include "chatty/partition/subgraph.h"

namespace chatty {

/// The union numbering of one part in its device's memory; a host device views the subgraph's arrays. The subgraph must
/// outlive it.
class UnionMap {
 public:
  UnionMap() = default;
  /// Throws OutOfMemoryError.
  UnionMap(Device& device, const Subgraph& subgraph);

  /// Device memory that it takes.
  static std::uint64_t BytesFor(DeviceKind kind, const Subgraph& subgraph);

  const LocalId* vertices() const { return vertices_; }                 ///< border_union
  LocalId size() const { return size_; }                                ///< its entries
  const LocalId* to_halo(PartId from) const { return to_halo_[from]; }  ///< of `from`'s border_union: union_to_halo[from]

 private:
  const LocalId* vertices_ = nullptr;
  LocalId size_ = 0;
  std::vector<const LocalId*> to_halo_;
  std::vector<Buffer<LocalId>> buffers_;
};

}  // namespace chatty
