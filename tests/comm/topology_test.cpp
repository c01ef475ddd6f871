#include "chatty/comm/topology.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "chatty/comm/machine.h"
#include "chatty/core/error.h"
#include "machines.h"

namespace chatty {
namespace {

namespace fs = std::filesystem;

// ------------------------------------------------------------------ values ----

TEST(Topology, NamesOfTypesAreReadBack) {
  for (const LinkType type : {LinkType::kSelf, LinkType::kNvlink, LinkType::kPcieSwitch, LinkType::kHostBridge,
                              LinkType::kSockets, LinkType::kHostMemory}) {
    EXPECT_EQ(ParseLinkType(LinkTypeName(type)), type);
  }
  EXPECT_EQ(ParseLinkType("NVLink"), std::nullopt);
  EXPECT_EQ(ParseLinkType(""), std::nullopt);
}

TEST(Topology, NominalBandwidthsAreTheStandards) {
  EXPECT_EQ(NvlinkBandwidth(2), 25e9);
  EXPECT_EQ(18 * NvlinkBandwidth(4), 450e9);
  EXPECT_EQ(NvlinkBandwidth(0), 0);
  EXPECT_EQ(NvlinkBandwidth(-1), 0);
  EXPECT_EQ(NvlinkBandwidth(99), NvlinkBandwidth(5)) << "newer ones are not slower";
  EXPECT_NEAR(PcieBandwidth(3, 16), 15.75e9, 0.01e9);
  EXPECT_NEAR(PcieBandwidth(5, 16), 63.0e9, 0.1e9);
  EXPECT_EQ(PcieBandwidth(1, 1), 250e6);
  EXPECT_EQ(PcieBandwidth(0, 16), 0);
  EXPECT_EQ(PcieBandwidth(7, 16), 0);
  EXPECT_EQ(PcieBandwidth(3, 0), 0);
  EXPECT_EQ(PcieBandwidth(3, 255), 0) << "what drivers say where there is no PCIe link";
}

TEST(Topology, IsAValue) {
  const Topology dgx = machines::Dgx1();
  Topology copy = dgx;
  EXPECT_EQ(copy, dgx);
  copy.link(0, 1).nvlinks = 5;
  EXPECT_NE(copy, dgx);
  EXPECT_EQ(dgx.link(0, 1).nvlinks, 1);
  EXPECT_EQ(dgx.link(3, 3).type, LinkType::kSelf);
}

TEST(Topology, WhatIsNotKnownGoesThroughTheHost) {
  std::vector<TopologyDevice> devices = machines::Gpus(3, "GPU", 1, 1, 4);
  devices[1].host.bandwidth = 5e9;
  devices[2].socket = 1;
  const Topology topology("", devices);
  EXPECT_EQ(topology.link(0, 1).type, LinkType::kHostMemory);
  EXPECT_EQ(topology.link(0, 1).bandwidth, 5e9) << "the slower host path";
  EXPECT_FALSE(topology.link(0, 1).peer_access);
  EXPECT_EQ(topology.link(0, 2).type, LinkType::kSockets);
  EXPECT_EQ(topology.link(0, 2).bandwidth, PcieBandwidth(4, 16));
}

// ------------------------------------------------------------------ faults ----

TEST(TopologyFaults, DescribedMachinesHaveNone) {
  for (const auto& [file, topology] : machines::All()) {
    const auto fault = FindFault(topology);
    EXPECT_FALSE(fault.has_value()) << file << ": " << fault->field << ' ' << fault->what;
  }
}

/// Expects that a change to a device of an H200 machine is found at `field`.
template <class Change>
void ExpectDeviceFault(const std::string& field, Change&& change) {
  const Topology good = machines::NvSwitch(4);
  std::vector<TopologyDevice> devices = good.devices();
  change(devices[2]);
  const auto fault = FindFault(Topology(good.name(), devices));
  ASSERT_TRUE(fault.has_value()) << field;
  EXPECT_EQ(fault->device, 2u) << field;
  EXPECT_EQ(fault->field, field);
  EXPECT_FALSE(fault->what.empty());
}

TEST(TopologyFaults, OfDevices) {
  ExpectDeviceFault("label", [](TopologyDevice& device) { device.label = ""; });
  ExpectDeviceFault("label", [](TopologyDevice& device) { device.label = "cuda:1"; });
  ExpectDeviceFault("label", [](TopologyDevice& device) { device.label = "\x1b[2J"; });
  ExpectDeviceFault("label", [](TopologyDevice& device) { device.label = "\u009b2J"; });
  ExpectDeviceFault("label", [](TopologyDevice& device) { device.label = "a\u202eb"; });
  ExpectDeviceFault("pci_bus_id", [](TopologyDevice& device) { device.pci_bus_id = "a\u2066b"; });
  ExpectDeviceFault("kind", [](TopologyDevice& device) { device.kind = DeviceKind::kHost; });
  ExpectDeviceFault("name", [](TopologyDevice& device) { device.name = "a\nb"; });
  ExpectDeviceFault("name", [](TopologyDevice& device) { device.name = std::string(1000, 'x'); });
  ExpectDeviceFault("processors", [](TopologyDevice& device) { device.processors = -1; });
  ExpectDeviceFault("numa_node", [](TopologyDevice& device) { device.numa_node = -2; });
  ExpectDeviceFault("socket", [](TopologyDevice& device) { device.socket = 1 << 20; });
  ExpectDeviceFault("pci_bus_id", [](TopologyDevice& device) { device.pci_bus_id = "\x7f"; });
  ExpectDeviceFault("copy_engines", [](TopologyDevice& device) { device.copy_engines = -1; });
  ExpectDeviceFault("host_path.pcie_generation", [](TopologyDevice& device) { device.host.pcie_generation = 99; });
  ExpectDeviceFault("host_path.pcie_lanes", [](TopologyDevice& device) { device.host.pcie_lanes = 64; });
  ExpectDeviceFault("host_path.nominal_bytes_per_s", [](TopologyDevice& device) { device.host.bandwidth = -1; });
}

template <class Change>
void ExpectLinkFault(const std::string& field, const std::string& what, Change&& change) {
  Topology topology = machines::Dgx1();
  change(topology.link(0, 3));
  const auto fault = FindFault(topology);
  ASSERT_TRUE(fault.has_value()) << field << ' ' << what;
  EXPECT_EQ(fault->from, 0u);
  EXPECT_EQ(fault->to, 3u);
  EXPECT_EQ(fault->field, field);
  EXPECT_NE(fault->what.find(what), std::string::npos) << fault->what;
}

TEST(TopologyFaults, OfLinks) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();
  ExpectLinkFault("type", "the other way", [](Link& link) { link.type = LinkType::kSockets; });
  ExpectLinkFault("type", "`self`", [](Link& link) { link.type = LinkType::kSelf; });
  ExpectLinkFault("count", "is 3 here and 2 the other way", [](Link& link) { link.nvlinks = 3; });
  ExpectLinkFault("count", "-1", [](Link& link) { link.nvlinks = -1; });
  ExpectLinkFault("count", "1000000", [](Link& link) { link.nvlinks = 1000000; });
  ExpectLinkFault("version", "is 3 here and 2", [](Link& link) { link.nvlink_version = 3; });
  ExpectLinkFault("version", "-7", [](Link& link) { link.nvlink_version = -7; });
  ExpectLinkFault("switched", "the other way", [](Link& link) { link.switched = true; });
  ExpectLinkFault("native_atomics", "peer_access", [](Link& link) { link.peer_access = false; });
  for (const double bandwidth : {kNan, kInfinity, -kInfinity, -1.0, 2e15}) {
    ExpectLinkFault("nominal_bytes_per_s", "bytes/s", [&](Link& link) { link.bandwidth = bandwidth; });
  }

