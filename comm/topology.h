/// \file
/// The devices of a run and what joins them: the machine as the choice of a communication path uses it. Bandwidths here are
/// nominal, by the standards that links follow; nothing is measured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chatty/core/device.h"

namespace chatty {

/// What data crosses from one device to another: the part of the way that is farthest from both.
enum class LinkType : std::uint8_t {
  kSelf,        ///< the same device
  kSameGpu,     ///< the memory of a GPU that both are on
  kNvlink,      ///< NVLinks, directly or through an NVSwitch
  kPcieSwitch,  ///< PCIe switches alone
  kHostBridge,  ///< PCIe host bridges of one NUMA node
  kSockets,     ///< the interconnect between CPU sockets
  kHostMemory,  ///< host memory: shared by host devices, and the way of staged copies where nothing else is known
};

/// "self", "same-gpu", "nvlink", "pcie-switch", "host-bridge", "sockets" or "host-memory", as in files and tables.
std::string_view LinkTypeName(LinkType type);
/// The type with this LinkTypeName; none for other text.
std::optional<LinkType> ParseLinkType(std::string_view name);

/// The way from one device to another, in one direction.
struct Link {
  LinkType type = LinkType::kHostMemory;  ///< what the way crosses
  int nvlinks = 0;                        ///< NVLinks that join the two; 0 for other types and unknown counts
  int nvlink_version = 0;                 ///< generation of the NVLinks: 2 for V100, 4 for H200; 0 for other types
  bool switched = false;        ///< the NVLinks lead to an NVSwitch and serve all devices behind it, not this pair alone
  bool peer_access = false;     ///< `from` addresses the memory of `to`; copies are staged unless both do
  bool native_atomics = false;  ///< the link executes atomics on the other's memory
  /// Nominal bytes/s in this direction, of all links of the pair; 0 if not known. For NVLinks without a count, of one link.
  double bandwidth = 0;
  bool operator==(const Link&) const = default;  ///< all members
};

/// How a device reaches host memory. For host devices all members are 0 and false: their memory is host memory.
struct HostPath {
  int pcie_generation = 0;                           ///< 5 for PCIe 5; 0 if not known
  int pcie_lanes = 0;                                ///< 16 for x16; 0 if not known
  bool native_atomics = false;                       ///< the link executes the device's atomics on host memory
  double bandwidth = 0;                              ///< nominal bytes/s in either direction; 0 if not known
  bool operator==(const HostPath&) const = default;  ///< all members
};

/// A device in a topology; the machine need not have it.
struct TopologyDevice {
  std::string label;                    ///< "cuda:1", "host:0"
  DeviceKind kind = DeviceKind::kHost;  ///< CPU threads, or a GPU
  std::string name;                     ///< "NVIDIA H200", "4 CPU threads"
  std::uint64_t memory = 0;             ///< bytes; 0 if not known. Host devices share it
  int processors = 0;                   ///< SMs, or threads
  int numa_node = -1;                   ///< the NUMA node that it belongs to; -1 if not known or more than one
  int socket = -1;                      ///< the CPU socket of that node; -1 as numa_node
  std::string pci_bus_id;               ///< "0000:1b:00.0"; empty for host devices
  int copy_engines = 0;                 ///< copies that can run beside kernels and each other; 0 if not known
  HostPath host;                        ///< its way to host memory
  bool operator==(const TopologyDevice&) const = default;  ///< all members
};

/// Devices and what joins them. A value: it can be copied, compared, written to a file (cli/topology/json.h) and made up.
class Topology {
 public:
  Topology() = default;
  /// These devices with unknown links: each pair goes through host memory, at the slower of the two host paths.
  Topology(std::string name, std::vector<TopologyDevice> devices);

  /// The machine's name; may be empty.
  const std::string& name() const { return name_; }
  /// Number of devices.
  std::size_t size() const { return devices_.size(); }
  /// The devices, in the order of their indices.
  const std::vector<TopologyDevice>& devices() const { return devices_; }
  /// @{
  /// The way from device `from` to device `to`, by index. No bounds are checked.
  const Link& link(std::size_t from, std::size_t to) const { return links_[from * devices_.size() + to]; }
  Link& link(std::size_t from, std::size_t to) { return links_[from * devices_.size() + to]; }
  /// @}
  bool operator==(const Topology&) const = default;  ///< all members

