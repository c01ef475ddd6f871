/// \file
/// Predicted time over size, for each path of a pair, and where another path becomes the fastest: what pages draw and tables
/// tell of a cost model.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chatty/comm/cost_model.h"

namespace chatty::cli {

/// Sizes from and to which curves go.
inline constexpr double kLeastCurve = 4, kMostCurve = 256 << 20;

/// Which buffers a curve is of. By default blocks of memory, alone.
struct CurveKind {
  Encoding encoding = Encoding::kDense;
  double bytes_per_entry = 0;  ///< 0: without entries
  MeasuredLoad load = MeasuredLoad::kAlone;
};

/// The time that a path is expected to take, over bytes.
struct CostLine {
  std::string path;
  std::vector<std::pair<double, double>> points;  ///< bytes, microseconds
};
/// What the cost model says of one pair.
struct CostCurves {
  bool measured = false;  ///< on this machine; else from nominal bandwidths
  std::string pair;       ///< "cuda:0 to cuda:1"
  std::vector<CostLine> lines;
  struct Crossing {
    double bytes = 0;
    std::string before, after;
    double us = 0;              ///< what both take
    bool extrapolated = false;  ///< nothing so large was measured
  };
  std::vector<Crossing> crossings;  ///< where another path becomes the fastest
  std::string first = "none";       ///< the fastest path of the least size
};

/// The lines of all paths that join a pair, and where they cross, exactly. `pair`: what it is called.
CostCurves CurvesOf(const CostModel& model, std::string_view pair, std::size_t from, std::size_t to,
                    const CurveKind& kind = {});

}  // namespace chatty::cli
