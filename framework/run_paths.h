/// \file
/// The communication paths of a run: opened by its plan, watched for failures, and selected for each message.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "chatty/comm/selector.h"
#include "chatty/framework/memory_plan.h"
#include "chatty/framework/watched_transport.h"

namespace chatty {

/// Owns the paths between a run's devices. Kept between runs, so that buffers are allocated once.
class RunPaths {
 public:
  RunPaths() = default;  ///< no paths
  /// Opens the plan's paths between `devices`, or the single one of the options' factory. `costs` is copied. Throws the
  /// errors of OpenTransport.
  RunPaths(const RunOptions& options, const CommPlan& plan, std::span<Device* const> devices, const CostModel& costs);

  explicit operator bool() const noexcept { return selector_ != nullptr; }  ///< whether there are paths
  TransportSelector* selector() const noexcept {
    return selector_.get();
  }  ///< selects a path for each message; null without paths
  /// Starts a run. Not during another one.
  void Begin() noexcept;
  /// The last operations of all paths for the error text of a failed run, as in WatchedTransport::LastOperation; if no path
  /// was used, their names if `names_unused`. Empty without paths.
  std::string LastOperation(bool names_unused = true) const;

 private:
  std::unique_ptr<TransportSelector> selector_;
  std::vector<WatchedTransport*> watched_;  // owned by the selector, in its order
};

}  // namespace chatty
