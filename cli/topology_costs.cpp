#include "chatty/cli/topology_costs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "chatty/cli/topology_page.h"

namespace chatty::cli {
namespace {

constexpr std::array<std::size_t, 6> kSizes = {64, 4 << 10, 64 << 10, 1 << 20, 16 << 20, 256 << 20};
/// Largest size that is shown or drawn.
constexpr double kLargest = 256 << 20;
/// Messages are blocks of memory, or entries of an index and a value of four bytes each.
constexpr double kEntryBytes = 8;

constexpr std::array<LoadCorner, kLoadCorners> kCorners = {LoadCorner::kAlone, LoadCorner::kFanOut, LoadCorner::kRing,
                                                           LoadCorner::kAllToAll};

std::string SizeText(double bytes) { return FormatBytes(static_cast<std::uint64_t>(std::llround(std::max(bytes, 0.0)))); }
std::string AlphaText(const Cost& cost) { return fmt::format("{:.2f}", cost.alpha_us); }
/// GB/s that beta stands for.
std::string BandwidthText(const Cost& cost) {
  return cost.beta_us_per_byte > 0 ? fmt::format("{:.2f}", 1e-3 / cost.beta_us_per_byte) : "-";
}
std::string GammaText(const Cost& cost) { return fmt::format("{:.4f}", cost.gamma_us_per_message * 1e3); }
std::string PercentText(double error) { return fmt::format("{:.0f} %", error * 100); }
std::string TimeText(double us) {
  return us < 1000  ? fmt::format("{:.1f} us", us)
         : us < 1e6 ? fmt::format("{:.2f} ms", us / 1e3)
                    : fmt::format("{:.2f} s", us / 1e6);
}

bool IsBroken(const CostFit& fit) { return fit.split < kLargest && fit.small != fit.large; }

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

std::string PairName(const Topology& topology, std::size_t from, std::size_t to) {
  return fmt::format("{} > {}", topology.devices()[from].label, topology.devices()[to].label);
}

/// "uva, from 1.23 MiB staged": who is fastest, by size.
std::string DescribeCrossovers(const CostModel& model, std::size_t from, std::size_t to, LoadCorner corner, double entry) {
  const std::vector<Crossover> crossovers = model.Crossovers(from, to, corner, entry, kLargest);
  const auto load = CostModel::LoadOf(corner, model.devices());
  const std::size_t first =
      crossovers.empty() ? model.Best(from, to, 4096, entry > 0 ? 512 : 0, load) : crossovers.front().before;
  std::string text = PathName(model, first);
  for (const Crossover& crossover : crossovers) {
    text += fmt::format(", from {} {}", SizeText(crossover.bytes), PathName(model, crossover.after));
  }
  return text;
}

std::vector<std::vector<std::string>> FitRows(const Topology& topology, const CostModel& model, LoadCorner corner) {
  std::vector<std::vector<std::string>> rows;
  ForEachPair(model, [&](std::size_t from, std::size_t to) {
    for (std::size_t path = 0; path < model.paths().size(); ++path) {
      const CostFit& fit = model.fit(path, from, to, corner);
      if (!fit.exists()) continue;
      const bool broken = IsBroken(fit);
      const auto add = [&](const Cost& cost, const std::string& sizes) {
        rows.push_back({PairName(topology, from, to), model.paths()[path], sizes, AlphaText(cost), BandwidthText(cost),
                        GammaText(cost), PercentText(fit.median_error), PercentText(fit.worst_error),
                        PercentText(fit.worst_large_error)});
      };
      add(fit.small, broken ? "below " + SizeText(fit.split) : "all");
      if (broken) add(fit.large, "from " + SizeText(fit.split));
    }
  });
  return rows;
}
const std::vector<std::string> kFitTitles = {"PAIR",     "PATH",         "SIZES",       "ALPHA us",    "GB/s",
                                             "GAMMA ns", "MEDIAN ERROR", "WORST ERROR", "ABOVE 64 KiB"};

/// Each pattern of choices with the pairs that have it, in the order of the first pair.
std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>> Choices(const Topology& topology,
                                                                                   const CostModel& model) {
  std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>> choices;
  ForEachPair(model, [&](std::size_t from, std::size_t to) {
    std::vector<std::string> names;
    for (const std::size_t bytes : kSizes) {
      const std::size_t best = model.Best(from, to, bytes, 0);
      names.push_back(PathName(model, best));
    }
    const auto found = std::find_if(choices.begin(), choices.end(), [&](const auto& entry) { return entry.first == names; });
    if (found == choices.end()) {
      choices.emplace_back(std::move(names), std::vector<std::string>{PairName(topology, from, to)});
    } else {
      found->second.push_back(PairName(topology, from, to));
    }
  });
  return choices;
}

std::vector<std::vector<std::string>> ChoiceRows(const Topology& topology, const CostModel& model, std::size_t shown) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& [names, pairs] : Choices(topology, model)) {
    std::vector<std::string> row{pairs.size() <= shown ? fmt::format("{}", fmt::join(pairs, ", "))
                                                       : fmt::format("{} and {} more", pairs.front(), pairs.size() - 1)};
    row.insert(row.end(), names.begin(), names.end());
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<std::string> ChoiceTitles() {
  std::vector<std::string> titles{"PAIRS"};
  for (const std::size_t size : kSizes) titles.push_back(FormatBytes(size));
  return titles;
}

/// The best and the worst of all pairs under each load, and of broadcasts.
std::vector<std::vector<std::string>> LoadRows(const CostModel& model) {
  std::vector<std::vector<std::string>> rows;
  const auto add = [&](std::size_t path, std::string_view load, const std::vector<const CostFit*>& fits) {
    if (fits.empty()) return;
    std::vector<std::string> row{model.paths()[path], std::string(load)};
    for (const double bytes : {64.0, 65536.0, 4194304.0}) {
      const auto [least, most] = std::minmax_element(
          fits.begin(), fits.end(), [&](const CostFit* a, const CostFit* b) { return a->Us(bytes, 0) < b->Us(bytes, 0); });
      const std::string low = TimeText((*least)->Us(bytes, 0)), high = TimeText((*most)->Us(bytes, 0));
      row.push_back(low == high ? low : fmt::format("{} to {}", low, high));
    }
    double worst = 0;
    for (const CostFit* fit : fits) worst = std::max(worst, fit->worst_error);
    row.push_back(PercentText(worst));
    rows.push_back(std::move(row));
  };
  for (std::size_t path = 0; path < model.paths().size(); ++path) {
    for (const LoadCorner corner : kCorners) {
      std::vector<const CostFit*> fits;
      ForEachPair(model, [&](std::size_t from, std::size_t to) {
        if (const CostFit& fit = model.fit(path, from, to, corner); fit.exists()) fits.push_back(&fit);
      });
      add(path, LoadCornerName(corner), fits);
      fits.clear();
      ForEachPair(model, [&](std::size_t from, std::size_t to) {
        if (const CostFit& fit = model.swept_fit(path, from, to, corner); fit.exists()) fits.push_back(&fit);
      });
      add(path, fmt::format("{}, swept", LoadCornerName(corner)), fits);
    }
    for (const bool all : {false, true}) {
      std::vector<const CostFit*> fits;
      for (std::size_t from = 0; from < model.devices(); ++from) {
        if (const CostFit& fit = model.broadcast_fit(path, from, all); fit.exists()) fits.push_back(&fit);
      }
      add(path, all ? "broadcasts by all" : "broadcast", fits);
    }
  }
  return rows;
}
const std::vector<std::string> kLoadTitles = {"PATH", "LOAD", "64 bytes", "64 KiB", "4 MiB", "WORST ERROR"};

std::string ProbeValue(const ProbeResult& probe) {
  if (probe.unit == "us") return fmt::format("{:.3f} us", probe.value);
  if (probe.unit == "bytes/s") return FormatBandwidth(probe.value);
  return fmt::format("{:.3f} G/s", probe.value / 1e9);
}

/// One row a name: pairs and devices have nearly the same figures where the machine is even.
std::vector<std::vector<std::string>> ProbeRows(const Calibration& calibration) {
  std::map<std::string, std::pair<const ProbeResult*, const ProbeResult*>> extremes;
  for (const ProbeResult& probe : calibration.probes) {
    const auto [at, is_new] = extremes.try_emplace(probe.name, &probe, &probe);
    auto& [least, most] = at->second;
    if (probe.value < least->value) least = &probe;
    if (probe.value > most->value) most = &probe;
  }
  std::vector<std::vector<std::string>> rows;
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

Json CostJson(const Cost& cost) {
  return {{"alpha_us", cost.alpha_us},
          {"beta_us_per_byte", cost.beta_us_per_byte},
          {"gamma_us_per_message", cost.gamma_us_per_message}};
}

void AddFit(Json& json, const CostFit& fit) {
  json["small"] = CostJson(fit.small);
  json["large"] = CostJson(fit.large);
  json["split_bytes"] = std::isfinite(fit.split) ? Json(fit.split) : Json(nullptr);
  if (fit.samples == 0) return;
  json["median_error"] = fit.median_error;
  json["worst_error"] = fit.worst_error;
  json["worst_error_above_64_kib"] = fit.worst_large_error;
  json["samples"] = fit.samples;
}

// --------------------------------------------------------------------- page ----

std::string HtmlTable(const std::vector<std::string>& titles, const std::vector<std::vector<std::string>>& rows) {
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
  CostChart(const CostModel& model, std::size_t from, std::size_t to, LoadCorner corner, double entry)
      : model_(model), from_(from), to_(to), corner_(corner), entry_(entry) {
    double least = 1e300, most = 0;
    for (std::size_t path = 0; path < model.paths().size(); ++path) {
      if (!Fit(path).exists()) continue;
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
      if (!Fit(path).exists()) continue;
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
    for (const Crossover& crossover : model_.Crossovers(from_, to_, corner_, entry_, kLargest)) {
      if (crossover.bytes < kSmallest) continue;
      const double x = X(crossover.bytes), y = Y(Us(crossover.after, crossover.bytes));
      svg += fmt::format(
          "<line class=\"crossover\" x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\"/><circle cx=\"{0:.1f}\" "
          "cy=\"{3:.1f}\" r=\"4\">"
          "<title>from {4}: {5} rather than {6}</title></circle><text class=\"small\" x=\"{0:.1f}\" y=\"{7}\">{4}</text>\n",
          x, kTop, kBottom, y, SizeText(crossover.bytes), Html(model_.paths()[crossover.after]),
          Html(model_.paths()[crossover.before]), above ? kTop - 16 : kTop - 4);
      above = !above;  // neighbours' labels alternate
    }
    return svg + "</svg>\n";
  }

 private:
  static constexpr double kWidth = 760, kHeight = 420, kLeft = 70, kRight = 660, kTop = 34, kBottom = 380;
  static constexpr double kSmallest = 4, kSteps = 104, kNameHeight = 14;

  const CostFit& Fit(std::size_t path) const {
    const CostFit& fit = model_.fit(path, from_, to_, corner_);
    return fit.exists() ? fit : model_.fit(path, from_, to_);
  }
  double Us(std::size_t path, double bytes) const { return Fit(path).Us(bytes, entry_ > 0 ? bytes / entry_ : 0); }
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

  const CostModel& model_;
  std::size_t from_, to_;
  LoadCorner corner_;
  double entry_;
  double low_ = 0, high_ = 1;
};

}  // namespace

std::string CostsText(const Topology& topology, const CostReport& report) {
  const CostModel& model = report.calibration.model;
  std::string text = fmt::format("\nCosts, {}.\n\nFastest for a block of memory, alone:\n", DescribeSource(report));
  std::vector<std::vector<std::string>> rows = ChoiceRows(topology, model, 4);
  rows.insert(rows.begin(), ChoiceTitles());
  text += Columns(rows);
  if (!model.measured()) return text;

  text += "\nT = alpha + bytes / bandwidth + messages * gamma, alone:\n";
  rows = FitRows(topology, model, LoadCorner::kAlone);
  rows.insert(rows.begin(), kFitTitles);
  text += Columns(rows);
  text += "\nCrossovers, alone, of blocks and of entries of 8 bytes:\n";
  rows.clear();
  ForEachPair(model, [&](std::size_t from, std::size_t to) {
    rows.push_back({PairName(topology, from, to), "blocks", DescribeCrossovers(model, from, to, LoadCorner::kAlone, 0)});
    rows.push_back({"", "entries", DescribeCrossovers(model, from, to, LoadCorner::kAlone, kEntryBytes)});
  });
  text += Columns(rows);
  text += "\nBeside others, blocks, over all pairs:\n";
  rows = LoadRows(model);
  rows.insert(rows.begin(), kLoadTitles);
  text += Columns(rows);
  const auto& probes = report.calibration.probes;
  const bool one_for_all = model.devices() > 2 && std::none_of(probes.begin(), probes.end(),
                                                               [](const ProbeResult& probe) { return probe.from == 2; });
  text += one_for_all ? "\nMemory, flags and launches, of one device and one pair that stand for all:\n"
                      : "\nMemory, flags and launches, over all devices:\n";
  rows = ProbeRows(report.calibration);
  rows.insert(rows.begin(), {"PROBE", "LEAST", "MOST"});
  text += Columns(rows);
  for (const std::string& note : report.calibration.notes) text += fmt::format("\nnote: {}\n", note);
  return text;
}

Json CostsJson(const CostReport& report) {
  const CostModel& model = report.calibration.model;
  Json json;
  json["measured"] = model.measured();
  if (model.measured()) {
    json["quick"] = report.calibration.quick;
    json["seconds"] = report.calibration.seconds;
    json["kept"] = report.kept;
    json["file"] = report.file.empty() ? Json(nullptr) : Json(report.file);
  }
  json["paths"] = model.paths();
  for (const char* list : {"fits", "swept", "broadcasts", "choices", "crossovers"}) json[list] = Json::array();
  for (std::size_t path = 0; path < model.paths().size(); ++path) {
    ForEachPair(model, [&](std::size_t from, std::size_t to) {
      for (const LoadCorner corner : kCorners) {
        for (const bool swept : {false, true}) {
          const CostFit& fit = swept ? model.swept_fit(path, from, to, corner) : model.fit(path, from, to, corner);
          if (!fit.exists()) continue;
          Json one = {{"path", model.paths()[path]}, {"from", from}, {"to", to}, {"load", LoadCornerName(corner)}};
          AddFit(one, fit);
          json[swept ? "swept" : "fits"].push_back(std::move(one));
        }
      }
    });
    for (std::size_t from = 0; from < model.devices(); ++from) {
      for (const bool all : {false, true}) {
        const CostFit& fit = model.broadcast_fit(path, from, all);
        if (!fit.exists()) continue;
        Json one = {{"path", model.paths()[path]}, {"from", from}, {"load", all ? "all-to-all" : "alone"}};
        AddFit(one, fit);
        json["broadcasts"].push_back(std::move(one));
      }
    }
  }
  ForEachPair(model, [&](std::size_t from, std::size_t to) {
    for (const std::size_t bytes : kSizes) {
      const std::size_t best = model.Best(from, to, bytes, 0);
      json["choices"].push_back({{"from", from},
                                 {"to", to},
                                 {"bytes", bytes},
                                 {"path", best == CostModel::kNoPath ? Json(nullptr) : Json(model.paths()[best])}});
    }
    for (const LoadCorner corner : kCorners) {
      if (corner == LoadCorner::kFanOut && model.devices() == 2) continue;
      for (const double entry : {0.0, kEntryBytes}) {
        for (const Crossover& crossover : model.Crossovers(from, to, corner, entry, kLargest)) {
          json["crossovers"].push_back({{"from", from},
                                        {"to", to},
                                        {"load", LoadCornerName(corner)},
                                        {"bytes_per_message", entry > 0 ? Json(entry) : Json(nullptr)},
                                        {"bytes", crossover.bytes},
                                        {"before", model.paths()[crossover.before]},
                                        {"after", model.paths()[crossover.after]}});
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
  std::string html = fmt::format(
      "<h2>Costs</h2>\n<p class=\"note\">{}. From the begin of packing until the receiver has "
      "unpacked.</p>\n",
      Html(DescribeSource(report)));
  html += "<h3>Fastest for a block of memory, alone</h3>\n" + HtmlTable(ChoiceTitles(), ChoiceRows(topology, model, 12));
  std::vector<std::string> drawn;  // kinds of link
  ForEachPair(model, [&](std::size_t from, std::size_t to) {
    const std::string cell = LinkCell(topology.link(from, to));
    if (std::find(drawn.begin(), drawn.end(), cell) != drawn.end()) return;
    drawn.push_back(cell);
    for (const auto& [corner, entry, words] :
         {std::tuple(LoadCorner::kAlone, 0.0, "a block of memory, alone"),
          std::tuple(LoadCorner::kAlone, kEntryBytes, "entries of 8 bytes, gathered and scattered, alone"),
          std::tuple(LoadCorner::kAllToAll, 0.0, "a block of memory, while each device sends to each other")}) {
      const std::string label = fmt::format("{} ({}): {}", PairName(topology, from, to), cell, words);
      html += fmt::format("<figure>\n{}<figcaption>{}. {}.</figcaption>\n</figure>\n",
                          CostChart(model, from, to, corner, entry).Draw("Time over size, " + label), Html(label),
                          Html(DescribeCrossovers(model, from, to, corner, entry)));
    }
  });
  html +=
      "<p class=\"note\">Time over size, both logarithmic, of one pair for each kind of link; circles are where another "
      "path "
      "becomes the fastest.</p>\n";
  for (const LoadCorner corner : kCorners) {
    const std::vector<std::vector<std::string>> rows = FitRows(topology, model, corner);
    if (rows.empty()) continue;
    html += fmt::format("<details><summary>T = alpha + bytes / bandwidth + messages · gamma, {}</summary>\n{}</details>\n",
                        LoadCornerName(corner), HtmlTable(kFitTitles, rows));
  }
  html += fmt::format("<details><summary>Beside others, blocks, over all pairs</summary>\n{}</details>\n",
                      HtmlTable(kLoadTitles, LoadRows(model)));
  if (!report.calibration.probes.empty()) {
    html += fmt::format("<details><summary>Memory, flags and launches</summary>\n{}</details>\n",
                        HtmlTable({"PROBE", "LEAST", "MOST"}, ProbeRows(report.calibration)));
  }
  for (const std::string& note : report.calibration.notes) html += fmt::format("<p class=\"note\">{}</p>\n", Html(note));
  return html;
}

}  // namespace chatty::cli
