#include "chatty/comm/topology.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <thread>

#include "chatty/comm/machine.h"
#include "chatty/core/error.h"
#include "chatty/io/text_parser.h"

namespace chatty {
namespace {

constexpr std::array<std::string_view, 7> kLinkTypeNames = {"self",        "same-gpu", "nvlink",     "pcie-switch",
                                                            "host-bridge", "sockets",  "host-memory"};

constexpr std::size_t kMaxText = 256;  // bytes of a name

std::string FaultOfText(std::string_view text) {
  if (text.size() > kMaxText) return fmt::format("is longer than {} bytes", kMaxText);
  if (io::Printable(text) != text) return "has control characters";
  return "";
}

std::string FaultOfBandwidth(double bandwidth) {
  if (std::isfinite(bandwidth) && bandwidth >= 0 && bandwidth <= kMaxLinkBandwidth) return "";
  return fmt::format("is {}; write bytes/s from 0 (not known) to {}", bandwidth, kMaxLinkBandwidth);
}

std::string FaultOfRange(std::int64_t value, std::int64_t low, std::int64_t high) {
  return value >= low && value <= high ? "" : fmt::format("is {}; it is {} to {}", value, low, high);
}

std::optional<TopologyFault> FindDeviceFault(const Topology& topology) {
  std::set<std::string> labels;
  for (std::size_t i = 0; i < topology.size(); ++i) {
    const TopologyDevice& device = topology.devices()[i];
    const auto fault = [&](std::string field, std::string what) {
      TopologyFault found;
      found.device = i;
      found.field = std::move(field);
      found.what = std::move(what);
      return found;
    };
    const std::pair<const char*, std::string> checks[] = {
        {"label", device.label.empty() ? "is empty" : FaultOfText(device.label)},
        {"label", labels.insert(device.label).second ? "" : fmt::format("'{}' is another device's, too", device.label)},
        {"kind", device.kind == topology.devices()[0].kind
                     ? ""
                     : fmt::format("is not that of '{}'; a run takes host devices or GPUs, and not both",
                                   topology.devices()[0].label)},
        {"name", FaultOfText(device.name)},
        {"processors", FaultOfRange(device.processors, 0, 1 << 20)},
        {"numa_node", FaultOfRange(device.numa_node, -1, 1 << 16)},
        {"socket", FaultOfRange(device.socket, -1, 1 << 16)},
        {"pci_bus_id", FaultOfText(device.pci_bus_id)},
        {"copy_engines", FaultOfRange(device.copy_engines, 0, 1 << 10)},
        {"host_path.pcie_generation", FaultOfRange(device.host.pcie_generation, 0, 16)},
        {"host_path.pcie_lanes", FaultOfRange(device.host.pcie_lanes, 0, 32)},
        {"host_path.nominal_bytes_per_s", FaultOfBandwidth(device.host.bandwidth)},
    };
    for (const auto& [field, what] : checks) {
      if (!what.empty()) return fault(field, what);
    }
  }
  return std::nullopt;
}

/// What is wrong with the link, given the one back; an empty text if nothing is.
std::pair<std::string, std::string> FaultOfLink(const Link& link, const Link& back, bool self) {
  using Fault = std::pair<std::string, std::string>;
  if (self != (link.type == LinkType::kSelf)) {
    return self ? Fault{"type", "leads from a device to itself and is not `self`"}
                : Fault{"type", "is `self` between two devices"};
  }
  if (self && link.peer_access) return {"peer_access", "a device is no peer of its own"};
  if (link.type != back.type) {
    return {"type", fmt::format("is {} here and {} the other way", LinkTypeName(link.type), LinkTypeName(back.type))};
  }
  if (std::string what = FaultOfRange(link.nvlinks, 0, kMaxNvlinks); !what.empty()) return {"count", what};
  if (link.nvlinks != back.nvlinks) {
    return {"count", fmt::format("is {} here and {} the other way; a NVLink goes both ways", link.nvlinks, back.nvlinks)};
  }
  if (std::string what = FaultOfRange(link.nvlink_version, 0, 64); !what.empty()) return {"version", what};
  if (link.nvlink_version != back.nvlink_version) {
    return {"version", fmt::format("is {} here and {} the other way", link.nvlink_version, back.nvlink_version)};
  }
  if (link.switched != back.switched) return {"switched", "is not the same the other way"};
  if (link.type != LinkType::kNvlink) {
    if (link.nvlinks != 0) return {"count", fmt::format("is for NVLinks, and this is {}", LinkTypeName(link.type))};
    if (link.nvlink_version != 0) return {"version", fmt::format("is for NVLinks, and this is {}", LinkTypeName(link.type))};
    if (link.switched) return {"switched", fmt::format("is for NVLinks, and this is {}", LinkTypeName(link.type))};
  }
  if (link.native_atomics && !link.peer_access) return {"native_atomics", "needs peer_access"};
  if (std::string what = FaultOfBandwidth(link.bandwidth); !what.empty()) return {"nominal_bytes_per_s", what};
  return {};
}

}  // namespace

std::string_view LinkTypeName(LinkType type) { return kLinkTypeNames.at(static_cast<std::size_t>(type)); }

std::optional<LinkType> ParseLinkType(std::string_view name) {
  const auto found = std::find(kLinkTypeNames.begin(), kLinkTypeNames.end(), name);
  if (found == kLinkTypeNames.end()) return std::nullopt;
  return static_cast<LinkType>(found - kLinkTypeNames.begin());
}

Topology::Topology(std::string name, std::vector<TopologyDevice> devices)
    : name_(std::move(name)), devices_(std::move(devices)), links_(devices_.size() * devices_.size()) {
  for (std::size_t from = 0; from < size(); ++from) {
    for (std::size_t to = 0; to < size(); ++to) link(from, to) = HostLink(*this, from, to);
  }
}

bool OnOneGpu(const Topology& topology, std::size_t a, std::size_t b) {
  const std::string& id = topology.devices()[a].pci_bus_id;
  return a != b && !id.empty() && id == topology.devices()[b].pci_bus_id;
}

bool ReachEachOther(const Topology& topology, std::size_t a, std::size_t b) {
  return topology.link(a, b).peer_access && topology.link(b, a).peer_access;
}

bool LinksApart(const Topology& topology) {
  for (std::size_t from = 0; from < topology.size(); ++from) {
    for (std::size_t to = 0; to < topology.size(); ++to) {
      const Link& link = topology.link(from, to);
      if (ReachEachOther(topology, from, to) && link.type != LinkType::kNvlink && link.type != LinkType::kSameGpu)
        return false;
    }
  }
  return true;
}

Link HostLink(const Topology& topology, std::size_t from, std::size_t to) {
  Link link;
  if (from == to) {
    link.type = LinkType::kSelf;
    return link;
  }
  const TopologyDevice &a = topology.devices()[from], &b = topology.devices()[to];
  if (detail::AcrossSockets(a, b)) link.type = LinkType::kSockets;
  link.bandwidth = std::min(a.host.bandwidth, b.host.bandwidth);
  return link;
}

std::optional<TopologyFault> FindFault(const Topology& topology) {
  TopologyFault fault;
  if (topology.size() == 0 || topology.size() > static_cast<std::size_t>(kMaxDevices)) {
    fault.field = "devices";
    fault.what = fmt::format("are {}; a run takes 1 to {}", topology.size(), kMaxDevices);
    return fault;
  }
  if (std::string what = FaultOfText(topology.name()); !what.empty()) {
    fault.field = "name";
    fault.what = std::move(what);
    return fault;
  }
  if (auto found = FindDeviceFault(topology)) return found;
  for (std::size_t from = 0; from < topology.size(); ++from) {
    for (std::size_t to = 0; to < topology.size(); ++to) {
      auto [field, what] = FaultOfLink(topology.link(from, to), topology.link(to, from), from == to);
      if (what.empty()) continue;
      fault.from = from;
      fault.to = to;
      fault.field = std::move(field);
      fault.what = std::move(what);
      return fault;
    }
  }
  return std::nullopt;
}

// -------------------------------------------------------------- bandwidths ----

double NvlinkBandwidth(int version) {
  constexpr double kGiga[] = {0, 20, 25, 25, 25, 50};  // 1: P100, 2: V100, 3: A100, 4: H100 and H200, 5: B200
  constexpr int kNewest = static_cast<int>(std::size(kGiga)) - 1;
  return version > 0 ? kGiga[std::min(version, kNewest)] * 1e9 : 0;  // newer ones are not slower
}

double PcieBandwidth(int generation, int lanes) {
  // Transfers/s of a lane, and the share of bits that the line code leaves: 8b/10b, 128b/130b, and PCIe 6's flits.
  constexpr double kTransfers[] = {0, 2.5e9, 5e9, 8e9, 16e9, 32e9, 64e9};
  if (generation < 1 || generation >= static_cast<int>(std::size(kTransfers))) return 0;
  if (lanes < 1 || lanes > 32) return 0;
  const double code = generation <= 2 ? 8.0 / 10 : generation <= 5 ? 128.0 / 130 : 242.0 / 256;
  return std::floor(kTransfers[generation] * code / 8 * lanes);
}

// ------------------------------------------------------------------- masks ----

namespace {

constexpr std::string_view kMaskForms = "write all, none or pairs {0,1}{2,3}";

/// Reads one group, from behind its brace up to and with the closing one, off the front of `rest`.
std::vector<std::size_t> ParseGroup(std::string_view& rest, std::string_view whole, std::size_t devices) {
  const std::size_t close = rest.find('}');
  if (close == std::string_view::npos) Throw<UsageError>("--links {}: a group does not end; {}", whole, kMaskForms);
  std::string_view inside = rest.substr(0, close);
  rest.remove_prefix(close + 1);
  std::vector<std::size_t> group;
  for (bool more = true; more;) {
    const std::size_t comma = inside.find(',');
    std::string_view word = inside.substr(0, comma);
    more = comma != std::string_view::npos;
    if (more) inside.remove_prefix(comma + 1);
    while (word.starts_with(' ')) word.remove_prefix(1);
    while (word.ends_with(' ')) word.remove_suffix(1);
    std::size_t device = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), device);
    if (word.empty() || error == std::errc::invalid_argument || end != word.data() + word.size()) {
      Throw<UsageError>("--links {}: '{}' is no index of a device; {}", whole, word, kMaskForms);
    }
    if (error != std::errc() || device >= devices) {
      Throw<UsageError>("--links {}: there is no device {}; devices are 0 to {}", whole, word, devices - 1);
    }
    if (std::find(group.begin(), group.end(), device) != group.end()) {
      Throw<UsageError>("--links {}: device {} is twice in a group", whole, device);
    }
    group.push_back(device);
  }
  if (group.size() < 2) Throw<UsageError>("--links {}: a group of one device has no links", whole);
  return group;
}

}  // namespace

