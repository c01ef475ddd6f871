#include "chatty/cli/compare/compare.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "chatty/cli/app.h"
#include "chatty/cli/compare/costs.h"
#include "chatty/cli/compare/data.h"
#include "chatty/cli/compare/figures.h"
#include "chatty/cli/compare/journal.h"
#include "chatty/cli/compare/page/page.h"
#include "chatty/cli/compare/plan.h"
#include "chatty/cli/compare/run.h"
#include "chatty/cli/compare/stop.h"
#include "chatty/cli/interrupt.h"
#include "chatty/cli/json.h"
#include "chatty/cli/options.h"
#include "chatty/cli/output_files.h"
#include "chatty/cli/parameters.h"
#include "chatty/cli/text.h"
#include "chatty/cli/times.h"
#include "chatty/cli/topology/json.h"
#include "chatty/cli/values.h"
#include "chatty/comm/topology.h"
#include "chatty/comm/transport.h"
#include "chatty/core/affinity.h"
#include "chatty/core/error.h"
#include "chatty/core/logging.h"
#include "chatty/io/output.h"
#include "chatty/io/text_parser.h"
#include "chatty/partition/part_file.h"
#include "chatty/partition/partition.h"

namespace chatty::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kJournalFormat = 1;

/// "road" for "/data/road.gr.gz".
std::string GraphName(const std::string& path) {
  fs::path name = fs::path(path).filename();
  for (const char* packed : {".gz", ".zst"}) {
    if (name.extension() == packed) name = name.stem();
  }
  return name.stem().string();
}

bool IsUtf8(const std::string& text) {
  try {
    static_cast<void>(Json(text).dump());
    return true;
  } catch (const Json::type_error&) {
    return false;
  }
}

/// What tells of `compared`, a graph or a part file called `path`, whether it is still the same later.
template <class Compared>
void StatFile(const std::string& path, Compared& compared) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) Throw<InputError>("{}: cannot be read: {}", path, ErrnoText(errno));
  if (!S_ISREG(info.st_mode)) {
    Throw<InputError>("{}: is no regular file; --resume reads the files of a comparison again", path);
  }
  compared.path = fs::absolute(path).lexically_normal().string();
  if (!IsUtf8(compared.path) || !IsUtf8(path)) {  // the journal, by which it is found again, cannot hold it
    Throw<InputError>("{}: is no UTF-8, which the records of a comparison are; rename it, or name a link to it",
                      compared.path);
  }
  compared.bytes = static_cast<std::uint64_t>(info.st_size);
  compared.modified_ns = std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
}

ComparedGraph StatGraph(const std::string& path) {
  ComparedGraph graph;
  StatFile(path, graph);
  graph.name = GraphName(path);
  return graph;
}

ComparedParts StatParts(const std::string& path) {
  ComparedParts parts;
  StatFile(path, parts);
  parts.name = path;
  return parts;
}

std::string ProcessorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

/// What times depend on. The same whatever `--devices` says.
Json MachineJson(const ComparePlan& plan) {
  // Those that it may use: under taskset, or in part of a batch system's node, it is as another machine.
  const std::size_t cpus = AllowedCpus().count();
  Json json{{"processor", ProcessorName()}, {"threads", cpus > 0 ? cpus : std::thread::hardware_concurrency()}};
  try {
    json["topology"] = TopologyJson(DiscoverTopology(plan.kind == DeviceKind::kCuda ? plan.pool : ParseDevices("host")));
  } catch (const Error& error) {
    json["topology"] = error.what();
  }
  return json;
}

/// Lengths and times of the files of vertex data, which tell of another content.
Json DataFilesJson(const std::vector<std::string>& vertex_data) {
  Json files = Json::array();
  for (const std::string& pair : vertex_data) {
    const std::string path = pair.substr(std::min(pair.find('=') + 1, pair.size()));
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) continue;  // the plan has looked
    files.push_back({{"path", path},
                     {"bytes", info.st_size},
                     {"modified", std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec}});
  }
  return files;
}

/// What measurements depend on beside the combination. Names are those of the options.
Json SettingsJson(const CompareOptions& options, const ComparePlan& plan) {
  const ReadOptions& read = options.load.read;
  return {{"on", plan.on},
          {"links", options.links},
          {"seed", options.seed},
          {"source", options.parameters.source},
          {"set", options.parameters.set},
          {"damping", options.parameters.damping},
          {"tolerance", options.parameters.tolerance},
          {"rounds", options.parameters.rounds},
          {"vertex-data", options.parameters.vertex_data},
          {"vertex-data-files", DataFilesJson(options.parameters.vertex_data)},
          {"format", options.load.format},
          {"ids", options.load.ids},
          {"compact-ids", read.compact_ids},
          {"weights", options.load.weights},
          {"symmetrise", read.symmetrise},
          {"directed", read.directed},
          {"keep-loops", read.keep_loops},
          {"keep-parallel", read.keep_parallel},
          {"threads", read.threads}};
}

