/// \file
/// A thread for the runs of Python's main thread, which meanwhile attends to signals: so Ctrl-C stops a run.
#pragma once

#include <functional>

namespace chatty::python {

/// Calls work(), which must not throw, on a thread of its own, and attend() about every twentieth of a second until it has
/// returned. The thread stays for later calls. Where it has work already, as in a handler of a signal that attend() runs,
/// calls work() here.
void RunAttended(const std::function<void()>& work, const std::function<void()>& attend);

}  // namespace chatty::python
