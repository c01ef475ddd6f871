/// \file
/// What the system reports of this machine, apart from what is made of it, so that tests of both need no machine. Not for
/// users: see DiscoverTopology.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chatty/comm/topology.h"
#include "chatty/core/affinity.h"
#include "chatty/core/config.h"

namespace chatty::detail {

/// The host as a process sees it.
struct HostFacts {
  std::string name;          ///< of the machine's make
  std::uint64_t memory = 0;  ///< bytes in all
  int numa_node = -1;        ///< the only NUMA node on whose cores the process may run; -1 if there are several
  int socket = -1;           ///< as numa_node, for sockets
};
/// `root` is put before /proc and /sys, for tests.
HostFacts ReadHost(const std::string& root = "");

/// CPUs of a NUMA node; none where it is not known.
CpuSet CpusOfNode(int node, const std::string& root = "");
/// The machine's NUMA nodes, ascending; none where the system reports none.
std::vector<int> NumaNodes(const std::string& root = "");

/// The place of a PCI device.
struct PciFacts {
  int numa_node = -1, socket = -1;  ///< -1 if not known
  int generation = 0, lanes = 0;    ///< of the narrowest part of the way to the host; 0 if not known
  std::vector<std::string> path;    ///< from the host bridge through PCIe switches to the device; empty if not known
};
/// A bus id as Linux writes it: lower case, domain of four digits; CUDA writes upper case, NVML eight digits.
std::string LinuxBusId(std::string_view bus_id);
/// `bus_id`: from LinuxBusId.
PciFacts ReadPci(const std::string& bus_id, const std::string& root = "");

#if CHATTY_WITH_HWLOC
/// NUMA node and socket of a PCI device as hwloc reports them; path and link are left empty.
PciFacts AskHwloc(const std::string& bus_id);
#endif

/// What lies between two PCI devices.
enum class PciDistance : std::uint8_t { kUnknown, kSwitch, kHostBridge, kSockets };
/// The distance by their places in the tree.
PciDistance DistanceOf(const PciFacts& a, const PciFacts& b);
/// Whether two devices belong to different sockets, or, where those are not known, to different NUMA nodes.
bool AcrossSockets(const TopologyDevice& a, const TopologyDevice& b);

/// Where one NVLink of a GPU leads.
struct NvlinkPort {
  std::string remote;      ///< LinuxBusId of the other end; empty if not known
  bool to_switch = false;  ///< the other end is an NVSwitch
  bool operator==(const NvlinkPort&) const = default;
};
/// The port by NVML's report of a link's far end: the type of device, 0 for a GPU, 2 for an NVSwitch, -1 if unknown; and a
/// bus id, all F where virtual machines hide the far end.
NvlinkPort MakeNvlinkPort(int nvml_type, std::string_view nvml_bus_id);
/// One GPU, with its links.
struct GpuFacts {
  TopologyDevice device;  ///< without NUMA node, socket and host path, which `pci` has, and without a label from ReadGpus
  PciFacts pci;
  double memory_bandwidth = 0;    ///< nominal bytes/s; 0 if not known
  int nvlink_version = 0;         ///< generation of its NVLinks; 0 if it has none, or not known
  bool ports_known = false;       ///< the number of NVLinks is known
  std::vector<NvlinkPort> ports;  ///< those in use
};
/// An ordered pair of GPUs.
struct GpuPair {
  bool peer_access = false, native_atomics = false;
  PciDistance distance = PciDistance::kUnknown;
};
/// All that is known of some GPUs.
struct GpusFacts {
  std::vector<GpuFacts> gpus;
  std::vector<GpuPair> pairs;  ///< [from][to]
};
/// Queries the CUDA driver, NVML if present, and Linux. Throws CapabilityError in a build without CUDA, DeviceError.
GpusFacts ReadGpus(const std::vector<int>& ordinals);
/// Makes a topology of the facts.
Topology AssembleGpus(std::string name, const GpusFacts& facts);

/// NVLink's generation by a GPU's compute capability (90 for 9.0); 0 without NVLink, or if not known.
int NvlinkGeneration(int compute_capability);

}  // namespace chatty::detail
