/// Where calibrations are kept, and the text that they are kept as: a line that names the machine by a hash, a line of what
/// was measured, a line of numbers for each cost, notes, and a checksum. Whatever does not pass it is not used.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <locale>
#include <sstream>
#include <system_error>
#include <utility>

#include "chatty/comm/calibration.h"
#include "chatty/comm/calibration/probes.h"
#include "chatty/core/hash.h"
#include "chatty/core/logging.h"
#include "chatty/core/version.h"
#include "chatty/io/output.h"

namespace chatty {
namespace {

namespace fs = std::filesystem;

/// Raised when the text changes, or when transports, what is measured or how it is fitted do, so that old figures would
/// mislead.
constexpr int kVersion = 9;
constexpr std::string_view kNote = "note ", kChecksum = "checksum ";
/// No figure is larger: microseconds, bytes and their ratios. Times and crossovers that are computed from them are finite.
constexpr double kMost = 1e12;
/// Bytes of a file: far more than the costs of kMaxDevices devices.
constexpr std::uintmax_t kMostBytes = std::uintmax_t{64} << 20;

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
  std::string text = Head(fingerprint) + fmt::format("{:d} {} {} {} {}\n", calibration.quick, calibration.seconds,
                                                     model.devices(), model.paths().size(), fmt::join(model.paths(), " "));
  model.ForEachCost([&](std::size_t path, std::size_t from, std::size_t to, MeasuredLoad load, const Cost& cost) {
    text += fmt::format("{} {} {} {} {} {} {} {} {} {} {}\n", path, from, to, static_cast<int>(load), cost.alpha_us,
                        cost.beta_us_per_byte, cost.entry_us, cost.place_us, cost.bitmap_factor, cost.error, cost.largest);
  });
  for (std::string note : calibration.notes) {
    std::replace_if(
        note.begin(), note.end(), [](unsigned char c) { return c < 32; }, ' ');
    text += fmt::format("{}{}\n", kNote, note);
  }
  return text + fmt::format("{}{:016x}\n", kChecksum, Checksum(text));
}

Calibration ParseCalibration(std::string_view text, std::string_view fingerprint) {
  const std::string head = Head(fingerprint);
  const std::size_t end = std::min(text.rfind(kChecksum), text.size());
  const std::string_view content = text.substr(0, end);
  if (text.substr(end) != fmt::format("{}{:016x}\n", kChecksum, Checksum(content))) {
    throw InputError("is damaged: its checksum is missing or another");
  }
  if (!content.starts_with(head)) throw InputError("is of another version of chatty, machine, mask or driver");
  std::istringstream words(std::string(content.substr(head.size())));
  words.imbue(std::locale::classic());
  const auto number = [&](double most = kMost) {
    double value = -1;
    if (words >> value && value >= 0 && value <= most) return value;
    Throw<InputError>("is damaged: a figure is missing, or not from 0 to {}", most);
  };
  const auto index = [&](std::size_t count) {
    const double value = number(static_cast<double>(count) - 1);
    if (value != std::floor(value)) throw InputError("is damaged: a count is no whole number");
    return static_cast<std::size_t>(value);
  };
  Calibration calibration;
  calibration.quick = index(2) != 0;
  calibration.seconds = number();
  const std::size_t devices = index(kMaxDevices + 1);
  std::vector<std::string> paths(index(kMaxDevices + 1));
  for (std::string& path : paths) words >> path;
  if (!words || devices < 2) throw InputError("is damaged: it has no names of paths, or fewer than two devices");
  CostModel& model = calibration.model;
  model = CostModel(std::move(paths), devices);
  model.set_measured(true);
  while (std::isdigit((words >> std::ws).peek()) != 0) {
    const std::size_t path = index(model.paths().size()), from = index(devices), to = index(devices);
    const std::size_t load = index(kMeasuredLoads);
    const Cost cost{number(), number(), number(), number(), number(), number(), number()};
    if (cost.largest == 0) throw InputError("is damaged: a cost of nothing that was measured");
    model.set_cost(path, from, to, static_cast<MeasuredLoad>(load), cost);
  }
  words.clear();
  for (std::string line; std::getline(words, line);) {
    if (!line.starts_with(kNote)) throw InputError("is damaged: a line is neither a cost nor a note");
    calibration.notes.push_back(line.substr(kNote.size()));
  }
  return calibration;
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

LoadedCalibration LoadCalibration(std::string_view fingerprint) {
  LoadedCalibration loaded;
  const std::string path = CalibrationFile(fingerprint);
  std::error_code error;
  if (path.empty() || !fs::exists(path, error)) return loaded;
  try {
    std::ifstream file;
    if (fs::is_regular_file(path, error)) file.open(path, std::ios::binary);  // a pipe would wait for its writer
    if (!file.is_open()) throw InputError("is no file that can be read");
    if (fs::file_size(path, error) > kMostBytes) Throw<InputError>("has more than {} bytes", kMostBytes);
    loaded.calibration = ParseCalibration(std::string(std::istreambuf_iterator<char>(file), {}), fingerprint);
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
  LoadedCalibration loaded = LoadCalibration(MachineFingerprint(topology, links));
  if (loaded.calibration) {
    loaded.calibration->model.SetMachine(Masked(topology, links));
    return std::move(loaded.calibration->model);
  }
  if (!loaded.why.empty()) Log().warn("{}; costs are nominal until `chatty topology --measure` measures them", loaded.why);
  return CostModel::Nominal(Masked(topology, links));
}

}  // namespace chatty
