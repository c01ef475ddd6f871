#include "chatty/cli/topology/costs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "chatty/cli/compare/svg.h"
#include "chatty/cli/cost_curves.h"
#include "chatty/cli/text.h"
#include "chatty/cli/topology/page.h"

namespace chatty::cli {
namespace {

constexpr std::array<std::size_t, 6> kSizes = {64, 4 << 10, 64 << 10, 1 << 20, 16 << 20, 256 << 20};
constexpr CurveKind kBlocks{}, kEntries{Encoding::kSparse, 8};  ///< an index and a value of four bytes each

std::string BytesText(double bytes) { return FormatBytes(static_cast<std::uint64_t>(std::llround(std::max(bytes, 0.0)))); }

/// What stands behind a figure for which there is no measurement so large.
constexpr std::string_view kBeyond = "~";
std::string Beyond(bool extrapolated) { return std::string(extrapolated ? kBeyond : ""); }

template <class Body>
void ForEachPair(const CostModel& model, const Body& body) {
  for (std::size_t from = 0; from < model.devices(); ++from) {
    for (std::size_t to = 0; to < model.devices(); ++to) {
      if (from != to) body(from, to);
    }
  }
}

std::string PairName(const Topology& topology, std::size_t from, std::size_t to) {
  return fmt::format("{} > {}", topology.devices()[from].label, from == to ? "all" : topology.devices()[to].label);
}

/// The fastest path for a block of memory, alone, and whether nothing so large was measured on it.
std::pair<std::string, bool> Fastest(const CostModel& model, std::size_t from, std::size_t to, std::size_t bytes) {
  const std::size_t best = model.Best(from, to, Encoding::kDense, bytes, 0);
  if (best == CostModel::kNoPath) return {"none", false};
  return {model.paths()[best], model.cost(best, from, to, Encoding::kDense).Extrapolates(static_cast<double>(bytes))};
}

/// "uva, from 1.23 MiB staged": who is fastest, by size.
std::string DescribeCrossovers(const CostCurves& curves) {
  std::string text = curves.first;
  for (const CostCurves::Crossing& crossing : curves.crossings) {
    text += fmt::format(", from {}{} {}", BytesText(crossing.bytes), Beyond(crossing.extrapolated), crossing.after);
  }
  return text;
}

/// How far samples of blocks went, alone; empty for nominal costs.
std::string DescribeReach(const CostModel& model) {
  std::map<double, std::vector<std::string>, std::greater<>> reaches;  // of paths, the least of all pairs
  for (std::size_t path = 0; path < model.paths().size(); ++path) {
    double least = std::numeric_limits<double>::infinity();
    ForEachPair(model, [&](std::size_t from, std::size_t to) {
      const Cost& cost = model.cost(path, from, to, Encoding::kDense);
      if (cost.samples > 0) least = std::min(least, cost.largest);
    });
    if (std::isfinite(least)) reaches[least].push_back(model.paths()[path]);
  }
  if (reaches.empty() || reaches.rbegin()->first >= kMostCurve) return "";
  std::vector<std::string> parts;
  for (const auto& [bytes, paths] : reaches) {
    parts.push_back(BytesText(bytes));
    if (reaches.size() > 1) parts.back() += fmt::format(" on {}", fmt::join(paths, ", "));
  }
  return fmt::format("The lines are measured up to {}. {}: beyond that, where the lines merely go on.",
                     fmt::join(parts, "; "), kBeyond);
}

std::string DescribeSource(const CostReport& report) {
  if (!report.calibration.model.measured())
    return "nominal: from the links' bandwidths and published latencies, nothing is measured";
  return fmt::format("{}measured in {:.1f} s{}{}", report.kept ? "kept, " : "", report.calibration.seconds,
                     report.calibration.quick ? ", quickly" : "",
                     report.file.empty() ? "" : fmt::format(", in {}", report.file));
}

// ------------------------------------------------------------------- tables ----

/// A table, whose first row has the titles of its columns.
struct Table {
  std::string title;
  Rows rows;
};

/// A pair that stands for all with the same kind of link; or a device with itself, whose broadcasts stand for all.
struct ShownPair {
  std::string name;
  std::size_t from, to;
};

std::vector<ShownPair> PairsShown(const Topology& topology, const CostModel& model) {
  std::vector<ShownPair> pairs;
  std::set<std::string> kinds;
  ForEachPair(model, [&](std::size_t from, std::size_t to) {
    const std::string kind = LinkCell(topology.link(from, to));
    if (kinds.insert(kind).second) pairs.push_back({fmt::format("{} {}", PairName(topology, from, to), kind), from, to});
  });
  return pairs;
}

/// Which path is the fastest for blocks of some sizes.
Table ChoiceTable(const CostModel& model, const std::vector<ShownPair>& pairs) {
  Table table{"Fastest for a block of memory, alone", {{"PAIRS"}}};
  for (const std::size_t size : kSizes) table.rows.front().push_back(FormatBytes(size));
  for (const ShownPair& pair : pairs) {
    std::vector<std::string>& row = table.rows.emplace_back(std::vector{pair.name});
    for (const std::size_t bytes : kSizes) {
      const auto [path, extrapolated] = Fastest(model, pair.from, pair.to, bytes);
      row.push_back(path + Beyond(extrapolated));
    }
  }
  return table;
}

/// The lines of all paths.
Table CostTable(const Topology& topology, const CostModel& model, std::vector<ShownPair> pairs, MeasuredLoad load) {
  pairs.push_back({PairName(topology, 0, 0), 0, 0});
  Table table{fmt::format("T = alpha + bytes / bandwidth + entries * gamma, {}", LoadName(load)),
              {{"PATH", "PAIRS", "ENCODING", "ALPHA us", "GB/s", "GAMMA ns"}}};
  if (model.measured()) table.rows.front().insert(table.rows.front().end(), {"ERROR", "MEASURED TO"});
  for (std::size_t path = 0; path < model.paths().size(); ++path) {
    std::string path_name = model.paths()[path];
    for (const ShownPair& pair : pairs) {
      std::string name = pair.name;
      for (const Encoding encoding : {Encoding::kDense, Encoding::kSparse, Encoding::kBitmap}) {
        const Cost& cost = model.cost(path, pair.from, pair.to, encoding, load);
        if (!cost.exists()) continue;
        std::vector<std::string>& row = table.rows.emplace_back(
            std::vector<std::string>{std::exchange(path_name, ""), std::exchange(name, ""),
                                     std::string(EncodingName(encoding)), fmt::format("{:.2f}", cost.alpha_us)});
        row.push_back(cost.beta_us_per_byte > 0 ? fmt::format("{:.2f}", 1e-3 / cost.beta_us_per_byte) : "-");
        row.push_back(fmt::format("{:.4f}", cost.gamma_us_per_entry * 1e3));
        if (!model.measured()) continue;
        row.push_back(fmt::format("{:.0f} %", cost.error * 100));
        row.push_back(BytesText(cost.largest));
      }
    }
  }
  return table;
}

Table CrossoverTable(const CostModel& model, const std::vector<ShownPair>& pairs) {
  Table table{"Crossovers, alone, of blocks and of entries of 8 bytes", {{"PAIRS", "BUFFERS", "FASTEST"}}};
  for (const ShownPair& pair : pairs) {
    std::string name = pair.name;
    for (const auto& [what, kind] : {std::pair("blocks", kBlocks), std::pair("entries", kEntries)}) {
      table.rows.push_back(
          {std::exchange(name, ""), what, DescribeCrossovers(CurvesOf(model, pair.name, pair.from, pair.to, kind))});
    }
  }
  return table;
}

/// What the table of choices is not.
constexpr std::string_view kAlone =
    "Of paths that --comm auto takes, for a block alone; runs choose beside all buffers that are under way at once, and "
    "leave a pair's zero-copy path for a gain above the error of these costs alone";

// --------------------------------------------------------------------- page ----

std::string TimeText(double us) {
  return us < 1e3   ? fmt::format("{:g} µs", us)
         : us < 1e6 ? fmt::format("{:g} ms", us / 1e3)
                    : fmt::format("{:g} s", us / 1e6);
}

/// Time over size, both axes logarithmic.
std::string CostChart(const CostModel& model, const CostCurves& curves) {
  constexpr double kWidth = 760, kHeight = 420, kLeft = 70, kRight = 660, kTop = 34, kBottom = 380, kNameHeight = 14;
  double low = std::numeric_limits<double>::infinity(), high = 0;
  for (const CostLine& line : curves.lines) {
    low = std::min(low, line.points.front().second);
    high = std::max(high, line.points.back().second);
  }
  Svg svg(kWidth, kHeight, "Time over size, " + curves.pair);
  const Scale y = Scale::Log(low, high, kBottom, kTop);
  const auto x = [](double bytes) {
    return kLeft + (kRight - kLeft) * std::log2(bytes / kLeastCurve) / std::log2(kMostCurve / kLeastCurve);
  };
  for (const double us : y.Ticks()) {
    svg.Line(kLeft, y(us), kRight, y(us), "grid");
    svg.Text(kLeft - 6, y(us) + 4, "small y", TimeText(us));
  }
  for (double bytes = kLeastCurve; bytes <= kMostCurve; bytes *= 16) {
    svg.Line(x(bytes), kTop, x(bytes), kBottom, "grid");
    svg.Text(x(bytes), kBottom + 16, "small", SizeText(bytes));
  }
  std::vector<std::pair<double, std::string>> ends;  // where names go
  for (const CostLine& line : curves.lines) {
    std::vector<std::pair<double, double>> points;
    for (const auto& [bytes, us] : line.points) points.emplace_back(x(bytes), y(us));
    svg.Path(points, fmt::format("line p{}", model.Find(line.path) % 8), line.path);
    ends.emplace_back(points.back().second, line.path);
  }
  std::sort(ends.begin(), ends.end());
  double last = kTop - kNameHeight;
  for (const auto& [end, path] : ends) {
    last = std::max(end, last + kNameHeight);  // names do not lie on each other
    svg.Text(kRight + 8, last + 4, fmt::format("name p{}", model.Find(path) % 8), path);
  }
  bool above = false;
  for (const CostCurves::Crossing& crossing : curves.crossings) {
    const std::string size = BytesText(crossing.bytes);
    svg.Line(x(crossing.bytes), kTop, x(crossing.bytes), kBottom, "crossover");
    svg.Dot(x(crossing.bytes), y(crossing.us), 4, "crossover",
            fmt::format("from {}: {} rather than {}", size, crossing.after, crossing.before));
    svg.Text(x(crossing.bytes), above ? kTop - 16 : kTop - 4, "small", size);
    above = !above;  // neighbours' labels alternate
  }
  return svg.Finish();
}

}  // namespace

std::string CostsText(const Topology& topology, const CostReport& report) {
  const CostModel& model = report.calibration.model;
  const std::vector<ShownPair> pairs = PairsShown(topology, model);
  std::string text = fmt::format("\nCosts, {}.\n", DescribeSource(report));
  if (const std::string reach = DescribeReach(model); !reach.empty()) text += reach + '\n';
  const auto add = [&](const Table& table) { text += fmt::format("\n{}:\n{}", table.title, Columns(table.rows)); };
  add(ChoiceTable(model, pairs));
  text += fmt::format("{}. Tables show one pair for each kind of link (--json has all).\n", kAlone);
  add(CostTable(topology, model, pairs, MeasuredLoad::kAlone));
  if (model.measured()) add(CostTable(topology, model, pairs, MeasuredLoad::kAllToAll));
  add(CrossoverTable(model, pairs));
  for (const std::string& what : report.calibration.notes) text += fmt::format("\nnote: {}\n", what);
  return text;
}

Json CostsJson(const CostReport& report) {
  const CostModel& model = report.calibration.model;
  const auto device = [](auto index, bool known) { return known ? Json(index) : Json(nullptr); };
  Json json;
  json["measured"] = model.measured();
  if (model.measured()) {
    json["quick"] = report.calibration.quick;
    json["seconds"] = report.calibration.seconds;
    json["kept"] = report.kept;
    json["file"] = report.file.empty() ? Json(nullptr) : Json(report.file);
  }
  json["paths"] = model.paths();
  for (const char* list : {"costs", "choices", "crossovers"}) json[list] = Json::array();
  const auto add_costs = [&](std::size_t path, std::size_t from, std::size_t to) {
    for (const Encoding encoding : kAllEncodings) {
      for (const MeasuredLoad load : kAllLoads) {
        const Cost& cost = model.cost(path, from, to, encoding, load);
        if (!cost.exists()) continue;
        Json& one = json["costs"].emplace_back(Json{{"path", model.paths()[path]},
                                                    {"encoding", EncodingName(encoding)},
                                                    {"from", from},
                                                    {"to", device(to, from != to)},
                                                    {"load", LoadName(load)},
                                                    {"alpha_us", cost.alpha_us},
                                                    {"beta_us_per_byte", cost.beta_us_per_byte},
                                                    {"gamma_us_per_entry", cost.gamma_us_per_entry}});
        if (cost.samples == 0) continue;
        one["error"] = cost.error;
        one["samples"] = cost.samples;
        one["measured_up_to_bytes"] = static_cast<std::uint64_t>(cost.largest);
      }
    }
  };
  for (std::size_t path = 0; path < model.paths().size(); ++path) {
    ForEachPair(model, [&](std::size_t from, std::size_t to) { add_costs(path, from, to); });
    for (std::size_t from = 0; from < model.devices(); ++from) add_costs(path, from, from);  // its broadcasts
  }
  ForEachPair(model, [&](std::size_t from, std::size_t to) {
    for (const std::size_t bytes : kSizes) {
      const auto [path, extrapolated] = Fastest(model, from, to, bytes);
      json["choices"].push_back({{"from", from},
                                 {"to", to},
                                 {"bytes", bytes},
                                 {"path", path == "none" ? Json(nullptr) : Json(path)},
                                 {"extrapolated", extrapolated}});
    }
    for (const MeasuredLoad load : kAllLoads) {
      for (CurveKind kind : {kBlocks, kEntries}) {
        kind.load = load;
        for (const CostCurves::Crossing& crossing : CurvesOf(model, "", from, to, kind).crossings) {
          json["crossovers"].push_back({{"from", from},
                                        {"to", to},
                                        {"load", LoadName(load)},
                                        {"encoding", EncodingName(kind.encoding)},
                                        {"bytes", crossing.bytes},
                                        {"before", crossing.before},
                                        {"after", crossing.after},
                                        {"extrapolated", crossing.extrapolated}});
        }
      }
    }
  });
  if (!model.measured()) return json;
  json["notes"] = report.calibration.notes;
  return json;
}

std::string CostsSection(const Topology& topology, const CostReport& report) {
  const CostModel& model = report.calibration.model;
  const std::vector<ShownPair> pairs = PairsShown(topology, model);
  std::string html = "<h2>Costs</h2>\n";
  const auto note = [&](std::string_view text) { html += fmt::format("<p class=\"note\">{}</p>\n", Html(text)); };
  const auto fold = [&](const Table& table) {
    html += fmt::format("<details><summary>{}</summary>\n{}</details>\n", Html(table.title), HtmlTable(table.rows));
  };
  note(DescribeSource(report) + ". From the begin of packing until the receiver has unpacked.");
  if (const std::string reach = DescribeReach(model); !reach.empty()) note(reach);
  const Table choices = ChoiceTable(model, pairs);
  html += fmt::format("<h3>{}</h3>\n{}", choices.title, HtmlTable(choices.rows));
  note(fmt::format("{}.", kAlone));
  CurveKind all_to_all = kBlocks;
  all_to_all.load = MeasuredLoad::kAllToAll;
  for (const ShownPair& pair : pairs) {
    for (const auto& [words, kind] : {std::pair("a block of memory, alone", kBlocks),
                                      std::pair("entries of 8 bytes, gathered and scattered, alone", kEntries),
                                      std::pair("a block of memory, while each device sends to each other", all_to_all)}) {
      const CostCurves curves = CurvesOf(model, fmt::format("{}: {}", pair.name, words), pair.from, pair.to, kind);
      html += fmt::format("<figure class=\"chart\">\n{}<figcaption>{}. {}.</figcaption>\n</figure>\n",
                          CostChart(model, curves), Html(curves.pair), Html(DescribeCrossovers(curves)));
    }
  }
  note(
      "Time over size, both logarithmic, of one pair for each kind of link; circles are where another path that --comm auto "
      "takes becomes the fastest.");
  for (const MeasuredLoad load : kAllLoads) fold(CostTable(topology, model, pairs, load));
  for (const std::string& what : report.calibration.notes) note(what);
  return html;
}

}  // namespace chatty::cli
