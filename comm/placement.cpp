#include "chatty/comm/placement.h"

#include <cstddef>

#include "chatty/comm/machine.h"

namespace chatty {
namespace detail {

std::vector<CpuPlacement> PlaceGpus(std::span<const std::string> bus_ids, const CpuSet& allowed, const std::string& root) {
  std::vector<CpuPlacement> places(bus_ids.size());
  for (std::size_t d = 0; d < bus_ids.size(); ++d) {
    places[d].numa_node = ReadPci(LinuxBusId(bus_ids[d]), root).numa_node;
    const CpuSet near = CpusOfNode(places[d].numa_node, root) & allowed;
    if (near != allowed) places[d].cpus = near;
  }
  return places;
}

std::vector<CpuPlacement> PlaceHosts(std::span<const int> threads, const CpuSet& allowed, const std::string& root) {
  std::vector<CpuPlacement> places(threads.size());
  std::vector<CpuPlacement> nodes;
  for (const int node : NumaNodes(root)) {
    const CpuSet cpus = CpusOfNode(node, root) & allowed;
    if (cpus.any()) nodes.push_back({node, cpus});  // nodes may be memory alone, or out of bounds
  }
  if (nodes.size() == 1) {
    for (CpuPlacement& place : places) place.numa_node = nodes[0].numa_node;
  }
  if (nodes.size() < 2 || threads.size() < nodes.size()) return places;
  std::vector<std::size_t> load(nodes.size());
  std::vector<std::size_t> node_of(threads.size());
  for (std::size_t d = 0; d < threads.size(); ++d) {
    node_of[d] = d * nodes.size() / threads.size();  // neighbours by number are likely to be neighbours in the graph
    load[node_of[d]] += static_cast<std::size_t>(threads[d]);
  }
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (load[n] > nodes[n].cpus.count()) return places;  // cores of other nodes would lie idle
  }
  for (std::size_t d = 0; d < threads.size(); ++d) places[d] = nodes[node_of[d]];
  return places;
}

}  // namespace detail

std::vector<CpuPlacement> PlaceDevices(std::span<Device* const> devices, const CpuSet& allowed) {
  std::vector<std::string> bus_ids;
  std::vector<int> threads;
  for (Device* const device : devices) {
    if (device->kind() == DeviceKind::kHost) {
      threads.push_back(device->team() == nullptr ? 1 : device->team()->size());
    } else {
      bus_ids.push_back(device->info().pci_bus_id);
    }
  }
  return bus_ids.empty() ? detail::PlaceHosts(threads, allowed) : detail::PlaceGpus(bus_ids, allowed);
}

}  // namespace chatty
