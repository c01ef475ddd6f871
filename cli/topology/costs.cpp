#include "chatty/cli/topology/costs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "chatty/cli/cost_curves.h"
#include "chatty/cli/text.h"
#include "chatty/cli/topology/page.h"

namespace chatty::cli {
namespace {

constexpr std::array<std::size_t, 6> kSizes = {64, 4 << 10, 64 << 10, 1 << 20, 16 << 20, 256 << 20};
constexpr std::string_view kChoices =
    "Of paths that --comm auto takes, alone; runs choose beside all buffers that are under way at once, and leave a pair's "
    "zero-copy path for a gain above the error of these costs alone";

/// A table, whose first row has the titles of its columns.
struct Table {
  std::string title;
  Rows rows;
};

/// A pair that stands for all with the same kind of link; or a device with itself, for its broadcasts.
struct ShownPair {
  std::string name;
  std::size_t from, to;
};

template <class Body>
void ForEachPair(std::size_t devices, const Body& body) {
  for (std::size_t from = 0; from < devices; ++from) {
    for (std::size_t to = 0; to < devices; ++to) {
      if (from != to) body(from, to);
    }
  }
}

std::string PairName(const Topology& topology, std::size_t from, std::size_t to) {
  return fmt::format("{} > {}", topology.devices()[from].label, from == to ? "all" : topology.devices()[to].label);
}

std::vector<ShownPair> PairsShown(const Topology& topology) {
  std::vector<ShownPair> pairs;
  std::set<std::string> kinds;
  ForEachPair(topology.size(), [&](std::size_t from, std::size_t to) {
    const std::string kind = LinkCell(topology.link(from, to));
    if (kinds.insert(kind).second) pairs.push_back({fmt::format("{} {}", PairName(topology, from, to), kind), from, to});
  });
  return pairs;
}

/// The lines of all paths, of one load.
Table CostTable(const CostModel& model, const std::vector<ShownPair>& pairs, MeasuredLoad load) {
  Table table{fmt::format("T = alpha + bytes / bandwidth + entries * gamma, {}", LoadName(load)),
              {{"PATH", "PAIRS", "ALPHA us", "GB/s", "GB/s OF BITMAPS", "GAMMA ns: ENTRY", "PLACE"}}};
  if (model.measured()) table.rows.front().insert(table.rows.front().end(), {"ERROR", "MEASURED TO"});
  const auto bandwidth = [](double us_per_byte) { return fmt::format("{:.2f}", 1e-3 / us_per_byte); };
  const auto gamma = [](double us) { return fmt::format("{:.4f}", us * 1e3); };
  for (std::size_t path = 0; path < model.paths().size(); ++path) {
    std::string path_name = model.paths()[path];
    for (const ShownPair& pair : pairs) {
      const Cost& cost = model.cost(path, pair.from, pair.to, load);
      if (!cost.exists()) continue;
      table.rows.push_back({std::exchange(path_name, ""), pair.name, fmt::format("{:.2f}", cost.alpha_us),
                            bandwidth(cost.Beta(Encoding::kDense)), bandwidth(cost.Beta(Encoding::kBitmap)),
                            gamma(cost.entry_us), gamma(cost.place_us)});
      if (!model.measured()) continue;
      table.rows.back().push_back(fmt::format("{:.0f} %", cost.error * 100));
      table.rows.back().push_back(FormatBytes(static_cast<std::uint64_t>(cost.largest)));
    }
  }
  return table;
}

Table CrossoverTable(const CostModel& model, const std::vector<ShownPair>& pairs) {
  Table table{"Crossovers, alone, of blocks and of entries of 8 bytes", {{"PAIRS", "BUFFERS", "FASTEST"}}};
  for (const ShownPair& pair : pairs) {
    const auto fastest = [&](Encoding encoding) {
      return DescribeCrossovers(CurvesOf(model, pair.name, pair.from, pair.to, encoding));
    };
    table.rows.push_back({pair.name, "blocks", fastest(Encoding::kDense)});
    table.rows.push_back({"", "entries", fastest(Encoding::kSparse)});
  }
  return table;
}

/// What text and page tell.
std::vector<Table> Tables(const Topology& topology, const CostModel& model) {
  std::vector<ShownPair> pairs = PairsShown(topology);
  std::vector<Table> tables{CrossoverTable(model, pairs)};
  pairs.push_back({PairName(topology, 0, 0), 0, 0});
  tables.push_back(CostTable(model, pairs, MeasuredLoad::kAlone));
  if (model.measured()) tables.push_back(CostTable(model, pairs, MeasuredLoad::kAllToAll));
  return tables;
}

std::string DescribeSource(const CostReport& report) {
  if (!report.calibration.model.measured())
    return "nominal: from the links' bandwidths and published latencies, nothing is measured";
  return fmt::format("{}measured in {:.1f} s{}{}; ~: longer than any buffer that was measured", report.kept ? "kept, " : "",
                     report.calibration.seconds, report.calibration.quick ? ", quickly" : "",
                     report.file.empty() ? "" : fmt::format(", in {}", report.file));
}

}  // namespace

std::string CostsText(const Topology& topology, const CostReport& report) {
  std::string text = fmt::format("\nCosts, {}.\n{}. Tables show one pair for each kind of link (--json has all).\n",
                                 DescribeSource(report), kChoices);
  for (const Table& table : Tables(topology, report.calibration.model)) {
    text += fmt::format("\n{}:\n{}", table.title, Columns(table.rows));
  }
  for (const std::string& what : report.calibration.notes) text += fmt::format("\nnote: {}\n", what);
  return text;
}

Json CostsJson(const CostReport& report) {
  const CostModel& model = report.calibration.model;
  Json json{{"measured", model.measured()}, {"paths", model.paths()}};
  if (model.measured()) {
    json["quick"] = report.calibration.quick;
    json["seconds"] = report.calibration.seconds;
    json["kept"] = report.kept;
    json["file"] = report.file.empty() ? Json(nullptr) : Json(report.file);
    json["notes"] = report.calibration.notes;
  }
  for (const char* list : {"costs", "choices", "crossovers"}) json[list] = Json::array();
  model.ForEachCost([&](std::size_t path, std::size_t from, std::size_t to, MeasuredLoad load, const Cost& cost) {
    for (const Encoding encoding : kAllEncodings) {
      Json& one = json["costs"].emplace_back(Json{{"path", model.paths()[path]},
                                                  {"encoding", EncodingName(encoding)},
                                                  {"from", from},
                                                  {"to", from == to ? Json(nullptr) : Json(to)},
                                                  {"load", LoadName(load)},
                                                  {"alpha_us", cost.alpha_us},
                                                  {"beta_us_per_byte", cost.Beta(encoding)},
                                                  {"gamma_us_per_entry", cost.Gamma(encoding)}});
      if (!model.measured()) continue;
      one["error"] = cost.error;
      one["measured_up_to_bytes"] = static_cast<std::uint64_t>(cost.largest);
    }
  });
  ForEachPair(model.devices(), [&](std::size_t from, std::size_t to) {
    for (const std::size_t bytes : kSizes) {
      const std::size_t best = model.Best(from, to, {.bytes = bytes, .payload = true}).path;
      const bool none = !model.Joins(best, from, to);
      const bool extrapolated = !none && model.cost(best, from, to).Extrapolates(static_cast<double>(bytes));
      json["choices"].push_back({{"from", from},
                                 {"to", to},
                                 {"bytes", bytes},
                                 {"path", none ? Json(nullptr) : Json(model.paths()[best])},
                                 {"extrapolated", extrapolated}});
    }
    for (const MeasuredLoad load : kAllLoads) {
      for (const Encoding encoding : {Encoding::kDense, Encoding::kSparse}) {
        for (const CostCurves::Crossing& crossing : CurvesOf(model, "", from, to, encoding, load).crossings) {
          json["crossovers"].push_back({{"from", from},
                                        {"to", to},
                                        {"load", LoadName(load)},
                                        {"encoding", EncodingName(encoding)},
                                        {"bytes", crossing.bytes},
                                        {"before", crossing.before},
                                        {"after", crossing.after},
                                        {"extrapolated", crossing.extrapolated}});
        }
      }
    }
  });
  return json;
}

std::string CostsSection(const Topology& topology, const CostReport& report) {
  const CostModel& model = report.calibration.model;
  const auto css = [&](std::string_view path) { return fmt::format("p{}", model.Find(path) % 8); };
  std::string html = "<h2>Costs</h2>\n";
  const auto note = [&](std::string_view text) { html += fmt::format("<p class=\"note\">{}.</p>\n", Html(text)); };
  note(DescribeSource(report) + ". From the begin of packing until the receiver has unpacked");
  for (const ShownPair& pair : PairsShown(topology)) {
    const CostCurves curves = CurvesOf(model, pair.name, pair.from, pair.to);
    std::string legend;
    for (const CostLine& line : curves.lines) legend += fmt::format("<b class=\"{}\">{}</b> ", css(line.path), line.path);
    html += fmt::format("<figure class=\"chart\">\n{}<figcaption>{}{}: {}.</figcaption>\n</figure>\n",
                        DrawCurves(curves, css), legend, Html(curves.pair), Html(DescribeCrossovers(curves)));
  }
  note("Microseconds of a block of memory, alone, over its size; dotted: another path becomes the fastest");
  for (const Table& table : Tables(topology, model)) {
    html += fmt::format("<h3>{}</h3>\n{}", Html(table.title), HtmlTable(table.rows));
  }
  note(kChoices);
  for (const std::string& what : report.calibration.notes) note(what);
  return html;
}

}  // namespace chatty::cli
