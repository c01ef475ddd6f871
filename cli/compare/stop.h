/// \file
/// What ends a comparison before it is through: a signal, or its budget.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <thread>

#include "chatty/cli/interrupt.h"

namespace chatty::cli {

/// Asks for a stop at the first SIGINT or SIGTERM, and when the budget is spent. At most one at a time, after
/// TakeInterrupts.
class CompareStop {
 public:
  using Time = std::chrono::steady_clock::time_point;  ///< of its clock

  /// A budget of so many seconds from now on; 0: none. Nothing asks for a stop until Begin.
  explicit CompareStop(double budget_s);
  CompareStop(const CompareStop&) = delete;
  CompareStop& operator=(const CompareStop&) = delete;

  void Begin();                                                ///< from now on signals and the budget ask for the stop
  void End() noexcept;                                         ///< a further signal ends the process as ever
  std::stop_token token() const { return stop_.get_token(); }  ///< what a run is to watch
  bool requested() const;                                      ///< nothing further is to begin
  bool limited() const { return limited_; }                    ///< there is a budget
  Time end() const { return end_; }                            ///< when it is spent; without one, the end of time
  int signal() const { return interrupt_.signal(); }           ///< that asked for the stop; 0: none has

 private:
  const bool limited_;
  Time end_ = Time::max();
  std::stop_source stop_;
  StopOnInterrupt interrupt_;
  std::optional<std::stop_callback<std::function<void()>>> forward_;
  std::jthread alarm_;  // last, for it uses what stands above
};

}  // namespace chatty::cli
