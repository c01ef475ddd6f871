#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "chatty/cli/compare/page/parts.h"
#include "chatty/cli/compare/svg.h"
#include "chatty/cli/text.h"
#include "chatty/cli/times.h"

namespace chatty::cli::page {
namespace {

constexpr std::size_t kTones = 3;  // of a colour: series of figures beyond the tenth have the same in another tone

/// Classes of the i-th series' lines, or bars: its colour, its tone, and whether others measured it.
std::string SeriesLine(const Figure& figure, std::size_t i) {
  return fmt::format("l q{}{}", i % kColours,
                     figure.series[i].published ? " dash" : fmt::format(" t{}", i / kColours % kTones));
}

std::string SeriesBar(const Figure& figure, std::size_t i) {
  return fmt::format("q{0} q{0}d {1}", i % kColours,
                     figure.series[i].published ? "published" : fmt::format("t{}", i / kColours % kTones));
}

std::string SeriesName(const FigureSeries& series) { return series.name + (series.published ? " (published)" : ""); }

/// Samples of what the chart draws.
std::string FigureLegend(const Figure& figure) {
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

/// A positive number, or 0 for an x that is none: then the value holds for all x.
double NumberIn(const std::string& x) {
  double number = 0;
  const auto [end, error] = std::from_chars(x.data(), x.data() + x.size(), number);
  return error == std::errc() && end == x.data() + x.size() ? number : 0;
}

std::string FigureLines(const Figure& figure) {
  constexpr double kLeft = 52, kRight = 350, kBottom = 260, kTop = 22;
  double low = 0, high = 0, least = 0, most = 0;
  std::vector<std::vector<std::pair<double, double>>> lines;
  std::vector<double> levels;  // of each series: its value across all x, if it has one; else 0
  for (const FigureSeries& series : figure.series) {
    lines.emplace_back();
    levels.push_back(0);
    for (const auto& [text, value] : series.points) {
      if (value <= 0) continue;
      low = low == 0 ? value : std::min(low, value);
      high = std::max(high, value);
      const double at = NumberIn(text);
      if (at <= 0) {
        levels.back() = value;
        continue;
      }
      least = least == 0 ? at : std::min(least, at);
      most = std::max(most, at);
      lines.back().emplace_back(at, value);
    }
    std::sort(lines.back().begin(), lines.back().end());
  }
  Svg svg(kChartWidth, kBottom + 34, figure.title);
  const Scale x = Scale::Log(least, most, kLeft, kRight), y = Scale::Log(low, high, kBottom, kTop);
  VerticalAxis(svg, y, kLeft, kRight, figure.y_label);
  HorizontalAxis(svg, x, kTop, kBottom, figure.x_label, kRight);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (levels[i] > 0) {
      svg.Path({{kLeft, y(levels[i])}, {kRight, y(levels[i])}}, SeriesLine(figure, i),
               fmt::format("{}: {}", SeriesName(figure.series[i]), levels[i]));
    }
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

std::string FigureBars(const Figure& figure) {
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

}  // namespace

std::string PaperFigure(const Figure& figure) {
  std::string body;
  const bool any = std::any_of(figure.series.begin(), figure.series.end(), [](const auto& s) { return !s.points.empty(); });
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

}  // namespace chatty::cli::page
