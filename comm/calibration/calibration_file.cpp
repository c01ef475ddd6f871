/// Where calibrations are kept, and their text: a line that names the machine by a hash, a line of JSON, and a checksum. A
/// text that does not match its checksum is not used.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "chatty/comm/calibration.h"
#include "chatty/comm/calibration/probes.h"
#include "chatty/core/hash.h"
#include "chatty/core/logging.h"
#include "chatty/core/version.h"
#include "chatty/io/output.h"
#include "chatty/io/text_parser.h"

namespace chatty {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// Raised when the text changes, or when transports, what is measured or how it is fitted do, so that old figures would
/// mislead.
constexpr int kVersion = 10;
constexpr std::string_view kChecksum = "checksum ";
/// No figure is larger, and none that is divided by is smaller: microseconds, bytes and their ratios. Times, bandwidths and
/// crossovers that are computed from them are finite.
constexpr double kMax = 1e12, kMin = 1 / kMax;
/// Bytes of a file: far more than the costs of kMaxDevices devices.
constexpr std::uintmax_t kMaxBytes = std::uintmax_t{64} << 20;

std::uint64_t Checksum(std::string_view text) {
  std::uint64_t sum = Hash(text.size());
  for (const char c : text) sum = Hash(sum ^ static_cast<unsigned char>(c));
  return sum;
}

std::string CpuModel() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line;
  }
  return "";
}

std::string Head(std::string_view fingerprint) {
  return fmt::format("chatty-calibration {} of {:016x}\n", kVersion, Checksum(fingerprint));
}

}  // namespace

std::string MachineFingerprint(const Topology& topology, const LinkMask& links) {
  std::string text = fmt::format("chatty {} {}\nmask {}\nmachine {}\n", Version(), probes::SoftwareVersions(),
                                 links.CanonicalText(topology.size()), topology.name());
  for (const TopologyDevice& device : topology.devices()) {
    // Memory is rounded: what firmware and kernels keep for themselves changes from boot to boot.
    text += fmt::format("device {} {} {} {} {} {} {} {} {} {} {} {} {}\n", device.label, device.name, device.memory >> 30,
                        device.processors, device.numa_node, device.socket, device.pci_bus_id, device.copy_engines,
                        device.host.pcie_generation, device.host.pcie_lanes, device.host.native_atomics,
                        device.host.bandwidth, device.kind == DeviceKind::kHost ? CpuModel() : "");
  }
  for (std::size_t from = 0; from < topology.size(); ++from) {
    for (std::size_t to = 0; to < topology.size(); ++to) {
      const Link& link = topology.link(from, to);
      text += fmt::format("link {} {} {} {} {} {} {}\n", LinkTypeName(link.type), link.nvlinks, link.nvlink_version,
                          link.switched, link.peer_access, link.native_atomics, link.bandwidth);
    }
  }
  return text;
}

std::string CalibrationText(std::string_view fingerprint, const Calibration& calibration) {
  const CostModel& model = calibration.model;
  Json json{{"quick", calibration.quick}, {"seconds", calibration.seconds}, {"notes", calibration.notes},
            {"devices", model.devices()}, {"paths", model.paths()},         {"costs", Json::array()}};
  model.ForEachCost([&](std::size_t path, std::size_t from, std::size_t to, MeasuredLoad load, const Cost& cost) {
    Json row{path, from, to, load};
    for (const auto figure : Cost::kFigures) row.push_back(cost.*figure);
    json["costs"].push_back(std::move(row));
  });
  const std::string text = Head(fingerprint) + json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
  return text + fmt::format("{}{:016x}\n", kChecksum, Checksum(text));
}

