#include "chatty/cli/compare/data.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <tuple>

#include "chatty/cli/text.h"
#include "chatty/cli/times.h"

namespace chatty::cli {
namespace {

constexpr std::uint64_t kJudgedBytes = std::uint64_t{64} << 10;
constexpr double kTolerance = 0.25;
constexpr std::size_t kTrialsOfAnInterval = 6;  // fewer cover less than kMedianCoverage
constexpr double kMaxTrials = 1e6;              // that --trials takes

Json Rounded(const std::vector<double>& times) {
  Json json = Json::array();
  for (const double ms : times) json.push_back(RoundedMs(ms));
  return json;
}

Json IntervalJson(const Interval& interval) { return Json::array({RoundedMs(interval.low), RoundedMs(interval.high)}); }

bool KnownWell(const Spread& spread) {
  return spread.trials >= kFewestTrials && spread.interval.half_width() <= kKnownWell * spread.median;
}

/// Only answers that were checked count.
bool Usable(const Measurement& m) {
  return m.outcome == Outcome::kOk && !m.trials_ms.empty() && m.verdict && m.verdict->passed;
}

/// Measurements that differ in nothing but one choice: the path, or the engine.
struct Case {
  const Measurement* chosen = nullptr;    // auto
  std::vector<const Measurement*> fixed;  // the others
};

/// Of the combinations on `least` devices or more, those that differ in the member `choice` alone, where one has auto and
/// another one has not.
std::vector<Case> CasesOf(const Comparison& comparison, std::string Combination::*choice, std::uint32_t least) {
  using Key = std::tuple<std::string, std::string, std::uint32_t, std::string, std::string, std::string>;
  std::map<Key, Case> cases;
  for (const Measurement& m : comparison.measurements) {
    Combination c = m.combination;
    if (c.devices < least || !Usable(m)) continue;
    const bool chosen = c.*choice == "auto";
    if (!chosen && (c.*choice).starts_with("auto:")) continue;  // auto with a setting is neither
    (c.*choice).clear();
    Case& found = cases[{c.graph, c.program, c.devices, c.execution, c.partition, c.comm}];
    if (chosen) {
      found.chosen = &m;
    } else {
      found.fixed.push_back(&m);
    }
  }
  std::vector<Case> whole;
  for (auto& [key, found] : cases) {
    if (found.chosen != nullptr && !found.fixed.empty()) whole.push_back(std::move(found));
  }
  return whole;
}

std::vector<Case> PathCases(const Comparison& comparison) { return CasesOf(comparison, &Combination::comm, 2); }

std::vector<Regret> RegretsOf(const std::vector<Case>& cases, std::string Combination::*choice) {
  std::vector<Regret> regrets;
  for (const Case& found : cases) {
    const auto median = [](const Measurement* m) { return SpreadOf(m->trials_ms).median; };
    const Measurement* best =
        *std::min_element(found.fixed.begin(), found.fixed.end(),
                          [&](const Measurement* a, const Measurement* b) { return median(a) < median(b); });
    Regret regret;
    regret.chosen = found.chosen->combination;
    regret.chosen_ms = SpreadOf(found.chosen->trials_ms);
    if (found.chosen->profiled) regret.engine = found.chosen->statistics.execution;
    regret.best = best->combination.*choice;
    regret.best_ms = SpreadOf(best->trials_ms);
    regret.standing = StandingOf(regret.chosen_ms, regret.best_ms);
    if (regret.standing == Standing::kSlower && regret.best_ms.median > 0) {
      regret.regret = regret.chosen_ms.median / regret.best_ms.median - 1;
    }
    if (regret.standing == Standing::kUnclear) {
      for (const Measurement* m : {found.chosen, best}) {
        const std::size_t trials = m->trials_ms.size();
        regret.more_trials = std::max(regret.more_trials, TrialsToKnowWell(SpreadOf(m->trials_ms), trials) - trials);
      }
    }
    regrets.push_back(std::move(regret));
  }
  return regrets;
}

/// `choice`: what the cases' `auto` stands for, and so what a case need not name.
Json RegretJson(std::span<const Regret> regrets, std::string_view choice) {
  const RegretSummary summary = Summarise(regrets);
  Json cases = Json::array();
  for (const Regret& regret : regrets) {
    Json one = ToJson(regret.chosen);
    one.erase(std::string(choice));
    if (choice == "execution") one["took"] = regret.engine;
    one["auto_ms"] = RoundedMs(regret.chosen_ms.median);
    one["auto_interval_ms"] = IntervalJson(regret.chosen_ms.interval);
    one["best"] = regret.best;
    one["best_ms"] = RoundedMs(regret.best_ms.median);
    one["best_interval_ms"] = IntervalJson(regret.best_ms.interval);
    one["verdict"] = StandingName(regret.standing);
    one["regret"] = RoundedMs(regret.regret);
    if (regret.more_trials > 0) one["more_trials"] = regret.more_trials;
    cases.push_back(std::move(one));
  }
  return {{"median", RoundedMs(summary.median)},
          {"worst", RoundedMs(summary.worst)},
          {"same", summary.same},
          {"faster", summary.faster},
          {"slower", summary.slower},
          {"unclear", summary.unclear},
          {"cases", std::move(cases)}};
}

}  // namespace

std::string Strategy(const Combination& c) {
  if (c.devices == 1) return c.execution;
  return fmt::format("{}, {}, {}", c.execution, c.comm, c.partition);
}

std::string Describe(const Combination& c) {
  return fmt::format("{} on {}, {} device{}, {}", c.program, c.graph, c.devices, c.devices == 1 ? "" : "s", Strategy(c));
}

std::string_view OutcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kNotReached:
      return "not reached";
    case Outcome::kOk:
      return "ok";
    case Outcome::kWrong:
      return "wrong";
    case Outcome::kFailed:
      return "failed";
    case Outcome::kNotApplicable:
      return "not applicable";
  }
  return "";
}