 private:
  std::string name_;
  std::vector<TopologyDevice> devices_;
  std::vector<Link> links_;  // [from][to]
};

/// Whether two devices are on one GPU: they have one PCI bus id, whatever links a mask has removed.
bool OnOneGpu(const Topology& topology, std::size_t a, std::size_t b);
/// Whether two devices address each other's memory. Where one cannot, transports use host memory both ways.
bool ReachEachOther(const Topology& topology, std::size_t a, std::size_t b);
/// Whether no link by which devices reach each other's memory also leads to host memory.
bool LinksApart(const Topology& topology);
/// The way through host memory between two devices, without peer access, at the slower of their host paths: kHostMemory, or
/// kSockets where the devices belong to different ones. From a device to itself, kSelf.
Link HostLink(const Topology& topology, std::size_t from, std::size_t to);

/// Largest bandwidth that a topology may state, in bytes/s: a thousand times that of links. Sums of it stay exact.
inline constexpr double kMaxLinkBandwidth = 1e15;
/// Most NVLinks between two devices that a topology may state.
inline constexpr int kMaxNvlinks = 1024;

/// A fault of a topology: its place, and a description.
struct TopologyFault {
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);  ///< no index
  std::size_t device = kNone;                                         ///< the device, if it has the fault
  std::size_t from = kNone;                                           ///< or the begin of the link that has the fault
  std::size_t to = kNone;                                             ///< and the end of that link
  std::string field;                                                  ///< its name in files: "count", "host_path.pcie_lanes"
  std::string what;  ///< "is 3 here and 2 the other way; NVLinks go both ways"
};
/// Finds the first fault, devices before links; none if all is well. Faults are: no devices or more than kMaxDevices, counts
/// that differ by direction, numbers out of range, labels twice, host devices beside GPUs, characters that control
/// terminals.
std::optional<TopologyFault> FindFault(const Topology& topology);

/// Bytes/s of a link or a way to host memory whose bandwidth is not known: PCIe 3 x16.
inline constexpr double kAssumedBandwidth = 15.75e9;

/// Bytes/s in one direction of a NVLink of a generation. A generation newer than this library counts as the newest known
/// one. 0 if the generation is not known.
double NvlinkBandwidth(int version);
/// Bytes/s in one direction of a PCIe path, less the line code but not packets; 0 for generations and widths that
/// do not exist.
double PcieBandwidth(int generation, int lanes);

/// Which pairs may use their links, as `--links` states it.
class LinkMask {
 public:
  LinkMask() = default;  ///< all of them
  /// Parses "all", "none" or "pairs {0,1}{2,3}", whose groups name devices by their index among `devices`: links within a
  /// group stay. Throws UsageError for other text, an index out of range or twice in a group, a group of one.
  static LinkMask Parse(std::string_view text, std::size_t devices);
  /// Whether the link between two devices stays; symmetric.
  bool Allows(std::size_t a, std::size_t b) const;
  /// Text that Parse reads.
  std::string text() const;
  /// Text that Parse reads, equal for all masks that leave the same links between so many devices.
  std::string CanonicalText(std::size_t devices) const;
  bool operator==(const LinkMask&) const = default;  ///< the same groups

 private:
  bool all_ = true;
  std::vector<std::vector<std::size_t>> groups_;
};

/// The topology without the links that `mask` removes: their pairs have no peer access and go through host memory
/// (HostLink).
Topology Masked(const Topology& topology, const LinkMask& mask);

/// What joins the selected devices of this machine, as the system, the CUDA driver and, if present, NVML report it. Opens no
/// device. `threads`: as for OpenDevices. Throws CapabilityError for GPUs in a build without CUDA, DeviceError where the
/// driver fails. Without NVML, or in a container that hides /sys, fields stay unknown.
Topology DiscoverTopology(const DeviceSelection& selection, int threads = 0);

}  // namespace chatty
