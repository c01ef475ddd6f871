#include "chatty/cli/times.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>

namespace chatty::cli {
namespace {

std::string Shortened(double value, std::string_view unit) {
  return fmt::format("{:.{}f} {}", value, value < 1 ? 3 : value < 10 ? 2 : value < 100 ? 1 : 0, unit);
}

}  // namespace

double Median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  const std::size_t middle = times.size() / 2;
  return times.size() % 2 == 1 ? times[middle] : (times[middle - 1] + times[middle]) / 2;
}

double RoundedMs(double ms) { return std::round(ms * 1e6) / 1e6; }

std::string FormatMs(double ms) { return ms < 10000 ? Shortened(ms, "ms") : Shortened(ms / 1000, "s"); }

}  // namespace chatty::cli
