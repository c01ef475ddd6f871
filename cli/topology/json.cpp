#include "chatty/cli/topology/json.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <istream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <streambuf>
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
constexpr int kMaxDepth = 100;

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

/// Looks on while JSON is parsed: no object may have a member twice, of which the parser would keep one, and a record's
/// costs, which are most of it and which nobody reads, are skipped.
class Watch {
 public:
  /// `costs`: set if the whole has such a member.
  Watch(const std::string& file, LimitedBytes* bytes, bool* costs) : file_(file), bytes_(bytes), costs_(costs) {}

  bool operator()(int depth, Parsed::parse_event_t event, const Parsed& parsed) {
    const auto level = static_cast<std::size_t>(depth);
    if (depth > kMaxDepth) Throw<InputError>("{}: is nested deeper than any topology", file_);
    using Event = Parsed::parse_event_t;
    if (depth == 0) in_costs_ = false;  // the whole has ended
    if (event == Event::key && depth == 1) {
      const bool costs = parsed.get_ref<const std::string&>() == "costs";
      if ((costs || in_costs_) && bytes_ != nullptr) bytes_->MoveOn();
      in_costs_ = costs;
      *costs_ = *costs_ || costs;
    } else if (in_costs_) {
      if (bytes_ != nullptr) bytes_->MoveOn();  // members of costs, one by one
      return false;
    }
    const bool begins = event == Event::object_start || event == Event::array_start;
    if (event == Event::key) {
      Frame& object = frames_[level - 1];
      object.name = parsed.get_ref<const std::string&>();
      if (!object.names.insert(object.name).second) {
        const std::string path = Path(level - 1);
        Throw<InputError>("{}: {}{}has the member {} twice", file_, path, path.empty() ? "" : ": ", io::Quote(object.name));
      }
      return !in_costs_;
    }
    if (begins || event == Event::value) {
      frames_.resize(level);
      if (level > 0) ++frames_.back().elements;
      if (begins) frames_.emplace_back();
    }
    return true;
  }

 private:
  /// An object or array that has begun.
  struct Frame {
    std::string name;             ///< the last member; empty in an array
    std::set<std::string> names;  ///< all of them
    std::size_t elements = 0;     ///< so far
  };

  std::string Path(std::size_t level) const {
    std::string path;
    for (std::size_t i = 0; i < level; ++i) {
      const Frame& frame = frames_[i];
      path += frame.names.empty() ? fmt::format("[{}]", frame.elements - 1)
                                  : fmt::format("{}{}", path.empty() ? "" : ".", frame.name);
    }
    return io::Printable(path);
  }

  const std::string& file_;
  LimitedBytes* bytes_;
  std::vector<Frame> frames_;
  bool* costs_;
  bool in_costs_ = false;
};

/// A value in the file and the way to it, for errors.
class JsonPlace {
 public:
  JsonPlace(const Parsed& json, std::string file, std::string path)
      : json_(&json), file_(std::move(file)), path_(std::move(path)) {}

  template <class... Args>
  [[noreturn]] void Fail(fmt::format_string<Args...> text, Args&&... args) const {
    const std::string what = fmt::format(text, std::forward<Args>(args)...);
    Throw<InputError>("{}: {}{}{}", file_, path_, path_.empty() ? "" : ": ", io::Printable(what));
  }

  /// An object with no other members than these.
  const JsonPlace& Object(std::initializer_list<std::string_view> members) const {
    if (!json_->is_object()) Fail("is {} and not an object", json_->type_name());
    for (const auto& [name, value] : json_->items()) {
      if (std::find(members.begin(), members.end(), name) == members.end()) {
        Fail("has a member '{}' that means nothing{}; there are {}", Shortened(name), DidYouMean(name, members),
             fmt::join(members, ", "));
      }
    }
    return *this;
  }
  /// A member; none if it is absent or null.
  std::optional<JsonPlace> Find(const char* name) const {
    const auto found = json_->find(name);
    if (found == json_->end() || found->is_null()) return std::nullopt;
    return JsonPlace(*found, file_, path_.empty() ? name : fmt::format("{}.{}", path_, name));
  }
  JsonPlace Get(const char* name) const {
    std::optional<JsonPlace> found = Find(name);
    if (!found) Fail("'{}' is missing", name);
    return *found;
  }
  std::vector<JsonPlace> Elements() const {
    if (!json_->is_array()) Fail("is {} and not an array", json_->type_name());
    std::vector<JsonPlace> elements;
    for (std::size_t i = 0; i < json_->size(); ++i)
      elements.emplace_back((*json_)[i], file_, fmt::format("{}[{}]", path_, i));
    return elements;
  }

