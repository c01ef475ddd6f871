/// \file
/// Figures of published papers, as `chatty compare --figure` measures them here.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chatty/cli/compare/data.h"
#include "chatty/cli/compare/plan.h"
#include "chatty/cli/compare/stop.h"

namespace chatty::cli {

/// "groute-2a", …: what `--figure` takes.
std::span<const std::string_view> FigureNames();
/// Whether a figure is about graphs; else about devices alone. Throws UsageError, naming the choices, for another name.
bool FigureNeedsGraphs(std::string_view name);
/// Sets what the figure asks for and the command line has not set: `given` says, by the option's name.
void ApplyPreset(std::string_view name, CompareOptions& options, const std::function<bool(std::string_view)>& given);

/// A figure, and how measuring it ended.
struct MadeFigure {
  Figure figure;
  bool give_up = false;  ///< as CompareEnd's
};
/// Measures the figure if it is about devices, else takes it from what was compared; adds what was published. Points that
/// `comparison` has from a journal are not measured again; each further one is given to `keep` before the next begins, and
/// once `stop` asks for an end none begins. What cannot be measured is noted in the figure; throws what `keep` throws.
MadeFigure MakeFigure(std::string_view name, const CompareOptions& options, const ComparePlan& plan,
                      const Comparison& comparison, const CompareStop& stop,
                      const std::function<void(const FigurePoints&)>& keep);

/// What was published, from bench/published/ as it was when this was built. Empty if nothing is known.
std::vector<FigureSeries> PublishedSeries(std::string_view figure);
/// Where that, and the axes, come from.
std::string PublishedSource(std::string_view figure);

}  // namespace chatty::cli
