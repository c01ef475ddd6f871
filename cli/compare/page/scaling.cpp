#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "chatty/cli/compare/page/parts.h"
#include "chatty/cli/compare/plan.h"
#include "chatty/cli/compare/svg.h"
#include "chatty/cli/text.h"
#include "chatty/cli/times.h"

namespace chatty::cli::page {
namespace {

std::string ScalingPanel(
    const PageData& page, const std::pair<std::string, std::string>& key, const std::set<std::uint32_t>& counts,
    const std::map<std::tuple<std::string, std::string, std::string>, std::map<std::uint32_t, double>>& lines, double most,
    double single) {
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
      std::string title = fmt::format("{}, {}{}:", execution, comm, page.several_partitions ? ", " + partition : "");
      for (const auto& [n, speedup] : points) title += fmt::format(" {:.2f} on {},", speedup, n);
      title.pop_back();
      svg.Path(path,
               fmt::format("l {}{}{}", page.colours.Stroke(comm),
                           ParseEngine(execution).execution == Execution::kAsync ? " dash" : "", chosen ? " thick" : ""),
               title);
      for (std::size_t i = 1; i < path.size(); ++i)
        svg.Dot(path[i].first, path[i].second, 3, page.colours.Fill(comm), title);
    }
  };
  draw(false);
  draw(true);
  svg.Text(kRight, 11, "e f", fmt::format("1 is {}", FormatMs(single)));
  return svg.Finish();
}

}  // namespace

std::string ScalingChart(const PageData& page) {
  std::vector<std::pair<std::string, std::string>> panels;
  for (const auto& key : page.cases) {
    const std::optional<double> single = BestSingleMs(page.comparison, key.first, key.second);
    if (!single) continue;
    std::set<std::uint32_t> counts;
    std::map<std::tuple<std::string, std::string, std::string>, std::map<std::uint32_t, double>> lines;
    double most = 1;
    for (const Measurement* m : page.Of(key)) {
      if (!m->good()) continue;
      const Combination& c = m->combination;
      counts.insert(c.devices);
      if (c.devices == 1) continue;
      const double speedup = *single / MedianMs(*m);
      lines[{c.comm, c.execution, c.partition}][c.devices] = speedup;
      most = std::max(most, speedup);
    }
    if (counts.size() < 2 || lines.empty()) continue;
    panels.emplace_back(Name(key), ScalingPanel(page, key, counts, lines, most, *single));
  }
  return Chart("scaling", "Strong scaling",
               "How many times faster than the best time of the same program on one device: on the dotted line twice the "
               "devices take half the time; below 1 the further devices only cost.",
               Legend(page.PathLegend(), true) + Panels(panels, "It takes times on one device and on more."));
}

}  // namespace chatty::cli::page
