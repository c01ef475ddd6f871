#include "chatty/framework/run_paths.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace chatty {

RunPaths::RunPaths(const RunOptions& options, const CommPlan& plan, std::span<Device* const> devices,
                   const CostModel& costs) {
  std::vector<std::unique_ptr<Transport>> paths;
  for (const std::string_view name : plan.paths) {
    std::unique_ptr<WatchedTransport> path = OpenTransport(options, name, devices, plan.capacities, plan.options);
    watched_.push_back(path.get());
    paths.push_back(std::move(path));
    if (options.transport_factory) break;  // the factory makes the only path
  }
  selector_ = std::make_unique<TransportSelector>(std::move(paths), plan.broadcasts, plan.options.collectives, costs);
}

void RunPaths::Begin() noexcept {
  for (WatchedTransport* const path : watched_) path->Begin();
}

std::string RunPaths::LastOperation(bool names_unused) const {
  std::string all;
  for (const WatchedTransport* const path : watched_) {
    if (const std::string one = path->LastOperation(); !one.empty()) all += (all.empty() ? "" : "; ") + one;
  }
  if (all.empty() && names_unused && selector_)
    all = fmt::format("nothing had been asked of transport {} yet", selector_->name());
  return all;
}

}  // namespace chatty
