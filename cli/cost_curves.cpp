#include "chatty/cli/cost_curves.h"

#include <algorithm>
#include <cstddef>

namespace chatty::cli {

CostCurves CurvesOf(const CostModel& model, std::string_view pair, std::size_t from, std::size_t to, const CurveKind& kind) {
  CostCurves curves;
  curves.measured = model.measured();
  curves.pair = pair;
  const double per_byte = kind.bytes_per_entry > 0 ? 1 / kind.bytes_per_entry : 0;
  const auto cost = [&](std::size_t path) -> const Cost& {
    return model.KnownCost(path, from, to, kind.encoding, kind.load);
  };
  const auto us = [&](std::size_t path, double bytes) { return cost(path).Us(bytes, bytes * per_byte); };
  const auto slope = [&](std::size_t path) {
    return cost(path).beta_us_per_byte + cost(path).gamma_us_per_entry * per_byte;
  };
  std::size_t now = CostModel::kNoPath;
  for (std::size_t path = 0; path < model.paths().size(); ++path) {
    if (!cost(path).exists()) continue;
    CostLine& line = curves.lines.emplace_back(CostLine{model.paths()[path], {}});
    for (double bytes = kLeastCurve; bytes <= kMostCurve; bytes *= 2) line.points.emplace_back(bytes, us(path, bytes));
    if (now == CostModel::kNoPath || us(path, kLeastCurve) < us(now, kLeastCurve)) now = path;
  }
  if (now != CostModel::kNoPath) curves.first = model.paths()[now];
  // The lower envelope of lines, from left to right: the next path is the flatter one whose line is met first.
  for (double at = kLeastCurve; now != CostModel::kNoPath;) {
    std::size_t next = CostModel::kNoPath;
    double meet = kMostCurve;
    for (std::size_t path = 0; path < model.paths().size(); ++path) {
      if (!cost(path).exists() || slope(path) >= slope(now)) continue;
      const double there = std::max(at, (cost(path).alpha_us - cost(now).alpha_us) / (slope(now) - slope(path)));
      if (there < meet || (there == meet && next != CostModel::kNoPath && slope(path) < slope(next))) {
        meet = there;
        next = path;
      }
    }
    if (next != CostModel::kNoPath) {
      curves.crossings.push_back({meet, model.paths()[now], model.paths()[next], us(next, meet),
                                  cost(now).Extrapolates(meet) || cost(next).Extrapolates(meet)});
    }
    at = meet;
    now = next;
  }
  return curves;
}

}  // namespace chatty::cli