BufferSummary SummariseBuffers(std::span<const BufferRecord> buffers, std::size_t samples) {
  BufferSummary summary;
  std::map<std::pair<std::string_view, std::string_view>, PathBuffers> paths;
  std::vector<const BufferRecord*> known;
  for (const BufferRecord& buffer : buffers) {
    PathBuffers& path = paths[{buffer.path, buffer.encoding}];
    ++path.buffers;
    path.bytes += buffer.bytes;
    const auto bin = static_cast<std::size_t>(buffer.bytes == 0 ? 0 : std::bit_width(buffer.bytes) - 1);
    if (path.histogram.size() <= bin) path.histogram.resize(bin + 1);
    ++path.histogram[bin];
    if (buffer.measured_us < 0 || !std::isfinite(buffer.predicted_us)) continue;
    known.push_back(&buffer);
    if (buffer.bytes > kJudgedBytes) {
      ++summary.judged;
      if (std::abs(buffer.predicted_us - buffer.measured_us) <= kTolerance * buffer.measured_us) ++summary.within;
    }
  }
  for (auto& [key, path] : paths) {
    path.path = key.first;
    path.encoding = key.second;
    summary.paths.push_back(std::move(path));
  }
  const std::size_t kept = std::min(samples, known.size());
  for (std::size_t i = 0; i < kept; ++i) {
    const BufferRecord& buffer = *known[i * known.size() / kept];
    summary.samples.push_back({std::string(buffer.path), buffer.bytes, buffer.predicted_us, buffer.measured_us});
  }
  return summary;
}

Spread SpreadOf(std::vector<double> times) {
  if (times.empty()) return {};
  const auto [min, max] = std::minmax_element(times.begin(), times.end());
  return {Median(times), *min, *max, MedianInterval(times), times.size()};
}

const ComparedGraph* Comparison::Find(std::string_view graph) const {
  const auto found = std::find_if(graphs.begin(), graphs.end(), [&](const ComparedGraph& g) { return g.name == graph; });
  return found == graphs.end() ? nullptr : &*found;
}

// --------------------------------------------------------------------- JSON ----

Json ToJson(const Combination& c) {
  return {{"graph", c.graph}, {"program", c.program},     {"devices", c.devices},
          {"comm", c.comm},   {"execution", c.execution}, {"partition", c.partition}};
}

