#include "chatty/comm/machine.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "chatty/core/affinity.h"
#include "chatty/core/error.h"

namespace chatty::detail {
namespace {

namespace fs = std::filesystem;

/// The first line of a small file; empty if there is none.
std::string ReadLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::optional<int> ReadInt(const std::string& path) {
  const std::string line = ReadLine(path);
  int value = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
  if (line.empty() || error != std::errc()) return std::nullopt;
  return value;
}

std::set<int> ParseList(std::string_view text) {
  const CpuSet all = ParseCpuList(text);
  std::set<int> numbers;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i]) numbers.insert(static_cast<int>(i));
  }
  return numbers;
}

/// "Key:   value" of a file in /proc.
std::string ReadField(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key) || line.size() <= key.size() || line[key.size()] != ':') continue;
    const std::size_t begin = line.find_first_not_of(" \t", key.size() + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

int SocketOfCpu(const std::string& root, int cpu) {
  return ReadInt(fmt::format("{}/sys/devices/system/cpu/cpu{}/topology/physical_package_id", root, cpu)).value_or(-1);
}

int SocketOfNode(const std::string& root, int node) {
  const std::set<int> cpus = ParseList(ReadLine(fmt::format("{}/sys/devices/system/node/node{}/cpulist", root, node)));
  return cpus.empty() ? -1 : SocketOfCpu(root, *cpus.begin());
}

/// The generation that "16.0 GT/s PCIe" means.
int GenerationOf(std::string_view speed) {
  const double transfers = std::strtod(std::string(speed).c_str(), nullptr);
  constexpr double kTransfers[] = {2.5, 5, 8, 16, 32, 64};
  for (int i = 0; i < static_cast<int>(std::size(kTransfers)); ++i) {
    if (std::abs(transfers - kTransfers[i]) < 0.1) return i + 1;
  }
  return 0;
}

}  // namespace

HostFacts ReadHost(const std::string& root) {
  HostFacts facts;
  for (const char c : ReadLine(root + "/sys/class/dmi/id/product_name")) {
    if (c >= 32 && c < 127 && facts.name.size() < 100) facts.name += c;  // firmware says in no encoding
  }
  if (facts.name.empty()) facts.name = "this machine";
  const std::string total = ReadField(root + "/proc/meminfo", "MemTotal");  // "16384 kB"
  facts.memory = std::strtoull(total.c_str(), nullptr, 10) * 1024;

  const std::set<int> allowed = ParseList(ReadField(root + "/proc/self/status", "Cpus_allowed_list"));
  std::set<int> nodes, sockets;
  for (const int node : ParseList(ReadLine(root + "/sys/devices/system/node/online"))) {
    for (const int cpu : ParseList(ReadLine(fmt::format("{}/sys/devices/system/node/node{}/cpulist", root, node)))) {
      if (allowed.count(cpu) != 0) nodes.insert(node);
    }
  }
  for (const int cpu : allowed) {
    if (const int socket = SocketOfCpu(root, cpu); socket >= 0) sockets.insert(socket);
  }
  if (nodes.size() == 1) facts.numa_node = *nodes.begin();
  if (sockets.size() == 1) facts.socket = *sockets.begin();
  return facts;
}

CpuSet CpusOfNode(int node, const std::string& root) {
  if (node < 0) return {};
  return ParseCpuList(ReadLine(fmt::format("{}/sys/devices/system/node/node{}/cpulist", root, node)));
}

std::vector<int> NumaNodes(const std::string& root) {
  const std::set<int> nodes = ParseList(ReadLine(root + "/sys/devices/system/node/online"));
  return {nodes.begin(), nodes.end()};
}

std::string LinuxBusId(std::string_view bus_id) {
  std::string id(bus_id);
  for (char& c : id) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const std::size_t colon = id.find(':');
  // A domain takes more than four digits only where it needs them.
  while (id.find(':') != std::string::npos && id.find(':') > 4 && id.front() == '0') id.erase(0, 1);
  if (colon < 4) id.insert(0, 4 - colon, '0');
  return id;
}

