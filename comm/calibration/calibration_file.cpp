/// Where calibrations are kept, and the text that they are kept as.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
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
constexpr int kVersion = 6;
constexpr std::string_view kTitle = "chatty-calibration";
constexpr std::size_t kMaxBytes = std::size_t{256} << 20;  // 64 GPUs and 8 paths have some 150 MiB

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

// ------------------------------------------------------------------- reading ----

/// Takes lines and words off the front of a text.
class Words {
 public:
  explicit Words(std::string_view text) : rest_(text) {}
  /// Begins the next line. Throws InputError if there is none.
  void NextLine() {
    ++line_number_;
    const std::size_t end = rest_.find('\n');
    if (end == std::string_view::npos) Fail("ends too early");
    line_ = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
  }
  std::string_view Next() {
    const std::size_t end = line_.find(' ');
    const std::string_view word = line_.substr(0, end);
    line_.remove_prefix(end == std::string_view::npos ? line_.size() : end + 1);
    return word;
  }
  void Expect(std::string_view word) {
    if (Next() != word) Fail("lacks '{}'", word);
  }
  std::string_view RestOfLine() { return std::exchange(line_, {}); }
  void EndLine() const {
    if (!line_.empty()) Fail("goes on with {}", io::Quote(line_));
  }
  bool AtEnd() const { return rest_.empty(); }
  template <class T>
  T Number(T least, T most) {
    const std::string_view word = Next();
    T value{};
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size() || !(value >= least && value <= most)) {
      Fail("has {} for a number from {} to {}", io::Quote(word), least, most);
    }
    return value;
  }
  double Figure() { return Number(0.0, std::numeric_limits<double>::max()); }
  std::size_t Index(std::size_t count) {
    if (count == 0) Fail("speaks of what is not there");
    return Number<std::size_t>(0, count - 1);
  }
  template <class... Args>
  [[noreturn]] void Fail(fmt::format_string<Args...> text, Args&&... args) const {
    const std::string what = fmt::format(text, std::forward<Args>(args)...);
    Throw<InputError>("is damaged: line {} {}", line_number_, what);
  }

 private:
  std::string_view rest_, line_;
  int line_number_ = 0;
};

