#include "chatty/cli/cost_curves.h"

#include <limits>

namespace chatty::cli {

CostCurves CurvesOf(const CostModel& model, std::string_view pair, std::size_t from, std::size_t to, const CurveKind& kind) {
  CostCurves curves;
  curves.measured = model.measured();
  curves.pair = pair;
  const auto cost = [&](std::size_t path) -> const Cost& {
    return model.KnownCost(path, from, to, kind.encoding, kind.load);
  };
  const auto us = [&](std::size_t path, double bytes) {
    return cost(path).Us(bytes, kind.bytes_per_entry > 0 ? bytes / kind.bytes_per_entry : 0);
  };
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t path = 0; path < model.paths().size(); ++path) {
    if (!cost(path).exists()) continue;
    CostLine& line = curves.lines.emplace_back(CostLine{model.paths()[path], {}});
    for (double bytes = kLeastCurve; bytes <= kMostCurve; bytes *= 2) line.points.emplace_back(bytes, us(path, bytes));
    if (line.points.front().second < least) {
      least = line.points.front().second;
      curves.first = line.path;
    }
  }
  for (const auto& [bytes, before, after] :
       model.Crossovers(from, to, kind.encoding, kind.load, kind.bytes_per_entry, kMostCurve)) {
    if (bytes < kLeastCurve) continue;
    curves.crossings.push_back({bytes, model.paths()[before], model.paths()[after], us(after, bytes),
                                cost(before).Extrapolates(bytes) || cost(after).Extrapolates(bytes)});
  }
  return curves;
}

}  // namespace chatty::cli
