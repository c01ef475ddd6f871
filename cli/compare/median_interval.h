/// \file
/// Between which times a median lies: distribution-free intervals by order statistics (David and Nagaraja, Order Statistics,
/// 2003, section 7.1). Of n independent trials the number below the true median is binomial with p = 1/2, so the median is
/// between the k-th least and the k-th greatest trial with the probability of k to n - k successes.
#pragma once

#include <cstddef>
#include <vector>

namespace chatty::cli {

/// How often an interval is to hold the median.
inline constexpr double kMedianCoverage = 0.95;

/// The order statistics that bound a median, counted from 1.
struct MedianRanks {
  std::size_t low = 0, high = 0;
  double coverage = 0;  ///< how often they hold the median
};
/// The narrowest symmetric pair of `count` trials that covers kMedianCoverage or more. Fewer than six trials have none: they
/// get the least and the greatest, with what these cover. All zero for no trials.
MedianRanks RanksOfMedian(std::size_t count);

/// From low to high, both included.
struct Interval {
  double low = 0, high = 0;
  double half_width() const { return (high - low) / 2; }  ///< half of its length
  /// Whether the two have no point in common.
  friend bool Disjoint(const Interval& a, const Interval& b) { return a.low > b.high || b.low > a.high; }
};
/// What RanksOfMedian says of these values; zero for none.
Interval MedianInterval(std::vector<double> values);

}  // namespace chatty::cli