  Topology topology = machines::TwoQuads();
  topology.link(0, 1).nvlinks = topology.link(1, 0).nvlinks = 1;
  EXPECT_EQ(FindFault(topology)->field, "count") << "of a link that is no NVLink";
  topology = machines::TwoQuads();
  topology.link(0, 1).nvlink_version = topology.link(1, 0).nvlink_version = 1;
  EXPECT_EQ(FindFault(topology)->field, "version");
  topology = machines::TwoQuads();
  topology.link(0, 1).switched = topology.link(1, 0).switched = true;
  EXPECT_EQ(FindFault(topology)->field, "switched");
  topology = machines::TwoQuads();
  topology.link(2, 2).type = LinkType::kPcieSwitch;
  EXPECT_EQ(FindFault(topology)->field, "type");
  topology = machines::TwoQuads();
  topology.link(2, 2).peer_access = true;
  EXPECT_EQ(FindFault(topology)->field, "peer_access");
}

TEST(TopologyFaults, OfTheWhole) {
  EXPECT_EQ(FindFault(Topology())->field, "devices");
  EXPECT_EQ(FindFault(Topology("", machines::Gpus(65, "GPU", 1, 1, 3)))->field, "devices");
  EXPECT_FALSE(FindFault(Topology("", machines::Gpus(64, "GPU", 1, 1, 3))).has_value());
  EXPECT_EQ(FindFault(Topology("bell\a", machines::Gpus(1, "GPU", 1, 1, 3)))->field, "name");
}

// ------------------------------------------------------------------- masks ----

TEST(LinkMasks, AreReadAndWritten) {
  EXPECT_EQ(LinkMask().text(), "all");
  EXPECT_EQ(LinkMask::Parse("all", 4).text(), "all");
  EXPECT_EQ(LinkMask::Parse("none", 4).text(), "none");
  for (const char* text : {"pairs {0,1}{2,3}", "pairs{0,1}{2,3}", "pairs: {0,1}, {2,3}", "pairs { 0 , 1 } {2,3} "}) {
    const LinkMask mask = LinkMask::Parse(text, 4);
    EXPECT_EQ(mask.text(), "pairs {0,1}{2,3}") << text;
    for (std::size_t a = 0; a < 4; ++a) {
      for (std::size_t b = 0; b < 4; ++b) EXPECT_EQ(mask.Allows(a, b), a / 2 == b / 2) << text << a << b;
    }
  }
  const LinkMask group = LinkMask::Parse("pairs {2,0,1}", 4);
  EXPECT_TRUE(group.Allows(0, 2) && group.Allows(1, 2) && group.Allows(0, 1) && group.Allows(3, 3));
  EXPECT_FALSE(group.Allows(0, 3) || group.Allows(3, 2));
}

TEST(LinkMasks, RefuseWhatTheyCannotRead) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "pairs {0,1}"},
      {"some", "pairs {0,1}"},
      {"All", "pairs {0,1}"},
      {"none ", "pairs {0,1}"},
      {"pairs", "no pair"},
      {"pairs {}", "no index"},
      {"pairs {0}", "one device"},
      {"pairs {0,1", "does not end"},
      {"pairs 0,1", "begins no group"},
      {"pairs {0,1}x", "begins no"},
      {"pairs {0,4}", "no device 4"},
      {"pairs {0,99999999999999999999}", "there is no device"},
      {"pairs {0,0}", "twice"},
      {"pairs {0,-1}", "no index"},
      {"pairs {0,,1}", "no index"},
      {"pairs {0,1.5}", "no index"},
      {"pairs {{0,1}}", "no index"},
      {"pairs {0 1}", "no index"},
  };
  for (const auto& [text, what] : cases) {
    try {
      LinkMask::Parse(text, 4);
      ADD_FAILURE() << text << " was read";
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << text << ": " << error.what();
      EXPECT_NE(std::string(error.what()).find("--links"), std::string::npos) << error.what();
    }
  }
}