Combination CombinationFrom(const Json& json) {
  Combination c;
  c.graph = json.at("graph");
  c.program = json.at("program");
  c.devices = json.at("devices");
  c.comm = json.at("comm");
  c.execution = json.at("execution");
  c.partition = json.at("partition");
  return c;
}

Json ToJson(const RunStatistics& statistics) {
  Json json{{"execution", statistics.execution}, {"transport", statistics.transport}};
  json.update(StatisticsJson(statistics));
  json["ended"] = EndedName(statistics.ended);
  return json;
}

RunStatistics StatisticsFrom(const Json& json) {
  RunStatistics s;
  s.execution = json.at("execution");
  s.transport = json.at("transport");
  s.rounds = json.at("rounds");
  s.phases = json.at("phases");
  s.push_rounds = json.at("push_rounds");
  s.pull_rounds = json.at("pull_rounds");
  s.gauss_seidel_rounds = json.value("gauss_seidel_rounds", 0u);
  s.fused_steps = json.value("fused_steps", 0u);
  s.wide_rounds = json.value("wide_rounds", 0u);
  s.edges_touched = json.at("edges_touched");
  s.vertices_updated = json.at("vertices_updated");
  s.items = json.value("items", std::uint64_t{0});
  for (const Ended ended : {Ended::kConverged, Ended::kLimit, Ended::kMaxRounds, Ended::kStopped, Ended::kFailed}) {
    if (json.at("ended") == EndedName(ended)) s.ended = ended;
  }
  s.converged = s.ended == Ended::kConverged;
  for (const Json& device : json.at("devices")) {
    s.devices.push_back({device.at("device"), device.at("vertices"), device.at("compute_ms"), device.at("communication_ms"),
                         device.at("waiting_ms")});
  }
  for (const Json& pair : json.at("pairs")) {
    s.pairs.push_back({pair.at("from"), pair.at("to"), pair.at("messages_before"), pair.at("messages"), pair.at("bytes")});
  }
  return s;
}

Json ToJson(const BufferSummary& buffers) {
  Json json{{"judged", buffers.judged}, {"within_25_percent", buffers.within}, {"paths", Json::array()}};
  for (const PathBuffers& path : buffers.paths) {
    json["paths"].push_back({{"path", path.path},
                             {"encoding", path.encoding},
                             {"buffers", path.buffers},
                             {"bytes", path.bytes},
                             {"log2_histogram", path.histogram}});
  }
  json["samples"] = Json::array();
  for (const BufferSample& sample : buffers.samples) {
    json["samples"].push_back({{"path", sample.path},
                               {"bytes", sample.bytes},
                               {"predicted_us", RoundedMs(sample.predicted_us)},
                               {"measured_us", RoundedMs(sample.measured_us)}});
  }
  return json;
}

BufferSummary BuffersFrom(const Json& json) {
  BufferSummary buffers;
  buffers.judged = json.at("judged");
  buffers.within = json.at("within_25_percent");
  for (const Json& path : json.at("paths")) {
    buffers.paths.push_back({path.at("path"), path.at("encoding"), path.at("buffers"), path.at("bytes"),
                             path.at("log2_histogram").get<std::vector<std::uint64_t>>()});
  }
  for (const Json& sample : json.at("samples")) {
    buffers.samples.push_back({sample.at("path"), sample.at("bytes"), sample.at("predicted_us"), sample.at("measured_us")});
  }
  return buffers;
}

Json ToJson(const ComparedGraph& graph) {
  Json json{{"name", graph.name}, {"path", graph.path}, {"bytes", graph.bytes}, {"modified_ns", graph.modified_ns}};
  if (graph.loaded) {
    json["vertices"] = graph.vertices;
    json["edges"] = graph.edges;
    json["symmetric"] = graph.symmetric;
    json["weights"] = graph.weights;
  }
  return json;
}

ComparedGraph GraphFrom(const Json& json) {
  ComparedGraph graph;
  graph.name = json.at("name");
  graph.path = json.at("path");
  graph.bytes = json.at("bytes");
  graph.modified_ns = json.at("modified_ns");
  graph.loaded = json.contains("vertices");
  if (graph.loaded) {
    graph.vertices = json.at("vertices");
    graph.edges = json.at("edges");
    graph.symmetric = json.at("symmetric");
    graph.weights = json.at("weights");
  }
  return graph;
}

