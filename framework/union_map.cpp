#include "chatty/framework/union_map.h"

namespace chatty {

UnionMap::UnionMap(Device& device, const Subgraph& subgraph)
    : size_(static_cast<LocalId>(subgraph.border_union.size())), to_halo_(subgraph.parts) {
  device.MakeCurrent();
  const auto place = [&](const Array<LocalId>& data) -> const LocalId* {
    if (device.kind() == DeviceKind::kHost) return data.data();
    Buffer<LocalId>& buffer = buffers_.emplace_back(device, data.size());
    if (!data.empty()) device.CopyIn(buffer.data(), data.data(), data.bytes(), device.stream());
    return buffer.data();
  };
  buffers_.reserve(subgraph.parts + 1);
  vertices_ = place(subgraph.border_union);
  for (PartId p = 0; p < subgraph.parts; ++p) {
    if (p != subgraph.part) to_halo_[p] = place(subgraph.union_to_halo[p]);
  }
  device.stream().Synchronize();
}

std::uint64_t UnionMap::BytesFor(DeviceKind kind, const Subgraph& subgraph) {
  if (kind == DeviceKind::kHost) return 0;
  std::uint64_t entries = subgraph.border_union.size();
  for (const Array<LocalId>& map : subgraph.union_to_halo) entries += map.size();
  return entries * sizeof(LocalId);
}

}  // namespace chatty
