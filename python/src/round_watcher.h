/// \file
/// A function of Python's that a run calls after its rounds.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <exception>
#include <stop_token>

#include "chatty/framework/options.h"

namespace chatty::python {

namespace nb = nanobind;

class KeptSession;

/// RunOptions::on_round that calls a function of Python's. A device's thread calls it and takes the interpreter's lock for
/// the call. An exception of the function ends the run after the current round, and Rethrow() raises it. Made and destroyed
/// with the lock held, around the run, in the thread that waits for it. If that thread is in the function of another run,
/// this run is nested in that one.
class RoundWatcher {
 public:
  /// `report(rounds, active, change, seconds)`: `change` is None where the program has none; seconds count from here.
  /// At most one call per `interval` seconds; 0: after each round. `stop` ends the run on `session`. Both outlive this
  /// object.
  RoundWatcher(nb::object report, double interval, const KeptSession& session, std::stop_source& stop);
  RoundWatcher(const RoundWatcher&) = delete;
  RoundWatcher& operator=(const RoundWatcher&) = delete;

  /// One thread at a time.
  void Report(const RoundProgress& progress) noexcept;
  /// Raises what the function has raised, if it has.
  void Rethrow() const;

  /// Throws UsageError if this thread is in a function that watches a run on this session, or a run nested in such a
  /// function: the run waits for the function, so the function cannot wait for the session. Knows nothing of threads that a
  /// function starts itself.
  static void CheckOutside(const KeptSession& session);

 private:
  using Clock = std::chrono::steady_clock;

  nb::object report_;
  const Clock::duration interval_;
  const KeptSession* session_;
  std::stop_source* stop_;
  const RoundWatcher* const outer_;  // whose function waits for this run; null: none
  const Clock::time_point start_ = Clock::now();
  Clock::time_point next_ = start_;  // no call before it
  std::exception_ptr failure_;
};

}  // namespace chatty::python
