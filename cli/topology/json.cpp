#include "chatty/cli/topology/json.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <streambuf>
#include <type_traits>
#include <utility>
#include <vector>

#include "chatty/cli/text.h"
#include "chatty/core/error.h"
#include "chatty/core/suggestion.h"
#include "chatty/io/input.h"
#include "chatty/io/text_parser.h"

namespace chatty::cli {
namespace {

constexpr std::string_view kSchema = "chatty-topology-1";
/// Of a file without its costs, and with them.
constexpr std::size_t kMaxBytes = std::size_t{16} << 20, kMaxRecordBytes = std::size_t{256} << 20;

using Parsed = nlohmann::json;  // which finds members fast; one that keeps their order compares each with all others

/// Bytes of a file, a few at a time, up to a limit that may move on.
class LimitedBytes : public std::streambuf {
 public:
  explicit LimitedBytes(Input& input) : input_(input), buffer_(std::size_t{64} << 10) {}
  /// What was read so far does not count.
  void MoveOn() { limit_ = std::min(taken_ + kMaxBytes, kMaxRecordBytes); }

 protected:
  int_type underflow() override {
    const std::size_t bytes = input_.Read(buffer_.data(), buffer_.size());
    taken_ += bytes;
    if (taken_ > limit_) {
      if (limit_ == kMaxRecordBytes) {
        Throw<InputError>("{}: is larger than {}, which no record is", input_.name(), FormatBytes(limit_));
      }
      Throw<InputError>("{}: is larger than {} without its costs, which no topology is", input_.name(),
                        FormatBytes(kMaxBytes));
    }
    setg(buffer_.data(), buffer_.data(), buffer_.data() + bytes);
    return bytes == 0 ? traits_type::eof() : traits_type::to_int_type(buffer_.front());
  }

 private:
  Input& input_;
  std::vector<char> buffer_;
  std::size_t taken_ = 0, limit_ = kMaxBytes;
};

/// Throws for a place in the file, such as "links[2]"; empty: the whole.
template <class... Args>
[[noreturn]] void Fail(std::string_view place, fmt::format_string<Args...> text, Args&&... args) {
  Throw<InputError>("{}{}{}", place, place.empty() ? "" : ": ", fmt::format(text, std::forward<Args>(args)...));
}

/// A value as an error shows it.
std::string Shown(const Parsed& value) {
  return value.is_structured() ? value.type_name() : value.dump(-1, ' ', /*ensure_ascii=*/true).substr(0, 40);
}

/// What a value has to be for a T; empty if it is.
template <class T>
std::string Wanted(const Parsed& value) {
  if constexpr (std::is_same_v<T, bool>) return value.is_boolean() ? "" : "true or false";
  if constexpr (std::is_same_v<T, std::string>) return value.is_string() ? "" : "a text";
  if constexpr (std::is_same_v<T, double>) return value.is_number() ? "" : "a number";
  if constexpr (std::is_integral_v<T>) {
    constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<T>::max());
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > kMax) {
      return fmt::format("a whole number from 0 to {}", kMax);
    }
  }
  return "";
}

/// An object of the file, whose members are read one by one. Finish refuses members that nobody has read.
class Members {
 public:
  Members(const Parsed& json, std::string place) : json_(json), place_(std::move(place)) {
    if (!json.is_object()) Fail(place_, "is {} and not an object", json.type_name());
  }
  std::string At(std::string_view name) const {
    return place_.empty() ? std::string(name) : fmt::format("{}.{}", place_, name);
  }
  const std::string& place() const { return place_; }

  /// A member; null if it is absent or null.
  const Parsed* Find(std::string_view name) {
    names_.push_back(name);
    const auto found = json_.find(std::string(name));
    return found == json_.end() || found->is_null() ? nullptr : &*found;
  }
  /// A member of this type that has to be there.
  template <class T>
  T Get(std::string_view name) {
    T value{};
    if (!Read(name, value)) Fail(place_, "'{}' is missing", name);
    return value;
  }
  /// Reads a member of this type, if it is there.
  template <class T>
  bool Read(std::string_view name, T& value) {
    const Parsed* const found = Find(name);
    if (found == nullptr) return false;
    if (const std::string wanted = Wanted<T>(*found); !wanted.empty()) {
      Fail(At(name), "is {}, and has to be {}", Shown(*found), wanted);
    }
    value = found->get<T>();
    return true;
  }
  void Finish() const {
    for (const auto& [name, value] : json_.items()) {
      if (std::find(names_.begin(), names_.end(), name) != names_.end()) continue;
      Fail(place_, "has a member {} that means nothing{}; there are {}", Shown(name), DidYouMean(name, names_),
           fmt::join(names_, ", "));
    }
  }

