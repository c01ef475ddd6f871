#include "chatty/cli/compare/page.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "chatty/cli/compare/svg.h"
#include "chatty/comm/transport.h"
#include "chatty/core/version.h"

namespace chatty::cli {
namespace {

constexpr double kChartWidth = 360;  // of one chart; a phone shows it at its full size
constexpr std::size_t kColours = 10;
constexpr std::size_t kTones = 3;     // of a colour: series of figures beyond the tenth have the same in another tone
constexpr std::size_t kLetters = 60;  // that a chart has room for from edge to edge

constexpr std::string_view kPageStyle = R"css(
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1b1f24; --faint: #5c6670; --line: #d8dee4; --fill: #f4f6f8;
  --good: #1a7f37; --bad: #c62828; --heat: 42, 120, 214;
  --c0: #2a78d6; --c1: #eb6834; --c2: #1baf7a; --c3: #b87c00; --c4: #d65a8e; --c5: #4a3aa7; --c6: #008300; --c7: #b3403f; --c8: #0e7c86; --c9: #8a5a2b;
  --other: #8a949e; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #0f1419; --ink: #e6e9ec; --faint: #9aa4af; --line: #333d47; --fill: #1a2129;
    --good: #4ac26b; --bad: #ff7b72; --heat: 57, 135, 229;
    --c0: #4c97ee; --c1: #e8743f; --c2: #2fb98a; --c3: #d39a1c; --c4: #e0709f; --c5: #9d93f0; --c6: #46a846; --c7: #e66767; --c8: #3fb6c1; --c9: #c08a55;
    --other: #7d8893; }
}
* { buffer-sizing: border-buffer; }
body { background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 0 auto;
  padding: 1rem; overflow-wrap: break-word; }
h1 { font-size: 1.5rem; margin: .5rem 0; } h2 { font-size: 1.2rem; margin: 2.2rem 0 .3rem; }
h3 { font-size: .95rem; margin: .2rem 0 .2rem; font-weight: 600; }
p { margin: .3rem 0 .6rem; max-width: 46rem; } .read { color: var(--faint); } .missing { color: var(--faint); font-style: italic; }
figure { margin: 0; } .grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 21rem), 1fr)); gap: 1.4rem 1.6rem;
  align-items: start; }
.panel { min-width: 0; } svg { width: 100%; max-width: 30rem; height: auto; display: block; }
.one svg { max-width: 27rem; }
svg text { fill: var(--ink); font-size: 11px; } svg .e { text-anchor: end; } svg .m { text-anchor: middle; }
svg .f { fill: var(--faint); } svg .b { font-weight: 600; } svg .in { fill: #fff; font-size: 10px; }
svg .grid-line { stroke: var(--line); stroke-width: 1; } svg .axis { stroke: var(--faint); stroke-width: 1; }
svg .ideal { stroke: var(--faint); stroke-width: 1.2; stroke-dasharray: 2 4; fill: none; }
svg .band { fill: var(--c2); opacity: .14; stroke: none; }
svg .l { fill: none; stroke-width: 2; stroke-linejoin: round; } svg .dash { stroke-dasharray: 6 4; } svg .thick { stroke-width: 3.2; }
svg .range { stroke-width: 2; opacity: .45; } svg .median { stroke-width: 3; stroke-linecap: round; }
svg .dot { fill-opacity: .5; stroke: none; } svg .heat { stroke: var(--line); }
svg .t1 { stroke-dasharray: 1.5 3; } svg .t2 { stroke-dasharray: 9 3 2 3; }
svg rect.t0 { stroke: none; } svg rect.t1 { fill-opacity: .55; stroke: none; } svg rect.t2 { fill-opacity: .2; stroke-dasharray: none; }
svg rect.published { fill-opacity: .08; stroke-width: 1.5; stroke-dasharray: 4 2; }
svg .s0 { fill: var(--c0); } svg .s1 { fill: var(--c1); } svg .s2 { fill: var(--other); opacity: .55; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; font-size: .85rem; margin: .4rem 0 .8rem; padding: 0; list-style: none; }
.legend i { display: inline-block; width: 1rem; height: .7rem; border-radius: 2px; margin-right: .4rem; vertical-align: baseline; }
.legend i.stroke { height: 0; border-top: 3px solid var(--faint); vertical-align: middle; border-radius: 0; }
.legend i.dashed { border-top-style: dashed; }
.legend svg { display: inline-block; width: 1.6rem; height: .7rem; margin-right: .4rem; vertical-align: baseline; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .85rem; margin: .4rem 0 1rem; }
th, td { border-bottom: 1px solid var(--line); padding: .28rem .7rem .28rem 0; text-align: left; vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td .i { display: block; color: var(--faint); font-size: .75rem; } tr.unclear td { color: var(--faint); }
th { color: var(--faint); font-weight: 600; } .good { color: var(--good); } .bad { color: var(--bad); font-weight: 600; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; font-size: .9rem; margin: .4rem 0 1rem; }
dt { color: var(--faint); } dd { margin: 0; min-width: 0; } code { font-size: .85em; overflow-wrap: anywhere; }
dl.paths i { display: inline-block; width: 1rem; height: .7rem; border-radius: 2px; margin-right: .4rem; }
@media (max-width: 30rem) { dl { grid-template-columns: 1fr; } dd { margin-bottom: .4rem; } }
summary { cursor: pointer; } .tiles { display: flex; flex-wrap: wrap; gap: 1rem 2.4rem; margin: 1rem 0; }
.tiles b { display: block; font-size: 1.6rem; line-height: 1.2; } .tiles span { color: var(--faint); font-size: .85rem; }
)css";

/// The colour of each path, the same in all charts.
class Colours {
 public:
  explicit Colours(const Comparison& comparison) {
    std::set<std::string> names;
    for (const Measurement& m : comparison.measurements) {
      if (m.combination.devices > 1) names.insert(m.combination.comm);
      if (!m.buffers) continue;
      for (const PathBuffers& path : m.buffers->paths) names.insert(path.path);
    }
    if (comparison.costs) {
      for (const CostLine& line : comparison.costs->lines) names.insert(line.path);
    }
    names.erase("auto");
    names_.assign(names.begin(), names.end());
    names_.insert(names_.begin(), "auto");
  }

  std::string Of(std::string_view path) const {
    const auto found = std::find(names_.begin(), names_.end(), path);
    const auto at = static_cast<std::size_t>(found - names_.begin());
    return at < kColours ? fmt::format("var(--c{})", at) : "var(--other)";
  }
  /// The rules that classes `p-0`, `p-1`, … need.
  std::string Css() const {
    std::string css;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      css += fmt::format("svg .f{0} {{ fill: {1}; }} svg .k{0} {{ stroke: {1}; }}\n", i, Of(names_[i]));
    }
    return css + "svg .fn { fill: var(--other); } svg .kn { stroke: var(--other); }\n";
  }
  std::string Fill(std::string_view path) const { return "f" + Index(path); }
  std::string Stroke(std::string_view path) const { return "k" + Index(path); }
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::string Index(std::string_view path) const {
    const auto found = std::find(names_.begin(), names_.end(), path);
    return found == names_.end() ? "n" : fmt::format("{}", found - names_.begin());
  }
  std::vector<std::string> names_;
};