TEST(LinkMasks, TakePeerAccessAway) {
  const Topology whole = machines::NvSwitch(4);
  EXPECT_EQ(Masked(whole, LinkMask()), whole);
  const Topology none = Masked(whole, LinkMask::Parse("none", 4));
  const Topology pairs = Masked(whole, LinkMask::Parse("pairs {0,1}{2,3}", 4));
  for (std::size_t a = 0; a < 4; ++a) {
    for (std::size_t b = 0; b < 4; ++b) {
      const bool kept = a / 2 == b / 2;
      EXPECT_EQ(pairs.link(a, b), kept ? whole.link(a, b) : HostLink(whole, a, b));
      EXPECT_EQ(none.link(a, b), HostLink(whole, a, b));
      if (a == b) continue;
      EXPECT_FALSE(none.link(a, b).peer_access || none.link(a, b).native_atomics || none.link(a, b).switched);
      EXPECT_EQ(none.link(a, b).nvlinks, 0);
      EXPECT_EQ(none.link(a, b).bandwidth, PcieBandwidth(5, 16));
      EXPECT_EQ(none.link(a, b).type, kept ? LinkType::kHostMemory : LinkType::kSockets);
    }
  }
  EXPECT_FALSE(FindFault(none).has_value());
  EXPECT_FALSE(FindFault(pairs).has_value());
  EXPECT_EQ(pairs.devices(), whole.devices());
}

// ------------------------------------------------------------- this machine ----

TEST(Discovery, OfHostDevices) {
  const Topology topology = DiscoverTopology(ParseDevices("host:3"), 7);
  ASSERT_EQ(topology.size(), 3u);
  EXPECT_FALSE(FindFault(topology).has_value());
  EXPECT_EQ(topology.devices()[0].processors, 3);
  EXPECT_EQ(topology.devices()[2].processors, 2);
  const auto opened = OpenDevices(ParseDevices("host:3"), 7);
  for (std::size_t i = 0; i < 3; ++i) {
    const TopologyDevice& device = topology.devices()[i];
    EXPECT_EQ(device.label, opened[i]->label());
    EXPECT_EQ(device.name, opened[i]->info().name);
    EXPECT_EQ(device.processors, opened[i]->info().multiprocessors);
    EXPECT_NEAR(static_cast<double>(device.memory), static_cast<double>(opened[i]->info().memory), 64e6);
    EXPECT_EQ(device.kind, DeviceKind::kHost);
  }
  EXPECT_EQ(topology.link(0, 2).type, LinkType::kHostMemory);
  EXPECT_TRUE(topology.link(0, 2).peer_access && topology.link(0, 2).native_atomics);
  EXPECT_GE(DiscoverTopology(ParseDevices("host")).devices()[0].processors, 1);
}

