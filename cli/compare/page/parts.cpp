#include "chatty/cli/compare/page/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "chatty/cli/text.h"

namespace chatty::cli::page {
namespace {

std::string FileName(const std::string& partition) {
  const std::size_t folder = partition.rfind('/');
  return partition.substr(folder == std::string::npos ? 0 : folder + 1);
}

}  // namespace

Colours::Colours(const Comparison& comparison) {
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

std::string Colours::Of(std::string_view path) const {
  const auto found = std::find(names_.begin(), names_.end(), path);
  const auto at = static_cast<std::size_t>(found - names_.begin());
  return at < kColours ? fmt::format("var(--c{})", at) : "var(--other)";
}

std::string Colours::Css() const {
  std::string css;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    css += fmt::format("svg .f{0} {{ fill: {1}; }} svg .k{0} {{ stroke: {1}; }}\n", i, Of(names_[i]));
  }
  return css + "svg .fn { fill: var(--other); } svg .kn { stroke: var(--other); }\n";
}

std::string Colours::Index(std::string_view path) const {
  const auto found = std::find(names_.begin(), names_.end(), path);
  return found == names_.end() ? "n" : fmt::format("{}", found - names_.begin());
}

PageData::PageData(const Comparison& all) : comparison(all), colours(all) {
  std::set<std::string> partitions;
  for (const Measurement& m : all.measurements) {
    const std::pair<std::string, std::string> key{m.combination.graph, m.combination.program};
    if (std::find(cases.begin(), cases.end(), key) == cases.end()) cases.push_back(key);
    if (m.combination.devices > 1) partitions.insert(m.combination.partition);
  }
  several_partitions = partitions.size() > 1;
  for (const std::string& partition : partitions) ++files_[FileName(partition)];
}

std::vector<const Measurement*> PageData::Of(const Key& key) const {
  std::vector<const Measurement*> selection;
  for (const Measurement& m : comparison.measurements) {
    if (m.combination.graph == key.first && m.combination.program == key.second) selection.push_back(&m);
  }
  return selection;
}

const Measurement* PageData::Chosen(const Key& key) const {
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

std::string PageData::Label(const Combination& c) const {
  if (c.devices == 1) return c.execution;
  if (!several_partitions) return fmt::format("{} {}", c.execution, c.comm);
  // A part file goes by its own name, unless another in another folder has it, too.
  const std::string file = FileName(c.partition);
  return fmt::format("{} {} {}", c.execution, c.comm, files_.at(file) > 1 ? c.partition : file);
}

std::vector<std::pair<std::string, std::string>> PageData::PathLegend() const {
  std::vector<std::pair<std::string, std::string>> entries;
  for (const std::string& name : colours.names()) {
    const bool there =
        std::any_of(comparison.measurements.begin(), comparison.measurements.end(),
                    [&](const Measurement& m) { return m.combination.devices > 1 && m.combination.comm == name; });
    if (there) entries.emplace_back(name, colours.Of(name));
  }
  return entries;
}

std::string Name(const PageData::Key& key) { return fmt::format("{} on {}", key.second, key.first); }

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

void HorizontalAxis(Svg& svg, const Scale& scale, double top, double y, std::string_view label, double right,
                    const std::function<std::string(double)>& text) {
  for (const double tick : scale.Ticks()) {
    const double x = scale(tick);
    svg.Line(x, top, x, y, "grid-line");
    const bool at_edge = x > kChartWidth - 18;
    svg.Text(at_edge ? kChartWidth : x, y + 14, at_edge ? "e f" : "m f", text(tick));
  }
  svg.Text(right, y + 27, "e f", label);
}

void VerticalAxis(Svg& svg, const Scale& scale, double left, double right, std::string_view label,
                  const std::function<std::string(double)>& text) {
  for (const double tick : scale.Ticks()) {
    const double y = scale(tick);
    svg.Line(left, y, right, y, "grid-line");
    svg.Text(left - 5, y + 4, "e f", text(tick));
  }
  svg.Text(2, 11, "f", label);
}

}  // namespace chatty::cli::page
