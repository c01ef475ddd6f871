/// \file
/// The process that uses the library. OpenMP's threads do not survive a fork, so a forked process gets an exception.
#pragma once

#include <sys/types.h>

namespace chatty::python {

/// Throws UsageError in a process that was forked from one in which the library worked before. Every entry that starts
/// threads calls it first.
void CheckProcess();
/// The process in which CheckProcess was first called; 0: not yet called.
pid_t OwnProcess();

}  // namespace chatty::python