LinkMask LinkMask::Parse(std::string_view text, std::size_t devices) {
  LinkMask mask;
  if (text == "all") return mask;
  mask.all_ = false;
  if (text == "none") return mask;
  constexpr std::string_view kPairs = "pairs";
  if (!text.starts_with(kPairs)) Throw<UsageError>("--links '{}': {}", text, kMaskForms);
  std::string_view rest = text.substr(kPairs.size());
  const auto skip = [&rest](std::string_view what) {
    while (!rest.empty() && what.find(rest.front()) != std::string_view::npos) rest.remove_prefix(1);
  };
  for (skip(" :"); !rest.empty(); skip(" ,")) {
    if (rest.front() != '{') Throw<UsageError>("--links {}: '{}' begins no group; {}", text, rest, kMaskForms);
    rest.remove_prefix(1);
    mask.groups_.push_back(ParseGroup(rest, text, devices));
  }
  if (mask.groups_.empty()) Throw<UsageError>("--links {}: no pair is named; {}", text, kMaskForms);
  return mask;
}

bool LinkMask::Allows(std::size_t a, std::size_t b) const {
  return all_ || a == b || std::any_of(groups_.begin(), groups_.end(), [&](const std::vector<std::size_t>& group) {
           const auto has = [&](std::size_t device) { return std::find(group.begin(), group.end(), device) != group.end(); };
           return has(a) && has(b);
         });
}

