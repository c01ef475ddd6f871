/// \file
/// What messages cost, as people and other programs read it: tables, JSON, and charts of time over size.
#pragma once

#include <optional>
#include <string>

#include "chatty/cli/json.h"
#include "chatty/comm/calibration.h"
#include "chatty/comm/cost_model.h"
#include "chatty/comm/topology.h"

namespace chatty::cli {

/// Costs and where they come from.
struct CostReport {
  Calibration calibration;  ///< of nominal costs nothing but the model
  std::string file;         ///< where it is kept; empty if it is not
  bool kept = false;        ///< it was measured earlier
};

/// Tables of what would be chosen at several sizes, of costs and crossovers, and of a measured model its costs under
/// load. One pair stands for each kind of link.
std::string CostsText(const Topology& topology, const CostReport& report);
/// The costs and choices of all pairs under all loads, as docs/topology.md describes it.
Json CostsJson(const CostReport& report);
/// The same as part of a page, with charts.
std::string CostsSection(const Topology& topology, const CostReport& report);

}  // namespace chatty::cli
