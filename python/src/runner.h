/// \file
/// Threads that run work for others. One for the runs of Python's main thread, which meanwhile attends to signals: so Ctrl-C
/// stops a run. One for work that would change the caller's current GPU.
#pragma once

#include <functional>

namespace chatty::python {

/// Calls work(), which must not throw, on a thread of its own, and attend() about every twentieth of a second until it has
/// returned. The thread stays for later calls. Where it has work already, as in a handler of a signal that attend() runs,
/// calls work() here.
void RunAttended(const std::function<void()>& work, const std::function<void()>& attend);

/// Calls work() on a thread that stays for later calls, or on a new one where that has work already, and throws what work()
/// throws. The calling thread must not hold a lock that work() takes.
void RunElsewhere(const std::function<void()>& work);

}  // namespace chatty::python
