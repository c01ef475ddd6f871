#include "chatty/cli/cost_curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "chatty/cli/compare/svg.h"
#include "chatty/cli/text.h"

namespace chatty::cli {

CostCurves CurvesOf(const CostModel& model, std::string_view pair, std::size_t from, std::size_t to, Encoding encoding,
                    MeasuredLoad load) {
  CostCurves curves;
  curves.measured = model.measured();
  curves.pair = pair;
  for (std::size_t path = 0; path < model.paths().size(); ++path) {
    const Cost& cost = model.cost(path, from, to, load);
    if (!cost.exists()) continue;
    curves.lines.push_back({model.paths()[path], cost.alpha_us, cost.Beta(encoding) + cost.Gamma(encoding) / 8,
                            cost.largest > 0 ? cost.largest : std::numeric_limits<double>::infinity()});
  }
  if (curves.lines.empty()) return curves;
  const auto takes_less = [](const CostLine& a, const CostLine& b) { return a.Us(kMinCurve) < b.Us(kMinCurve); };
  const CostLine* now = &*std::min_element(curves.lines.begin(), curves.lines.end(), takes_less);
  curves.first = now->path;
  // The lower envelope of lines, from left to right: the next path is the flatter one whose line is met first.
  for (double at = kMinCurve; now != nullptr;) {
    const CostLine* next = nullptr;
    double meet = kMaxCurve;
    for (const CostLine& line : curves.lines) {
      if (line.us_per_byte >= now->us_per_byte) continue;
      const double there = std::max(at, (line.us - now->us) / (now->us_per_byte - line.us_per_byte));
      if (there < meet || (there == meet && next != nullptr && line.us_per_byte < next->us_per_byte)) {
        meet = there;
        next = &line;
      }
    }
    if (next != nullptr) {
      curves.crossings.push_back({meet, now->path, next->path, meet > std::min(now->largest, next->largest)});
    }
    at = meet;
    now = next;
  }
  return curves;
}

std::vector<std::pair<double, double>> CostLine::Points() const {
  std::vector<std::pair<double, double>> points;
  for (double bytes = kMinCurve; bytes <= kMaxCurve; bytes *= 2) points.emplace_back(bytes, Us(bytes));
  return points;
}

std::string DescribeCrossovers(const CostCurves& curves) {
  std::string text = curves.first;
  for (const CostCurves::Crossing& crossing : curves.crossings) {
    text += fmt::format(", from {}{} {}", FormatBytes(static_cast<std::uint64_t>(std::llround(crossing.bytes))),
                        crossing.extrapolated ? "~" : "", crossing.after);
  }
  return text;
}

std::string DrawCurves(const CostCurves& curves, const std::function<std::string(std::string_view)>& stroke) {
  constexpr double kLeft = 46, kRight = 350, kBottom = 260, kTop = 22;
  double low = std::numeric_limits<double>::infinity(), high = 0;
  for (const CostLine& line : curves.lines) {
    low = std::min(low, line.Us(kMinCurve));
    high = std::max(high, line.Us(kMaxCurve));
  }
  Svg svg(kRight + 10, kBottom + 34, "Time of a message over its size, " + curves.pair);
  const Scale y = Scale::Log(low, high, kBottom, kTop);
  const auto x = [](double bytes) {
    return kLeft + (kRight - kLeft) * std::log2(bytes / kMinCurve) / std::log2(kMaxCurve / kMinCurve);
  };
  svg.Text(kLeft, kTop - 8, "e f", "µs");
  for (const double us : y.Ticks()) {
    svg.Line(kLeft, y(us), kRight, y(us), "grid-line");
    svg.Text(kLeft - 6, y(us) + 4, "e f", TickText(us));
  }
  for (double bytes = kMinCurve; bytes <= kMaxCurve; bytes *= 64) {
    svg.Line(x(bytes), kTop, x(bytes), kBottom, "grid-line");
    svg.Text(x(bytes), kBottom + 14, "m f", SizeText(bytes));
  }
  svg.Text(kRight, kBottom + 29, "e f", "size of the message");
  for (const CostLine& line : curves.lines) {
    std::vector<std::pair<double, double>> points;
    for (const auto& [bytes, us] : line.Points()) points.emplace_back(x(bytes), y(us));
    svg.Path(points, "l " + stroke(line.path), line.path);
  }
  for (const CostCurves::Crossing& crossing : curves.crossings) {
    svg.Line(x(crossing.bytes), kTop, x(crossing.bytes), kBottom, "ideal");
  }
  return svg.Finish();
}

}  // namespace chatty::cli
