/// Machines that tests use, made in code; tests/comm/topologies/ has the same as files.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "chatty/comm/topology.h"

namespace chatty::machines {

inline std::vector<TopologyDevice> Gpus(std::size_t count, const std::string& name, std::uint64_t memory, int processors,
                                        int generation) {
  std::vector<TopologyDevice> devices(count);
  for (std::size_t i = 0; i < count; ++i) {
    devices[i].label = fmt::format("cuda:{}", i);
    devices[i].kind = DeviceKind::kCuda;
    devices[i].name = name;
    devices[i].memory = memory;
    devices[i].processors = processors;
    devices[i].numa_node = devices[i].socket = 0;
    devices[i].host = {generation, 16, false, PcieBandwidth(generation, 16)};
  }
  return devices;
}

/// The second half of the devices on the second socket.
inline void OnTwoSockets(std::vector<TopologyDevice>& devices) {
  for (std::size_t i = 0; i < devices.size(); ++i) {
    devices[i].numa_node = devices[i].socket = i < devices.size() / 2 ? 0 : 1;
  }
}

inline void Name(std::vector<TopologyDevice>& devices, const std::vector<const char*>& buses) {
  for (std::size_t i = 0; i < devices.size(); ++i) devices[i].pci_bus_id = fmt::format("0000:{}:00.0", buses[i]);
}

inline void JoinByNvlinks(Topology& topology, std::size_t a, std::size_t b, int count, int version) {
  const Link link{LinkType::kNvlink, count, version, false, true, true, count * NvlinkBandwidth(version)};
  topology.link(a, b) = topology.link(b, a) = link;
}

/// Devices that share one GPU, which kernels of all copy within.
inline Topology OneGpu(std::size_t count) {
  std::vector<TopologyDevice> devices = Gpus(count, "NVIDIA H200", 150754820096, 132, 5);
  for (std::size_t i = 0; i < count; ++i) {
    devices[i].label = fmt::format("cuda:0.{}", i);
    devices[i].pci_bus_id = "0000:1b:00.0";
  }
  Topology topology("one GPU", std::move(devices));
  for (std::size_t a = 0; a < count; ++a) {
    for (std::size_t b = 0; b < count; ++b) {
      if (a != b) topology.link(a, b) = {LinkType::kSameGpu, 0, 0, false, true, true, 2.4e12};
    }
  }
  return topology;
}

/// The hybrid cube mesh of eight V100, as `nvidia-smi topo -m` shows it: six NVLinks a GPU, some of them double.
inline Topology Dgx1() {
  static constexpr int kLinks[8][8] = {{0, 1, 1, 2, 2, 0, 0, 0}, {1, 0, 2, 1, 0, 2, 0, 0}, {1, 2, 0, 2, 0, 0, 1, 0},
                                       {2, 1, 2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 1, 1, 2}, {0, 2, 0, 0, 1, 0, 2, 1},
                                       {0, 0, 1, 0, 1, 2, 0, 2}, {0, 0, 0, 1, 2, 1, 2, 0}};
  std::vector<TopologyDevice> devices = Gpus(8, "Tesla V100-SXM2-32GB", 34359738368, 80, 3);
  OnTwoSockets(devices);
  Name(devices, {"06", "07", "0a", "0b", "85", "86", "89", "8a"});
  Topology topology("DGX-1 with 8 V100", std::move(devices));
  for (std::size_t a = 0; a < 8; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      if (kLinks[a][b] > 0) JoinByNvlinks(topology, a, b, kLinks[a][b], 2);
    }
  }
  return topology;
}

/// Eight GPUs as Groute had them: two to a board, two boards to a socket, peers within a socket alone.
inline Topology TwoQuads() {
  std::vector<TopologyDevice> devices = Gpus(8, "Tesla M60", 8589934592, 16, 3);
  OnTwoSockets(devices);
  Name(devices, {"04", "05", "08", "09", "84", "85", "88", "89"});
  Topology topology("two PCIe quads of 4 M60", std::move(devices));
  for (std::size_t a = 0; a < 8; ++a) {
    for (std::size_t b = 0; b < 8; ++b) {
      if (a == b || a / 4 != b / 4) continue;
      topology.link(a, b).type = a / 2 == b / 2 ? LinkType::kPcieSwitch : LinkType::kHostBridge;
      topology.link(a, b).peer_access = true;
    }
  }
  return topology;
}

/// H200, each with all its NVLinks to switches.
inline Topology NvSwitch(std::size_t count) {
  std::vector<TopologyDevice> devices = Gpus(count, "NVIDIA H200", 150754820096, 132, 5);
  OnTwoSockets(devices);
  Name(devices, {"1b", "2b", "3b", "4b", "5b", "6b", "7b", "8b"});
  for (TopologyDevice& device : devices) device.copy_engines = 3;
  Topology topology(fmt::format("{} H200 behind NVSwitches", count), std::move(devices));
  for (std::size_t a = 0; a < count; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      JoinByNvlinks(topology, a, b, 18, 4);
      topology.link(a, b).switched = topology.link(b, a).switched = true;
    }
  }
  return topology;
}

inline Topology NoPeers() {
  std::vector<TopologyDevice> devices = Gpus(4, "NVIDIA L4", 24152899584, 58, 4);
  Name(devices, {"01", "02", "03", "04"});
  return Topology("4 L4 without peer access", std::move(devices));
}

inline Topology UnequalRing() {
  std::vector<TopologyDevice> devices = Gpus(4, "Tesla V100-SXM2-32GB", 34359738368, 80, 3);
  Name(devices, {"01", "02", "03", "04"});
  Topology topology("a ring of 4 with unequal links", std::move(devices));
  JoinByNvlinks(topology, 0, 1, 4, 2);
  JoinByNvlinks(topology, 1, 2, 1, 2);
  JoinByNvlinks(topology, 2, 3, 3, 2);
  JoinByNvlinks(topology, 3, 0, 2, 2);
  return topology;
}

/// All of them, with the file in tests/comm/topologies/ that describes each.
inline std::vector<std::pair<std::string, Topology>> All() {
  return {{"dgx1-v100-8.json", Dgx1()},          {"two-pcie-quads-8.json", TwoQuads()},
          {"nvswitch-h200-4.json", NvSwitch(4)}, {"nvswitch-h200-8.json", NvSwitch(8)},
          {"no-peers-4.json", NoPeers()},        {"unequal-ring-4.json", UnequalRing()}};
}

/// The same machine with its devices in another order: device i of the result is device order[i].
inline Topology Reordered(const Topology& topology, const std::vector<std::size_t>& order) {
  std::vector<TopologyDevice> devices;
  for (const std::size_t i : order) devices.push_back(topology.devices()[i]);
  Topology result(topology.name(), std::move(devices));
  for (std::size_t a = 0; a < order.size(); ++a) {
    for (std::size_t b = 0; b < order.size(); ++b) result.link(a, b) = topology.link(order[a], order[b]);
  }
  return result;
}

}  // namespace chatty::machines