  std::string Text() const {
    if (!json_->is_string()) Fail("is {} and not a text", json_->type_name());
    return json_->get<std::string>();
  }
  bool Bool() const {
    if (!json_->is_boolean()) Fail("is {} and neither true nor false", json_->type_name());
    return json_->get<bool>();
  }
  double Number() const {
    if (!json_->is_number()) Fail("is {} and not a number", json_->type_name());
    return json_->get<double>();
  }
  std::uint64_t Count() const {
    if (!json_->is_number_unsigned()) Fail("is {} and not a whole number from 0", Shortened(json_->dump()));
    return json_->get<std::uint64_t>();
  }
  /// Small enough for an int; what is sensible is for FindFault to say.
  int Int() const {
    const std::uint64_t count = Count();
    if (count > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) Fail("is {}, which is too large", count);
    return static_cast<int>(count);
  }

 private:
  static std::string Shortened(const std::string& text) {
    std::string shortened = text.substr(0, 40);
    for (char& c : shortened) {
      if (static_cast<unsigned char>(c) < 32 || c == 127) c = '?';
    }
    return text.size() > 40 ? shortened + "..." : shortened;
  }

  const Parsed* json_;
  std::string file_, path_;
};

template <class T, class Value>
T Or(const std::optional<JsonPlace>& place, T otherwise, Value JsonPlace::*read) {
  return place ? static_cast<T>(((*place).*read)()) : otherwise;
}

TopologyDevice ParseDevice(const JsonPlace& place) {
  place.Object({"label", "kind", "name", "memory_bytes", "processors", "numa_node", "socket", "pci_bus_id", "copy_engines",
                "host_path"});
  TopologyDevice device;
  device.label = place.Get("label").Text();
  const JsonPlace kind = place.Get("kind");
  const std::string kind_name = kind.Text();
  if (kind_name != "host" && kind_name != "cuda") kind.Fail("is '{}'; there are host and cuda", kind_name.substr(0, 40));
  device.kind = kind_name == "host" ? DeviceKind::kHost : DeviceKind::kCuda;
  device.name = Or(place.Find("name"), std::string(), &JsonPlace::Text);
  device.memory = Or(place.Find("memory_bytes"), std::uint64_t{0}, &JsonPlace::Count);
  device.processors = Or(place.Find("processors"), 0, &JsonPlace::Int);
  device.numa_node = Or(place.Find("numa_node"), -1, &JsonPlace::Int);
  device.socket = Or(place.Find("socket"), -1, &JsonPlace::Int);
  device.pci_bus_id = Or(place.Find("pci_bus_id"), std::string(), &JsonPlace::Text);
  device.copy_engines = Or(place.Find("copy_engines"), 0, &JsonPlace::Int);
  if (const std::optional<JsonPlace> host = place.Find("host_path")) {
    host->Object({"pcie_generation", "pcie_lanes", "native_atomics", "nominal_bytes_per_s"});
    device.host.pcie_generation = Or(host->Find("pcie_generation"), 0, &JsonPlace::Int);
    device.host.pcie_lanes = Or(host->Find("pcie_lanes"), 0, &JsonPlace::Int);
    device.host.native_atomics = Or(host->Find("native_atomics"), false, &JsonPlace::Bool);
    device.host.bandwidth = Or(host->Find("nominal_bytes_per_s"), 0.0, &JsonPlace::Number);
    if (device.host.bandwidth == 0) {
      device.host.bandwidth = PcieBandwidth(device.host.pcie_generation, device.host.pcie_lanes);
    }
  }
  return device;
}

std::size_t ParseIndex(const JsonPlace& place, std::size_t devices) {
  const std::uint64_t index = place.Count();
  if (index >= devices) place.Fail("is {}, and there are {} devices, counted from 0", index, devices);
  return static_cast<std::size_t>(index);
}

