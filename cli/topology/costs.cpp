#include "chatty/cli/topology/costs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "chatty/cli/text.h"
#include "chatty/cli/times.h"
#include "chatty/cli/topology/page.h"
#include "chatty/comm/transport.h"

namespace chatty::cli {
namespace {

constexpr std::array<std::size_t, 6> kSizes = {64, 4 << 10, 64 << 10, 1 << 20, 16 << 20, 256 << 20};
/// Largest size that is shown or drawn.
constexpr double kLargest = 256 << 20;
/// Messages are blocks of memory, or entries of an index and a value of four bytes each.
constexpr double kEntryBytes = 8;

constexpr std::array kLoads = {MeasuredLoad::kAlone, MeasuredLoad::kAllToAll};
constexpr std::array kEncodingsShown = {Encoding::kDense, Encoding::kSparse, Encoding::kBitmap};

std::string SizeText(double bytes) { return FormatBytes(static_cast<std::uint64_t>(std::llround(std::max(bytes, 0.0)))); }
std::string AlphaText(const Cost& cost) { return fmt::format("{:.2f}", cost.alpha_us); }
/// GB/s that beta stands for.
std::string BandwidthText(const Cost& cost) {
  return cost.beta_us_per_byte > 0 ? fmt::format("{:.2f}", 1e-3 / cost.beta_us_per_byte) : "-";
}
std::string GammaText(const Cost& cost) { return fmt::format("{:.4f}", cost.gamma_us_per_entry * 1e3); }
std::string PercentText(double error) { return fmt::format("{:.0f} %", error * 100); }
std::string PathName(const CostModel& model, std::size_t path) {
  return path == CostModel::kNoPath ? "none" : model.paths()[path];
}

template <class Body>
void ForEachPair(const CostModel& model, const Body& body) {
  for (std::size_t from = 0; from < model.devices(); ++from) {
    for (std::size_t to = 0; to < model.devices(); ++to) {
      if (from != to) body(from, to);
    }
  }
}
/// The same, and then each device with itself, which stands for its broadcasts.
template <class Body>
void ForEachPairAndBroadcast(const CostModel& model, const Body& body) {
  ForEachPair(model, body);
  for (std::size_t device = 0; device < model.devices(); ++device) body(device, device);
}

/// The same costs of those paths alone that `auto` may take between such devices: others are no choice, however fast.
CostModel Choosable(const CostModel& model, DeviceKind kind) {
  std::vector<std::size_t> taken;
  std::vector<std::string> names;
  for (std::size_t path = 0; path < model.paths().size(); ++path) {
    if (!AutoMayTake(model.paths()[path], kind)) continue;
    taken.push_back(path);
    names.push_back(model.paths()[path]);
  }
  CostModel choosable(std::move(names), model.devices());
  for (std::size_t path = 0; path < taken.size(); ++path) {
    ForEachPair(model, [&](std::size_t from, std::size_t to) {
      for (const Encoding encoding : kEncodingsShown) {
        for (const MeasuredLoad load : kLoads) {
          choosable.set_cost(path, from, to, encoding, load, model.cost(taken[path], from, to, encoding, load));
        }
      }
    });
  }
  return choosable;
}

std::string PairName(const Topology& topology, std::size_t from, std::size_t to) {
  return fmt::format("{} > {}", topology.devices()[from].label, from == to ? "all" : topology.devices()[to].label);
}

/// What stands behind a figure for which there is no measurement so large.
constexpr std::string_view kBeyond = "~";
std::string Beyond(bool extrapolated) { return std::string(extrapolated ? kBeyond : ""); }

/// What moves: blocks of memory, or entries of an index and a value.
struct Contents {
  std::string_view name;
  Encoding encoding;
  double entry;  ///< bytes of one; 0: none
};
constexpr Contents kBlocks{"blocks", Encoding::kDense, 0}, kEntries{"entries", Encoding::kSparse, kEntryBytes};

bool Extrapolates(const CostModel& model, const Crossover& crossover, std::size_t from, std::size_t to,
                  const Contents& contents, MeasuredLoad load) {
  return model.KnownCost(crossover.before, from, to, contents.encoding, load).Extrapolates(crossover.bytes) ||
         model.KnownCost(crossover.after, from, to, contents.encoding, load).Extrapolates(crossover.bytes);
}

/// "uva, from 1.23 MiB staged": who is fastest, by size.
std::string DescribeCrossovers(const CostModel& choosable, std::size_t from, std::size_t to, const Contents& contents,
                               MeasuredLoad load) {
  const std::vector<Crossover> crossovers =
      choosable.Crossovers(from, to, contents.encoding, load, contents.entry, kLargest);
  std::size_t first = CostModel::kNoPath;
  if (!crossovers.empty()) {
    first = crossovers.front().before;
  } else {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t path = 0; path < choosable.paths().size(); ++path) {
      const double us = choosable.KnownCost(path, from, to, contents.encoding, load).Us(4096, 0);
      if (us < std::exchange(least, std::min(least, us))) first = path;
    }
  }
  std::string text = PathName(choosable, first);
  for (const Crossover& crossover : crossovers) {
    text += fmt::format(", from {}{} {}", SizeText(crossover.bytes),
                        Beyond(Extrapolates(choosable, crossover, from, to, contents, load)),
                        PathName(choosable, crossover.after));
  }
  return text;
}

/// How far samples of blocks went, alone; empty for nominal costs.
std::string DescribeReach(const CostModel& model) {
  std::vector<std::pair<double, std::vector<std::string>>> reaches;  // of paths, the least of all pairs
  double most = 0;
  for (std::size_t path = 0; path < model.paths().size(); ++path) {
    double least = std::numeric_limits<double>::infinity();
    ForEachPair(model, [&](std::size_t from, std::size_t to) {
      const Cost& cost = model.cost(path, from, to, Encoding::kDense);
      if (cost.samples > 0) least = std::min(least, cost.largest);
    });
    if (!std::isfinite(least)) continue;
    const auto found = std::find_if(reaches.begin(), reaches.end(), [&](const auto& reach) { return reach.first == least; });
    if (found != reaches.end()) {
      found->second.push_back(model.paths()[path]);
    } else {
      reaches.emplace_back(least, std::vector<std::string>{model.paths()[path]});
    }
    most = std::max(most, least);
  }
  std::sort(reaches.begin(), reaches.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  if (reaches.empty() || reaches.back().first >= kLargest) return "";
  std::string text = "measured up to ";
  if (reaches.size() == 1) {
    text += SizeText(most);
  } else {
    for (std::size_t i = 0; i < reaches.size(); ++i) {
      text += fmt::format("{}{} on {}", i == 0 ? "" : "; ", SizeText(reaches[i].first), fmt::join(reaches[i].second, ", "));
    }
  }
  return fmt::format("{}. {}: beyond that, where the lines merely go on", text, kBeyond);
}

using Rows = std::vector<std::vector<std::string>>;

/// A pair that stands for all with the same kind of link; or a device with itself, whose broadcasts stand for all.
struct ShownPair {
  std::string name;
  std::size_t from, to;
};
constexpr std::string_view kOneOfAKind = "one pair for each kind of link (--json has all)";

std::vector<ShownPair> PairsShown(const Topology& topology, const CostModel& model) {
  std::vector<ShownPair> pairs;
  std::set<std::string> kinds;
  ForEachPair(model, [&](std::size_t from, std::size_t to) {
    const std::string kind = LinkCell(topology.link(from, to));
    if (kinds.insert(kind).second) pairs.push_back({fmt::format("{} {}", PairName(topology, from, to), kind), from, to});
  });
  return pairs;
}

/// The lines of all paths.
Rows CostRows(const Topology& topology, const CostModel& model, MeasuredLoad load) {
  std::vector<ShownPair> pairs = PairsShown(topology, model);
  pairs.push_back({PairName(topology, 0, 0), 0, 0});
  Rows rows;
  for (std::size_t path = 0; path < model.paths().size(); ++path) {
    std::string path_name = model.paths()[path];
    for (const ShownPair& pair : pairs) {
      std::string name = pair.name;
      for (const Encoding encoding : kEncodingsShown) {
        const Cost& cost = model.cost(path, pair.from, pair.to, encoding, load);
        if (!cost.exists()) continue;
        rows.push_back({std::exchange(path_name, ""), std::exchange(name, ""), std::string(EncodingName(encoding)),
                        AlphaText(cost), BandwidthText(cost), GammaText(cost)});
        if (!model.measured()) continue;
        rows.back().push_back(PercentText(cost.error));
        rows.back().push_back(SizeText(cost.largest));
      }
    }
  }
  return rows;
}
std::vector<std::string> CostTitles(const CostModel& model) {
  std::vector<std::string> titles{"PATH", "PAIRS", "ENCODING", "ALPHA us", "GB/s", "GAMMA ns"};
  if (model.measured()) {
    for (const char* title : {"ERROR", "MEASURED TO"}) titles.emplace_back(title);
  }
  return titles;
}

/// Which path is the fastest for blocks of some sizes.
Rows ChoiceRows(const Topology& topology, const CostModel& choosable) {
  Rows rows;
  for (const ShownPair& pair : PairsShown(topology, choosable)) {
    rows.push_back({pair.name});
    for (const std::size_t bytes : kSizes) {
      const std::size_t best = choosable.Best(pair.from, pair.to, Encoding::kDense, bytes, 0);
      const bool beyond =
          best != CostModel::kNoPath &&
          choosable.cost(best, pair.from, pair.to, Encoding::kDense).Extrapolates(static_cast<double>(bytes));
      rows.back().push_back(PathName(choosable, best) + Beyond(beyond));
    }
  }
  return rows;
}

std::vector<std::string> ChoiceTitles() {
  std::vector<std::string> titles{"PAIRS"};
  for (const std::size_t size : kSizes) titles.push_back(FormatBytes(size));
  return titles;
}

/// What the table of choices is not.
constexpr std::string_view kAlone =
    "Of paths that --comm auto takes, for a block alone; runs choose beside all buffers that are under way at once, and "
    "leave "
    "a pair's zero-copy path for a gain above the error of these costs alone";

Rows CrossoverRows(const Topology& topology, const CostModel& choosable) {
  Rows rows;
  for (const ShownPair& pair : PairsShown(topology, choosable)) {
    std::string name = pair.name;
    for (const Contents& contents : {kBlocks, kEntries}) {
      rows.push_back({std::exchange(name, ""), std::string(contents.name),
                      DescribeCrossovers(choosable, pair.from, pair.to, contents, MeasuredLoad::kAlone)});
    }
  }
  return rows;
}

std::string ProbeValue(const ProbeResult& probe) {
  if (probe.unit == "us") return fmt::format("{:.3f} us", probe.value);
  if (probe.unit == "bytes/s") return FormatBandwidth(probe.value);
  return fmt::format("{:.3f} G/s", probe.value / 1e9);
}

/// One row a name: pairs and devices have nearly the same figures where the machine is even.
Rows ProbeRows(const Calibration& calibration) {
  std::map<std::string, std::pair<const ProbeResult*, const ProbeResult*>> extremes;
  for (const ProbeResult& probe : calibration.probes) {
    const auto [at, is_new] = extremes.try_emplace(probe.name, &probe, &probe);
    auto& [least, most] = at->second;
    if (probe.value < least->value) least = &probe;
    if (probe.value > most->value) most = &probe;
  }
  Rows rows;
  rows.reserve(extremes.size());
  for (const auto& [name, range] : extremes) rows.push_back({name, ProbeValue(*range.first), ProbeValue(*range.second)});
  return rows;
}

std::string DescribeSource(const CostReport& report) {
  if (!report.calibration.model.measured())
    return "nominal: from the links' bandwidths and published latencies, nothing is measured";
  return fmt::format("{}measured in {:.1f} s{}{}", report.kept ? "kept, " : "", report.calibration.seconds,
                     report.calibration.quick ? ", quickly" : "",
                     report.file.empty() ? "" : fmt::format(", in {}", report.file));
}

// --------------------------------------------------------------------- JSON ----

void AddCost(Json& json, const Cost& cost) {
  json["alpha_us"] = cost.alpha_us;
  json["beta_us_per_byte"] = cost.beta_us_per_byte;
  json["gamma_us_per_entry"] = cost.gamma_us_per_entry;
  if (cost.samples == 0) return;
  json["error"] = cost.error;
  json["samples"] = cost.samples;
  json["measured_up_to_bytes"] = static_cast<std::uint64_t>(cost.largest);
}

// --------------------------------------------------------------------- page ----

std::string HtmlTable(const std::vector<std::string>& titles, const Rows& rows) {
  std::string html = "<div class=\"scroll\"><table><thead><tr>";
  for (const std::string& title : titles) html += fmt::format("<th scope=\"col\">{}</th>", Html(title));
  html += "</tr></thead><tbody>\n";
  for (const std::vector<std::string>& row : rows) {
    html += "<tr>";
    for (const std::string& cell : row) {
      const bool number = !cell.empty() && cell.front() >= '0' && cell.front() <= '9';
      html += fmt::format("<td{}>{}</td>", number ? " class=\"number\"" : "", Html(cell));
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

/// Time over size, both axes logarithmic.
class CostChart {
 public:
  /// `choosable`: those of the paths that may overtake each other.
  CostChart(const CostModel& model, const CostModel& choosable, std::size_t from, std::size_t to, const Contents& contents,
            MeasuredLoad load)
      : model_(model), choosable_(choosable), from_(from), to_(to), contents_(contents), load_(load) {
    double least = 1e300, most = 0;
    for (std::size_t path = 0; path < model.paths().size(); ++path) {
      if (!Of(path).exists()) continue;
      least = std::min(least, Us(path, kSmallest));
      most = std::max(most, Us(path, kLargest));
    }
    low_ = std::floor(std::log10(std::max(least, 1e-3)));
    high_ = std::max(std::ceil(std::log10(std::max(most, 1e-3))), low_ + 1);
  }

  std::string Draw(const std::string& label) const {
    std::string svg = fmt::format("<svg class=\"chart\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n", kWidth,
                                  kHeight, Html(label));
    for (double decade = low_; decade <= high_; ++decade) {
      const double y = Y(std::pow(10, decade));
      svg += fmt::format(
          "<line x1=\"{}\" y1=\"{:.1f}\" x2=\"{}\" y2=\"{:.1f}\"/><text class=\"small y\" x=\"{}\" y=\"{:.1f}\">{}</text>\n",
          kLeft, y, kRight, y, kLeft - 6, y + 4, Decade(decade));
    }
    for (double bytes = kSmallest; bytes <= kLargest; bytes *= 16) {
      svg += fmt::format(
          "<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\"/><text class=\"small\" x=\"{0:.1f}\" "
          "y=\"{3}\">{4}</text>\n",
          X(bytes), kTop, kBottom, kBottom + 16, Short(bytes));
    }
    std::vector<std::pair<double, std::size_t>> ends;  // where names go
    for (std::size_t path = 0; path < model_.paths().size(); ++path) {
      if (!Of(path).exists()) continue;
      svg += fmt::format("<polyline class=\"p{}{}\" points=\"", path % 8, path >= 8 ? " slower" : "");
      for (double step = 0; step <= kSteps; ++step) {
        const double bytes = kSmallest * std::pow(kLargest / kSmallest, step / kSteps);
        svg += fmt::format("{:.1f},{:.1f} ", X(bytes), Y(Us(path, bytes)));
      }
      svg += fmt::format("\"><title>{}</title></polyline>\n", Html(model_.paths()[path]));
      ends.emplace_back(Y(Us(path, kLargest)), path);
    }
    std::sort(ends.begin(), ends.end());
    double last = kTop - kNameHeight;
    for (const auto& [y, path] : ends) {
      last = std::max(y, last + kNameHeight);  // names do not lie on each other
      svg += fmt::format("<text class=\"name p{}\" x=\"{}\" y=\"{:.1f}\">{}</text>\n", path % 8, kRight + 8, last + 4,
                         Html(model_.paths()[path]));
    }
    bool above = false;
    for (const Crossover& crossover :
         choosable_.Crossovers(from_, to_, contents_.encoding, load_, contents_.entry, kLargest)) {
      if (crossover.bytes < kSmallest) continue;
      const std::string &after = choosable_.paths()[crossover.after], &before = choosable_.paths()[crossover.before];
      const double x = X(crossover.bytes), y = Y(Us(model_.Find(after), crossover.bytes));
      svg += fmt::format(
          "<line class=\"crossover\" x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\"/><circle cx=\"{0:.1f}\" "
          "cy=\"{3:.1f}\" r=\"4\">"
          "<title>from {4}: {5} rather than {6}</title></circle><text class=\"small\" x=\"{0:.1f}\" y=\"{7}\">{4}</text>\n",
          x, kTop, kBottom, y, SizeText(crossover.bytes), Html(after), Html(before), above ? kTop - 16 : kTop - 4);
      above = !above;  // neighbours' labels alternate
    }
    return svg + "</svg>\n";
  }

 private:
  static constexpr double kWidth = 760, kHeight = 420, kLeft = 70, kRight = 660, kTop = 34, kBottom = 380;
  static constexpr double kSmallest = 4, kSteps = 104, kNameHeight = 14;

  const Cost& Of(std::size_t path) const { return model_.KnownCost(path, from_, to_, contents_.encoding, load_); }
  double Us(std::size_t path, double bytes) const {
    return Of(path).Us(bytes, contents_.entry > 0 ? bytes / contents_.entry : 0);
  }
  static double X(double bytes) {
    return kLeft + (kRight - kLeft) * std::log2(bytes / kSmallest) / std::log2(kLargest / kSmallest);
  }
  double Y(double us) const {
    const double share = (std::log10(std::max(us, 1e-3)) - low_) / (high_ - low_);
    return kBottom - (kBottom - kTop) * std::clamp(share, 0.0, 1.0);
  }
  static std::string Decade(double decade) {
    if (decade < 0) return fmt::format("{:.0f} ns", std::pow(10, decade + 3));
    if (decade < 3) return fmt::format("{:.0f} µs", std::pow(10, decade));
    if (decade < 6) return fmt::format("{:.0f} ms", std::pow(10, decade - 3));
    return fmt::format("{:.0f} s", std::pow(10, decade - 6));
  }
  static std::string Short(double bytes) {
    if (bytes < 1024) return fmt::format("{:.0f} B", bytes);
    return bytes < 1048576 ? fmt::format("{:.0f} KiB", bytes / 1024) : fmt::format("{:.0f} MiB", bytes / 1048576);
  }

  const CostModel &model_, &choosable_;
  std::size_t from_, to_;
  const Contents& contents_;
  MeasuredLoad load_;
  double low_ = 0, high_ = 1;
};

}  // namespace

std::string CostsText(const Topology& topology, const CostReport& report) {
  const CostModel& model = report.calibration.model;
  const CostModel choosable = Choosable(model, topology.devices().front().kind);
  std::string text = fmt::format("\nCosts, {}.\n", DescribeSource(report));
  if (const std::string reach = DescribeReach(model); !reach.empty()) text += fmt::format("The lines are {}.\n", reach);
  const auto add = [&](const std::string& title, const std::vector<std::string>& head, Rows rows) {
    if (!head.empty()) rows.insert(rows.begin(), head);
    text += fmt::format("\n{}:\n{}", title, Columns(rows));
  };
  add("Fastest for a block of memory, alone", ChoiceTitles(), ChoiceRows(topology, choosable));
  text += fmt::format("{}. Tables show {}.\n", kAlone, kOneOfAKind);
  for (const MeasuredLoad load : kLoads) {
    if (load != MeasuredLoad::kAlone && !model.measured()) continue;
    add(fmt::format("T = alpha + bytes / bandwidth + entries * gamma, {}", LoadName(load)), CostTitles(model),
        CostRows(topology, model, load));
  }
  add("Crossovers, alone, of blocks and of entries of 8 bytes", {}, CrossoverRows(topology, choosable));
  if (!model.measured()) return text;

  const auto& probes = report.calibration.probes;
  const bool one_for_all = model.devices() > 2 && std::none_of(probes.begin(), probes.end(),
                                                               [](const ProbeResult& probe) { return probe.from == 2; });
  add(one_for_all ? "Memory and launches, of one device and one pair that stand for all"
                  : "Memory and launches, over all devices",
      {"PROBE", "LEAST", "MOST"}, ProbeRows(report.calibration));
  for (const std::string& what : report.calibration.notes) text += fmt::format("\nnote: {}\n", what);
  return text;
}

Json CostsJson(const Topology& topology, const CostReport& report) {
  const CostModel& model = report.calibration.model;
  const CostModel choosable = Choosable(model, topology.devices().front().kind);
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
  for (std::size_t path = 0; path < model.paths().size(); ++path) {
    ForEachPairAndBroadcast(model, [&](std::size_t from, std::size_t to) {
      for (const Encoding encoding : kEncodingsShown) {
        for (const MeasuredLoad load : kLoads) {
          const Cost& cost = model.cost(path, from, to, encoding, load);
          if (!cost.exists()) continue;
          Json one = {{"path", model.paths()[path]},
                      {"encoding", EncodingName(encoding)},
                      {"from", from},
                      {"to", from == to ? Json(nullptr) : Json(to)},
                      {"load", LoadName(load)}};
          AddCost(one, cost);
          json["costs"].push_back(std::move(one));
        }
      }
    });
  }
  ForEachPair(model, [&](std::size_t from, std::size_t to) {
    for (const std::size_t bytes : kSizes) {
      const std::size_t best = choosable.Best(from, to, Encoding::kDense, bytes, 0);
      const bool none = best == CostModel::kNoPath;
      const bool beyond = !none && choosable.cost(best, from, to, Encoding::kDense).Extrapolates(static_cast<double>(bytes));
      json["choices"].push_back({{"from", from},
                                 {"to", to},
                                 {"bytes", bytes},
                                 {"path", none ? Json(nullptr) : Json(choosable.paths()[best])},
                                 {"extrapolated", beyond}});
    }
    for (const MeasuredLoad load : kLoads) {
      for (const Contents& contents : {kBlocks, kEntries}) {
        for (const Crossover& crossover :
             choosable.Crossovers(from, to, contents.encoding, load, contents.entry, kLargest)) {
          json["crossovers"].push_back({{"from", from},
                                        {"to", to},
                                        {"load", LoadName(load)},
                                        {"encoding", EncodingName(contents.encoding)},
                                        {"bytes", crossover.bytes},
                                        {"before", choosable.paths()[crossover.before]},
                                        {"after", choosable.paths()[crossover.after]},
                                        {"extrapolated", Extrapolates(choosable, crossover, from, to, contents, load)}});
        }
      }
    }
  });
  if (!model.measured()) return json;
  json["probes"] = Json::array();
  for (const ProbeResult& probe : report.calibration.probes) {
    const auto device = [](std::int32_t index) { return index == ProbeResult::kNone ? Json(nullptr) : Json(index); };
    json["probes"].push_back({{"name", probe.name},
                              {"from", device(probe.from)},
                              {"to", device(probe.to)},
                              {"value", probe.value},
                              {"unit", probe.unit}});
  }
  json["notes"] = report.calibration.notes;
  return json;
}

std::string CostsSection(const Topology& topology, const CostReport& report) {
  const CostModel& model = report.calibration.model;
  const CostModel choosable = Choosable(model, topology.devices().front().kind);
  std::string html = fmt::format(
      "<h2>Costs</h2>\n<p class=\"note\">{}. From the begin of packing until the receiver has "
      "unpacked.</p>\n",
      Html(DescribeSource(report)));
  if (const std::string reach = DescribeReach(model); !reach.empty()) {
    html += fmt::format("<p class=\"note\">The lines are {}.</p>\n", Html(reach));
  }
  html += "<h3>Fastest for a block of memory, alone</h3>\n" + HtmlTable(ChoiceTitles(), ChoiceRows(topology, choosable));
  html += fmt::format("<p class=\"note\">{}.</p>\n", Html(kAlone));
  for (const ShownPair& pair : PairsShown(topology, model)) {
    for (const auto& [contents, load, words] :
         {std::tuple(&kBlocks, MeasuredLoad::kAlone, "a block of memory, alone"),
          std::tuple(&kEntries, MeasuredLoad::kAlone, "entries of 8 bytes, gathered and scattered, alone"),
          std::tuple(&kBlocks, MeasuredLoad::kAllToAll, "a block of memory, while each device sends to each other")}) {
      const std::string label = fmt::format("{}: {}", pair.name, words);
      html += fmt::format("<figure>\n{}<figcaption>{}. {}.</figcaption>\n</figure>\n",
                          CostChart(model, choosable, pair.from, pair.to, *contents, load).Draw("Time over size, " + label),
                          Html(label), Html(DescribeCrossovers(choosable, pair.from, pair.to, *contents, load)));
    }
  }
  html +=
      "<p class=\"note\">Time over size, both logarithmic, of one pair for each kind of link; circles are where another "
      "path that --comm auto takes becomes the fastest.</p>\n";
  for (const MeasuredLoad load : kLoads) {
    html += fmt::format("<details><summary>T = alpha + bytes / bandwidth + entries · gamma, {}</summary>\n{}</details>\n",
                        LoadName(load), HtmlTable(CostTitles(model), CostRows(topology, model, load)));
  }
  if (!report.calibration.probes.empty()) {
    html += fmt::format("<details><summary>Memory and launches</summary>\n{}</details>\n",
                        HtmlTable({"PROBE", "LEAST", "MOST"}, ProbeRows(report.calibration)));
  }
  for (const std::string& note : report.calibration.notes) html += fmt::format("<p class=\"note\">{}</p>\n", Html(note));
  return html;
}

}  // namespace chatty::cli