void MakeFolder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) Throw<InputError>("--out {}: cannot be created: {}", path, error.message());
  if (!fs::is_directory(path)) Throw<InputError>("--out {}: is no folder", path);
}

void WriteFile(const std::string& path, std::string_view text) {
  OutputFile file(path);
  file.Write(text);
  file.Commit();
}

std::size_t Count(const Comparison& comparison, Outcome outcome) {
  return static_cast<std::size_t>(std::count_if(comparison.measurements.begin(), comparison.measurements.end(),
                                                [&](const Measurement& m) { return m.outcome == outcome; }));
}

std::string Summary(const Comparison& comparison, const std::string& folder) {
  std::string text;
  const auto line = [&](std::string_view name, std::string_view value) {
    text += fmt::format("  {:<14} {}\n", name, value);
  };
  if (comparison.figure) {
    text += fmt::format("{}\n", comparison.figure->title);
    for (const std::string& note : comparison.figure->notes) line("note", note);
    line("numbers", (fs::path(folder) / (comparison.figure->name + ".csv")).string());
  }
  if (!comparison.measurements.empty()) {
    text += fmt::format("{} combinations of {} graph{}\n", comparison.measurements.size(), comparison.graphs.size(),
                        comparison.graphs.size() == 1 ? "" : "s");
    line("measured", fmt::format("{}, each answer verified", Count(comparison, Outcome::kOk)));
    for (const Outcome outcome : {Outcome::kWrong, Outcome::kFailed, Outcome::kNotApplicable, Outcome::kNotReached}) {
      const std::size_t count = Count(comparison, outcome);
      if (count > 0) line(OutcomeName(outcome), fmt::format("{}", count));
    }
  }
  std::vector<std::pair<std::string, std::string>> seen;
  for (const Measurement& m : comparison.measurements) {
    const std::pair<std::string, std::string> key{m.combination.graph, m.combination.program};
    if (std::find(seen.begin(), seen.end(), key) != seen.end()) continue;
    seen.push_back(key);
    const Measurement* best = nullptr;
    for (const Measurement& other : comparison.measurements) {
      if (other.combination.graph != key.first || other.combination.program != key.second) continue;
      if (other.outcome != Outcome::kOk || other.trials_ms.empty()) continue;
      if (best == nullptr || SpreadOf(other.trials_ms).median < SpreadOf(best->trials_ms).median) best = &other;
    }
    if (best == nullptr) continue;
    line(fmt::format("{}, {}", key.first, key.second),
         fmt::format("{} on {} device{}: {}", FormatMs(SpreadOf(best->trials_ms).median), best->combination.devices,
                     best->combination.devices == 1 ? "" : "s", Strategy(best->combination)));
  }
  const std::vector<Regret> regrets = Regrets(comparison);
  if (!regrets.empty()) line("regret of auto", DescribeRegret(Summarise(regrets)));
  const std::vector<Regret> engines = EngineRegrets(comparison);
  if (!engines.empty()) line("engine regret", DescribeRegret(Summarise(engines)));
  for (const std::string& note : comparison.notes) line("note", note);
  line("page", (fs::path(folder) / "index.html").string());
  return text;
}

}  // namespace

