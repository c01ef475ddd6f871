#include "chatty/cli/compare/median_interval.h"

#include <algorithm>

namespace chatty::cli {

MedianRanks RanksOfMedian(std::size_t count) {
  if (count == 0) return {};
  // From the middle outwards: C(count, k) / 2^count, first for k at the middle, as a product of ratios that does not
  // overflow.
  std::size_t k = std::max<std::size_t>(count / 2, 1);
  double term = 1;
  for (std::size_t i = 1; i <= k; ++i) term *= static_cast<double>(2 * i - 1) / static_cast<double>(2 * i);
  double coverage = term;
  if (count % 2 == 1) {
    if (count == 1) return {1, 1, 0};
    term *= static_cast<double>(count) / static_cast<double>(2 * (k + 1));
    coverage = 2 * term;
  }
  while (coverage < kMedianCoverage && k > 1) {
    term *= static_cast<double>(k) / static_cast<double>(count - k + 1);
    coverage += 2 * term;
    --k;
  }
  return {k, count + 1 - k, coverage};
}

Interval MedianInterval(std::vector<double> values) {
  if (values.empty()) return {};
  const MedianRanks ranks = RanksOfMedian(values.size());
  std::sort(values.begin(), values.end());
  return {values[ranks.low - 1], values[ranks.high - 1]};
}

}  // namespace chatty::cli