Link ParseLink(const JsonPlace& place) {
  place.Object(
      {"from", "to", "type", "version", "count", "switched", "peer_access", "native_atomics", "nominal_bytes_per_s"});
  Link link;
  const JsonPlace type = place.Get("type");
  const std::string name = type.Text();
  const std::optional<LinkType> known = ParseLinkType(name);
  if (!known) {
    type.Fail("is '{}'; there are same-gpu, nvlink, pcie-switch, host-bridge, sockets and host-memory", name.substr(0, 40));
  }
  link.type = *known;
  link.nvlink_version = Or(place.Find("version"), 0, &JsonPlace::Int);
  link.nvlinks = Or(place.Find("count"), 0, &JsonPlace::Int);
  link.switched = Or(place.Find("switched"), false, &JsonPlace::Bool);
  link.peer_access = Or(place.Find("peer_access"), false, &JsonPlace::Bool);
  link.native_atomics = Or(place.Find("native_atomics"), false, &JsonPlace::Bool);
  link.bandwidth = Or(place.Find("nominal_bytes_per_s"), 0.0, &JsonPlace::Number);
  return link;
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

/// `source`: what the parser takes.
template <class Source>
Parsed ParseJson(Source&& source, const std::string& file, LimitedBytes* bytes) {
  const auto why = [](const Parsed::exception& error) {
    std::string_view what = error.what();  // "[json.exception.parse_error.101] parse error at line 1, ..."
    if (const std::size_t end = what.find("] "); what.starts_with('[') && end != std::string_view::npos) {
      what.remove_prefix(end + 2);
    }
    return io::Printable(what);
  };
  try {
    bool costs = false;
    Parsed parsed = Parsed::parse(std::forward<Source>(source), Watch(file, bytes, &costs));
    if (costs) parsed["costs"] = nullptr;  // for who asks which members there are
    return parsed;
  } catch (const Parsed::out_of_range& error) {  // "number overflow parsing '1e400'"
    const std::string what = why(error);
    const std::size_t number = what.find('\'');
    Throw<InputError>("{}: has a number that is out of range: {}", file,
                      number == std::string::npos ? what : what.substr(number));
  } catch (const Parsed::exception& error) {
    Throw<InputError>("{}: is no JSON: {}", file, why(error));
  }
}

LinkMask ParseMask(const JsonPlace& place, std::size_t devices) {
  try {
    return LinkMask::Parse(place.Text(), devices);
  } catch (const UsageError& error) {
    place.Fail("is none of {} devices: {}", devices, error.what());
  }
}

Topology ToTopology(const Parsed& json, const std::string& file, LinkMask* mask) {
  JsonPlace whole(json, file, "");
  std::optional<JsonPlace> recorded;  // a mask
  if (json.is_object() && json.contains("topology")) {
    whole.Object({"chatty", "simulated", "mask", "topology", "rings", "costs"});
    recorded = whole.Find("mask");
    whole = whole.Get("topology");
  }
  whole.Object({"schema", "name", "devices", "links"});
  const JsonPlace schema = whole.Get("schema");
  if (schema.Text() != kSchema) schema.Fail("is '{}'; this chatty reads {}", schema.Text().substr(0, 40), kSchema);

  const JsonPlace list = whole.Get("devices");
  const std::vector<JsonPlace> places = list.Elements();
  if (places.empty() || places.size() > static_cast<std::size_t>(kMaxDevices)) {
    list.Fail("are {}; a run takes 1 to {}", places.size(), kMaxDevices);
  }
  std::vector<TopologyDevice> devices;
  devices.reserve(places.size());
  for (const JsonPlace& place : places) devices.push_back(ParseDevice(place));
  // Bandwidths decide what links are not listed; they have to make sense before.
  Topology bare(Or(whole.Find("name"), std::string(), &JsonPlace::Text), devices);
  if (const std::optional<TopologyFault> fault = FindFault(bare)) {
    const JsonPlace at = fault->device != TopologyFault::kNone ? places[fault->device] : whole;
    at.Fail("{} {}", fault->field, fault->what);
  }

  Topology topology = std::move(bare);
  std::map<std::pair<std::size_t, std::size_t>, JsonPlace> listed;
  if (const std::optional<JsonPlace> links = whole.Find("links")) {
    for (const JsonPlace& place : links->Elements()) {
      const Link link = ParseLink(place);
      const std::size_t from = ParseIndex(place.Get("from"), topology.size());
      const std::size_t to = ParseIndex(place.Get("to"), topology.size());
      if (from == to) place.Fail("leads from device {} to itself; such links are not listed", from);
      if (!listed.emplace(std::pair(from, to), place).second) place.Fail("is the second from {} to {}", from, to);
      topology.link(from, to) = link;
      if (link.bandwidth == 0) topology.link(from, to).bandwidth = StandardBandwidth(topology, from, to);
    }
  }
  for (const auto& [pair, place] : listed) {
    const auto& [from, to] = pair;
    const LinkType there = topology.link(from, to).type, back = topology.link(to, from).type;
    if (there == back || there == LinkType::kSelf || listed.contains({to, from})) continue;
    place.Fail("is {} from {} to {}, and the way back, from {} to {}, is not listed; list both", LinkTypeName(there), from,
               to, to, from);
  }
  if (const std::optional<TopologyFault> fault = FindFault(topology)) {
    const auto found = listed.find({fault->from, fault->to});
    const auto back = listed.find({fault->to, fault->from});
    const std::string pair = fmt::format("from {} to {}", fault->from, fault->to);
    if (found != listed.end()) found->second.Fail("{}, {}, {}", fault->field, pair, fault->what);
    if (back != listed.end()) back->second.Fail("is listed, and the link {} is not: {} {}", pair, fault->field, fault->what);
    whole.Fail("links: {}, {}, {}", fault->field, pair, fault->what);
  }
  if (mask != nullptr) *mask = recorded ? ParseMask(*recorded, topology.size()) : LinkMask();
  return topology;
}

}  // namespace

Topology ParseTopology(std::string_view text, const std::string& file, LinkMask* mask) {
  return ToTopology(ParseJson(text, file, nullptr), file, mask);
}

Topology ReadTopology(const std::string& path, LinkMask* mask) {
  Input input(path);
  LimitedBytes bytes(input);
  std::istream stream(&bytes);
  return ToTopology(ParseJson(stream, input.name(), &bytes), input.name(), mask);
}

}  // namespace chatty::cli
