#include "chatty/cli/topology/page.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <map>
#include <numbers>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "chatty/cli/text.h"
#include "chatty/cli/topology/style.h"
#include "chatty/core/version.h"

namespace chatty::cli {

namespace {

std::string Number(int value, int unknown) { return value == unknown ? "-" : fmt::format("{}", value); }

std::string DescribeHostPath(const TopologyDevice& device) {
  if (device.kind == DeviceKind::kHost) return "its own";
  const HostPath& host = device.host;
  std::string text =
      host.pcie_generation > 0 ? fmt::format("PCIe {} x{}, ", host.pcie_generation, host.pcie_lanes) : std::string();
  return text + FormatBandwidth(host.bandwidth) + (host.native_atomics ? ", atomics" : "");
}

/// How text and page show a type of link: in a matrix, in colours, and in words.
struct Look {
  std::string_view cell, css, words;
};
constexpr std::array<Look, 7> kLooks = {{{"X", "self", "the device itself"},
                                         {"GPU", "same", "in the memory of a GPU that they share"},
                                         {"NV", "nvlink", "NVLink"},
                                         {"PIX", "switch", "through PCIe switches"},
                                         {"PHB", "bridge", "through PCIe host bridges of one socket"},
                                         {"SYS", "sockets", "across CPU sockets"},
                                         {"MEM", "memory", "through host memory"}}};
const Look& LookOf(const Link& link) { return kLooks[static_cast<std::size_t>(link.type)]; }

std::string_view CssClass(const Link& link) {
  return link.peer_access || link.type == LinkType::kSelf ? LookOf(link).css : "staged";
}

/// A line of the legend: how wide links with this cell are.
struct LegendLine {
  std::string cell, words;
  double least = 0, most = 0;
  std::string_view css;  // on the page
};

/// What occurs in the matrix, nearest first.
std::vector<LegendLine> Legend(const Topology& topology) {
  std::map<std::tuple<int, std::string, std::string>, LegendLine> entries;
  for (std::size_t from = 0; from < topology.size(); ++from) {
    for (std::size_t to = 0; to < topology.size(); ++to) {
      const Link& link = topology.link(from, to);
      const std::string cell = LinkCell(link);
      const std::string words = DescribeLink(link);
      const auto [at, is_new] = entries.try_emplace({static_cast<int>(link.type), cell, words});
      LegendLine& entry = at->second;
      if (is_new) entry = {cell, words, link.bandwidth, link.bandwidth, CssClass(link)};
      entry.least = std::min(entry.least, link.bandwidth);
      entry.most = std::max(entry.most, link.bandwidth);
    }
  }
  std::vector<LegendLine> legend;
  legend.reserve(entries.size());
  for (auto& [key, entry] : entries) legend.push_back(std::move(entry));
  return legend;
}

std::string Span(const LegendLine& entry) {
  if (entry.cell == "X") return "";
  if (entry.least == entry.most) return ": " + FormatBandwidth(entry.least);
  return fmt::format(": {} to {}", FormatBandwidth(entry.least), FormatBandwidth(entry.most));
}

bool HasStaged(const std::vector<LegendLine>& legend) {
  return std::any_of(legend.begin(), legend.end(), [](const LegendLine& entry) { return entry.cell.ends_with('*'); });
}

constexpr std::string_view kStaged = "no peer access: copies are staged in host memory";

std::string DescribeOrder(const Topology& topology, const Ring& ring, std::string_view arrow) {
  std::string text;
  for (const std::size_t device : ring.order) text += fmt::format("{}{}", topology.devices()[device].label, arrow);
  return text + topology.devices()[ring.order.front()].label;
}

std::string DescribeNarrowest(const Topology& topology, const Ring& ring) {
  const std::size_t from = ring.order[ring.narrowest], to = ring.Next(ring.narrowest);
  return fmt::format("{} to {} ({}), nominally {}", topology.devices()[from].label, topology.devices()[to].label,
                     LinkCell(topology.link(from, to)), FormatBandwidth(ring.bandwidth));
}

/// Whether a wider ring exists, as far as anybody can tell.
std::string DescribeSearch(const Rings& rings) {
  const std::string how = rings.exact ? "comparing all rings" : "improving good rings";
  if (!rings.known) {
    return fmt::format("{}, with {} for bandwidths that are not known: whether one is wider cannot be told", how,
                       FormatBandwidth(kAssumedBandwidth));
  }
  return how + (rings.exact ? ": none is wider" : ": a wider one may exist");
}

std::string DescribeCount(const Rings& rings) {
  return fmt::format("{}{} ring{} without a common NVLink, each both ways, one NVLink a hop", rings.disjoint.size(),
                     rings.disjoint_exact ? "" : " or more", rings.disjoint.size() == 1 ? "" : "s");
}

// --------------------------------------------------------------------- HTML ----

/// Width of a line in pixels: one more for each doubling above 8 GB/s.
double StrokeWidth(double bandwidth) { return bandwidth <= 0 ? 1 : std::clamp(1 + std::log2(bandwidth / 8e9), 1.0, 8.0); }

struct Point {
  double x = 0, y = 0;
};

constexpr double kMapWidth = 760, kHeight = 640, kRadius = 240;

/// Devices stand on a circle in the order of the ring, so that the ring is its circumference.
std::vector<Point> Places(const Ring& ring) {
  std::vector<Point> places(ring.order.size());
  for (std::size_t i = 0; i < ring.order.size(); ++i) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(ring.order.size());
    places[ring.order[i]] = {kMapWidth / 2 + kRadius * std::sin(angle), kHeight / 2 - kRadius * std::cos(angle)};
  }
  return places;
}

std::string Line(Point a, Point b, std::string_view css, double width, std::string_view title) {
  return fmt::format(
      "<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke-width=\"{:.1f}\"><title>{}</title>"
      "</line>\n",
      css, a.x, a.y, b.x, b.y, width, Html(title));
}

std::string Graph(const Topology& topology, const Rings& rings) {
  const std::size_t n = topology.size();
  const std::vector<Point> places = Places(rings.best);
  const Point centre{kMapWidth / 2, kHeight / 2};
  std::string svg = fmt::format(
      "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"Devices and the links between them\">\n", kMapWidth, kHeight);
  svg += "<polygon class=\"ring\" points=\"";
  for (const std::size_t device : rings.best.order) svg += fmt::format("{:.1f},{:.1f} ", places[device].x, places[device].y);
  svg += fmt::format("\"><title>{}</title></polygon>\n", Html("Widest ring: " + DescribeOrder(topology, rings.best, ", ")));
  std::vector<bool> at_switch(n, false);
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = a + 1; b < n; ++b) {
      const Link &there = topology.link(a, b), &back = topology.link(b, a);
      if (there.switched) {
        at_switch[a] = at_switch[b] = true;
        continue;
      }
      svg += Line(
          places[a], places[b], CssClass(there.peer_access ? back : there),
          StrokeWidth(std::min(there.bandwidth, back.bandwidth)),
          fmt::format("{} and {}: {}; nominally {} there, {} back", topology.devices()[a].label, topology.devices()[b].label,
                      DescribeLink(there), FormatBandwidth(there.bandwidth), FormatBandwidth(back.bandwidth)));
    }
  }
  bool has_switch = false;
  for (std::size_t a = 0; a < n; ++a) {
    if (!at_switch[a]) continue;
    has_switch = true;
    const Link* widest = nullptr;
    for (std::size_t b = 0; b < n; ++b) {
      const Link& link = topology.link(a, b);
      if (link.switched && (widest == nullptr || link.bandwidth > widest->bandwidth)) widest = &link;
    }
    svg += Line(places[a], centre, "nvlink", StrokeWidth(widest->bandwidth),
                fmt::format("{}: {}; nominally {}", topology.devices()[a].label, DescribeLink(*widest),
                            FormatBandwidth(widest->bandwidth)));
  }
  if (has_switch) {
    svg += fmt::format(
        "<rect class=\"hub\" x=\"{0}\" y=\"{1}\" width=\"110\" height=\"34\" rx=\"6\"/>"
        "<text x=\"{2}\" y=\"{3}\">NVSwitch</text>\n",
        centre.x - 55, centre.y - 17, centre.x, centre.y + 5);
  }
  const double radius = n <= 16 ? 34 : n <= 32 ? 20 : 11;
  for (std::size_t i = 0; i < n; ++i) {
    const TopologyDevice& device = topology.devices()[i];
    // Many devices stand too close for their names, which go outside.
    const double out = n <= 16 ? 0 : (radius + 22) / kRadius;
    const Point text{places[i].x + (places[i].x - centre.x) * out, places[i].y + (places[i].y - centre.y) * out};
    svg += fmt::format(
        "<circle class=\"device\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"><title>{}</title></circle>"
        "<text x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>\n",
        places[i].x, places[i].y, radius,
        Html(fmt::format("{}: {}, NUMA node {}", device.label, device.name, Number(device.numa_node, -1))), text.x,
        text.y + 4, n <= 16 ? "" : " class=\"small\"", Html(device.label));
    if (device.numa_node >= 0 && n <= 16) {
      svg += fmt::format("<text class=\"small\" x=\"{:.1f}\" y=\"{:.1f}\">node {}</text>\n", text.x, text.y + 18,
                         device.numa_node);
    }
  }
  return svg + "</svg>\n";
}