int CompareCommand(const Registry& registry, const CompareOptions& options, const std::string& command_line) {
  const bool needs_graphs = options.figure.empty() || FigureNeedsGraphs(options.figure);
  if (options.graphs.empty() && needs_graphs) throw UsageError("which graphs? Name one file or more");
  // No thread has been started yet. The first look at GPUs starts the driver's, which would not block signals.
  TakeInterrupts();
  ComparePlan plan = MakePlan(registry, options);

  Comparison comparison;
  comparison.started = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  comparison.command_line = IsUtf8(command_line) ? command_line : io::Printable(command_line);  // --out need not be
  comparison.build = BuildJson();
  comparison.machine = MachineJson(plan);
  comparison.settings = SettingsJson(options, plan);
  comparison.links = options.links;
  comparison.kind = plan.kind == DeviceKind::kCuda ? "cuda" : "host";
  if (const std::optional<int> shared = SharedGpu(plan.Devices(plan.most()))) {
    comparison.notes.push_back(
        fmt::format("Several devices share cuda:{}, whose time and memory they divide: answers are those of as many GPUs, "
                    "times and what was chosen by them are not.",
                    *shared));
  }
  std::vector<ComparedGraph> graphs;
  for (const std::string& path : options.graphs) {
    graphs.push_back(StatGraph(path));
    if (std::count_if(graphs.begin(), graphs.end(), [&](const auto& g) { return g.path == graphs.back().path; }) > 1) {
      Throw<UsageError>("{} is named twice", path);
    }
  }

  std::vector<ComparedParts> parts;
  for (const std::string& partition : plan.partitions) {
    if (IsPartFilePath(partition)) parts.push_back(StatParts(partition));
  }

  MakeFolder(options.out);
  const auto in_folder = [&](std::string_view name) { return (fs::path(options.out) / name).string(); };
  const std::string journal_path = in_folder("journal.jsonl");
  for (const char* name : {"results.csv", "results.json", "index.html"}) PrepareOutput(in_folder(name));

  const Json header{{"kind", "comparison"},      {"format", kJournalFormat},      {"started", comparison.started},
                    {"build", comparison.build}, {"machine", comparison.machine}, {"settings", comparison.settings}};
  JournalText kept;
  if (fs::exists(journal_path)) {
    if (!options.resume) {
      Throw<InputError>("{} holds a comparison already; --resume goes on with it, or name another folder", options.out);
    }
    kept = ReadJournal(journal_path);
    try {
      if (!kept.lines.empty()) CheckSameComparison(kept.lines.front(), header, options.out);
    } catch (const Json::exception&) {
      Throw<InputError>("{}, line 1: is no line of a journal of `chatty compare`; name another folder, or remove this one",
                        journal_path);
    }
  }
  for (std::size_t i = 1; i < kept.lines.size(); ++i) {
    try {
      Replay(kept.lines[i], comparison);
    } catch (const Json::exception&) {
      Throw<InputError>("{}, line {}: is no line of a journal of `chatty compare`; name another folder, or remove this one",
                        journal_path, i + 1);
    } catch (const InputError& error) {
      Throw<InputError>(
          "{}, line {}: is no line of a journal of `chatty compare`: {}; name another folder, or remove this one",
          journal_path, i + 1, error.what());
    }
  }
  for (const ComparedGraph& then : comparison.graphs) {
    for (const ComparedGraph& now : graphs) CheckSame(then, now, options.out);
  }
  for (const ComparedParts& then : comparison.parts) {
    for (const ComparedParts& now : parts) CheckSame(then, now, options.out);
  }

  Journal journal(journal_path, kept.bytes);
  if (kept.lines.empty()) {
    journal.Append(header);
  } else {
    comparison.started = kept.lines.front().value("started", comparison.started);
  }
  for (ComparedGraph& graph : graphs) {
    if (std::any_of(comparison.graphs.begin(), comparison.graphs.end(),
                    [&](const ComparedGraph& known) { return known.path == graph.path; })) {
      continue;
    }
    const std::string stem = graph.name;
    for (int i = 2; comparison.Find(graph.name) != nullptr; ++i) graph.name = fmt::format("{}-{}", stem, i);
    Json line = ToJson(graph);
    line["kind"] = "graph";
    journal.Append(line);
    comparison.graphs.push_back(graph);
  }
  for (const ComparedParts& now : parts) {
    if (std::any_of(comparison.parts.begin(), comparison.parts.end(),
                    [&](const ComparedParts& known) { return known.name == now.name; })) {
      continue;
    }
    Json line = ToJson(now);
    line["kind"] = "parts";
    journal.Append(line);
    comparison.parts.push_back(now);
  }
  for (const ComparedGraph& graph : comparison.graphs) {
    // Graphs of an earlier call that this one does not name keep what they have.
    if (std::none_of(graphs.begin(), graphs.end(), [&](const ComparedGraph& g) { return g.path == graph.path; })) continue;
    plan.graphs.push_back(graph.name);
    for (const Combination& combination : CombinationsOn(plan, graph.name)) {
      if (FindMeasurement(comparison, combination) != nullptr) continue;
      comparison.measurements.emplace_back();
      comparison.measurements.back().combination = combination;
    }
  }

  CompareStop stop(options.budget_s);
  stop.Begin();
  CompareEnd end;
  try {
    end = Measure(registry, options, plan, journal, stop, comparison);
  } catch (const UsageError&) {  // before anything was measured: the folder can be used for what was meant
    if (kept.bytes == 0) {
      fs::remove(journal_path);
    } else {
      fs::resize_file(journal_path, kept.bytes);
    }
    throw;
  }
  if (!end.give_up) {
    comparison.costs = KnownCurves(plan.Devices(plan.most()), options.links, options.load.read.threads);
  }
  const auto place = [&](const Measurement& m) {
    return std::find_if(comparison.graphs.begin(), comparison.graphs.end(),
                        [&](const ComparedGraph& g) { return g.name == m.combination.graph; }) -
           comparison.graphs.begin();
  };
  std::stable_sort(comparison.measurements.begin(), comparison.measurements.end(),
                   [&](const Measurement& a, const Measurement& b) {
                     const Combination &x = a.combination, &y = b.combination;
                     return std::tuple(place(a), x.program, x.devices, x.partition, x.execution, x.comm) <
                            std::tuple(place(b), y.program, y.devices, y.partition, y.execution, y.comm);
                   });
  bool figure_failed = false;
  if (!options.figure.empty() && end.give_up) {
    comparison.notes.push_back(fmt::format("figure {} was not drawn; --resume goes on with it", options.figure));
  } else if (!options.figure.empty()) {
    const auto keep = [&](const FigurePoints& points) {
      Json line = ToJson(points);
      line["kind"] = "points";
      journal.Append(line);
    };
    try {
      MadeFigure made = MakeFigure(options.figure, options, plan, comparison, stop, keep);
      figure_failed = made.figure.failed > 0;
      end.give_up = made.give_up;
      comparison.figure = std::move(made.figure);
    } catch (const std::exception& error) {  // what was measured is kept
      figure_failed = true;
      comparison.notes.push_back(fmt::format("figure {} was not drawn: {}", options.figure, error.what()));
    }
  }
  stop.End();
  if (end.dropped > 0) {
    comparison.notes.push_back(
        fmt::format("{} combination{} measured by other costs than are known now; what depends on them is measured anew",
                    end.dropped, end.dropped == 1 ? " was" : "s were"));
  }
  const std::size_t missing = Count(comparison, Outcome::kNotReached);
  const std::size_t cut = static_cast<std::size_t>(
      std::count_if(comparison.measurements.begin(), comparison.measurements.end(),
                    [&](const Measurement& m) { return m.outcome == Outcome::kOk && m.trials_ms.size() < options.trials; }));
  if (stop.signal() != 0) {
    comparison.notes.push_back(comparison.measurements.empty()
                                   ? fmt::format("ended by {}; --resume goes on", SignalName(stop.signal()))
                                   : fmt::format("ended by {}: {} combinations were not reached; --resume goes on",
                                                 SignalName(stop.signal()), missing));
  } else if (!comparison.measurements.empty() && (end.out_of_time || missing > 0 || cut > 0)) {
    if (options.budget_s > 0) {
      comparison.notes.push_back(
          fmt::format("the budget of {} s ended it: {} combinations were not reached and {} have fewer than {} trials; "
                      "--resume goes on",
                      options.budget_s, missing, cut, options.trials));
    }
  }
  if (end.give_up) {
    comparison.notes.emplace_back(
        "a GPU did not answer within --timeout, and nothing after it was measured; --resume goes on without that "
        "combination");
  }

  WriteFile(in_folder("results.csv"), ResultsCsv(comparison));
  WriteJson(in_folder("results.json"), ToJson(comparison));
  WriteFile(in_folder("index.html"), ComparisonPage(comparison));
  if (comparison.figure) WriteFile(in_folder(comparison.figure->name + ".csv"), FigureCsv(*comparison.figure));
  // Figures that earlier calls drew from the measurements go with them; of a first call a file of that name is not ours.
  for (const std::string_view name : FigureNames()) {
    const std::string csv = in_folder(fmt::format("{}.csv", name));
    if (kept.lines.empty() || !FigureNeedsGraphs(name) || (comparison.figure && comparison.figure->name == name) ||
        !fs::exists(csv))
      continue;
    WriteFile(csv, FigureCsv(MakeFigure(name, options, plan, comparison, stop, [](const FigurePoints&) {}).figure));
  }
  PrintReport(Summary(comparison, options.out));
  int code = kSuccess;
  for (const Measurement& m : comparison.measurements) {
    if (m.outcome == Outcome::kWrong) {
      ReportWrongAnswer(fmt::format("{}: {}", Describe(m.combination), m.reason));
      code = kWrongAnswer;
    }
  }
  if (code == kSuccess && Count(comparison, Outcome::kFailed) > 0) {
    PrintError(fmt::format("chatty: error: {} of {} combinations failed; {} says why\n", Count(comparison, Outcome::kFailed),
                           comparison.measurements.size(), in_folder("results.csv")));
    code = kRunFailed;
  }
  if (figure_failed) {
    PrintError(fmt::format("chatty: error: not all of figure {} could be measured; {} says why\n", options.figure,
                           in_folder("results.json")));
    if (code == kSuccess) code = kRunFailed;
  }
  if (end.give_up) EndAtOnce(code == kSuccess ? kRunFailed : code);
  return stop.signal() != 0 ? -stop.signal() : code;
}

}  // namespace chatty::cli