TEST(Discovery, RefusesWhatIsNotThere) {
  EXPECT_THROW(DiscoverTopology({DeviceKind::kHost, {}}), UsageError);
#if !CHATTY_WITH_CUDA
  EXPECT_THROW(DiscoverTopology({DeviceKind::kCuda, {0}}), CapabilityError);
#endif
}

TEST(Discovery, OfDevicesThatShareAGpu) {
  if (CudaDeviceCount() == 0) GTEST_SKIP() << "no GPU on this machine";
  const Topology topology = DiscoverTopology(ParseDevices("cuda:3@0"));
  const auto fault = FindFault(topology);
  EXPECT_FALSE(fault.has_value()) << fault->field << ' ' << fault->what;
  EXPECT_EQ(topology.devices()[2].label, "cuda:0.2");
  EXPECT_EQ(topology.link(0, 2).type, LinkType::kSameGpu);
  EXPECT_TRUE(topology.link(0, 2).peer_access && topology.link(0, 2).native_atomics);
  EXPECT_GT(topology.link(0, 2).bandwidth, 1e11) << "no GPU's memory is slower";
}

TEST(Discovery, OfGpusAgreesWithTheDriver) {
  const int count = CudaDeviceCount();
  if (count == 0) GTEST_SKIP() << "no GPU on this machine";
  const Topology topology = DiscoverTopology(ParseDevices("cuda"));
  ASSERT_EQ(topology.size(), static_cast<std::size_t>(count));
  const auto fault = FindFault(topology);
  EXPECT_FALSE(fault.has_value()) << fault->field << ' ' << fault->what;
  for (int i = 0; i < count; ++i) {
    const auto opened = MakeCudaDevice(i);
    const TopologyDevice& device = topology.devices()[static_cast<std::size_t>(i)];
    EXPECT_EQ(device.label, opened->label());
    EXPECT_EQ(device.name, opened->info().name);
    EXPECT_EQ(device.memory, opened->info().memory);
    EXPECT_EQ(device.processors, opened->info().multiprocessors);
    EXPECT_EQ(device.pci_bus_id.size(), std::string("0000:1b:00.0").size());
  }
}

/// A folder with files as /sys and /proc have them.
class FakeSystem : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "chatty-topology-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override {
    if (!root_.empty()) fs::remove_all(root_);
  }
  void Write(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << '\n';
  }
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

  fs::path root_;
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

TEST(LinksApart, NvlinksAreAndPcieIsNot) {
  EXPECT_TRUE(LinksApart(machines::NvSwitch(4)));
  EXPECT_TRUE(LinksApart(machines::OneGpu(2)));
  EXPECT_TRUE(LinksApart(machines::NoPeers())) << "there are none";
  EXPECT_FALSE(LinksApart(machines::TwoQuads()));
  EXPECT_TRUE(LinksApart(Masked(machines::TwoQuads(), LinkMask::Parse("none", 8))));
  EXPECT_FALSE(LinksApart(DiscoverTopology(ParseDevices("host:2"))));
  Topology one_way = machines::TwoQuads();
  for (std::size_t a = 0; a < 8; ++a) {
    for (std::size_t b = 0; b < a; ++b) one_way.link(a, b).peer_access = false;
  }
  EXPECT_TRUE(LinksApart(one_way)) << "no link is used";
}

TEST(ReachEachOther, IsBothWays) {
  Topology topology = machines::NvSwitch(3);
  EXPECT_TRUE(AllReach(topology));
  topology.link(2, 0).peer_access = false;
  EXPECT_FALSE(ReachEachOther(topology, 0, 2));
  EXPECT_FALSE(ReachEachOther(topology, 2, 0));
  EXPECT_TRUE(ReachEachOther(topology, 1, 2));
  EXPECT_FALSE(AllReach(topology));
  EXPECT_FALSE(AllReach(Masked(machines::NvSwitch(4), LinkMask::Parse("pairs {0,1}{2,3}", 4))));
  EXPECT_FALSE(AllReach(machines::Dgx1())) << "no link joins 0 and 5";
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