double MedianMs(const Measurement& m) { return SpreadOf(m.trials_ms).median; }

std::string Legend(const std::vector<std::pair<std::string, std::string>>& entries, bool engines) {
  if (entries.empty() && !engines) return "";
  std::string html = "<ul class=\"legend\">";
  for (const auto& [name, colour] : entries) {
    html += fmt::format("<li><i style=\"background:{}\"></i>{}</li>", colour, Html(name));
  }
  if (engines) {
    html += "<li><i class=\"stroke\"></i>bsp</li><li><i class=\"stroke dashed\"></i>async</li>";
  }
  return html + "</ul>\n";
}

/// One chart of the page: a heading, how to read it, what it shows.
std::string Chart(std::string_view id, std::string_view title, std::string_view reading, std::string_view body) {
  return fmt::format("<figure id=\"{}\">\n<h2>{}</h2>\n<p class=\"read\">{}</p>\n{}</figure>\n", id, Html(title),
                     Html(reading), body);
}

std::string Missing(std::string_view why) { return fmt::format("<p class=\"missing\">{}</p>\n", Html(why)); }

std::string Panels(const std::vector<std::pair<std::string, std::string>>& panels, std::string_view missing) {
  if (panels.empty()) return Missing(missing);
  std::string html = "<div class=\"grid\">\n";
  for (const auto& [title, body] : panels) {
    html += fmt::format("<div class=\"panel\"><h3>{}</h3>\n{}</div>\n", Html(title), body);
  }
  return html + "</div>\n";
}

/// Writes labels along a horizontal axis at `y` and the grid above it.
void HorizontalAxis(Svg& svg, const Scale& scale, double top, double y, std::string_view label, double right,
                    const std::function<std::string(double)>& text = TickText) {
  for (const double tick : scale.Ticks()) {
    const double x = scale(tick);
    svg.Line(x, top, x, y, "grid-line");
    const bool at_edge = x > kChartWidth - 18;
    svg.Text(at_edge ? kChartWidth : x, y + 14, at_edge ? "e f" : "m f", text(tick));
  }
  svg.Text(right, y + 27, "e f", label);
}

void VerticalAxis(Svg& svg, const Scale& scale, double left, double right, std::string_view label,
                  const std::function<std::string(double)>& text = TickText) {
  for (const double tick : scale.Ticks()) {
    const double y = scale(tick);
    svg.Line(left, y, right, y, "grid-line");
    svg.Text(left - 5, y + 4, "e f", text(tick));
  }
  svg.Text(2, 11, "f", label);
}

class Page {
 public:
  explicit Page(const Comparison& comparison) : all_(comparison), colours_(comparison) {
    std::set<std::string> partitions;
    for (const Measurement& m : all_.measurements) {
      const std::pair<std::string, std::string> key{m.combination.graph, m.combination.program};
      if (std::find(cases_.begin(), cases_.end(), key) == cases_.end()) cases_.push_back(key);
      if (m.combination.devices > 1) partitions.insert(m.combination.partition);
    }
    partitions_ = partitions.size() > 1;
    for (const std::string& partition : partitions) ++files_[FileName(partition)];
  }