 private:
  const Parsed& json_;
  std::string place_;
  std::vector<std::string_view> names_;
};

/// The elements of an array that has to be there.
std::vector<Members> Elements(const Parsed* array, const std::string& place) {
  if (array == nullptr || !array->is_array())
    Fail(place, "is {} and not an array", array == nullptr ? "missing" : Shown(*array));
  std::vector<Members> elements;
  for (std::size_t i = 0; i < array->size(); ++i) elements.emplace_back((*array)[i], fmt::format("{}[{}]", place, i));
  return elements;
}

TopologyDevice ParseDevice(Members& json) {
  TopologyDevice device;
  device.label = json.Get<std::string>("label");
  const auto kind = json.Get<std::string>("kind");
  if (kind != "host" && kind != "cuda") Fail(json.At("kind"), "is {}; there are host and cuda", Shown(kind));
  device.kind = kind == "host" ? DeviceKind::kHost : DeviceKind::kCuda;
  json.Read("name", device.name);
  json.Read("memory_bytes", device.memory);
  json.Read("processors", device.processors);
  json.Read("numa_node", device.numa_node);
  json.Read("socket", device.socket);
  json.Read("pci_bus_id", device.pci_bus_id);
  json.Read("copy_engines", device.copy_engines);
  if (const Parsed* const path = json.Find("host_path")) {
    Members host(*path, json.At("host_path"));
    host.Read("pcie_generation", device.host.pcie_generation);
    host.Read("pcie_lanes", device.host.pcie_lanes);
    host.Read("native_atomics", device.host.native_atomics);
    host.Read("nominal_bytes_per_s", device.host.bandwidth);
    host.Finish();
    if (device.host.bandwidth == 0) {
      device.host.bandwidth = PcieBandwidth(device.host.pcie_generation, device.host.pcie_lanes);
    }
  }
  json.Finish();
  return device;
}

/// A link, and the devices from which and to which it leads.
struct ListedLink {
  std::array<std::size_t, 2> pair{};
  Link link;
};

ListedLink ParseLink(Members& json, std::size_t devices) {
  ListedLink listed;
  for (std::size_t end = 0; end < 2; ++end) {
    const char* const name = end == 0 ? "from" : "to";
    listed.pair[end] = json.Get<std::size_t>(name);
    if (listed.pair[end] < devices) continue;
    Fail(json.At(name), "is {}, and there are {} devices, counted from 0", listed.pair[end], devices);
  }
  Link& link = listed.link;
  const auto name = json.Get<std::string>("type");
  const std::optional<LinkType> type = ParseLinkType(name);
  if (!type) {
    Fail(json.At("type"), "is {}; there are same-gpu, nvlink, pcie-switch, host-bridge, sockets and host-memory",
         Shown(name));
  }
  link.type = *type;
  json.Read("version", link.nvlink_version);
  json.Read("count", link.nvlinks);
  json.Read("switched", link.switched);
  json.Read("peer_access", link.peer_access);
  json.Read("native_atomics", link.native_atomics);
  json.Read("nominal_bytes_per_s", link.bandwidth);
  json.Finish();
  return listed;
}

/// What the link carries by the standards that it follows; 0 where they do not tell.
double StandardBandwidth(const Topology& topology, std::size_t from, std::size_t to) {
  const Link& link = topology.link(from, to);
  if (!link.peer_access) return HostLink(topology, from, to).bandwidth;
  if (link.type == LinkType::kSameGpu) return 0;
  if (link.type == LinkType::kNvlink) return std::max(link.nvlinks, 1) * NvlinkBandwidth(link.nvlink_version);
  return HostLink(topology, from, to).bandwidth;  // peers on PCIe meet where their ways to host memory do, or before
}