PciFacts ReadPci(const std::string& bus_id, const std::string& root) {
  PciFacts facts;
  std::error_code error;
  const fs::path place = fs::canonical(root + "/sys/bus/pci/devices/" + bus_id, error);
  if (error) return facts;
  facts.numa_node = ReadInt((place / "numa_node").string()).value_or(-1);
  if (facts.numa_node < 0) {
    // Firmware often reports no node where the machine has only one.
    const std::set<int> nodes = ParseList(ReadLine(root + "/sys/devices/system/node/online"));
    facts.numa_node = nodes.size() == 1 ? *nodes.begin() : -1;
  }
#if CHATTY_WITH_HWLOC
  if (facts.numa_node < 0 && root.empty()) {
    const PciFacts reported = AskHwloc(bus_id);
    facts.numa_node = reported.numa_node;
    facts.socket = reported.socket;
  }
#endif
  if (facts.numa_node >= 0 && facts.socket < 0) facts.socket = SocketOfNode(root, facts.numa_node);
  if (facts.socket < 0) facts.socket = -1;

  fs::path folder;
  bool below_bridge = false;
  double narrowest = 0;
  for (const fs::path& part : place) {
    folder /= part;
    if (!below_bridge && !part.string().starts_with("pci")) continue;
    below_bridge = true;
    if (part.string().starts_with("pci") && !facts.path.empty()) facts.path.clear();  // a root that only sounds like it
    facts.path.push_back(part.string());
    const int generation = GenerationOf(ReadLine((folder / "max_link_speed").string()));
    const int lanes = ReadInt((folder / "max_link_width").string()).value_or(0);
    const double bandwidth = PcieBandwidth(generation, lanes);
    if (bandwidth > 0 && (narrowest == 0 || bandwidth < narrowest)) {
      narrowest = bandwidth;
      facts.generation = generation;
      facts.lanes = lanes;
    }
  }
  return facts;
}

NvlinkPort MakeNvlinkPort(int nvml_type, std::string_view nvml_bus_id) {
  constexpr int kSwitch = 2;
  NvlinkPort port;
  if (!nvml_bus_id.empty() && !nvml_bus_id.starts_with("FFFFFFFF:")) port.remote = LinuxBusId(nvml_bus_id);
  // Where neither is known: a GPU that can be reached would not be hidden.
  port.to_switch = nvml_type == kSwitch || (nvml_type < 0 && port.remote.empty());
  return port;
}

PciDistance DistanceOf(const PciFacts& a, const PciFacts& b) {
  if (a.socket >= 0 && b.socket >= 0 && a.socket != b.socket) return PciDistance::kSockets;
  if ((a.socket < 0 || b.socket < 0) && a.numa_node >= 0 && b.numa_node >= 0 && a.numa_node != b.numa_node) {
    return PciDistance::kSockets;
  }
  if (a.path.empty() || b.path.empty()) return PciDistance::kUnknown;
  const auto common = std::mismatch(a.path.begin(), a.path.end(), b.path.begin(), b.path.end()).first - a.path.begin();
  if (common > 1) return PciDistance::kSwitch;  // a bridge below the host bridge is a switch's, or the port that leads to it
  if (common == 1) return PciDistance::kHostBridge;
  const bool same_node = a.numa_node >= 0 && a.numa_node == b.numa_node;
  const bool same_socket = a.socket >= 0 && a.socket == b.socket;
  return same_node || same_socket ? PciDistance::kHostBridge : PciDistance::kUnknown;
}

bool AcrossSockets(const TopologyDevice& a, const TopologyDevice& b) {
  if (a.socket >= 0 && b.socket >= 0) return a.socket != b.socket;
  return a.numa_node >= 0 && b.numa_node >= 0 && a.numa_node != b.numa_node;
}

int NvlinkGeneration(int compute_capability) {
  switch (compute_capability) {
    case 60:
      return 1;
    case 70:
    case 72:
      return 2;
    case 80:
    case 86:
      return 3;
    case 90:
      return 4;
    case 100:
      return 5;
    default:
      return compute_capability > 100 ? 5 : 0;  // whose NVLinks are no older
  }
}

