#include "chatty/cli/compare_figures.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <utility>

#include "chatty/cli/compare_published.h"
#include "chatty/cli/compare_transfers.h"
#include "chatty/comm/calibration.h"
#include "chatty/comm/topology.h"
#include "chatty/comm/transport.h"
#include "chatty/core/error.h"

namespace chatty::cli {
namespace {

constexpr std::array<std::string_view, 8> kNames{"groute-2a",     "groute-2b",   "groute-2c",   "groute-2d",
                                                 "chatty-table2", "chatty-fig4", "chatty-fig5", "chatty-fig9"};
constexpr std::size_t kPublishedBytes = 104857600;  // 100 MiB: what Groute's figure 2 moves
constexpr std::size_t kPacket = std::size_t{2} << 20;

/// Host devices move less: what takes a GPU 10 ms takes them a second.
std::size_t BytesOn(DeviceKind kind) { return kind == DeviceKind::kCuda ? kPublishedBytes : kPublishedBytes / 10; }

std::vector<std::unique_ptr<Device>> Open(DeviceKind kind, std::uint32_t count, int threads) {
  DeviceSelection selection;
  selection.kind = kind;
  for (std::uint32_t i = 0; i < count; ++i) selection.indices.push_back(static_cast<int>(i));
  return OpenDevices(selection, threads);
}

std::vector<Device*> Pointers(const std::vector<std::unique_ptr<Device>>& devices) {
  std::vector<Device*> pointers;
  pointers.reserve(devices.size());
  for (const auto& device : devices) pointers.push_back(device.get());
  return pointers;
}

/// The paths of the plan that one can name, without what chooses among them.
std::vector<std::string> FixedPaths(const ComparePlan& plan, std::size_t devices) {
  std::vector<std::string> paths;
  const std::vector<std::string_view> names = TransportNames();
  for (const std::string& comm : plan.comms) {
    const bool transport = comm != "auto" && std::find(names.begin(), names.end(), comm) != names.end();
    if (transport && CanJoin(comm, plan.kind, devices)) paths.push_back(comm);
  }
  return paths;
}

/// Adds a point, or a note that says why there is none.
template <class Measure>
void Try(Figure& figure, FigureSeries& series, const std::string& x, Measure&& measure) {
  try {
    series.points.emplace_back(x, measure());
  } catch (const Error& error) {
    figure.notes.push_back(fmt::format("{}, {}: {}", series.name, x, error.what()));
  }
}

double Rate(std::size_t bytes, double ms) { return static_cast<double>(bytes) / 1e6 / (ms / 1e3); }  // MB/s

// --------------------------------------------------------------- Groute's ----

/// The probes of a calibration that is kept, else of a quick one.
std::vector<ProbeResult> Probes(const CompareOptions& options, const ComparePlan& plan) {
  DeviceSelection selection;
  selection.kind = plan.kind;
  for (std::uint32_t i = 0; i < plan.most(); ++i) selection.indices.push_back(static_cast<int>(i));
  const LinkMask links = LinkMask::Parse(MaskFor(options.links, plan.most()), plan.most());
  LoadedCalibration kept = LoadCalibration(MachineFingerprint(DiscoverTopology(selection), links));
  if (kept.calibration) return std::move(kept.calibration->probes);
  const auto devices = OpenDevices(selection, options.load.read.threads);
  CalibrationOptions calibration;
  calibration.quick = true;
  calibration.links = links;
  return Calibrate(Pointers(devices), calibration).probes;
}

/// Words of four bytes, as Groute's.
void MeasureAccess(Figure& figure, const CompareOptions& options, const ComparePlan& plan) {
  FigureSeries coalesced{"coalesced", false, {}}, random{"random", false, {}};
  try {
    for (const ProbeResult& probe : Probes(options, plan)) {
      if (probe.from != 0) continue;
      const bool host = probe.name.starts_with("host-read");
      if (!host && !(probe.name.starts_with("peer-read") && probe.to > 0)) continue;
      const std::string x = host ? "host to device" : fmt::format("device {} from device {}", probe.from, probe.to);
      if (probe.name.ends_with("-random")) {
        random.points.emplace_back(x, probe.value * 4 / 1e6);
      } else {
        coalesced.points.emplace_back(x, probe.value / 1e6);
      }
    }
  } catch (const Error& error) {
    figure.notes.emplace_back(error.what());
  }
  if (coalesced.points.empty()) figure.notes.emplace_back("No device here reads another's memory.");
  figure.series = {std::move(coalesced), std::move(random)};
}

void MeasurePackets(Figure& figure, const CompareOptions& options, const ComparePlan& plan) {
  const std::size_t bytes = BytesOn(plan.kind);
  const auto devices = Open(plan.kind, 2, options.load.read.threads);
  const std::vector<Device*> pointers = Pointers(devices);
  for (const std::string& path : FixedPaths(plan, 2)) {
    FigureSeries series{path, false, {}}, itself{path + ", which cuts by itself", false, {}};
    for (const std::size_t packet :
         {std::size_t{10240}, std::size_t{102400}, std::size_t{1048576}, std::size_t{10485760}, std::size_t{104857600}}) {
      if (packet > bytes) continue;
      TransferOptions transfer;
      transfer.repetitions = packet < 1000000 ? 1 : 5;
      Try(figure, series, fmt::format("{}", packet),
          [&] { return TransferMs(pointers, path, PeerSchedule(0, 1, bytes, packet), transfer); });
      if (plan.kind != DeviceKind::kCuda || (path != "p2p-copy" && path != "staged")) continue;
      transfer.packet = packet;
      Try(figure, itself, fmt::format("{}", packet),
          [&] { return TransferMs(pointers, path, PeerSchedule(0, 1, bytes, bytes), transfer); });
    }
    figure.series.push_back(std::move(series));
    if (!itself.points.empty()) figure.series.push_back(std::move(itself));
  }
  if (bytes != kPublishedBytes) {
    figure.notes.push_back(fmt::format("Moved here: {} bytes, a tenth of the published.", bytes));
  }
}

void MeasureRates(Figure& figure, const CompareOptions& options, const ComparePlan& plan) {
  const std::size_t bytes = BytesOn(plan.kind);
  const auto devices = Open(plan.kind, 2, options.load.read.threads);
  const std::vector<Device*> pointers = Pointers(devices);
  for (const std::string& path : FixedPaths(plan, 2)) {
    for (const bool direct : {true, false}) {
      if (!direct && plan.kind == DeviceKind::kHost) continue;  // there are no links to take away
      FigureSeries series{direct ? path : path + ", without links", false, {}};
      TransferOptions transfer;
      if (!direct) transfer.links = LinkMask::Parse("none", 2);
      Try(figure, series, "whole",
          [&] { return Rate(bytes, TransferMs(pointers, path, PeerSchedule(0, 1, bytes, bytes), transfer)); });
      Try(figure, series, "in packets of 2 MiB",
          [&] { return Rate(bytes, TransferMs(pointers, path, PeerSchedule(0, 1, bytes, kPacket), transfer)); });
      figure.series.push_back(std::move(series));
    }
  }
}

void MeasureBroadcasts(Figure& figure, const CompareOptions& options, const ComparePlan& plan) {
  const std::size_t bytes = BytesOn(plan.kind);
  const PartId count = plan.most();
  const auto devices = Open(plan.kind, count, options.load.read.threads);
  const std::vector<Device*> pointers = Pointers(devices);
  for (const std::string& path : FixedPaths(plan, count)) {
    FigureSeries series{fmt::format("{}, {} devices", path, count), false, {}};
    Try(figure, series, "one to all", [&] { return TransferMs(pointers, path, FanOutSchedule(count, bytes)); });
    Try(figure, series, "the path's own", [&] { return TransferMs(pointers, path, BroadcastSchedule(bytes)); });
    Try(figure, series, "ring", [&] { return TransferMs(pointers, path, RingSchedule(count, bytes, bytes)); });
    Try(figure, series, "ring in packets of 2 MiB",
        [&] { return TransferMs(pointers, path, RingSchedule(count, bytes, kPacket)); });
    figure.series.push_back(std::move(series));
  }
  if (bytes != kPublishedBytes) {
    figure.notes.push_back(fmt::format("Moved here: {} bytes, a tenth of the published.", bytes));
  }
}

// ----------------------------------------------------------- ChattyGraph's ----

void TakeRuntimes(Figure& figure, const Comparison& comparison) {
  std::map<std::string, FigureSeries> series;
  for (const Measurement& m : comparison.measurements) {
    const Combination& c = m.combination;
    if (!m.good()) continue;
    FigureSeries& line = series[fmt::format("{} × {}", c.devices, Strategy(c))];
    line.points.emplace_back(fmt::format("{} on {}", c.program, c.graph), SpreadOf(m.trials_ms).median);
  }
  for (auto& [name, line] : series) {
    line.name = name;
    figure.series.push_back(std::move(line));
  }
}

/// Against the published systems' path, which goes through the host; where a build has none, against the slowest path.
void TakeSpeedups(Figure& figure, const Comparison& comparison) {
  std::map<std::pair<std::string, std::string>, std::map<std::string, double>> cases;  // graph, program: path, ms
  std::uint32_t most = 0;
  for (const Measurement& m : comparison.measurements) {
    if (m.good()) most = std::max(most, m.combination.devices);
  }
  for (const Measurement& m : comparison.measurements) {
    const Combination& c = m.combination;
    if (!m.good() || c.devices != most || most < 2 || c.execution != "bsp") continue;
    double& ms = cases[{c.graph, c.program}][c.comm];
    const double median = SpreadOf(m.trials_ms).median;
    if (ms == 0 || median < ms) ms = median;
  }
  std::map<std::string, FigureSeries> series;
  bool without = false;
  for (const auto& [key, paths] : cases) {
    const auto hub = paths.find("uva-hub");
    without = without || hub == paths.end();
    const auto slowest =
        std::max_element(paths.begin(), paths.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    const double base = hub == paths.end() ? slowest->second : hub->second;
    for (const auto& [path, ms] : paths) {
      if (ms <= 0) continue;
      series[path].points.emplace_back(fmt::format("{} on {}", key.second, key.first), base / ms);
    }
  }
  for (auto& [path, line] : series) {
    line.name = path;
    figure.series.push_back(std::move(line));
  }
  if (without) figure.notes.emplace_back("Where uva-hub was not measured, the slowest path stands for it.");
}

void TakeScaling(Figure& figure, const Comparison& comparison) {
  for (const Measurement& m : comparison.measurements) {
    const Combination& c = m.combination;
    const std::optional<double> single = BestSingleMs(comparison, c.graph, c.program);
    if (!m.good() || !single || c.execution != "bsp" || (c.devices > 1 && c.comm != "auto")) continue;
    const std::string name = fmt::format("{} on {}", c.program, c.graph);
    auto found = std::find_if(figure.series.begin(), figure.series.end(), [&](const auto& s) { return s.name == name; });
    if (found == figure.series.end()) found = figure.series.insert(figure.series.end(), FigureSeries{name, false, {}});
    found->points.emplace_back(fmt::format("{}", c.devices), *single / SpreadOf(m.trials_ms).median);
  }
}

void MeasureHostThreads(Figure& figure, const CompareOptions& options, const ComparePlan& plan) {
  constexpr std::size_t kBytes = std::size_t{64} << 10, kWork = std::size_t{4} << 20, kRounds = 200;
  FigureSeries one{"one host thread for all", false, {}}, each{"one host thread each", false, {}};
  for (const std::uint32_t count : plan.devices) {
    if (count < 2) continue;
    const auto devices = Open(plan.kind, count, options.load.read.threads);
    const std::vector<Device*> pointers = Pointers(devices);
    for (FigureSeries* series : {&one, &each}) {
      TransferOptions transfer;
      transfer.one_thread = series == &one;
      transfer.work = kWork;
      Try(figure, *series, fmt::format("{} devices", count),
          [&] { return TransferMs(pointers, "auto", ExchangeSchedule(count, kBytes, kRounds), transfer) * 1e3 / kRounds; });
    }
  }
  figure.series = {std::move(one), std::move(each)};
}

struct Description {
  std::string_view name, title, x, y, reading;
  bool lines;
};

constexpr std::array<Description, 8> kDescriptions{{
    {"groute-2a", "Reading another device's memory (Groute, figure 2a)", "way", "MB/s",
     "Longer is faster: neighbouring threads that read neighbouring words (coalesced) against threads that read anywhere "
     "(random).",
     false},
    {"groute-2b", "What cutting a transfer into packets costs (Groute, figure 2b)", "packet, bytes", "ms",
     "Time to move 100 MiB from one device to another over the size of the packets: lower is faster, and where a line turns "
     "flat packets cost nothing.",
     true},
    {"groute-2c", "Rate of transfers between two devices (Groute, figure 2c)", "transfer", "MB/s",
     "Longer is faster: 100 MiB sent as one piece against the same in packets of 2 MiB.", false},
    {"groute-2d", "Telling all devices the same (Groute, figure 2d)", "broadcast", "ms",
     "Shorter is faster: 100 MiB from one device to all others, directly or from one to the next around a ring.", false},
    {"chatty-table2", "Times of programs (ChattyGraph, table 2)", "program and graph", "ms",
     "Shorter is faster: the median time of each strategy.", false},
    {"chatty-fig4", "Paths against the hub in host memory (ChattyGraph, figure 4)", "program and graph", "times faster",
     "Longer is faster: how many times as fast as with uva-hub, the path of earlier systems, on the most devices measured.",
     false},
    {"chatty-fig5", "Scaling with devices (ChattyGraph, figure 5)", "devices", "times faster",
     "Higher is faster than the best time on one device; on a line through 1, 2, 4 the devices would lose nothing.", true},
    {"chatty-fig9", "One host thread for all devices, or one each (ChattyGraph, figure 9)", "devices", "µs a round",
     "Shorter is faster: a round in which each device fills 4 MiB and sends 64 KiB to each other, driven by one host thread "
     "after the other or by all at once.",
     false},
}};

Json Published() {
  Json all = Json::array();
  for (const std::string_view text : kPublishedFiles) all.push_back(Json::parse(text));
  return all;
}

}  // namespace

std::span<const std::string_view> FigureNames() { return kNames; }

bool FigureNeedsGraphs(std::string_view name) {
  if (std::find(kNames.begin(), kNames.end(), name) == kNames.end()) {
    Throw<UsageError>("there is no figure '{}'; choose one of {}", name, fmt::join(kNames, ", "));
  }
  return name == "chatty-table2" || name == "chatty-fig4" || name == "chatty-fig5";
}

void ApplyPreset(std::string_view name, CompareOptions& options, const std::function<bool(std::string_view)>& given) {
  static_cast<void>(FigureNeedsGraphs(name));
  if (!given("execution")) options.execution = "bsp";
  if (name == "chatty-fig5" && !given("comm")) options.comm = "auto";
}

std::vector<FigureSeries> PublishedSeries(std::string_view figure) {
  std::vector<FigureSeries> all;
  for (const Json& file : Published()) {
    for (const auto& [name, list] : file.at("figures").items()) {
      if (name != figure) continue;
      for (const Json& one : list) {
        FigureSeries series{one.at("name"), true, {}};
        for (const Json& point : one.at("points")) series.points.emplace_back(point.at(0), point.at(1));
        all.push_back(std::move(series));
      }
    }
  }
  return all;
}

std::string PublishedSource(std::string_view figure) {
  const std::string_view paper = figure.starts_with("groute") ? "Groute" : "ChattyGraph";
  for (const Json& file : Published()) {
    const std::string title = file.at("paper");
    if (title.find(paper) != std::string::npos) return fmt::format("{}; {}", title, file.at("source").get<std::string>());
  }
  return "";
}

Figure MakeFigure(std::string_view name, const CompareOptions& options, const ComparePlan& plan,
                  const Comparison& comparison) {
  const auto found = std::find_if(kDescriptions.begin(), kDescriptions.end(), [&](const auto& d) { return d.name == name; });
  Figure figure;
  figure.name = found->name;
  figure.title = found->title;
  figure.x_label = found->x;
  figure.y_label = found->y;
  figure.reading = found->reading;
  figure.lines = found->lines;
  figure.source = PublishedSource(name);
  if (!FigureNeedsGraphs(name) && plan.most() < 2) {
    figure.notes.emplace_back("It takes two devices: see --devices.");
  } else if (name == "groute-2a") {
    MeasureAccess(figure, options, plan);
  } else if (name == "groute-2b") {
    MeasurePackets(figure, options, plan);
  } else if (name == "groute-2c") {
    MeasureRates(figure, options, plan);
  } else if (name == "groute-2d") {
    MeasureBroadcasts(figure, options, plan);
  } else if (name == "chatty-table2") {
    TakeRuntimes(figure, comparison);
  } else if (name == "chatty-fig4") {
    TakeSpeedups(figure, comparison);
  } else if (name == "chatty-fig5") {
    TakeScaling(figure, comparison);
  } else {
    MeasureHostThreads(figure, options, plan);
  }
  for (FigureSeries& series : PublishedSeries(name)) figure.series.push_back(std::move(series));
  return figure;
}

}  // namespace chatty::cli
