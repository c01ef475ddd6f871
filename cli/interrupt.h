/// \file
/// What an interrupt leaves behind: nothing, or what a run had.
#pragma once

#include <stop_token>
#include <string>

namespace chatty::cli {

/// From now on SIGINT, SIGTERM, SIGHUP and SIGQUIT, unless they are ignored, first remove what OutputFiles have begun to
/// write, and then end the process as they would have. Call it before the process starts threads, which inherit that these
/// signals go to a thread of their own; further calls do nothing. SIGXFSZ is ignored: writing tells of that.
void TakeInterrupts();

/// From now on a file that shrinks while it is read, of which the system tells by SIGBUS, ends the process as a wrong input
/// does: one line, nothing unfinished left, exit code 2.
void TakeShrinkingFiles();

/// From Begin() to End() the first SIGINT or SIGTERM asks for a stop instead of ending the process; the next one ends it as
/// ever, unless it comes within 200 ms, as the second of two that mean one. At most one at a time, after TakeInterrupts.
class StopOnInterrupt {
 public:
  StopOnInterrupt() = default;
  ~StopOnInterrupt() { End(); }
  StopOnInterrupt(const StopOnInterrupt&) = delete;
  StopOnInterrupt& operator=(const StopOnInterrupt&) = delete;

  void Begin();
  void End() noexcept;
  std::stop_token token() const { return stop_.get_token(); }
  int signal() const;  ///< that asked for the stop; 0: none has

 private:
  std::stop_source stop_;
};

/// "SIGINT" or "SIGTERM".
std::string SignalName(int signal);

/// Ends the process with `code` at once: what was printed is out and what an OutputFile has begun is removed, but nothing
/// that waits for a device is done.
[[noreturn]] void EndAtOnce(int code);

/// Ends the process by `signal`, as if it had never been caught, once what was printed is out: the parent sees what ended
/// it, and a shell ends the script that it came from.
[[noreturn]] void EndBySignal(int signal);

}  // namespace chatty::cli
