/// Where hwloc says that a PCI device is plugged in.
#include <hwloc.h>

#include <memory>

#include "chatty/comm/machine.h"

namespace chatty::detail {

PciFacts AskHwloc(const std::string& bus_id) {
  PciFacts facts;
  hwloc_topology_t loading = nullptr;
  if (hwloc_topology_init(&loading) != 0) return facts;
  const std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)> topology(loading, &hwloc_topology_destroy);
  // A GPU's node need not be one on which the process may run.
  hwloc_topology_set_flags(topology.get(), HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  hwloc_topology_set_io_types_filter(topology.get(), HWLOC_TYPE_FILTER_KEEP_ALL);
  if (hwloc_topology_load(topology.get()) != 0) return facts;
  hwloc_obj* const device = hwloc_get_pcidev_by_busidstring(topology.get(), bus_id.c_str());
  if (device == nullptr) return facts;
  hwloc_obj* const place = hwloc_get_non_io_ancestor_obj(topology.get(), device);
  if (place == nullptr) return facts;
  if (place->nodeset != nullptr && hwloc_bitmap_weight(place->nodeset) == 1) {
    facts.numa_node = hwloc_bitmap_first(place->nodeset);
  }
  for (hwloc_obj_t at = place; at != nullptr; at = at->parent) {
    if (at->type == HWLOC_OBJ_PACKAGE) facts.socket = static_cast<int>(at->os_index);
  }
  return facts;
}

}  // namespace chatty::detail
