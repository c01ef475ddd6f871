// What a machine says of itself, and the topology that is made of it.
#include "chatty/comm/machine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "chatty/comm/topology.h"
#include "chatty/core/error.h"
#include "machines.h"
#include "system_folder.h"

namespace chatty {
namespace {

namespace fs = std::filesystem;

/// A folder with files as /sys and /proc have them.
class FakeSystem : public test::SystemFolder {
 protected:
  /// Two sockets of two cores, a NUMA node each.
  void WriteCpus(const std::string& allowed) const {
    Write("sys/devices/system/node/online", "0-1");
    Write("sys/devices/system/node/node0/cpulist", "0-1");
    Write("sys/devices/system/node/node1/cpulist", "2-3");
    for (int cpu = 0; cpu < 4; ++cpu) {
      Write(fmt::format("sys/devices/system/cpu/cpu{}/topology/physical_package_id", cpu), cpu < 2 ? "0" : "1");
    }
    Write("proc/self/status", "Name:\tx\nCpus_allowed:\tf\nCpus_allowed_list:\t" + allowed);
    Write("proc/meminfo", "MemTotal:       16384 kB\nMemFree: 1 kB");
  }
  void WritePci(const std::string& folder, const std::string& speed, const std::string& width,
                const std::string& node) const {
    const std::string at = "sys/devices/" + folder;
    Write(at + "/max_link_speed", speed);
    Write(at + "/max_link_width", width);
    Write(at + "/numa_node", node);
    const fs::path links = root_ / "sys/bus/pci/devices";
    fs::create_directories(links);
    fs::create_symlink(root_ / at, links / fs::path(folder).filename());
  }
  detail::PciFacts Pci(const std::string& bus_id) const { return detail::ReadPci(bus_id, root_.string()); }
};

TEST_F(FakeSystem, HostDevicesBelongToTheNodeThatTheProcessIsHeldTo) {
  Write("sys/class/dmi/id/product_name", "A\x1b[31mServer");
  WriteCpus("2-3");
  detail::HostFacts facts = detail::ReadHost(root_.string());
  EXPECT_EQ(facts.numa_node, 1);
  EXPECT_EQ(facts.socket, 1);
  EXPECT_EQ(facts.memory, 16384u * 1024);
  EXPECT_EQ(facts.name, "A[31mServer") << "nothing that a terminal obeys";
  WriteCpus("0,3");
  facts = detail::ReadHost(root_.string());
  EXPECT_EQ(facts.numa_node, -1) << "cores of both";
  EXPECT_EQ(facts.socket, -1);
}

TEST_F(FakeSystem, ThatTellsNothingLeavesThingsUnknown) {
  const detail::HostFacts facts = detail::ReadHost(root_.string());
  EXPECT_EQ(facts.numa_node, -1);
  EXPECT_EQ(facts.socket, -1);
  EXPECT_EQ(facts.memory, 0u);
  EXPECT_EQ(facts.name, "this machine");
  const detail::PciFacts pci = Pci("0000:01:00.0");
  EXPECT_EQ(pci.numa_node, -1);
  EXPECT_TRUE(pci.path.empty());
  EXPECT_EQ(detail::DistanceOf(pci, pci), detail::PciDistance::kUnknown);
  Write("sys/devices/system/node/online", "nonsense");
  Write("proc/self/status", "Cpus_allowed_list:\t0-");
  EXPECT_EQ(detail::ReadHost(root_.string()).numa_node, -1);
}

TEST_F(FakeSystem, PciDevicesAreFoundInTheTree) {
  WriteCpus("0-3");
  const std::string upper = "pci0000:00/0000:00:01.0/0000:01:00.0";  // a port and a switch
  WritePci("pci0000:00/0000:00:01.0", "16.0 GT/s PCIe", "16", "0");
  WritePci(upper, "16.0 GT/s PCIe", "16", "0");
  WritePci(upper + "/0000:02:00.0/0000:03:00.0", "32.0 GT/s PCIe", "16", "0");
  WritePci(upper + "/0000:02:01.0/0000:04:00.0", "32.0 GT/s PCIe", "8", "0");
  WritePci("pci0000:00/0000:00:02.0/0000:05:00.0", "8.0 GT/s PCIe", "16", "0");
  WritePci("pci0000:40/0000:40:01.0/0000:41:00.0", "8.0 GT/s PCIe", "16", "0");
  WritePci("pci0000:80/0000:80:01.0/0000:81:00.0", "Unknown", "255", "1");
  WritePci("pci0000:c0/0000:c0:01.0/0000:c1:00.0", "2.5 GT/s PCIe", "1", "-1");

  const detail::PciFacts a = Pci("0000:03:00.0"), b = Pci("0000:04:00.0"), c = Pci("0000:05:00.0"), d = Pci("0000:41:00.0"),
                         e = Pci("0000:81:00.0"), f = Pci("0000:c1:00.0");
  EXPECT_EQ(a.path.size(), 5u);
  EXPECT_EQ(a.path.front(), "pci0000:00");
  EXPECT_EQ(a.numa_node, 0);
  EXPECT_EQ(a.socket, 0);
  EXPECT_EQ(a.generation, 4) << "the port is slower than the device";
  EXPECT_EQ(a.lanes, 16);
  EXPECT_EQ(b.generation, 4) << "as wide as eight lanes of the next";
  EXPECT_EQ(c.generation, 3);
  EXPECT_EQ(e.generation, 0);
  EXPECT_EQ(e.socket, 1);
  EXPECT_EQ(f.numa_node, -1);
  EXPECT_EQ(f.generation, 1);
  EXPECT_EQ(f.lanes, 1);

  using detail::DistanceOf;
  using detail::PciDistance;
  EXPECT_EQ(DistanceOf(a, b), PciDistance::kSwitch);
  EXPECT_EQ(DistanceOf(a, c), PciDistance::kHostBridge);
  EXPECT_EQ(DistanceOf(c, d), PciDistance::kHostBridge) << "two host bridges of one node";
  EXPECT_EQ(DistanceOf(a, e), PciDistance::kSockets);
  EXPECT_EQ(DistanceOf(a, f), PciDistance::kUnknown);
}

TEST(Machine, BusIdsAreWrittenAsLinuxDoes) {
  EXPECT_EQ(detail::LinuxBusId("0000:1B:00.0"), "0000:1b:00.0");
  EXPECT_EQ(detail::LinuxBusId("00000000:1B:00.0"), "0000:1b:00.0");
  EXPECT_EQ(detail::LinuxBusId("00010000:1B:00.0"), "10000:1b:00.0");
  EXPECT_EQ(detail::LinuxBusId("1:1B:00.0"), "0001:1b:00.0");
  EXPECT_EQ(detail::LinuxBusId(""), "");
}

TEST_F(FakeSystem, TheOnlyNodeIsTheNodeOfWhatNamesNone) {
  Write("sys/devices/system/node/online", "0");
  Write("sys/devices/system/node/node0/cpulist", "0");
  Write("sys/devices/system/cpu/cpu0/topology/physical_package_id", "0");
  WritePci("pci0000:00/0000:00:06.0", "32.0 GT/s PCIe", "16", "-1");
  WritePci("pci0000:00/0000:00:07.0", "32.0 GT/s PCIe", "16", "-1");
  const detail::PciFacts a = Pci("0000:00:06.0"), b = Pci("0000:00:07.0");
  EXPECT_EQ(a.numa_node, 0);
  EXPECT_EQ(a.socket, 0);
  EXPECT_EQ(a.generation, 5);
  EXPECT_EQ(detail::DistanceOf(a, b), detail::PciDistance::kHostBridge);
}

#if CHATTY_WITH_HWLOC
TEST_F(FakeSystem, HwlocKnowsWhereGpusArePluggedIn) {
  // Two sockets; a GPU below a host bridge of the second.
  Write("machine.xml", R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
 <object type="Machine" os_index="0" cpuset="0x0000000f" complete_cpuset="0x0000000f" allowed_cpuset="0x0000000f" nodeset="0x00000003" complete_nodeset="0x00000003" allowed_nodeset="0x00000003" gp_index="1">
  <object type="Package" os_index="0" cpuset="0x00000003" complete_cpuset="0x00000003" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="2">
   <object type="NUMANode" os_index="0" cpuset="0x00000003" complete_cpuset="0x00000003" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="3" local_memory="1073741824"/>
   <object type="PU" os_index="0" cpuset="0x00000001" complete_cpuset="0x00000001" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="4"/>
   <object type="PU" os_index="1" cpuset="0x00000002" complete_cpuset="0x00000002" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="5"/>
  </object>
  <object type="Package" os_index="1" cpuset="0x0000000c" complete_cpuset="0x0000000c" nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="6">
   <object type="NUMANode" os_index="1" cpuset="0x0000000c" complete_cpuset="0x0000000c" nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="7" local_memory="1073741824"/>
   <object type="PU" os_index="2" cpuset="0x00000004" complete_cpuset="0x00000004" nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="8"/>
   <object type="PU" os_index="3" cpuset="0x00000008" complete_cpuset="0x00000008" nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="9"/>
   <object type="Bridge" gp_index="10" bridge_type="0-1" depth="0" bridge_pci="0000:[80-81]">
    <object type="PCIDev" gp_index="11" pci_busid="0000:81:00.0" pci_type="0302 [10de:1db5] [10de:1249] a1" pci_link_speed="0.000000"/>
   </object>
  </object>
 </object>
</topology>)");
  ASSERT_EQ(::setenv("HWLOC_XMLFILE", (root_ / "machine.xml").c_str(), 1), 0);
  const detail::PciFacts gpu = detail::AskHwloc("0000:81:00.0"), absent = detail::AskHwloc("0000:01:00.0"),
                         nonsense = detail::AskHwloc("nonsense");
  ASSERT_EQ(::unsetenv("HWLOC_XMLFILE"), 0);
  EXPECT_EQ(gpu.numa_node, 1);
  EXPECT_EQ(gpu.socket, 1);
  EXPECT_EQ(absent.numa_node, -1);
  EXPECT_EQ(absent.socket, -1);
  EXPECT_EQ(nonsense.numa_node, -1);
}
#endif

TEST(Machine, FarEndsOfNvlinks) {
  using Port = detail::NvlinkPort;
  EXPECT_EQ(detail::MakeNvlinkPort(0, "00000000:1B:00.0"), (Port{"0000:1b:00.0", false}));
  EXPECT_EQ(detail::MakeNvlinkPort(2, "00000000:C1:00.0"), (Port{"0000:c1:00.0", true}));
  EXPECT_EQ(detail::MakeNvlinkPort(2, "FFFFFFFF:FF:FF.0"), (Port{"", true})) << "what a virtual machine with H200 sees";
  EXPECT_EQ(detail::MakeNvlinkPort(-1, "00000000:1B:00.0"), (Port{"0000:1b:00.0", false}));
  EXPECT_EQ(detail::MakeNvlinkPort(-1, ""), (Port{"", true}));
  EXPECT_EQ(detail::MakeNvlinkPort(0, "FFFFFFFF:FF:FF.0"), (Port{"", false}));
  EXPECT_EQ(detail::MakeNvlinkPort(1, "0004:04:00.0"), (Port{"0004:04:00.0", false})) << "a POWER processor";
}

TEST(Machine, SocketsDecideBeforeNodes) {
  TopologyDevice a, b;
  a.numa_node = 0;
  b.numa_node = 1;
  EXPECT_TRUE(detail::AcrossSockets(a, b));
  a.socket = b.socket = 0;
  EXPECT_FALSE(detail::AcrossSockets(a, b)) << "two NUMA nodes of one socket";
  b.socket = 1;
  b.numa_node = 0;
  EXPECT_TRUE(detail::AcrossSockets(a, b));
  b.socket = b.numa_node = -1;
  EXPECT_FALSE(detail::AcrossSockets(a, b)) << "not known";
}

// --------------------------------------------------------- what GPUs' facts say ----

/// What drivers would say of a described machine.
detail::GpusFacts FactsOf(const Topology& topology, bool with_nvml) {
  detail::GpusFacts facts;
  for (const TopologyDevice& device : topology.devices()) {
    detail::GpuFacts gpu;
    gpu.device = device;
    gpu.pci.numa_node = std::exchange(gpu.device.numa_node, -1);
    gpu.pci.socket = std::exchange(gpu.device.socket, -1);
    gpu.pci.generation = device.host.pcie_generation;
    gpu.pci.lanes = device.host.pcie_lanes;
    gpu.device.host = {};
    gpu.ports_known = with_nvml;
    facts.gpus.push_back(std::move(gpu));
  }
  bool through_switch = false;
  for (std::size_t from = 0; from < topology.size(); ++from) {
    for (std::size_t to = 0; to < topology.size(); ++to) {
      const Link& link = topology.link(from, to);
      detail::GpuPair pair;
      pair.peer_access = link.peer_access;
      pair.native_atomics = link.native_atomics;
      pair.distance = link.type == LinkType::kPcieSwitch   ? detail::PciDistance::kSwitch
                      : link.type == LinkType::kHostBridge ? detail::PciDistance::kHostBridge
                      : detail::AcrossSockets(topology.devices()[from], topology.devices()[to])
                          ? detail::PciDistance::kSockets
                          : detail::PciDistance::kUnknown;
      facts.pairs.push_back(pair);
      facts.gpus[from].nvlink_version = std::max(facts.gpus[from].nvlink_version, link.nvlink_version);
      through_switch |= link.switched;
      for (int i = 0; with_nvml && !link.switched && i < link.nvlinks; ++i) {
        facts.gpus[from].ports.push_back({topology.devices()[to].pci_bus_id, false});
      }
    }
    for (int i = 0; with_nvml && through_switch && i < 18; ++i) facts.gpus[from].ports.push_back({"0000:c0:00.0", true});
  }
  return facts;
}

TEST(Assembly, MakesTheDescribedMachines) {
  for (const auto& [file, topology] : machines::All()) {
    const Topology made = detail::AssembleGpus(topology.name(), FactsOf(topology, true));
    EXPECT_EQ(made.devices(), topology.devices()) << file;
    for (std::size_t from = 0; from < topology.size(); ++from) {
      for (std::size_t to = 0; to < topology.size(); ++to) {
        EXPECT_EQ(made.link(from, to), topology.link(from, to)) << file << ": " << from << " to " << to;
      }
    }
  }
}

TEST(Assembly, WithoutNvmlKnowsThatThereAreNvlinks) {
  const Topology topology = detail::AssembleGpus("", FactsOf(machines::Dgx1(), false));
  EXPECT_FALSE(FindFault(topology).has_value());
  EXPECT_EQ(topology.link(0, 3).type, LinkType::kNvlink) << "PCIe has no atomics between GPUs";
  EXPECT_EQ(topology.link(0, 3).nvlinks, 0) << "how many is not known";
  EXPECT_EQ(topology.link(0, 3).bandwidth, 25e9) << "one at least";
  EXPECT_EQ(topology.link(0, 5).type, LinkType::kSockets);
  EXPECT_FALSE(topology.link(0, 5).peer_access);
}

TEST(Assembly, DevicesOnOneGpuMeetInItsMemory) {
  const Topology described = machines::OneGpu(3);
  EXPECT_FALSE(FindFault(described).has_value());
  detail::GpusFacts facts = FactsOf(described, true);
  for (detail::GpuFacts& gpu : facts.gpus) {
    gpu.memory_bandwidth = 4.8e12;
    gpu.ports.assign(18, {"0000:c0:00.0", true});  // to a switch, as where there are more GPUs
  }
  const Topology topology = detail::AssembleGpus("one GPU", facts);
  EXPECT_EQ(topology, described);
  EXPECT_TRUE(OnOneGpu(topology, 0, 2));
  EXPECT_FALSE(OnOneGpu(topology, 1, 1)) << "a device and itself are no two";

  const Topology none = Masked(topology, LinkMask::Parse("none", 3));
  EXPECT_EQ(none.link(0, 1).type, LinkType::kHostMemory);
  EXPECT_FALSE(none.link(0, 1).peer_access);
  EXPECT_TRUE(OnOneGpu(none, 0, 1)) << "a mask takes links, not the GPU";
  EXPECT_FALSE(OnOneGpu(machines::NvSwitch(4), 0, 1));
}

TEST(Assembly, LinksThatLeadElsewhereJoinNobody) {
  detail::GpusFacts facts = FactsOf(machines::UnequalRing(), true);
  for (detail::GpuFacts& gpu : facts.gpus) {
    for (detail::NvlinkPort& port : gpu.ports) port.remote = "0000:ff:00.0";  // a GPU that was not selected
  }
  const Topology topology = detail::AssembleGpus("", facts);
  EXPECT_EQ(topology.link(0, 1).type, LinkType::kHostBridge);
  EXPECT_TRUE(topology.link(0, 1).peer_access);
  EXPECT_EQ(topology.link(0, 1).bandwidth, PcieBandwidth(3, 16));
  EXPECT_EQ(topology.link(0, 1).nvlinks, 0);
}

TEST(Assembly, TheFewerLinksOfTwoSwitchedGpusCount) {
  detail::GpusFacts facts = FactsOf(machines::NvSwitch(4), true);
  facts.gpus[2].ports.resize(12);  // some are down
  const Topology topology = detail::AssembleGpus("", facts);
  EXPECT_EQ(topology.link(0, 1).nvlinks, 18);
  EXPECT_EQ(topology.link(0, 2).nvlinks, 12);
  EXPECT_EQ(topology.link(2, 0).bandwidth, 300e9);
  EXPECT_FALSE(FindFault(topology).has_value());
}

TEST(Assembly, AccessThatIsGrantedOneWayIsOneWay) {
  for (const auto& [file, described] : machines::All()) {
    detail::GpusFacts facts = FactsOf(described, true);
    facts.pairs[0 * described.size() + 1].peer_access = facts.pairs[0 * described.size() + 1].native_atomics = false;
    const Topology topology = detail::AssembleGpus("", facts);
    const auto fault = FindFault(topology);
    EXPECT_FALSE(fault.has_value()) << file << ": " << fault->field << ' ' << fault->what;
    EXPECT_FALSE(topology.link(0, 1).peer_access);
    EXPECT_EQ(topology.link(1, 0).peer_access, described.link(1, 0).peer_access) << file;
  }
}

TEST(Assembly, NvlinkGenerationsFollowTheGpus) {
  EXPECT_EQ(detail::NvlinkGeneration(60), 1);
  EXPECT_EQ(detail::NvlinkGeneration(70), 2);
  EXPECT_EQ(detail::NvlinkGeneration(80), 3);
  EXPECT_EQ(detail::NvlinkGeneration(90), 4);
  EXPECT_EQ(detail::NvlinkGeneration(100), 5);
  EXPECT_EQ(detail::NvlinkGeneration(103), 5);
  EXPECT_EQ(detail::NvlinkGeneration(130), 5) << "not older than the newest that is known";
  EXPECT_EQ(detail::NvlinkGeneration(89), 0) << "L4 and L40 have none";
}

}  // namespace
}  // namespace chatty
