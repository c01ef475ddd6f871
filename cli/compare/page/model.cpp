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
    body = Missing("No run has times of its buffers.");
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
  return Chart(
      "model", "What was predicted, and what it took",
      "One dot a buffer: on the diagonal the prediction was right, in the band within 25 %, above it the buffer was "
      "faster than predicted.",
      body);
}

std::string CrossoversChart(const PageData& page) {
  std::string body;
  if (!page.comparison.costs || page.comparison.costs->lines.empty()) {
    body = Missing("There is no cost model of these devices.");
  } else {
    const CostCurves& costs = *page.comparison.costs;
    std::vector<std::pair<std::string, std::string>> legend;
    for (const CostLine& line : costs.lines) legend.emplace_back(line.path, page.colours.Of(line.path));
    body =
        Legend(legend, false) + "<div class=\"one\">" +
        DrawCurves(costs, [&](std::string_view path) { return page.colours.Stroke(path); }) +
        fmt::format("</div>\n<p>{}.</p>\n<p class=\"read\">{}, {}.</p>\n", Html(DescribeCrossovers(costs)), Html(costs.pair),
                    costs.measured ? "measured on this machine" : "from nominal bandwidths: nothing was measured");
  }
  return Chart("crossovers", "Which path is the fastest at which size",
               "Microseconds over the size of a message: the lowest line is the fastest path; a dotted line marks where "
               "another one takes over.",
               body);
}

}  // namespace chatty::cli::page
