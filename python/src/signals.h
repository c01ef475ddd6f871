/// \file
/// Ctrl-C during a run of Python's main thread, which does the work itself.
///
/// Python's handlers of signals run in the main thread alone, and not while it works in here. Where the only such handler is
/// that of Ctrl-C which raises KeyboardInterrupt, there is no need to run it before the run ends, but to end the run: a
/// handler in C notes the signal, and a thread that waits for it requests the stop. Other handlers have to run at once:
/// RunAttended.
#pragma once

#include <signal.h>

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

/// Requests a stop when SIGINT arrives, as long as it lives. One at a time, in the main thread. Python's handler is still
/// told.
class InterruptWatch {
 public:
  /// `stop` must outlive it.
  explicit InterruptWatch(std::stop_source& stop);
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

 private:
  struct sigaction before_ = {};
};

}  // namespace chatty::python
