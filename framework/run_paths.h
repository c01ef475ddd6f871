/// \file
/// The paths of a run: opened as its plan says, watched, and chosen between.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "chatty/comm/selector.h"
#include "chatty/framework/memory_plan.h"
#include "chatty/framework/watched_transport.h"

namespace chatty {

/// Owns the paths between a run's devices. Kept from run to run, so that buffers are allocated once.
class RunPaths {
 public:
  RunPaths() = default;  ///< none
  /// Opens the plan's paths between `devices`, or the one that the options' factory makes in their place; `costs` is copied.
  /// Throws what OpenTransport throws.
  RunPaths(const RunOptions& options, const CommPlan& plan, std::span<Device* const> devices, const CostModel& costs);

  explicit operator bool() const noexcept { return selector_ != nullptr; }  ///< there are any
  Selector* selector() const noexcept { return selector_.get(); }           ///< chooses between them; null without any
  /// A run begins. Not while another goes on.
  void Begin() noexcept;
  /// As WatchedTransport::LastOperation, of all paths; where none was asked for anything it names them. For errors: what it
  /// says is of a run that has failed. Empty without paths.
  std::string LastOperation() const;

 private:
  std::unique_ptr<Selector> selector_;
  std::vector<WatchedTransport*> watched_;  // the selector's, in its order
};

}  // namespace chatty
