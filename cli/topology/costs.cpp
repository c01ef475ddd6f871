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

constexpr std::array<LoadCorner, kLoadCorners> kCorners = {LoadCorner::kAlone, LoadCorner::kFanOut, LoadCorner::kRing,
                                                           LoadCorner::kAllToAll};

constexpr std::array<BufferContent, kBufferContents> kContents = {BufferContent::kList,   BufferContent::kMarks,
                                                                  BufferContent::kValues, BufferContent::kMessages,
                                                                  BufferContent::kBits,   BufferContent::kPayload};

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
      for (const LoadCorner corner : kCorners)
        choosable.set_fit(path, from, to, corner, model.fit(taken[path], from, to, corner));
    });
  }
  return choosable;
}

std::string PairName(const Topology& topology, std::size_t from, std::size_t to) {
  return fmt::format("{} > {}", topology.devices()[from].label, topology.devices()[to].label);
}

/// What stands behind a figure for which there is no measurement so large.
constexpr std::string_view kBeyond = "~";
std::string Beyond(bool extrapolated) { return std::string(extrapolated ? kBeyond : ""); }

/// The fit that counts for a path and pair under a load.
const CostFit& FitOf(const CostModel& model, std::size_t path, std::size_t from, std::size_t to, LoadCorner corner) {
  const CostFit& fit = model.fit(path, from, to, corner);
  return fit.exists() ? fit : model.fit(path, from, to);
}

bool Extrapolates(const CostModel& model, const Crossover& crossover, std::size_t from, std::size_t to, LoadCorner corner) {
  return FitOf(model, crossover.before, from, to, corner).Extrapolates(crossover.bytes) ||
         FitOf(model, crossover.after, from, to, corner).Extrapolates(crossover.bytes);
}

/// "uva, from 1.23 MiB staged": who is fastest, by size.
std::string DescribeCrossovers(const CostModel& choosable, std::size_t from, std::size_t to, LoadCorner corner,
                               double entry) {
  const std::vector<Crossover> crossovers = choosable.Crossovers(from, to, corner, entry, kLargest);
  const auto load = CostModel::LoadOf(corner, choosable.devices());
  const std::size_t first =
      crossovers.empty() ? choosable.Best(from, to, 4096, entry > 0 ? 512 : 0, load) : crossovers.front().before;
  std::string text = PathName(choosable, first);
  for (const Crossover& crossover : crossovers) {
    text += fmt::format(", from {}{} {}", SizeText(crossover.bytes),
                        Beyond(Extrapolates(choosable, crossover, from, to, corner)), PathName(choosable, crossover.after));
  }
  return text;
}