  std::string Make() const {
    std::string html = fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>{}</title>\n"
        "<style>{}{}</style>\n</head>\n<body>\n",
        Html(Title()), kPageStyle, colours_.Css());
    html += Head();
    if (all_.figure) html += PaperFigure(*all_.figure);
    if (!all_.measurements.empty()) {
      html += Times() + Scaling() + RegretTable() + Shares() + Pairs() + Sizes() + Model() + Crossovers();
      html += Troubles() + Everything();
    }
    return html + Foot() + "</body>\n</html>\n";
  }

 private:
  using Selection = std::vector<const Measurement*>;

  std::string Title() const {
    std::vector<std::string> names;
    for (const ComparedGraph& graph : all_.graphs) names.push_back(graph.name);
    if (names.empty()) return all_.figure ? all_.figure->title : "Strategies compared";
    return fmt::format("Strategies compared on {}", fmt::join(names, ", "));
  }

  Selection Of(const std::pair<std::string, std::string>& key) const {
    Selection selection;
    for (const Measurement& m : all_.measurements) {
      if (m.combination.graph == key.first && m.combination.program == key.second) selection.push_back(&m);
    }
    return selection;
  }

  /// What stands for a graph and program where one run has to: on the most devices that were measured, `auto`, else the
  /// fastest.
  const Measurement* Chosen(const std::pair<std::string, std::string>& key) const {
    const Measurement* best = nullptr;
    const auto rank = [](const Measurement& m) {
      return std::tuple(-static_cast<int>(m.combination.devices), m.combination.comm != "auto", MedianMs(m));
    };
    for (const Measurement* m : Of(key)) {
      if (!m->good() || m->combination.devices < 2 || !m->profiled) continue;
      if (best == nullptr || rank(*m) < rank(*best)) best = m;
    }
    return best;
  }

  /// A strategy in a chart's margin.
  std::string Label(const Combination& c) const {
    if (c.devices == 1) return c.execution;
    if (!partitions_) return fmt::format("{} {}", c.execution, c.comm);
    // A part file goes by its own name, unless another in another folder has it, too.
    const std::string file = FileName(c.partition);
    return fmt::format("{} {} {}", c.execution, c.comm, files_.at(file) > 1 ? c.partition : file);
  }
  static std::string FileName(const std::string& partition) {
    const std::size_t folder = partition.rfind('/');
    return partition.substr(folder == std::string::npos ? 0 : folder + 1);
  }
  static std::string Name(const std::pair<std::string, std::string>& key) {
    return fmt::format("{} on {}", key.second, key.first);
  }
  std::vector<std::pair<std::string, std::string>> PathLegend() const {
    std::vector<std::pair<std::string, std::string>> entries;
    for (const std::string& name : colours_.names()) {
      const bool there = std::any_of(all_.measurements.begin(), all_.measurements.end(), [&](const Measurement& m) {
        return m.combination.devices > 1 && m.combination.comm == name;
      });
      if (there) entries.emplace_back(name, colours_.Of(name));
    }
    return entries;
  }

  // -------------------------------------------------------------------- text ----

  std::string Head() const {
    std::string html = fmt::format("<h1>{}</h1>\n", Html(Title()));
    if (!all_.measurements.empty()) {
      html +=
          "<p>A graph is divided among devices: GPUs, or groups of CPU threads. They run a program together and tell each "
          "other what changed. A <em>strategy</em> is the engine that drives them (<em>bsp</em>: in rounds, all at once; "
          "<em>async</em>: each at its own pace), the communication path between them, and how the graph was divided. With "
          "the path <em>auto</em> the program chooses for itself. All times are of the run alone, and every answer behind "
          "them was verified.</p>\n";
      const auto count = [&](Outcome outcome) {
        return std::count_if(all_.measurements.begin(), all_.measurements.end(),
                             [&](const Measurement& m) { return m.outcome == outcome; });
      };
      html += "<div class=\"tiles\">";
      html += fmt::format("<div><b>{}</b><span>combinations measured and verified</span></div>", count(Outcome::kOk));
      const std::vector<Regret> regrets = Regrets(all_);
      if (!regrets.empty()) {
        const RegretSummary summary = Summarise(regrets);
        if (summary.clear() > 0) {
          html += fmt::format(
              "<div><b>{:.1f} %</b><span>regret of auto against the best fixed path, median</span></div>"
              "<div><b>{:.1f} %</b><span>the same at worst</span></div>",
              100 * summary.median, 100 * summary.worst);
        }
        if (summary.unclear > 0) {
          html += fmt::format("<div><b>{}</b><span>cases of auto unclear: too few trials</span></div>", summary.unclear);
        }
      }
      for (const Outcome outcome : {Outcome::kWrong, Outcome::kFailed, Outcome::kNotReached}) {
        if (count(outcome) > 0) {
          html += fmt::format("<div><b class=\"{}\">{}</b><span>{}</span></div>",
                              outcome == Outcome::kNotReached ? "" : "bad", count(outcome), OutcomeName(outcome));
        }
      }
      html += "</div>\n";
    }
    html += "<dl>\n";
    const auto row = [&](std::string_view name, std::string_view text) {
      html += fmt::format("<dt>{}</dt><dd>{}</dd>\n", Html(name), text);
    };
    row("Machine", Html(Machine()));
    row("Links", Html(all_.links));
    for (const ComparedGraph& graph : all_.graphs) {
      row("Graph", Html(graph.loaded ? fmt::format("{}: {} vertices, {} edges, {}", graph.name, Grouped(graph.vertices),
                                                   Grouped(graph.edges), graph.symmetric ? "symmetric" : "directed")
                                     : graph.name + ": not read"));
    }
    if (all_.kind == "host") {
      row("Devices",
          "groups of CPU threads. Host devices share the machine&#39;s cores and its memory: two have half of the threads "
          "each, so that more of them show what dividing costs, not what more hardware gives");
    }
    row("Command", fmt::format("<code>{}</code>", Html(all_.command_line)));
    row("Begun", Html(all_.started));
    for (const std::string& note : all_.notes) row("Note", Html(note));
    return html + "</dl>\n" + Paths();
  }

  /// What each colour stands for, in a line each.
  std::string Paths() const {
    if (all_.measurements.empty()) return "";
    std::string html =
        "<h2 id=\"paths\">Paths and colours</h2>\n<p class=\"read\">A colour is a path, the same in all charts of paths; "
        "other charts have legends of their own. In matrices the stronger blue is more. Of lines, solid is bsp and dashed "
        "is "
        "async.</p>\n<dl class=\"paths\">\n";
    const auto row = [&](std::string_view name, std::string_view colour, std::string_view says) {
      html += fmt::format("<dt><i style=\"background:{}\"></i>{}</dt><dd>{}</dd>\n", colour, Html(name), Html(says));
    };
    for (const std::string& name : colours_.names()) row(name, colours_.Of(name), PathSays(name));
    row("one device", "var(--other)", "no path: nothing is sent");
    return html + "</dl>\n";
  }

  static std::string PathSays(std::string_view path) {
    if (path == "auto") return "the program chooses, message by message, by what each path is known to cost";
    if (path == "chattygraph") return "as ChattyGraph was published: what neighbours see is told to all at once";
    const TransportInfo* const info = FindTransport(path);
    return std::string(info != nullptr ? info->description : "named by the command; this build does not have it alone");
  }

  std::string Machine() const {
    if (!all_.machine.is_object()) return "unknown";
    std::string text = fmt::format("{}, {} threads", all_.machine.value("processor", "unknown processor"),
                                   all_.machine.value("threads", 0));
    const Json topology = all_.machine.value("topology", Json());
    if (all_.kind != "cuda" || !topology.is_object() || !topology.contains("devices")) return text;
    std::map<std::string, std::map<std::string, int>> gpus;  // by name and bus id: how many devices stand on each
    const Json& devices = topology.at("devices");
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const Json id = devices[i].value("pci_bus_id", Json());
      ++gpus[devices[i].value("name", "GPU")][id.is_string() ? id.get<std::string>() : fmt::format("{}", i)];
    }
    for (const auto& [name, of_name] : gpus) {
      text += fmt::format(", {} × {}", of_name.size(), name);
      for (const auto& [id, number] : of_name) {
        if (number > 1) text += fmt::format(", one shared by {} devices", number);
      }
    }
    return text;
  }

  static std::string Foot() {
    return fmt::format(
        "<p class=\"read\">Made by chatty {} ({}). The numbers behind it are in results.csv and results.json beside this "
        "page.</p>\n",
        Html(Version()), Html(GitCommit().substr(0, 12)));
  }

  // ------------------------------------------------------------------ charts ----

  std::string Times() const {
    std::vector<std::pair<std::string, std::string>> panels;
    for (const auto& key : cases_) {
      Selection rows;
      for (const Measurement* m : Of(key)) {
        if (!m->trials_ms.empty()) rows.push_back(m);
      }
      if (rows.empty()) continue;
      std::stable_sort(rows.begin(), rows.end(), [](const Measurement* a, const Measurement* b) {
        return std::pair(a->combination.devices, MedianMs(*a)) < std::pair(b->combination.devices, MedianMs(*b));
      });
      panels.emplace_back(Name(key), TimePanel(key, rows));
    }
    return Chart(
        "time", "Time of each strategy",
        "One line a strategy, the fastest first for each number of devices: dots are trials, the bar is their median, "
        "further left is faster.",
        Legend(PathLegend(), false) + Panels(panels, "Nothing was measured."));
  }

  std::string TimePanel(const std::pair<std::string, std::string>& key, const Selection& rows) const {
    constexpr double kLeft = 124, kRight = 296, kRow = 16;
    double low = rows.front()->trials_ms.front(), high = low;
    std::set<std::uint32_t> counts;
    for (const Measurement* m : rows) {
      const Spread spread = SpreadOf(m->trials_ms);
      low = std::min(low, spread.min);
      high = std::max(high, spread.max);
      counts.insert(m->combination.devices);
    }
    const std::size_t room = 20;  // letters before the plot
    const double height = kRow * static_cast<double>(rows.size() + counts.size()) + 40;
    Svg svg(kChartWidth, height, "Time of each strategy, " + Name(key));
    const bool log = high > 12 * low;
    const Scale x = log ? Scale::Log(low, high, kLeft, kRight) : Scale::Linear(0, high, kLeft, kRight);
    HorizontalAxis(svg, x, 4, height - 34, log ? "ms, each line ten times the one before" : "ms", kChartWidth);
    double y = 0;
    std::uint32_t devices = 0;
    for (const Measurement* m : rows) {
      const Combination& c = m->combination;
      if (c.devices != devices) {
        devices = c.devices;
        y += kRow;
        svg.Text(0, y - 3, "b", fmt::format("{} device{}", devices, devices == 1 ? "" : "s"));
      }
      y += kRow;
      const double middle = y - 7;
      const Spread spread = SpreadOf(m->trials_ms);
      const std::string path = c.devices == 1 ? std::string("-") : c.comm;
      const std::string label = Fitted(Label(c), room);
      svg.Text(kLeft - 8, middle + 4, m->outcome == Outcome::kWrong ? "e f" : c.comm == "auto" ? "e b" : "e", label);
      const std::string told = fmt::format("{}: median {}, {} to {}, {} trials", Strategy(c), FormatMs(spread.median),
                                           FormatMs(spread.min), FormatMs(spread.max), m->trials_ms.size());
      svg.Line(x(spread.min), middle, x(spread.max), middle, "range " + colours_.Stroke(path));
      for (const double ms : m->trials_ms) svg.Dot(x(ms), middle, 3, "dot " + colours_.Fill(path), told);
      svg.Line(x(spread.median), middle - 5, x(spread.median), middle + 5, "median " + colours_.Stroke(path));
      svg.Text(kChartWidth, middle + 4, "e", m->outcome == Outcome::kWrong ? "WRONG" : FormatMs(spread.median));
    }
    return svg.Finish();
  }

  std::string Scaling() const {
    std::vector<std::pair<std::string, std::string>> panels;
    for (const auto& key : cases_) {
      const std::optional<double> single = BestSingleMs(all_, key.first, key.second);
      if (!single) continue;
      std::set<std::uint32_t> counts;
      std::map<std::tuple<std::string, std::string, std::string>, std::map<std::uint32_t, double>> lines;
      double most = 1;
      for (const Measurement* m : Of(key)) {
        if (!m->good()) continue;
        const Combination& c = m->combination;
        counts.insert(c.devices);
        if (c.devices == 1) continue;
        const double speedup = *single / MedianMs(*m);
        lines[{c.comm, c.execution, c.partition}][c.devices] = speedup;
        most = std::max(most, speedup);
      }
      if (counts.size() < 2 || lines.empty()) continue;
      panels.emplace_back(Name(key), ScalingPanel(key, counts, lines, most, *single));
    }
    return Chart("scaling", "Strong scaling",
                 "How many times faster than the best time of the same program on one device: on the dotted line twice the "
                 "devices take half the time; below 1 the further devices only cost.",
                 Legend(PathLegend(), true) + Panels(panels, "It takes times on one device and on more."));
  }

  std::string ScalingPanel(
      const std::pair<std::string, std::string>& key, const std::set<std::uint32_t>& counts,
      const std::map<std::tuple<std::string, std::string, std::string>, std::map<std::uint32_t, double>>& lines, double most,
      double single) const {
    constexpr double kLeft = 34, kRight = 346, kBottom = 190, kTop = 22;
    Svg svg(kChartWidth, kBottom + 34, "Strong scaling, " + Name(key));
    const double widest = std::log2(static_cast<double>(std::max<std::uint32_t>(*counts.rbegin(), 2)));
    const auto x = [&](std::uint32_t n) {
      return kLeft + 8 + (kRight - kLeft - 16) * std::log2(static_cast<double>(n)) / widest;
    };
    const Scale y = Scale::Linear(0, std::max(most, 1.2), kBottom, kTop);
    VerticalAxis(svg, y, kLeft, kRight, "times faster");
    for (const std::uint32_t n : counts) svg.Text(x(n), kBottom + 14, "m f", fmt::format("{}", n));
    svg.Text(kRight, kBottom + 28, "e f", "devices");
    svg.Line(kLeft, y(1), kRight, y(1), "axis");
    std::vector<std::pair<double, double>> ideal;
    for (double n = 1; n <= *counts.rbegin(); n *= 1.02) {
      if (y(n) <= kTop) break;
      ideal.emplace_back(kLeft + 8 + (kRight - kLeft - 16) * std::log2(n) / widest, y(n));
    }
    svg.Path(ideal, "ideal", "twice the devices, half the time");
    const auto draw = [&](bool chosen) {
      for (const auto& [strategy, points] : lines) {
        const auto& [comm, execution, partition] = strategy;
        if ((comm == "auto") != chosen) continue;
        std::vector<std::pair<double, double>> path{{x(1), y(1)}};
        for (const auto& [n, speedup] : points) path.emplace_back(x(n), y(speedup));
        std::string told = fmt::format("{}, {}{}:", execution, comm, partitions_ ? ", " + partition : "");
        for (const auto& [n, speedup] : points) told += fmt::format(" {:.2f} on {},", speedup, n);
        told.pop_back();
        svg.Path(path,
                 fmt::format("l {}{}{}", colours_.Stroke(comm), execution == "async" ? " dash" : "", chosen ? " thick" : ""),
                 told);
        for (std::size_t i = 1; i < path.size(); ++i) svg.Dot(path[i].first, path[i].second, 3, colours_.Fill(comm), told);
      }
    };
    draw(false);
    draw(true);
    svg.Text(kRight, 11, "e f", fmt::format("1 is {}", FormatMs(single)));
    return svg.Finish();
  }

  std::string RegretTable() const {
    const std::vector<Regret> regrets = Regrets(all_);
    std::string body;
    if (regrets.empty()) {
      body = Missing("It takes verified times of auto and of another path on two devices or more.");
    } else {
      const RegretSummary summary = Summarise(regrets);
      body = fmt::format("<p>Regret of auto: <b>{}</b>. It is slower in {}, the same in {} and faster in {}.</p>\n",
                         DescribeRegret(summary), summary.slower, summary.same, summary.faster);
      if (summary.unclear > 0) {
        body +=
            "<p>Grey rows are unclear: the intervals overlap, and a median is known to no better than 5 %. They do not "
            "count. "
            "More trials, <code>--resume --trials N</code>, would decide most of them; their number is estimated from how "
            "wide "
            "the intervals are.</p>\n";
      }
      body +=
          "<div class=\"scroll\"><table><thead><tr><th>Graph</th><th>Program</th><th class=\"n\">Devices</th><th>Engine</th>"
          "<th>Partition</th><th class=\"n\">auto</th><th>Best fixed path</th><th class=\"n\">its time</th>"
          "<th>auto is</th><th class=\"n\">Regret</th></tr></thead><tbody>\n";
      const auto time = [](const Spread& spread) {
        return fmt::format("{}<span class=\"i\">{} to {}</span>", FormatMs(spread.median), FormatMs(spread.interval.low),
                           FormatMs(spread.interval.high));
      };
      for (const Regret& r : regrets) {
        const bool unclear = r.standing == Standing::kUnclear;
        body += fmt::format(
            "<tr{}><td>{}</td><td>{}</td><td class=\"n\">{}</td><td>{}</td><td>{}</td><td class=\"n\">{}</td><td>{}</td>"
            "<td class=\"n\">{}</td><td>{}</td><td class=\"n {}\">{}</td></tr>\n",
            unclear ? " class=\"unclear\"" : "", Html(r.chosen.graph), Html(r.chosen.program), r.chosen.devices,
            Html(r.chosen.execution), Html(r.chosen.partition), time(r.chosen_ms), Html(r.best), time(r.best_ms),
            StandingName(r.standing),
            unclear           ? ""
            : r.regret <= 0   ? "good"
            : r.regret > 0.15 ? "bad"
                              : "",
            unclear ? fmt::format("about {} more trial{}", r.more_trials, r.more_trials == 1 ? "" : "s")
                    : fmt::format("{:.1f} %", 100 * r.regret));
      }
      body += "</tbody></table></div>\n";
      body +=
          "<div class=\"scroll\"><table><thead><tr><th>Always this path</th><th class=\"n\">auto is faster by</th>"
          "<th class=\"n\">Cases</th></tr></thead><tbody>\n";
      for (const AgainstFixed& fixed : AutoAgainstFixed(all_)) {
        body += fmt::format("<tr><td>{}</td><td class=\"n\">{:.2f} times</td><td class=\"n\">{}</td></tr>\n",
                            Html(fixed.comm), fixed.ratio, fixed.cases);
      }
      body += "</tbody></table></div>\n";
    }
    return Chart(
        "regret", "What it costs to let the machine choose",
        "Regret is how much longer auto took than the best path that one could have named beforehand. It counts where the "
        "intervals of both medians, in small print, are apart and the medians differ by more than 3 %: elsewhere it is 0 %. "
        "The "
        "second table is a geometric mean over all cases.",
        body);
  }

  std::string Shares() const {
    std::vector<std::pair<std::string, std::string>> panels;
    for (const auto& key : cases_) {
      const Measurement* m = Chosen(key);
      if (m == nullptr) continue;
      constexpr double kLeft = 58, kRow = 24;
      const auto& devices = m->statistics.devices;
      Svg svg(kChartWidth, kRow * static_cast<double>(devices.size()) + 22, "Where devices spent their time, " + Name(key));
      double y = 2;
      for (const DeviceStatistics& device : devices) {
        const double parts[] = {device.compute_ms, device.communication_ms, device.waiting_ms};
        const double sum = parts[0] + parts[1] + parts[2];
        constexpr const char* kNames[] = {"compute", "communication", "waiting"};
        svg.Text(kLeft - 6, y + 14, "e", device.device);
        double x = kLeft;
        for (std::size_t i = 0; i < 3 && sum > 0; ++i) {
          const double share = parts[i] / sum, width = share * (kChartWidth - kLeft);
          const std::string percent = fmt::format("{:.0f} %", 100 * share);
          svg.Rect(x, y, std::max(width - 2, 0.0), kRow - 5, fmt::format("s{}", i),
                   fmt::format("{}: {} {}, {}", device.device, kNames[i], percent, FormatMs(parts[i])));
          if (share > 0.12) svg.Text(x + width / 2 - 1, y + 14, i == 2 ? "m" : "m in", percent);
          x += width;
        }
        y += kRow;
      }
      svg.Text(kChartWidth, y + 14, "e f", Fitted(Strategy(m->combination), kLetters));
      panels.emplace_back(Name(key), svg.Finish());
    }
    return Chart("shares", "Where devices spent their time",
                 "One bar a device, of the host thread that drives it: a long gray part means that the device waited for "
                 "others, because work was divided badly or there was too little of it.",
                 Legend({{"compute", "var(--c0)"}, {"communication", "var(--c1)"}, {"waiting", "var(--other)"}}, false) +
                     Panels(panels, "It takes a run on two devices or more."));
  }

  std::string Pairs() const {
    std::vector<std::pair<std::string, std::string>> panels;
    for (const auto& key : cases_) {
      const Measurement* m = Chosen(key);
      if (m == nullptr) continue;
      panels.emplace_back(Name(key), PairPanel(key, *m));
    }
    return Chart("pairs", "What devices told each other",
                 "From the row's device to the column's: bytes that travelled, and below them messages meant for that "
                 "device; darker is more. Where one buffer goes to all, a pair may have bytes but no messages.",
                 Panels(panels, "It takes a run on two devices or more."));
  }

  static std::string PairPanel(const std::pair<std::string, std::string>& key, const Measurement& m) {
    const auto n = static_cast<std::size_t>(m.combination.devices);
    const double left = 34, cell = std::min(64.0, (kChartWidth - left) / static_cast<double>(n));
    const double height = 22 + (cell * 0.72) * static_cast<double>(n) + 22;
    std::vector<std::vector<PairStatistics>> table(n, std::vector<PairStatistics>(n));
    std::uint64_t most = 1;
    for (const PairStatistics& pair : m.statistics.pairs) {
      if (pair.from >= n || pair.to >= n) continue;
      table[pair.from][pair.to] = pair;
      most = std::max(most, pair.bytes);
    }
    Svg svg(kChartWidth, height, "Bytes and messages of each pair, " + Name(key));
    const bool words = cell >= 34;  // "to 12" fits
    if (!words) svg.Text(left - 6, 14, "e f", "to");
    const auto every = static_cast<std::size_t>(std::ceil(11 / (cell * 0.72)));  // of which there is room for the number
    for (std::size_t i = 0; i < n; ++i) {
      if (i % every == 0) {
        svg.Text(left + cell * (static_cast<double>(i) + 0.5), 14, "m f", fmt::format("{}{}", words ? "to " : "", i));
        svg.Text(left - 6, 20 + cell * 0.72 * (static_cast<double>(i) + 0.5) + 4, "e f", fmt::format("{}", i));
      }
      for (std::size_t j = 0; j < n; ++j) {
        const double x = left + cell * static_cast<double>(j), y = 20 + cell * 0.72 * static_cast<double>(i);
        if (i == j) {
          svg.Rect(x, y, cell, cell * 0.72, "heat h0", "the device itself");
          continue;
        }
        const PairStatistics& pair = table[i][j];
        const auto shade = static_cast<int>(std::lround(10 * static_cast<double>(pair.bytes) / static_cast<double>(most)));
        const std::string told = fmt::format("{} to {}: {} bytes in {} messages, combined from {}", i, j,
                                             Grouped(pair.bytes), Grouped(pair.messages), Grouped(pair.messages_before));
        svg.Rect(x, y, cell, cell * 0.72, fmt::format("heat h{}", shade), told);
        if (cell < 40) continue;
        svg.Text(x + cell / 2, y + cell * 0.32, "m", SizeText(static_cast<double>(pair.bytes)));
        svg.Text(x + cell / 2, y + cell * 0.32 + 13, "m f", CountText(static_cast<double>(pair.messages)));
      }
    }
    svg.Text(kChartWidth, height - 6, "e f", Fitted(Strategy(m.combination), kLetters));
    return svg.Finish();
  }

  std::string Sizes() const {
    std::vector<std::pair<std::string, std::string>> panels;
    std::map<std::string, std::string> legend;
    for (const auto& key : cases_) {
      const Measurement* chosen = nullptr;
      for (const Measurement* m : Of(key)) {
        if (!m->buffers || m->buffers->paths.empty() || !m->good()) continue;
        const auto rank = [](const Measurement& a) {
          return std::tuple(-static_cast<int>(a.combination.devices), a.combination.comm != "auto",
                            a.combination.execution != "bsp");
        };
        if (chosen == nullptr || rank(*m) < rank(*chosen)) chosen = m;
      }
      if (chosen == nullptr) continue;
      panels.emplace_back(Name(key), SizePanel(key, *chosen));
      for (const PathBuffers& path : chosen->buffers->paths) legend[path.path] = colours_.Of(path.path);
    }
    return Chart(
        "sizes", "How large messages were",
        "MessageBuffers that travelled from one device to another, counted by size, in the colour of the path that each "
        "took: "
        "to the left what a message costs at all counts, to the right what a byte costs.",
        Legend({legend.begin(), legend.end()}, false) +
            Panels(panels, "No run told its buffers: on one device there are none, and this engine may not tell them."));
  }

  std::string SizePanel(const std::pair<std::string, std::string>& key, const Measurement& m) const {
    constexpr double kLeft = 40, kRight = 352, kBottom = 150, kTop = 22;
    std::map<std::string, std::vector<std::uint64_t>> paths;
    std::size_t first = 64, last = 0;
    for (const PathBuffers& path : m.buffers->paths) {
      auto& bins = paths[path.path];
      bins.resize(std::max(bins.size(), path.histogram.size()));
      for (std::size_t i = 0; i < path.histogram.size(); ++i) {
        bins[i] += path.histogram[i];
        if (path.histogram[i] == 0) continue;
        first = std::min(first, i);
        last = std::max(last, i);
      }
    }
    if (first > last) first = last = 0;
    std::uint64_t most = 1;
    for (std::size_t i = first; i <= last; ++i) {
      std::uint64_t sum = 0;
      for (const auto& [path, bins] : paths) sum += i < bins.size() ? bins[i] : 0;
      most = std::max(most, sum);
    }
    Svg svg(kChartWidth, kBottom + 36, "Sizes of buffers, " + Name(key));
    const Scale y = Scale::Linear(0, static_cast<double>(most), kBottom, kTop);
    VerticalAxis(svg, y, kLeft, kRight, "buffers", CountText);
    const double step = (kRight - kLeft) / static_cast<double>(std::max<std::size_t>(last - first + 1, 6));
    const std::size_t every = std::max<std::size_t>(1, (last - first + 1 + 5) / 6);
    for (std::size_t i = first; i <= last; ++i) {
      const double x = kLeft + step * static_cast<double>(i - first);
      double base = kBottom;
      for (const auto& [path, bins] : paths) {
        const std::uint64_t count = i < bins.size() ? bins[i] : 0;
        if (count == 0) continue;
        const double height = kBottom - y(static_cast<double>(count));
        base -= height;
        svg.Rect(x + 1, base, step - 2, height, colours_.Fill(path),
                 fmt::format("{}: {} buffers of {} to {}", path, Grouped(count), SizeText(std::exp2(i)),
                             SizeText(std::exp2(i + 1))));
      }
      if ((i - first) % every == 0) svg.Text(x, kBottom + 14, i == first ? "f" : "m f", SizeText(std::exp2(i)));
    }
    svg.Line(kLeft, kBottom, kRight, kBottom, "axis");
    svg.Text(kChartWidth, kBottom + 30, "e f", Fitted(Strategy(m.combination), kLetters));
    return svg.Finish();
  }

  std::string Model() const {
    std::vector<const BufferSample*> samples;
    std::uint64_t judged = 0, within = 0;
    for (const Measurement& m : all_.measurements) {
      if (!m.buffers || !m.good()) continue;
      judged += m.buffers->judged;
      within += m.buffers->within;
      for (const BufferSample& sample : m.buffers->samples) {
        if (sample.predicted_us > 0 && sample.measured_us > 0) samples.push_back(&sample);
      }
    }
    std::string body;
    if (samples.empty()) {
      body = Missing("No run told the time of its buffers.");
    } else {
      constexpr double kLeft = 46, kRight = 350, kBottom = 300, kTop = 22;
      constexpr std::size_t kMax = 1500;
      double low = samples.front()->measured_us, high = low;
      for (const BufferSample* sample : samples) {
        low = std::min({low, sample->measured_us, sample->predicted_us});
        high = std::max({high, sample->measured_us, sample->predicted_us});
      }
      Svg svg(kChartWidth, kBottom + 34, "Predicted over measured time of buffers");
      const Scale x = Scale::Log(low, high, kLeft, kRight), y = Scale::Log(low, high, kBottom, kTop);
      VerticalAxis(svg, y, kLeft, kRight, "predicted, µs");
      HorizontalAxis(svg, x, kTop, kBottom, "measured, µs", kRight);
      const double from = x.Ticks().front(), to = std::pow(10, std::ceil(std::log10(high) - 1e-9));
      svg.Path({{x(from), y(from * 1.25)},
                {x(to / 1.25), y(to)},
                {x(to), y(to)},
                {x(to), y(to * 0.75)},
                {x(from / 0.75), y(from)},
                {x(from), y(from)}},
               "band", "within 25 %", true);
      svg.Line(x(from), y(from), x(to), y(to), "axis");
      std::map<std::string, std::string> there;
      const std::size_t kept = std::min(kMax, samples.size());
      for (std::size_t i = 0; i < kept; ++i) {
        const BufferSample& sample = *samples[i * samples.size() / kept];
        there[sample.path] = colours_.Of(sample.path);
        svg.Dot(x(sample.measured_us), y(sample.predicted_us), 2.4, "dot " + colours_.Fill(sample.path),
                fmt::format("{}, {}: predicted {:.1f} µs, took {:.1f} µs", sample.path,
                            SizeText(static_cast<double>(sample.bytes)), sample.predicted_us, sample.measured_us));
      }
      body = Legend({there.begin(), there.end()}, false);
      if (judged > 0) {
        body += fmt::format("<p>Of {} buffers of more than 64 KiB, {:.0f} % took what was predicted within 25 %.</p>\n",
                            Grouped(judged), 100 * static_cast<double>(within) / static_cast<double>(judged));
      }
      body += "<div class=\"one\">" + svg.Finish() + "</div>\n";
    }
    return Chart("model", "What was predicted, and what it took",
                 "One dot a buffer: on the diagonal the prediction was right, in the band within 25 %, above it the buffer "
                 "was faster "
                 "than predicted.",
                 body);
  }

  std::string Crossovers() const {
    std::string body;
    if (!all_.costs || all_.costs->lines.empty()) {
      body = Missing("There is no cost model of these devices.");
    } else {
      const CostCurves& costs = *all_.costs;
      constexpr double kLeft = 46, kRight = 350, kBottom = 260, kTop = 22;
      double low = 0, high = 0, least = 0, most = 0;
      for (const CostLine& line : costs.lines) {
        for (const auto& [bytes, us] : line.points) {
          least = least == 0 ? bytes : std::min(least, bytes);
          most = std::max(most, bytes);
          low = low == 0 ? us : std::min(low, us);
          high = std::max(high, us);
        }
      }
      Svg svg(kChartWidth, kBottom + 34, "Time of a message over its size, for each path");
      const double first = std::log2(std::max(least, 1.0)), last = std::max(std::log2(std::max(most, 2.0)), first + 1);
      const auto x = [&](double bytes) {
        return kLeft + (kRight - kLeft) * std::clamp((std::log2(std::max(bytes, 1.0)) - first) / (last - first), 0.0, 1.0);
      };
      const Scale y = Scale::Log(low, high, kBottom, kTop);
      VerticalAxis(svg, y, kLeft, kRight, "µs");
      const double step = std::max(2.0, std::ceil((last - first) / 6));
      for (double power = first; power <= last; power += step) {
        svg.Line(x(std::exp2(power)), kTop, x(std::exp2(power)), kBottom, "grid-line");
        svg.Text(x(std::exp2(power)), kBottom + 14, "m f", SizeText(std::exp2(power)));
      }
      svg.Text(kRight, kBottom + 29, "e f", "size of the message");
      std::vector<std::pair<std::string, std::string>> legend;
      for (const CostLine& line : costs.lines) {
        std::vector<std::pair<double, double>> path;
        path.reserve(line.points.size());
        for (const auto& [bytes, us] : line.points) path.emplace_back(x(bytes), y(us));
        svg.Path(path, "l " + colours_.Stroke(line.path), line.path);
        legend.emplace_back(line.path, colours_.Of(line.path));
      }
      for (const auto& crossing : costs.crossings) {
        svg.Line(x(crossing.bytes), kTop, x(crossing.bytes), kBottom, "ideal");
      }
      body = Legend(legend, false) + "<div class=\"one\">" + svg.Finish() + "</div>\n<ul>\n";
      for (const auto& crossing : costs.crossings) {
        body += fmt::format("<li>From {} on {} is faster than {}.</li>\n", SizeText(crossing.bytes), Html(crossing.after),
                            Html(crossing.before));
      }
      if (costs.crossings.empty()) body += "<li>One path is the fastest at every size.</li>\n";
      body += fmt::format("</ul>\n<p class=\"read\">{}, {}.</p>\n", Html(costs.pair),
                          costs.measured ? "measured on this machine" : "from nominal bandwidths: nothing was measured");
    }
    return Chart(
        "crossovers", "Which path is the fastest at which size",
        "The lowest line is the fastest path for a message of that size; a dotted line marks where another one takes "
        "over.",
        body);
  }

  // ------------------------------------------------------------------ tables ----

  std::string Troubles() const {
    std::map<std::pair<std::string, std::string>, std::vector<const Measurement*>> reasons;  // outcome and reason
    for (const Measurement& m : all_.measurements) {
      if (m.outcome == Outcome::kOk || m.outcome == Outcome::kNotReached) continue;
      reasons[{std::string(OutcomeName(m.outcome)), m.reason}].push_back(&m);
    }
    if (reasons.empty()) return "";
    std::string html =
        "<section id=\"troubles\"><h2>What was not measured, and why</h2>\n<div class=\"scroll\"><table><tbody>\n";
    for (const auto& [key, list] : reasons) {
      std::vector<std::string> named;
      for (std::size_t i = 0; i < std::min<std::size_t>(list.size(), 4); ++i)
        named.push_back(Describe(list[i]->combination));
      if (list.size() > named.size()) named.push_back(fmt::format("and {} more", list.size() - named.size()));
      html += fmt::format("<tr><td class=\"{}\">{}</td><td>{}</td><td>{}</td></tr>\n",
                          key.first == "not applicable" ? "" : "bad", Html(key.first),
                          Html(fmt::format("{}", fmt::join(named, "; "))), Html(key.second));
    }
    return html + "</tbody></table></div></section>\n";
  }

  std::string Everything() const {
    std::string html =
        "<section id=\"all\"><h2>All times</h2>\n<details><summary>Show the table</summary>\n<div class=\"scroll\"><table>"
        "<thead><tr><th>Graph</th><th>Program</th><th class=\"n\">Devices</th><th>Engine</th><th>Path</th><th>Partition</th>"
        "<th class=\"n\">Median</th><th class=\"n\">Least</th><th class=\"n\">Most</th><th "
        "class=\"n\">Trials</th><th>Answer</th>"
        "</tr></thead><tbody>\n";
    for (const Measurement& m : all_.measurements) {
      const Combination& c = m.combination;
      const Spread spread = SpreadOf(m.trials_ms);
      const bool timed = !m.trials_ms.empty();
      html += fmt::format(
          "<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"n\">{}</td>"
          "<td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"{}\">{}</td></tr>\n",
          Html(c.graph), Html(c.program), c.devices, Html(c.execution), Html(c.comm), Html(c.partition),
          timed ? FormatMs(spread.median) : "", timed ? FormatMs(spread.min) : "", timed ? FormatMs(spread.max) : "",
          m.trials_ms.size(),
          m.outcome == Outcome::kOk      ? "good"
          : m.outcome == Outcome::kWrong ? "bad"
                                         : "",
          m.outcome == Outcome::kOk ? (m.verdict ? "verified" : "not verified") : std::string(OutcomeName(m.outcome)));
    }
    return html + "</tbody></table></div></details></section>\n";
  }

  // ------------------------------------------------------------------ papers ----

  static std::string PaperFigure(const Figure& figure) {
    std::string body;
    const bool any =
        std::any_of(figure.series.begin(), figure.series.end(), [](const auto& s) { return !s.points.empty(); });
    if (any) {
      body = FigureLegend(figure) + "<div class=\"one\">" + (figure.lines ? FigureLines(figure) : FigureBars(figure)) +
             "</div>\n";
    } else {
      body = Missing("Nothing of it could be measured here, and no published numbers are known.");
    }
    for (const std::string& note : figure.notes) body += fmt::format("<p class=\"read\">{}</p>\n", Html(note));
    body += fmt::format("<p class=\"read\">Source: {}</p>\n", Html(figure.source));
    return Chart("paper", figure.title, figure.reading, body);
  }

  /// Classes of the i-th series' lines, or bars: its colour, its tone, and whether others measured it.
  static std::string SeriesLine(const Figure& figure, std::size_t i) {
    return fmt::format("l q{}{}", i % kColours,
                       figure.series[i].published ? " dash" : fmt::format(" t{}", i / kColours % kTones));
  }
  static std::string SeriesBar(const Figure& figure, std::size_t i) {
    return fmt::format("q{0} q{0}d {1}", i % kColours,
                       figure.series[i].published ? "published" : fmt::format("t{}", i / kColours % kTones));
  }
  static std::string SeriesName(const FigureSeries& series) {
    return series.name + (series.published ? " (published)" : "");
  }

  /// Samples of what the chart draws.
  static std::string FigureLegend(const Figure& figure) {
    std::string html = "<ul class=\"legend\">";
    for (std::size_t i = 0; i < figure.series.size(); ++i) {
      Svg sample(26, 11, SeriesName(figure.series[i]));
      if (figure.lines) {
        sample.Path({{0, 6}, {26, 6}}, SeriesLine(figure, i));
      } else {
        sample.Rect(1, 1, 24, 9, SeriesBar(figure, i));
      }
      html += fmt::format("<li>{}{}</li>", sample.Finish(), Html(SeriesName(figure.series[i])));
    }
    return html + "</ul>\n";
  }

  static std::string FigureLines(const Figure& figure) {
    constexpr double kLeft = 52, kRight = 350, kBottom = 260, kTop = 22;
    double low = 0, high = 0, least = 0, most = 0;
    std::vector<std::vector<std::pair<double, double>>> lines;
    for (const FigureSeries& series : figure.series) {
      lines.emplace_back();
      for (const auto& [text, value] : series.points) {
        const double at = std::stod(text);
        if (at <= 0 || value <= 0) continue;
        least = least == 0 ? at : std::min(least, at);
        most = std::max(most, at);
        low = low == 0 ? value : std::min(low, value);
        high = std::max(high, value);
        lines.back().emplace_back(at, value);
      }
      std::sort(lines.back().begin(), lines.back().end());
    }
    Svg svg(kChartWidth, kBottom + 34, figure.title);
    const Scale x = Scale::Log(least, most, kLeft, kRight), y = Scale::Log(low, high, kBottom, kTop);
    VerticalAxis(svg, y, kLeft, kRight, figure.y_label);
    HorizontalAxis(svg, x, kTop, kBottom, figure.x_label, kRight);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      std::vector<std::pair<double, double>> path;
      for (const auto& [at, value] : lines[i]) path.emplace_back(x(at), y(value));
      svg.Path(path, SeriesLine(figure, i), SeriesName(figure.series[i]));
      for (std::size_t j = 0; j < path.size(); ++j) {
        svg.Dot(path[j].first, path[j].second, 3, fmt::format("q{}d", i % kColours),
                fmt::format("{}: {} at {}", figure.series[i].name, lines[i][j].second, lines[i][j].first));
      }
    }
    return svg.Finish();
  }

  static std::string FigureBars(const Figure& figure) {
    std::vector<std::string> categories;
    double low = 0, high = 0;
    std::size_t bars = 0;
    for (const FigureSeries& series : figure.series) {
      for (const auto& [text, value] : series.points) {
        if (std::find(categories.begin(), categories.end(), text) == categories.end()) categories.push_back(text);
        if (value <= 0) continue;
        low = low == 0 ? value : std::min(low, value);
        high = std::max(high, value);
        ++bars;
      }
    }
    std::size_t longest = 0;  // letters beside the bars
    for (const FigureSeries& series : figure.series) longest = std::max(longest, series.name.size());
    longest = std::min<std::size_t>(longest, 30);
    constexpr double kBar = 13, kHead = 20, kRight = 310;
    const double left = 10 + 5.8 * static_cast<double>(longest);
    const double height = kBar * static_cast<double>(bars) + (kHead + 4) * static_cast<double>(categories.size()) + 40;
    Svg svg(kChartWidth, height, figure.title);
    const bool log = high > 50 * low && low > 0;
    const Scale x = log ? Scale::Log(low / 2, high, left, kRight) : Scale::Linear(0, high, left, kRight);
    for (const double tick : x.Ticks()) svg.Line(x(tick), 4, x(tick), height - 34, "grid-line");
    double y = 4;
    for (const std::string& category : categories) {
      y += kHead;
      svg.Text(0, y - 5, "b", Fitted(category, kLetters - 5));  // bold
      for (std::size_t i = 0; i < figure.series.size(); ++i) {
        for (const auto& [text, value] : figure.series[i].points) {
          if (text != category || value <= 0) continue;
          svg.Text(left - 6, y + 9, figure.series[i].published ? "e f" : "e", Fitted(figure.series[i].name, longest));
          svg.Rect(left, y, x(value) - left, kBar - 3, SeriesBar(figure, i),
                   fmt::format("{}, {}: {}", SeriesName(figure.series[i]), category, value));
          svg.Text(x(value) + 4, y + 9, figure.series[i].published ? "f" : "", fmt::format("{:.4g}", value));
          y += kBar;
        }
      }
      y += 4;
    }
    for (const double tick : x.Ticks()) svg.Text(x(tick), height - 21, "m f", TickText(tick));
    svg.Text(kChartWidth, height - 6, "e f", figure.y_label);
    return svg.Finish();
  }

  const Comparison& all_;
  Colours colours_;
  std::vector<std::pair<std::string, std::string>> cases_;  // graph and program
  bool partitions_ = false;                                 // more than one is compared
  std::map<std::string, int> files_;                        // partitions of each file's name
};

/// Rules that are many and alike: the shades of matrices and the colours of figures.
std::string Shades() {
  std::string css;
  for (int i = 0; i <= 10; ++i) css += fmt::format("svg .h{} {{ fill: rgba(var(--heat), {:.2f}); }}\n", i, 0.055 * i);
  for (std::size_t i = 0; i < kColours; ++i) {
    css += fmt::format("svg .q{0} {{ stroke: var(--c{0}); }} svg .q{0}d {{ fill: var(--c{0}); }}\n", i);
  }
  return css;
}

}  // namespace

std::string ComparisonPage(const Comparison& comparison) {
  std::string html = Page(comparison).Make();
  const std::size_t end = html.find("</style>");
  return html.insert(end, Shades());
}

}  // namespace chatty::cli
