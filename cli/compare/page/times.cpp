#include "chatty/cli/times.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "chatty/cli/compare/page/parts.h"
#include "chatty/cli/compare/svg.h"
#include "chatty/cli/text.h"

namespace chatty::cli::page {
namespace {

std::string TimePanel(const PageData& page, const std::pair<std::string, std::string>& key,
                      const std::vector<const Measurement*>& rows) {
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
    const std::string label = Fitted(page.Label(c), room);
    svg.Text(kLeft - 8, middle + 4, m->outcome == Outcome::kWrong ? "e f" : c.comm == "auto" ? "e b" : "e", label);
    const std::string title = fmt::format("{}: median {}, {} to {}, {} trials", Strategy(c), FormatMs(spread.median),
                                          FormatMs(spread.min), FormatMs(spread.max), m->trials_ms.size());
    svg.Line(x(spread.min), middle, x(spread.max), middle, "range " + page.colours.Stroke(path));
    for (const double ms : m->trials_ms) svg.Dot(x(ms), middle, 3, "dot " + page.colours.Fill(path), title);
    svg.Line(x(spread.median), middle - 5, x(spread.median), middle + 5, "median " + page.colours.Stroke(path));
    svg.Text(kChartWidth, middle + 4, "e", m->outcome == Outcome::kWrong ? "WRONG" : FormatMs(spread.median));
  }
  return svg.Finish();
}

}  // namespace

std::string TimesChart(const PageData& page) {
  std::vector<std::pair<std::string, std::string>> panels;
  for (const auto& key : page.cases) {
    std::vector<const Measurement*> rows;
    for (const Measurement* m : page.Of(key)) {
      if (!m->trials_ms.empty()) rows.push_back(m);
    }
    if (rows.empty()) continue;
    std::stable_sort(rows.begin(), rows.end(), [](const Measurement* a, const Measurement* b) {
      return std::pair(a->combination.devices, MedianMs(*a)) < std::pair(b->combination.devices, MedianMs(*b));
    });
    panels.emplace_back(Name(key), TimePanel(page, key, rows));
  }
  return Chart(
      "time", "Time of each strategy",
      "One line a strategy, the fastest first for each number of devices: dots are trials, the bar is their median, "
      "further left is faster.",
      Legend(page.PathLegend(), false) + Panels(panels, "Nothing was measured."));
}

}  // namespace chatty::cli::page