/// null for `unknown`.
template <class T>
Json Known(const T& value, const T& unknown) {
  return value == unknown ? Json(nullptr) : Json(value);
}

/// Bytes/s are whole numbers where they can be: "25000000000" rather than "25000000000.0".
Json BandwidthJson(double bandwidth) {
  if (bandwidth == 0) return nullptr;
  const auto whole = static_cast<std::uint64_t>(bandwidth);
  return static_cast<double>(whole) == bandwidth ? Json(whole) : Json(bandwidth);
}

Json RingJson(const Ring& ring) {
  Json json;
  json["order"] = ring.order;
  json["nominal_bytes_per_s"] = BandwidthJson(ring.bandwidth);
  json["narrowest"] = ring.order.size() < 2 ? Json(nullptr) : Json{ring.order[ring.narrowest], ring.Next(ring.narrowest)};
  return json;
}

}  // namespace

Json TopologyJson(const Topology& topology) {
  Json json;
  json["schema"] = kSchema;
  json["name"] = topology.name();
  json["devices"] = Json::array();
  for (const TopologyDevice& device : topology.devices()) {
    Json one;
    one["label"] = device.label;
    one["kind"] = device.kind == DeviceKind::kHost ? "host" : "cuda";
    one["name"] = device.name;
    one["memory_bytes"] = Known(device.memory, std::uint64_t{0});
    one["processors"] = Known(device.processors, 0);
    one["numa_node"] = Known(device.numa_node, -1);
    one["socket"] = Known(device.socket, -1);
    one["pci_bus_id"] = Known(device.pci_bus_id, std::string());
    one["copy_engines"] = Known(device.copy_engines, 0);
    one["host_path"] = {{"pcie_generation", Known(device.host.pcie_generation, 0)},
                        {"pcie_lanes", Known(device.host.pcie_lanes, 0)},
                        {"native_atomics", device.host.native_atomics},
                        {"nominal_bytes_per_s", BandwidthJson(device.host.bandwidth)}};
    json["devices"].push_back(std::move(one));
  }
  json["links"] = Json::array();
  for (std::size_t from = 0; from < topology.size(); ++from) {
    for (std::size_t to = 0; to < topology.size(); ++to) {
      if (from == to) continue;
      const Link& link = topology.link(from, to);
      Json one = {{"from", from}, {"to", to}, {"type", LinkTypeName(link.type)}};
      if (link.type == LinkType::kNvlink) {
        one["version"] = Known(link.nvlink_version, 0);
        one["count"] = Known(link.nvlinks, 0);
        one["switched"] = link.switched;
      }
      one["peer_access"] = link.peer_access;
      one["native_atomics"] = link.native_atomics;
      one["nominal_bytes_per_s"] = BandwidthJson(link.bandwidth);
      json["links"].push_back(std::move(one));
    }
  }
  return json;
}

Json RingsJson(const Rings& rings) {
  Json json;
  json["best"] = RingJson(rings.best);
  json["known"] = rings.known;
  json["exact"] = rings.exact;
  json["disjoint"] = Json::array();
  for (const Ring& ring : rings.disjoint) json["disjoint"].push_back(RingJson(ring));
  json["disjoint_exact"] = rings.disjoint_exact;
  return json;
}