std::string HtmlMatrix(const Topology& topology) {
  std::string html = "<table class=\"matrix\"><thead><tr><th></th>";
  for (const TopologyDevice& device : topology.devices())
    html += fmt::format("<th scope=\"col\">{}</th>", Html(device.label));
  html += "</tr></thead><tbody>\n";
  for (std::size_t from = 0; from < topology.size(); ++from) {
    html += fmt::format("<tr><th scope=\"row\">{}</th>", Html(topology.devices()[from].label));
    for (std::size_t to = 0; to < topology.size(); ++to) {
      const Link& link = topology.link(from, to);
      html += fmt::format("<td class=\"{}\">{}", CssClass(link), LinkCell(link));
      if (from != to && link.bandwidth > 0) html += fmt::format("<br><small>{:.1f}</small>", link.bandwidth / 1e9);
      html += "</td>";
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table>\n";
}

Rows DeviceRows(const Topology& topology) {
  Rows rows{{"DEVICE", "NAME", "MEMORY", "SMS/THREADS", "COPY ENGINES", "NUMA NODE", "SOCKET", "PCI BUS ID", "HOST MEMORY"}};
  for (const TopologyDevice& device : topology.devices()) {
    rows.push_back({device.label, device.name, device.memory > 0 ? FormatBytes(device.memory) : "-",
                    Number(device.processors, 0), Number(device.copy_engines, 0), Number(device.numa_node, -1),
                    Number(device.socket, -1), device.pci_bus_id.empty() ? "-" : device.pci_bus_id,
                    DescribeHostPath(device)});
  }
  return rows;
}

/// All that is known of the only device, in place of links that there are none of.
std::string OnlyDevice(const Topology& topology) {
  const TopologyDevice& device = topology.devices().front();
  const bool host = device.kind == DeviceKind::kHost;
  const auto known = [](int value, int unknown) {
    return Number(value, unknown) == "-" ? "not known" : Number(value, unknown);
  };
  std::string html = "<dl>\n";
  const auto row = [&](std::string_view name, std::string_view text) {
    html += fmt::format("<dt>{}</dt><dd>{}</dd>\n", name, Html(text));
  };
  row("Machine", topology.name().empty() ? "not known" : topology.name());
  row("Device", fmt::format("{}: {}", device.label, device.name));
  row("Kind", host ? "a host device: a group of CPU threads that work on one part of the graph" : "a GPU");
  row(host ? "Threads" : "Multiprocessors", known(device.processors, 0));
  row("Memory", device.memory == 0 ? "not known" : FormatBytes(device.memory) + (host ? ", the machine's" : ""));
  if (const double bandwidth = topology.link(0, 0).bandwidth; bandwidth > 0) {
    row("Memory bandwidth", fmt::format("{} of a copy, nominally", FormatBandwidth(bandwidth)));
  }
  row("Host memory", host ? "its own: nothing is copied to it" : DescribeHostPath(device));
  if (!host) row("Copy engines", known(device.copy_engines, 0));
  row("NUMA node", known(device.numa_node, -1));
  row("Socket", known(device.socket, -1));
  if (!device.pci_bus_id.empty()) row("PCI bus id", device.pci_bus_id);
  html += "</dl>\n<p>One device sends no messages: there are no links to draw and no ring to choose. ";
  html += host ? "<code>chatty topology --devices host:4</code> shows four that share the cores"
               : "<code>chatty topology --devices cuda:4@0</code> shows four that share the GPU";
  return html + ", and <code>chatty topology --measure</code> with either what messages cost there.</p>\n";
}

}  // namespace

std::string HtmlTable(const Rows& rows) {
  std::string html = "<div class=\"scroll\"><table><thead><tr>";
  for (const std::string& title : rows.front()) html += fmt::format("<th scope=\"col\">{}</th>", Html(title));
  html += "</tr></thead><tbody>\n";
  for (std::size_t i = 1; i < rows.size(); ++i) {
    html += "<tr>";
    for (const std::string& cell : rows[i]) {
      const bool number = !cell.empty() && cell.front() >= '0' && cell.front() <= '9';
      html += fmt::format("<td{}>{}</td>", number ? " class=\"number\"" : "", Html(cell));
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string Columns(const Rows& rows) {
  std::vector<std::size_t> widths;
  for (const std::vector<std::string>& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += fmt::format("{:<{}}  ", row[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

std::string LinkCell(const Link& link) {
  std::string cell(LookOf(link).cell);
  if (link.type == LinkType::kSelf) return cell;
  if (link.type == LinkType::kNvlink) {
    cell += (link.switched ? "S" : "") + (link.nvlinks > 0 ? fmt::format("{}", link.nvlinks) : "?");
  }
  return link.peer_access ? cell : cell + '*';
}

std::string DescribeLink(const Link& link) {
  if (link.type != LinkType::kNvlink) return std::string(LookOf(link).words);
  const std::string generation = link.nvlink_version > 0 ? fmt::format(" of generation {}", link.nvlink_version) : "";
  if (link.nvlinks == 0) return fmt::format("NVLinks{}, nobody says how many: one at least", generation);
  return fmt::format("{} NVLink{}{}{}", link.nvlinks, link.nvlinks == 1 ? "" : "s", generation,
                     link.switched ? ", through an NVSwitch" : "");
}

std::string FormatBandwidth(double bytes_per_s) {
  if (bytes_per_s <= 0) return "unknown";
  if (bytes_per_s >= 1e12) return fmt::format("{:.2f} TB/s", bytes_per_s / 1e12);
  return fmt::format("{:.1f} GB/s", bytes_per_s / 1e9);
}

std::string TopologyText(const Topology& topology, const Rings& rings, std::string_view heading) {
  std::string text = fmt::format("{}\n\n{}\n", heading, Columns(DeviceRows(topology)));
  if (topology.size() == 1) return text + "one device: no links, for it sends no messages\n";
  Rows matrix{{""}};
  for (const TopologyDevice& device : topology.devices()) matrix.front().push_back(device.label);
  for (std::size_t from = 0; from < topology.size(); ++from) {
    matrix.push_back({topology.devices()[from].label});
    for (std::size_t to = 0; to < topology.size(); ++to) matrix.back().push_back(LinkCell(topology.link(from, to)));
  }
  text += Columns(matrix);

  const std::vector<LegendLine> legend = Legend(topology);
  text += "\nLinks, with nominal bandwidths in one direction:\n";
  for (const LegendLine& entry : legend) text += fmt::format("  {:<5} {}{}\n", entry.cell, entry.words, Span(entry));
  if (HasStaged(legend)) text += fmt::format("  {:<5} {}\n", "*", kStaged);

  text += fmt::format("\nring            {}\n", DescribeOrder(topology, rings.best, " > "));
  text += fmt::format("narrowest hop   {}\n", DescribeNarrowest(topology, rings.best));
  text += fmt::format("found by        {}\n", DescribeSearch(rings));
  if (!rings.disjoint.empty()) {
    text += fmt::format("at once         {}:\n", DescribeCount(rings));
    for (const Ring& ring : rings.disjoint) {
      text += fmt::format("                {}, {}\n", DescribeOrder(topology, ring, " > "), FormatBandwidth(ring.bandwidth));
    }
  }
  return text;
}

std::string TopologyPage(const Topology& topology, const Rings& rings, std::string_view heading, std::string_view costs) {
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{0}</title>\n<style>{1}</style>\n"
      "</head>\n<body>\n<h1>{0}</h1>\n<p class=\"note\">Bandwidths of links are nominal, in one direction: what their "
      "standards "
      "say, not what was measured. Made by chatty {2}.</p>\n",
      Html(heading), kTopologyStyle, Html(Version()));
  if (topology.size() == 1) return html + OnlyDevice(topology) + std::string(costs) + "</body>\n</html>\n";
  html += Graph(topology, rings);
  html +=
      "<p class=\"note\">Wider lines are faster links, in the colours of the list below; dashed ones have no peer access; "
      "the "
      "band is the ring. Pointing at a line or a device shows more.</p>\n";
  html += fmt::format("<h2>Ring</h2>\n<p>{}</p>\n<p>Narrowest hop: {}. Found by {}.</p>\n",
                      Html(DescribeOrder(topology, rings.best, " → ")), Html(DescribeNarrowest(topology, rings.best)),
                      Html(DescribeSearch(rings)));
  if (!rings.disjoint.empty()) {
    html += fmt::format("<p>{}:</p>\n<ul>\n", Html(DescribeCount(rings)));
    for (const Ring& ring : rings.disjoint) {
      html += fmt::format("<li>{}, {}</li>\n", Html(DescribeOrder(topology, ring, " → ")), FormatBandwidth(ring.bandwidth));
    }
    html += "</ul>\n";
  }

  const std::vector<LegendLine> legend = Legend(topology);
  html += "<h2>Links</h2>\n<div class=\"scroll\">" + HtmlMatrix(topology) + "</div>\n";
  html += "<p class=\"note\">From the row's device to the column's; below, GB/s.</p>\n<ul>\n";
  for (const LegendLine& entry : legend) {
    html += fmt::format("<li><b class=\"{}\">{}</b> {}{}</li>\n", entry.css, entry.cell, Html(entry.words), Span(entry));
  }
  if (HasStaged(legend)) html += fmt::format("<li><b>*</b> {}</li>\n", kStaged);
  html += "</ul>\n<h2>Devices</h2>\n" + HtmlTable(DeviceRows(topology));
  html += costs;
  return html + "</body>\n</html>\n";
}

}  // namespace chatty::cli
