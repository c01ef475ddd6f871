#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "chatty/cli/compare/page/page.h"
#include "chatty/cli/compare/page/parts.h"
#include "chatty/cli/compare/page/style.h"
#include "chatty/cli/text.h"
#include "chatty/comm/transport.h"
#include "chatty/core/version.h"

namespace chatty::cli::page {
namespace {

std::string Title(const PageData& page) {
  std::vector<std::string> names;
  for (const ComparedGraph& graph : page.comparison.graphs) names.push_back(graph.name);
  if (names.empty()) return page.comparison.figure ? page.comparison.figure->title : "Strategies compared";
  return fmt::format("Strategies compared on {}", fmt::join(names, ", "));
}

std::string PathSays(std::string_view path) {
  if (path == "auto") return "the program chooses, message by message, by what each path is known to cost";
  if (path == "chattygraph") return "as ChattyGraph was published: what neighbours see is broadcast";
  const TransportInfo* const info = FindTransport(path);
  return std::string(info != nullptr ? info->description : "named by the command; this build does not have it alone");
}

/// What each colour stands for, in a line each.
std::string Paths(const PageData& page) {
  if (page.comparison.measurements.empty()) return "";
  std::string html =
      "<h2 id=\"paths\">Paths and colours</h2>\n<p class=\"read\">A colour is a path, the same in all charts of paths; "
      "other charts have legends of their own. In matrices the stronger blue is more. Of lines, solid is bsp and dashed "
      "is "
      "async.</p>\n<dl class=\"paths\">\n";
  const auto row = [&](std::string_view name, std::string_view colour, std::string_view says) {
    html += fmt::format("<dt><i style=\"background:{}\"></i>{}</dt><dd>{}</dd>\n", colour, Html(name), Html(says));
  };
  for (const std::string& name : page.colours.names()) row(name, page.colours.Of(name), PathSays(name));
  row("one device", "var(--other)", "no path: nothing is sent");
  return html + "</dl>\n";
}

std::string Machine(const PageData& page) {
  if (!page.comparison.machine.is_object()) return "unknown";
  std::string text = fmt::format("{}, {} threads", page.comparison.machine.value("processor", "unknown processor"),
                                 page.comparison.machine.value("threads", 0));
  const Json topology = page.comparison.machine.value("topology", Json());
  if (page.comparison.kind != "cuda" || !topology.is_object() || !topology.contains("devices")) return text;
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

std::string Head(const PageData& page) {
  std::string html = fmt::format("<h1>{}</h1>\n", Html(Title(page)));
  if (!page.comparison.measurements.empty()) {
    html +=
        "<p>A graph is divided among devices: GPUs, or groups of CPU threads. They run a program together and send each "
        "other what changed. A <em>strategy</em> is the engine that drives them (<em>bsp</em>: in rounds, all at once; "
        "<em>async</em>: each at its own pace), the communication path between them, and how the graph was divided. With "
        "the path <em>auto</em> the program chooses for itself. All times are of the run alone, and every answer behind "
        "them was verified.</p>\n";
    const auto count = [&](Outcome outcome) {
      return std::count_if(page.comparison.measurements.begin(), page.comparison.measurements.end(),
                           [&](const Measurement& m) { return m.outcome == outcome; });
    };
    html += "<div class=\"tiles\">";
    html += fmt::format("<div><b>{}</b><span>combinations measured and verified</span></div>", count(Outcome::kOk));
    const std::vector<Regret> regrets = Regrets(page.comparison);
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
        html += fmt::format("<div><b class=\"{}\">{}</b><span>{}</span></div>", outcome == Outcome::kNotReached ? "" : "bad",
                            count(outcome), OutcomeName(outcome));
      }
    }
    html += "</div>\n";
  }
  html += "<dl>\n";
  const auto row = [&](std::string_view name, std::string_view text) {
    html += fmt::format("<dt>{}</dt><dd>{}</dd>\n", Html(name), text);
  };
  row("Machine", Html(Machine(page)));
  row("Links", Html(page.comparison.links));
  for (const ComparedGraph& graph : page.comparison.graphs) {
    row("Graph", Html(graph.loaded ? fmt::format("{}: {} vertices, {} edges, {}", graph.name, Grouped(graph.vertices),
                                                 Grouped(graph.edges), graph.symmetric ? "symmetric" : "directed")
                                   : graph.name + ": not read"));
  }
  if (page.comparison.kind == "host") {
    row("Devices",
        "groups of CPU threads. Host devices share the machine&#39;s cores and its memory: two have half of the threads "
        "each, so that more of them show what dividing costs, not what more hardware gives");
  }
  row("Command", fmt::format("<code>{}</code>", Html(page.comparison.command_line)));
  row("Begun", Html(page.comparison.started));
  for (const std::string& note : page.comparison.notes) row("Note", Html(note));
  return html + "</dl>\n" + Paths(page);
}

std::string Foot() {
  return fmt::format(
      "<p class=\"read\">Made by chatty {} ({}). The numbers behind it are in results.csv and results.json beside this "
      "page.</p>\n",
      Html(Version()), Html(GitCommit().substr(0, 12)));
}

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
}  // namespace chatty::cli::page

namespace chatty::cli {

std::string ComparisonPage(const Comparison& comparison) {
  const page::PageData data(comparison);
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>{}</title>\n"
      "<style>{}{}{}</style>\n</head>\n<body>\n",
      Html(page::Title(data)), kComparisonStyle, data.colours.Css(), page::Shades());
  html += page::Head(data);
  if (comparison.figure) html += page::PaperFigure(*comparison.figure);
  if (!comparison.measurements.empty()) {
    html += page::TimesChart(data) + page::ScalingChart(data) + page::RegretTable(data) + page::SharesChart(data) +
            page::PairsChart(data) + page::SizesChart(data) + page::ModelChart(data) + page::CrossoversChart(data) +
            page::TroublesTable(data) + page::TimesTable(data);
  }
  return html + page::Foot() + "</body>\n</html>\n";
}

}  // namespace chatty::cli