namespace {

Topology ToTopology(const Parsed& json, LinkMask* mask) {
  std::optional<std::string> recorded;  // a mask
  const Parsed* machine = &json;
  if (json.is_object() && json.contains("topology")) {
    Members record(json, "");
    if (std::string text; record.Read("mask", text)) recorded = std::move(text);
    machine = record.Find("topology");
    if (machine == nullptr) Fail("", "'topology' is missing");
    for (const char* other : {"chatty", "simulated", "rings", "costs"}) record.Find(other);
    record.Finish();
  }
  Members whole(*machine, machine == &json ? "" : "topology");
  const auto schema = whole.Get<std::string>("schema");
  if (schema != kSchema) Fail(whole.At("schema"), "is {}; this chatty reads {}", Shown(schema), kSchema);
  std::string name;
  whole.Read("name", name);
  std::vector<Members> places = Elements(whole.Find("devices"), whole.At("devices"));
  const Parsed* const links = whole.Find("links");
  std::vector<Members> link_places;
  if (links != nullptr) link_places = Elements(links, whole.At("links"));
  whole.Finish();
  if (places.empty() || places.size() > static_cast<std::size_t>(kMaxDevices)) {
    Fail(whole.At("devices"), "are {}; a run takes 1 to {}", places.size(), kMaxDevices);
  }
  std::vector<TopologyDevice> devices;
  devices.reserve(places.size());
  for (Members& place : places) devices.push_back(ParseDevice(place));
  // Bandwidths decide what links are not listed; they have to make sense before.
  Topology topology(std::move(name), std::move(devices));
  if (const std::optional<TopologyFault> fault = FindFault(topology)) {
    Fail(fault->device != TopologyFault::kNone ? places[fault->device].place() : whole.place(), "{} {}", fault->field,
         fault->what);
  }

  std::map<std::array<std::size_t, 2>, std::string> listed;
  for (Members& place : link_places) {
    const auto [pair, link] = ParseLink(place, topology.size());
    const auto& [from, to] = pair;
    if (from == to) Fail(place.place(), "leads from device {} to itself; such links are not listed", from);
    if (!listed.emplace(pair, place.place()).second) Fail(place.place(), "is the second from {} to {}", from, to);
    topology.link(from, to) = link;
    if (link.bandwidth == 0) topology.link(from, to).bandwidth = StandardBandwidth(topology, from, to);
  }
  if (const std::optional<TopologyFault> fault = FindFault(topology)) {
    const auto found = listed.find({fault->from, fault->to}), back = listed.find({fault->to, fault->from});
    const std::string pair = fmt::format("from {} to {}", fault->from, fault->to);
    if (found == listed.end() && back != listed.end()) {
      Fail(back->second, "is listed, and the link {} is not: {} {}; list both", pair, fault->field, fault->what);
    }
    Fail(found != listed.end() ? found->second : whole.At("links"), "{}, {}, {}", fault->field, pair, fault->what);
  }
  if (mask != nullptr) *mask = LinkMask();
  if (mask == nullptr || !recorded) return topology;
  try {
    *mask = LinkMask::Parse(*recorded, topology.size());
  } catch (const UsageError& error) {
    Fail("mask", "is none of {} devices: {}", topology.size(), error.what());
  }
  return topology;
}

/// `source`: what the parser takes. A record's costs, which are most of it and which nobody reads, are skipped, and do not
/// count among `bytes`.
template <class Source>
Topology ReadFrom(Source&& source, const std::string& file, LinkMask* mask, LimitedBytes* bytes) {
  bool in_costs = false;
  const auto keeps = [&](int depth, Parsed::parse_event_t event, const Parsed& parsed) {
    const bool before = in_costs;
    if (depth == 0) in_costs = false;
    if (depth == 1 && event == Parsed::parse_event_t::key) in_costs = parsed == "costs";
    if ((before || in_costs) && bytes != nullptr) bytes->MoveOn();
    return !in_costs;
  };
  Parsed parsed;
  try {
    parsed = Parsed::parse(std::forward<Source>(source), keeps);
  } catch (const Parsed::exception& error) {  // "[json.exception.parse_error.101] parse error at line 1, ..."
    std::string_view why = error.what();
    why.remove_prefix(std::min(why.find("] ") + 2, why.size()));
    Throw<InputError>("{}: is no JSON: {}", file, io::Printable(why));
  }
  try {
    return ToTopology(parsed, mask);
  } catch (const InputError& error) {
    Throw<InputError>("{}: {}", file, io::Printable(error.what()));
  }
}

}  // namespace

Topology ParseTopology(std::string_view text, const std::string& file, LinkMask* mask) {
  return ReadFrom(text, file, mask, nullptr);
}

Topology ReadTopology(const std::string& path, LinkMask* mask) {
  Input input(path);
  LimitedBytes bytes(input);
  std::istream stream(&bytes);
  return ReadFrom(stream, input.name(), mask, &bytes);
}

}  // namespace chatty::cli