std::string CostWords(const Cost& cost) {
  return fmt::format("{} {} {} {} {} {}", cost.alpha_us, cost.beta_us_per_byte, cost.gamma_us_per_entry, cost.error,
                     cost.samples, cost.largest);
}
Cost ReadCost(Words& words) {
  Cost cost;
  cost.alpha_us = words.Figure();
  cost.beta_us_per_byte = words.Figure();
  cost.gamma_us_per_entry = words.Figure();
  cost.error = words.Figure();
  cost.samples = words.Number<std::uint32_t>(1, std::numeric_limits<std::uint32_t>::max());
  cost.largest = words.Figure();
  return cost;
}
std::size_t LinesOf(std::string_view text) { return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')); }

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
  std::string text = fmt::format("{} {}\nfingerprint {}\n{}", kTitle, kVersion, LinesOf(fingerprint), fingerprint);
  text += fmt::format("quick {} seconds {}\ndevices {} paths {}\n", calibration.quick ? 1 : 0, calibration.seconds,
                      model.devices(), model.paths().size());
  for (const std::string& path : model.paths()) text += fmt::format("path {}\n", Word(path));
  for (std::size_t path = 0; path < model.paths().size(); ++path) {
    for (std::size_t from = 0; from < model.devices(); ++from) {
      for (std::size_t to = 0; to < model.devices(); ++to) {
        for (std::size_t encoding = 0; encoding < kEncodings; ++encoding) {
          for (std::size_t load = 0; load < kMeasuredLoads; ++load) {
            const Cost& cost = model.cost(path, from, to, static_cast<Encoding>(encoding), static_cast<MeasuredLoad>(load));
            if (cost.exists())
              text += fmt::format("cost {} {} {} {} {} {}\n", path, from, to, encoding, load, CostWords(cost));
          }
        }
      }
    }
  }
  for (const ProbeResult& probe : calibration.probes) {
    text += fmt::format("probe {} {} {} {} {}\n", Word(probe.name), probe.from, probe.to, probe.value, Word(probe.unit));
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
  Words words(text);
  words.NextLine();
  words.Expect(kTitle);
  if (const std::string_view version = words.RestOfLine(); version != fmt::format("{}", kVersion)) {
    Throw<InputError>("was written by another version ({}; this is {})", io::Quote(version), kVersion);
  }
  const std::size_t end = text.rfind("checksum ");
  if (end == std::string_view::npos || text[end - 1] != '\n') throw InputError("is damaged: it is cut short");
  if (text.substr(end) != fmt::format("checksum {:016x}\n", Checksum(text.substr(0, end)))) {
    throw InputError("is damaged: its checksum is another");
  }
  words.NextLine();
  words.Expect("fingerprint");
  const auto lines = words.Number<std::size_t>(0, LinesOf(text));
  std::string found;
  for (std::size_t i = 0; i < lines; ++i) {
    words.NextLine();
    found += words.RestOfLine();
    found += '\n';
  }
  if (found != fingerprint) throw InputError("is of another machine, mask or driver");

  Calibration calibration;
  words.NextLine();
  words.Expect("quick");
  calibration.quick = words.Number(0, 1) == 1;
  words.Expect("seconds");
  calibration.seconds = words.Figure();
  words.NextLine();
  words.Expect("devices");
  const auto devices = words.Number<std::size_t>(2, kMaxDevices);
  words.Expect("paths");
  std::vector<std::string> paths(words.Number<std::size_t>(0, 64));
  words.EndLine();
  for (std::string& path : paths) {
    words.NextLine();
    words.Expect("path");
    path = words.RestOfLine();
  }
  CostModel& model = calibration.model;
  model = CostModel(std::move(paths), devices);
  model.set_measured(true);
  for (words.NextLine();; words.NextLine()) {
    const std::string_view what = words.Next();
    if (what == "checksum") break;
    if (what == "cost") {
      const std::size_t path = words.Index(model.paths().size()), from = words.Index(devices), to = words.Index(devices);
      const auto encoding = static_cast<Encoding>(words.Index(kEncodings));
      const auto load = static_cast<MeasuredLoad>(words.Index(kMeasuredLoads));
      model.set_cost(path, from, to, encoding, load, ReadCost(words));
    } else if (what == "probe") {
      ProbeResult probe;
      probe.name = words.Next();
      probe.from = words.Number<std::int32_t>(ProbeResult::kNone, static_cast<std::int32_t>(devices) - 1);
      probe.to = words.Number<std::int32_t>(ProbeResult::kNone, static_cast<std::int32_t>(devices) - 1);
      probe.value = words.Figure();
      probe.unit = words.Next();
      calibration.probes.push_back(std::move(probe));
    } else if (what == "note") {
      calibration.notes.emplace_back(words.RestOfLine());
    } else {
      words.Fail("begins with {}", io::Quote(what));
    }
    words.EndLine();
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

namespace {

/// The file of version 5, whose fingerprints began with that number.
std::string EarlierFile(std::string_view fingerprint) {
  constexpr std::string_view kBegin = "version ";
  if (!fingerprint.starts_with(kBegin)) return "";
  return CalibrationFile(fmt::format("{}5 {}", kBegin, fingerprint.substr(kBegin.size())));
}

}  // namespace

LoadedCalibration LoadCalibration(std::string_view fingerprint) {
  LoadedCalibration loaded;
  const std::string path = CalibrationFile(fingerprint);
  std::error_code error;
  if (path.empty()) return loaded;
  if (!fs::exists(path, error)) {
    if (const std::string earlier = EarlierFile(fingerprint); fs::exists(earlier, error)) {
      loaded.why = fmt::format("{} was written by an earlier version, whose costs are fitted otherwise", earlier);
    }
    return loaded;
  }
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