namespace {

int LinksBetween(const GpuFacts& a, const GpuFacts& b) {
  const auto lead_to = [](const GpuFacts& from, const GpuFacts& to) {
    return static_cast<int>(std::count_if(from.ports.begin(), from.ports.end(), [&](const NvlinkPort& port) {
      return !port.to_switch && port.remote == to.device.pci_bus_id;
    }));
  };
  return std::min(lead_to(a, b), lead_to(b, a));
}

int LinksToSwitches(const GpuFacts& gpu) {
  return static_cast<int>(
      std::count_if(gpu.ports.begin(), gpu.ports.end(), [](const NvlinkPort& port) { return port.to_switch; }));
}

Link LinkBetween(const Topology& topology, const GpusFacts& facts, std::size_t from, std::size_t to) {
  const GpuFacts &a = facts.gpus[from], &b = facts.gpus[to];
  const GpuPair &pair = facts.pairs[from * facts.gpus.size() + to], &back = facts.pairs[to * facts.gpus.size() + from];
  Link link = HostLink(topology, from, to);
  if (pair.distance == PciDistance::kSockets) link.type = LinkType::kSockets;
  if (!pair.peer_access) return link;
  link.peer_access = true;
  link.native_atomics = pair.native_atomics;
  if (OnOneGpu(topology, from, to)) {
    link.type = LinkType::kSameGpu;
    link.bandwidth = std::min(a.memory_bandwidth / 2, kMaxLinkBandwidth);  // a copy reads and writes
    return link;
  }

  link.nvlinks = LinksBetween(a, b);
  if (link.nvlinks == 0 && back.peer_access) {
    link.nvlinks = std::min(LinksToSwitches(a), LinksToSwitches(b));
    link.switched = link.nvlinks > 0;
  }
  // PCIe carries out no atomics between GPUs: where they are, and nobody has counted links, they are NVLinks.
  const bool uncounted =
      link.nvlinks == 0 && !(a.ports_known && b.ports_known) && pair.native_atomics && back.native_atomics;
  if (link.nvlinks > 0 || uncounted) {
    link.type = LinkType::kNvlink;
    link.nvlink_version = std::min(a.nvlink_version, b.nvlink_version);
    link.bandwidth = std::max(link.nvlinks, 1) * NvlinkBandwidth(link.nvlink_version);
  } else if (pair.distance == PciDistance::kSwitch) {
    link.type = LinkType::kPcieSwitch;
  } else if (link.type != LinkType::kSockets) {
    link.type = LinkType::kHostBridge;  // also where the system hides the tree: peers meet there at the latest
  }
  return link;
}

}  // namespace

Topology AssembleGpus(std::string name, const GpusFacts& facts) {
  std::vector<TopologyDevice> devices;
  for (const GpuFacts& gpu : facts.gpus) {
    TopologyDevice device = gpu.device;
    device.numa_node = gpu.pci.numa_node;
    device.socket = gpu.pci.socket;
    device.host.pcie_generation = gpu.pci.generation;
    device.host.pcie_lanes = gpu.pci.lanes;
    device.host.bandwidth = PcieBandwidth(gpu.pci.generation, gpu.pci.lanes);
    devices.push_back(std::move(device));
  }
  Topology topology(std::move(name), std::move(devices));
  for (std::size_t from = 0; from < topology.size(); ++from) {
    for (std::size_t to = 0; to < topology.size(); ++to) {
      if (from != to) topology.link(from, to) = LinkBetween(topology, facts, from, to);
    }
  }
  // Drivers may grant access one way only; what the link is must not depend on the direction of the query.
  for (std::size_t from = 0; from < topology.size(); ++from) {
    for (std::size_t to = 0; to < from; ++to) {
      Link &there = topology.link(from, to), &back = topology.link(to, from);
      if (there.type == back.type) continue;
      Link& lesser = there.peer_access ? back : there;
      const Link& better = there.peer_access ? there : back;
      const bool atomics = lesser.native_atomics, access = lesser.peer_access;
      const double bandwidth = lesser.bandwidth;
      lesser = better;
      lesser.native_atomics = atomics;
      lesser.peer_access = access;
      if (!access) lesser.bandwidth = bandwidth;
    }
  }
  return topology;
}

#if !CHATTY_WITH_CUDA
GpusFacts ReadGpus(const std::vector<int>&) {
  throw CapabilityError("this build has no CUDA support; configure with -DCHATTY_ENABLE_CUDA=ON and nvcc");
}
#endif

}  // namespace chatty::detail