Json ToJson(const ComparedParts& parts) {
  return {{"name", parts.name}, {"path", parts.path}, {"bytes", parts.bytes}, {"modified_ns", parts.modified_ns}};
}

ComparedParts PartsFrom(const Json& json) {
  return {json.at("name"), json.at("path"), json.at("bytes"), json.at("modified_ns")};
}

Json ToJson(const Figure& figure) {
  Json json{{"name", figure.name},     {"title", figure.title}, {"x", figure.x_label},     {"y", figure.y_label},
            {"source", figure.source}, {"notes", figure.notes}, {"failed", figure.failed}, {"series", Json::array()}};
  for (const FigureSeries& series : figure.series) {
    Json points = Json::array();
    for (const auto& [x, y] : series.points) points.push_back({{"x", x}, {"y", y}});
    json["series"].push_back({{"name", series.name}, {"published", series.published}, {"points", std::move(points)}});
  }
  return json;
}

Json ToJson(const FigurePoints& points) {
  Json json{{"figure", points.figure}, {"devices", points.devices}, {"points", Json::array()}};
  for (const FigurePoints::Point& point : points.points) {
    json["points"].push_back({{"series", point.series}, {"x", point.x}, {"y", point.y}});
  }
  if (!points.failure.empty()) json["failure"] = points.failure;
  return json;
}

FigurePoints FigurePointsFrom(const Json& json) {
  FigurePoints points;
  points.figure = json.at("figure");
  points.devices = json.at("devices");
  for (const Json& point : json.at("points")) points.points.push_back({point.at("series"), point.at("x"), point.at("y")});
  points.failure = json.value("failure", "");
  return points;
}

Json ToJson(const Comparison& comparison) {
  Json json;
  json["schema"] = "chatty-compare-2";
  json["chatty"] = comparison.build;
  json["command"] = comparison.command_line;
  json["started"] = comparison.started;
  json["machine"] = comparison.machine;
  json["settings"] = comparison.settings;
  json["graphs"] = Json::array();
  for (const ComparedGraph& graph : comparison.graphs) json["graphs"].push_back(ToJson(graph));
  json["part_files"] = Json::array();
  for (const ComparedParts& parts : comparison.parts) json["part_files"].push_back(ToJson(parts));
  json["measurements"] = Json::array();
  for (const Measurement& m : comparison.measurements) {
    Json one = ToJson(m.combination);
    one["outcome"] = OutcomeName(m.outcome);
    if (!m.reason.empty()) one["reason"] = m.reason;
    if (!m.trials_ms.empty()) {
      const Spread spread = SpreadOf(m.trials_ms);
      one["time"] = {{"median_ms", RoundedMs(spread.median)},
                     {"min_ms", RoundedMs(spread.min)},
                     {"max_ms", RoundedMs(spread.max)},
                     {"interval_ms", IntervalJson(spread.interval)},
                     {"trials_ms", Rounded(m.trials_ms)}};
    }
    one["verification"] = m.verdict ? VerdictJson(*m.verdict) : Json(nullptr);
    if (m.profiled) one["statistics"] = ToJson(m.statistics);
    if (m.buffers) one["buffers"] = ToJson(*m.buffers);
    json["measurements"].push_back(std::move(one));
  }
  json["regret"] = RegretJson(Regrets(comparison), "comm");
  json["engine_regret"] = RegretJson(EngineRegrets(comparison), "execution");
  json["auto_against_fixed"] = Json::array();
  for (const AgainstFixed& fixed : AutoAgainstFixed(comparison)) {
    json["auto_against_fixed"].push_back(
        {{"comm", fixed.comm}, {"times_faster", RoundedMs(fixed.ratio)}, {"cases", fixed.cases}});
  }
  if (comparison.costs) {
    Json lines = Json::array(), crossings = Json::array();
    for (const CostLine& line : comparison.costs->lines) lines.push_back({{"path", line.path}, {"bytes_us", line.Points()}});
    for (const auto& crossing : comparison.costs->crossings) {
      crossings.push_back({{"bytes", crossing.bytes}, {"before", crossing.before}, {"after", crossing.after}});
    }
    json["costs"] = {{"measured", comparison.costs->measured},
                     {"pair", comparison.costs->pair},
                     {"lines", std::move(lines)},
                     {"crossovers", std::move(crossings)}};
  }
  json["figure"] = comparison.figure ? ToJson(*comparison.figure) : Json(nullptr);
  json["notes"] = comparison.notes;
  return json;
}

