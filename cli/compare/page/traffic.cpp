#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
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

std::string PairPanel(const std::pair<std::string, std::string>& key, const Measurement& m) {
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
      const std::string title = fmt::format("{} to {}: {} bytes in {} messages, combined from {}", i, j, Grouped(pair.bytes),
                                            Grouped(pair.messages), Grouped(pair.messages_before));
      svg.Rect(x, y, cell, cell * 0.72, fmt::format("heat h{}", shade), title);
      if (cell < 40) continue;
      svg.Text(x + cell / 2, y + cell * 0.32, "m", SizeText(static_cast<double>(pair.bytes)));
      svg.Text(x + cell / 2, y + cell * 0.32 + 13, "m f", CountText(static_cast<double>(pair.messages)));
    }
  }
  svg.Text(kChartWidth, height - 6, "e f", Fitted(Strategy(m.combination), kLetters));
  return svg.Finish();
}

std::string SizePanel(const PageData& page, const std::pair<std::string, std::string>& key, const Measurement& m) {
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
      svg.Rect(x + 1, base, step - 2, height, page.colours.Fill(path),
               fmt::format("{}: {} buffers of {} to {}", path, Grouped(count), SizeText(std::exp2(i)),
                           SizeText(std::exp2(i + 1))));
    }
    if ((i - first) % every == 0) svg.Text(x, kBottom + 14, i == first ? "f" : "m f", SizeText(std::exp2(i)));
  }
  svg.Line(kLeft, kBottom, kRight, kBottom, "axis");
  svg.Text(kChartWidth, kBottom + 30, "e f", Fitted(Strategy(m.combination), kLetters));
  return svg.Finish();
}

}  // namespace

std::string SharesChart(const PageData& page) {
  std::vector<std::pair<std::string, std::string>> panels;
  for (const auto& key : page.cases) {
    const Measurement* m = page.Chosen(key);
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

std::string PairsChart(const PageData& page) {
  std::vector<std::pair<std::string, std::string>> panels;
  for (const auto& key : page.cases) {
    const Measurement* m = page.Chosen(key);
    if (m == nullptr) continue;
    panels.emplace_back(Name(key), PairPanel(key, *m));
  }
  return Chart("pairs", "Traffic between devices",
               "From the row's device to the column's: bytes that travelled, and below them messages meant for that "
               "device; darker is more. Where one buffer goes to all, a pair may have bytes but no messages.",
               Panels(panels, "It takes a run on two devices or more."));
}

std::string SizesChart(const PageData& page) {
  std::vector<std::pair<std::string, std::string>> panels;
  std::map<std::string, std::string> legend;
  for (const auto& key : page.cases) {
    const Measurement* chosen = nullptr;
    for (const Measurement* m : page.Of(key)) {
      if (!m->buffers || m->buffers->paths.empty() || !m->good()) continue;
      const auto rank = [](const Measurement& a) {
        return std::tuple(-static_cast<int>(a.combination.devices), a.combination.comm != "auto",
                          ParseEngine(a.combination.execution).execution != Execution::kBsp);
      };
      if (chosen == nullptr || rank(*m) < rank(*chosen)) chosen = m;
    }
    if (chosen == nullptr) continue;
    panels.emplace_back(Name(key), SizePanel(page, key, *chosen));
    for (const PathBuffers& path : chosen->buffers->paths) legend[path.path] = page.colours.Of(path.path);
  }
  return Chart(
      "sizes", "How large messages were",
      "Message buffers that travelled from one device to another, counted by size, in the colour of the path that each "
      "took: "
      "to the left what a message costs at all counts, to the right what a byte costs.",
      Legend({legend.begin(), legend.end()}, false) +
          Panels(panels, "No run recorded its buffers: one device has none, and operators may not record them."));
}

}  // namespace chatty::cli::page
