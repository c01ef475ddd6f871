/// \file
/// Ctrl-C during a run of Python's main thread, which does the work itself.
///
/// Python's handlers of signals run in the main thread alone, and not while it works in here. Often the only such handler is
/// that of Ctrl-C which raises KeyboardInterrupt. It need not run before the run ends, but the run has to end. So a handler
/// in C tells Python of the signal and wakes a thread, which requests the stop. Other handlers have to run at once:
/// RunAttended.
///
/// Others may change the action of SIGINT meanwhile. system() of glibc, in any thread, ignores the signal until its command
/// ends, and then restores the action that it found: perhaps the handler of a run that has ended. So Python's handler in C
/// is recorded once, and no other handler is ever called from here.
#pragma once

#include <stop_token>

namespace chatty::python {

/// What the main thread has to do with signals while a run lasts.
enum class Attention {
  kNone,       ///< no handler of Python's can be called
  kInterrupt,  ///< Python's own handler of SIGINT alone can
  kHandlers,   ///< others can, and may do anything
};

/// What handlers Python has installed now. Holds the lock of the interpreter; in the main thread.
Attention NeededAttention();

/// Requests a stop when SIGINT arrives, as long as it lives. One at a time, in the main thread, after kInterrupt. Python's
/// handler is still called.
class InterruptWatch {
 public:
  /// `stop` must outlive it.
  explicit InterruptWatch(std::stop_source& stop);
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  /// False if another thread has changed the action of SIGINT since NeededAttention, so that the signal may not arrive here.
  bool installed() const { return installed_; }

 private:
  bool installed_ = false;
};

}  // namespace chatty::python
