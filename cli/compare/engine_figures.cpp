#include "chatty/cli/compare/engine_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "chatty/core/device.h"

namespace chatty::cli {
namespace {

constexpr EngineChoice kUnordered{Execution::kBsp, kInfinity<double>}, kOrdered{Execution::kBsp};
constexpr EngineChoice kUnorderedAsync{Execution::kAsync, kInfinity<double>}, kAsync{Execution::kAsync};

constexpr std::array<EngineFigure, 6> kFigures{{
    {"groute-3", "bfs,sssp", "bsp,async", EngineAxis::kWork},
    {"groute-5", "sssp", "bsp:delta=off,bsp,async:delta=off,async", EngineAxis::kOptimisations},
    {"groute-10a", "bfs", "bsp,async", EngineAxis::kTimes},
    {"groute-10b", "sssp", "bsp,async", EngineAxis::kTimes},
    {"groute-11", "pagerank_push", "bsp,async", EngineAxis::kTimes},
    {"groute-12", "cc,label_propagation", "bsp,async", EngineAxis::kTimes},
}};

/// A path that the host drives: `async` runs no fused worker where one is named.
std::string_view HostDriven(DeviceKind kind) { return kind == DeviceKind::kHost ? "host" : "p2p-direct"; }

/// The least value of each series at each number of devices.
class Lines {
 public:
  void Add(const std::string& series, std::uint32_t devices, double y) {
    const auto [at, is_new] = lines_[series].emplace(devices, y);
    if (!is_new) at->second = std::min(at->second, y);
  }
  void MoveTo(Figure& figure) const {
    for (const auto& [name, points] : lines_) {
      FigureSeries series{name, false, {}};
      for (const auto& [devices, y] : points) series.points.emplace_back(fmt::format("{}", devices), y);
      figure.series.push_back(std::move(series));
    }
  }

 private:
  std::map<std::string, std::map<std::uint32_t, double>> lines_;
};

/// Which of the three optimisations a combination is; empty for none. One device has its rounds for what the host drives.
/// `fused`: whether a fused worker ran.
std::string_view Optimisation(const Combination& c, std::string_view host_driven, bool fused) {
  const EngineChoice engine = ParseEngine(c.execution);
  if (fused && engine == kAsync && (c.devices == 1 || c.comm == "auto")) return "soft priority, fused";
  const bool by_host = c.devices == 1 || c.comm == host_driven;
  if (by_host && engine == (c.devices == 1 ? kUnordered : kUnorderedAsync)) return "no priority";
  if (by_host && engine == (c.devices == 1 ? kOrdered : kAsync)) return "soft priority";
  return "";
}

bool Has(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

const EngineFigure* FindEngineFigure(std::string_view name) {
  const auto* const found =
      std::find_if(kFigures.begin(), kFigures.end(), [&](const EngineFigure& figure) { return figure.name == name; });
  return found == kFigures.end() ? nullptr : found;
}

void ApplyEnginePreset(const EngineFigure& what, CompareOptions& options,
                       const std::function<bool(std::string_view)>& given) {
  if (!given("programs")) options.programs = what.programs;
  if (!given("execution")) options.execution = what.executions;
  if (given("comm")) return;
  options.comm = "auto";
  if (what.axis != EngineAxis::kOptimisations) return;
  const bool host = options.on == "host" || (options.on == "auto" && CudaDeviceCount() == 0);
  options.comm += fmt::format(",{}", HostDriven(host ? DeviceKind::kHost : DeviceKind::kCuda));
  options.figure_alone = !given("execution");
}

bool Shows(const EngineFigure& what, const Combination& combination, DeviceKind kind) {
  return what.axis != EngineAxis::kOptimisations || !Optimisation(combination, HostDriven(kind), /*fused=*/true).empty();
}

void TakeEngines(const EngineFigure& what, Figure& figure, const ComparePlan& plan, const Comparison& comparison) {
  Lines lines;
  for (const Measurement& m : comparison.measurements) {
    const Combination& c = m.combination;
    if (!m.good()) continue;
    const double ms = SpreadOf(m.trials_ms).median;
    const std::string on = fmt::format("{} on {}", c.program, c.graph);
    if (what.axis == EngineAxis::kTimes) {
      lines.Add(fmt::format("{}, {}", c.execution, on), c.devices, ms);
    } else if (what.axis == EngineAxis::kOptimisations) {
      const bool fused = m.profiled && m.statistics.fused_steps > 0;
      const std::string_view optimisation = Optimisation(c, HostDriven(plan.kind), fused);
      if (!optimisation.empty()) lines.Add(fmt::format("{}, {}", optimisation, on), c.devices, ms);
    } else {
      const ComparedGraph* const graph = comparison.Find(c.graph);
      if (!m.profiled || graph == nullptr || graph->vertices == 0) continue;
      const double items = static_cast<double>(m.statistics.items) / static_cast<double>(graph->vertices);
      if (items > 0) lines.Add(fmt::format("{}, {}", c.execution, on), c.devices, items);
    }
  }
  lines.MoveTo(figure);
  for (const std::string& program : plan.programs) {
    const std::vector<std::string> shown = SplitList("--programs", std::string(what.programs));
    if (!Has(shown, program)) {
      figure.notes.push_back(fmt::format("The figure shows {}, not {}: take it out of --programs.", what.programs, program));
    }
  }
  for (const std::string& execution : SplitList("--execution", std::string(what.executions))) {
    if (!Has(plan.executions, execution))
      figure.notes.push_back(fmt::format("The figure also shows {}: add it to --execution.", execution));
  }
  if (what.axis == EngineAxis::kOptimisations && plan.most() > 1) {
    for (const std::string_view comm : {std::string_view("auto"), HostDriven(plan.kind)}) {
      if (!Has(plan.comms, comm))
        figure.notes.push_back(fmt::format("The figure also shows path {}: add it to --comm.", comm));
    }
  }
}

}  // namespace chatty::cli