Calibration ParseCalibration(std::string_view text, std::string_view fingerprint) try {
  const std::string head = Head(fingerprint);
  const std::size_t end = std::min(text.rfind(kChecksum), text.size());
  const std::string_view content = text.substr(0, end);
  if (text.substr(end) != fmt::format("{}{:016x}\n", kChecksum, Checksum(content))) {
    throw InputError("is damaged: its checksum is missing or another");
  }
  if (!content.starts_with(head)) throw InputError("is of another version of chatty, machine, mask or driver");
  const Json json = Json::parse(content.substr(head.size()));
  const auto index = [](const Json& value, std::size_t count) {
    if (!value.is_number_unsigned() || value >= count) Throw<InputError>("is damaged: an index is not below {}", count);
    return value.get<std::size_t>();
  };
  Calibration calibration;
  calibration.quick = json.at("quick").get<bool>();
  calibration.seconds = json.at("seconds").get<double>();
  calibration.notes = json.at("notes").get<std::vector<std::string>>();
  auto paths = json.at("paths").get<std::vector<std::string>>();
  const std::size_t devices = index(json.at("devices"), kMaxDevices + 1);
  if (devices < 2 || paths.empty() || paths.size() > kMaxDevices)
    throw InputError("is damaged: it has too few devices, no paths, or too many");
  if (!(calibration.seconds >= 0 && calibration.seconds <= kMax))
    Throw<InputError>("is damaged: it took {} s", calibration.seconds);
  calibration.model = CostModel(std::move(paths), devices);
  calibration.model.set_measured(true);
  for (const Json& row : json.at("costs")) {
    Cost cost;
    for (std::size_t i = 0; i < std::size(Cost::kFigures); ++i) {
      const auto figure = Cost::kFigures[i];
      const bool divides = figure == &Cost::beta_us_per_byte || figure == &Cost::bitmap_factor || figure == &Cost::largest;
      cost.*figure = row.at(4 + i).get<double>();
      if (cost.*figure >= (divides ? kMin : 0) && cost.*figure <= kMax) continue;
      Throw<InputError>("is damaged: figure {} of a cost is {}", i, cost.*figure);
    }
    calibration.model.set_cost(index(row.at(0), calibration.model.paths().size()), index(row.at(1), devices),
                               index(row.at(2), devices), static_cast<MeasuredLoad>(index(row.at(3), kMeasuredLoads)), cost);
  }
  return calibration;
} catch (const Json::exception& error) {
  Throw<InputError>("is damaged: {}", io::Printable(error.what()));  // which quotes the text
}

std::string CacheFolder() {
  const auto set = [](const char* name) {
    const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody changes the environment
    return std::string(value == nullptr ? "" : value);
  };
  if (std::string folder = set("CHATTY_CACHE_DIR"); !folder.empty()) return folder;
  // A relative path there means nothing, says the standard of the variable.
  if (const std::string folder = set("XDG_CACHE_HOME"); folder.starts_with('/')) return folder + "/chatty";
  if (const std::string home = set("HOME"); !home.empty()) return home + "/.cache/chatty";
  return "";
}

std::string CalibrationFile(std::string_view fingerprint) {
  const std::string folder = CacheFolder();
  return folder.empty() ? "" : fmt::format("{}/costs-{:016x}.txt", folder, Checksum(fingerprint));
}

LoadedCalibration LoadCalibration(std::string_view fingerprint, std::size_t devices) {
  LoadedCalibration loaded;
  const std::string path = CalibrationFile(fingerprint);
  std::error_code error;
  if (path.empty() || !fs::exists(path, error)) return loaded;
  try {
    std::ifstream file;
    if (fs::is_regular_file(path, error)) file.open(path, std::ios::binary);  // a pipe would wait for its writer
    if (!file.is_open()) throw InputError("is no file that can be read");
    if (fs::file_size(path, error) > kMaxBytes) Throw<InputError>("has more than {} bytes", kMaxBytes);
    Calibration kept = ParseCalibration(std::string(std::istreambuf_iterator<char>(file), {}), fingerprint);
    if (devices != 0 && kept.model.devices() != devices)
      Throw<InputError>("is damaged: it has costs of {} devices, and there are {}", kept.model.devices(), devices);
    loaded.calibration = std::move(kept);
  } catch (const InputError& fault) {
    loaded.why = fmt::format("{} {}", path, fault.what());
  }
  return loaded;
}

void SaveCalibration(std::string_view fingerprint, const Calibration& calibration) {
  const std::string path = CalibrationFile(fingerprint);
  if (path.empty()) throw InputError("costs cannot be kept: none of CHATTY_CACHE_DIR, XDG_CACHE_HOME and HOME is set");
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  if (error) {
    Throw<InputError>("costs cannot be kept in {}: {}; set CHATTY_CACHE_DIR to a folder that can be written",
                      fs::path(path).parent_path().string(), error.message());
  }
  OutputFile file(path);
  file.Write(CalibrationText(fingerprint, calibration));
  file.Commit();
}

CostModel KnownCosts(const Topology& topology, const LinkMask& links) {
  LoadedCalibration loaded = LoadCalibration(MachineFingerprint(topology, links), topology.size());
  if (loaded.calibration) {
    loaded.calibration->model.SetMachine(Masked(topology, links));
    return std::move(loaded.calibration->model);
  }
  if (!loaded.why.empty()) Log().warn("{}; costs are nominal until `chatty topology --measure` measures them", loaded.why);
  return CostModel::Nominal(Masked(topology, links));
}

}  // namespace chatty
