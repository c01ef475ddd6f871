/// Where calibrations are kept, and the text that they are kept as.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
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
#include "chatty/io/text_parser.h"

namespace chatty {
namespace {

namespace fs = std::filesystem;

/// Raised when the text changes, or when transports, what is measured or how it is fitted do, so that old figures would
/// mislead.
constexpr int kVersion = 8;
constexpr std::string_view kTitle = "chatty-calibration";
constexpr std::size_t kMaxBytes = std::size_t{64} << 20;  // 64 devices and 6 paths have some 20 MiB

std::uint64_t Checksum(std::string_view text) {
  std::uint64_t sum = Hash(text.size());
  for (const char c : text) sum = Hash(sum ^ static_cast<unsigned char>(c));
  return sum;
}

std::string CpuModel() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 1);
  }
  return "";
}

/// Names come from drivers and firmware: one word each, in a line of words.
std::string Word(std::string_view text) {
  std::string word;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    word += std::isalnum(byte) != 0 || (byte != 0 && std::string_view(".:+-/").find(c) != std::string_view::npos) ? c : '_';
  }
  return word.empty() ? "-" : word;
}

std::size_t LinesOf(std::string_view text) { return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')); }

/// What a file of this version and machine begins with.
std::string Head(std::string_view fingerprint) {
  return fmt::format("{} {}\nfingerprint {}\n{}", kTitle, kVersion, LinesOf(fingerprint), fingerprint);
}

/// The next number, of a field with this range. The checksum may be right and the number not, in a text that another program
/// wrote.
template <class T>
T Number(std::istream& words, std::string_view field, T least, T most) {
  double value = 0;
  const bool within = words >> value && value >= static_cast<double>(least) && value <= static_cast<double>(most);
  if (!within || static_cast<double>(static_cast<T>(value)) != value) {
    Throw<InputError>("is damaged: {} is no number from {} to {}", field, least, most);
  }
  return static_cast<T>(value);
}
std::size_t Index(std::istream& words, std::string_view field, std::size_t count) {
  return Number<std::size_t>(words, field, 0, count - 1);
}

/// @{
/// Figures up to these are possible, and times, sizes and crossovers that are computed from them stay finite and fit 64
/// bits: 1000 s, a byte or an entry a second, and 1 TB.
constexpr double kMostUs = 1e9, kMostUsEach = 1e6, kMostBytes = 1e12, kMostError = 1e9;
/// @}
std::string Next(std::istream& words) {
  std::string word;
  words >> word;
  return word;
}
void Expect(std::istream& words, std::string_view word) {
  if (Next(words) != word) Throw<InputError>("is damaged: it lacks '{}'", word);
}

}  // namespace

// --------------------------------------------------------------- fingerprints ----

std::string MachineFingerprint(const Topology& topology, const LinkMask& links) {
  const probes::Versions versions = probes::SoftwareVersions();
  std::string text =
      fmt::format("version {} driver {} cuda {} nccl {}\nmask {}\nmachine {}\n", Word(Version()), versions.driver,
                  versions.runtime, versions.nccl, Word(links.CanonicalText(topology.size())), Word(topology.name()));
  bool host = false;
  for (const TopologyDevice& device : topology.devices()) {
    host = host || device.kind == DeviceKind::kHost;
    // Memory is rounded: what firmware and kernels keep for themselves changes from boot to boot.
    text += fmt::format("device {} {} memory {} processors {} node {} socket {} pci {} engines {} host {} {} {} {}\n",
                        Word(device.label), Word(device.name), device.memory >> 30, device.processors, device.numa_node,
                        device.socket, Word(device.pci_bus_id), device.copy_engines, device.host.pcie_generation,
                        device.host.pcie_lanes, device.host.native_atomics, device.host.bandwidth);
  }
  if (host) text += fmt::format("cpu {}\n", Word(CpuModel()));
  for (std::size_t from = 0; from < topology.size(); ++from) {
    for (std::size_t to = 0; to < topology.size(); ++to) {
      if (from == to) continue;
      const Link& link = topology.link(from, to);
      text += fmt::format("link {} {} {} {} {} {} {} {} {}\n", from, to, LinkTypeName(link.type), link.nvlinks,
                          link.nvlink_version, link.switched, link.peer_access, link.native_atomics, link.bandwidth);
    }
  }
  return text;
}

// ------------------------------------------------------------------------ text ----

