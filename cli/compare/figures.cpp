#include "chatty/cli/compare/figures.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include "chatty/cli/compare/engine_figures.h"
#include "chatty/cli/compare/published.h"
#include "chatty/cli/compare/transfers.h"
#include "chatty/cli/text.h"
#include "chatty/cli/times.h"
#include "chatty/comm/memory_reads.h"
#include "chatty/comm/topology.h"
#include "chatty/comm/transport.h"
#include "chatty/core/error.h"
#include "chatty/core/suggestion.h"

namespace chatty::cli {
namespace {

constexpr std::size_t kPublishedBytes = 104857600;  // 100 MiB: what Groute's figure 2 moves
constexpr std::size_t kPacket = std::size_t{2} << 20;

/// Host devices move less: what takes a GPU 10 ms takes them a second.
std::size_t BytesOn(DeviceKind kind) { return kind == DeviceKind::kCuda ? kPublishedBytes : kPublishedBytes / 10; }

/// Devices that are opened when the first point wants them, and closed when the last one has gone.
class LazyDevices {
 public:
  LazyDevices(const ComparePlan& plan, std::uint32_t count, int threads)
      : selection_(plan.Devices(count)), there_(plan.pool.indices.size()), threads_(threads) {}
  std::uint32_t count() const { return static_cast<std::uint32_t>(selection_.indices.size()); }
  std::span<Device* const> Open() {
    if (selection_.indices.size() > there_) Throw<CapabilityError>("there are {} devices", there_);
    if (devices_.empty()) devices_ = OpenDevices(selection_, threads_);
    pointers_.clear();
    for (const auto& device : devices_) pointers_.push_back(device.get());
    return pointers_;
  }
  /// Leaves them open for good: closing waits for what a GPU may never end.
  void Abandon() {
    for (auto& device : devices_) static_cast<void>(device.release());
    devices_.clear();
  }

 private:
  const DeviceSelection selection_;
  const std::size_t there_;
  const int threads_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<Device*> pointers_;
};

/// The paths of the plan that one can name, without what chooses among them.
std::vector<std::string> FixedPaths(const ComparePlan& plan, std::size_t devices) {
  std::vector<std::string> paths;
  const std::vector<std::string_view> names = TransportNames();
  for (const std::string& comm : plan.comms) {
    const bool transport = comm != "auto" && std::find(names.begin(), names.end(), comm) != names.end();
    if (transport && CanJoin(plan.specs.at(comm), plan.Devices(devices))) paths.push_back(comm);
  }
  return paths;
}

/// A figure being measured, point by point.
class FigureMaker {
 public:
  FigureMaker(Figure& figure, const CompareOptions& options, const ComparePlan& plan, const Comparison& comparison,
              const CompareStop& stop, const std::function<void(const FigurePoints&)>& keep)
      : figure(figure), options(options), plan(plan), comparison_(comparison), stop_(stop), keep_(keep) {}

  /// Measures a transfer and adds `value` of its milliseconds as a point; or a note that says why there is none.
  void Transfer(
      const std::string& series, const std::string& x, LazyDevices& devices, std::string_view path, const Schedule& schedule,
      TransferOptions transfer, const std::function<double(double)>& value = [](double ms) { return ms; }) {
    const auto known = std::find_if(comparison_.points.begin(), comparison_.points.end(), [&](const FigurePoints& p) {
      return p.figure == figure.name && p.devices == devices.count() && p.points.size() == 1 &&
             p.points.front().series == series && p.points.front().x == x;
    });
    if (known != comparison_.points.end()) {
      if (known->failure.empty()) return Add(known->points.front());
      return Fail(series + ", " + x, known->failure);
    }
    if (!Begins()) return;
    FigurePoints point{figure.name, devices.count(), {{series, x, 0}}, ""};
    const bool measured = Attempt(series + ", " + x, [&] {
      transfer.timeout = TimeoutOf(options);
      transfer.stop = stop_.token();
      try {
        point.points.front().y = value(TransferMs(devices.Open(), path, schedule, transfer));
      } catch (const TimeoutError& error) {
        give_up_ = plan.kind == DeviceKind::kCuda;
        if (give_up_) {
          devices.Abandon();
          point.failure = error.what();
        }
        throw;
      }
    });
    if (!measured && point.failure.empty()) return;
    keep_(point);
    if (measured) Add(point.points.front());
  }