// ---------------------------------------------------------------------- CSV ----

std::string CsvField(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

std::string ResultsCsv(const Comparison& comparison) {
  std::string csv =
      "graph,vertices,edges,program,kind,devices,execution,comm,partition,links,outcome,trials,median_ms,min_ms,max_ms,"
      "trials_ms,speedup,rounds,messages,bytes,compute_ms,communication_ms,waiting_ms,verified,reason\n";
  for (const Measurement& m : comparison.measurements) {
    const Combination& c = m.combination;
    const ComparedGraph* graph = comparison.Find(c.graph);
    const bool known = graph != nullptr && graph->loaded;
    std::vector<std::string> fields{c.graph,
                                    known ? fmt::format("{}", graph->vertices) : "",
                                    known ? fmt::format("{}", graph->edges) : "",
                                    c.program,
                                    comparison.kind,
                                    fmt::format("{}", c.devices),
                                    c.execution,
                                    c.comm,
                                    c.partition,
                                    comparison.links,
                                    std::string(OutcomeName(m.outcome)),
                                    fmt::format("{}", m.trials_ms.size())};
    if (m.trials_ms.empty()) {
      fields.insert(fields.end(), 5, "");
    } else {
      const Spread spread = SpreadOf(m.trials_ms);
      for (const double ms : {spread.median, spread.min, spread.max}) fields.push_back(fmt::format("{}", RoundedMs(ms)));
      std::vector<double> rounded;
      std::transform(m.trials_ms.begin(), m.trials_ms.end(), std::back_inserter(rounded), RoundedMs);
      fields.push_back(fmt::format("{}", fmt::join(rounded, ";")));
      const std::optional<double> single = BestSingleMs(comparison, c.graph, c.program);
      fields.push_back(single && m.outcome == Outcome::kOk ? fmt::format("{:.6g}", *single / spread.median) : "");
    }
    if (!m.profiled) {
      fields.insert(fields.end(), 6, "");
    } else {
      std::uint64_t messages = 0, bytes = 0;
      for (const PairStatistics& pair : m.statistics.pairs) {
        messages += pair.messages;
        bytes += pair.bytes;
      }
      double compute = 0, communication = 0, waiting = 0;
      for (const DeviceStatistics& device : m.statistics.devices) {
        compute += device.compute_ms;
        communication += device.communication_ms;
        waiting += device.waiting_ms;
      }
      fields.push_back(fmt::format("{}", m.statistics.rounds));
      fields.push_back(fmt::format("{}", messages));
      fields.push_back(fmt::format("{}", bytes));
      for (const double ms : {compute, communication, waiting}) fields.push_back(fmt::format("{}", RoundedMs(ms)));
    }
    fields.emplace_back(m.verdict ? (m.verdict->passed ? "yes" : "no") : "");
    fields.push_back(m.reason);
    for (std::size_t i = 0; i < fields.size(); ++i) csv += (i == 0 ? "" : ",") + CsvField(fields[i]);
    csv += '\n';
  }
  return csv;
}

std::string FigureCsv(const Figure& figure) {
  std::string csv = fmt::format("figure,series,published,{},{}\n", CsvField(figure.x_label), CsvField(figure.y_label));
  for (const FigureSeries& series : figure.series) {
    for (const auto& [x, y] : series.points) {
      csv += fmt::format("{},{},{},{},{}\n", CsvField(figure.name), CsvField(series.name), series.published ? "yes" : "no",
                         CsvField(x), y);
    }
  }
  return csv;
}

// ----------------------------------------------------------------- findings ----

std::string_view StandingName(Standing standing) {
  switch (standing) {
    case Standing::kSame:
      return "same";
    case Standing::kFaster:
      return "faster";
    case Standing::kSlower:
      return "slower";
    case Standing::kUnclear:
      return "unclear";
  }
  return "";
}

Standing StandingOf(const Spread& first, const Spread& second) {
  if (std::min(first.trials, second.trials) < kFewestTrials) return Standing::kUnclear;
  const auto [less, greater] = std::minmax(first.median, second.median);
  if (Disjoint(first.interval, second.interval) && greater > (1 + kMinDifference) * less) {
    return first.median < second.median ? Standing::kFaster : Standing::kSlower;
  }
  return KnownWell(first) && KnownWell(second) ? Standing::kSame : Standing::kUnclear;
}

std::size_t TrialsToKnowWell(const Spread& spread, std::size_t trials) {
  if (KnownWell(spread) || spread.median <= 0) return trials;
  const double times = spread.interval.half_width() / spread.median / kKnownWell;  // too wide
  const double most = std::min(std::ceil(static_cast<double>(trials) * times * times), kMaxTrials);
  return std::max({static_cast<std::size_t>(most), trials + 1, kTrialsOfAnInterval});
}

std::vector<Regret> Regrets(const Comparison& comparison) { return RegretsOf(PathCases(comparison), &Combination::comm); }

std::vector<Regret> EngineRegrets(const Comparison& comparison) {
  return RegretsOf(CasesOf(comparison, &Combination::execution, 1), &Combination::execution);
}

RegretSummary Summarise(std::span<const Regret> regrets) {
  RegretSummary summary;
  std::vector<double> values;
  for (const Regret& regret : regrets) {
    switch (regret.standing) {
      case Standing::kSame:
        ++summary.same;
        break;
      case Standing::kFaster:
        ++summary.faster;
        break;
      case Standing::kSlower:
        ++summary.slower;
        break;
      case Standing::kUnclear:
        ++summary.unclear;
        continue;
    }
    values.push_back(regret.regret);
  }
  if (values.empty()) return summary;
  summary.median = Median(values);
  summary.worst = *std::max_element(values.begin(), values.end());
  return summary;
}

std::string DescribeRegret(const RegretSummary& summary) {
  const auto percent = [](double part) { return part > 0 ? fmt::format("{:.1f} %", 100 * part) : "none"; };
  const auto cases = [](std::size_t count) { return fmt::format("{} case{}", count, count == 1 ? "" : "s"); };
  if (summary.clear() == 0) return fmt::format("unclear in {}", cases(summary.unclear));
  std::string text = summary.slower == 0 ? fmt::format("none in {}", cases(summary.clear()))
                                         : fmt::format("{} in the median of {}, {} at worst", percent(summary.median),
                                                       summary.clear(), percent(summary.worst));
  if (summary.unclear > 0) text += fmt::format(", {} unclear", summary.unclear);
  return text;
}

std::vector<AgainstFixed> AutoAgainstFixed(const Comparison& comparison) {
  std::map<std::string, std::pair<double, std::size_t>> sums;  // of logarithms
  for (const Case& found : PathCases(comparison)) {
    const double chosen = SpreadOf(found.chosen->trials_ms).median;
    for (const Measurement* m : found.fixed) {
      const double fixed = SpreadOf(m->trials_ms).median;
      if (chosen <= 0 || fixed <= 0) continue;
      auto& [sum, cases] = sums[m->combination.comm];
      sum += std::log(fixed / chosen);
      ++cases;
    }
  }
  std::vector<AgainstFixed> against;
  against.reserve(sums.size());
  for (const auto& [comm, sum] : sums) {
    against.push_back({comm, std::exp(sum.first / static_cast<double>(sum.second)), sum.second});
  }
  return against;
}

std::optional<double> BestSingleMs(const Comparison& comparison, std::string_view graph, std::string_view program) {
  std::optional<double> best;
  for (const Measurement& m : comparison.measurements) {
    const Combination& c = m.combination;
    if (c.devices != 1 || c.graph != graph || c.program != program || !Usable(m)) continue;
    const double median = SpreadOf(m.trials_ms).median;
    if (!best || median < *best) best = median;
  }
  return best;
}

}  // namespace chatty::cli