std::string CalibrationText(std::string_view fingerprint, const Calibration& calibration) {
  const CostModel& model = calibration.model;
  std::string text = Head(fingerprint);
  text += fmt::format("quick {} seconds {}\ndevices {} paths {}\n", calibration.quick ? 1 : 0, calibration.seconds,
                      model.devices(), model.paths().size());
  for (const std::string& path : model.paths()) text += fmt::format("path {}\n", Word(path));
  for (std::size_t path = 0; path < model.paths().size(); ++path) {
    for (std::size_t from = 0; from < model.devices(); ++from) {
      for (std::size_t to = 0; to < model.devices(); ++to) {
        for (std::size_t encoding = 0; encoding < kEncodings; ++encoding) {
          for (std::size_t load = 0; load < kMeasuredLoads; ++load) {
            const Cost& cost = model.cost(path, from, to, static_cast<Encoding>(encoding), static_cast<MeasuredLoad>(load));
            if (!cost.exists()) continue;
            text += fmt::format("cost {} {} {} {} {} {} {} {} {} {} {}\n", path, from, to, encoding, load, cost.alpha_us,
                                cost.beta_us_per_byte, cost.gamma_us_per_entry, cost.error, cost.samples, cost.largest);
          }
        }
      }
    }
  }
  for (std::string note : calibration.notes) {
    for (char& c : note) {
      if (static_cast<unsigned char>(c) < 32) c = ' ';
    }
    text += fmt::format("note {}\n", note);
  }
  return text + fmt::format("checksum {:016x}\n", Checksum(text));
}

Calibration ParseCalibration(std::string_view text, std::string_view fingerprint) {
  std::string_view version = text.substr(0, text.find('\n'));
  if (!version.starts_with(kTitle)) Throw<InputError>("is damaged: it does not begin with '{}'", kTitle);
  version.remove_prefix(std::min(kTitle.size() + 1, version.size()));
  if (version != fmt::format("{}", kVersion)) {
    Throw<InputError>("was written by another version ({}; this is {})", io::Quote(version), kVersion);
  }
  const std::size_t end = text.rfind("checksum ");
  if (end == std::string_view::npos || text[end - 1] != '\n') throw InputError("is damaged: it is cut short");
  if (text.substr(end) != fmt::format("checksum {:016x}\n", Checksum(text.substr(0, end)))) {
    throw InputError("is damaged: its checksum is another");
  }
  const std::string head = Head(fingerprint);
  if (!text.substr(0, end).starts_with(head)) throw InputError("is of another machine, mask or driver");

  std::istringstream words(std::string(text.substr(head.size(), end - head.size())));
  words.imbue(std::locale::classic());
  Calibration calibration;
  Expect(words, "quick");
  calibration.quick = Number(words, "quick", 0, 1) == 1;
  Expect(words, "seconds");
  calibration.seconds = Number(words, "seconds", 0.0, kMostUs);
  Expect(words, "devices");
  const auto devices = Number<std::size_t>(words, "devices", 2, kMaxDevices);
  Expect(words, "paths");
  std::vector<std::string> paths(Number<std::size_t>(words, "paths", 0, 64));
  for (std::string& path : paths) {
    Expect(words, "path");
    path = Next(words);
  }
  CostModel& model = calibration.model;
  model = CostModel(std::move(paths), devices);
  model.set_measured(true);
  for (std::string what = Next(words); !what.empty(); what = Next(words)) {
    if (what == "cost" && !model.paths().empty()) {
      const std::size_t path = Index(words, "the path of a cost", model.paths().size());
      const std::size_t from = Index(words, "the sender of a cost", devices);
      const std::size_t to = Index(words, "the receiver of a cost", devices);
      const auto encoding = static_cast<Encoding>(Index(words, "the encoding of a cost", kEncodings));
      const auto load = static_cast<MeasuredLoad>(Index(words, "the load of a cost", kMeasuredLoads));
      Cost cost;
      cost.alpha_us = Number(words, "alpha_us", 0.0, kMostUs);
      cost.beta_us_per_byte = Number(words, "beta_us_per_byte", 0.0, kMostUsEach);
      cost.gamma_us_per_entry = Number(words, "gamma_us_per_entry", 0.0, kMostUsEach);
      cost.error = Number(words, "error", 0.0, kMostError);
      cost.samples = Number<std::uint32_t>(words, "samples", 1, std::numeric_limits<std::uint32_t>::max());
      cost.largest = Number(words, "largest", 0.0, kMostBytes);
      model.set_cost(path, from, to, encoding, load, cost);
    } else if (what == "note") {
      words.get();  // the space
      std::getline(words, calibration.notes.emplace_back());
    } else {
      Throw<InputError>("is damaged: it goes on with {}", io::Quote(what));
    }
  }
  return calibration;
}

// ------------------------------------------------------------------------ files ----

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
    if (!fs::is_regular_file(path, error)) {
      throw InputError(fs::is_directory(path, error) ? "is a folder and not a file" : "is no file");
    }
    std::ifstream file(path, std::ios::binary);
    if (!file) throw InputError("cannot be read");
    if (fs::file_size(path, error) > kMaxBytes || error) throw InputError("is larger than any calibration");
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    loaded.calibration = ParseCalibration(text, fingerprint);
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