/// How far samples of blocks and entries went, alone; empty for nominal costs.
std::string DescribeReach(const CostModel& model) {
  std::vector<std::pair<double, std::vector<std::string>>> reaches;  // of paths, the least of all pairs
  double most = 0;
  for (std::size_t path = 0; path < model.paths().size(); ++path) {
    double least = std::numeric_limits<double>::infinity();
    ForEachPair(model, [&](std::size_t from, std::size_t to) {
      if (const CostFit& fit = model.fit(path, from, to); fit.samples > 0) least = std::min(least, fit.largest);
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

/// Pairs that a table shows in one place, by what they have in common.
struct PairGroup {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  std::vector<std::vector<std::string>> rows;  ///< what is shown, without the pairs' names

  /// All names up to `most` of them, else one and how many more.
  std::string Name(const Topology& topology, std::size_t most) const {
    const std::string first = PairName(topology, pairs.front().first, pairs.front().second);
    if (pairs.size() > most) return fmt::format("{} and {} more", first, pairs.size() - 1);
    std::string name = first;
    for (std::size_t i = 1; i < pairs.size(); ++i) {
      name += ", " + PairName(topology, pairs[i].first, pairs[i].second);
    }
    return name;
  }
};

/// Pairs with the same rows, in the order of the first of each.
template <class Rows>
std::vector<PairGroup> GroupPairs(const CostModel& model, const Rows& rows_of) {
  std::vector<PairGroup> groups;
  std::map<std::vector<std::vector<std::string>>, std::size_t> known;
  ForEachPair(model, [&](std::size_t from, std::size_t to) {
    std::vector<std::vector<std::string>> rows = rows_of(from, to);
    const auto [at, is_new] = known.try_emplace(rows, groups.size());
    if (is_new) groups.push_back({{}, std::move(rows)});
    groups[at->second].pairs.emplace_back(from, to);
  });
  return groups;
}

/// More groups than this fill screens: then one pair of each kind of link stands for those like it.
constexpr std::size_t kMaxGroups = 8;
constexpr std::string_view kThinned = ", of one pair for each kind of link where pairs differ (--json has all)";

/// Without all but the first group of each kind of link, where there are too many; returns whether that was so.
bool Thin(const Topology& topology, std::vector<PairGroup>& groups) {
  if (groups.size() <= kMaxGroups) return false;
  std::set<std::string> seen;
  std::erase_if(groups, [&](PairGroup& group) {
    group.pairs.resize(1);
    return !seen.insert(LinkCell(topology.link(group.pairs[0].first, group.pairs[0].second))).second;
  });
  return true;
}

/// The rows of all groups, each beginning with its name or, from the second on, with nothing.
std::vector<std::vector<std::string>> NamedRows(const Topology& topology, const std::vector<PairGroup>& groups,
                                                std::size_t most) {
  std::vector<std::vector<std::string>> rows;
  for (const PairGroup& group : groups) {
    std::string name = group.Name(topology, most);
    for (const std::vector<std::string>& row : group.rows) {
      rows.push_back({std::exchange(name, "")});
      rows.back().insert(rows.back().end(), row.begin(), row.end());
    }
  }
  return rows;
}

/// The lines of a path, pairs with the same ones together.
std::vector<PairGroup> FitGroups(const CostModel& model, std::size_t path, LoadCorner corner) {
  return GroupPairs(model, [&](std::size_t from, std::size_t to) {
    std::vector<std::vector<std::string>> rows;
    const CostFit& fit = model.fit(path, from, to, corner);
    if (!fit.exists()) return rows;
    const bool broken = IsBroken(fit);
    const auto add = [&](const Cost& cost, const std::string& sizes) {
      rows.push_back({sizes, AlphaText(cost), BandwidthText(cost), GammaText(cost)});
      if (!model.measured()) return;
      for (const double error : {fit.median_error, fit.worst_error, fit.worst_large_error})
        rows.back().push_back(PercentText(error));
      rows.back().push_back(SizeText(fit.largest));
    };
    add(fit.small, broken ? "below " + SizeText(fit.split) : "all");
    if (broken) add(fit.large, "from " + SizeText(fit.split));
    return rows;
  });
}

/// The same of all paths. `thinned`, if it is there, lets pairs be left out and becomes true where some were.
std::vector<std::vector<std::string>> FitRows(const Topology& topology, const CostModel& model, LoadCorner corner,
                                              std::size_t most, bool* thinned = nullptr) {
  std::vector<std::vector<std::string>> rows;
  for (std::size_t path = 0; path < model.paths().size(); ++path) {
    std::vector<PairGroup> groups = FitGroups(model, path, corner);
    if (thinned != nullptr && Thin(topology, groups)) *thinned = true;
    std::string name = model.paths()[path];
    for (std::vector<std::string>& row : NamedRows(topology, groups, most)) {
      row.insert(row.begin(), std::exchange(name, ""));
      rows.push_back(std::move(row));
    }
  }
  return rows;
}
std::vector<std::string> FitTitles(const CostModel& model) {
  std::vector<std::string> titles{"PATH", "PAIRS", "SIZES", "ALPHA us", "GB/s", "GAMMA ns"};
  if (model.measured()) {
    for (const char* title : {"MEDIAN ERROR", "WORST ERROR", "ABOVE 64 KiB", "MEASURED TO"}) titles.emplace_back(title);
  }
  return titles;
}

/// Which path is the fastest for blocks of some sizes.
std::vector<PairGroup> ChoiceGroups(const CostModel& choosable) {
  return GroupPairs(choosable, [&](std::size_t from, std::size_t to) {
    std::vector<std::vector<std::string>> rows(1);
    for (const std::size_t bytes : kSizes) {
      const std::size_t best = choosable.Best(from, to, bytes, 0);
      const bool beyond =
          best != CostModel::kNoPath && choosable.fit(best, from, to).Extrapolates(static_cast<double>(bytes));
      rows[0].push_back(PathName(choosable, best) + Beyond(beyond));
    }
    return rows;
  });
}

std::vector<std::string> ChoiceTitles() {
  std::vector<std::string> titles{"PAIRS"};
  for (const std::size_t size : kSizes) titles.push_back(FormatBytes(size));
  return titles;
}

/// What the table of choices is not.
constexpr std::string_view kAlone =
    "Of paths that --comm auto takes, for a block alone; runs choose beside all buffers that are under way at once";

std::vector<PairGroup> CrossoverGroups(const CostModel& choosable) {
  return GroupPairs(choosable, [&](std::size_t from, std::size_t to) {
    return std::vector<std::vector<std::string>>{
        {"blocks", DescribeCrossovers(choosable, from, to, LoadCorner::kAlone, 0)},
        {"entries", DescribeCrossovers(choosable, from, to, LoadCorner::kAlone, kEntryBytes)}};
  });
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
      row.push_back((low == high ? low : fmt::format("{} to {}", low, high)) +
                    Beyond((*least)->Extrapolates(bytes) || (*most)->Extrapolates(bytes)));
    }
    double worst = 0;
    for (const CostFit* fit : fits) worst = std::max(worst, fit->worst_error);
    if (model.measured()) row.push_back(PercentText(worst));
    rows.push_back(std::move(row));
  };
  for (std::size_t path = 0; path < model.paths().size(); ++path) {
    for (const LoadCorner corner : kCorners) {
      for (const BufferContent content : kContents) {
        std::vector<const CostFit*> fits;
        ForEachPair(model, [&](std::size_t from, std::size_t to) {
          if (const CostFit& fit = model.fit(path, from, to, corner, content); fit.exists()) fits.push_back(&fit);
        });
        const bool list = content == BufferContent::kList;
        add(path, fmt::format("{}{}{}", LoadCornerName(corner), list ? "" : ", ", list ? "" : BufferContentName(content)),
            fits);
      }
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
std::vector<std::string> LoadTitles(const CostModel& model) {
  std::vector<std::string> titles{"PATH", "LOAD", "64 bytes", "64 KiB", "4 MiB"};
  if (model.measured()) titles.emplace_back("WORST ERROR");
  return titles;
}

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
  json["measured_up_to_bytes"] = static_cast<std::uint64_t>(fit.largest);
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
  /// `choosable`: those of the paths that may overtake each other.
  CostChart(const CostModel& model, const CostModel& choosable, std::size_t from, std::size_t to, LoadCorner corner,
            double entry)
      : model_(model), choosable_(choosable), from_(from), to_(to), corner_(corner), entry_(entry) {
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
    for (const Crossover& crossover : choosable_.Crossovers(from_, to_, corner_, entry_, kLargest)) {
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

  const CostFit& Fit(std::size_t path) const { return FitOf(model_, path, from_, to_, corner_); }
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

  const CostModel &model_, &choosable_;
  std::size_t from_, to_;
  LoadCorner corner_;
  double entry_;
  double low_ = 0, high_ = 1;
};

}  // namespace

std::string CostsText(const Topology& topology, const CostReport& report) {
  const CostModel& model = report.calibration.model;
  const CostModel choosable = Choosable(model, topology.devices().front().kind);
  std::string text = fmt::format("\nCosts, {}.\n", DescribeSource(report));
  if (const std::string reach = DescribeReach(model); !reach.empty()) text += fmt::format("The lines are {}.\n", reach);
  const auto add = [&](const std::string& title, const std::vector<std::string>& head,
                       std::vector<std::vector<std::string>> rows) {
    if (!head.empty()) rows.insert(rows.begin(), head);
    text += fmt::format("\n{}:\n{}", title, Columns(rows));
  };
  constexpr std::size_t kNames = 4;
  add("Fastest for a block of memory, alone", ChoiceTitles(), NamedRows(topology, ChoiceGroups(choosable), kNames));
  text += fmt::format("{}.\n", kAlone);
  bool thinned = false;
  const std::vector<std::vector<std::string>> fits = FitRows(topology, model, LoadCorner::kAlone, kNames, &thinned);
  add(fmt::format("T = alpha + bytes / bandwidth + messages * gamma, alone{}", thinned ? kThinned : ""), FitTitles(model),
      fits);
  std::vector<PairGroup> crossovers = CrossoverGroups(choosable);
  thinned = Thin(topology, crossovers);
  add(fmt::format("Crossovers, alone, of blocks and of entries of 8 bytes{}", thinned ? kThinned : ""), {},
      NamedRows(topology, crossovers, kNames));
  if (!model.measured()) return text;

  add("Beside others, by what buffers hold, but for its entries and places, over all pairs", LoadTitles(model),
      LoadRows(model));
  const auto& probes = report.calibration.probes;
  const bool one_for_all = model.devices() > 2 && std::none_of(probes.begin(), probes.end(),
                                                               [](const ProbeResult& probe) { return probe.from == 2; });
  add(one_for_all ? "Memory, flags and launches, of one device and one pair that stand for all"
                  : "Memory, flags and launches, over all devices",
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
  for (const char* list : {"fits", "broadcasts", "choices", "crossovers"}) json[list] = Json::array();
  for (std::size_t path = 0; path < model.paths().size(); ++path) {
    ForEachPair(model, [&](std::size_t from, std::size_t to) {
      for (const LoadCorner corner : kCorners) {
        for (const BufferContent content : kContents) {
          const CostFit& fit = model.fit(path, from, to, corner, content);
          if (!fit.exists()) continue;
          Json one = {{"path", model.paths()[path]},
                      {"content", BufferContentName(content)},
                      {"from", from},
                      {"to", to},
                      {"load", LoadCornerName(corner)}};
          AddFit(one, fit);
          json["fits"].push_back(std::move(one));
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
      const std::size_t best = choosable.Best(from, to, bytes, 0);
      const bool none = best == CostModel::kNoPath;
      const bool beyond = !none && choosable.fit(best, from, to).Extrapolates(static_cast<double>(bytes));
      json["choices"].push_back({{"from", from},
                                 {"to", to},
                                 {"bytes", bytes},
                                 {"path", none ? Json(nullptr) : Json(choosable.paths()[best])},
                                 {"extrapolated", beyond}});
    }
    for (const LoadCorner corner : kCorners) {
      if (corner == LoadCorner::kFanOut && model.devices() == 2) continue;
      for (const double entry : {0.0, kEntryBytes}) {
        for (const Crossover& crossover : choosable.Crossovers(from, to, corner, entry, kLargest)) {
          json["crossovers"].push_back({{"from", from},
                                        {"to", to},
                                        {"load", LoadCornerName(corner)},
                                        {"bytes_per_message", entry > 0 ? Json(entry) : Json(nullptr)},
                                        {"bytes", crossover.bytes},
                                        {"before", choosable.paths()[crossover.before]},
                                        {"after", choosable.paths()[crossover.after]},
                                        {"extrapolated", Extrapolates(choosable, crossover, from, to, corner)}});
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
  html += "<h3>Fastest for a block of memory, alone</h3>\n" +
          HtmlTable(ChoiceTitles(), NamedRows(topology, ChoiceGroups(choosable), 12));
  html += fmt::format("<p class=\"note\">{}.</p>\n", Html(kAlone));
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
                          CostChart(model, choosable, from, to, corner, entry).Draw("Time over size, " + label), Html(label),
                          Html(DescribeCrossovers(choosable, from, to, corner, entry)));
    }
  });
  html +=
      "<p class=\"note\">Time over size, both logarithmic, of one pair for each kind of link; circles are where another "
      "path that --comm auto takes becomes the fastest.</p>\n";
  for (const LoadCorner corner : kCorners) {
    const std::vector<std::vector<std::string>> rows = FitRows(topology, model, corner, 12);
    if (rows.empty()) continue;
    html += fmt::format("<details><summary>T = alpha + bytes / bandwidth + messages · gamma, {}</summary>\n{}</details>\n",
                        LoadCornerName(corner), HtmlTable(FitTitles(model), rows));
  }
  html += fmt::format(
      "<details><summary>Beside others, by what buffers hold, but for its entries and places, over all "
      "pairs</summary>\n{}</details>\n",
      HtmlTable(LoadTitles(model), LoadRows(model)));
  if (!report.calibration.probes.empty()) {
    html += fmt::format("<details><summary>Memory, flags and launches</summary>\n{}</details>\n",
                        HtmlTable({"PROBE", "LEAST", "MOST"}, ProbeRows(report.calibration)));
  }
  for (const std::string& note : report.calibration.notes) html += fmt::format("<p class=\"note\">{}</p>\n", Html(note));
  return html;
}

}  // namespace chatty::cli
