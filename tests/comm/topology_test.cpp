#include "chatty/comm/topology.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "chatty/comm/machine.h"
#include "chatty/core/error.h"
#include "machines.h"

namespace chatty {
namespace {

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
  topology.link(2, 0).peer_access = false;
  EXPECT_FALSE(ReachEachOther(topology, 0, 2));
  EXPECT_FALSE(ReachEachOther(topology, 2, 0));
  EXPECT_TRUE(ReachEachOther(topology, 1, 2));
}

}  // namespace
}  // namespace chatty