std::string LinkMask::text() const {
  if (all_) return "all";
  if (groups_.empty()) return "none";
  std::string text = "pairs ";
  for (const std::vector<std::size_t>& group : groups_) text += fmt::format("{{{}}}", fmt::join(group, ","));
  return text;
}

std::string LinkMask::CanonicalText(std::size_t devices) const {
  std::string pairs;
  bool all = true;
  for (std::size_t a = 0; a < devices; ++a) {
    for (std::size_t b = a + 1; b < devices; ++b) {
      if (Allows(a, b)) {
        pairs += fmt::format("{{{},{}}}", a, b);
      } else {
        all = false;
      }
    }
  }
  if (all) return "all";
  return pairs.empty() ? "none" : "pairs " + pairs;
}

Topology Masked(const Topology& topology, const LinkMask& mask) {
  Topology masked = topology;
  for (std::size_t from = 0; from < masked.size(); ++from) {
    for (std::size_t to = 0; to < masked.size(); ++to) {
      if (!mask.Allows(from, to)) masked.link(from, to) = HostLink(masked, from, to);
    }
  }
  return masked;
}

// --------------------------------------------------------------- discovery ----

namespace {

Topology DiscoverHosts(const DeviceSelection& selection, int threads) {
  const detail::HostFacts facts = detail::ReadHost();
  if (threads <= 0) threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const int count = static_cast<int>(selection.indices.size());
  std::vector<TopologyDevice> devices;
  for (int i = 0; i < count; ++i) {
    TopologyDevice device;
    device.label = fmt::format("host:{}", selection.indices[i]);
    device.processors = std::max(1, threads / count + (i < threads % count ? 1 : 0));  // as OpenDevices deals them
    device.name = fmt::format("{} CPU thread{}", device.processors, device.processors == 1 ? "" : "s");
    device.memory = facts.memory;
    device.numa_node = facts.numa_node;
    device.socket = facts.socket;
    devices.push_back(std::move(device));
  }
  Topology topology(facts.name, std::move(devices));
  for (std::size_t from = 0; from < topology.size(); ++from) {
    for (std::size_t to = 0; to < topology.size(); ++to) {
      if (from != to) topology.link(from, to).peer_access = topology.link(from, to).native_atomics = true;  // one memory
    }
  }
  return topology;
}

}  // namespace

Topology DiscoverTopology(const DeviceSelection& selection, int threads) try {
  if (selection.indices.empty()) throw UsageError("no device is selected");
  if (selection.kind == DeviceKind::kHost) return DiscoverHosts(selection, threads);
  detail::GpusFacts facts = detail::ReadGpus(selection.indices);
  const std::vector<std::string> labels = LabelsOf(selection);
  for (std::size_t i = 0; i < labels.size(); ++i) facts.gpus[i].device.label = labels[i];
  return detail::AssembleGpus(detail::ReadHost().name, facts);
} catch (const std::bad_alloc&) {
  ThrowOutOfHostMemory("looking at the machine");
}

}  // namespace chatty