  /// Adds the points that `measure` returns of so many devices, which belong together.
  void Together(std::uint32_t devices, const std::function<std::vector<FigurePoints::Point>()>& measure) {
    const auto known = std::find_if(comparison_.points.begin(), comparison_.points.end(),
                                    [&](const FigurePoints& p) { return p.figure == figure.name && p.devices == devices; });
    FigurePoints points{figure.name, devices, {}, ""};
    if (known != comparison_.points.end()) {
      points.points = known->points;
    } else {
      if (!Begins() || !Attempt("", [&] { points.points = measure(); })) return;
      keep_(points);
    }
    for (const FigurePoints::Point& point : points.points) Add(point);
  }

  /// Whether `measure` came to its end. What a machine cannot do is noted; whatever else goes wrong is a failure besides.
  template <class Measure>
  bool Attempt(const std::string& what, Measure&& measure) {
    try {
      measure();
      return true;
    } catch (const UsageError& error) {
      Note(what, error.what());
    } catch (const CapabilityError& error) {
      Note(what, error.what());
    } catch (const AbortedError& error) {
      if (stop_.requested()) {
        ++unreached_;
      } else {
        Fail(what, error.what());
      }
    } catch (const std::bad_alloc&) {
      Fail(what, "out of host memory");
    } catch (const std::exception& error) {
      Fail(what, error.what());
    }
    return false;
  }

  void Add(const FigurePoints::Point& point) {
    auto found =
        std::find_if(figure.series.begin(), figure.series.end(), [&](const auto& s) { return s.name == point.series; });
    if (found == figure.series.end()) found = figure.series.insert(found, FigureSeries{point.series, false, {}});
    found->points.emplace_back(point.x, point.y);
  }
  /// Notes what was left out.
  void Finish() {
    if (unreached_ == 0) return;
    figure.notes.push_back(fmt::format("{} of its measurements {} not reached; --resume goes on", unreached_,
                                       unreached_ == 1 ? "was" : "were"));
  }
  bool give_up() const { return give_up_; }

  Figure& figure;
  const CompareOptions& options;
  const ComparePlan& plan;

