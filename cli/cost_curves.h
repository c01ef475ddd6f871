/// \file
/// Predicted time over size, for each path of a pair, and where another path becomes the fastest: what pages draw and tables
/// tell of a cost model.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chatty/comm/cost_model.h"

namespace chatty::cli {

/// Sizes from and to which curves go.
inline constexpr double kMinCurve = 4, kMaxCurve = 256 << 20;

/// The time that a path is expected to take, over bytes.
struct CostLine {
  std::string path;
  double us = 0;           ///< of a buffer without bytes
  double us_per_byte = 0;  ///< entries included
  double largest = 0;      ///< the largest buffer that was measured; infinite for nominal costs
  double Us(double bytes) const { return us + us_per_byte * bytes; }  ///< microseconds
  std::vector<std::pair<double, double>> Points() const;              ///< bytes, microseconds, at powers of two
};
/// What the cost model says of one pair.
struct CostCurves {
  bool measured = false;  ///< on this machine; else from nominal bandwidths
  std::string pair;       ///< "cuda:0 to cuda:1"
  std::vector<CostLine> lines;
  struct Crossing {
    double bytes = 0;
    std::string before, after;
    bool extrapolated = false;  ///< nothing so large was measured
  };
  std::vector<Crossing> crossings;  ///< where another path becomes the fastest
  std::string first = "none";       ///< the fastest path of the least size
};

/// The lines of all paths that join a pair, and where they cross, exactly. `pair`: what it is called. Of dense buffers:
/// blocks of memory; of sparse ones: with entries of 8 bytes.
CostCurves CurvesOf(const CostModel& model, std::string_view pair, std::size_t from, std::size_t to,
                    Encoding encoding = Encoding::kDense, MeasuredLoad load = MeasuredLoad::kAlone);

/// "uva, from 1.23 MiB staged": the fastest path, by size. "~" follows sizes beyond those that were measured.
std::string DescribeCrossovers(const CostCurves& curves);
/// A drawing of time over size, both logarithmic. `stroke`: the class of a path's line.
std::string DrawCurves(const CostCurves& curves, const std::function<std::string(std::string_view)>& stroke);

}  // namespace chatty::cli
