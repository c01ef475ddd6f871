#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "chatty/cli/compare/page/parts.h"
#include "chatty/cli/compare/svg.h"
#include "chatty/cli/text.h"
#include "chatty/cli/times.h"

namespace chatty::cli::page {

std::string ModelChart(const PageData& page) {
  std::vector<const BufferSample*> samples;
  std::uint64_t judged = 0, within = 0;
  for (const Measurement& m : page.comparison.measurements) {
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
      there[sample.path] = page.colours.Of(sample.path);
      svg.Dot(x(sample.measured_us), y(sample.predicted_us), 2.4, "dot " + page.colours.Fill(sample.path),
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

std::string CrossoversChart(const PageData& page) {
  std::string body;
  if (!page.comparison.costs || page.comparison.costs->lines.empty()) {
    body = Missing("There is no cost model of these devices.");
  } else {
    const CostCurves& costs = *page.comparison.costs;
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
      svg.Path(path, "l " + page.colours.Stroke(line.path), line.path);
      legend.emplace_back(line.path, page.colours.Of(line.path));
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
  return Chart("crossovers", "Which path is the fastest at which size",
               "The lowest line is the fastest path for a message of that size; a dotted line marks where another one takes "
               "over.",
               body);
}

}  // namespace chatty::cli::page