 private:
  bool Begins() {
    if (!stop_.requested() && !give_up_) return true;
    ++unreached_;
    return false;
  }
  void Note(const std::string& what, std::string_view why) {
    figure.notes.push_back(what.empty() ? std::string(why) : fmt::format("{}: {}", what, why));
  }
  void Fail(const std::string& what, std::string_view why) {
    Note(what, why);
    ++figure.failed;
  }
  const Comparison& comparison_;
  const CompareStop& stop_;
  const std::function<void(const FigurePoints&)>& keep_;
  std::size_t unreached_ = 0;
  bool give_up_ = false;
};

double Rate(std::size_t bytes, double ms) { return static_cast<double>(bytes) / 1e6 / (ms / 1e3); }  // MB/s

// --------------------------------------------------------------- Groute's ----

/// Reading others' memory in words of four bytes, as Groute's.
void MeasureAccess(FigureMaker& maker) {
  const std::uint32_t count = maker.plan.most();
  maker.Together(count, [&] {
    LazyDevices devices(maker.plan, count, maker.options.load.read.threads);
    std::vector<FigurePoints::Point> points;
    for (const ReadRate& rate : MeasureReads(devices.Open(), LinkMask::Parse(MaskFor(maker.options.links, count), count))) {
      const std::string x = rate.owner ? fmt::format("device 0 from device {}", *rate.owner) : "host to device";
      points.push_back({"coalesced", x, rate.in_order / 1e6});
      points.push_back({"random", x, rate.at_random / 1e6});
    }
    return points;
  });
}

void NoteBytes(FigureMaker& maker) {
  const std::size_t bytes = BytesOn(maker.plan.kind);
  if (bytes == kPublishedBytes) return;
  maker.figure.notes.push_back(fmt::format("Moved here: {} bytes, a tenth of the published.", bytes));
}

void MeasurePackets(FigureMaker& maker) {
  const bool gpus = maker.plan.kind == DeviceKind::kCuda;
  const std::size_t bytes = BytesOn(maker.plan.kind);
  LazyDevices devices(maker.plan, 2, maker.options.load.read.threads);
  for (const std::string& path : FixedPaths(maker.plan, 2)) {
    for (const std::size_t packet :
         {std::size_t{10240}, std::size_t{102400}, std::size_t{1048576}, std::size_t{10485760}, std::size_t{104857600}}) {
      if (packet > bytes) continue;
      const std::string x = fmt::format("{}", packet);
      TransferOptions transfer;
      transfer.repetitions = packet < 1000000 ? 1 : 5;
      maker.Transfer(path, x, devices, path, PeerSchedule(0, 1, bytes, packet), transfer);
      if (!gpus || (path != "p2p-copy" && path != "staged")) continue;
      transfer.packet = packet;
      maker.Transfer(path + ", which cuts by itself", x, devices, path, PeerSchedule(0, 1, bytes, bytes), transfer);
    }
  }
  NoteBytes(maker);
}

void MeasureRates(FigureMaker& maker) {
  const std::size_t bytes = BytesOn(maker.plan.kind);
  const auto rate = [bytes](double ms) { return Rate(bytes, ms); };
  LazyDevices devices(maker.plan, 2, maker.options.load.read.threads);
  for (const std::string& path : FixedPaths(maker.plan, 2)) {
    for (const bool direct : {true, false}) {
      if (!direct && maker.plan.kind == DeviceKind::kHost) continue;  // there are no links to take away
      const std::string series = direct ? path : path + ", without links";
      TransferOptions transfer;
      if (!direct) transfer.links = LinkMask::Parse("none", 2);
      maker.Transfer(series, "whole", devices, path, PeerSchedule(0, 1, bytes, bytes), transfer, rate);
      maker.Transfer(series, "in packets of 2 MiB", devices, path, PeerSchedule(0, 1, bytes, kPacket), transfer, rate);
    }
  }
}

void MeasureBroadcasts(FigureMaker& maker) {
  const std::size_t bytes = BytesOn(maker.plan.kind);
  const PartId count = maker.plan.most();
  LazyDevices devices(maker.plan, count, maker.options.load.read.threads);
  for (const std::string& path : FixedPaths(maker.plan, count)) {
    const std::string series = fmt::format("{}, {} devices", path, count);
    maker.Transfer(series, "one to all", devices, path, FanOutSchedule(count, bytes), {});
    maker.Transfer(series, "the path's own", devices, path, BroadcastSchedule(bytes), {});
    maker.Transfer(series, "ring", devices, path, RingSchedule(count, bytes, bytes), {});
    maker.Transfer(series, "ring in packets of 2 MiB", devices, path, RingSchedule(count, bytes, kPacket), {});
  }
  NoteBytes(maker);
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

bool Has(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Whether an entry of `--execution` is `bsp` with its own width of buckets.
bool IsBsp(const std::string& execution) { return ParseEngine(execution) == EngineChoice{Execution::kBsp}; }

/// Notes what a figure lacks that the command line left out. What was asked for and not measured has its own reasons.
void NoteLeftOut(Figure& figure, const ComparePlan& plan, const Comparison& comparison) {
  const auto measured = [&](const auto& wanted) {
    return std::any_of(comparison.measurements.begin(), comparison.measurements.end(),
                       [&](const Measurement& m) { return m.good() && wanted(m.combination); });
  };
  const bool scaling = figure.name == "chatty-fig5";
  if (scaling && plan.devices.front() != 1 && !measured([](const Combination& c) { return c.devices == 1; })) {
    figure.notes.emplace_back("It takes times on one device: see --devices.");
  }
  if (plan.most() < 2 && !measured([](const Combination& c) { return c.devices > 1; })) {
    figure.notes.emplace_back("It takes two devices: see --devices.");
  } else if (std::none_of(plan.executions.begin(), plan.executions.end(), IsBsp) &&
             !measured([](const Combination& c) { return c.devices > 1 && IsBsp(c.execution); })) {
    figure.notes.emplace_back("It is of engine bsp: see --execution.");
  } else if (scaling && !Has(plan.comms, "auto") && !measured([](const Combination& c) { return c.comm == "auto"; })) {
    figure.notes.emplace_back("It is of path auto: see --comm.");
  } else if (!scaling && plan.comms.size() == 1 &&
             !measured([&](const Combination& c) { return c.devices > 1 && c.comm != plan.comms.front(); })) {
    figure.notes.emplace_back("It takes two paths: see --comm.");
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
    if (!m.good() || c.devices != most || most < 2 || !IsBsp(c.execution)) continue;
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

/// Of several partitions the fastest.
void TakeScaling(Figure& figure, const Comparison& comparison) {
  for (const Measurement& m : comparison.measurements) {
    const Combination& c = m.combination;
    const std::optional<double> single = BestSingleMs(comparison, c.graph, c.program);
    if (!m.good() || !single || !IsBsp(c.execution) || (c.devices > 1 && c.comm != "auto")) continue;
    const std::string name = fmt::format("{} on {}", c.program, c.graph);
    auto found = std::find_if(figure.series.begin(), figure.series.end(), [&](const auto& s) { return s.name == name; });
    if (found == figure.series.end()) found = figure.series.insert(figure.series.end(), FigureSeries{name, false, {}});
    const double speedup = *single / SpreadOf(m.trials_ms).median;
    const std::string x = fmt::format("{}", c.devices);
    const auto point = std::find_if(found->points.begin(), found->points.end(), [&](const auto& p) { return p.first == x; });
    if (point == found->points.end()) {
      found->points.emplace_back(x, speedup);
    } else {
      point->second = std::max(point->second, speedup);
    }
  }
}

void MeasureHostThreads(FigureMaker& maker) {
  constexpr std::size_t kBytes = std::size_t{64} << 10, kWork = std::size_t{4} << 20, kRounds = 200;
  for (const std::uint32_t count : maker.plan.devices) {
    if (count < 2) continue;
    LazyDevices devices(maker.plan, count, maker.options.load.read.threads);
    for (const bool one : {true, false}) {
      TransferOptions transfer;
      transfer.one_thread = one;
      transfer.work = kWork;
      maker.Transfer(one ? "one host thread for all" : "one host thread each", fmt::format("{} devices", count), devices,
                     "auto", ExchangeSchedule(count, kBytes, kRounds), transfer,
                     [](double ms) { return ms * 1e3 / kRounds; });
    }
  }
}

struct Description {
  std::string_view name, title, x, y, reading;
  bool lines;
};

constexpr std::array<Description, 14> kDescriptions{{
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
    {"groute-2d", "Broadcast to all devices (Groute, figure 2d)", "broadcast", "ms",
     "Shorter is faster: 100 MiB from one device to all others, directly or from one to the next around a ring.", false},
    {"groute-3", "Work of the engines (Groute)", "devices", "items a vertex",
     "Lower is less work: how often a vertex's edges were followed, in the mean; 1 if each vertex is followed once. The "
     "paper's numbers are of unknown graph and number of GPUs.",
     true},
    {"groute-5", "Soft priority and fusion (Groute, table 5)", "devices", "ms",
     "Lower is faster: the median time with vertices in no order, nearest first, and nearest first in a fused worker, "
     "which several devices have for graphs of many levels alone: on others the third series has no point.",
     true},
    {"groute-10a", "Breadth-first search over devices (Groute, figure 10a)", "devices", "ms",
     "Lower is faster: the median time of each engine on each graph.", true},
    {"groute-10b", "Shortest paths over devices (Groute, figure 10b)", "devices", "ms",
     "Lower is faster: the median time of each engine on each graph.", true},
    {"groute-11", "PageRank by residuals over devices (Groute, figure 11)", "devices", "ms",
     "Lower is faster: the median time of each engine on each graph; each system has its own tolerance.", true},
    {"groute-12", "Connected components over devices (Groute, figure 12)", "devices", "ms",
     "Lower is faster: the median time of each engine on each graph.", true},
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

std::span<const std::string_view> FigureNames() {
  static const auto names = [] {
    std::array<std::string_view, kDescriptions.size()> all;
    std::transform(kDescriptions.begin(), kDescriptions.end(), all.begin(), [](const auto& figure) { return figure.name; });
    return all;
  }();
  return names;
}

bool FigureNeedsGraphs(std::string_view name) {
  const std::span<const std::string_view> names = FigureNames();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    Throw<UsageError>("there is no figure '{}'{}; choose one of {}", name, DidYouMean(name, names), fmt::join(names, ", "));
  }
  return FindEngineFigure(name) != nullptr || name == "chatty-table2" || name == "chatty-fig4" || name == "chatty-fig5";
}

void ApplyPreset(std::string_view name, CompareOptions& options, const std::function<bool(std::string_view)>& given) {
  static_cast<void>(FigureNeedsGraphs(name));
  if (const EngineFigure* const engines = FindEngineFigure(name); engines != nullptr) {
    return ApplyEnginePreset(*engines, options, given);
  }
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
    if (title.find(paper) == std::string::npos) continue;
    const Json own = file.value("sources", Json::object());  // of figures from elsewhere
    return fmt::format("{}; {}", title, own.value(std::string(figure), file.at("source").get<std::string>()));
  }
  return "";
}

MadeFigure MakeFigure(std::string_view name, const CompareOptions& options, const ComparePlan& plan,
                      const Comparison& comparison, const CompareStop& stop,
                      const std::function<void(const FigurePoints&)>& keep) {
  const auto found = std::find_if(kDescriptions.begin(), kDescriptions.end(), [&](const auto& d) { return d.name == name; });
  MadeFigure made;
  Figure& figure = made.figure;
  figure.name = found->name;
  figure.title = found->title;
  figure.x_label = found->x;
  figure.y_label = found->y;
  figure.reading = found->reading;
  figure.lines = found->lines;
  figure.source = PublishedSource(name);
  FigureMaker maker(figure, options, plan, comparison, stop, keep);
  if (!FigureNeedsGraphs(name) && plan.most() < 2) {
    figure.notes.emplace_back("It takes two devices: see --devices.");
  } else if (const EngineFigure* const engines = FindEngineFigure(name); engines != nullptr) {
    TakeEngines(*engines, figure, plan, comparison);
  } else if (name == "groute-2a") {
    MeasureAccess(maker);
  } else if (name == "groute-2b") {
    MeasurePackets(maker);
  } else if (name == "groute-2c") {
    MeasureRates(maker);
  } else if (name == "groute-2d") {
    MeasureBroadcasts(maker);
  } else if (name == "chatty-table2") {
    TakeRuntimes(figure, comparison);
  } else if (name == "chatty-fig4") {
    TakeSpeedups(figure, comparison);
    NoteLeftOut(figure, plan, comparison);
  } else if (name == "chatty-fig5") {
    TakeScaling(figure, comparison);
    NoteLeftOut(figure, plan, comparison);
  } else {
    MeasureHostThreads(maker);
  }
  maker.Finish();
  for (FigureSeries& series : PublishedSeries(name)) figure.series.push_back(std::move(series));
  made.give_up = maker.give_up();
  return made;
}

}  // namespace chatty::cli
